"""Random resolution problems, and judges of them that share no code with the solver: linear programs and KKT rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from robocompiler.runtime.redundancy.problem import Problem

Array = NDArray[np.float64]


def random_problem(random: np.random.Generator, kind: str, d: int = 0) -> tuple[Problem, Array]:
    """(problem, W): 'loose' has a known interior point, 'tight' a known point on many rows, 'any' may be infeasible.

    d: number of speeds, by chance if 0.

    Rows are repeated, parallel and of very different sizes, and several pass through one point in 'tight' ones.
    """
    d = d or int(random.integers(1, 9))
    m, k = int(random.integers(0, d + 1)), int(random.integers(0, 3 * d + 2))
    root = random.normal(size=(d, d)) + 2 * np.eye(d)
    W = root @ root.T
    J, A = random.normal(size=(m, d)), random.normal(size=(k, d)) * 10.0 ** random.uniform(-2, 2, size=(k, 1))
    if k > 2:
        A[0], A[1] = A[2], -A[2]
    point = random.normal(size=d)
    w = J @ point if kind != "any" else random.normal(size=m)
    gap = {"loose": np.abs(random.normal(size=k)), "tight": np.where(random.random(k) < 0.6, 0.0, 1.0)}.get(kind)
    size = np.linalg.norm(A, axis=1)
    b = A @ point + gap * size if gap is not None else random.normal(size=k) * size
    return Problem(np.linalg.cholesky(W), random.normal(size=d), J, w, A, b), W


def feasible(J: Array, w: Array, A: Array, b: Array) -> tuple[bool, float]:
    """(whether the rows can hold together, by how much rows of unit size must give way), by a linear program."""
    d = J.shape[1] if len(J) else A.shape[1]
    rows, right = np.vstack((A, J, -J)), np.concatenate((b, w, -w))
    size = np.linalg.norm(rows, axis=1)
    size = np.where(size > 0, size, 1.0)
    found = linprog(
        np.append(np.zeros(d), 1.0),
        A_ub=np.hstack((rows / size[:, None], -np.ones((len(rows), 1)))),
        b_ub=right / size,
        bounds=[(None, None)] * d + [(0, None)],
        method="highs",
    )
    assert found.status == 0, found.message
    return bool(found.x[-1] < 1e-7), float(found.x[-1])


def largest_scale(J: Array, fixed: Array, moving: Array, A: Array, b: Array) -> float:
    """The largest s in [0, 1] with J u = fixed + s moving, A u <= b, by a linear program; NaN where there is none."""
    d = J.shape[1]
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.hstack((A, np.zeros((len(A), 1)))) if len(A) else None,
        b_ub=b if len(A) else None,
        A_eq=np.hstack((J, -moving[:, None])),
        b_eq=fixed,
        bounds=[(None, None)] * d + [(0, 1)],
        method="highs",
    )
    return float(found.x[-1]) if found.status == 0 else float("nan")


def kkt_miss(problem: Problem, W: Array, u: Array, mu: Array, lam: Array) -> float:
    """The largest violation of the conditions of optimality, over the sizes of their terms."""
    terms = [W @ u, problem.c, problem.J.T @ mu, problem.A.T @ lam]
    size = max(1.0, *(float(np.abs(term).max(initial=0.0)) for term in terms))
    room = 1.0 + np.abs(problem.A) @ np.abs(u) + np.abs(problem.b)
    distance = (problem.A @ u - problem.b) / room
    parts = [
        np.abs(sum(terms)) / size,
        np.abs(problem.J @ u - problem.w) / (1.0 + np.abs(problem.J) @ np.abs(u)),
        np.maximum(distance, 0.0),
        np.maximum(-lam, 0.0),
        np.abs(lam * distance) / max(1.0, float(lam.max(initial=0.0))),
    ]
    return max(float(part.max(initial=0.0)) for part in parts)


def irreducible(problem: Problem, tasks: Sequence[int], bounds: Sequence[int]) -> bool:
    """Whether these rows contradict each other, and any one of them less would not, by linear programs."""

    def holds(t: Sequence[int], b: Sequence[int]) -> bool:
        rows = problem.J[list(t)], problem.w[list(t)], problem.A[list(b)], problem.b[list(b)]
        return feasible(*(part.reshape(-1, len(problem.c)) if part.ndim == 2 else part for part in rows))[0]

    if holds(tasks, bounds):
        return False
    fewer = [([t for t in tasks if t != out], list(bounds)) for out in tasks]
    fewer += [(list(tasks), [b for b in bounds if b != out]) for out in bounds]
    return all(not (t or b) or holds(t, b) for t, b in fewer)
