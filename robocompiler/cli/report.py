"""Gathers what the compiler found and did: the one source of the tables and of the JSON report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from robocompiler.backend.options import BuildReport
from robocompiler.cli.facts import (
    BuildFacts,
    ChartFacts,
    DriveFacts,
    Facts,
    ModuleFacts,
    RankFacts,
    SupportFacts,
    UnitFacts,
)
from robocompiler.cli.shipped import ModelFile
from robocompiler.compiler import FrontEnd
from robocompiler.graph.complexity import complexity
from robocompiler.symbolic.program import RobotProgram
from robocompiler.symbolic.reduction import Chart


def gather(model: ModelFile, front: FrontEnd, build: BuildFacts | None, seconds: Mapping[str, float]) -> Facts:
    """The facts of a compile (or, without `build`, of an inspection); `seconds` are those after the front end."""
    mechanism, topology = front.mechanism, front.topology
    kinds = {joint.name: joint.type.value for joint in mechanism.joints}
    kernels = front.program.operations
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
        drives=tuple(
            DriveFacts(d.name, d.port, tuple(s.name for s in d.states), tuple(c.name for c in d.commands))
            for d in mechanism.drives
        ),
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
