"""Why rows cannot hold together: a Farkas certificate, reduced to rows of which none can be spared.

Rows A u <= b and J u = w contradict each other exactly if some lambda >= 0 and mu have A^T lambda + J^T mu = 0 and
b^T lambda + w^T mu < 0 (the rows, so weighted, add up to 0 <= a negative number).  Non-negative least squares finds
such weights with independent columns, hence with few rows; the deletion filter then removes every row without which the
rest still conflict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import MissingPackageError, RoboCompilerError
from robocompiler.runtime.redundancy.problem import Problem, row_units

Array = NDArray[np.float64]

CONFLICT = 1e-8  # |A^T lambda + J^T mu| over the contradiction's size


@dataclass(frozen=True)
class Conflict:
    """Weights lam (k,) >= 0 and mu (m,) of rows that contradict each other; the others have weight 0.

    Removing any one of them makes the rest feasible.  gap: -(b^T lam + w^T mu) > 0.
    """

    lam: Array
    mu: Array
    gap: float


def conflict(problem: Problem) -> Conflict | None:
    """An irreducible conflict among the rows of a problem, or None where they can hold together."""
    rows = _scaled(problem)
    found = _certificate(rows, np.ones(rows.shape[1], dtype=bool))
    if found is None:
        return None
    kept = found != 0
    for column in _pairs(np.flatnonzero(kept), len(problem.b), len(problem.w)):
        if not kept[column].any():
            continue
        tried = kept.copy()
        tried[column] = False
        smaller = _certificate(rows, _with_opposites(tried, len(problem.b), len(problem.w)))
        if smaller is not None:
            found, kept = smaller, smaller != 0
    return _unscaled(problem, found)


def _scaled(problem: Problem) -> Array:
    """(d + 1, k + 2 m): columns (row; right-hand side) of the bounds, the task rows, and the task rows turned round.

    Rows are divided by their size |.|_(W^-1) and right-hand sides by the largest one that takes u away from zero, so
    that zero has a meaning and a far bound does not hide what happens among near ones.
    """
    right = np.concatenate((problem.b, problem.w, -problem.w))
    left = np.vstack((problem.A, problem.J, -problem.J))
    units = np.linalg.norm(np.linalg.solve(problem.L, left.T), axis=0)
    units = np.where(units > 0, units, 1.0)
    right = right / units
    size = float(np.maximum(-right, 0.0).max(initial=0.0)) or 1.0  # 0 only where u = 0 meets every row
    return np.vstack((np.linalg.solve(problem.L, left.T) / units, right / size))


def _certificate(rows: Array, allowed: NDArray[np.bool_]) -> Array | None:
    """Weights >= 0 of the allowed columns with (rows; right) weights = (0; -1), or None."""
    try:
        from scipy.optimize import nnls
    except ImportError:
        raise MissingPackageError("naming the rows of a conflict needs scipy; install it: pip install scipy") from None
    if not allowed.any():
        return None
    target = np.zeros(len(rows))
    target[-1] = -1.0
    try:
        weights, miss = nnls(rows[:, allowed], target)
    except RuntimeError as error:  # its bound on iterations
        raise RoboCompilerError(f"the rows of a conflict were not found: {error}") from None
    if miss > CONFLICT:
        return None
    found = np.zeros(rows.shape[1])
    found[allowed] = np.where(weights > 1e-10 * weights.max(initial=0.0), weights, 0.0)
    return found


def _pairs(columns: NDArray[np.intp], k: int, m: int) -> list[list[int]]:
    """The columns of each row that takes part: one of a bound, both of a task row."""
    bounds = [[int(c)] for c in columns if c < k]
    tasks = sorted({int(c - k) % m for c in columns if c >= k}) if m else []
    return bounds + [[k + row, k + m + row] for row in tasks]


def _with_opposites(kept: NDArray[np.bool_], k: int, m: int) -> NDArray[np.bool_]:
    """The same with both signs of every task row that is kept."""
    either = kept[k : k + m] | kept[k + m :]
    return np.concatenate((kept[:k], either, either))


def _unscaled(problem: Problem, weights: Array) -> Conflict:
    k, m = len(problem.b), len(problem.w)
    units = row_units(problem)
    task_units = np.linalg.norm(np.linalg.solve(problem.L, problem.J.T), axis=0)
    lam = weights[:k] / units
    mu = (weights[k : k + m] - weights[k + m :]) / task_units
    total = float(lam.sum() + np.abs(mu).sum())
    lam, mu = lam / total, mu / total
    return Conflict(lam, mu, float(-(problem.b @ lam + problem.w @ mu)))
