"""The dependency index and tables of the motion layer as the plain values that its C templates print.

An input is one independent speed of the port chart with the coordinate (or the ball, or the free root) that it moves.
Which modules an input touches, and which outputs change with it, is read off the sparsity of the printed kernels: what
a kernel does not mention cannot change its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from robocompiler.backend.identifiers import unique_macros
from robocompiler.backend.numbers import literals
from robocompiler.backend.options import Real
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.program import ClosureBlock, RobotProgram
from robocompiler.symbolic.reduction import Module

OUTPUTS = ("poses", "ports", "port_map", "mass")  # bits of what changes with an input; E is known module by module
KINDS = {JointType.SPHERICAL: 1, JointType.FREE: 2}  # how a joint moves; 0: its coordinate is its velocity's integral
ACCEPTED = {"double": 1e-12, "float": 2e-5}  # of the complete residual, as in runtime/acceptance.py
FLOORS = 8  # or this many times what the records' redundant rows disagree by
SLACK = {"double": "1e-9", "float": "1e-6f"}  # of position limits
REFUSED_ROTATION = 3.0  # rad; a closure turned further than this is near the edge of the logarithm's principal branch


@dataclass(frozen=True)
class Group:
    """Lists of lists as one C table: the entries one after the other, and where each list starts."""

    first: list[int]
    entries: list[int]

    @staticmethod
    def of(lists: Sequence[Sequence[int]]) -> Group:
        """The table of some lists."""
        return Group([0, *accumulate(len(one) for one in lists)], [entry for one in lists for entry in one])


@dataclass(frozen=True)
class TurningInput:
    """A ball or free root all of whose speeds are independent, so that its pose is one input."""

    macro: str
    joint: str
    kind: int
    q0: int
    first_u: int
    size: int


@dataclass(frozen=True)
class MotionModule:
    """One loop module: k unknowns, m inputs that its selected rows mention, `sign` of det R_p (0: marks no branch)."""

    name: str
    k: int
    m: int
    sign: int
    rows: int
    recovers: bool
    speeds: int


@dataclass(frozen=True)
class MotionView:
    """Everything that the motion templates print.

    coordinate: q index of every input, -1 where it has none of its own; kinds, homes: how the joint of an input moves
    and where its q starts; component: which of that joint's speeds the input is; dependents, movers, independents:
    Groups by module, movers being joints as (kind, q0, count, places of dependents); touches: modules by input, one
    byte each; affects: OUTPUTS as bits by input; quaternions: where all start; chords: local first rows by module;
    limited, lower, upper: position limits by q index.
    """

    modules: list[MotionModule]
    inputs: list[int]
    scales: list[str]
    coordinate: list[int]
    kinds: list[int]
    homes: list[int]
    component: list[int]
    turning: list[TurningInput]
    dependents: Group
    dependent_scales: list[str]
    independents: Group
    movers: Group
    touches: list[int]
    parameter_touches: list[int]
    affects: list[int]
    parameter_affects: list[int]
    chords: Group
    rho_scales: list[str]
    first_rho: list[int]
    limited: list[int]
    lower: list[str]
    upper: list[str]
    speed_rows: Group
    speed_row: list[int]
    speed_column: list[int]
    cut_rows: Group
    quaternions: list[int]
    turning_unknowns: bool
    accepted: str
    numbers: dict[str, str]

    @property
    def largest(self) -> int:
        """Most unknowns of one module, at least 1."""
        return max((module.k for module in self.modules), default=0) or 1

    @property
    def lifts(self) -> list[int]:
        """Where the lift block of each module starts; the last entry is the size of all."""
        return [0, *accumulate(module.k * module.m for module in self.modules)]

    @property
    def largest_lift(self) -> int:
        """Numbers in the largest lift block, at least 1."""
        return max((module.k * module.m for module in self.modules), default=0) or 1

    @property
    def solving(self) -> bool:
        """Whether any module has unknowns."""
        return any(module.k for module in self.modules)

    @property
    def checking(self) -> bool:
        """Whether any module has a complete residual."""
        return any(module.rows for module in self.modules)

    @property
    def rho_largest(self) -> int:
        """Most rows of rho in one module."""
        return max((module.rows for module in self.modules), default=0)

    @property
    def speeds_largest(self) -> int:
        """Most nonzeros of G in one module."""
        return max((module.speeds for module in self.modules), default=0)

    @property
    def partial(self) -> bool:
        """Whether an input is one of several speeds of a ball of which others are dependent."""
        held = {u for ball in self.turning for u in range(ball.first_u, ball.first_u + ball.size)}
        return any(c < 0 and u not in held for u, c in enumerate(self.coordinate))

    @property
    def turns(self) -> bool:
        """Whether any input or unknown turns a ball or a free joint."""
        return any(self.kinds) or self.turning_unknowns


def motion_view(program: RobotProgram, macro: str, real: Real) -> MotionView:
    """The view of a robot's motion layer in the port chart."""
    return _Builder(program, macro, real).view()


def _spread(hit: Sequence[bool], follows: Sequence[Sequence[bool]]) -> list[bool]:
    """Modules touched, with those that follow them: what a module recovers may depend on what another one solves."""
    found = list(hit)
    while True:
        more = [
            yes or any(a and b for a, b in zip(row, found, strict=True))
            for yes, row in zip(found, follows, strict=True)
        ]
        if more == found:
            return found
        found = more


class _Builder:
    def __init__(self, program: RobotProgram, macro: str, real: Real) -> None:
        self.program, self.macro, self.real = program, macro, real
        self.topology, self.reduction = program.closures.topology, program.reduction
        self.chart = self.reduction.chart("port")
        self.modules = self.chart.modules
        self.blocks = {block.name: block for block in program.blocks}
        self.systems = {entry.module.name: entry for entry in program.charts[0].modules}

    # --- what depends on what ---

    def mentioned(self, module: Module, argument: str) -> set[int]:
        """Entries of `argument` that anything computed for a module mentions."""
        block, system = self.blocks[module.name], self.systems[module.name]
        kernels = [block.closure, block.paths, block.recover, block.speeds, *system.kernels]
        return mentions(kernels, argument)

    def output_entries(self, argument: str) -> list[set[int]]:
        """Entries of `argument` that each of OUTPUTS mentions."""
        mechanics = self.program.mechanics
        if mechanics is None:
            return [mentions([self.program.poses], argument), set(), set(), set()]
        ports, port_map = [mechanics.ports], [mechanics.lift, mechanics.port_map]
        mass = [mechanics.lift, mechanics.inner_mass, mechanics.port_mass]
        return [mentions(kernels, argument) for kernels in ([self.program.poses], ports, port_map, mass)]

    def moved(self, module: Module) -> set[int]:
        """Coordinates that solving a module changes."""
        own = {i for index in module.dependents for i in self.topology.moved_coordinates(index)}
        return own | set(self.blocks[module.name].recovered_q)

    # --- tables ---

    def view(self) -> MotionView:
        topology, real, chart = self.topology, self.real, self.chart
        slots = [next(s for s in topology.slots if s.v0 <= i < s.v0 + s.nv) for i in chart.independent]
        kinds = [KINDS.get(topology.kind(slot.joint), 0) for slot in slots]
        own = [set(topology.moved_coordinates(index)) for index in chart.independent]
        touches, affects = self._index(own, "q")
        np_ = len(topology.mechanism.parameters)
        parameter_touches, parameter_affects = self._index([{i} for i in range(np_)], "p")
        limits = self._limits()
        scales = self.reduction.column_scales
        blocks = [self.blocks[module.name] for module in self.modules]
        dependents = Group.of([module.dependents for module in self.modules])
        return MotionView(
            modules=[self._module(module) for module in self.modules],
            inputs=list(chart.independent),
            scales=literals([scales[i] for i in chart.independent], real),
            coordinate=[
                slot.q0 + index - slot.v0 if kind == 0 else -1
                for slot, kind, index in zip(slots, kinds, chart.independent, strict=True)
            ],
            kinds=kinds,
            homes=[slot.q0 for slot in slots],
            component=[index - slot.v0 for slot, index in zip(slots, chart.independent, strict=True)],
            turning=self._turning(),
            dependents=dependents,
            dependent_scales=literals([scales[i] for i in dependents.entries], real),
            independents=Group.of([[chart.independent.index(i) for i in m.independents] for m in self.modules]),
            movers=Group.of([self._movers(module) for module in self.modules]),
            touches=touches,
            affects=affects,
            parameter_touches=parameter_touches,
            parameter_affects=parameter_affects,
            chords=Group.of([block.loop.chords for block in blocks]),
            rho_scales=literals([size for block in blocks for size in self._rho_scales(block)], real),
            first_rho=[0, *accumulate(len(block.augmented) for block in blocks)],
            limited=[i for i, _, _ in limits],
            lower=literals([lower for _, lower, _ in limits], real),
            upper=literals([upper for _, _, upper in limits], real),
            speed_rows=Group.of([range(len(block.speeds_pattern.rows)) for block in blocks]),
            speed_row=[block.recovered_v[row] for block in blocks for row in block.speeds_pattern.rows],
            speed_column=[column for block in blocks for column in block.speeds_pattern.columns],
            cut_rows=Group.of([block.recovered_v for block in blocks]),
            quaternions=[s.q0 + s.nq - 4 for s in topology.slots if topology.kind(s.joint) in KINDS],
            turning_unknowns=any(
                topology.kind(s.joint) in KINDS and set(range(s.v0, s.v0 + s.nv)) & set(dependents.entries)
                for s in topology.slots
            ),
            accepted=literals([max(ACCEPTED[real], FLOORS * self.reduction.floor)], real)[0],
            numbers=self._numbers(),
        )

    def _index(self, own: Sequence[set[int]], argument: str) -> tuple[list[int], list[int]]:
        """(modules touched, one byte each; OUTPUTS affected as bits) of every input or parameter.

        `own`: the entries of `argument` that each moves.
        """
        mentioned = [self.mentioned(module, argument) for module in self.modules]
        moved = [self.moved(module) for module in self.modules]
        follows = [[bool(used & other) for other in moved] for used in (self.mentioned(m, "q") for m in self.modules)]
        outputs, through = self.output_entries(argument), self.output_entries("q")
        touches: list[int] = []
        affects: list[int] = []
        for entries in own:
            hit = _spread([bool(entries & used) for used in mentioned], follows)
            touches += map(int, hit)
            carried = {i for yes, coordinates in zip(hit, moved, strict=True) if yes for i in coordinates}
            bits = [bool(entries & a or carried & b) for a, b in zip(outputs, through, strict=True)]
            affects.append(sum(1 << k for k, bit in enumerate(bits) if bit))
        return touches, affects

    def _module(self, module: Module) -> MotionModule:
        block = self.blocks[module.name]
        return MotionModule(
            name=module.name,
            k=len(module.dependents),
            m=len(module.independents),
            sign=module.sign,
            rows=len(block.augmented),
            recovers=bool(block.recovered_q),
            speeds=len(block.speeds_pattern.rows),
        )

    def _movers(self, module: Module) -> list[int]:
        """kind, q0, count and the places among the dependents (-1: none) of every joint with one; of scalar joints, of
        every dependent."""
        place = {index: k for k, index in enumerate(module.dependents)}
        entries: list[int] = []
        for slot in self.topology.slots:
            kind = KINDS.get(self.topology.kind(slot.joint), 0)
            own = [place.get(slot.v0 + k, -1) for k in range(slot.nv)]
            if kind and max(own) >= 0:
                entries += [kind, slot.q0, slot.nv, *own]
            elif not kind:
                entries += [x for k, at in enumerate(own) if at >= 0 for x in (0, slot.q0 + k, 1, at)]
        return entries

    def _turning(self) -> list[TurningInput]:
        independent, names = self.chart.independent, []
        for slot in self.topology.slots:
            kind = KINDS.get(self.topology.kind(slot.joint), 0)
            own = range(slot.v0, slot.v0 + slot.nv)
            if kind and all(index in independent for index in own):
                first = independent.index(slot.v0)
                assert [independent[first + k] for k in range(slot.nv)] == list(own), slot.joint
                names.append((slot, kind, first))
        macros = unique_macros([slot.joint for slot, _, _ in names])
        return [
            TurningInput(f"{self.macro}_TURNING_{macros[s.joint]}", s.joint, kind, s.q0, first, s.nv)
            for s, kind, first in names
        ]

    def _rho_scales(self, block: ClosureBlock) -> list[float]:
        """Sizes of one unit of the rows of rho of a module: rad, length, a coupling's own."""
        sizes = [1.0] * len(block.augmented)
        for row in block.loop.chords:
            sizes[row + 3 : row + 6] = [self.reduction.length] * 3
        condensed, start = {}, 0
        for index, closure in enumerate(self.program.closures.closures):
            condensed[index] = start
            start += len(closure.row_units)
        members = next(module.closures for module in self.modules if module.name == block.name)
        couplings = [c for c in members if self.program.closures.closures[c].path is None]
        for row, index in zip(block.loop.couplings, couplings, strict=True):
            sizes[row] = self.reduction.row_scales[condensed[index]]
        return sizes

    def _limits(self) -> list[tuple[int, float, float]]:
        found = []
        for slot in self.topology.slots:
            joint = self.topology.joint(slot.joint)
            shape = JOINT_SHAPES[joint.type]
            for k, limits in enumerate(joint.limits if shape.nq == shape.nv else ()):
                if limits.position is not None:
                    found.append((slot.q0 + k, float(limits.position[0]), float(limits.position[1])))
        return found

    def _numbers(self) -> dict[str, str]:
        values = {
            "quarter": 0.25, "sixteenth": 0.0625, "trusted": 1e-6 if self.real == "double" else 1e-3, "stuck": 0.02,
            "smallest_step": 1e-7 if self.real == "double" else 1e-4, "domain": REFUSED_ROTATION,
            "smallest_eta": 1 / 512,
            "unit": 1e-6 if self.real == "double" else 1e-4, "loose": 1e4 if self.real == "double" else 10.0,
        }  # fmt: skip
        text = {name: literals([value], self.real)[0] for name, value in values.items()}
        return {**text, "slack": SLACK[self.real], "atan2": "atan2f" if self.real == "float" else "atan2"}


def mentions(kernels: Iterable[Kernel], argument: str) -> set[int]:
    """Entries of the input `argument` on which any output of the kernels can depend."""
    found: set[int] = set()
    for kernel in kernels:
        names = [one.name for one in kernel.inputs]
        if argument not in names:
            continue
        place = names.index(argument)
        for output in range(kernel.function.n_out()):
            if kernel.function.numel_out(output):
                found |= set(map(int, kernel.function.jac_sparsity(output, place).get_triplet()[1]))
    return found
