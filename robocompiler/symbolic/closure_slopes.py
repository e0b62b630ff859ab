"""How the closures answer a move along the inner lift: changes of dependent speeds and accelerations, and of reactions.

At a state (q, v, a) with C v = 0, C a + Cdot v = 0 and multipliers lambda of the selected rows, along column k of E~
(dq = E_k) with the inner independents' speeds and accelerations held (in the axes that `held_speeds` tells),

    R_p y = -turn E_k        R_p z = -bend E_k - (2 turn + swing) y
    R_p z = -(2 turn + swing) E_k      for a change dv = E_k of the speeds themselves
    S_jk  = E_j^T H E_k                what the turning of the closure forces gives to speed j

module by module, with the matrices of `row_slopes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.dynamics import Mechanics
from robocompiler.symbolic.elimination import solve
from robocompiler.symbolic.manifold import coordinate_rates
from robocompiler.symbolic.reduction import Module
from robocompiler.symbolic.row_slopes import row_slopes

SX = Any


@dataclass(frozen=True)
class ClosureSlopes:
    """speed, acceleration (nv, d): changes of v and a along the columns of E~; drift (nv, d): change of a with dv = E~;
    turning (d, d): S.  All sparse, dependents only."""

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


def multiplier_count(mechanics: Mechanics) -> int:
    """Number of selected rows."""
    return sum(len(module.dependents) for module in mechanics.inner.modules)


def closure_slopes(mechanics: Mechanics, E: SX, v: SX, a: SX, lam: SX) -> ClosureSlopes:
    """The changes along all columns of E (nv, d), the inner lift; v, a (nv,) and lam (rows,) are symbols."""
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
    return ClosureSlopes(speed, acceleration, drift, cs.sparsify(cs.mtimes(E.T, cs.mtimes(rows.H, E))))


def _place(target: SX, rows: list[int], block: SX) -> None:
    for i, j in zip(*block.sparsity().get_triplet(), strict=True):
        target[rows[i], j] = block[i, j]


def directions_that_move(mechanics: Mechanics, E: SX, expression: SX) -> tuple[list[int], SX, SX]:
    """(columns of E that change an expression of q, their rows that do (nv, m) sparse, their rates of q (nq, m)).

    All speeds of a ball joint count where its quaternion occurs: a row may not feel a spin, its Jacobian still does.
    """
    q, topology = mechanics.symbols.q, mechanics.topology
    seen = set(cs.sparsify(cs.DM(cs.jacobian_sparsity(expression, q), 1)).sparsity().get_triplet()[1])
    touched = [
        slot.v0 + k for slot in topology.slots if seen & set(range(slot.q0, slot.q0 + slot.nq)) for k in range(slot.nv)
    ]
    columns = sorted(set(E[touched, :].sparsity().get_triplet()[1])) if touched else []
    own = cs.SX(E.shape[0], len(columns))
    if columns:
        own[touched, :] = E[touched, columns]
    own = cs.sparsify(own)
    rates = [coordinate_rates(topology, q, own[:, k]) for k in range(len(columns))]
    return columns, own, cs.horzcat(cs.SX(topology.nq, 0), *rates)
