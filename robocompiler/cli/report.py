"""What the compiler found and did, as plain numbers and names: the one source of the table and of the JSON report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from robocompiler.backend.build import BuildReport
from robocompiler.cli.shipped import ModelFile
from robocompiler.compiler import FrontEnd
from robocompiler.graph.complexity import Complexity, complexity
from robocompiler.symbolic.program import RobotProgram
from robocompiler.symbolic.reduction import Chart
from robocompiler.version import VERSION

FORMAT = 1  # of the JSON report


@dataclass(frozen=True)
class RankFacts:
    """The rank of the condensed closures and its evidence; gap is None when nothing was dropped."""

    rank: int
    rows: int
    columns: int
    freedoms: int
    smallest_kept: float
    largest_dropped: float
    gap: float | None
    probe_ranks: tuple[int, ...]


@dataclass(frozen=True)
class ModuleFacts:
    """One loop module of a chart: its closures, its dependent and independent velocities by name, and its cost."""

    name: str
    closures: tuple[str, ...]
    dependents: tuple[str, ...]
    independents: tuple[str, ...]
    smallest_pivot: float
    operations: int


@dataclass(frozen=True)
class ChartFacts:
    """One choice of independent speeds and its modules."""

    name: str
    independent: tuple[str, ...]
    modules: tuple[ModuleFacts, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Dependents of every module, in module order."""
        return tuple(len(module.dependents) for module in self.modules)

    @property
    def largest_module(self) -> int:
        """Most dependents in one module, 0 without modules."""
        return max(self.sizes, default=0)

    @property
    def smallest_pivot(self) -> float | None:
        """Least scaled singular value of any module's R_p, None without modules."""
        return min((module.smallest_pivot for module in self.modules), default=None)


@dataclass(frozen=True)
class UnitFacts:
    """What happened to one translation unit; reason is 'unchanged' when its object was reused."""

    name: str
    compiled: bool
    reason: str


@dataclass(frozen=True)
class BuildFacts:
    """What the backend did; `compiler` is False when only text was written."""

    folder: str
    prefix: str
    real: str
    compiler: bool
    files: tuple[str, ...]
    changed: tuple[str, ...]
    units: tuple[UnitFacts, ...]


@dataclass(frozen=True)
class SupportFacts:
    """One support mode that was compiled: its contacts ({frame: kind}), folder, rank and independents by name."""

    name: str
    contacts: Mapping[str, str]
    folder: str
    rank: RankFacts
    independent: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Everything that the closing table shows.

    unit_operations: arithmetic instructions of each module and of the rest; kernel_operations: of each kernel;
    seconds: by pass; build: None when nothing was written.
    """

    robot: str
    model: ModelFile
    complexity: Complexity
    joint_types: Mapping[str, int]
    chord_types: Mapping[str, int]
    ports: tuple[str, ...]
    parameters: tuple[str, ...]
    couplings: tuple[str, ...]
    rank: RankFacts
    charts: tuple[ChartFacts, ...]
    unit_operations: Mapping[str, int]
    kernel_operations: Mapping[str, int]
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]
    build: BuildFacts | None
    supports: tuple[SupportFacts, ...] = ()

    def chart(self, name: str) -> ChartFacts:
        """The chart called `name`."""
        return next(chart for chart in self.charts if chart.name == name)


def gather(model: ModelFile, front: FrontEnd, build: BuildFacts | None, seconds: Mapping[str, float]) -> Facts:
    """The facts of a compile (or, without `build`, of an inspection); `seconds` are those after the front end."""
    mechanism, topology = front.mechanism, front.topology
    kinds = {joint.name: joint.type.value for joint in mechanism.joints}
    kernels = {kernel.name: kernel.operations for kernel in front.program.kernels}
    return Facts(
        robot=mechanism.name,
        model=model,
        complexity=complexity(topology),
        joint_types=_tally(kinds.values()),
        chord_types=_tally(topology.kind(chord.joint).value for chord in topology.chords),
        ports=tuple(port.name for port in mechanism.ports),
        parameters=tuple(parameter.name for parameter in mechanism.parameters),
        couplings=tuple(coupling.name for coupling in mechanism.couplings),
        rank=_rank(front),
        charts=tuple(_chart(front, chart, kernels) for chart in front.reduction.charts),
        unit_operations=_unit_operations(front.program, kernels),
        kernel_operations=kernels,
        warnings=mechanism.warnings,
        seconds={**front.seconds, **seconds},
        build=build,
    )


def build_facts(report: BuildReport, real: str, compiler: bool) -> BuildFacts:
    """The backend's report in the form of the table."""
    units = tuple(UnitFacts(name, reason != "unchanged", reason) for name, reason in report.reasons.items())
    return BuildFacts(
        str(report.folder), report.prefix, real, compiler, tuple(report.files), tuple(report.changed), units
    )


def support_facts(front: FrontEnd, report: BuildReport) -> tuple[SupportFacts, ...]:
    """The support modes that were compiled with a robot."""
    contacts = {support.name: dict(support.contacts) for support in front.mechanism.supports}
    return tuple(
        SupportFacts(
            name,
            contacts[name],
            str(report.supports[name].folder),
            _rank(own),
            tuple(own.topology.v_names[index] for index in own.reduction.chart("port").independent),
        )
        for name, own in front.supports.items()
    )


def as_data(facts: Facts) -> dict[str, Any]:
    """The JSON report (docs/command-line.md); its keys stay."""
    size = facts.complexity
    return {
        "format": FORMAT,
        "robocompiler": VERSION,
        "robot": facts.robot,
        "model": {"path": str(facts.model.path), "shipped": facts.model.shipped},
        "mechanism": {
            "bodies": size.bodies,
            "joints": {"total": sum(facts.joint_types.values()), "by_type": dict(facts.joint_types)},
            "components": {"total": size.components, "floating": size.floating_components},
            "couplings": list(facts.couplings),
            "ports": list(facts.ports),
            "parameters": list(facts.parameters),
        },
        "graph": {
            "tree_joints": size.joints - size.chords,
            "tree_velocities": size.tree_velocities,
            "velocities": size.velocities,
            "depth": size.depth,
            "chords": {"total": size.chords, "kept": size.kept_chords, "by_type": dict(facts.chord_types)},
            "path": {"shortest": size.path_min, "mean": size.path_mean, "longest": size.path_max},
        },
        "closure": {"rows": size.condensed_rows, "augmented_rows": size.full_rows},
        "rank": asdict(facts.rank),
        "charts": {chart.name: _chart_data(chart) for chart in facts.charts},
        "operations": {
            "total": sum(facts.kernel_operations.values()),
            "units": dict(facts.unit_operations),
            "kernels": dict(facts.kernel_operations),
        },
        "warnings": list(facts.warnings),
        "seconds": {**facts.seconds, "total": sum(facts.seconds.values())},
        "build": None if facts.build is None else asdict(facts.build),
        "supports": [asdict(support) for support in facts.supports],
    }


def _chart_data(chart: ChartFacts) -> dict[str, Any]:
    return {
        "independent": list(chart.independent),
        "largest_module": chart.largest_module,
        "smallest_pivot": chart.smallest_pivot,
        "modules": [asdict(module) for module in chart.modules],
    }


def _tally(kinds: Iterable[str]) -> dict[str, int]:
    """Counts by kind, the most frequent first."""
    return dict(sorted(Counter(kinds).items(), key=lambda item: (-item[1], item[0])))


def _rank(front: FrontEnd) -> RankFacts:
    rank, columns = front.reduction.rank, len(front.closures.active)
    return RankFacts(
        rank=rank.rank,
        rows=len(front.reduction.row_scales),
        columns=columns,
        freedoms=columns - rank.rank,
        smallest_kept=rank.smallest_kept,
        largest_dropped=rank.largest_dropped,
        gap=rank.gap if rank.largest_dropped > 0 else None,
        probe_ranks=rank.ranks,
    )


def _chart(front: FrontEnd, chart: Chart, operations: Mapping[str, int]) -> ChartFacts:
    names = front.topology.v_names
    modules = tuple(
        ModuleFacts(
            name=module.name,
            closures=tuple(front.closures.closures[index].name for index in module.closures),
            dependents=tuple(names[index] for index in module.dependents),
            independents=tuple(names[index] for index in module.independents),
            smallest_pivot=module.smallest_pivot,
            operations=operations[f"{module.name}_system"],
        )
        for module in chart.modules
    )
    return ChartFacts(chart.name, tuple(names[index] for index in chart.independent), modules)


def _unit_operations(program: RobotProgram, operations: Mapping[str, int]) -> dict[str, int]:
    """Operations by module (its kernels carry its name); then `robot`, those of kernels that belong to no module."""
    units = {entry.module.name: 0 for chart in program.charts for entry in chart.modules}
    robot = 0
    for kernel, count in operations.items():
        owner = next((name for name in units if kernel.startswith(f"{name}_")), None)
        if owner is None:
            robot += count
        else:
            units[owner] += count
    return {**units, "robot": robot}
