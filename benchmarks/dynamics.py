"""Speed and accuracy of forward and inverse dynamics beside the peers; writes docs/dynamics-speed.md.

    python -m benchmarks.dynamics [--robots stewart,excavator,kangaroo] [--rounds 25] [--no-portable]

What `robocompile bench ROBOT --portable` measures, as one page.  Most of the time goes into compiling CasADi's C.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.robots import CLOSED_CHAINS, ROBOTS, ROOT, model
from benchmarks.spread import microseconds, significant, table
from robocompiler.backend.atomic import write_atomically
from robocompiler.bench.run import BenchOptions, BenchReport, bench
from robocompiler.bench.timing import FORWARD
from robocompiler.cli.bench import bench_data
from robocompiler.cli.failures import json_text
from robocompiler.compiler import run_front_end

_HEAD = """\
# Speed of the dynamics

Written by `python -m benchmarks.dynamics`; do not edit.

Everything of a robot is sampled in turn, {rounds} rounds; tables give microseconds per state: **median** (minimum;
quartiles), and the median of the ratios formed within a round.  Time is processor time of the measuring thread, except
for `robot.batch`, which is on the wall clock.  C is called from C through a function's address, {states} random states
in turn.  Pinocchio and MuJoCo are called from Python with one set of models, data and settings; an empty-work call of
the same binding is sampled beside each and subtracted: Pinocchio's same function on a model without joints, MuJoCo's
mj_camlight on a model without cameras and lights.  CasADi's C is the same function as ours, joined to one expression
and printed by CasADi's code generator, compiled with the same flags.

delta_a and delta_tau are |found - reference| / max(1, |reference|), the largest over the states, of the very results
that were timed, against {reference}.

"""


def section(report: BenchReport) -> str:
    """The Markdown of a robot."""
    sizes = ", ".join(f"{number} {name}" for name, number in report.sizes.items())
    parts = [f"## {report.robot}\n\n{sizes}.  One-minute load: {report.load[0]:.2f} to {report.load[1]:.2f}.\n"]
    notes: list[str] = []
    for quantity in dict.fromkeys(row.quantity for row in report.rows):
        rows = [row for row in report.rows if row.quantity == quantity]
        for row in rows:
            if row.note and row.note not in notes:
                notes.append(row.note)
        cells = [
            [
                row.solver, microseconds(row.seconds), significant(row.ratio.median),
                "-" if row.error is None else f"{row.error:.1e}",
                str(notes.index(row.note) + 1) if row.note else "",
            ]
            for row in rows
        ]  # fmt: skip
        header = [quantity, "us per state", "of C, one call", "delta_a" if quantity == FORWARD else "delta_tau", "note"]
        parts.append(f"\n{table(header, cells)}")
    parts.append("\n" + "".join(f"{k}. {note}\n" for k, note in enumerate(notes, start=1)))
    parts += [f"\nNot measured: {one.solver}: {one.reason}.\n" for one in report.skipped]
    return "".join(parts)


def document(reports: Sequence[BenchReport]) -> str:
    """The whole page."""
    first = reports[0]
    head = _HEAD.format(rounds=first.options.rounds, states=first.options.states, reference=first.reference)
    facts = table(["machine", ""], list(map(list, first.machine.items()))).replace("---:", "---")
    return head + facts + "".join(f"\n{section(report)}" for report in reports)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Measure dynamics beside the peers.")
    parser.add_argument("--robots", default=",".join(CLOSED_CHAINS), help="comma-separated names")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--no-portable", action="store_true", help="leave out portable builds")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "dynamics-speed.md")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "dynamics.json")
    options = parser.parse_args(arguments)
    robots = options.robots.split(",")
    unknown = sorted(set(robots) - set(ROBOTS))
    if unknown:
        parser.error(f"no such robot: {', '.join(unknown)}; there are {', '.join(ROBOTS)}")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    choices = BenchOptions(rounds=options.rounds, portable=not options.no_portable)
    reports = []
    for name in robots:
        begin = time.monotonic()
        front = run_front_end(model(name))
        reports.append(bench(front.mechanism, front.program, ROOT / "build" / "dynamics", choices))
        print(f"{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    for path in (options.json, options.output):
        path.parent.mkdir(parents=True, exist_ok=True)
    data = {report.robot: bench_data(report) for report in reports}
    write_atomically(options.json, json_text(data).encode())
    write_atomically(options.output, document(reports).encode())


if __name__ == "__main__":
    main()
