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


class Measure(Protocol):
    """A scalar s(q) with its derivative along the mechanism."""

    def value(self, at: Slopes) -> float:
        """s(q), in m or rad."""
        ...

    def row(self, at: Slopes) -> Array:
        """ds/du (d,)."""
        ...


@dataclass(frozen=True)
class PortMeasure:
    """Displacement of the `index`-th port."""

    index: int

    def value(self, at: Slopes) -> float:
        """l_k(q)."""
        return float(at.ports[self.index])

    def row(self, at: Slopes) -> Array:
        """The port's row of L."""
        return np.asarray(at.L[self.index])


@dataclass(frozen=True)
class CoordinateMeasure:
    """A coordinate whose rate is a velocity: q[q_index], v[v_index]."""

    q_index: int
    v_index: int

    def value(self, at: Slopes) -> float:
        """q_i."""
        return float(at.q[self.q_index])

    def row(self, at: Slopes) -> Array:
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

    def value(self, at: Slopes) -> float:
        """The angle, in (-pi, pi]."""
        return float(angles_of(rotation(at.q[self.quaternion : self.quaternion + 4]))[self.axis])

    def row(self, at: Slopes) -> Array:
        """Its row of T^-1 E, with omega = T(roll, pitch) d(roll, pitch, yaw)/dt."""
        roll, pitch, _ = angles_of(rotation(at.q[self.quaternion : self.quaternion + 4]))
        return np.asarray(angle_rates(roll, pitch)[self.axis] @ at.E[self.omega : self.omega + 3])


@dataclass(frozen=True)
class PlaceMeasure:
    """x, y or z (`axis` 0, 1, 2) of a free joint, whose numbers begin at q[q_start] and v[v_start]."""

    q_start: int
    v_start: int
    axis: int

    def value(self, at: Slopes) -> float:
        """The coordinate, in m."""
        return float(at.q[self.q_start + self.axis])

    def row(self, at: Slopes) -> Array:
        """Its row of R E: the joint's linear velocity is in the axes of frame b."""
        R = rotation(at.q[self.q_start + 3 : self.q_start + 7])
        return np.asarray(R[self.axis] @ at.E[self.v_start + 3 : self.v_start + 6])


def angles_of(R: Array) -> Array:
    """(roll, pitch, yaw) of Rz(yaw) Ry(pitch) Rx(roll) = R."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    return np.array([math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])])


def angle_rates(roll: float, pitch: float) -> Array:
    """T^-1 (3, 3): rates of (roll, pitch, yaw) per angular velocity in the turned axes; singular at a pitch of pi/2."""
    sr, cr, cp, tp = math.sin(roll), math.cos(roll), math.cos(pitch), math.tan(pitch)
    return np.array([[1.0, sr * tp, cr * tp], [0.0, cr, -sr], [0.0, sr / cp, cr / cp]])
