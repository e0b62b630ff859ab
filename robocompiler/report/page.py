"""One self-contained HTML page about a compiled mechanism: graph, modules, rank, sparsity, port ranges, operations.

No scripts, no external files; the drawings are inline SVG.  The same build and model give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from robocompiler.graph.draw import graph_svg
from robocompiler.graph.topology import Topology
from robocompiler.report.matrices import closure_pattern, mass_pattern
from robocompiler.report.port_ranges import STEP, port_ranges
from robocompiler.report.reach import Reach, port_sizes, reach_of
from robocompiler.report.spectrum import spectra, spectrum_svg
from robocompiler.report.spy import Pattern, spy_svg
from robocompiler.resources import templates_folder
from robocompiler.runtime.robot import Robot
from robocompiler.symbolic.program import RobotProgram
from robocompiler.version import VERSION

_TEMPLATE = "report.html.j2"
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'  # inline drawings in HTML do without


@dataclass(frozen=True)
class Subject:
    """What a page is about.

    program: of the front end; robot, manifest: the compiled library, in the port chart; file: the model's file name,
    without folders; format: of an imported file ('URDF', ...), or ''; notes: of its import.
    """

    program: RobotProgram
    robot: Robot
    manifest: Mapping[str, Any]
    file: str
    format: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bar:
    """One kernel of the list of operations; share: of the largest, in per cent."""

    name: str
    count: int
    share: float


@dataclass(frozen=True)
class Redundant:
    """A closure with rows that follow from others."""

    name: str
    kind: str
    rows: int
    redundant: int


def page_html(subject: Subject) -> str:
    """The text of the page.

    Raises RankError where the library finds the reference or a probed pose singular in its port chart.
    """
    program, robot, manifest = subject.program, subject.robot, subject.manifest
    topology, reduction = program.closures.topology, program.reduction
    values = spectra(program.closures, reduction)
    poses = [np.array(reduction.reference), *map(np.array, reduction.probes[1:])]
    report = robot.rank_report  # whose figures the manifest rounds, so that builds compare equal
    told = replace(reduction.rank, smallest_kept=report.smallest_kept, largest_dropped=report.largest_dropped)
    C, M = closure_pattern(robot, manifest), mass_pattern(robot, poses)
    return _environment().get_template(_TEMPLATE).render(
        version=VERSION, subject=subject, robot=robot, manifest=manifest, mechanism=topology.mechanism,
        complexity=manifest["complexity"], report=report, charts=_charts(subject),
        rank_text=str(report).removeprefix("rank "),
        graph=_inline(graph_svg(topology, _titles(robot))), spectrum=_inline(spectrum_svg(values, told)),
        poses=len(poses), lower=sum(rank < reduction.rank.rank for rank in reduction.rank.ranks),
        redundant=redundant_rows(program), C=C, C_svg=_inline(spy_svg(C)), M=M, M_svg=_inline(spy_svg(M)),
        fill=_fill, reaches=reaches(subject), step=STEP, bars=operations(manifest),
        joint_types=_tally(topology), inline=_inline,
    )  # fmt: skip


def reaches(subject: Subject) -> tuple[Reach, ...]:
    """The rows of the ports, in file order."""
    mechanism = subject.program.closures.topology.mechanism
    found = port_ranges(subject.robot, port_sizes(mechanism, subject.manifest))
    ports = {port.name: port for port in mechanism.ports}
    return tuple(reach_of(entry, ports[entry.port], subject.manifest) for entry in found)


def redundant_rows(program: RobotProgram) -> tuple[Redundant, ...]:
    """Closures whose condensed rows are not all among those that the port chart's modules solve."""
    selected = {row for module in program.reduction.chart("port").modules for row in module.rows}
    start, found = 0, []
    for closure in program.closures.closures:
        rows = range(start, start + len(closure.row_units))
        start = rows.stop
        left = sum(row not in selected for row in rows)
        if left:
            found.append(Redundant(closure.name, closure.kind, len(rows), left))
    return tuple(found)


def operations(manifest: Mapping[str, Any]) -> tuple[Bar, ...]:
    """Kernels by their number of operations, the largest first."""
    counts = sorted(manifest["operations"].items(), key=lambda item: (-item[1], item[0]))
    most = max((count for _, count in counts), default=0) or 1
    return tuple(Bar(name, count, round(100 * count / most, 2)) for name, count in counts)


def _charts(subject: Subject) -> list[dict[str, Any]]:
    """Both charts with their modules; rows and signs stand in the manifest only."""
    charts = []
    for name in ("port", "inner"):
        robot = subject.robot.chart(name)
        stored = subject.manifest["charts"][name]["modules"]
        modules = [{"info": info, "sign": m["sign"], "rows": len(m["rows"])} for info, m in _pairs(robot, stored)]
        charts.append({"name": name, "independent": joint_groups(robot.independent), "modules": modules})
    return charts


def _pairs(robot: Robot, stored: Sequence[Mapping[str, Any]]) -> zip[tuple[Any, Mapping[str, Any]]]:
    return zip(robot.modules, stored, strict=True)


def _titles(robot: Robot) -> list[tuple[str, tuple[str, ...]]]:
    """Modules as the drawing of the graph wants them."""
    return [(f"{m.name}: {m.size} {'dependent' if m.size == 1 else 'dependents'}", m.closures) for m in robot.modules]


def joint_groups(velocities: Sequence[str]) -> str:
    """Velocity names with those of one joint taken together: 'base (6), hip, knee'."""
    groups = [(joint, len(list(same))) for joint, same in groupby(velocities, lambda v: v.partition(":")[0])]
    return ", ".join(joint if size == 1 else f"{joint} ({size})" for joint, size in groups)


def _tally(topology: Topology) -> str:
    kinds = sorted(joint.type.value for joint in topology.mechanism.joints)
    counts = sorted(((len(list(same)), kind) for kind, same in groupby(kinds)), key=lambda item: (-item[0], item[1]))
    return ", ".join(f"{count} {kind}" for count, kind in counts)


def _fill(pattern: Pattern) -> str:
    rows, columns = pattern.shape
    share = 100 * len(pattern.entries) / (rows * columns) if rows and columns else 0.0
    return f"{rows} × {columns}, {len(pattern.entries)} nonzeros ({share:.1f} %)"


def _inline(svg: str) -> Markup:
    """A drawing of ours, whose texts are escaped, as part of the page."""
    return Markup(svg.replace(_NAMESPACE, "", 1))


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_folder()),
        undefined=jinja2.StrictUndefined,
        autoescape=True,  # names, notes and file names come from untrusted files
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["groups"] = joint_groups
    return environment
