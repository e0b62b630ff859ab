"""How the closures answer a move along the inner lift: changes of dependent speeds and accelerations, and of reactions.

At a state (q, v, a) with C v = 0, C a + Cdot v = 0 and multipliers lambda of the selected rows, along column k of E~
(dq = E_k) with the inner independents' speeds and accelerations held,

    R_p dv_dep = -d(C v) E_k              R_p da_dep = -d(C a + Cdot v) E_k - (d(Cdot v)/dv) dv
    R_p da_dep = -(d(Cdot v)/dv) E_k      for a change dv = E_k of the speeds themselves
    S_jk = E_j^T d(C^T lambda) E_k        what the turning of the closure forces gives to speed j

module by module: only directions that a module's rows see are worked out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.dynamics import Mechanics
from robocompiler.symbolic.elimination import solve
from robocompiler.symbolic.manifold import coordinate_rates
from robocompiler.symbolic.reduction import Module

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
    speed, acceleration, drift, turning = cs.SX(nv, d), cs.SX(nv, d), cs.SX(nv, d), cs.SX(d, d)
    first, curvature = 0, mechanics.row_curvatures(v)
    for module in mechanics.inner.modules:
        own = lam[first : first + len(module.dependents)]
        first += len(module.dependents)
        parts = _module(mechanics, module, E, curvature[list(module.rows)], v, a, own) if module.dependents else None
        if parts is None:
            continue
        places, blocks = parts
        for target, part in zip((speed, acceleration, drift), blocks[:3], strict=True):
            for i, j in zip(*part.sparsity().get_triplet(), strict=True):
                target[module.dependents[i], places[j]] = part[i, j]
        for i, j in zip(*blocks[3].sparsity().get_triplet(), strict=True):
            turning[i, places[j]] += blocks[3][i, j]
    return ClosureSlopes(speed, acceleration, drift, turning)


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


def _module(
    mechanics: Mechanics, module: Module, E: SX, curvature: SX, v: SX, a: SX, lam: SX
) -> tuple[list[int], tuple[SX, SX, SX, SX]] | None:
    """The directions that the module sees, and the four parts for them; None where nothing moves it.

    curvature (k,): Cdot v of its selected rows.
    """
    q, seen = mechanics.symbols.q, [*module.dependents, *module.independents]
    C = mechanics.row_jacobian(module.rows, seen)
    A = mechanics.row_jacobian(module.rows, module.dependents)
    places, own, rates = directions_that_move(mechanics, E, cs.vertcat(_nonzeros(C), curvature))
    if not places:
        return None
    dC = cs.jtimes(_nonzeros(C), q, rates)
    of_speed, of_acceleration, turning = [], [], []
    for k in range(len(places)):
        change = cs.SX(C.sparsity(), dC[:, k])
        of_speed.append(cs.mtimes(change, v[seen]))
        of_acceleration.append(cs.mtimes(change, a[seen]))
        turning.append(cs.mtimes(E[seen, :].T, cs.mtimes(change.T, lam)))
    bending = cs.horzcat(*of_acceleration) + cs.jtimes(curvature, q, rates)
    speed, _ = solve(A, cs.sparsify(-cs.horzcat(*of_speed)), module.pivots)
    moving = cs.SX(*own.shape)
    moving[list(module.dependents), :] = speed
    rate = cs.jtimes(curvature, v, cs.sparsify(moving))
    acceleration, _ = solve(A, cs.sparsify(-bending - rate), module.pivots)
    drift, _ = solve(A, cs.sparsify(-cs.jtimes(curvature, v, own)), module.pivots)
    return places, (speed, acceleration, drift, cs.sparsify(cs.horzcat(*turning)))


def _nonzeros(matrix: SX) -> SX:
    return cs.vertcat(cs.SX(0, 1), *matrix.nonzeros())
