"""SE(3) for numpy: exp, log, adjoint and the left Jacobian, angular first, V = (omega; v).

The runtime's continuation needs these outside the compiled code.  Formulas as in `symbolic.spatial`; the left Jacobian
is summed as the series sum ad^k/(k+1)!, which is exact to rounding for |phi| <= pi.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def skew(w: Array) -> Array:
    """skew(w) x = w x x."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def left_jacobian(rho: Array) -> Array:
    """J_l(rho) (6, 6): (dT T^-1)^vee = J_l drho for T = exp(rho)."""
    W, V = skew(rho[:3]), skew(rho[3:])
    ad = np.block([[W, np.zeros((3, 3))], [V, W]])
    total, term = np.eye(6), np.eye(6)
    for k in range(2, 60):
        term = term @ ad / k
        total = total + term
        if np.abs(term).max() < 1e-18:
            break
    return total


def adjoint(R: Array, p: Array) -> Array:
    """Ad_T (6, 6)."""
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def exp(rho: Array) -> tuple[Array, Array]:
    """(R, p) of exp(rho^)."""
    phi = rho[:3]
    theta = float(np.linalg.norm(phi))
    P = skew(phi)
    if theta < 1e-4:
        a, b, c = 1 - theta**2 / 6, 0.5 - theta**2 / 24, 1 / 6 - theta**2 / 120
    else:
        a, b = math.sin(theta) / theta, 2 * math.sin(theta / 2) ** 2 / theta**2
        c = (theta - math.sin(theta)) / theta**3
    R = np.eye(3) + a * P + b * P @ P
    V = np.eye(3) + b * P + c * P @ P
    return R, V @ rho[3:]


def log(R: Array, p: Array) -> Array:
    """Principal logarithm (6,) of (R, p), rotation angle at most pi."""
    t = np.trace(R)
    size = np.array([1 + t, 1 + 2 * R[0, 0] - t, 1 + 2 * R[1, 1] - t, 1 + 2 * R[2, 2] - t])
    k = int(np.argmax(size))
    a = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if k == 0:
        q = np.concatenate(([size[0]], a))
    else:
        i = k - 1
        q = np.concatenate(([a[i]], R[:, i] + R[i, :]))
        q[k] = size[k]
    q = q / np.linalg.norm(q)
    if q[0] < 0:
        q = -q
    s = float(np.linalg.norm(q[1:]))
    factor = 2 / q[0] if s < 1e-9 else 2 * math.atan2(s, q[0]) / s
    phi = factor * q[1:]
    theta = float(np.linalg.norm(phi))
    coefficient = 1 / 12 + theta**2 / 720 if theta < 1e-3 else (1 - theta / 2 / math.tan(theta / 2)) / theta**2
    P = skew(phi)
    return np.concatenate((phi, p - P @ p / 2 + coefficient * P @ P @ p))
