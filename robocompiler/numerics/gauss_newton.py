"""Safeguarded Gauss-Newton on the closures: nearest assembled state, and the smallest gap when there is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.numerics.problem import ClosureProblem

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Correction:
    """Outcome of a correction: the last configuration, its largest scaled row, and the residual after every step."""

    q: Array
    residual: float
    history: tuple[float, ...]
    converged: bool


def truncated_solve(J: Array, r: Array, cutoff: float = 1e-7) -> Array:
    """Minimum-norm least-squares solution of J x = r, singular values below cutoff * largest treated as zero.

    A tall J of full rank, the usual case with redundant rows, is solved by QR, which is several times faster.
    """
    if J.shape[0] >= J.shape[1] > 0:
        Q, R = np.linalg.qr(J)
        pivots = np.abs(np.diag(R))
        if pivots.min() > 1e-4 * pivots.max():
            return np.asarray(np.linalg.solve(R, Q.T @ r), dtype=np.float64)
    x, *_ = np.linalg.lstsq(J, r, rcond=cutoff)
    return np.asarray(x, dtype=np.float64)


def _largest(r: Array) -> float:
    return float(np.abs(r).max(initial=0.0))


def correct(
    problem: ClosureProblem,
    q: Array,
    free: Indices,
    *,
    tolerance: float = 1e-13,
    cutoff: float = 1e-7,
    max_step: float = 0.3,
    max_iterations: int = 60,
) -> Correction:
    """Minimum-norm Gauss-Newton over the active increments listed in `free`; the others are held.

    Steps are limited to `max_step` (scaled) and halved until the residual falls.  Iteration goes on past `tolerance`
    while it still improves, so that the result is as closed as rounding allows.
    """
    r = problem.rows(q)
    history = [_largest(r)]
    for _ in range(max_iterations):
        J = problem.jacobian(q)
        step = np.zeros(J.shape[1])
        step[free] = -truncated_solve(J[:, free], r, cutoff)
        size = float(np.abs(step).max(initial=0.0))
        if not np.isfinite(size) or size == 0.0:
            break
        scale = min(1.0, max_step / size)
        accepted = False
        for _ in range(12):
            trial = problem.retract(q, scale * step)
            r_trial = problem.rows(trial)
            if np.linalg.norm(r_trial) < np.linalg.norm(r):
                accepted = True
                break
            scale /= 2
        if not accepted:
            break
        q, r = trial, r_trial
        history.append(_largest(r))
        if history[-1] <= tolerance and history[-1] > 0.5 * history[-2]:
            break
    return Correction(q, history[-1], tuple(history), history[-1] <= tolerance)


def smallest_gap(problem: ClosureProblem, q: Array, free: Indices, *, max_iterations: int = 300) -> Array:
    """A configuration that minimises |rows|^2 over the free increments (Levenberg-Marquardt, gain-ratio damping)."""
    r = problem.rows(q)
    damping = 1e-3
    for _ in range(max_iterations):
        J = problem.jacobian(q)[:, free]
        gradient = J.T @ r
        if np.abs(gradient).max(initial=0.0) < 1e-14:
            break
        H = J.T @ J
        step = np.zeros(problem.jacobian(q).shape[1])
        x = -np.linalg.solve(H + damping * np.eye(len(free)), gradient)
        step[free] = x * min(1.0, 0.5 / max(float(np.abs(x).max()), 1e-300))
        trial = problem.retract(q, step)
        r_trial = problem.rows(trial)
        if r_trial @ r_trial < r @ r:
            stalled = r @ r - r_trial @ r_trial < 1e-15 * (r @ r)
            q, r, damping = trial, r_trial, max(damping / 5, 1e-12)
            if stalled:
                break
        elif damping > 1e8:
            break
        else:
            damping *= 4
    return q
