"""Where the contacts of a support mode hold their frames: poses for users, run-time parameters for the compiled code.

The compiler gives a weld of frame F seven parameters, `anchor:F:x` `:y` `:z` (metres) and `:qw` `:qx` `:qy` `:qz` (a
unit quaternion), and a point contact the first three: the pose of the frame in the world, x_world = R x_frame + p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import mapping, named
from robocompiler.errors import ArgumentError
from robocompiler.numerics.se3 import quaternion_of_rotation, rotation_of_quaternion

Array = NDArray[np.float64]
Placed = ArrayLike | Sequence[Any]  # (R, p), or p alone for a point contact
_POSITION, _QUATERNION = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
_UNIT = 1e-6  # how far a rotation matrix or a quaternion may be off; what is closer is made exact


def anchored_frames(parameters: Mapping[str, float]) -> dict[str, str]:
    """{frame: 'weld' or 'point'} of the frames that the parameters hold."""
    frames = [name.split(":")[1] for name in parameters if name.startswith("anchor:") and name.endswith(":x")]
    return {frame: "weld" if f"anchor:{frame}:qw" in parameters else "point" for frame in frames}


def anchor_poses(parameters: Mapping[str, float]) -> dict[str, tuple[Array | None, Array]]:
    """(R, p) by frame; R is None for a point contact."""
    poses: dict[str, tuple[Array | None, Array]] = {}
    for frame, kind in anchored_frames(parameters).items():
        p = np.array([parameters[f"anchor:{frame}:{suffix}"] for suffix in _POSITION])
        R = None
        if kind == "weld":
            R = rotation_of_quaternion(np.array([parameters[f"anchor:{frame}:{suffix}"] for suffix in _QUATERNION]))
        poses[frame] = (R, p)
    return poses


def anchor_values(parameters: Mapping[str, float], poses: Mapping[str, Placed]) -> dict[str, float]:
    """Parameter values that hold frames at `poses`.

    Raises:
        ValueError: a frame that no contact holds; a pose of the wrong shape, not finite, or with no rotation matrix.
    """
    kinds = anchored_frames(parameters)
    values: dict[str, float] = {}
    for frame, pose in mapping(poses, "poses", "{frame: (R, p) or p}").items():
        if not kinds:
            raise ArgumentError("this robot is held by no support mode; see Robot.support")
        named("held frame", frame, kinds)
        R, p = _parts(frame, kinds[frame], pose)
        values |= {f"anchor:{frame}:{s}": float(x) for s, x in zip(_POSITION, p, strict=True)}
        if kinds[frame] == "weld":
            quaternion = quaternion_of_rotation(_rotation(frame, R))
            values |= {f"anchor:{frame}:{s}": float(x) for s, x in zip(_QUATERNION, quaternion, strict=True)}
    return values


def with_unit_quaternions(parameters: Mapping[str, float]) -> dict[str, float]:
    """`parameters` with the quaternions of welds made unit; ValueError where one is not, within 1e-6."""
    values = dict(parameters)
    for frame, kind in anchored_frames(parameters).items():
        if kind == "weld":
            names = [f"anchor:{frame}:{suffix}" for suffix in _QUATERNION]
            quaternion = np.array([values[name] for name in names])
            norm = float(np.linalg.norm(quaternion))
            if not abs(norm - 1) <= _UNIT:
                raise ArgumentError(f"the quaternion of the anchor of {frame!r} has norm {norm:.9g} instead of 1")
            if abs(norm - 1) > 1e-15:
                values |= dict(zip(names, (quaternion / norm).tolist(), strict=True))
    return values


def _parts(frame: str, kind: str, pose: Any) -> tuple[Any, Array]:
    """(R, p) of what the user wrote, R None where only a point is given."""
    what = "(R, p) with R (3, 3) and p (3,)" if kind == "weld" else "p (3,), or (R, p) whose R does not count"
    R: Any = None
    if isinstance(pose, tuple | list) and len(pose) == 2:
        R, pose = pose
    elif kind == "weld":
        raise ArgumentError(f"the anchor of the weld {frame!r} must be {what}")
    try:
        p = np.array(pose, dtype=np.float64)
    except (TypeError, ValueError):
        p = np.zeros(0)
    if p.shape != (3,) or not np.isfinite(p).all():
        raise ArgumentError(f"the anchor of {frame!r} must be {what}, all finite")
    return R, p


def _rotation(frame: str, R: Any) -> Array:
    try:
        matrix = np.array(R, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ArgumentError(f"the rotation of the anchor of {frame!r} must be a finite (3, 3) matrix")
    error = float(np.abs(matrix.T @ matrix - np.eye(3)).max())
    if error > _UNIT or np.linalg.det(matrix) < 0:
        raise ArgumentError(
            f"the anchor of {frame!r} has no rotation matrix (R^T R - I up to {error:.3g}, det must be 1)"
        )
    return matrix
