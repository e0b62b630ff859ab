"""Bounds: inequalities A u <= b from the limits of joints and ports, or of the caller's own.

Limits reach every joint, cut and dependent ones too, through the lift: v_i = E_i u.  A joint or port without a declared
limit gives no row.  Names of rows: 'joint slider_3 upper position', 'port motor lower speed'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import mapping, named, number, refused
from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import floats
from robocompiler.runtime.mechanics import MechanicalInterface
from robocompiler.runtime.redundancy.rows import BoundRows, matrix, row_names, to_own_chart

Array = NDArray[np.float64]
Interval = tuple[float, float]


class Bound(Protocol):
    """Anything that gives bound rows at a configuration."""

    def rows(self, robot: MechanicalInterface, q: Array) -> BoundRows:
        """A, b and names at q (nq,), in the robot's chart."""


@dataclass(frozen=True)
class JointSpeeds:
    """|v_i| <= share of the speed limit (rad/s or m/s): `limits` by velocity name, or those of the model file."""

    limits: Mapping[str, float] | None = None
    share: float = 1.0

    def rows(self, robot: MechanicalInterface, q: Array) -> BoundRows:
        """See `Bound.rows`."""
        declared = robot.speed_limits if self.limits is None else _speeds(self.limits, "velocity")
        for name in declared:
            named("velocity", name, robot.velocities)
        picked = [robot.velocities.index(name) for name in declared]
        ranges = _symmetric(declared, number(self.share, "share", above=0.0))
        return _two_sided([f"joint {name}" for name in declared], "speed", robot.lift(q)[picked], ranges)


@dataclass(frozen=True)
class PortSpeeds:
    """|ldot_i| <= share of the port's speed limit: `limits` by port name, or those of the model file."""

    limits: Mapping[str, float] | None = None
    share: float = 1.0

    def rows(self, robot: MechanicalInterface, q: Array) -> BoundRows:
        """See `Bound.rows`."""
        declared = None if self.limits is None else _speeds(self.limits, "port")
        if declared is None:
            found = {port.name: port.limits["velocity"] for port in robot.ports}
            declared = {name: value for name, value in found.items() if value is not None}
        picked = _ports(robot, declared)
        ranges = _symmetric(declared, number(self.share, "share", above=0.0))
        return _two_sided([f"port {name}" for name in declared], "speed", robot.port_map(q)[picked], ranges)


@dataclass(frozen=True)
class JointPositions:
    """Position limits as bounds on speed over a step of `step` seconds: (q_min - q) / h <= v_i <= (q_max - q) / h.

    A loop's joints pass their limit by terms of second order in h.  `margin` (rad or m) keeps that far inside: who is
    in it may stay but not go further.  Outside its limits already, a joint must come back within one step.  With
    `braking` (rad/s^2 or m/s^2) speeds also leave room to stop by that deceleration after the step:
    v h + v^2 / (2 a) <= distance.
    limits: {coordinate: (lower, upper)}, or those of the model file.
    """

    step: float
    limits: Mapping[str, Interval] | None = None
    margin: float = 0.0
    braking: float | None = None

    def rows(self, robot: MechanicalInterface, q: Array) -> BoundRows:
        """See `Bound.rows`."""
        declared = robot.position_limits if self.limits is None else checked_limits(self.limits, "coordinate")
        places = [robot.single_coordinate(name) for name in declared]
        now = q[[coordinate for _, coordinate in places]]
        ranges = _stopping(declared, now, self.step, self.margin, self.braking, "joint")
        rows = robot.lift(q)[[velocity for velocity, _ in places]]
        return _two_sided([f"joint {name}" for name in declared], "position", rows, ranges)


@dataclass(frozen=True)
class PortDisplacements:
    """The same for displacements of ports (the stroke of an actuator); arguments as in `JointPositions`."""

    step: float
    limits: Mapping[str, Interval] | None = None
    margin: float = 0.0
    braking: float | None = None

    def rows(self, robot: MechanicalInterface, q: Array) -> BoundRows:
        """See `Bound.rows`."""
        declared = strokes(robot) if self.limits is None else checked_limits(self.limits, "port")
        picked = _ports(robot, declared)
        now = robot.port_displacement(q)[picked]
        ranges = _stopping(declared, now, self.step, self.margin, self.braking, "port")
        return _two_sided([f"port {name}" for name in declared], "position", robot.port_map(q)[picked], ranges)


@dataclass(frozen=True)
class UserBound:
    """Rows A u <= b of the caller's own, over 'port' speeds (k, d) or all 'velocities' (k, nv); one name per row."""

    rows_named: Sequence[str]
    A: ArrayLike
    b: ArrayLike
    over: Literal["port", "velocities"] = "port"

    def rows(self, robot: MechanicalInterface, q: Array) -> BoundRows:
        """See `Bound.rows`."""
        names = row_names(self.rows_named, "rows_named")
        A = to_own_chart(robot, q, self.A, self.over, f"A of the bounds {names}")
        if len(A) != len(names):
            raise ArgumentError(f"the bounds {names} have {len(names)} names and {len(A)} rows")
        return BoundRows(names, A, matrix(self.b, (len(names),), f"b of the bounds {names}"))


def declared(step: float, *, margin: float = 0.0, braking: float | None = None) -> tuple[Bound, ...]:
    """All limits of the model file: speeds and positions of joints and ports, over steps of `step` seconds."""
    return (
        JointSpeeds(),
        PortSpeeds(),
        JointPositions(step, margin=margin, braking=braking),
        PortDisplacements(step, margin=margin, braking=braking),
    )


def strokes(robot: MechanicalInterface) -> dict[str, Interval]:
    """{port: (lower, upper)} of the ports whose displacement the model file limits."""
    found = {port.name: port.limits["displacement"] for port in robot.ports}
    return {name: (float(limits[0]), float(limits[1])) for name, limits in found.items() if limits is not None}


def _ports(robot: MechanicalInterface, names: Mapping[str, object]) -> list[int]:
    known = [port.name for port in robot.ports]
    for name in names:
        named("port", name, known)
    return [known.index(name) for name in names]


def checked_limits(limits: object, what: str) -> dict[str, Interval]:
    """Limits {name: (lower, upper)} that a user gives; an end without limit is infinite.  ArgumentError otherwise."""
    found = {}
    for name, ends in mapping(limits, "limits", f"{{{what}: (lower, upper)}}").items():
        pair = floats(ends, f"the limits of {what} {name!r}", "two numbers (lower, upper)")
        if pair.shape != (2,) or not pair[0] <= pair[1]:
            raise refused(f"the limits of {what} {name!r}", "two numbers (lower, upper), lower <= upper", ends)
        found[name] = (float(pair[0]), float(pair[1]))
    return found


def _speeds(limits: object, what: str) -> dict[str, float]:
    """Largest speeds {name: limit} that a user gives."""
    given = mapping(limits, "limits", f"{{{what}: largest speed}}")
    return {name: number(value, f"the speed limit of {what} {name!r}", least=0.0) for name, value in given.items()}


def _symmetric(limits: Mapping[str, float], share: float) -> list[Interval]:
    return [(-share * value, share * value) for value in limits.values()]


def _stopping(
    limits: Mapping[str, Interval], now: Array, step: float, margin: float, braking: float | None, kind: str
) -> list[Interval]:
    """Speeds (lower, upper) that keep every value within its limits over a step, or let it stop before them."""
    h = number(step, "step", above=0.0, unit="seconds")
    a = None if braking is None else number(braking, "braking", above=0.0)
    margin = number(margin, "margin", least=0.0)
    ranges = []
    for (name, (lower, upper)), value in zip(limits.items(), now, strict=True):
        if not lower + margin <= upper - margin:
            raise ArgumentError(f"{kind} {name!r}: no room between {lower} and {upper} with a margin of {margin}")
        ranges.append((-_speed(float(value) - lower, margin, h, a), _speed(upper - float(value), margin, h, a)))
    return ranges


def _speed(room: float, margin: float, h: float, a: float | None) -> float:
    """The largest v with v h (+ v^2 / 2a) <= room - margin; 0 within the margin, the speed back where room < 0."""
    distance = max(room - margin, min(room, 0.0))
    if a is None or distance < 0:
        return distance / h
    # 2 d / (h + sqrt(h^2 + 2 d / a)): the root of v^2/2a + v h - d without cancellation
    return float(2 * distance / (h + np.sqrt(h * h + 2 * distance / a)))


def _two_sided(names: Sequence[str], what: str, rows: Array, ranges: Sequence[Interval]) -> BoundRows:
    """Rows of x <= upper and -x <= -lower, one after the other; sides without a limit (infinite) left out."""
    found = [(f"{name} upper {what}", row, upper) for name, row, (_, upper) in zip(names, rows, ranges, strict=True)]
    found += [(f"{name} lower {what}", -row, -lower) for name, row, (lower, _) in zip(names, rows, ranges, strict=True)]
    kept = [entry for entry in found if np.isfinite(entry[2])]
    A = np.array([row for _, row, _ in kept]).reshape(len(kept), rows.shape[1])
    return BoundRows(tuple(name for name, _, _ in kept), A, np.array([b for _, _, b in kept]))
