"""Cdot v of the condensed rows: their second time derivatives when every coordinate has zero acceleration.

Along each side of a chord the twist and its bias are propagated outward in the chord's base frame,

    V <- V + s v,    Vdot <- Vdot + ad(V_inner) s v         (omega; velocity at the base origin)

where s is fixed in the inner or the outer frame of its factor.  Points then have classical accelerations
a_p = vdot_O + omegadot x p + omega x v_p, and each row its second derivative:

    d = p_B - p_A                    d''  = a_B - a_A
    x_A . d                          x''  . d + 2 x' . d' + x . d''
    z_B . x_A                        z''  . x + 2 z' . x' + z . x''     (e'' = omegadot x e + omega x (omega x e))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import casadi as cs

from robocompiler.symbolic.joints import Motion
from robocompiler.symbolic.relations import Alignment, Condition, Offset, PointDifference
from robocompiler.symbolic.spatial import Pose

SX = Any


@dataclass(frozen=True)
class Drift:
    """Velocity state of one side: twist (omega, v at the base origin), its derivative at zero joint accelerations."""

    omega: SX
    v: SX
    omega_dot: SX
    v_dot: SX

    def point_velocity(self, p: SX) -> SX:
        """Velocity of the material point at p."""
        return self.v + cs.cross(self.omega, p)

    def point_acceleration(self, p: SX) -> SX:
        """Classical acceleration of the material point at p."""
        return self.v_dot + cs.cross(self.omega_dot, p) + cs.cross(self.omega, self.point_velocity(p))

    def axis_rate(self, e: SX) -> SX:
        """First derivative of a direction fixed on the side's body."""
        return cs.cross(self.omega, e)

    def axis_curvature(self, e: SX) -> SX:
        """Second derivative of a direction fixed on the side's body."""
        return cs.cross(self.omega_dot, e) + cs.cross(self.omega, cs.cross(self.omega, e))


def drift(motions: Sequence[Motion], v: SX) -> Drift:
    """The velocity state at the end of a path whose motions are listed outward; `v` are all velocities (nv,)."""
    zero = cs.SX(cs.DM.zeros(3, 1).full())
    omega, linear, omega_dot, linear_dot = zero, zero, zero, zero
    for _, group in groupby(motions, key=lambda motion: motion.factor):
        spin, slide = zero, zero
        for motion in group:
            twist = motion.twist()
            spin, slide = spin + twist[0:3] * v[motion.index], slide + twist[3:6] * v[motion.index]
        omega_dot = omega_dot + cs.cross(omega, spin)
        linear_dot = linear_dot + cs.cross(omega, slide) + cs.cross(linear, spin)
        omega, linear = omega + spin, linear + slide
    return Drift(omega, linear, omega_dot, linear_dot)


def row_curvature(condition: Condition, A: Pose, B: Pose, a: Drift, b: Drift) -> SX:
    """Second derivative of one condensed row at zero joint accelerations."""
    if isinstance(condition, PointDifference):
        return b.point_acceleration(B.p)[condition.axis] - a.point_acceleration(A.p)[condition.axis]
    if isinstance(condition, Offset):
        x = A.R[:, condition.axis_a]
        d, rate = B.p - A.p, b.point_velocity(B.p) - a.point_velocity(A.p)
        change = b.point_acceleration(B.p) - a.point_acceleration(A.p)
        return cs.dot(a.axis_curvature(x), d) + 2 * cs.dot(a.axis_rate(x), rate) + cs.dot(x, change)
    assert isinstance(condition, Alignment)
    x, z = A.R[:, condition.axis_a], B.R[:, condition.axis_b]
    return cs.dot(b.axis_curvature(z), x) + 2 * cs.dot(b.axis_rate(z), a.axis_rate(x)) + cs.dot(z, a.axis_curvature(x))
