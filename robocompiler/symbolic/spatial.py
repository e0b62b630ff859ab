"""SE(3) in CasADi: poses, the adjoint, the principal logarithm and the inverse left Jacobian.

Twists are angular-first, V = (omega; v).  Ad_T V = (R omega; p x R omega + R v).  J_l is the left Jacobian of SE(3),
(dT T^-1)^vee = J_l(rho) drho for T = exp(rho^).  Branches use `if_else`, which evaluates only the taken side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

SX = Any  # casadi ships no types


@dataclass(frozen=True)
class Pose:
    """A rigid transform x -> R x + p with R (3, 3) and p (3, 1) symbolic."""

    R: SX
    p: SX

    @staticmethod
    def identity() -> Pose:
        """The identity."""
        return Pose(cs.SX(cs.DM.eye(3).full()), cs.SX(cs.DM.zeros(3, 1).full()))

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(cs.mtimes(self.R, other.R), cs.mtimes(self.R, other.p) + self.p)

    def inverse(self) -> Pose:
        """T^-1."""
        return Pose(self.R.T, -cs.mtimes(self.R.T, self.p))


def rotation_z(angle: SX) -> SX:
    """Rot(z, angle)."""
    c, s = cs.cos(angle), cs.sin(angle)
    R = cs.SX(cs.DM.eye(3).full())
    R[0, 0], R[0, 1], R[1, 0], R[1, 1] = c, -s, s, c
    return R


def rotation_quaternion(quaternion: SX) -> SX:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = (quaternion[i] for i in range(4))
    return cs.vertcat(
        cs.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        cs.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        cs.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def quaternion_product(a: SX, b: SX) -> SX:
    """Hamilton product a b of quaternions (w, x, y, z)."""
    return cs.vertcat(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def skew(w: SX) -> SX:
    """The matrix of the cross product, skew(w) x = w x x."""
    zero = cs.SX(0)
    return cs.vertcat(
        cs.horzcat(zero, -w[2], w[1]),
        cs.horzcat(w[2], zero, -w[0]),
        cs.horzcat(-w[1], w[0], zero),
    )


def adjoint(T: Pose) -> SX:
    """Ad_T (6, 6), angular first."""
    zero = cs.SX(cs.DM.zeros(3, 3).full())
    return cs.vertcat(cs.horzcat(T.R, zero), cs.horzcat(cs.mtimes(skew(T.p), T.R), T.R))


def quaternion_of_rotation(R: SX) -> SX:
    """Unit quaternion (w, x, y, z), largest component positive (Shepperd's four cases; exact at half turns)."""
    t = R[0, 0] + R[1, 1] + R[2, 2]
    candidates = [  # four times (component k) times the quaternion, with 4 q_k^2 first
        cs.vertcat(1 + t, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]),
        cs.vertcat(R[2, 1] - R[1, 2], 1 + 2 * R[0, 0] - t, R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]),
        cs.vertcat(R[0, 2] - R[2, 0], R[1, 0] + R[0, 1], 1 + 2 * R[1, 1] - t, R[2, 1] + R[1, 2]),
        cs.vertcat(R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2], 1 + 2 * R[2, 2] - t),
    ]
    best, size = candidates[0], candidates[0][0]
    for k in (1, 2, 3):
        larger = candidates[k][k] > size
        best = cs.vertcat(*[cs.if_else(larger, candidates[k][i], best[i]) for i in range(4)])
        size = cs.if_else(larger, candidates[k][k], size)
    return best / cs.norm_2(best)


def log_rotation(R: SX) -> SX:
    """Principal rotation vector of R, |phi| <= pi; it is pi n, never 0, at a half turn."""
    q = quaternion_of_rotation(R)
    q = q * cs.if_else(q[0] < 0, -1, 1)
    s2 = q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    s = cs.sqrt(s2)
    # 2 atan2(s, w)/s; below s = 1e-4 two terms of the series are exact to rounding
    factor = cs.if_else(s2 < 1e-8, (2 - 2 * s2 / (3 * q[0] * q[0])) / q[0], 2 * cs.atan2(s, q[0]) / s)
    return factor * q[1:4]


def _cotangent_coefficient(theta2: SX) -> SX:
    """(1 - (theta/2) cot(theta/2)) / theta^2, the coefficient of phi^2 in the inverse left Jacobian of SO(3)."""
    # series sum |B_2k| theta^(2k-2)/(2k)!, exact to rounding below theta^2 = 0.06
    series = cs.SX(0)
    for c in reversed((1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000)):
        series = series * theta2 + c
    half = cs.sqrt(theta2) / 2
    return cs.if_else(theta2 < 0.06, series, (1 - half * cs.cos(half) / cs.sin(half)) / theta2)


def log_pose(T: Pose) -> SX:
    """rho = log(T)^vee in R^6 on the principal branch: rho = (phi; V(phi)^-1 p) with V the left Jacobian of SO(3)."""
    phi = log_rotation(T.R)
    b = _cotangent_coefficient(cs.dot(phi, phi))
    cross = cs.cross(phi, T.p)
    return cs.vertcat(phi, T.p - cross / 2 + b * cs.cross(phi, cross))


def _translation_coefficients(theta2: SX) -> tuple[SX, SX, SX]:
    """(theta - sin)/theta^3, (theta^2/2 + cos - 1)/theta^4, (theta^3/6 - theta + sin)/theta^5, exact at 0."""
    t2 = theta2

    def series(first: int) -> SX:  # sum_k (-t2)^k / (2k + first)!
        total = cs.SX(0)
        factorial, terms = 1.0, []
        for i in range(1, first + 1):
            factorial *= i
        for k in range(9):
            terms.append((-1) ** k / factorial)
            factorial *= (2 * k + first + 1) * (2 * k + first + 2)
        for c in reversed(terms):
            total = total * t2 + c
        return total

    # direct forms divide by theta^4 and theta^5: the series are used below theta = 1 (truncation below 1e-17 there)
    theta = cs.sqrt(t2)
    small = t2 < 1
    s, c = cs.sin(theta), cs.cos(theta)
    a = cs.if_else(small, series(3), (theta - s) / (t2 * theta))
    b = cs.if_else(small, series(4), (t2 / 2 + c - 1) / (t2 * t2))
    d = cs.if_else(small, series(5), (t2 * theta / 6 - theta + s) / (t2 * t2 * theta))
    return a, b, d


def inverse_left_jacobian(rho: SX) -> SX:
    """J_l(rho)^-1 (6, 6) of SE(3): [[J, 0], [-J Q J, J]] with J = J_l,SO3(phi)^-1 and Q of Barfoot, angular first."""
    phi, y = rho[0:3], rho[3:6]
    P, Y = skew(phi), skew(y)
    t2 = cs.dot(phi, phi)
    identity = cs.SX(cs.DM.eye(3).full())
    J = identity - P / 2 + _cotangent_coefficient(t2) * cs.mtimes(P, P)
    a, b, d = _translation_coefficients(t2)
    PY, YP = cs.mtimes(P, Y), cs.mtimes(Y, P)
    PYP = cs.mtimes(PY, P)
    Q = (
        Y / 2
        + a * (PY + YP + PYP)
        + b * (cs.mtimes(P, PY) + cs.mtimes(YP, P) - 3 * PYP)
        + (b - 3 * d) / 2 * (cs.mtimes(PYP, P) + cs.mtimes(P, PYP))
    )
    zero = cs.SX(cs.DM.zeros(3, 3).full())
    return cs.vertcat(cs.horzcat(J, zero), cs.horzcat(-cs.mtimes(cs.mtimes(J, Q), J), J))
