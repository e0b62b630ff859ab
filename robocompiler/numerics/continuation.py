"""Acquisition by the artificial defect (DESIGN section 3).

    Delta_e^eta = exp((1 - eta) rho_e(q0))^-1 Delta_e,     gamma^eta = gamma - (1 - eta) gamma(q0)

q0 solves eta = 0; adaptive steps take eta to 1 with the held velocities fixed.  The differential is that of
rho^eta = log(Delta^eta):  C^eta = J_l(rho^eta)^-1 Ad_{exp(-(1-eta) rho0)} J_l(rho) C.
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
Indices = NDArray[np.intp]


class AugmentedProblem(Protocol):
    """The augmented closures: six rows per chord, then the couplings.  All velocities are unknowns, cut joints' too."""

    chords: int

    def augmented(self, q: Array) -> tuple[Array, Array]:
        """rho (6 chords + couplings,) and C (.., nv), unscaled."""
        ...

    def scales(self) -> tuple[Array, Array]:
        """Sizes of one unit of every augmented row and of every velocity."""
        ...

    def move(self, q: Array, dv: Array) -> Array:
        """q (+) dv."""
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
    r, J = rho.copy(), C.copy()
    for k in range(problem.chords):
        rows = slice(6 * k, 6 * k + 6)
        R0, p0 = se3.exp((1 - eta) * rho0[rows])
        R, p = se3.exp(rho[rows])
        r[rows] = se3.log(R0.T @ R, R0.T @ (p - p0))
        carry = np.linalg.solve(se3.left_jacobian(r[rows]), se3.adjoint(R0.T, -R0.T @ p0))
        J[rows] = carry @ se3.left_jacobian(rho[rows]) @ C[rows]
    tail = slice(6 * problem.chords, None)
    r[tail] = rho[tail] - (1 - eta) * rho0[tail]
    return r, J


def _solve_at(
    problem: AugmentedProblem, q: Array, rho0: Array, eta: float, free: Indices, cutoff: float
) -> Array | None:
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
        scaled = (J * columns / rows[:, None])[:, free]
        step = truncated_solve(scaled, -(r / rows), cutoff)
        if np.abs(step).max(initial=0.0) > 0.5:
            return None
        dv = np.zeros(J.shape[1])
        dv[free] = step * columns[free]
        q, previous = problem.move(q, dv), error
    return None


def acquire(
    problem: AugmentedProblem,
    q: Array,
    free: Indices,
    admissible: Callable[[Array], bool],
    *,
    cutoff: float = 1e-7,
    smallest_step: float = 1e-4,
    most_steps: int = 400,
) -> Acquisition:
    """Take eta from 0 to 1 from the start q, moving only the velocities in `free`.

    Every accepted point must satisfy `admissible` (the branch guard).  Steps double after a success and halve after a
    failure; the continuation stops at the last accepted point when they fall below `smallest_step`.
    """
    rho0, _ = problem.augmented(q)
    eta, step, accepted = 0.0, 0.25, 0
    while eta < 1.0 and step >= smallest_step and accepted < most_steps:
        target = min(1.0, eta + step)
        trial = _solve_at(problem, q, rho0, target, free, cutoff)
        if trial is not None and admissible(trial):
            q, eta, accepted = trial, target, accepted + 1
            step *= 2
        else:
            step /= 2
    return Acquisition(q, eta, accepted)
