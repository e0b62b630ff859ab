"""Acquisition by the artificial defect (docs/mathematics.md).

    Delta_e^eta = exp((1 - eta) rho_e(q0))^-1 Delta_e,     gamma^eta = gamma - (1 - eta) gamma(q0)

q0 solves eta = 0; adaptive steps take eta to 1.  The differential is that of rho^eta = log(Delta^eta):
C^eta = J_l(rho^eta)^-1 Ad_{exp(-(1-eta) rho0)} J_l(rho) C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocompiler.numerics import se3
from robocompiler.numerics.gauss_newton import truncated_solve

Array = NDArray[np.float64]


class AugmentedProblem(Protocol):
    """Augmented closures, six rows per chord and then the couplings, over the unknown velocities."""

    @property
    def chords(self) -> int:
        """Number of chords."""
        ...

    def augmented(self, q: Array) -> tuple[Array, Array]:
        """rho (6 chords + couplings,) and C (.., unknowns), unscaled."""
        ...

    def scales(self) -> tuple[Array, Array]:
        """Sizes of one unit of every row and of every unknown."""
        ...

    def move(self, q: Array, step: Array) -> Array:
        """q moved by increments of the unknowns."""
        ...


@dataclass(frozen=True)
class Acquisition:
    """Where a continuation ended: q, the eta reached (1 is closed), and how many steps were accepted."""

    q: Array
    eta: float
    steps: int


def _defect(problem: AugmentedProblem, q: Array, rho0: Array, eta: float) -> tuple[Array, Array]:
    """rho^eta and C^eta."""
    rho, C = problem.augmented(q)
    n = problem.chords
    start = rho0[: 6 * n].reshape(n, 6)
    current = rho[: 6 * n].reshape(n, 6)
    R0, p0 = se3.exp((1 - eta) * start)
    R, p = se3.exp(current)
    back = np.swapaxes(R0, 1, 2)
    moved = se3.log(back @ R, np.einsum("kij,kj->ki", back, p - p0))
    carry = se3.adjoint(back, -np.einsum("kij,kj->ki", back, p0)) @ se3.left_jacobian(current)
    factor = np.linalg.solve(se3.left_jacobian(moved), carry)
    J = np.concatenate(((factor @ C[: 6 * n].reshape(n, 6, C.shape[1])).reshape(6 * n, C.shape[1]), C[6 * n :]))
    return np.concatenate((moved.ravel(), rho[6 * n :] - (1 - eta) * rho0[6 * n :])), J


def _solve_at(problem: AugmentedProblem, q: Array, rho0: Array, eta: float) -> Array | None:
    """Newton at one eta; None unless it converges in a few contracting steps."""
    rows, columns = problem.scales()
    previous = np.inf
    for _ in range(8):
        r, J = _defect(problem, q, rho0, eta)
        error = float(np.abs(r / rows).max(initial=0.0))
        if error < 1e-9:
            return q
        if not np.isfinite(error) or error > previous:
            return None
        step = truncated_solve(J * columns / rows[:, None], -(r / rows))
        if np.abs(step).max(initial=0.0) > 0.5:
            return None
        q, previous = problem.move(q, step * columns), error
    return None


def acquire(
    problem: AugmentedProblem,
    q: Array,
    admissible: Callable[[Array], bool],
    *,
    smallest_step: float = 1 / 512,
    most_steps: int = 400,
) -> Acquisition:
    """Take eta from 0 to 1 from the start q, moving only the problem's unknowns.

    Every accepted point must satisfy `admissible` (the branch guard).  Steps double after a success and halve after a
    failure; the continuation stops at the last accepted point when they fall below `smallest_step`.
    """
    rho0, _ = problem.augmented(q)
    eta, step, accepted = 0.0, 0.25, 0
    while eta < 1.0 and step >= smallest_step and accepted < most_steps:
        target = min(1.0, eta + step)
        trial = _solve_at(problem, q, rho0, target)
        if trial is not None and admissible(trial):
            q, eta, accepted = trial, target, accepted + 1
            step *= 2
        else:
            step /= 2
    return Acquisition(q, eta, accepted)
