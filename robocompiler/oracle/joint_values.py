"""Coordinates of a joint from the relative pose, and the relative pose from coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robocompiler.oracle.arithmetic import Arithmetic, Number
from robocompiler.oracle.relative import Relative
from robocompiler.oracle.scene import PlacedJoint
from robocompiler.oracle.vectors import (
    Matrix,
    Vector,
    about,
    add,
    apply,
    apply_transposed,
    by_quaternion,
    cross,
    dot,
    identity,
    multiply,
    quaternion_of,
    scale,
)
from robocompiler.records.joint_types import JointType


def joint_motion(joint: PlacedJoint, q: Sequence[Number], arithmetic: Arithmetic) -> tuple[Matrix, Vector]:
    """Q(q) of the joint type as (rotation, translation)."""
    zero = arithmetic.number(0.0)
    still, here = identity(arithmetic), (zero, zero, zero)
    n, kind = joint.n, joint.kind
    if kind is JointType.FIXED:
        return still, here
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return about(n, q[0], arithmetic), here
    if kind is JointType.PRISMATIC:
        return still, scale(q[0], n)
    if kind is JointType.SCREW:
        return about(n, q[0], arithmetic), scale(joint.pitch * q[0], n)
    if kind is JointType.CYLINDRICAL:
        return about(n, q[0], arithmetic), scale(q[1], n)
    if kind is JointType.UNIVERSAL:
        return multiply(about(n, q[0], arithmetic), about(joint.m, q[1], arithmetic)), here
    if kind is JointType.PLANAR:
        return about(n, q[2], arithmetic), add(scale(q[0], joint.e1), scale(q[1], joint.e2))
    rotation = by_quaternion((q[-4], q[-3], q[-2], q[-1]), arithmetic)
    return rotation, here if kind is JointType.SPHERICAL else (q[0], q[1], q[2])


def joint_values(
    joint: PlacedJoint, motion: Relative, near: Mapping[str, Number], arithmetic: Arithmetic
) -> dict[str, Number]:
    """The joint's coordinates at a relative pose; angles are the ones closest to `near` (within half a turn of 0)."""
    R, s, n, m = motion.rotation, motion.position, joint.n, joint.m
    kind = joint.kind
    if kind is JointType.FIXED:
        return {}
    if kind in (JointType.SPHERICAL, JointType.FREE):
        quaternion = quaternion_of(R, arithmetic)
        values = quaternion if kind is JointType.SPHERICAL else (*s, *quaternion)
        return dict(zip(joint.coordinates, values, strict=True))
    if kind is JointType.PRISMATIC:
        return {joint.name: dot(n, s)}
    if kind is JointType.UNIVERSAL:
        # R m = Rot(n, first) m, and R^T n = Rot(m, -second) n
        angles = [_turn(n, m, apply(R, m), arithmetic), _turn(m, apply_transposed(R, n), n, arithmetic)]
        return {
            name: _unwound(angle, near.get(name), arithmetic)
            for name, angle in zip(joint.coordinates, angles, strict=True)
        }
    image1, image2 = apply(R, joint.e1), apply(R, joint.e2)
    angle = arithmetic.atan2(
        dot(joint.e2, image1) - dot(joint.e1, image2), dot(joint.e1, image1) + dot(joint.e2, image2)
    )
    name = joint.coordinates[2 if kind is JointType.PLANAR else 0]
    values_by_name = {name: _unwound(angle, near.get(name), arithmetic)}
    if kind is JointType.CYLINDRICAL:
        values_by_name[joint.coordinates[1]] = dot(n, s)
    if kind is JointType.PLANAR:
        values_by_name[joint.coordinates[0]] = dot(joint.e1, s)
        values_by_name[joint.coordinates[1]] = dot(joint.e2, s)
    return values_by_name


def _turn(axis: Vector, source: Vector, image: Vector, arithmetic: Arithmetic) -> Number:
    """The angle about `axis` that takes `source` to `image`."""
    sine = dot(axis, cross(source, image))
    return arithmetic.atan2(sine, dot(source, image) - dot(axis, source) * dot(axis, image))


def _unwound(angle: Number, near: Number | None, arithmetic: Arithmetic) -> Number:
    if near is None:
        return angle
    turn = 2 * arithmetic.pi()
    return angle + turn * round(float((near - angle) / turn))
