"""How the closures answer a move along the inner lift: changes of dependent speeds and accelerations, and of reactions.

At a state (q, v, a) with C v = 0, C a + Cdot v = 0 and multipliers lambda of the selected rows, along column k of E~
(dq = E_k) with the inner independents' speeds and accelerations held,

    R_p dv_dep = -d(C v) E_k              R_p da_dep = -d(C a + Cdot v) E_k - (d(Cdot v)/dv) dv
    R_p da_dep = -(d(Cdot v)/dv) E_k      for a change dv = E_k of the speeds themselves
    S_jk = E_j^T d(C^T lambda) E_k        what the turning of the closure forces gives to speed j

module by module: only directions that a module's rows see are worked out.  With D(e, w) = (dC along e) w, rows r and
their derivatives L along constant speeds, D(e, w) = L_e L_w r and D(e, w) - D(w, e) = C [e, w], so that a few matrices
serve all directions (w = [e, v]; brackets vanish but for balls and free joints):

    d(C v) e            = D(v, e) + C w                  (d(Cdot v)/dv) e = 2 D(v, e) + C w
    d(C a + Cdot v) e   = D(a, e) + C [e, a] + L_v L_v (C e) + 2 D(v, w) + C [w, v]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JointType
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
    first = 0
    for module in mechanics.inner.modules:
        own = lam[first : first + len(module.dependents)]
        first += len(module.dependents)
        parts = _module(mechanics, module, E, v, a, own) if module.dependents else None
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
    mechanics: Mechanics, module: Module, E: SX, v: SX, a: SX, lam: SX
) -> tuple[list[int], tuple[SX, SX, SX, SX]] | None:
    """The directions that the module sees, and the four parts for them; None where nothing moves it."""
    q, seen = mechanics.symbols.q, [*module.dependents, *module.independents]
    C = mechanics.row_jacobian(module.rows, seen)
    A = mechanics.row_jacobian(module.rows, module.dependents)
    places, own, rates = directions_that_move(mechanics, E, _nonzeros(C))
    if not places:
        return None
    mine = own[seen, :]
    of_v = _along(mechanics, C, v)
    of_motion = _along(mechanics, C, a) + _along(mechanics, of_v, v)
    w_v, w_a = _bracket(mechanics.topology, own, v), _bracket(mechanics.topology, own, a)
    change = cs.mtimes(of_v, mine)
    turned = cs.mtimes(C, w_v[seen, :])
    bending = cs.mtimes(of_motion, mine) + 2 * cs.mtimes(of_v, w_v[seen, :])
    bending += cs.mtimes(C, (w_a + _bracket(mechanics.topology, w_v, v))[seen, :])
    speed, _ = solve(A, cs.sparsify(-change - turned), module.pivots)
    moving = cs.SX(*own.shape)
    moving[list(module.dependents), :] = speed
    rate = 2 * cs.mtimes(of_v, moving[seen, :]) + cs.mtimes(C, _bracket(mechanics.topology, moving, v)[seen, :])
    acceleration, _ = solve(A, cs.sparsify(-bending - rate), module.pivots)
    drift, _ = solve(A, cs.sparsify(-2 * change - turned), module.pivots)
    forces = cs.jtimes(cs.densify(cs.mtimes(C.T, lam)), q, rates)
    return places, (speed, acceleration, drift, cs.sparsify(cs.mtimes(E[seen, :].T, forces)))


def _along(mechanics: Mechanics, matrix: SX, e: SX) -> SX:
    """Derivative of a sparse matrix of q along dq = N e."""
    rates = coordinate_rates(mechanics.topology, mechanics.symbols.q, e)
    return cs.SX(matrix.sparsity(), cs.jtimes(_nonzeros(matrix), mechanics.symbols.q, rates))


def _bracket(topology: Topology, e: SX, w: SX) -> SX:
    """[e, w] (nv, m) of speeds that are constant in the joints' own axes: zero but for balls and free joints."""
    result = cs.SX(*e.shape)
    for slot in topology.slots:
        if topology.kind(slot.joint) not in (JointType.SPHERICAL, JointType.FREE):
            continue
        at = range(slot.v0, slot.v0 + slot.nv)
        b = w[list(at)]
        for k in range(e.shape[1]):
            c = e[list(at), k]
            if not c.nnz():
                continue
            result[at[:3], k] = cs.cross(c[:3], b[:3])
            if slot.nv == 6:
                result[at[3:], k] = cs.cross(c[:3], b[3:]) + cs.cross(c[3:], b[:3])
    return cs.sparsify(result)


def _nonzeros(matrix: SX) -> SX:
    return cs.vertcat(cs.SX(0, 1), *matrix.nonzeros())
