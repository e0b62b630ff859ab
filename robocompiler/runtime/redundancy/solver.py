"""Solving a resolution problem: in closed form where no bound is in the way, by a quadratic program where one is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import MissingPackageError, RoboCompilerError
from robocompiler.runtime.redundancy.conflicts import Conflict, conflict
from robocompiler.runtime.redundancy.problem import LeastDistance, Problem, Solution, finished, least_distance

Array = NDArray[np.float64]

OPTIMAL, INFEASIBLE = 1, -1  # exit flags of DAQP
UNBOUNDED = 1e30  # what DAQP takes as no limit


def solve(problem: Problem) -> Solution | Conflict:
    """The minimiser, or the rows that contradict each other.

    Raises:
        MissingPackageError: bounds are in the way and the QP solver is not installed.
        RoboCompilerError: the solver stopped without an answer.
    """
    reduced = least_distance(problem)
    if np.all(reduced.h >= -reduced.tolerance):
        return finished(problem, reduced.u0, np.zeros(len(problem.b)), "closed form")
    if reduced.basis.shape[1]:
        answer = _active_set(reduced)
        if answer is not None:
            y, lam = answer
            return finished(problem, reduced.u0 + reduced.basis @ y, lam / reduced.units, "active-set QP")
    found = conflict(problem)
    if found is None:
        raise RoboCompilerError(
            "whether the bounds can be met is lost in rounding: they touch each other in a single point, or nearly so; "
            "give them a little room"
        )
    return found


def _active_set(reduced: LeastDistance) -> tuple[Array, Array] | None:
    """(y, lam) of the least distance, or None where G y <= h cannot hold.

    The distances are divided by the largest violation, so that the solver's absolute tolerances have a meaning; the
    active set that it finds is then solved exactly.
    """
    size = float(-reduced.h.min())
    tolerance = min(1e-6, max(1e-9, float(reduced.tolerance.min()) / size))
    n = reduced.G.shape[1]
    y, flag, lam = quadratic_program(
        np.eye(n), np.zeros(n), reduced.G, reduced.h / size, np.zeros(len(reduced.h), dtype=bool), tolerance
    )
    if flag == INFEASIBLE:
        return None
    if flag != OPTIMAL:
        raise RoboCompilerError(f"the QP solver stopped with exit flag {flag}")
    return _polished(reduced, y * size, np.maximum(lam, 0.0) * size)


def _polished(reduced: LeastDistance, y: Array, lam: Array) -> tuple[Array, Array]:
    """The point of least length on the active rows, if it is at least as good as the solver's."""
    active = np.flatnonzero(lam > 1e-12 * lam.max(initial=0.0))
    rows = reduced.G[active]
    better = np.linalg.lstsq(rows, reduced.h[active], rcond=None)[0]
    weights = np.zeros_like(lam)
    weights[active] = np.linalg.lstsq(rows.T, -better, rcond=None)[0]
    allowed = np.maximum(reduced.G @ y - reduced.h, reduced.tolerance)
    if np.all(weights >= 0) and np.all(reduced.G @ better - reduced.h <= allowed):
        return np.asarray(better), weights
    return y, lam


def quadratic_program(
    H: Array, f: Array, A: Array, b: Array, equal: NDArray[np.bool_], tolerance: float, **settings: float
) -> tuple[Array, int, Array]:
    """(x, exit flag, multipliers) of min 1/2 x^T H x + f^T x with A x <= b, = b where `equal`, by DAQP.

    settings: further ones of DAQP.
    """
    daqp = _daqp()
    lower = np.where(equal, b, -UNBOUNDED)
    sense = np.where(equal, 5, 0).astype(np.int32)
    x, _, flag, info = daqp.solve(
        np.ascontiguousarray(H), np.ascontiguousarray(f), np.ascontiguousarray(A), np.ascontiguousarray(b), lower,
        sense, primal_tol=tolerance, **settings,
    )  # fmt: skip
    return np.asarray(x), int(flag), np.asarray(info["lam"])


def _daqp() -> Any:
    try:
        import daqp
    except ImportError:
        raise MissingPackageError(
            "a bound is in the way of this task, and the solver for that is not installed: "
            "pip install 'robocompiler[control]' (or pip install daqp)"
        ) from None
    return daqp
