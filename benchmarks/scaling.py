"""How compile time, code and run time grow with the mechanism; writes docs/scaling.md and its plots.

    python -m benchmarks.scaling [--families chain,platform] [--most 60] [--output docs/scaling.md]

A family ends at the first size whose compile takes longer than `--most` seconds.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks import driver as by_configuration
from benchmarks import machine
from benchmarks.curves import curves
from benchmarks.families import FAMILIES, Family
from benchmarks.robots import ROOT
from benchmarks.spread import Spread, significant, table
from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.options import BuildOptions
from robocompiler.backend.toolchain import Toolchain, find_toolchain, toolchain_for
from robocompiler.bench.driver import Driver
from robocompiler.bench.states import references, samples
from robocompiler.compiler import compile_to_folder
from robocompiler.records.model import Mechanism
from robocompiler.runtime.library import Library
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.symbolic.program import RobotProgram

Array = NDArray[np.float64]
STATES, ROUNDS = 8, 15
OPENING = 1e-3  # of every dependent before a corrector, rad or m
MOST_BODIES = 100  # up to which the oracle, dense in six coordinates a body, is asked
ONE, ALL = "inner_module_0_correct", "inner_correct"


@dataclass(frozen=True)
class Point:
    """One size: seconds, bytes, operations, and spreads of seconds per evaluation."""

    size: int
    freedoms: int
    modules: int
    front: float
    build: float
    units: int
    object_bytes: int
    operations: int
    loop_operations: int
    forward: Spread
    update: Spread
    correct: Spread
    error: float | None

    @property
    def compile(self) -> float:
        """All seconds of the compile."""
        return self.front + self.build


def operations(program: RobotProgram) -> tuple[int, int]:
    """Arithmetic operations of forward dynamics, and those of its loops: lift, velocities and curvature."""
    mechanics = program.mechanics
    assert mechanics is not None
    kernels = (mechanics.motion, mechanics.tree, mechanics.inner_mass, mechanics.finish)
    return sum(kernel.operations for kernel in kernels), mechanics.motion.operations


def measure(mechanism: Mechanism, size: int, folder: Path, toolchain: Toolchain, options: BuildOptions) -> Point:
    """Compile a mechanism into the empty `folder` and time it."""
    front, report = compile_to_folder(mechanism, folder, options=options)
    objects = list((report.folder / ".cache").rglob("*.o"))
    robot = rc.load(report.folder)
    drawn = samples(robot, mechanism, STATES, 0)
    q = np.array([one.q for one in drawn])
    library = Library(report.folder, read_manifest(find_manifest(report.folder)))
    forward = Driver(folder / "forward", toolchain).loop(
        "single", library.function("forward_dynamics"), library,
        [q, np.array([one.u for one in drawn]), np.array([one.f for one in drawn])], [], len(robot.independent),
    )  # fmt: skip
    manifest = read_manifest(find_manifest(report.folder))
    corrector = by_configuration.Driver(
        manifest, report.folder, report.folder / f"lib{manifest['prefix']}.so", toolchain, (ONE, ALL), folder / "timing"
    )
    opened = _opened(robot.chart("inner"), q)
    rounds = [
        (forward.seconds(), corrector.seconds(ONE, opened), corrector.seconds(ALL, opened)) for _ in range(ROUNDS + 1)
    ]
    every, of_loops = operations(front.program)
    spreads = [Spread.of(column) for column in zip(*rounds[1:], strict=True)]
    return Point(
        size=size, freedoms=len(robot.independent), modules=len(robot.chart("inner").modules),
        front=sum(front.seconds.values()), build=sum(report.seconds.values()), units=len(report.reasons),
        object_bytes=sum(path.stat().st_size for path in objects), operations=every, loop_operations=of_loops,
        forward=spreads[0], update=spreads[1], correct=spreads[2], error=_error(robot, mechanism),
    )  # fmt: skip


def _opened(robot: rc.Robot, q: Array) -> Array:
    random = np.random.default_rng(7)
    dependents = [robot.velocities.index(name) for module in robot.modules for name in module.dependents]
    moved = []
    for one in q:
        dv = np.zeros(len(robot.velocities))
        dv[dependents] = random.uniform(-OPENING, OPENING, len(dependents))
        moved.append(robot.integrate(one, dv))
    return np.array(moved)


def _error(robot: rc.Robot, mechanism: Mechanism) -> float | None:
    """delta_a of forward dynamics at one state; None where the oracle is too slow."""
    if len(mechanism.bodies) > MOST_BODIES:
        return None
    states = references(robot, mechanism, 1)
    return states.forward_error(np.array([robot.forward_dynamics(one.q, one.u, one.f) for one in states.each]))


def study(
    family: Family, most: float, options: BuildOptions, tell: Callable[[str], None] = lambda text: None
) -> tuple[Point, ...]:
    """All sizes of a family, up to the first whose compile takes longer than `most` seconds."""
    toolchain = toolchain_for(options)
    points: list[Point] = []
    for size in family.sizes:
        folder = Path(tempfile.mkdtemp(prefix=f"scaling_{family.name}_{size}_"))
        try:
            begin = time.monotonic()
            points.append(measure(family.make(size), size, folder, toolchain, options))
            tell(f"{family.name} {size}: compile {points[-1].compile:.1f} s, all {time.monotonic() - begin:.1f} s")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if points[-1].compile > most:
            break
    return tuple(points)


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The least-squares slope of log(value) over log(size); not a number for fewer than two sizes."""
    if len(points) < 2:
        return float("nan")
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


_QUANTITIES: dict[str, Callable[[Point], float]] = {
    "compile, s": lambda p: p.compile,
    "objects, bytes": lambda p: p.object_bytes,
    "operations": lambda p: p.operations,
    "operations of loops": lambda p: p.loop_operations,
    "forward dynamics": lambda p: p.forward.median,
    "correct all modules": lambda p: p.correct.median,
    "correct one module": lambda p: p.update.median,
}


def series(points: Sequence[Point]) -> dict[str, list[tuple[float, float]]]:
    """(size, value) of every quantity."""
    return {name: [(p.size, value(p)) for p in points] for name, value in _QUANTITIES.items()}


def section(family: Family, points: Sequence[Point], picture: str) -> str:
    """The Markdown of a family."""
    header = [
        family.unit, "freedoms", "modules", "front end, s", "build, s", "units", "objects, KiB", "operations",
        "of loops", "forward dynamics, us", "per operation, ns", "one module, us", "all modules, us", "delta_a",
    ]  # fmt: skip
    rows = [
        [
            str(p.size), str(p.freedoms), str(p.modules), significant(p.front), significant(p.build), str(p.units),
            significant(p.object_bytes / 1024), f"{p.operations:,}", f"{p.loop_operations:,}", _us(p.forward),
            significant(1e9 * p.forward.median / p.operations), _us(p.update), _us(p.correct),
            "-" if p.error is None else f"{p.error:.1e}",
        ]
        for p in points
    ]  # fmt: skip
    upper = points[len(points) // 2 :] if len(points) > 3 else points
    names = list(_QUANTITIES)
    fits = [
        [label, *(f"{exponent(series(part)[name]):.2f}" for name in names)]
        for label, part in (("all sizes", points), (f"from {upper[0].size}", upper))
    ]
    return (
        f"## {family.title}\n\n{table(header, rows)}\n"
        f"Fitted exponents of growth with the number of {family.unit}:\n\n{table(['', *names], fits)}\n"
        f"![{family.title}]({picture})\n\n"
    )


def _us(spread: Spread) -> str:
    low, middle, high = (significant(1e6 * x) for x in (spread.lower, spread.median, spread.upper))
    return f"**{middle}** ({low}-{high})"


_HEAD = """\
# Scaling

Written by `python -m benchmarks.scaling`; do not edit.

Every size is compiled into an empty folder (`front end`: all passes up to the kernels; `build`: printing, the C
compiler on all cores, linking) and called from C: median of {rounds} rounds with quartiles, processor time, {states}
random states.  `one module` closes the first module of the inner chart after every dependent was pushed by up to
{opening:g} rad or m, `all modules` closes all of them.  Operations are those of forward dynamics before sines are
shared, those `of loops` its lift, velocities and curvature.  delta_a is the error of forward dynamics against maximal
coordinates at one state, up to {bodies} bodies.  Exponents are slopes of a least-squares line through the logarithms.
Compile times are on the wall clock and suffer most from other programs: see the load.

Operations of the loops are those of independent modules and grow with their number.  Closing one module should not
depend on how many there are, and closing all of them should be linear.  In time both grow faster: each module's
corrector copies all of q, and the rising time per operation suggests straight-line code that outgrows the processor's
caches.  Forward dynamics forms M_r, which is dense where each freedom moves all that stands on it: for a chain of n
composite inertias cost n^2 and the factorisation n^3 / 6, with small factors.  On a balanced tree the freedoms of
different branches do not meet and M_r stays sparse; a platform has six freedoms whatever its legs.

"""


def document(found: Sequence[tuple[Family, Sequence[Point]]], pictures: Sequence[str], where: dict[str, str]) -> str:
    """The whole page."""
    head = _HEAD.format(rounds=ROUNDS, states=STATES, opening=OPENING, bodies=MOST_BODIES)
    facts = table(["machine", ""], list(map(list, where.items()))).replace("---:", "---")
    parts = [section(family, points, name) for (family, points), name in zip(found, pictures, strict=True)]
    return "".join([head, facts, "\n", *parts]).rstrip() + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    known = {family.name: family for family in FAMILIES}
    parser = argparse.ArgumentParser(description="Measure growth with the size of the mechanism.")
    parser.add_argument("--families", default=",".join(known), help="comma-separated names (default: all)")
    parser.add_argument("--most", type=float, default=60.0, help="seconds of a compile after which a family ends")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "scaling.md")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.families.split(",")) - set(known))
    if unknown:
        parser.error(f"no such family: {', '.join(unknown)}; there are {', '.join(known)}")

    def tell(text: str) -> None:
        print(f"{text} (load {machine.load():.2f})", file=sys.stderr, flush=True)

    found, pictures, loads = [], [], [machine.load()]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    for name in options.families.split(","):
        points = study(known[name], options.most, BuildOptions(), tell)
        picture = options.output.with_name(f"{options.output.stem}_{name}.svg")
        text = curves(f"{known[name].title}: growth over the smallest", known[name].unit, series(points))
        write_atomically(picture, text.encode())
        found.append((known[name], points))
        pictures.append(picture.name)
        loads.append(machine.load())
    where = {**machine.describe(find_toolchain()), "one-minute load": f"{min(loads):.2f} to {max(loads):.2f}"}
    write_atomically(options.output, document(found, pictures, where).encode())
    tell(f"wrote {options.output.name}")


if __name__ == "__main__":
    main()
