"""What pairs of numbers and gcc's register passes bring; writes docs/pairs-speed.md.

    python -m benchmarks.pairs [--robots stewart,excavator,kangaroo] [--rounds 25]

Every robot is compiled several times, all builds are loaded side by side, and each round samples every function of
every build once, so that the ratios compare like with like.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.page_command import asked, write_page
from benchmarks.robots import ROOT, model
from benchmarks.spread import Spread, microseconds, significant, table
from robocompiler.backend.build import build_robot
from robocompiler.backend.optimisation import LESS
from robocompiler.backend.options import BuildOptions
from robocompiler.backend.toolchain import toolchain_for
from robocompiler.bench import machine
from robocompiler.bench.driver import CLoop, Driver
from robocompiler.bench.states import references
from robocompiler.compiler import run_front_end
from robocompiler.runtime.library import Library
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.runtime.robot import load

_HEAD = """\
# Speed of one call: pairs and registers

Written by `python -m benchmarks.pairs`; do not edit.

Kernels compute limbs of one shape in the two lanes of a vector (`robocompiler/backend/pairs.py`; `NAME_PAIRS=0` takes
the plain text), and long units are compiled by {less} (`robocompiler/backend/optimisation.py`).
Microseconds per state, processor time, {states} random states in turn for single calls and {batch} for batches on one
thread, {rounds} rounds: **median** (minimum; quartiles).  In parentheses behind it the median over the rounds of the
time divided by that of the standard build.  Difference: the largest one of udot to the plain text, relative to the
largest entry.

"""
_FUNCTIONS = {"forward_dynamics": ("q", "u", "f"), "inverse_dynamics": ("q", "u", "udot")}
_BATCH = 256


class _Build(NamedTuple):
    name: str
    flags: tuple[str, ...]


def _builds(macro: str) -> tuple[_Build, ...]:
    plain = f"-D{macro}_PAIRS=0"
    return (
        _Build("standard", ()),
        _Build("plain text", (plain,)),
        _Build("without a frame pointer", tuple(flag for flag in LESS if "frame-pointer" not in flag)),
        _Build("`-O1` alone", ("-O1",)),
        _Build("`-O2`", ("-O2",)),
        _Build("plain text, `-O1` alone", ("-O1", plain)),
    )


def measure(name: str, folder: Path, rounds: int, count: int) -> str:
    """The Markdown of one robot."""
    front = run_front_end(model(name))
    driver = Driver(folder / "driver", toolchain_for(BuildOptions()))
    builds = _builds(name.upper())
    loops: dict[tuple[str, str], CLoop] = {}
    states = None
    for number, build in enumerate(builds):
        options = BuildOptions(batch=True, extra_flags=build.flags)
        built = build_robot(front.program, folder / f"build_{number}", options)
        library = Library(built.folder, read_manifest(find_manifest(built.folder)))
        if states is None:
            states = references(load(built.folder), front.mechanism, count)
        d = states.u.shape[1]
        given = {"q": states.q, "u": states.u, "f": states.f, "udot": states.u}
        for function, names in _FUNCTIONS.items():
            inputs = [given[key] for key in names]
            loops[build.name, function] = driver.loop("single", library.function(function), library, inputs, [], d)
        many = [np.resize(given[key], (_BATCH, given[key].shape[1])) for key in ("q", "u", "f")]
        nothing = np.zeros((_BATCH, d))
        batch = library.function("batch_forward_dynamics")
        loops[build.name, "batch"] = driver.loop("batch", batch, library, [*many, nothing], [], d)
    before = machine.load()
    taken = [{key: loop.seconds() for key, loop in loops.items()} for _ in range(rounds)]
    reference = loops["plain text", "forward_dynamics"].results
    rows = []
    for build in builds:
        cells = [build.name]
        for function in (*_FUNCTIONS, "batch"):
            times = Spread.of([one[build.name, function] for one in taken])
            ratio = Spread.of([one[build.name, function] / one["standard", function] for one in taken]).median
            cells.append(f"{microseconds(times)} ({significant(ratio)})")
        error = np.abs(loops[build.name, "forward_dynamics"].results - reference).max() / np.abs(reference).max()
        rows.append([*cells, f"{error:.1e}"])
    gains = []
    for build in builds:
        single = [one[build.name, "forward_dynamics"] / one["standard", "batch"] for one in taken]
        gains.append(f"{build.name} {significant(Spread.of(single).median)}")
    return (
        f"## {name}\n\nOne-minute load: {before:.2f} to {machine.load():.2f}.\n\n"
        + table(["build", "forward dynamics", "inverse dynamics", "forward dynamics, batch", "difference"], rows)
        + f"\nOne call of each build over a state of the standard batch: {', '.join(gains)}.\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    wanted = asked("Measure what pairs and register passes bring.", "pairs-speed.md", arguments, states=16)
    less = f"`{' '.join(LESS)}`"
    head = _HEAD.format(states=wanted.states, rounds=wanted.rounds, batch=_BATCH, less=less)
    facts = machine.describe(toolchain_for(BuildOptions()), None)
    folder = ROOT / "build" / "pairs"
    write_page(wanted, head, facts, lambda name: measure(name, folder / name, wanted.rounds, wanted.states))


if __name__ == "__main__":
    main()
