"""`robocompile bench`: the command, its table, and the same as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from robocompiler.cli.commands import robocompile
from robocompiler.cli.failures import EXIT_CODE_TEXT, json_text
from robocompiler.cli.output import printable, render, write_error, write_out
from robocompiler.cli.shipped import find_model
from robocompiler.version import VERSION

if TYPE_CHECKING:
    from robocompiler.bench.run import BenchReport
    from robocompiler.bench.timing import Row

FORMAT = 1  # of the JSON report


@robocompile.command("bench", epilog=EXIT_CODE_TEXT, short_help="Measure the dynamics of MODEL, ours and the peers'.")
@click.argument("model")
@click.option(
    "--output", "-o", default="build/bench", show_default=True, metavar="FOLDER", help="Where MODEL is compiled to."
)
@click.option("--rounds", type=click.IntRange(min=1), default=25, show_default=True, help="Samples of everything.")
@click.option("--states", type=click.IntRange(min=1), default=16, show_default=True, help="Number of random states.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the states.")
@click.option("--portable", is_flag=True, help="Measure portable builds beside those for this processor.")
@click.option("--precise", is_flag=True, help="Accuracy against 50 digits instead of double; slow.")
@click.option("--no-peers", is_flag=True, help="Measure the compiled robot only.")
@click.option("--cc", metavar="COMMAND", help="C compiler, as for compile.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Compilers at a time [default: one per core].")
@click.option("--json", "as_json", is_flag=True, help="Print the report, or the error, as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress; the table is shown.")
def bench_command(model: str, output: str, **options: Any) -> None:
    """Compile MODEL with batches and measure forward and inverse dynamics beside Pinocchio, MuJoCo and CasADi's C.

    Everything is sampled once in each round, so that ratios compare like with like; next to each time stands how far
    its result is from the maximal-coordinate oracle.  What cannot be measured is listed with its reason.
    """
    from robocompiler.backend.options import BuildOptions
    from robocompiler.bench.run import BenchOptions, bench
    from robocompiler.cli.progress import display
    from robocompiler.compiler import run_front_end

    source = find_model(model)
    if source.shipped and not options["quiet"]:
        write_error(printable(f"model    {source.name} ships with RoboCompiler: {source.path}") + "\n")
    choices = BenchOptions(
        rounds=options["rounds"], states=options["states"], seed=options["seed"], portable=options["portable"],
        precise=options["precise"], peers=not options["no_peers"],
        build=BuildOptions(cc=options["cc"], workers=options["jobs"]),
    )  # fmt: skip
    with display(options["quiet"]) as progress:
        front = run_front_end(source.path, progress=progress)
        report = bench(front.mechanism, front.program, Path(output), choices, progress)
    write_out(json_text(bench_data(report)) if options["as_json"] else bench_text(report))


def bench_data(report: BenchReport) -> dict[str, Any]:
    """The report as plain data: seconds, ratios to the first row of the same quantity."""
    options = report.options
    return {
        "format": FORMAT,
        "robocompiler": VERSION,
        "robot": report.robot,
        "sizes": report.sizes,
        "machine": report.machine,
        "load": list(report.load),
        "rounds": options.rounds,
        "states": options.states,
        "seed": options.seed,
        "reference": report.reference,
        "folder": str(report.folder),
        "rows": [row.as_dict() for row in report.rows],
        "skipped": [{"solver": one.solver, "reason": one.reason} for one in report.skipped],
    }


def bench_text(report: BenchReport) -> str:
    """The machine, a table per quantity, notes by number, and what was skipped."""
    where = Table.grid(padding=(0, 2))
    where.add_column(style="bold", no_wrap=True)
    where.add_column(overflow="fold")
    for name, value in report.facts.items():
        where.add_row(name, printable(value))
    parts: list[Any] = [where, ""]
    notes: list[str] = []
    for quantity in dict.fromkeys(row.quantity for row in report.rows):
        parts += [_table(report, quantity, notes), ""]
    parts += [Text(f"[{k}] {note}", overflow="fold") for k, note in enumerate(notes, start=1)]
    parts += [Text(f"skipped  {one.solver}: {one.reason}", overflow="fold") for one in report.skipped]
    return render(*parts)


def _table(report: BenchReport, quantity: str, notes: list[str]) -> Table:
    title = f"{report.robot}, {quantity}: microseconds per state ({report.options.rounds} rounds)"
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, title_justify="left", title=title)
    table.add_column("", overflow="fold", min_width=len("C, one call, portable"))
    for header in ("median", "quartiles", "minimum", "of C, one call", report.error_name(quantity), "note"):
        table.add_column(header, justify="right", no_wrap=True)
    for row in report.rows:
        if row.quantity == quantity:
            if row.note and row.note not in notes:
                notes.append(row.note)
            table.add_row(*_cells(row), f"[{notes.index(row.note) + 1}]" if row.note else "")
    return table


def _cells(row: Row) -> list[Text]:
    from robocompiler.bench.spread import significant

    time, ratio = row.seconds, row.ratio
    low, middle, high, least = (significant(1e6 * x) for x in (time.lower, time.median, time.upper, time.minimum))
    error = "" if row.error is None else f"{row.error:.1e}"
    style = "bold" if row.ours else ""
    return [
        Text(row.solver, style=style), Text(middle, style=style), Text(f"{low} - {high}"), Text(least),
        Text(significant(ratio.median)), Text(error),
    ]  # fmt: skip
