"""Which sliders a robot gets: one per port, one per freedom that no port moves; with their ranges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.description import Description
from robocompiler.runtime.reports import PortInfo
from robocompiler.viewer.measures import (
    ANGLES,
    AngleMeasure,
    CoordinateMeasure,
    Measure,
    PlaceMeasure,
    PortMeasure,
    Since,
    Slopes,
    TurnMeasure,
)

Array = NDArray[np.float64]

PORT, COORDINATE, BASE = "port", "coordinate", "base"
INDEPENDENT = 1e-6  # sine of the least angle between a measure's row and those before it that counts as another freedom
QUARTER = 1.5  # rad, just short of a pitch of pi/2, where roll and yaw are not determined
TURN = math.pi
HALF_TURN = 3.14  # rad, just short of where roll and yaw wrap


@dataclass(frozen=True)
class Command:
    """One slider.

    Attributes:
        name: the port's or the coordinate's name; kind: PORT, COORDINATE or BASE (the pose of a free root).
        unit: 'm', 'rad', or '' for a weighted sum; scale: its size for one rad or one length scale of the joints.
        lower, upper: its range; limited: whether that is a limit of the records and not a choice of the viewer.
    """

    name: str
    kind: str
    measure: Measure
    unit: str
    scale: float
    lower: float
    upper: float
    limited: bool


def row_scale(row: Array) -> float:
    """Norm of a measure's row, or 1 where the measure does not move."""
    norm = float(np.linalg.norm(row))
    return norm if norm > 1e-12 else 1.0


def choose_rows(rows: Sequence[Array], order: Sequence[int], count: int) -> tuple[int, ...]:
    """The first `count` rows, in the given order, each of which is independent of those before (Gram-Schmidt)."""
    chosen: list[int] = []
    basis = np.zeros((0, count))
    for index in order:
        if len(chosen) == count:
            break
        unit = rows[index] / row_scale(rows[index])
        rest = unit - basis.T @ (basis @ unit)
        rest = rest - basis.T @ (basis @ rest)  # twice: the first pass leaves rounding of the size of the overlap
        size = float(np.linalg.norm(rest))
        if size > INDEPENDENT:
            chosen.append(index)
            basis = np.vstack([basis, rest / size])
    return tuple(chosen)


def commands_of(description: Description, ports: Sequence[PortInfo], chart: str, at: Slopes) -> tuple[Command, ...]:
    """All sliders: every port in file order, then coordinates for the freedoms that the ports leave.

    Freedoms are told by the rows at `at`; coordinates in which no port has a term come first.
    """
    found = [_port_command(description, port, k, at) for k, port in enumerate(ports)]
    used = {name for port in ports for name in port.terms}
    coordinates = list(_coordinate_commands(description, chart, at))
    coordinates.sort(key=lambda command: command.name in used)  # stable
    pool = [*found, *coordinates]
    rows = [command.measure.row(at, Since(at.q, 0.0)) for command in pool]
    chosen = choose_rows(rows, range(len(pool)), at.E.shape[1])
    rest = [pool[index] for index in chosen if index >= len(found)]
    rest.sort(key=lambda command: command.kind == BASE)
    return (*found, *rest)


def _port_command(description: Description, port: PortInfo, index: int, at: Slopes) -> Command:
    measure = PortMeasure(index)
    value = measure.value(at, Since(at.q, 0.0))
    unit, scale = _port_unit(description, port)
    given = port.limits.get("displacement") or _sum_of_limits(description, port)
    if given is not None:
        ends = (min(float(given[0]), value), max(float(given[1]), value))  # a reference may stand beyond a limit
    elif port.bodies:
        ends = (0.5 * value, 1.5 * value)
    else:
        ends = _around(value, unit, 0.5 * scale if unit == "m" else TURN * scale)
    return Command(port.name, PORT, measure, unit, scale, *ends, given is not None)


def _port_unit(description: Description, port: PortInfo) -> tuple[str, float]:
    """(unit, scale) of a port; of a weighted sum the records do not say the unit, and its weights give the scale."""
    if port.bodies:
        return "m", description.length
    units = {name: _unit(description, name) for name in port.terms}
    sizes = {"rad": 1.0, "m": description.length}
    if len(set(units.values())) == 1 and all(abs(weight) == 1 for weight in port.terms.values()):
        unit = next(iter(units.values()))
        return unit, sizes[unit]
    return "", sum(abs(weight) * sizes[units[name]] for name, weight in port.terms.items()) or 1.0


def _sum_of_limits(description: Description, port: PortInfo) -> tuple[float, float] | None:
    """The interval of sum(weight * coordinate) where every coordinate has limits."""
    lower = upper = 0.0
    for name, weight in port.terms.items():
        limits = description.limits.get(description.coordinate_slice(name).start)
        if limits is None:
            return None
        ends = sorted((float(weight) * limits[0], float(weight) * limits[1]))
        lower, upper = lower + ends[0], upper + ends[1]
    return (lower, upper) if port.terms else None


def _coordinate_commands(description: Description, chart: str, at: Slopes) -> Iterator[Command]:
    """Candidates for the independents of a chart: coordinates, the pose of a free quaternion joint, or turns of one."""
    independent = set(map(int, description.independent(chart)))
    for joint in description.joints:
        (q0, nq), (v0, nv) = joint["q"], joint["v"]
        own = [k for k in range(nv) if v0 + k in independent]
        if not own:
            continue
        if nq == nv:
            for k in own:
                yield _scalar_command(description, q0 + k, v0 + k, at)
        elif len(own) == nv:
            yield from _pose_commands(description, joint, at)
        else:  # of a ball on a rod often only the turn about the rod is free; angles would hold something else
            for k in own:
                measure = TurnMeasure(q0 + nq - 4, v0, k)
                yield Command(description.velocities[v0 + k], COORDINATE, measure, "rad", 1.0, -TURN, TURN, False)


def _scalar_command(description: Description, q_index: int, v_index: int, at: Slopes) -> Command:
    name, measure = description.coordinates[q_index], CoordinateMeasure(q_index, v_index)
    unit = _unit(description, name)
    scale = 1.0 if unit == "rad" else description.length
    limits = description.limits.get(q_index)
    value = measure.value(at, Since(at.q, 0.0))
    ends = _around(value, unit, 0.5 * scale) if limits is None else (min(limits[0], value), max(limits[1], value))
    return Command(name, COORDINATE, measure, unit, scale, *ends, limits is not None)


def _pose_commands(description: Description, joint: dict[str, Any], at: Slopes) -> Iterator[Command]:
    name, (q0, nq), (v0, _) = joint["name"], joint["q"], joint["v"]
    kind = BASE if joint["type"] == "free" else COORDINATE
    if nq == 7:
        for axis, letter in enumerate("xyz"):
            place = PlaceMeasure(q0, v0, axis)
            ends = _around(float(at.q[q0 + axis]), "m", description.length)
            yield Command(f"{name}:{letter}", kind, place, "m", description.length, *ends, False)
    for axis, angle in enumerate(ANGLES):
        end = QUARTER if angle == "pitch" else HALF_TURN
        measure = AngleMeasure(q0 + nq - 4, v0, axis)
        yield Command(f"{name}:{angle}", kind, measure, "rad", 1.0, -end, end, False)


def _around(value: float, unit: str, reach: float) -> tuple[float, float]:
    """A range for what has no limits: a turn, or `reach` each way."""
    return (min(-TURN, value), max(TURN, value)) if unit == "rad" else (value - reach, value + reach)


def _unit(description: Description, coordinate: str) -> str:
    joint, _, suffix = coordinate.partition(":")
    kind = next(entry["type"] for entry in description.joints if entry["name"] == joint)
    linear = kind == "prismatic" or suffix in ("x", "y", "z", "displacement")
    return "m" if linear else "rad"
