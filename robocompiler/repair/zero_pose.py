"""The bodies of a planar group where all its tree joints stand at zero, in many digits.

There a carrier passes directions on unchanged, so that one vector is the group's normal for all bodies, and turning a
tree joint's axis into it moves no body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Joint, Placement
from robocompiler.repair.digits import Vector, apply, plus, product, transposed, vector
from robocompiler.repair.loop_group import LoopGroup
from robocompiler.symbolic.exact_rotations import Digits, turned, unturned


@dataclass(frozen=True)
class ZeroPose:
    """Rotation and origin (m) of each body in the axes of the group's root, and which offsets along n are fixed.

    Bodies with the same `level` have a fixed offset along the normal; cylindrical joints part them.
    """

    rotation: Mapping[str, Digits]
    origin: Mapping[str, Vector]
    level: Mapping[str, int]

    def frame(self, placement: Placement, values: Mapping[str, float]) -> tuple[Digits, Vector]:
        """Rotation and origin of a joint frame."""
        R = self.rotation[placement.body]
        point = apply(R, at_default(placement, values))
        return product(R, exact(placement)), plus(self.origin[placement.body], point)


def exact(placement: Placement) -> Digits:
    """The rotation nearest to the recorded one."""
    return turned(placement.rotation, unturned())


def at_default(placement: Placement, values: Mapping[str, float]) -> Vector:
    """The recorded translation, parameters at their default values."""
    return vector([evaluate(value, values) for value in placement.translation])


def zero_pose(group: LoopGroup, joints: Mapping[str, Joint], values: Mapping[str, float]) -> ZeroPose:
    """Poses of the group's bodies; call it within `many_digits`."""
    rotation: dict[str, Digits] = {group.root: unturned()}
    origin: dict[str, Vector] = {group.root: vector((0, 0, 0))}
    level = {group.root: 0}
    for name in group.tree:
        joint = joints[name]
        near, far = (joint.a, joint.b) if joint.a.body in rotation else (joint.b, joint.a)
        R = product(rotation[near.body], product(exact(near), transposed(exact(far))))
        joint_origin = plus(origin[near.body], apply(rotation[near.body], at_default(near, values)))
        rotation[far.body] = R
        origin[far.body] = plus(joint_origin, apply(R, at_default(far, values)), -1)
        parted = joint.type is JointType.CYLINDRICAL
        level[far.body] = len(level) if parted else level[near.body]
    return ZeroPose(rotation, origin, level)
