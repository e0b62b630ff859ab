"""Shows on standard error what is being done: moving bars on a terminal, one plain line per finished step elsewhere."""

from __future__ import annotations

import contextlib
import sys
from types import TracebackType
from typing import Protocol, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from robocompiler.cli.output import console, printable, write_error

_NEXT = {
    "": "read",
    "read": "graph",
    "graph": "closures",
    "closures": "reduce",
    "reduce": "kernels",
    "kernels": "print",
    "print": "compile",
}
UNCHANGED = "unchanged"


class Display(Protocol):
    """Told of every finished step: `display(step, item, seconds)`; a context manager around the work."""

    def __call__(self, step: str, item: str, seconds: float) -> None:
        """Take note of a finished step."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop showing."""


def display(quiet: bool) -> Display:
    """The display that fits standard error."""
    if quiet:
        return Silence()
    return Bars() if sys.stderr.isatty() else Lines()


class Silence:
    """Shows nothing."""

    def __call__(self, step: str, item: str, seconds: float) -> None:
        """Take no note of a finished step."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return


class Lines:
    """One line per step, and per compiled unit with the reason why it is compiled."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._reused = 0
        self._planned = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def __call__(self, step: str, item: str, seconds: float) -> None:
        """Show a finished step; the plan of the units is kept until they are compiled."""
        if step == "print":  # a build begins: the robot itself, or one of its support modes
            self._reasons, self._reused = {}, 0
        if step == "plan":
            self._planned = True
            name, _, reason = item.partition(": ")
            if reason == UNCHANGED:
                self._reused += 1
            else:
                self._reasons[name] = reason
            return
        if self._planned:
            self._planned = False
            self._begin_units()
        if step == "compile":
            reason = self._reasons.get(item, "")
            self._finish(step, f"{item}: {reason}" if reason else item, seconds)
        else:
            self._finish(step, item, seconds)

    @property
    def _to_compile(self) -> int:
        return len(self._reasons)

    def _begin_units(self) -> None:
        if self._reused:
            self._finish("reuse", f"{self._reused} of {self._reused + self._to_compile} units unchanged", 0.0)

    def _finish(self, step: str, item: str, seconds: float) -> None:
        self._write(f"{step:<9}{printable(item)}" + (f" ({seconds:.1f} s)" if seconds >= 0.05 else ""))

    def _write(self, line: str) -> None:
        write_error(line + "\n")


class Bars(Lines):
    """The same lines above a moving bar that tells what is running."""

    def __init__(self) -> None:
        super().__init__()
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console(sys.stderr),
            transient=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        self._task = self._bars.add_task(_NEXT[""], total=len(_NEXT) - 1)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # the terminal may be gone
            self._bars.stop()

    def __call__(self, step: str, item: str, seconds: float) -> None:
        """Show a finished step and move the bar."""
        super().__call__(step, item, seconds)
        if self._task is None or step == "plan":
            return
        if step == "compile" and self._to_compile:
            self._bars.advance(self._task)
        elif step in _NEXT:
            if step in ("read", "print"):  # the bar of the units before it had another length
                self._bars.update(self._task, total=len(_NEXT) - 1)
            done = list(_NEXT.values()).index(step) + 1
            self._bars.update(self._task, description=_NEXT[step], completed=done)

    def _begin_units(self) -> None:
        super()._begin_units()
        if self._task is not None:
            self._bars.reset(self._task, description="compile", total=max(self._to_compile, 1), completed=0)

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError):  # work goes on when nobody watches
            self._bars.console.print(Text(line), soft_wrap=True)
