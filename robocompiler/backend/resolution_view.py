"""Redundancy resolution of a robot as the plain values that its templates print: limits, rows and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robocompiler.backend.cache import Unit
from robocompiler.backend.identifiers import unique_macros
from robocompiler.backend.mechanics_view import MechanicsView
from robocompiler.backend.numbers import literals
from robocompiler.backend.options import Real
from robocompiler.backend.rendering import render
from robocompiler.backend.views import RobotView
from robocompiler.records.joint_types import JOINT_SHAPES, coordinate_names
from robocompiler.records.model import Limits
from robocompiler.symbolic.program import RobotProgram

NO_LIMIT = 1e30
DEPENDENT: dict[str, str] = {"double": "1e-8", "float": "1e-3f"}  # of a row: what others leave of a dependent one
SLACK: dict[str, str] = {"double": "1e-10", "float": "1e-5f"}  # of the sizes in a row: what counts as holding
SHRINK: dict[str, str] = {"double": "1e-14", "float": "2e-7f"}
SPARE_ROWS = 16  # room in the solver for bounds of the caller's own
ROUNDS = 60


@dataclass(frozen=True)
class LimitView:
    """Limits of one joint coordinate (velocity and coordinate: its places in v and q, -1 for none) or of one port."""

    name: str
    velocity: int
    coordinate: int
    lower: str
    upper: str
    speed: str


@dataclass(frozen=True)
class ResolutionView:
    """What resolution.h, resolution.c and qp.c print."""

    joints: list[LimitView]
    ports: list[LimitView]
    rows: list[str]
    row_enum: list[tuple[str, int, str]]
    capacity: int
    steps: int
    dependent: str
    slack: str
    shrink: str
    atan2: str
    rounds: int = ROUNDS


def resolution_view(program: RobotProgram, view: RobotView, real: Real) -> ResolutionView:
    """The view of a robot that can move."""
    topology = program.closures.topology
    joints: list[LimitView] = []
    for slot in topology.slots:
        joint = topology.joint(slot.joint)
        shape = JOINT_SHAPES[joint.type]
        # a ball's coordinates have no speed each, so that its positions have no limits: see the manifest
        plain = shape.nq == shape.nv
        names = coordinate_names(joint.name, joint.type) if plain else topology.v_names[slot.v0 : slot.v0 + slot.nv]
        for k, limits in enumerate(joint.limits):
            position = limits.position if plain else None
            if position is not None or limits.velocity is not None:
                place = slot.q0 + k if position is not None else -1
                joints.append(_limit(names[k], slot.v0 + k, place, Limits(position, limits.velocity), real))
    ports = [
        _limit(port.name, index, index, port.limits, real)
        for index, port in enumerate(topology.mechanism.ports)
        if port.limits.position is not None or port.limits.velocity is not None
    ]
    owners = [f"joint {limit.name}" for limit in joints] + [f"port {limit.name}" for limit in ports]
    rows = [f"{owner} {side}" for owner in owners for side in ("upper", "lower")]
    macros = unique_macros(rows)
    capacity = len(rows) + SPARE_ROWS
    return ResolutionView(
        joints=joints,
        ports=ports,
        rows=rows,
        row_enum=[(f"{view.MACRO}_ROW_{macros[row]}", k, row) for k, row in enumerate(rows)],
        capacity=capacity,
        steps=10 * (view.nd + capacity),
        dependent=DEPENDENT[real],
        slack=SLACK[real],
        shrink=SHRINK[real],
        atan2="atan2f" if real == "float" else "atan2",
    )


def _limit(name: str, velocity: int, coordinate: int, limits: Limits, real: Real) -> LimitView:
    lower, upper = limits.position or (-NO_LIMIT, NO_LIMIT)
    speed = NO_LIMIT if limits.velocity is None else limits.velocity
    return LimitView(name, velocity, coordinate, *literals([lower, upper, speed], real))


def resolution_files(program: RobotProgram, view: RobotView, mechanics: MechanicsView, real: Real) -> dict[str, str]:
    """Header and sources of the resolution."""
    own, prefix = resolution_view(program, view, real), view.prefix
    names = {"resolution.h": "resolution.h.j2", "resolution.c": "resolution.c.j2", "qp.c": "qp.c.j2"}
    return {f"{prefix}_{name}": render(template, r=view, d=mechanics, s=own) for name, template in names.items()}


def resolution_units(files: Mapping[str, str], prefix: str, provenance: Mapping[str, str]) -> tuple[Unit, ...]:
    """The translation units of those files, with the header that only they include."""
    headers = {path: text for path, text in files.items() if path.endswith(".h")}
    return tuple(
        Unit(path.removeprefix(f"{prefix}_").removesuffix(".c"), Path(path), text, provenance, headers)
        for path, text in sorted(files.items())
        if path.endswith(".c")
    )
