"""The problem in numbers, and its reduction to a least distance: min 1/2 |u|_W^2 + c^T u, J u = w, A u <= b.

With W = L L^T and x = L^T u the rows become K x = w (K = J L^-T) and A L^-T x <= b.  K^T = [Q_1 Q_2] [R; 0] splits x
into what the task fixes and what it leaves free, x = x_0 + Q_2 y, where x_0 solves the problem without inequalities:

    x_0 = Q_1 R^-T w - Q_2 Q_2^T L^-1 c,      then  min 1/2 |y|^2  subject to  G y <= h.

That is the closed form W^-1 J^T (J W^-1 J^T)^-1 w without squaring J.  Lengths of x are lengths |u|_W, the same in
every chart, so that all decisions on feasibility are the same in every chart too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEASIBLE = 1e-10  # of the sizes met in a row: what counts as holding


@dataclass(frozen=True)
class Problem:
    """The data of one resolution: L (d, d) with W = L L^T, c (d,), J (m, d) of full row rank, w, A (k, d), b."""

    L: Array
    c: Array
    J: Array
    w: Array
    A: Array
    b: Array


@dataclass(frozen=True)
class LeastDistance:
    """min 1/2 |y|^2 subject to G y <= h, and u = u0 + basis y; units (k,): |A_i|_(W^-1), by which rows are scaled.

    tolerance (k,): what counts as zero in h.
    """

    u0: Array
    basis: Array
    G: Array
    h: Array
    units: Array
    tolerance: Array


@dataclass(frozen=True)
class KktResiduals:
    """How well a solution meets its conditions, all without units.

    stationarity: |W u + c + J^T mu + A^T lambda| in the dual norm, relative to the largest of its terms; task and
    bounds: largest |J u - w| and A u - b over the row's size; sign: the most negative multiplier of a bound, and
    complementarity: the largest multiplier times its row's distance, both relative to |u|_W + |c|.
    """

    stationarity: float
    task: float
    bounds: float
    sign: float
    complementarity: float

    @property
    def worst(self) -> float:
        """The largest of them."""
        return max(self.stationarity, self.task, self.bounds, self.sign, self.complementarity)


@dataclass(frozen=True)
class Solution:
    """u (d,), multipliers mu (m,) of the task rows and lam (k,) >= 0 of the bounds; active (k,): lam > 0 rows."""

    u: Array
    mu: Array
    lam: Array
    active: NDArray[np.bool_]
    method: str
    kkt: KktResiduals


def row_units(problem: Problem) -> Array:
    """|A_i|_(W^-1) (k,): the change of a row per unit of |u|_W; 1 for a row of zeros."""
    units = np.linalg.norm(np.linalg.solve(problem.L, problem.A.T), axis=0)
    return np.where(units > 0, units, 1.0)


def least_distance(problem: Problem) -> LeastDistance:
    """The reduction above."""
    L, m = problem.L, len(problem.w)
    Q, R = np.linalg.qr(np.linalg.solve(L, problem.J.T), mode="complete")
    fixed = Q[:, :m] @ np.linalg.solve(R[:m].T, problem.w)
    free = Q[:, m:]
    x0 = fixed - free @ (free.T @ np.linalg.solve(L, problem.c))
    u0, units = np.linalg.solve(L.T, x0), row_units(problem)
    rows = np.linalg.solve(L, problem.A.T).T / units[:, None]
    b = problem.b / units
    return LeastDistance(
        u0=u0,
        basis=np.linalg.solve(L.T, free),
        G=rows @ free,
        h=b - rows @ x0,
        units=units,
        tolerance=FEASIBLE * (np.linalg.norm(x0) + np.abs(b)),
    )


def finished(problem: Problem, u: Array, lam: Array, method: str) -> Solution:
    """A solution from u and the multipliers of its bounds: task multipliers and residuals follow."""
    L = problem.L
    K = np.linalg.solve(L, problem.J.T).T
    pull = L.T @ u + np.linalg.solve(L, problem.c + problem.A.T @ lam)  # dual norm: |L^-1 .|
    mu = -np.linalg.lstsq(K.T, pull, rcond=None)[0] if len(K) else np.zeros(0)
    return Solution(u, mu, lam, lam > 0, method, _residuals(problem, u, mu, lam, pull + K.T @ mu))


def _residuals(problem: Problem, u: Array, mu: Array, lam: Array, gradient: Array) -> KktResiduals:
    L, units = problem.L, row_units(problem)
    speed, cost = float(np.linalg.norm(L.T @ u)), float(np.linalg.norm(np.linalg.solve(L, problem.c)))
    pulls = np.linalg.norm(np.linalg.solve(L, problem.J.T) * mu, axis=0), lam * units
    terms = max(speed, cost, *(float(pull.max(initial=0.0)) for pull in pulls))
    misses, sizes = np.abs(problem.J @ u - problem.w), np.abs(problem.J) @ np.abs(u) + np.abs(problem.w)
    distance = (problem.A @ u - problem.b) / units
    room = speed + np.abs(problem.b) / units
    unit = max(speed + cost, np.finfo(np.float64).tiny)
    return KktResiduals(
        stationarity=_part(float(np.linalg.norm(gradient)), terms),
        task=float(_parts(misses, sizes).max(initial=0.0)),
        bounds=float(_parts(np.maximum(distance, 0.0), room).max(initial=0.0)),
        sign=float(np.maximum(-lam * units, 0.0).max(initial=0.0)) / unit,
        complementarity=float(_parts(lam * units * np.abs(distance), np.maximum(room, unit) * unit).max(initial=0.0)),
    )


def _part(value: float, size: float) -> float:
    return value / size if size else 0.0


def _parts(values: Array, sizes: Array) -> Array:
    return np.asarray(np.divide(values, sizes, out=np.zeros_like(values), where=sizes > 0))
