"""A bar for the time of a simulation, on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from robocompiler.cli.output import console


@contextmanager
def bar(duration: float, quiet: bool) -> Iterator[Callable[[float, float], None] | None]:
    """What `Robot.simulate` may call with (t, duration); None where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("simulate {task.fields[t]}", markup=False), BarColumn(bar_width=24), TaskProgressColumn(),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console(sys.stderr), transient=True) as bars:
        task = bars.add_task("", total=duration, t="")
        yield lambda t, end: bars.update(task, completed=t, t=f"{t:.3g} s of {end:.3g} s")
