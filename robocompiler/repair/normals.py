"""The normal of a planar group that needs the fewest and smallest changes of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.numerics.gap import NOISE
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Joint
from robocompiler.repair.digits import apply, doubles, plus, product, transposed, vector
from robocompiler.repair.loop_group import LoopGroup
from robocompiler.repair.planar_groups import HINGES
from robocompiler.repair.zero_pose import ZeroPose
from robocompiler.symbolic.exact_rotations import rounded

Array = NDArray[np.float64]

DETERMINED = 1e-2  # second smallest singular value from which frames alone say what the normal is


@dataclass(frozen=True)
class Witnesses:
    """What the records say about a normal n, in the axes of the group's root.

    Attributes:
        hinges: unit axes (n is parallel), one per hinge and two for a closing one; `owners` names their joints.
        slides: unit axes (n is perpendicular).
        frames: rows (k, 3) that vanish on n: rotation around each loop less the identity, and its open gap over the
            length scale.
    """

    hinges: Array
    owners: tuple[str, ...]
    slides: Array
    frames: Array

    def misfits(self, n: Array) -> Array:
        """By how much each record is off n (rad, or lengths over the length scale)."""
        axes = np.linalg.norm(np.cross(self.hinges, n), axis=1)
        return np.concatenate((axes, np.abs(self.slides @ n), np.abs(self.frames @ n)))


def witnesses(
    group: LoopGroup, joints: Mapping[str, Joint], pose: ZeroPose, values: Mapping[str, float], length: float
) -> Witnesses:
    """Collect them from the records; call it within `many_digits`."""
    hinges: list[Array] = []
    owners: list[str] = []
    slides: list[Array] = []
    frames: list[Array] = [np.zeros((0, 3))]
    for name in group.joints:
        joint = joints[name]
        closes = name not in group.tree
        R_a, p_a = pose.frame(joint.a, values)
        R_b, p_b = pose.frame(joint.b, values)
        seen = [doubles(apply(R, vector(joint.axis))) for R in ((R_a, R_b) if closes else (R_a,))]
        if joint.type in HINGES:
            hinges += [axis * (1.0 if axis @ (hinges or seen)[0] >= 0 else -1.0) for axis in seen]
            owners += [name] * len(seen)
        elif joint.type is JointType.PRISMATIC:
            slides += seen
        if closes and joint.type is not JointType.SPHERICAL:
            frames.append(rounded(product(R_a, transposed(R_b))) - np.eye(3))
        if closes and offset_is_fixed(joint, pose):
            frames.append(doubles(plus(p_a, p_b, -1))[None, :] / length)
    return Witnesses(np.reshape(hinges, (-1, 3)), tuple(owners), np.reshape(slides, (-1, 3)), np.vstack(frames))


def offset_is_fixed(joint: Joint, pose: ZeroPose) -> bool:
    """Whether the loop that this joint closes has a fixed offset along the normal, which must then vanish."""
    return joint.type is not JointType.CYLINDRICAL and pose.level[joint.a.body] == pose.level[joint.b.body]


def best_normal(found: Witnesses) -> Array:
    """The unit normal (3,).

    1. Where loops closed by frames alone determine a direction, and exactly, it is that one: only axes are rounded.
    2. A direction that two hinges or more agree on is kept, and the fewest other records change (then: the least sum of
       squares).
    3. Otherwise all share the change: the least sum of squares of all misfits.
    """
    axes = found.hinges
    least = _least(np.vstack((_across(axes), found.slides, found.frames)), axes[0])
    if found.frames.size:
        values = np.linalg.svd(found.frames, compute_uv=False)
        if values.size > 1 and values[1] > DETERMINED:
            proved = _least(found.frames, axes[0])
            if np.abs(found.frames @ proved).max() < NOISE:
                return proved
    agreed = [(_cost(found, axis), tuple(axis)) for axis in axes if len(_agreeing(found, axis)) > 1]
    return np.array(min(agreed)[1]) if agreed else least


def _agreeing(found: Witnesses, n: Array) -> set[str]:
    off = np.linalg.norm(np.cross(found.hinges, n), axis=1)
    return {name for name, angle in zip(found.owners, off, strict=True) if angle < NOISE}


def _cost(found: Witnesses, n: Array) -> tuple[int, float]:
    misfits = found.misfits(n)
    return int(np.sum(misfits > NOISE)), float(misfits @ misfits)


def _across(axes: Array) -> Array:
    """Rows (3 k, 3) whose product with n is axis x n."""
    return np.vstack([np.cross(axis, np.eye(3)).T for axis in axes])


def _least(rows: Array, like: Sequence[float] | Array) -> Array:
    """The unit vector on which the rows are smallest, on the side of `like`."""
    n = np.linalg.svd(rows)[2][-1]
    return np.asarray(n if n @ np.asarray(like) >= 0 else -n)
