"""What compiler flags bring; writes docs/flags-speed.md.

    python -m benchmarks.flags [--robots stewart,excavator] [--rounds 25]

One program is compiled with every set of flags, all builds are loaded side by side, and each round samples every
function of every build once, so that the ratios compare like with like.  What follows from it stands in docs/flags.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

Array = NDArray[np.float64]

_HEAD = """\
# Speed by compiler flags

Written by `python -m benchmarks.flags`; do not edit.  What was decided on it: [compiler flags](flags.md).

Microseconds per state, processor time, {states} random states in turn, {rounds} rounds: **median** (minimum;
quartiles).  In parentheses behind it the median over the rounds of the time divided by that of the native build,
which compiles long units by {less} and the others by `-O2`.  Flags given here are behind those and hold for all units,
so that a level replaces both.  Library: kibibytes of all shared libraries of the robot.  Difference: the largest one of
udot to the portable build, relative to the largest entry.

"""
_REFERENCE = "native"
_FUNCTIONS = {  # {function: (what it is called on the page, its inputs)}
    "forward_dynamics": ("forward dynamics", ("q", "u", "f")),
    "inverse_dynamics": ("inverse dynamics", ("q", "u", "udot")),
    "lift": ("lift", ("q",)),
    "inner_lift": ("lift of the inner chart", ("q",)),
}


class _Build(NamedTuple):
    name: str
    options: BuildOptions


BUILDS = (
    _Build("portable", BuildOptions(portable=True)),
    _Build(_REFERENCE, BuildOptions()),
    *(
        _Build(f"native, `{flags}`", BuildOptions(extra_flags=tuple(flags.split())))
        for flags in ("-O1", "-O2", "-O3", "-O2 -funroll-loops", "-ffp-contract=off", "-fno-math-errno",
                      "-mtune=generic")
    ),
)  # fmt: skip


def _size(folder: Path) -> int:
    """Bytes of the shared libraries of a robot."""
    return sum(path.stat().st_size for path in folder.glob("lib*") if path.suffix in (".so", ".dylib", ".dll"))


def measure(name: str, folder: Path, rounds: int, count: int) -> str:
    """The Markdown of one robot."""
    front = run_front_end(model(name))
    driver = Driver(folder / "driver", toolchain_for(BuildOptions()))
    loops: dict[tuple[str, str], CLoop] = {}
    sizes: dict[str, int] = {}
    states = None
    for number, build in enumerate(BUILDS):
        built = build_robot(front.program, folder / f"build_{number}", build.options)
        library = Library(built.folder, read_manifest(find_manifest(built.folder)))
        robot = load(built.folder)
        if states is None:
            states = references(robot, front.mechanism, count)
        sizes[build.name] = _size(built.folder)
        d = states.u.shape[1]
        given: dict[str, Array] = {"q": states.q, "u": states.u, "f": states.f, "udot": states.u}
        for function, (_, names) in _FUNCTIONS.items():
            width = d * len(robot.velocities) if function.endswith("lift") else d
            inputs = [given[key] for key in names]
            loops[build.name, function] = driver.loop("single", library.function(function), library, inputs, [], width)
    before = machine.load()
    taken = [{key: loop.seconds() for key, loop in loops.items()} for _ in range(rounds)]
    reference = loops["portable", "forward_dynamics"].results
    rows = []
    for build in BUILDS:
        cells = []
        for function in _FUNCTIONS:
            times = Spread.of([one[build.name, function] for one in taken])
            ratio = Spread.of([one[build.name, function] / one[_REFERENCE, function] for one in taken]).median
            cells.append(f"{microseconds(times)} ({significant(ratio)})")
        error = np.abs(loops[build.name, "forward_dynamics"].results - reference).max() / np.abs(reference).max()
        rows.append([build.name, *cells, f"{sizes[build.name] / 1024:.0f}", f"{error:.1e}"])
    head = ["build", *(title for title, _ in _FUNCTIONS.values()), "library", "difference"]
    return f"## {name}\n\nOne-minute load: {before:.2f} to {machine.load():.2f}.\n\n{table(head, rows)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    purpose = "Measure what compiler flags bring."
    wanted = asked(purpose, "flags-speed.md", arguments, states=16, robots=("stewart", "excavator"))
    head = _HEAD.format(states=wanted.states, rounds=wanted.rounds, less=f"`{' '.join(LESS)}`")
    facts = machine.describe(toolchain_for(BuildOptions()), None)
    folder = ROOT / "build" / "flags"
    write_page(wanted, head, facts, lambda name: measure(name, folder / name, wanted.rounds, wanted.states))


if __name__ == "__main__":
    main()
