"""SE(3) in plain numpy for the global evaluator: 4x4 transforms, the adjoint, log and the inverse left Jacobian.

Shares no code with the compiler, so that agreement means something.  Twists are angular first, V = (omega; v).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = tuple[float, float, float]

_SERIES_BELOW = 1.0  # rad: under it the power series of the translation coefficients are exact to rounding
_TERMS = 9


def cross_matrix(w: Array) -> Array:
    """The matrix of w x (.) (3, 3)."""
    x, y, z = w
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def transform(R: Array, p: Array) -> Array:
    """The 4x4 matrix of x -> R x + p."""
    T = np.eye(4)
    T[:3, :3] = R
    T[:3, 3] = p
    return T


def inverse(T: Array) -> Array:
    """T^-1 of a rigid 4x4 transform."""
    result = np.eye(4)
    result[:3, :3] = T[:3, :3].T
    result[:3, 3] = -T[:3, :3].T @ T[:3, 3]
    return result


def adjoint(T: Array) -> Array:
    """Ad_T (6, 6): Ad_T V = (R omega; p x R omega + R v)."""
    result = np.zeros((6, 6))
    R = T[:3, :3]
    result[:3, :3] = R
    result[3:, 3:] = R
    result[3:, :3] = cross_matrix(T[:3, 3]) @ R
    return result


def rotation_about(axis: Array, angle: float) -> Array:
    """Rodrigues' rotation about a unit axis (3, 3)."""
    K = cross_matrix(axis)
    return np.asarray(np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * (K @ K))


def rotation_of_quaternion(q: Array) -> Array:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    V = cross_matrix(q[1:])
    return np.asarray(np.eye(3) + 2.0 * q[0] * V + 2.0 * (V @ V))


def rotation_vector(R: Array) -> Array:
    """Principal logarithm of a rotation (3,), angle at most pi: by the largest component of its quaternion."""
    t = R[0, 0] + R[1, 1] + R[2, 2]
    a = (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    if t > max(R[0, 0], R[1, 1], R[2, 2]):
        q = np.array([1.0 + t, *a])
    else:
        k = int(np.argmax((R[0, 0], R[1, 1], R[2, 2])))
        q = np.array([a[k], *(R[:, k] + R[k, :])])
        q[1 + k] = 1.0 + 2.0 * R[k, k] - t
    q /= math.sqrt(q @ q)
    if q[0] < 0.0:
        q = -q
    v = q[1:]
    s = math.sqrt(v @ v)
    return np.asarray(v * (2.0 / q[0] if s < 1e-9 else 2.0 * math.atan2(s, q[0]) / s))


def cotangent_coefficient(t2: float) -> float:
    """(1 - (theta/2) cot(theta/2)) / theta^2 for t2 = theta^2."""
    if t2 < 0.06:
        return 1 / 12 + t2 * (1 / 720 + t2 * (1 / 30240 + t2 * (1 / 1209600 + t2 * (1 / 47900160 + t2 * 5.284e-10))))
    half = math.sqrt(t2) / 2.0
    return (1.0 - half / math.tan(half)) / t2


def log(T: Array) -> Array:
    """rho = log(T)^vee (6,) on the principal branch."""
    phi = rotation_vector(T[:3, :3])
    K, p = cross_matrix(phi), T[:3, 3]
    Kp = K @ p
    return np.concatenate((phi, p - Kp / 2.0 + cotangent_coefficient(float(phi @ phi)) * (K @ Kp)))


def _series(t2: float, first: int) -> float:
    """sum_k (-t2)^k / (2k + first)!."""
    total = 0.0
    for k in reversed(range(_TERMS)):
        total = total * -t2 + 1.0 / math.factorial(2 * k + first)
    return total


def _translation_coefficients(t2: float) -> Vector:
    """(theta - sin)/theta^3, (theta^2/2 + cos - 1)/theta^4, (theta^3/6 - theta + sin)/theta^5."""
    if t2 < _SERIES_BELOW:
        return _series(t2, 3), _series(t2, 4), _series(t2, 5)
    theta = math.sqrt(t2)
    s, c = math.sin(theta), math.cos(theta)
    return (
        (theta - s) / (t2 * theta),
        (t2 / 2.0 + c - 1.0) / (t2 * t2),
        (t2 * theta / 6.0 - theta + s) / (t2 * t2 * theta),
    )


def inverse_left_jacobian(rho: Array) -> Array:
    """J_l(rho)^-1 (6, 6) = [[J, 0], [-J Q J, J]] with J the inverse left Jacobian of SO(3) and Barfoot's Q."""
    P, Y = cross_matrix(rho[:3]), cross_matrix(rho[3:])
    t2 = float(rho[:3] @ rho[:3])
    J = np.eye(3) - P / 2.0 + cotangent_coefficient(t2) * (P @ P)
    a, b, d = _translation_coefficients(t2)
    PY, YP = P @ Y, Y @ P
    PYP = PY @ P
    Q = Y / 2.0 + a * (PY + YP + PYP) + b * (P @ PY + YP @ P - 3.0 * PYP) + (b - 3.0 * d) / 2.0 * (PYP @ P + P @ PYP)
    result = np.zeros((6, 6))
    result[:3, :3] = J
    result[3:, 3:] = J
    result[3:, :3] = -J @ Q @ J
    return result
