"""Joint transforms X = A Q(q) B^-1 and their twists in numpy, straight from the records (see `records.joint_types`).

For (dX X^-1)^vee = Xi v the columns of Xi are the twists of b relative to a in the axes of body a, at its origin.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.rigid import adjoint, inverse, rotation_about, rotation_of_quaternion, transform
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import Joint, Placement

Array = NDArray[np.float64]
_ZERO = np.zeros(3)


def _placed(placement: Placement, parameters: Mapping[str, float]) -> Array:
    p = [evaluate(component, parameters) for component in placement.translation]
    return transform(np.array(placement.rotation), np.array(p))


def _plane_axes(n: Array) -> tuple[Array, Array]:
    """The in-plane axes of a planar joint: images of x and y under the shortest rotation of z to n.

    For n_z < 0 half a turn about x comes last, so that the rotation is well conditioned for every n.
    """
    flip = np.diag([1.0, -1.0, -1.0]) if n[2] < 0 else np.eye(3)
    x, y, z = flip @ n
    w = 1.0 / (1.0 + z)
    return flip @ np.array([1 - x * x * w, -x * y * w, -x]), flip @ np.array([-x * y * w, 1 - y * y * w, -y])


class JointModel:
    """One joint with its frames as numbers.  `evaluate` gives X (4, 4) and Xi (6, nv) at the joint's coordinates."""

    def __init__(self, joint: Joint, parameters: Mapping[str, float]) -> None:
        self.kind = joint.type
        self.A = _placed(joint.a, parameters)
        self.B_inverse = inverse(_placed(joint.b, parameters))
        self.axis = np.array(joint.axis, dtype=np.float64)
        self.axis2 = np.array(joint.axis2, dtype=np.float64)
        self.pitch = evaluate(joint.pitch, parameters)
        self.plane = _plane_axes(self.axis)
        self._adjoint = adjoint(self.A)
        self._fixed = self.A @ self.B_inverse
        self._constant = self._adjoint @ self._constant_twists()

    def _constant_twists(self) -> Array:
        """The twists that do not depend on q, in the joint frame (6, nv); columns that do depend are left zero."""
        n, twists = self.axis, np.zeros((6, JOINT_SHAPES[self.kind].nv))
        if self.kind in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.CYLINDRICAL, JointType.UNIVERSAL):
            twists[:3, 0] = n
        if self.kind is JointType.PRISMATIC:
            twists[3:, 0] = n
        elif self.kind is JointType.CYLINDRICAL:
            twists[3:, 1] = n
        elif self.kind is JointType.SCREW:
            twists[:3, 0], twists[3:, 0] = n, self.pitch * n
        elif self.kind is JointType.PLANAR:
            twists[3:, 0], twists[3:, 1] = self.plane
        return twists

    def evaluate(self, q: Array) -> tuple[Array, Array]:
        """X (4, 4) and Xi (6, nv)."""
        kind, n = self.kind, self.axis
        if kind is JointType.FIXED:
            return self._fixed, self._constant
        if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
            return self.A @ transform(rotation_about(n, q[0]), _ZERO) @ self.B_inverse, self._constant
        if kind is JointType.PRISMATIC:
            return self.A @ transform(np.eye(3), q[0] * n) @ self.B_inverse, self._constant
        if kind in (JointType.CYLINDRICAL, JointType.SCREW):
            slid = q[1] if kind is JointType.CYLINDRICAL else self.pitch * q[0]
            return self.A @ transform(rotation_about(n, q[0]), slid * n) @ self.B_inverse, self._constant
        Q, moving = self._moving(q)
        columns = self._constant.copy()
        for column, twist in moving.items():
            columns[:, column] = self._adjoint @ twist
        return self.A @ Q @ self.B_inverse, columns

    def _moving(self, q: Array) -> tuple[Array, dict[int, Array]]:
        """Q (4, 4) and the twists that depend on q, in the joint frame, by velocity."""
        if self.kind is JointType.UNIVERSAL:
            R = rotation_about(self.axis, q[0])
            turning = np.concatenate((R @ self.axis2, _ZERO))
            return transform(R @ rotation_about(self.axis2, q[1]), _ZERO), {1: turning}
        if self.kind is JointType.PLANAR:
            p = q[0] * self.plane[0] + q[1] * self.plane[1]
            turning = np.concatenate((self.axis, np.cross(p, self.axis)))
            return transform(rotation_about(self.axis, q[2]), p), {2: turning}
        if self.kind is JointType.SPHERICAL:
            Q = transform(rotation_of_quaternion(q), _ZERO)
            return Q, {k: np.concatenate((Q[:3, k], _ZERO)) for k in range(3)}
        if self.kind is JointType.FREE:
            Q = transform(rotation_of_quaternion(q[3:]), q[:3])
            columns = adjoint(Q)
            return Q, {k: columns[:, k] for k in range(6)}
        raise AssertionError(f"no joint model for {self.kind}")
