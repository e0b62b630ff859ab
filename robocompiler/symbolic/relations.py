"""What each joint type forbids between its two frames (condensed rows) and how its own coordinates follow from them.

With A and B the aligned frames of a closing joint (both posed in one base frame), d = p_B - p_A, and x, y, z their
axes:

    spherical    d = 0                                    revolute   d = 0, z_B.x_A = z_B.y_A = 0
    universal    d = 0, z_A.z_B = cos(axis, axis2)        cylindrical x_A.d = y_A.d = 0, z_B.x_A = z_B.y_A = 0
    prismatic    x_A.d = y_A.d = 0, no rotation           planar     z_A.d = 0, z_B.x_A = z_B.y_A = 0
    fixed        d = 0, no rotation (z_B.x_A = z_B.y_A = x_B.y_A = 0)      free   nothing

Half turns satisfy some of these; the full residual rho refuses them.  A row's differential is a pair of covectors on
the motions of the two sides; see `Row`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.records.joint_types import JointType
from robocompiler.symbolic.frames import AlignedJoint
from robocompiler.symbolic.joints import Motion
from robocompiler.symbolic.spatial import Pose, quaternion_of_rotation

SX = Any


@dataclass(frozen=True)
class PointDifference:
    """Component `axis` (base axes) of d = p_B - p_A."""

    axis: int


@dataclass(frozen=True)
class Offset:
    """Component of d along an axis of frame A."""

    axis_a: int


@dataclass(frozen=True)
class Alignment:
    """Cosine between an axis of frame B and one of frame A."""

    axis_b: int
    axis_a: int


Condition = PointDifference | Offset | Alignment


@dataclass(frozen=True)
class Row:
    """A scalar condition with its differential  alpha.(omega_B - omega_A) + beta.(v_B(r_B) - v_A(r_A)).

    omega_S is the angular velocity of side S, v_S(r_S) the velocity of its point at r_S; alpha or beta may be None.
    `condition` tells what the value measures (None for the functionals of recovered speeds).
    """

    condition: Condition | None
    value: SX
    unit: str
    alpha: SX | None
    beta: SX | None
    r_A: SX
    r_B: SX

    def coefficient(self, motion: Motion, on_b: bool) -> SX:
        """Derivative with respect to the speed of one motion of side B (or A)."""
        total = cs.SX(0)
        if self.alpha is not None and motion.omega is not None:
            total += cs.dot(self.alpha, motion.omega)
        if self.beta is not None:
            total += cs.dot(self.beta, motion.velocity_of(self.r_B if on_b else self.r_A))
        return total if on_b else -total


def _unit(k: int) -> SX:
    e = cs.SX(3, 1)
    e[k] = 1
    return cs.densify(e)


def _point_rows(A: Pose, B: Pose) -> list[Row]:
    return [Row(PointDifference(k), B.p[k] - A.p[k], "m", None, _unit(k), A.p, B.p) for k in range(3)]


def _offset_row(A: Pose, B: Pose, axis: int) -> Row:
    """axis_A . d, whose point on side A is the one that lies at p_B (the axis turns with A)."""
    return Row(Offset(axis), cs.dot(A.R[:, axis], B.p - A.p), "m", None, A.R[:, axis], B.p, B.p)


def _alignment_row(A: Pose, B: Pose, axis_b: int, axis_a: int, target: SX = 0) -> Row:
    b, a = B.R[:, axis_b], A.R[:, axis_a]
    return Row(Alignment(axis_b, axis_a), cs.dot(b, a) - target, "rad", cs.cross(b, a), None, A.p, B.p)


def _parallel_rows(A: Pose, B: Pose) -> list[Row]:
    return [_alignment_row(A, B, 2, 0), _alignment_row(A, B, 2, 1)]


def _no_rotation_rows(A: Pose, B: Pose) -> list[Row]:
    return [*_parallel_rows(A, B), _alignment_row(A, B, 0, 1)]


def condensed_rows(joint: AlignedJoint, A: Pose, B: Pose) -> list[Row]:
    """The rows that the joint forbids.  A and B are its aligned frames in a common base frame."""
    kind = joint.kind
    if kind is JointType.SPHERICAL:
        return _point_rows(A, B)
    if kind is JointType.UNIVERSAL:
        return [*_point_rows(A, B), _alignment_row(A, B, 2, 2, cs.SX(joint.middle[2, 2]))]  # type: ignore[index]
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return [*_point_rows(A, B), *_parallel_rows(A, B)]
    if kind is JointType.CYLINDRICAL:
        return [_offset_row(A, B, 0), _offset_row(A, B, 1), *_parallel_rows(A, B)]
    if kind is JointType.PRISMATIC:
        return [_offset_row(A, B, 0), _offset_row(A, B, 1), *_no_rotation_rows(A, B)]
    if kind is JointType.PLANAR:
        return [_offset_row(A, B, 2), *_parallel_rows(A, B)]
    if kind is JointType.FIXED:
        return [*_point_rows(A, B), *_no_rotation_rows(A, B)]
    if kind is JointType.FREE:
        return []
    raise AssertionError(f"{kind} chords keep their coordinate")  # screw: the graph pass marks them kept


# --- recovery of an eliminated joint's own coordinates ------------------------------------------------------------


def _near(angle: SX, previous: SX) -> SX:
    """`angle` plus the whole turns that bring it next to `previous`."""
    difference = angle - previous
    return previous + cs.atan2(cs.sin(difference), cs.cos(difference))


def _signed(quaternion: SX, previous: SX) -> SX:
    """The quaternion's representative (q or -q) next to `previous`."""
    return quaternion * cs.if_else(cs.dot(quaternion, previous) < 0, -1, 1)


def _universal_angles(joint: AlignedJoint, R: SX) -> list[SX]:
    K = joint.middle  # R = Rz(first) K Rz(second)
    assert K is not None
    first = cs.atan2(R[1, 2], R[0, 2]) - float(cs.atan2(K[1, 2], K[0, 2]))
    second = float(cs.atan2(K[2, 1], K[2, 0])) - cs.atan2(R[2, 1], R[2, 0])
    return [first, second]


def recovered_coordinates(joint: AlignedJoint, A: Pose, B: Pose, previous: SX) -> SX:
    """The coordinates of an eliminated joint at closure, continuous with its previous ones (nq, 1)."""
    kind = joint.kind
    relative = A.inverse() @ B
    R, d = relative.R, relative.p
    turn = cs.atan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return _near(turn, previous)
    if kind is JointType.PRISMATIC:
        return d[2]
    if kind is JointType.CYLINDRICAL:
        return cs.vertcat(_near(turn, previous[0]), d[2])
    if kind is JointType.UNIVERSAL:
        return cs.vertcat(*[_near(angle, previous[k]) for k, angle in enumerate(_universal_angles(joint, R))])
    if kind is JointType.SPHERICAL:
        return _signed(quaternion_of_rotation(R), previous)
    if kind is JointType.PLANAR:
        return cs.vertcat(d[0], d[1], _near(turn, previous[2]))
    if kind is JointType.FREE:
        return cs.vertcat(d, _signed(quaternion_of_rotation(R), previous[3:7]))
    return cs.SX(0, 1)


def recovered_velocities(joint: AlignedJoint, A: Pose, B: Pose) -> list[Row]:
    """The speeds of an eliminated joint at closure, as functionals (value unused) of the relative twist of B to A."""

    def turning(alpha: SX) -> Row:
        return Row(None, cs.SX(0), "rad", alpha, None, A.p, B.p)

    def sliding(beta: SX) -> Row:
        return Row(None, cs.SX(0), "m", None, beta, B.p, B.p)

    kind = joint.kind
    x, y, z = (A.R[:, k] for k in range(3))
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return [turning(z)]
    if kind is JointType.PRISMATIC:
        return [sliding(z)]
    if kind is JointType.CYLINDRICAL:
        return [turning(z), sliding(z)]
    if kind is JointType.PLANAR:
        return [sliding(x), sliding(y), turning(z)]
    if kind is JointType.UNIVERSAL:
        c = float(joint.middle[2, 2])  # type: ignore[index]
        a, b = A.R[:, 2], B.R[:, 2]
        scale = 1 / (1 - c * c)
        return [turning((a - c * b) * scale), turning((b - c * a) * scale)]
    if kind is JointType.SPHERICAL:
        return [turning(B.R[:, k]) for k in range(3)]
    if kind is JointType.FREE:
        return [turning(B.R[:, k]) for k in range(3)] + [sliding(B.R[:, k]) for k in range(3)]
    return []
