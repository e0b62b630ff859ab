"""What `inspect` prints and writes: the front end or a compile, then text, data or the listing of kernels."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocompiler.backend.atomic import write_atomically
from robocompiler.cli.facts import as_data
from robocompiler.cli.failures import json_text
from robocompiler.cli.listing import input_names, kernel_data, kernel_text, select
from robocompiler.cli.loop_tables import chords_table, gap_text, module_members
from robocompiler.cli.loops import loops_data
from robocompiler.cli.output import render
from robocompiler.cli.page import Source, compiled_page
from robocompiler.cli.progress import display
from robocompiler.cli.tables import summary

if TYPE_CHECKING:
    from robocompiler.compiler import FrontEnd
    from robocompiler.records.model import Mechanism


def inspected(
    mechanism: Mechanism, source: Source, independent: tuple[str, ...], options: dict[str, Any], quiet: bool
) -> tuple[FrontEnd, str]:
    """The front end's results and the page, which is '' unless it is asked for."""
    from robocompiler.compiler import run_front_end

    with display(quiet) as progress:
        if options["html"] is None:
            return run_front_end(mechanism, independent=independent, progress=progress), ""
        return compiled_page(mechanism, source, options["output"], independent=independent, progress=progress)


def selected_kernels(program: Any, prefix: str) -> tuple[Any, ...]:
    """The kernels that `--ir` asks for; UsageError with the nearest name when there is none."""
    kernels = select(program, prefix)
    if not kernels:
        names = [kernel.name for kernel in program.kernels]
        near = difflib.get_close_matches(prefix, names, n=1)
        mend = f"Did you mean {near[0]!r}?" if near else f"The first of {len(names)} are: {', '.join(names[:6])}."
        raise click.UsageError(f"No kernel is called or begins with {prefix!r}.  {mend}")
    return kernels


def inspection_text(
    inspection: Any, program: Any, kernels: tuple[Any, ...] | None, as_json: bool, repaired: dict[str, Any]
) -> str:
    """The report of `inspect`: as JSON, as the listing of kernels, or as tables."""
    if as_json:
        data = {**as_data(inspection.facts), **loops_data(inspection), **repaired}
        return json_text(data if kernels is None else {**data, "ir": [kernel_data(kernel) for kernel in kernels]})
    if kernels is not None:
        names = input_names(program)
        return "\n".join(kernel_text(kernel, names) for kernel in kernels)
    parts: list[Any] = [summary(inspection.facts), ""]
    if inspection.singular_values:
        parts += [gap_text(inspection), ""]
    for chart in inspection.facts.charts:
        parts += [module_members(chart), ""] if chart.modules else []
    return render(*parts, *([chords_table(inspection.chords)] if inspection.chords else []))


def write_file(path: Path, text: str) -> None:
    """Put `text` at `path`, whole or not at all.  CompileError where it cannot be written."""
    write_atomically(path, text.encode("utf-8"))
