"""One planar group made exactly planar: axes and frames of closing joints turned, anchors moved along the normal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from robocompiler.numerics.gap import NOISE
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Joint, Matrix3, Placement
from robocompiler.repair.digits import (
    Vector,
    apply,
    cross,
    dot,
    many_digits,
    nearest,
    plus,
    product,
    size,
    smallest_turn,
    transposed,
    unit,
    vector,
)
from robocompiler.repair.loop_group import LoopGroup
from robocompiler.repair.normals import best_normal, offset_is_fixed, witnesses
from robocompiler.repair.planar_groups import HINGES
from robocompiler.repair.zero_pose import ZeroPose, at_default, exact, zero_pose
from robocompiler.symbolic.exact_rotations import Digits, rounded

ROUNDING = Decimal("1e-12")  # rad: an axis or frame that is off by less stays as it is


def straightened(
    group: LoopGroup, joints: Mapping[str, Joint], values: Mapping[str, float], length: float
) -> dict[str, Joint]:
    """The joints of a group that have to change, changed; empty where the group is exactly planar.

    With n the normal, in each joint's frame d = R^T n seen from either body:

    - tree joints: a hinge's axis becomes d, a slide's its part across d; no body moves at zero.
    - closing joints: where d differs between the two bodies (the rotations around the loop do not keep n), frame a is
      turned by the smallest rotation that makes it one; then the axis as above.
    - offsets along n that remain around a loop are taken off anchor a of its closing joint, beyond 1e-9 of `length`:
      below, closures count as closed.
    """
    with many_digits():
        pose = zero_pose(group, joints, values)
        n = unit(vector(best_normal(witnesses(group, joints, pose, values, length)).tolist()))
        changed = {}
        for name in group.joints:
            new = joint = joints[name]
            if joint.type is not JointType.SPHERICAL:
                new = _aligned(joint, pose, n, closes=name not in group.tree)
            if name not in group.tree and offset_is_fixed(joint, pose):
                new = _levelled(new, pose, n, values, length)
            if new != joint:
                changed[name] = new
        return changed


def _aligned(joint: Joint, pose: ZeroPose, n: Vector, *, closes: bool) -> Joint:
    d = _seen(joint.b, pose, n)
    if closes:
        from_a = _seen(joint.a, pose, n)
        if size(cross(d, from_a)) > ROUNDING:
            # R_a S d = R_a (d from a) = n on body a
            joint = replace(joint, a=_turned(joint.a, smallest_turn(d, from_a)))
    axis = vector(joint.axis)
    if joint.type in HINGES:
        if size(cross(unit(axis), d)) <= ROUNDING:
            return joint
        target = d if dot(axis, d) > 0 else (-d[0], -d[1], -d[2])
        if joint.type is JointType.PLANAR:  # its in-plane axes hang on the axis, so both frames are turned instead
            S = smallest_turn(unit(axis), target)
            return replace(joint, a=_turned(joint.a, S), b=_turned(joint.b, S))
        return replace(joint, axis=nearest(target))
    if joint.type is JointType.PRISMATIC and abs(dot(axis, d)) > ROUNDING:
        return replace(joint, axis=nearest(unit(plus(axis, d, -dot(axis, d)))))
    return joint


def _levelled(joint: Joint, pose: ZeroPose, n: Vector, values: Mapping[str, float], length: float) -> Joint:
    offset = dot(n, plus(pose.frame(joint.a, values)[1], pose.frame(joint.b, values)[1], -1))
    if abs(offset) <= Decimal(NOISE * length):
        return joint
    moved = plus(at_default(joint.a, values), apply(transposed(pose.rotation[joint.a.body]), n), -offset)
    return replace(joint, a=replace(joint.a, translation=nearest(moved)))


def _seen(placement: Placement, pose: ZeroPose, n: Vector) -> Vector:
    """The normal in a joint frame."""
    return apply(transposed(product(pose.rotation[placement.body], exact(placement))), n)


def _turned(placement: Placement, turn: Digits) -> Placement:
    first, second, third = rounded(product(exact(placement), turn)).tolist()
    rotation: Matrix3 = (tuple(first), tuple(second), tuple(third))
    return replace(placement, rotation=rotation)
