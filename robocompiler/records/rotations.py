"""Directions and rotations as numbers: normalised where they should be, left alone to the last bit where they are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.model import Matrix3, Vector3

Quaternion = tuple[float, float, float, float]

UNIT_EXACT = 1e-15  # closer to unit length than this, dividing would only add rounding
UNIT_TOLERANCE = 1e-6
ORTHONORMAL_EXACT = 1e-9


def unit_direction(vector: Vector3) -> Vector3 | None:
    """`vector` over its norm (unchanged when it is a unit vector to rounding), or None for the zero vector."""
    largest = max(abs(x) for x in vector)
    if largest == 0:
        return None
    if abs(math.hypot(*vector) - 1) <= UNIT_EXACT:
        return vector
    x, y, z = (component / largest for component in vector)  # so that huge and tiny directions do not overflow
    norm = math.hypot(x, y, z)
    return (x / norm, y / norm, z / norm)


def sine_between(first: Vector3, second: Vector3) -> float:
    """|sin| of the angle between two unit vectors."""
    return float(np.linalg.norm(np.cross(first, second)))


def unit_quaternion(quaternion: Quaternion) -> Quaternion | None:
    """`quaternion` (w, x, y, z) made unit, or None when its norm is not within 1e-6 of one."""
    norm = math.hypot(*quaternion)
    if not abs(norm - 1) <= UNIT_TOLERANCE:
        return None
    if abs(norm - 1) <= UNIT_EXACT:
        return quaternion
    w, x, y, z = quaternion
    return (w / norm, x / norm, y / norm, z / norm)


def rotation_of_rpy(rpy: Vector3) -> Matrix3:
    """R = Rz(yaw) Ry(pitch) Rx(roll), angles in radians."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(angle), math.cos(angle)) for angle in rpy)
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def rpy_of_rotation(matrix: Matrix3) -> Vector3:
    """(roll, pitch, yaw) with Rz(yaw) Ry(pitch) Rx(roll) = R to rounding, also where the pitch is a quarter turn.

    The roll is read off Rz(-yaw) R, so that an error of a badly determined yaw is made good by it.
    """
    (a, b, c), (d, e, f), (g, _, _) = matrix
    yaw = math.atan2(d, a)
    sine, cosine = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-g, cosine * a + sine * d)
    roll = math.atan2(sine * c - cosine * f, cosine * e - sine * b)
    return (roll, pitch, yaw)


def quaternion_of_rpy(rpy: Vector3) -> Quaternion:
    """(w, x, y, z) of Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(angle / 2), math.cos(angle / 2)) for angle in rpy)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def rotation_of_quaternion(quaternion: Quaternion) -> Matrix3:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = quaternion
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def quaternion_of_rotation(matrix: Matrix3) -> Quaternion:
    """(w, x, y, z) of a rotation matrix, w >= 0, from its largest component; exact at half turns."""
    (a, b, c), (d, e, f), (g, h, i) = matrix
    candidates = (  # four times (component k) times the quaternion
        (1 + a + e + i, h - f, c - g, d - b),
        (h - f, 1 + a - e - i, b + d, c + g),
        (c - g, b + d, 1 - a + e - i, f + h),
        (d - b, c + g, f + h, 1 - a - e + i),
    )
    best = max(range(4), key=lambda k: candidates[k][k])
    size = math.copysign(math.hypot(*candidates[best]), candidates[best][0])
    w, x, y, z = candidates[best]
    return (w / size, x / size, y / size, z / size)


def orthonormality_error(matrix: Matrix3) -> float:
    """Largest entry of |R^T R - I|."""
    array: NDArray[np.float64] = np.array(matrix)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.max(np.abs(array.T @ array - np.eye(3))))


def determinant_sign(matrix: Matrix3) -> float:
    """Sign of det R of a nearly orthonormal matrix."""
    return float(np.sign(np.linalg.det(np.array(matrix))))


def nearest_rotation(matrix: Matrix3) -> Matrix3:
    """The rotation U V^T nearest to a nearly orthonormal matrix U S V^T."""
    u, _, vt = np.linalg.svd(np.array(matrix))
    rows = (u @ vt).tolist()
    return (
        (rows[0][0], rows[0][1], rows[0][2]),
        (rows[1][0], rows[1][1], rows[1][2]),
        (rows[2][0], rows[2][1], rows[2][2]),
    )
