"""Preferences Phi(q): what the motion that the task leaves free should make small.  g^T u is its rate along u.

For a function of q: dPhi/dt = DPhi N E u, hence g = E^T N^T DPhi^T; for one of port displacements g = L^T dPhi/dl.
`gain` is k_phi.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import function, named, number, one_of
from robocompiler.errors import ArgumentError
from robocompiler.runtime.mechanics import MechanicalInterface
from robocompiler.runtime.redundancy.bounds import checked_limits, strokes
from robocompiler.runtime.redundancy.rows import matrix

Array = NDArray[np.float64]
Interval = tuple[float, float]
Kind = Literal["log", "quadratic"]


class Preference(Protocol):
    """Anything with a value and its gradient."""

    @property
    def gain(self) -> float:
        """k_phi."""

    def value(self, robot: MechanicalInterface, q: Array) -> float:
        """Phi(q)."""

    def gradient(self, robot: MechanicalInterface, q: Array) -> Array:
        """g (d,) with dPhi/dt = g^T u, in the robot's chart."""


@dataclass(frozen=True)
class StrokeInterior:
    """Ports away from the ends of their strokes, s = (l - l_min) / (l_max - l_min).

    kind 'log': Phi = sum -log(s (1 - s)), a barrier; 'quadratic': Phi = sum (2 s - 1)^2 / 2, which also works outside.
    limits: {port: (lower, upper)}, or those of the model file.
    """

    kind: Kind = "log"
    limits: Mapping[str, Interval] | None = None
    gain: float = 1.0

    def value(self, robot: MechanicalInterface, q: Array) -> float:
        """See `Preference.value`."""
        return self._strokes(robot, q)[0]

    def gradient(self, robot: MechanicalInterface, q: Array) -> Array:
        """See `Preference.gradient`."""
        _, slope, picked = self._strokes(robot, q)
        return np.asarray(robot.port_map(q)[picked].T @ slope)

    def _strokes(self, robot: MechanicalInterface, q: Array) -> tuple[float, Array, list[int]]:
        limits = strokes(robot) if self.limits is None else checked_limits(self.limits, "port")
        known = [port.name for port in robot.ports]
        for name in limits:
            named("port", name, known)
        if not limits:
            raise ArgumentError(f"{robot.name}: no port has limits of displacement; give StrokeInterior(limits=...)")
        picked = [known.index(name) for name in limits]
        return *_interior(self.kind, limits, robot.port_displacement(q)[picked], "port"), picked


@dataclass(frozen=True)
class JointInterior:
    """Joints away from their position limits; as `StrokeInterior`, with limits {coordinate: (lower, upper)}."""

    kind: Kind = "log"
    limits: Mapping[str, Interval] | None = None
    gain: float = 1.0

    def value(self, robot: MechanicalInterface, q: Array) -> float:
        """See `Preference.value`."""
        return self._joints(robot, q)[0]

    def gradient(self, robot: MechanicalInterface, q: Array) -> Array:
        """See `Preference.gradient`."""
        _, slope, picked = self._joints(robot, q)
        return np.asarray(robot.lift(q)[picked].T @ slope)

    def _joints(self, robot: MechanicalInterface, q: Array) -> tuple[float, Array, list[int]]:
        limits = robot.position_limits if self.limits is None else checked_limits(self.limits, "coordinate")
        if not limits:
            raise ArgumentError(f"{robot.name}: no joint has position limits; give JointInterior(limits=...)")
        places = [robot.single_coordinate(name) for name in limits]
        now = q[[coordinate for _, coordinate in places]]
        return *_interior(self.kind, limits, now, "joint"), [velocity for velocity, _ in places]


@dataclass(frozen=True)
class UserPreference:
    """A function of the caller's own: phi(q) and its gradient dPhi/dq (nq,) over all coordinates of q."""

    phi: Callable[[Array], float]
    slope: Callable[[Array], ArrayLike]
    gain: float = 1.0

    def value(self, robot: MechanicalInterface, q: Array) -> float:
        """See `Preference.value`."""
        function(self.phi, "phi", "phi(q)")
        return number(self.phi(q.copy()), "the value of the preference at this configuration")

    def gradient(self, robot: MechanicalInterface, q: Array) -> Array:
        """See `Preference.gradient`."""
        function(self.slope, "slope", "slope(q)")
        slope = matrix(self.slope(q.copy()), (len(robot.coordinates),), "the gradient of the preference")
        return np.array([slope @ robot.coordinate_rates(q, column) for column in robot.lift(q).T])


def _interior(kind: str, limits: Mapping[str, Interval], now: Array, what: str) -> tuple[float, Array]:
    """Phi and its slope by the values `now`."""
    one_of(kind, ("log", "quadratic"), "kind")
    ends: Sequence[Interval] = list(limits.values())
    lower, upper = np.array(ends).T
    span = upper - lower
    if not (np.all(np.isfinite(span)) and np.all(span > 0)):
        raise ArgumentError(f"limits of a {what} must be finite with lower < upper")
    s = (now - lower) / span
    if kind == "quadratic":
        return float(np.sum((2 * s - 1) ** 2) / 2), 2 * (2 * s - 1) / span
    outside = [name for name, part in zip(limits, s, strict=True) if not 0 < part < 1]
    if outside:
        raise ArgumentError(
            f"{what} {outside[0]!r} is not inside its limits, where a logarithmic preference is infinite; use "
            "'quadratic' to come back"
        )
    return float(-np.sum(np.log(s * (1 - s)))), (1 / (1 - s) - 1 / s) / span
