"""SE(3) for numpy, for stacks of transforms: exp, log, adjoint and the left Jacobian, angular first, V = (omega; v).

The runtime's continuation needs these outside the compiled code.  Every function works on arrays with any leading axes
(one transform per entry).  Formulas as in `symbolic.spatial`; the left Jacobian is summed as the series
sum ad^k/(k+1)!, which is exact to rounding for |phi| <= pi.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def skew(w: Array) -> Array:
    """(..., 3) -> (..., 3, 3) with skew(w) x = w x x."""
    S = np.zeros((*w.shape, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    S[..., 1, 0], S[..., 2, 0], S[..., 2, 1] = w[..., 2], -w[..., 1], w[..., 0]
    return S


def left_jacobian(rho: Array) -> Array:
    """J_l(rho) (..., 6, 6): (dT T^-1)^vee = J_l drho for T = exp(rho)."""
    ad = np.zeros((*rho.shape, 6))
    ad[..., :3, :3] = ad[..., 3:, 3:] = skew(rho[..., :3])
    ad[..., 3:, :3] = skew(rho[..., 3:])
    term = np.broadcast_to(np.eye(6), ad.shape)
    total = term.copy()
    for k in range(2, 60):
        term = term @ ad / k
        total += term
        if np.abs(term).max(initial=0.0) < 1e-18:
            break
    return total


def adjoint(R: Array, p: Array) -> Array:
    """Ad_T (..., 6, 6)."""
    A = np.zeros((*p.shape[:-1], 6, 6))
    A[..., :3, :3] = A[..., 3:, 3:] = R
    A[..., 3:, :3] = skew(p) @ R
    return A


def exp(rho: Array) -> tuple[Array, Array]:
    """(R (..., 3, 3), p (..., 3)) of exp(rho^)."""
    phi = rho[..., :3]
    t2 = np.sum(phi * phi, axis=-1)
    t = np.sqrt(t2)
    small = t < 1e-4
    s2, s = np.where(small, 1.0, t2), np.where(small, 1.0, t)
    a = np.where(small, 1 - t2 / 6, np.sin(s) / s)
    b = np.where(small, 0.5 - t2 / 24, 2 * np.sin(s / 2) ** 2 / s2)
    c = np.where(small, 1 / 6 - t2 / 120, (s - np.sin(s)) / (s2 * s))
    P = skew(phi)
    PP = P @ P
    R = np.eye(3) + a[..., None, None] * P + b[..., None, None] * PP
    V = np.eye(3) + b[..., None, None] * P + c[..., None, None] * PP
    return R, np.einsum("...ij,...j->...i", V, rho[..., 3:])


def quaternion_of_rotation(R: Array) -> Array:
    """Unit quaternion (..., 4) with w >= 0 (Shepperd's four cases: exact at half turns)."""
    trace = np.trace(R, axis1=-2, axis2=-1)
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    odd = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)
    even = R + np.swapaxes(R, -1, -2)
    cases = np.empty((*trace.shape, 4, 4))  # case k: 4 q_k q, with 4 q_k^2 on the diagonal
    cases[..., 0, 0], cases[..., 0, 1:], cases[..., 1:, 0] = 1 + trace, odd, odd
    cases[..., 1:, 1:] = even
    for i in range(3):
        cases[..., i + 1, i + 1] = 1 + 2 * diagonal[..., i] - trace
    best = np.argmax(np.diagonal(cases, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(cases, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.asarray(np.where(q[..., :1] < 0, -q, q))


def rotation_of_quaternion(quaternion: Array) -> Array:
    """(..., 3, 3) of unit quaternions (w, x, y, z)."""
    w, e = quaternion[..., :1, None], quaternion[..., 1:]
    E = skew(e)
    return np.asarray(np.eye(3) + 2 * (w * E + E @ E))


def log_rotation(R: Array) -> Array:
    """Principal rotation vector (..., 3), |phi| <= pi; pi n at a half turn."""
    q = quaternion_of_rotation(R)
    s = np.linalg.norm(q[..., 1:], axis=-1)
    small = s < 1e-9
    factor = np.where(small, 2.0, 2 * np.arctan2(s, q[..., 0]) / np.where(small, 1.0, s))
    return np.asarray(factor[..., None] * q[..., 1:])


def log(R: Array, p: Array) -> Array:
    """Principal logarithm (..., 6) of (R, p)."""
    phi = log_rotation(R)
    t2 = np.sum(phi * phi, axis=-1)
    small = t2 < 1e-6
    half = np.sqrt(np.where(small, 1.0, t2)) / 2
    b = np.where(small, 1 / 12 + t2 / 720, (1 - half / np.tan(half)) / np.where(small, 1.0, t2))
    cross = np.cross(phi, p)
    return np.concatenate((phi, p - cross / 2 + b[..., None] * np.cross(phi, cross)), axis=-1)
