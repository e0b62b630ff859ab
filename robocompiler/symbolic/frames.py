"""Joint frames re-expressed so that every axis is the z axis of its frame, exactly up to rounding.

X = A Q(q) B^-1 with Q about n becomes X = A' F(q) B'^-1 with A' = A R_n, B' = B R_m, where R_n maps z to n, R_m maps z
to axis2 (universal; n otherwise), and F is built of rotations about and translations along z.  Axes are never snapped
to a nearby coordinate axis: one that is 4e-6 rad off stays so.  Only rounding noise (below 8 units in the last place of
1) is cleared, so that structural zeros are seen as zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np
from numpy.typing import NDArray

from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import Joint, Placement
from robocompiler.symbolic.exact_rotations import Digits, between, from_z, rounded, turned, unturned
from robocompiler.symbolic.scalars import to_sx, vector_to_sx
from robocompiler.symbolic.spatial import Pose, rotation_quaternion

Array = NDArray[np.float64]
NOISE = 8 * float(np.finfo(np.float64).eps)


def clear_noise(matrix: Array) -> Array:
    """`matrix` with entries below rounding level set to zero, and entries that close to +-1 set to it."""
    result = np.where(np.abs(matrix) < NOISE, 0.0, matrix)
    return np.asarray(np.where(np.abs(np.abs(result) - 1) < NOISE, np.sign(result), result))


def placement_pose(placement: Placement, parameters: Mapping[str, Any], turn: Digits | None = None) -> Pose:
    """A frame on a body as a symbolic pose (frame to body), turned by a constant rotation on the frame's side."""
    R = cs.SX(clear_noise(rounded(turned(placement.rotation, unturned() if turn is None else turn))))
    if placement.turn is not None:
        R = cs.mtimes(rotation_quaternion(vector_to_sx(placement.turn, parameters)), R)
    return Pose(R, vector_to_sx(placement.translation, parameters))


def constant_product(a: Pose, b: Pose) -> Pose:
    """a b for poses that coordinates do not enter, with rounding noise cleared where they are numbers."""
    product = a @ b
    R = cs.SX(clear_noise(cs.DM(product.R).full())) if product.R.is_constant() else product.R
    return Pose(R, clear_symbolic_noise(product.p))


def clear_symbolic_noise(p: Any) -> Any:
    """Clear rounding noise in the constant entries of a translation (metres)."""
    entries = []
    for i in range(p.numel()):
        entry = p[i]
        if entry.is_constant() and abs(float(entry)) < NOISE:
            entry = cs.SX(0)
        entries.append(entry)
    return cs.vertcat(*entries)


@dataclass(frozen=True)
class AlignedJoint:
    """X = A F(q) B^-1.  `middle` is the constant rotation between the two axes of a universal joint."""

    kind: JointType
    A: Pose
    B: Pose
    middle: Array | None
    pitch: Any


def align(joint: Joint, parameters: Mapping[str, Any]) -> AlignedJoint:
    """The z-aligned form of a joint record."""
    turn_a = turn_b = from_z(joint.axis) if JOINT_SHAPES[joint.type].has_axis else unturned()
    middle = None
    if joint.type is JointType.UNIVERSAL:
        turn_b = from_z(joint.axis2)
        middle = clear_noise(rounded(between(turn_a, turn_b)))
    return AlignedJoint(
        joint.type,
        placement_pose(joint.a, parameters, turn_a),
        placement_pose(joint.b, parameters, turn_b),
        middle,
        to_sx(joint.pitch, parameters),
    )
