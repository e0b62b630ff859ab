"""RobotProgram as the plain values that the C templates print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robocompiler.backend.chords_view import LoopsView, loops_view
from robocompiler.backend.identifiers import c_identifier, macro, unique_macros
from robocompiler.backend.kept_texts import NOTHING_KEPT, KeptTexts, Request
from robocompiler.backend.kernel_text import kernel_text
from robocompiler.backend.numbers import literals, real_words
from robocompiler.backend.options import Real
from robocompiler.backend.printer import print_prototype
from robocompiler.backend.routine import Routine
from robocompiler.backend.sharing import share_reciprocals
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.symbolic.kernel import Kernel, Signature
from robocompiler.symbolic.program import ChartProgram, ClosureBlock, ModuleProgram, Pattern, RobotProgram
from robocompiler.symbolic.reduction import Chart
from robocompiler.version import ABI, VERSION

SMALL_PIVOT = 1e-3  # of the smallest at the probes: below, elimination without row exchanges loses digits
TOLERANCE = {"double": "1e-13", "float": "2e-6f"}


@dataclass(frozen=True)
class BlockView:
    """The closures of one port module as C text and tables; loops: rho and C, None without rows."""

    name: str
    prototypes: list[str]
    definitions: list[str]
    loops: LoopsView | None
    recover: str
    recover_name: str
    recovered_q: tuple[int, ...]
    augmented: tuple[int, ...]
    condensed: tuple[int, ...]
    c_place: list[int]
    j_place: list[int]
    g_rows: list[int]
    g_columns: tuple[int, ...]


@dataclass(frozen=True)
class ModuleView:
    """One module of a chart: its system's text, the places of its nonzeros, and how its unknowns move q."""

    name: str
    chart: str
    closures: list[str]
    story: list[str]
    k: int
    m: int
    sign: int
    system: str
    system_name: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    scales: list[str]
    row_units: list[str]
    column_units: list[str]
    retraction: list[str]
    own: list[int]
    dependents: tuple[int, ...]
    u_columns: list[int]
    block: BlockView | None
    newton: str
    static_lift: str
    parity: int
    least: list[str]


@dataclass(frozen=True)
class ChartView:
    """One chart: its name and the C infix of its functions, the velocity of every independent speed with its name, and
    its modules."""

    name: str
    infix: str
    story: list[str]
    independent: tuple[int, ...]
    modules: list[ModuleView]

    @property
    def solved(self) -> list[ModuleView]:
        """Modules with dependents."""
        return [module for module in self.modules if module.k]

    @property
    def most(self) -> int:
        """Most unknowns of a module."""
        return max((module.k for module in self.modules), default=0)

    @property
    def largest_lift(self) -> int:
        """Numbers in the largest module lift."""
        return max((module.k * module.m for module in self.modules), default=0)


@dataclass(frozen=True)
class RobotView:
    """Everything the whole-robot templates print; see the templates for the meaning of each field."""

    title: str
    prefix: str
    MACRO: str
    nq: int
    nv: int
    nd: int
    np: int
    nr: int
    nc: int
    nk: int
    nj: int
    chords: int
    length: str
    tolerance: str
    q_enum: list[tuple[str, int, str]]
    v_enum: list[tuple[str, int, str]]
    u_enum: list[tuple[str, int, str]]
    frame_enum: list[tuple[str, int, str]]
    frames: list[str]
    reference: list[str]
    defaults: list[str]
    integrate: str
    integrate_prototype: str
    rates: str
    rates_prototype: str
    poses: str
    poses_prototype: str
    motions: str
    motions_prototype: str
    charts: list[ChartView]
    blocks: list[BlockView]
    largest_rho: int
    largest_c: int
    largest_r: int
    largest_j: int
    largest_g: int
    first_mover: list[int]
    movers: list[int]
    motion_velocity: list[int]
    has_balls: bool
    has_free: bool
    has_chords: bool
    switching: bool
    words: dict[str, str] = field(default_factory=dict)
    digest: str = ""
    version: str = VERSION
    abi: int = ABI

    @property
    def modules(self) -> list[ModuleView]:
        """Modules of every chart, port chart first."""
        return [module for chart in self.charts for module in chart.modules]

    def __getattr__(self, name: str) -> str:
        # the words of the chosen precision read like fields in the templates: r.zero, r.sqrt, ...
        try:
            return str(self.__dict__["words"][name])
        except KeyError:
            raise AttributeError(name) from None


def robot_view(program: RobotProgram, real: Real, texts: KeptTexts = NOTHING_KEPT) -> RobotView:
    """The view of a whole robot."""
    return _Views(program, real, texts).robot()


def compressed_places(
    patterns: Sequence[Pattern], rows: Sequence[Sequence[int]], shape: tuple[int, int]
) -> list[list[int]]:
    """Where the nonzeros of blocks stacked by `rows` lie among the nonzeros of the whole, both by columns."""
    entries = [
        (column, rows[block][row], block, k)
        for block, pattern in enumerate(patterns)
        for k, (row, column) in enumerate(zip(pattern.rows, pattern.columns, strict=True))
    ]
    places: list[list[int]] = [[0] * len(pattern.rows) for pattern in patterns]
    for place, (_, row, block, k) in enumerate(sorted(entries)):
        assert row < shape[0]
        places[block][k] = place
    return places


class _Views:
    def __init__(self, program: RobotProgram, real: Real, texts: KeptTexts) -> None:
        self.program = program
        self.real = real
        self.texts = texts
        self.topology = program.closures.topology
        self.prefix = c_identifier(program.name)
        self.MACRO = macro(program.name)
        self.sizes = {"q": f"{self.MACRO}_NQ", "v": f"{self.MACRO}_NV", "p": f"{self.MACRO}_NP"}

    def _text(self, kernel: Kernel, static: bool = False) -> str:
        sizes = {argument.name: self.sizes[argument.name] for argument in kernel.inputs if argument.name in self.sizes}
        name = kernel.name if static else f"{self.prefix}_{kernel.name}"
        return self._printed(Routine.of(kernel), name, static, sizes)

    def _printed(self, routine: Routine, name: str, static: bool, sizes: dict[str, str]) -> str:
        request = Request(name, self.real, static, sizes, self.prefix, self.MACRO)
        ((text,),) = self.texts.printed(kernel_text, [(routine, request)])
        return f"/* {routine.summary} */\n{text}"

    def _prototype(self, kernel: Kernel | Signature) -> str:
        sizes = {argument.name: self.sizes[argument.name] for argument in kernel.inputs if argument.name in self.sizes}
        return print_prototype(kernel, function_name=f"{self.prefix}_{kernel.name}", real=self.real, sizes=sizes)

    def block(self, block: ClosureBlock, c_place: list[int], j_place: list[int]) -> BlockView:
        public = (block.closure, block.residual, block.jacobian, block.speeds)
        return BlockView(
            name=block.name,
            prototypes=[f"/* {one.summary} */\n{self._prototype(one)}" for one in public if _has_output(one)],
            definitions=[self._text(kernel) for kernel in (block.closure, block.speeds) if _has_output(kernel)],
            loops=self._loops(block) if block.augmented else None,
            recover=self._text(block.recover, static=True) if block.recovered_q else "",
            recover_name=block.recover.name,
            recovered_q=block.recovered_q,
            augmented=block.augmented,
            condensed=block.condensed,
            c_place=c_place,
            j_place=j_place,
            g_rows=[block.recovered_v[row] for row in block.speeds_pattern.rows],
            g_columns=block.speeds_pattern.columns,
        )

    def _loops(self, block: ClosureBlock) -> LoopsView:
        """rho, and rho and C: the kernel and the heads of both functions."""
        heads = [self._prototype(one).removesuffix(";\n") for one in (block.residual, block.jacobian)]
        paths = self._text(block.paths, static=True)
        return loops_view(block, paths, (heads[0], heads[1]))

    def module(self, entry: ModuleProgram, chart: Chart, block: BlockView | None) -> ModuleView:
        module, pattern = entry.module, entry.pattern
        reduction, names = self.program.reduction, self.topology.v_names
        columns = [*module.dependents, *module.independents]
        row_units = [reduction.row_scales[row] for row in module.rows]
        column_units = [reduction.column_scales[index] for index in columns]
        nonzeros = list(zip(pattern.rows, pattern.columns, strict=True))
        return ModuleView(
            name=module.name,
            chart=chart.name,
            closures=[self.program.closures.closures[c].name for c in module.closures],
            story=[
                "Unknown: " + _listed(names[i] for i in module.dependents),
                "Given:   " + _listed(names[i] for i in module.independents),
            ],
            k=len(module.dependents),
            m=len(module.independents),
            sign=module.sign,
            system=self._text(entry.system, static=True) if module.dependents else "",
            system_name=entry.system.name,
            rows=pattern.rows,
            columns=pattern.columns,
            scales=literals([column_units[j] / row_units[i] for i, j in nonzeros], self.real),
            row_units=literals(row_units, self.real),
            column_units=literals(column_units, self.real),
            retraction=self._retraction(module.dependents),
            own=self._coordinates(module.dependents),
            dependents=module.dependents,
            u_columns=[chart.independent.index(index) for index in module.independents],
            block=block,
            newton=self._shared(entry.solve.newton) if entry.solve else "",
            static_lift=self._shared(entry.solve.lift) if entry.solve and entry.solve.lift else "",
            parity=entry.solve.parity if entry.solve else 1,
            least=literals(self._least_pivots(entry.solve.newton, chart), self.real) if entry.solve else [],
        )

    def _shared(self, kernel: Kernel) -> str:
        """A kernel that divides by pivots, each inverted once."""
        sizes = {argument.name: self.sizes[argument.name] for argument in kernel.inputs if argument.name in self.sizes}
        return self._printed(share_reciprocals(Routine.of(kernel)), kernel.name, True, sizes)

    def _least_pivots(self, newton: Kernel, chart: Chart) -> list[float]:
        """Pivots below these go to the dense solver: a small part of the smallest ones at the probes."""
        defaults = [parameter.default for parameter in self.topology.mechanism.parameters]
        given = [defaults] if defaults else []
        probes = chart.probes or self.program.reduction.probes
        found = [np.abs(newton.function(list(q), *given)[2].full().ravel()) for q in probes]
        # as powers of four: the probes move a little with every record, and this module's text should not
        return [4.0 ** np.floor(np.log2(x) / 2) for x in SMALL_PIVOT * np.min(found, axis=0)]

    def _retraction(self, dependents: Sequence[int]) -> list[str]:
        """C statements that move q by the solved increments x."""
        place = {index: k for k, index in enumerate(dependents)}
        zero = real_words(self.real)["zero"]
        lines = []
        for slot in self.topology.slots:
            own = [place.get(slot.v0 + k) for k in range(slot.nv)]
            if all(k is None for k in own):
                continue
            kind = self.topology.kind(slot.joint)
            if kind in (JointType.SPHERICAL, JointType.FREE):
                values = ", ".join(zero if k is None else f"x[{k}]" for k in own)
                call = "turn" if kind is JointType.SPHERICAL else "move"
                body = f"const {self.real} w[{slot.nv}] = {{{values}}};"
                lines.append(f"{{ {body} {self.prefix}_{call}(q + {slot.q0}, w); }}")
            else:
                lines += [f"q[{slot.q0 + i}] += x[{k}];" for i, k in enumerate(own) if k is not None]
        return lines

    def _coordinates(self, velocities: Sequence[int]) -> list[int]:
        """Coordinates that moving these velocities changes."""
        return sorted({i for index in velocities for i in self.topology.moved_coordinates(index)})

    def robot(self) -> RobotView:
        program, topology, reduction = self.program, self.topology, self.program.reduction
        blocks, real = program.blocks, self.real
        nk, nr = sum(len(b.condensed) for b in blocks), sum(len(b.augmented) for b in blocks)
        c_places = compressed_places(
            [b.jacobian_pattern for b in blocks], [b.augmented for b in blocks], (nr, topology.nv)
        )
        j_places = compressed_places(
            [b.closure_pattern for b in blocks], [b.condensed for b in blocks], (nk, topology.nv)
        )
        views = [self.block(b, c, j) for b, c, j in zip(blocks, c_places, j_places, strict=True)]
        by_name = {view.name: view for view in views}
        port, kinematics = reduction.chart("port"), program.kinematics
        motion_velocity = [motion.index for motion in kinematics.motions]
        place = {index: k for k, index in enumerate(motion_velocity)}
        q_units = [u for s in topology.slots for u in JOINT_SHAPES[topology.kind(s.joint)].coordinate_units]
        v_units = [u for s in topology.slots for u in JOINT_SHAPES[topology.kind(s.joint)].velocity_units]
        frames = [frame.name for frame in kinematics.frames]
        kinds = {topology.kind(slot.joint) for slot in topology.slots}
        return RobotView(
            title=program.name,
            prefix=self.prefix,
            MACRO=self.MACRO,
            nq=topology.nq,
            nv=topology.nv,
            nd=len(port.independent),
            np=len(topology.mechanism.parameters),
            nr=nr,
            nc=sum(map(len, c_places)),
            nk=nk,
            nj=sum(map(len, j_places)),
            chords=len(topology.chords),
            length=literals([reduction.length], real)[0],
            tolerance=TOLERANCE[real],
            q_enum=self._enum("Q", topology.q_names, q_units),
            v_enum=self._enum("V", topology.v_names, v_units),
            u_enum=self._enum(
                "U", [topology.v_names[i] for i in port.independent], [v_units[i] for i in port.independent]
            ),
            frame_enum=self._enum("FRAME", frames, frames),
            frames=frames,
            reference=literals(reduction.reference, real),
            defaults=literals([parameter.default for parameter in topology.mechanism.parameters], real),
            integrate=self._text(program.integrate),
            integrate_prototype=self._prototype(program.integrate),
            rates=self._text(program.rates),
            rates_prototype=self._prototype(program.rates),
            poses=self._text(program.poses),
            poses_prototype=self._prototype(program.poses),
            motions=self._text(program.motions) if motion_velocity else "",
            motions_prototype=self._prototype(program.motions) if motion_velocity else "",
            charts=[self._chart(entry, by_name) for entry in program.charts],
            blocks=views,
            largest_rho=max((len(v.augmented) for v in views), default=0),
            largest_c=max((len(v.c_place) for v in views), default=0) or 1,
            largest_r=max((len(v.condensed) for v in views), default=0),
            largest_j=max((len(v.j_place) for v in views), default=0) or 1,
            largest_g=max((len(v.g_rows) for v in views), default=0),
            first_mover=[0, *map(int, np.cumsum([len(frame.movers) for frame in kinematics.frames]))],
            movers=[place[index] for frame in kinematics.frames for index in frame.movers],
            motion_velocity=motion_velocity,
            has_balls=bool(kinds & {JointType.SPHERICAL, JointType.FREE}),
            has_free=JointType.FREE in kinds,
            has_chords=program.chords,
            switching=reduction.reach is not None and program.moves,
            words=real_words(real),
        )

    def _chart(self, entry: ChartProgram, blocks: Mapping[str, BlockView]) -> ChartView:
        chart = entry.chart
        return ChartView(
            name=chart.name,
            infix="" if chart.name == "port" else f"_{chart.name}",
            story=[self.topology.v_names[index] for index in chart.independent],
            independent=chart.independent,
            modules=[self.module(m, chart, blocks.get(m.module.name)) for m in entry.modules],
        )

    def _enum(self, group: str, names: Sequence[str], comments: Sequence[str]) -> list[tuple[str, int, str]]:
        macros = unique_macros(names)
        return [
            (f"{self.MACRO}_{group}_{macros[name]}", i, comment)
            for i, (name, comment) in enumerate(zip(names, comments, strict=True))
        ]


def _has_output(kernel: Kernel | Signature) -> bool:
    return any(argument.size for argument in kernel.outputs)


def _listed(names: Sequence[str] | object) -> str:
    return ", ".join(names) or "nothing"  # type: ignore[arg-type]
