"""Forward dynamics against 50 digits, ours and the peers', written to docs/accuracy.md with a plot a robot.

python -m benchmarks.accuracy [--states 300] [--robots stewart,excavator:100] [--build build] [--output FILE]

The errors of each robot are kept in the build folder, state by state, so that robots may be run one by one and a run
may be cut short; the document is written from all that are there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import robocompiler as rc
from benchmarks import machine
from benchmarks.accuracy_draws import RANGES, draws
from benchmarks.accuracy_run import OURS, Comparison
from benchmarks.dots import dots
from benchmarks.robots import ROOT, model
from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.toolchain import find_toolchain
from robocompiler.oracle.arithmetic import verification_package
from robocompiler.records.reader import read_mechanism

SEED = 2609
_HEAD = """\
# Accuracy of forward dynamics

Written by `python -m benchmarks.accuracy`; do not edit.

Random states on the manifold (three random moves from the reference along the mechanism, within limits), with random
independent speeds, port efforts and an external wrench:

{ranges}

The reference solves maximal coordinates in 50 digits.  Every solver gets the same state, effort and wrench: those of
the 50-digit state, rounded to double once.  The peers are built from the same records; efforts, damping and wrench
reach them as forces on the joints of their tree, computed in many digits and rounded once.

`a` are the accelerations of the independent speeds of the port chart; rad/s^2 and m/s^2 count alike.
delta_a = |a - a_ref| / max(1, |a_ref|);  delta_f = |M (a - a_ref)| / max(1, |M a_ref + h|), with M and h of the same
chart;  r_c is the largest |A a + Adot V| over the closing joints' constraint rows (rad/s^2, m/s^2) when all bodies move
with the solver's accelerations of the tree joints, evaluated in many digits.  MuJoCo's closures are soft and leave out
the rate of the constraint Jacobian, which is what its numbers show; nothing is wrong with its tree.

Measured on {machine}, with Pinocchio {pinocchio} and MuJoCo {mujoco}, seed {seed}.

"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the robots asked for, then write the document from everything measured so far."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=300)
    parser.add_argument("--robots", default=",".join(RANGES), help="names, each with :STATES if it differs")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--output", default=str(ROOT / "docs" / "accuracy.md"))
    options = parser.parse_args(arguments)
    raw = Path(options.build) / "accuracy"
    raw.mkdir(parents=True, exist_ok=True)
    for word in filter(None, options.robots.split(",")):
        name, _, count = word.partition(":")
        measure(name, int(count or options.states), options.build, raw / f"{name}.json")
    found = {name: json.loads((raw / f"{name}.json").read_text()) for name in RANGES if (raw / f"{name}.json").exists()}
    write(found, Path(options.output))


def measure(name: str, count: int, build: str, file: Path) -> None:
    """Errors by solver, (delta_a, delta_f, r_c) of every state, kept in `file` after each state."""
    mechanism = read_mechanism(model(name))
    robot = rc.compile(mechanism, output=build)
    comparison = Comparison(robot, mechanism)
    errors: dict[str, list[list[float]]] = {}
    begin = time.monotonic()
    for k, draw in enumerate(draws(robot, mechanism, count, SEED)):
        for solver, three in comparison.at(draw).items():
            errors.setdefault(solver, []).append(list(three))
        write_atomically(file, json.dumps(errors, indent=1).encode())
        print(f"{name}: {k + 1} of {count} states, {time.monotonic() - begin:.0f} s", flush=True)


def table(errors: Mapping[str, list[list[float]]]) -> str:
    """Maxima and medians by solver, the least of each column in bold."""
    rows = {
        solver: [function(column) for column in zip(*values, strict=True) for function in (max, statistics.median)]
        for solver, values in errors.items()
    }
    least = [min(column) for column in zip(*rows.values(), strict=True)]
    lines = [
        "| solver | delta_a max | median | delta_f max | median | r_c max | median |",
        "| --- " + "| ---: " * 6 + "|",
    ]
    for solver, numbers in rows.items():
        cells = [f"**{x:.1e}**" if x == best else f"{x:.1e}" for x, best in zip(numbers, least, strict=True)]
        lines.append(f"| {solver} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def comparison_text(errors: Mapping[str, list[list[float]]]) -> str:
    """Where ours stands among all solvers, measure by measure."""
    words = []
    for k, measure_name in enumerate(("delta_a", "delta_f", "r_c")):
        worst = {solver: max(row[k] for row in values) for solver, values in errors.items()}
        peer = min((solver for solver in worst if solver != OURS), key=lambda solver: worst[solver])
        ratio = worst[OURS] / worst[peer]
        place = "at or below every peer" if ratio <= 1 else f"{ratio:.1f} times that of {peer}"
        words.append(f"{measure_name}: {place}")
    return "Largest errors of RoboCompiler: " + "; ".join(words) + "."


def write(found: Mapping[str, Any], output: Path) -> None:
    """The document, and beside it one plot of delta_a a robot."""
    about = machine.describe(find_toolchain())
    ranges = "\n".join(f"- {name}: {_range_text(name)}" for name in found)
    versions = {name: str(verification_package(name, name).__version__) for name in ("pinocchio", "mujoco")}
    parts = [_HEAD.format(machine=f"{about['processor']}, {about['compiler']}", seed=SEED, ranges=ranges, **versions)]
    for name, errors in found.items():
        count = len(errors[OURS])
        picture = output.with_name(f"{output.stem}_{name}.svg")
        plot = dots(
            f"{name}: delta_a at {count} states", {k: [row[0] for row in rows] for k, rows in errors.items()}
        )  # fmt: skip
        write_atomically(picture, plot.encode())
        parts.append(f"## {name.capitalize()}, {count} states\n\n{table(errors)}\n\n{comparison_text(errors)}\n\n")
        parts.append(f"![delta_a of every solver on the {name}]({picture.name})\n\n")
    command = ",".join(f"{name}:{len(errors[OURS])}" for name, errors in found.items())
    parts.append(f"## Command\n\n    python -m benchmarks.accuracy --robots {command}\n")
    write_atomically(output, "".join(parts).encode())


def _range_text(name: str) -> str:
    ranges = RANGES[name]
    efforts = ", ".join(f"{x:g}" for x in ranges.efforts)
    return (
        f"speeds up to {ranges.speed:g} rad/s or m/s, efforts up to {efforts} N or N m by port, a torque up to "
        f"{', '.join(f'{x:g}' for x in ranges.wrench[:3])} N m and a force up to "
        f"{', '.join(f'{x:g}' for x in ranges.wrench[3:])} N at `{ranges.frame}`"
    )


if __name__ == "__main__":
    main()
