"""Joint models: the transform F(q) of each type as a chain of elementary factors, with the twist of every velocity.

Walking a chain of joints outward from a base frame O, `traverse` accumulates the pose of the far frame and records one
`Motion` per velocity: the instantaneous twist, in the axes of O, that unit speed gives to everything further out.
Against its direction a joint is F(q)^-1, whose twists are those of a relative to b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.records.joint_types import JointType
from robocompiler.symbolic.frames import AlignedJoint
from robocompiler.symbolic.spatial import Pose, rotation_quaternion, rotation_z

SX = Any


@dataclass(frozen=True)
class Motion:
    """Unit speed of velocity `index` moves a point r of the outer body with omega x (r - point) + linear (axes of O).

    `omega` or `linear` is None where the motion has no such part.  Motions of one `factor` act together: their axes are
    all fixed in its inner frame or all in its outer one.
    """

    index: int
    factor: int
    omega: SX | None
    linear: SX | None
    point: SX

    def velocity_of(self, r: SX) -> SX:
        """Velocity of the point r of the outer body."""
        v = cs.SX(3, 1) if self.linear is None else self.linear
        return cs.densify(v if self.omega is None else v + cs.cross(self.omega, r - self.point))

    def twist(self) -> SX:
        """The twist (omega; velocity of the point of the outer body at the origin of O)."""
        omega = cs.densify(cs.SX(3, 1)) if self.omega is None else self.omega
        return cs.vertcat(omega, self.velocity_of(cs.densify(cs.SX(3, 1))))


Step = Callable[[Pose], tuple[Pose, list[Motion]]]


def _turn(q: SX, index: int, sign: int) -> Step:
    def step(T: Pose) -> tuple[Pose, list[Motion]]:
        axis = sign * T.R[:, 2]
        return Pose(cs.mtimes(T.R, rotation_z(sign * q)), T.p), [Motion(index, index, axis, None, T.p)]

    return step


def _slide(q: SX, index: int, sign: int, axis: int = 2) -> Step:
    def step(T: Pose) -> tuple[Pose, list[Motion]]:
        direction = sign * T.R[:, axis]
        return Pose(T.R, T.p + direction * q), [Motion(index, index, None, direction, T.p)]

    return step


def _constant(R: SX) -> Step:
    return lambda T: (Pose(cs.mtimes(T.R, R), T.p), [])


def _screw(q: SX, pitch: SX, index: int, sign: int) -> Step:
    def step(T: Pose) -> tuple[Pose, list[Motion]]:
        axis = sign * T.R[:, 2]
        moved = Pose(cs.mtimes(T.R, rotation_z(sign * q)), T.p + axis * (pitch * q))
        return moved, [Motion(index, index, axis, axis * pitch, T.p)]

    return step


def _ball(q: SX, index: int, forward: bool) -> Step:
    """Rotation by a quaternion; velocities are the angular velocity of b relative to a in the axes of frame b."""

    def step(T: Pose) -> tuple[Pose, list[Motion]]:
        Q = rotation_quaternion(q)
        moved = Pose(cs.mtimes(T.R, Q if forward else Q.T), T.p)
        axes = moved.R if forward else -T.R  # frame b is the outer frame going forward, the inner one going back
        return moved, [Motion(index + k, index, axes[:, k], None, T.p) for k in range(3)]

    return step


def _floating(q: SX, index: int, forward: bool) -> Step:
    """Trans(q[0:3]) Rot(q[3:7]); velocities are the twist of b relative to a at b's origin in the axes of b."""

    def step(T: Pose) -> tuple[Pose, list[Motion]]:
        F = Pose(rotation_quaternion(q[3:7]), q[0:3])
        moved = T @ (F if forward else F.inverse())
        b = moved if forward else T
        axes = b.R if forward else -b.R
        turning = [Motion(index + k, index, axes[:, k], None, b.p) for k in range(3)]
        sliding = [Motion(index + 3 + k, index, None, axes[:, k], b.p) for k in range(3)]
        return moved, turning + sliding

    return step


def elementary_steps(joint: AlignedJoint, q: SX, index: int, forward: bool) -> list[Step]:
    """The joint as elementary factors, walked forward (from A to B) or back; a constant factor has no motions."""
    sign = 1 if forward else -1
    kind = joint.kind
    if kind is JointType.FIXED:
        return []
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return [_turn(q[0], index, sign)]
    if kind is JointType.PRISMATIC:
        return [_slide(q[0], index, sign)]
    if kind is JointType.SCREW:
        return [_screw(q[0], joint.pitch, index, sign)]
    if kind is JointType.SPHERICAL:
        return [_ball(q, index, forward)]
    if kind is JointType.FREE:
        return [_floating(q, index, forward)]
    if kind is JointType.CYLINDRICAL:
        steps = [_turn(q[0], index, sign), _slide(q[1], index + 1, sign)]
    elif kind is JointType.UNIVERSAL:
        middle = cs.SX(joint.middle if forward else joint.middle.T)  # type: ignore[union-attr]
        steps = [_turn(q[0], index, sign), _constant(middle), _turn(q[1], index + 1, sign)]
    elif kind is JointType.PLANAR:
        steps = [_slide(q[0], index, sign, 0), _slide(q[1], index + 1, sign, 1), _turn(q[2], index + 2, sign)]
    else:
        raise AssertionError(f"no joint model for {kind}")
    return steps if forward else steps[::-1]


def traverse(T: Pose, joint: AlignedJoint, q: SX, index: int, forward: bool) -> tuple[Pose, list[Motion]]:
    """Walk from the aligned frame on one side of a joint to that on the other.

    `T` is the pose of the near frame (A going forward, B going back) in O; `q` the joint's coordinates; `index` its
    first velocity.  Returns the pose of the far frame and the joint's motions, outward.
    """
    motions: list[Motion] = []
    for step in elementary_steps(joint, q, index, forward):
        T, found = step(T)
        motions += found
    return T, motions


def transform(joint: AlignedJoint, q: SX) -> Pose:
    """X = A F(q) B^-1."""
    far, _ = traverse(joint.A, joint, q, 0, True)
    return far @ joint.B.inverse()
