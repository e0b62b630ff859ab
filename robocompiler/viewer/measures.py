"""The scalars that a slider moves: port displacements, coordinates, and poses of balls and free roots.

Each measure has a value s(q) and a row ds/du (d,) over the independent speeds u, so that all of them can be solved for
in the same way:  sdot = row u,  taken from v = E u and ldot = L u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocompiler.numerics import se3
from robocompiler.runtime.manifold import rotation

Array = NDArray[np.float64]
ANGLES = ("roll", "pitch", "yaw")


@dataclass(frozen=True)
class Slopes:
    """A configuration with its first-order maps: q (nq,), lift E (nv, d), ports l (nf,) and L (nf, d)."""

    q: Array
    E: Array
    ports: Array
    L: Array


@dataclass(frozen=True)
class Since:
    """The state that a step started from: its configuration q (nq,) and the measure's value there."""

    q: Array
    value: float


class Measure(Protocol):
    """A scalar s(q) with its derivative along the mechanism."""

    def value(self, at: Slopes, since: Since) -> float:
        """s(q), in m or rad; only a `TurnMeasure` needs to know `since` when."""
        ...

    def row(self, at: Slopes, since: Since) -> Array:
        """ds/du (d,)."""
        ...


@dataclass(frozen=True)
class PortMeasure:
    """Displacement of the `index`-th port."""

    index: int

    def value(self, at: Slopes, since: Since) -> float:
        """l_k(q)."""
        return float(at.ports[self.index])

    def row(self, at: Slopes, since: Since) -> Array:
        """The port's row of L."""
        return np.asarray(at.L[self.index])


@dataclass(frozen=True)
class CoordinateMeasure:
    """A coordinate whose rate is a velocity: q[q_index], v[v_index]."""

    q_index: int
    v_index: int

    def value(self, at: Slopes, since: Since) -> float:
        """q_i."""
        return float(at.q[self.q_index])

    def row(self, at: Slopes, since: Since) -> Array:
        """The velocity's row of E."""
        return np.asarray(at.E[self.v_index])


@dataclass(frozen=True)
class AngleMeasure:
    """Roll, pitch or yaw (`axis` 0, 1, 2) of a quaternion joint: Q = Rz(yaw) Ry(pitch) Rx(roll).

    quaternion: where (w, x, y, z) begins in q; omega: where the angular velocity, in the axes of frame b, begins in v.
    """

    quaternion: int
    omega: int
    axis: int

    def value(self, at: Slopes, since: Since) -> float:
        """The angle, in (-pi, pi]."""
        return float(angles_of(rotation(at.q[self.quaternion : self.quaternion + 4]))[self.axis])

    def row(self, at: Slopes, since: Since) -> Array:
        """Its row of T^-1 E, with omega = T(roll, pitch) d(roll, pitch, yaw)/dt."""
        roll, pitch, _ = angles_of(rotation(at.q[self.quaternion : self.quaternion + 4]))
        return np.asarray(angle_rates(roll, pitch)[self.axis] @ at.E[self.omega : self.omega + 3])


@dataclass(frozen=True)
class PlaceMeasure:
    """x, y or z (`axis` 0, 1, 2) of a free joint, whose numbers begin at q[q_start] and v[v_start]."""

    q_start: int
    v_start: int
    axis: int

    def value(self, at: Slopes, since: Since) -> float:
        """The coordinate, in m."""
        return float(at.q[self.q_start + self.axis])

    def row(self, at: Slopes, since: Since) -> Array:
        """Its row of R E: the joint's linear velocity is in the axes of frame b."""
        R = rotation(at.q[self.q_start + 3 : self.q_start + 7])
        return np.asarray(R[self.axis] @ at.E[self.v_start + 3 : self.v_start + 6])


@dataclass(frozen=True)
class TurnMeasure:
    """How far a quaternion joint has turned about an axis of frame b: the integral of one angular velocity.

    No coordinate belongs to a single angular velocity, so the value adds up from state to state: with
    phi = log(R_since^T R), it grows by phi_axis, whose rate is the row of J_r(phi)^-1 omega.
    """

    quaternion: int
    omega: int
    axis: int

    def value(self, at: Slopes, since: Since) -> float:
        """The turn in rad, from the value of the last state."""
        return since.value + float(self._phi(at, since)[self.axis])

    def row(self, at: Slopes, since: Since) -> Array:
        """Its row of J_r^-1 E."""
        rates = inverse_right_jacobian(self._phi(at, since))
        return np.asarray(rates[self.axis] @ at.E[self.omega : self.omega + 3])

    def _phi(self, at: Slopes, since: Since) -> Array:
        place = slice(self.quaternion, self.quaternion + 4)
        return se3.log(rotation(since.q[place]).T @ rotation(at.q[place]), np.zeros(3))[:3]


def inverse_right_jacobian(phi: Array) -> Array:
    """J_r(phi)^-1 (3, 3) = I + phi^ / 2 + (1 - (t/2) cot(t/2)) / t^2 phi^ phi^, with t = |phi| below pi."""
    t = float(np.linalg.norm(phi))
    factor = 1 / 12 + t * t / 720 if t < 1e-3 else (1 - t / 2 / math.tan(t / 2)) / (t * t)
    hat = se3.skew(phi)
    return np.asarray(np.eye(3) + hat / 2 + factor * hat @ hat)


def angles_of(R: Array) -> Array:
    """(roll, pitch, yaw) of Rz(yaw) Ry(pitch) Rx(roll) = R."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    return np.array([math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])])


def angle_rates(roll: float, pitch: float) -> Array:
    """T^-1 (3, 3): rates of (roll, pitch, yaw) per angular velocity in the turned axes; singular at a pitch of pi/2."""
    sr, cr, cp, tp = math.sin(roll), math.cos(roll), math.cos(pitch), math.tan(pitch)
    return np.array([[1.0, sr * tp, cr * tp], [0.0, cr, -sr], [0.0, sr / cp, cr / cp]])
