"""ClosureProgram and Reduction to RobotProgram: every kernel that is printed, with the places of its outputs.

Per module of a chart:      system    q -> selected rows r (k) and d(r)/dv over its dependents, then its independents
Per module of the port chart, for its closures:
                            closure   q -> all condensed rows and their Jacobian
                            paths     q -> what rho and C are made of (symbolic/augmented.py)
                            recover   q -> eliminated coordinates          speeds  q -> G, their speeds = G v
Whole robot:                integrate q, v -> q (+) v   rates  q, v -> N(q) v
                            poses     q -> (R row by row, p) of every frame   motions  q -> world twists of tree
                            velocities
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import casadi as cs

from robocompiler.symbolic.aside import Aside, at_once
from robocompiler.symbolic.augmented import ChordKernels, ChordLoop, chord_kernels, path_outputs
from robocompiler.symbolic.chart_drift import chart_drifts
from robocompiler.symbolic.closures import Closure, ClosureProgram
from robocompiler.symbolic.drives import DrivesProgram, build_drives
from robocompiler.symbolic.kernel import Argument, Kernel, Signature
from robocompiler.symbolic.kernels import Output, make_kernel, nonzeros
from robocompiler.symbolic.kinematics import TreeKinematics, tree_kinematics
from robocompiler.symbolic.manifold import coordinate_rates, integrate
from robocompiler.symbolic.mechanics_program import MechanicsProgram, build_mechanics
from robocompiler.symbolic.module_solve import ModuleSolve, module_solve
from robocompiler.symbolic.reduction import Chart, Module, Reduction

SX = Any


@dataclass(frozen=True)
class Pattern:
    """Structural nonzeros of a matrix in compressed-column order: nonzero k lies at (rows[k], columns[k])."""

    shape: tuple[int, int]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @staticmethod
    def of(matrix: SX) -> Pattern:
        """The pattern of a sparse SX matrix."""
        rows, columns = matrix.sparsity().get_triplet()
        return Pattern(tuple(matrix.shape), tuple(map(int, rows)), tuple(map(int, columns)))


@dataclass(frozen=True)
class ModuleProgram:
    """A module's linear system; `pattern` is k x (k + m), columns being its dependents, then its independents.

    solve: its static solves, None for a module without dependents.
    """

    module: Module
    system: Kernel
    pattern: Pattern
    solve: ModuleSolve | None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels of the module."""
        solves = (self.solve.newton, self.solve.lift) if self.solve else ()
        return (self.system, *(kernel for kernel in solves if kernel is not None))


@dataclass(frozen=True)
class ClosureBlock:
    """The closures of one port-chart module.

    condensed, augmented: global row numbers of its condensed and augmented rows; the patterns' rows are local and their
    columns velocity indices.  recovered_q and recovered_v place the outputs of `recover` and the rows of `speeds`.
    """

    name: str
    closure: Kernel
    closure_pattern: Pattern
    condensed: tuple[int, ...]
    paths: Kernel
    loop: ChordLoop
    jacobian_pattern: Pattern
    augmented: tuple[int, ...]
    recover: Kernel
    recovered_q: tuple[int, ...]
    speeds: Kernel
    speeds_pattern: Pattern
    recovered_v: tuple[int, ...]

    @property
    def residual(self) -> Signature:
        """The function q -> rho: `paths`, then the logarithm of every chord."""
        rho = Argument("rho", len(self.augmented), "augmented residual: rad, m; couplings in their own unit")
        summary = f"Augmented residual rho = log(T_e X_e^-1) of the closures of {self.name}."
        return Signature(f"{self.name}_rho", summary, self.paths.inputs, (rho,))

    @property
    def jacobian(self) -> Signature:
        """The function q -> rho and C: the same, then the factors of every chord times the twists of its columns."""
        C = Argument("C", len(self.jacobian_pattern.rows), "Jacobian nonzeros")
        summary = f"Augmented residual of {self.name} and its Jacobian C."
        return Signature(f"{self.name}_rho_jacobian", summary, self.paths.inputs, (*self.residual.outputs, C))

    def operations(self, chord: ChordKernels) -> dict[str, int]:
        """Arithmetic operations of these two functions."""
        residual = self.paths.operations + len(self.loop.chords) * chord.logarithm.operations
        jacobian = residual + len(self.loop.chords) * chord.factors.operations + self.loop.operations
        return {self.residual.name: residual, self.jacobian.name: jacobian}


@dataclass(frozen=True)
class ChartProgram:
    """A chart and the systems of its modules, in module order."""

    chart: Chart
    modules: tuple[ModuleProgram, ...]


@dataclass(frozen=True)
class RobotProgram:
    """Everything that the backend prints for one robot.

    mechanics: None where nothing can move; drives: None there as well, and where the mechanism declares none; drifts:
    for the dynamics in the other charts, where these were asked for.
    """

    name: str
    closures: ClosureProgram
    reduction: Reduction
    charts: tuple[ChartProgram, ...]
    blocks: tuple[ClosureBlock, ...]
    chord: ChordKernels
    kinematics: TreeKinematics
    integrate: Kernel
    rates: Kernel
    poses: Kernel
    motions: Kernel
    mechanics: MechanicsProgram | None
    drives: DrivesProgram | None
    drifts: tuple[Kernel, ...] = ()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels."""
        blocks = [(b.closure, b.paths, b.recover, b.speeds) for b in self.blocks]
        systems = [kernel for chart in self.charts for m in chart.modules for kernel in m.kernels]
        whole = (self.integrate, self.rates, self.poses, self.motions)
        mechanics = self.mechanics.kernels if self.mechanics else ()
        drives = self.drives.kernels if self.drives else ()
        chord = self.chord.kernels if self.chords else ()
        return (*systems, *(k for block in blocks for k in block), *chord, *whole, *mechanics, *drives, *self.drifts)

    @property
    def moves(self) -> bool:
        """Whether anything can move, so that there are mechanics."""
        return bool(self.reduction.chart("port").independent)

    @property
    def chords(self) -> bool:
        """Whether any closure is a chord, so that the programs of one chord are printed."""
        return any(block.loop.chords for block in self.blocks)

    @property
    def operations(self) -> dict[str, int]:
        """Arithmetic operations of every function; those of `paths` and of one chord are in rho, and in rho and C."""
        parts = {kernel.name for kernel in (*self.chord.kernels, *(block.paths for block in self.blocks))}
        found = {kernel.name: kernel.operations for kernel in self.kernels if kernel.name not in parts}
        for block in self.blocks:
            found |= block.operations(self.chord)
        return found


def build_program(closures: ClosureProgram, reduction: Reduction) -> RobotProgram:
    """All kernels of a robot."""
    return with_mechanics(build_kinematics(closures, reduction))


def build_kinematics(closures: ClosureProgram, reduction: Reduction) -> RobotProgram:
    """The kernels of a robot but those of its mechanics and drives, which are None."""
    kinematics = tree_kinematics(closures.symbols)
    charts = tuple(
        ChartProgram(chart, tuple(_module_program(closures, reduction, module) for module in chart.modules))
        for chart in reduction.charts
    )
    return RobotProgram(
        name=closures.topology.mechanism.name,
        closures=closures,
        reduction=reduction,
        charts=charts,
        blocks=tuple(_closure_block(closures, module) for module in reduction.chart("port").modules),
        chord=chord_kernels(),
        kinematics=kinematics,
        mechanics=None,
        drives=None,
        drifts=(),
        **_robot_kernels(closures, kinematics),
    )


def with_mechanics(program: RobotProgram, aside: Aside = at_once) -> RobotProgram:
    """`program` with the kernels of its mechanics and drives, if anything can move; `aside`: see `build_mechanics`."""
    if not program.moves:
        return program
    mechanics = build_mechanics(program.closures, program.reduction, program.kinematics, aside)
    drifts = chart_drifts(program.closures, program.reduction) if program.reduction.reach else ()
    return replace(program, mechanics=mechanics, drives=build_drives(program.closures.symbols), drifts=drifts)


def _module_program(closures: ClosureProgram, reduction: Reduction, module: Module) -> ModuleProgram:
    columns = [*module.dependents, *module.independents]
    block, residual = cs.SX(0, len(columns)), cs.SX(0, 1)
    if module.rows:
        places = _offsets(closures.closures, False)
        own = {row: k for k, row in enumerate(row for index in module.closures for row in places[index])}
        members = [closures.closures[index] for index in module.closures]
        selected = [own[row] for row in module.rows]
        residual = cs.vertcat(*[closure.rows for closure in members])[selected]
        block = cs.sparsify(cs.vertcat(*[closure.jacobian for closure in members])[selected, columns])
    kernel = make_kernel(
        closures.symbols,
        f"{module.name}_system",
        f"Selected closure rows of {module.name} and their Jacobian (dependent columns, then independent ones).",
        [("r", "selected rows, m or rad", residual), ("J", "Jacobian nonzeros", nonzeros(block))],
    )
    solve = None
    if module.dependents:
        rows = [reduction.row_scales[row] for row in module.rows]
        sizes = [reduction.column_scales[index] for index in columns]
        solve = module_solve(closures.symbols, module, residual, block, rows, sizes)
    return ModuleProgram(module, kernel, Pattern.of(block), solve)


def _offsets(closures: Sequence[Closure], full: bool) -> list[tuple[int, ...]]:
    places, start = [], 0
    for closure in closures:
        size = int(closure.full.numel()) if full else len(closure.row_units)
        places.append(tuple(range(start, start + size)))
        start += size
    return places


def _closure_block(closures: ClosureProgram, module: Module) -> ClosureBlock:
    members = [closures.closures[index] for index in module.closures]
    nv = closures.topology.nv

    def stack(values: Sequence[SX], columns: int = 1) -> SX:
        return cs.vertcat(cs.SX(0, columns), *values)

    condensed, augmented = _offsets(closures.closures, False), _offsets(closures.closures, True)
    J = stack([closure.jacobian for closure in members], nv)
    G = stack([closure.recovered_jacobian for closure in members], nv)
    loop, C = _chord_loop(members, nv)
    T, V = path_outputs([closure.path for closure in members if closure.path is not None])
    couplings = [closure for closure in members if closure.path is None]
    rows, gamma = stack([closure.rows for closure in members]), stack([closure.full for closure in couplings])
    slopes = cs.vertcat(cs.SX(0, 1), *[nonzeros(closure.jacobian) for closure in couplings])
    recovered = stack([closure.recovered for closure in members])
    name = module.name

    def kernel(suffix: str, summary: str, *outputs: Output) -> Kernel:
        return make_kernel(closures.symbols, f"{name}_{suffix}", summary, outputs)

    return ClosureBlock(
        name=name,
        closure=kernel(
            "closure", f"All condensed closure rows of {name} and their Jacobian.",
            ("r", "condensed rows, m or rad", rows), ("J", "Jacobian nonzeros", nonzeros(J)),
        ),
        closure_pattern=Pattern.of(J),
        condensed=tuple(row for index in module.closures for row in condensed[index]),
        paths=kernel(
            "paths", f"What rho and C of {name} are made of: poses W and Delta and twists of its chords; couplings.",
            ("T", "24 per chord", T), ("V", "6 or 3 per column", V),
            ("gamma", "couplings", gamma), ("g", "their nonzeros", slopes),
        ),
        loop=loop,
        jacobian_pattern=C,
        augmented=tuple(row for index in module.closures for row in augmented[index]),
        recover=kernel(
            "recovered", f"Coordinates of the cut joints of {name}, next to their previous values.",
            ("x", "coordinates", recovered),
        ),
        recovered_q=tuple(i for closure in members for i in closure.recovered_q),
        speeds=kernel(
            "speeds", f"Speeds of the cut joints of {name} per unit of the other speeds.",
            ("G", "nonzeros", nonzeros(G)),
        ),
        speeds_pattern=Pattern.of(G),
        recovered_v=tuple(i for closure in members for i in closure.recovered_v),
    )  # fmt: skip


def _chord_loop(members: Sequence[Closure], nv: int) -> tuple[ChordLoop, Pattern]:
    """The loop over the chords of a module, and the pattern of C, whose rows are those of the members in order."""
    places = list(zip([rows[0] for rows in _offsets(members, True)], members, strict=True))
    chords = [(row, closure.path) for row, closure in places if closure.path is not None]
    columns = [(row + 6 - column.size, column) for row, path in chords for column in path.columns]
    couplings = [(row, closure.jacobian) for row, closure in places if closure.path is None]
    others = [(int(column), row) for row, slopes in couplings for column in slopes.sparsity().get_triplet()[1]]
    filled = [(column.index, row + k) for row, column in columns for k in range(column.size)]
    entries = sorted([*filled, *others])
    place = {entry: k for k, entry in enumerate(entries)}
    loop = ChordLoop(
        chords=tuple(row for row, _ in chords),
        first=(0, *accumulate(len(path.columns) for _, path in chords)),
        side=tuple(column.side for _, column in columns),
        size=tuple(column.size for _, column in columns),
        place=tuple(place[column.index, row] for row, column in columns),
        couplings=tuple(row for row, _ in couplings),
        others=tuple(place[entry] for entry in others),
    )
    rows = sum(int(closure.full.numel()) for closure in members)
    return loop, Pattern((rows, nv), tuple(row for _, row in entries), tuple(column for column, _ in entries))


def _robot_kernels(closures: ClosureProgram, kinematics: TreeKinematics) -> dict[str, Kernel]:
    topology, q = closures.topology, closures.symbols.q
    v = cs.SX.sym("v", topology.nv)
    speed = ("v", "velocities or increments", v)
    poses = [cs.vertcat(cs.reshape(frame.pose.R.T, 9, 1), frame.pose.p) for frame in kinematics.frames]
    twists = [motion.twist() for motion in kinematics.motions]

    def kernel(name: str, summary: str, output: Output, *more: tuple[str, str, SX]) -> Kernel:
        return make_kernel(closures.symbols, name, summary, [output], *more)

    return {
        "integrate": kernel(
            "integrate", "Configuration q moved by the increment v on the joints' Lie groups.",
            ("q_moved", "coordinates", integrate(topology, q, v)), speed,
        ),
        "rates": kernel(
            "rates", "Coordinate rates N(q) v.", ("qdot", "coordinate rates", coordinate_rates(topology, q, v)), speed
        ),
        "poses": kernel(
            "poses", "World pose of every frame: R row by row, then p (m).",
            ("pose", "12 numbers per frame", cs.vertcat(cs.SX(0, 1), *poses)),
        ),
        "motions": kernel(
            "motions", "World twist (omega; velocity at the world's origin) of every tree velocity.",
            ("twist", "6 numbers per tree velocity", cs.vertcat(cs.SX(0, 1), *twists)),
        ),
    }  # fmt: skip
