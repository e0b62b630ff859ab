"""Forward dynamics against 50 digits, ours and the peers', written to docs/accuracy.md with a plot a robot.

python -m benchmarks.accuracy [--states 300] [--robots stewart,excavator:100,kangaroo/left:75] [--build build]
                              [--output FILE]

A robot's states are shared out evenly among its support modes; ROBOT/MODE measures one mode alone ("floating" for
none).  The errors of each are kept in the build folder, state by state, so that they may be run one by one and a run
may be cut short; the document is written from all that are there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import robocompiler as rc
from benchmarks.accuracy_document import Errors, write
from benchmarks.accuracy_draws import FLOATING, MODES, RANGES, Case, cases, draws
from benchmarks.accuracy_run import Comparison
from benchmarks.robots import ROOT, model
from robocompiler.analysis.reduce import reduce_closures
from robocompiler.analysis.standing import standing_mechanism
from robocompiler.backend.atomic import write_atomically
from robocompiler.graph.build import derive_topology
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism
from robocompiler.symbolic.closures import build_closures

SEED = 2609


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the robots asked for, then write the document from everything measured so far."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=300)
    parser.add_argument("--robots", default=",".join(RANGES), help="names, each with :STATES if it differs")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--output", default=str(ROOT / "docs" / "accuracy.md"))
    parser.add_argument("--more", action="store_true", help="keep the states that are measured, and add those missing")
    options = parser.parse_args(arguments)
    raw = Path(options.build) / "accuracy"
    raw.mkdir(parents=True, exist_ok=True)
    for word in filter(None, options.robots.split(",")):
        for case, count in asked(word, options.states):
            file = raw / f"{case.label}.json"
            if not options.more:
                file.unlink(missing_ok=True)
            measure(*built(case, options.build), case, count, file)
    found: dict[str, dict[str, Errors]] = {}
    for name in RANGES:
        for case in cases(name):
            file = raw / f"{case.label}.json"
            if file.exists():
                found.setdefault(name, {})[case.mode or FLOATING] = json.loads(file.read_text())
    write(found, Path(options.output), SEED)


def asked(word: str, states: int) -> list[tuple[Case, int]]:
    """NAME[/MODE][:STATES] as cases with the number of states of each; ValueError where they cannot be shared out."""
    word, _, count = word.partition(":")
    name, _, mode = word.partition("/")
    total = int(count or states)
    if mode:
        wanted = [case for case in cases(name) if (case.mode or FLOATING) == mode]
        if not wanted:
            raise ValueError(f"{name} is not measured in a mode '{mode}'")
        return [(wanted[0], total)]
    each, rest = divmod(total, len(cases(name)))
    if rest:
        raise ValueError(f"{total} states of {name} cannot be shared out among {len(cases(name))} support modes")
    return [(case, each) for case in cases(name)]


def built(case: Case, build: str) -> tuple[rc.Robot, Mechanism]:
    """The compiled robot of a case, and its records."""
    mechanism = read_mechanism(model(case.robot))
    robot = rc.compile(mechanism, output=build, supports=MODES.get(case.robot, ()))
    return (robot.support(case.mode), held(mechanism, case.mode)) if case.mode else (robot, mechanism)


def measure(robot: rc.Robot, mechanism: Mechanism, case: Case, count: int, file: Path) -> None:
    """Errors by solver, (delta_a, delta_f, r_c) of every state, kept in `file` after each state.

    States that `file` has from the same draws are not measured again.
    """
    comparison = Comparison(robot, mechanism, case.ranges.frame)
    errors: Errors = json.loads(file.read_text()) if file.exists() else {}
    done = min(map(len, errors.values()), default=0)
    begin = time.monotonic()
    for k, draw in enumerate(draws(robot, mechanism, case.ranges, count, SEED)[done:], done):
        for solver, three in comparison.at(draw).items():
            errors.setdefault(solver, []).append(list(three))
        write_atomically(file, json.dumps(errors, indent=1).encode())
        print(f"{case.label}: {k + 1} of {count} states, {time.monotonic() - begin:.0f} s", flush=True)


def held(mechanism: Mechanism, mode: str) -> Mechanism:
    """The records of a support mode: contacts as joints to the world."""
    closures = build_closures(derive_topology(mechanism))
    return standing_mechanism(closures, reduce_closures(closures), mode)


if __name__ == "__main__":
    main()
