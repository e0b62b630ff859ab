"""Impacts: speeds that jump when a robot meets constraints, and the impulses on its contacts.

Speeds after an impact without rebound are the admissible ones nearest to those before, in the metric of inertia
(Gauss): minimise 1/2 |K w - u|_M over w, so that

    K^T M (K w - u) = 0,      w = (K^T M K)^-1 K^T M u,      M (K w - u) = J^T P,      loss = 1/2 |K w - u|_M^2

with M the reduced inertia of the robot before the constraints, K the speeds that these admit and J the rows that vanish
there, J K = 0.  Nothing else than P acts during the jump: other forces are finite, and its time is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import RankError

Array = NDArray[np.float64]

NOISE = 1e-9  # singular values of the contacts, over the largest, below which their rows repeat one another
MISS = 1e-7  # of the speeds (in the norm of inertia) that contacts may leave unexplained: rounding, and no more


@dataclass(frozen=True)
class Impulses:
    """P (rows of J): impulses on the robot; undetermined: entries that redundant contacts leave open (least norm)."""

    values: Array
    undetermined: NDArray[np.bool_]


def admissible_speeds(M: Array, K: Array, u: Array) -> Array:
    """w (k,) of the admissible speeds K w nearest to u in the metric M.

    Args:
        M (d, d): symmetric, positive definite; K (d, k): full column rank; u (d,).

    Raises:
        RankError: M is not positive definite, or columns of K depend on one another.
    """
    if not K.shape[1]:
        return np.zeros(0)
    root = _root(M)
    Q, R = np.linalg.qr(root.T @ K)  # forming K^T M K would square the condition number
    pivots = np.abs(np.diag(R))
    if not pivots.min() > np.finfo(float).eps * pivots.max():
        raise RankError("the admissible speeds depend on one another: the chart of the new mode is singular here")
    w: Array = np.linalg.solve(R, Q.T @ (root.T @ u))
    return w


def contact_impulses(M: Array, J: Array, before: Array, after: Array) -> Impulses:
    """P with J^T P = M (after - before), of least norm where rows of J repeat one another.

    Args:
        M (d, d): symmetric, positive definite; J (k, d): rates of the contacts per unit of u; before, after (d,): u.

    Raises:
        RankError: M is not positive definite, or the contacts cannot cause this jump.
    """
    if not J.shape[0] or not J.shape[1]:
        return Impulses(np.zeros(J.shape[0]), np.ones(J.shape[0], dtype=np.bool_))
    root = _root(M)
    A, wanted = np.linalg.solve(root, J.T), root.T @ (after - before)  # A P = wanted
    U, sizes, Vt = np.linalg.svd(A, full_matrices=True)
    rank = int(np.sum(sizes > NOISE * sizes[0]))
    P = np.asarray(Vt[:rank].T @ ((U[:, :rank].T @ wanted) / sizes[:rank]))
    miss = float(np.linalg.norm(A @ P - wanted))
    if miss > MISS * float(np.linalg.norm(root.T @ before)):
        raise RankError(
            f"impulses on the contacts leave a jump of speeds of kinetic energy {miss * miss / 2:.3g} J unexplained: "
            "the frames that are held and the constraints of the new mode disagree",
            {"miss": miss},
        )
    return Impulses(P, np.asarray(np.abs(Vt[rank:]).max(axis=0, initial=0.0) > NOISE))


def kinetic(M: Array, u: Array) -> float:
    """1/2 u^T M u (J)."""
    return float(u @ M @ u) / 2


def _root(M: Array) -> Array:
    """L with M = L L^T: L^T u are speeds in which the inertia is the identity."""
    try:
        return np.asarray(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        raise RankError("the reduced inertia is not positive definite: some motion moves no mass") from None
