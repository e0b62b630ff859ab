"""What a repair changed, joint by joint, in microradians and micrometres."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.expressions import evaluate
from robocompiler.records.model import Joint, Mechanism, Placement

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointChange:
    """How far the records of one joint move.

    Attributes:
        axis: angle between the recorded and the repaired axis (rad).
        frame_a, frame_b: angle by which its frame on body a or b turns (rad).
        anchor_a, anchor_b: distance by which that frame's origin moves (m).
    """

    joint: str
    axis: float = 0.0
    frame_a: float = 0.0
    frame_b: float = 0.0
    anchor_a: float = 0.0
    anchor_b: float = 0.0

    @property
    def angle(self) -> float:
        """The largest of its angles (rad)."""
        return max(self.axis, self.frame_a, self.frame_b)

    @property
    def distance(self) -> float:
        """The larger of its distances (m)."""
        return max(self.anchor_a, self.anchor_b)

    def scaled(self, length: float) -> float:
        """Root of the sum of squares, distances over the length scale."""
        return math.hypot(self.axis, self.frame_a, self.frame_b, self.anchor_a / length, self.anchor_b / length)

    def __str__(self) -> str:
        parts = [
            *(f"{what} {1e6 * x:.3g} microradians" for what, x in self._angles() if x),
            *(f"{what} {1e6 * x:.3g} micrometres" for what, x in self._distances() if x),
        ]
        return f"{self.joint}: {', '.join(parts)}"

    def _angles(self) -> tuple[tuple[str, float], ...]:
        return ("axis", self.axis), ("frame a", self.frame_a), ("frame b", self.frame_b)

    def _distances(self) -> tuple[tuple[str, float], ...]:
        return ("anchor a", self.anchor_a), ("anchor b", self.anchor_b)


def changes_between(before: Mechanism, after: Mechanism) -> tuple[JointChange, ...]:
    """The changed joints, largest angle first."""
    changes = [
        _change(joint, after.joint(joint.name), before.defaults)
        for joint in before.joints
        if joint != after.joint(joint.name)
    ]
    return tuple(sorted(changes, key=lambda change: (-change.angle, -change.distance, change.joint)))


def _change(old: Joint, new: Joint, values: dict[str, float]) -> JointChange:
    a, b = np.array(old.axis), np.array(new.axis)
    axis = math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b)) if old.axis != new.axis else 0.0
    return JointChange(
        old.name,
        axis,
        _turn(old.a, new.a),
        _turn(old.b, new.b),
        _shift(old.a, new.a, values),
        _shift(old.b, new.b, values),
    )


def _turn(old: Placement, new: Placement) -> float:
    if old.rotation == new.rotation:
        return 0.0
    R = np.array(old.rotation).T @ np.array(new.rotation)
    sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    return math.atan2(float(np.linalg.norm(sine)), (float(np.trace(R)) - 1) / 2)


def _shift(old: Placement, new: Placement, values: dict[str, float]) -> float:
    points = [np.array([evaluate(value, values) for value in side.translation]) for side in (old, new)]
    return float(np.linalg.norm(points[1] - points[0]))
