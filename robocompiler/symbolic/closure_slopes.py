"""How the closures answer a move along the inner lift: changes of dependent speeds and accelerations, and of reactions.

At a state (q, v, a) with C v = 0, C a + Cdot v = 0 and multipliers lambda of the selected rows, along column k of E~
(dq = E_k) with the inner independents' speeds and accelerations held (in the axes that `held_speeds` tells),

    R_p y = -turn E_k        R_p z = -bend E_k - (2 turn + swing) y
    R_p z = -(2 turn + swing) E_k      for a change dv = E_k of the speeds themselves

module by module, with the matrices of `row_slopes`.  H = d(C^T lambda)/dx goes with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.dynamics import Mechanics
from robocompiler.symbolic.elimination import solve
from robocompiler.symbolic.reduction import Module
from robocompiler.symbolic.row_slopes import row_slopes

SX = Any


@dataclass(frozen=True)
class ClosureSlopes:
    """speed, acceleration (nv, d): y and z along the columns of E~; drift (nv, d): z with dv = E~; turning (nv, nv): H.

    All sparse, the first three at dependents only.
    """

    speed: SX
    acceleration: SX
    drift: SX
    turning: SX


def multipliers(mechanics: Mechanics, forces: SX) -> SX:
    """lambda (rows,): of the selected rows of all modules in turn, with (forces - C^T lambda)_dep = 0."""
    parts = []
    for module in mechanics.inner.modules:
        if module.dependents:
            A = mechanics.row_jacobian(module.rows, module.dependents)
            parts.append(solve(cs.sparsify(A.T), forces[list(module.dependents)], module.pivots.transposed())[0])
    return cs.densify(cs.vertcat(cs.SX(0, 1), *parts))


def closure_slopes(mechanics: Mechanics, E: SX, v: SX, a: SX, lam: SX) -> ClosureSlopes:
    """The changes along all columns of E (nv, d), the inner lift; lam (rows,): multipliers."""
    nv, d = E.shape
    speed, acceleration, drift = cs.SX(nv, d), cs.SX(nv, d), cs.SX(nv, d)
    modules = [module for module in mechanics.inner.modules if module.dependents]
    order = [row for module in modules for row in module.rows]
    rows = row_slopes(mechanics.closures, v, a, {row: lam[k] for k, row in enumerate(order)})
    for module in modules:
        selected, dependents = list(module.rows), list(module.dependents)
        A = mechanics.row_jacobian(module.rows, module.dependents)
        turn, swing, bend = (cs.sparsify(matrix[selected, :]) for matrix in (rows.turn, rows.swing, rows.bend))

        def solved(right: SX, A: SX = A, module: Module = module) -> SX:
            return solve(A, cs.sparsify(-right), module.pivots)[0]

        y = solved(cs.mtimes(turn, E))
        pushed = cs.mtimes(2 * turn[:, dependents] + swing[:, dependents], y)
        _place(speed, dependents, y)
        _place(acceleration, dependents, solved(cs.mtimes(bend, E) + pushed))
        _place(drift, dependents, 2 * y + solved(cs.mtimes(swing, E)))
    return ClosureSlopes(speed, acceleration, drift, rows.H)


def _place(target: SX, rows: list[int], block: SX) -> None:
    for i, j in zip(*block.sparsity().get_triplet(), strict=True):
        target[rows[i], j] = block[i, j]
