"""rho and C by walking global paths in Python: what a general-purpose library does, and the paper's comparison.

For chord e = (b, c) the two bodies are posed in the world by walking the whole tree from the root (DESIGN section 3):

    T_e = W_b^-1 W_c,    Delta_e = T_e X_e^-1,    rho_e = log(Delta_e)^vee
    C_e = J_l(rho_e)^-1 [ Ad_{W_b^-1} (V_c - V_b)  -  Ad_Delta Xi_e ]

with V_x (6, nv) the world twists of body x for unit speeds, one column per tree velocity; joints above the common
ancestor of b and c are in both and cancel.  Straightforward numpy with constants folded once.  Two ways of walking:
`by_chord` starts again from the root for every chord; `shared` propagates the tree once for all chords, which is the
best that a global evaluator can do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.duals import Dual, dual_algebra
from benchmarks.joint_models import JointModel
from benchmarks.rigid import adjoint, inverse, inverse_left_jacobian, log
from robocompiler.graph.topology import Topology
from robocompiler.records.expressions import fold
from robocompiler.records.model import WORLD, Coupling

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Hop:
    """One tree joint: body indices, direction, model and its places in q and v."""

    parent: int
    child: int
    forward: bool
    model: JointModel
    q: slice
    v: slice


@dataclass(frozen=True)
class _Cut:
    """One chord: body indices of its sides a and b, model and its places in q and v."""

    a: int
    b: int
    model: JointModel
    q: slice
    v: slice


@dataclass
class _Tree:
    """World poses (4, 4) and world twists (6, nv) of the bodies."""

    poses: list[Array]
    twists: list[Array]


class GlobalEvaluator:
    """Augmented closures of a topology by global paths.  Rows: chords by name (6 each), then couplings by name."""

    def __init__(self, topology: Topology) -> None:
        mechanism = topology.mechanism
        parameters = mechanism.defaults
        names = [WORLD, *(edge.child for edge in topology.edges)]
        place = {name: index for index, name in enumerate(names)}

        def located(name: str) -> tuple[JointModel, slice, slice]:
            slot = topology.slot(name)
            q, v = slice(slot.q0, slot.q0 + slot.nq), slice(slot.v0, slot.v0 + slot.nv)
            return JointModel(topology.joint(name), parameters), q, v

        self.nq, self.nv = topology.nq, topology.nv
        self._bodies = len(names)
        self._hops = [_Hop(place[e.parent], place[e.child], e.forward, *located(e.joint)) for e in topology.edges]
        joints = [topology.joint(chord.joint) for chord in topology.chords]
        self._cuts = [_Cut(place[j.a.body], place[j.b.body], *located(j.name)) for j in joints]
        self._couplings = sorted(mechanism.couplings, key=lambda coupling: coupling.name)
        self._parameters = parameters
        self._q_place = {name: i for i, name in enumerate(topology.q_names)}
        self._v_place = {name: i for i, name in enumerate(topology.v_names)}

    @property
    def rows(self) -> int:
        """Number of rows of rho."""
        return 6 * len(self._cuts) + len(self._couplings)

    def by_chord(self, q: Array) -> tuple[Array, Array]:
        """rho (rows,) and C (rows, nv), the whole tree walked from the root for every chord."""
        return self._evaluate(q, None)

    def shared(self, q: Array) -> tuple[Array, Array]:
        """rho (rows,) and C (rows, nv), the whole tree walked once."""
        return self._evaluate(q, self._propagate(q) if self._cuts else None)

    def _evaluate(self, q: Array, tree: _Tree | None) -> tuple[Array, Array]:
        rho, C = np.empty(self.rows), np.empty((self.rows, self.nv))
        for k, cut in enumerate(self._cuts):
            part = slice(6 * k, 6 * k + 6)
            rho[part], C[part] = self._chord(cut, q, tree or self._propagate(q))
        for k, coupling in enumerate(self._couplings, start=6 * len(self._cuts)):
            rho[k], C[k] = self._coupling(coupling, q)
        return rho, C

    def _propagate(self, q: Array) -> _Tree:
        """Poses and twists of every body, from the root outward."""
        poses: list[Array] = [np.eye(4)] * self._bodies
        twists: list[Array] = [np.zeros((6, self.nv))] * self._bodies
        for hop in self._hops:
            X, Xi = hop.model.evaluate(q[hop.q])
            base = poses[hop.parent]
            poses[hop.child] = base @ (X if hop.forward else inverse(X))
            if hop.v.start == hop.v.stop:
                twists[hop.child] = twists[hop.parent]
                continue
            moved = twists[hop.parent].copy()
            # against its direction the joint is X^-1, with d(X^-1) X = -Ad_{X^-1} Xi, and W_parent X^-1 = W_child
            moved[:, hop.v] = adjoint(base) @ Xi if hop.forward else -adjoint(poses[hop.child]) @ Xi
            twists[hop.child] = moved
        return _Tree(poses, twists)

    def _chord(self, cut: _Cut, q: Array, tree: _Tree) -> tuple[Array, Array]:
        to_a = inverse(tree.poses[cut.a])
        X, Xi = cut.model.evaluate(q[cut.q])
        delta = to_a @ tree.poses[cut.b] @ inverse(X)
        rho = log(delta)
        inside = adjoint(to_a) @ (tree.twists[cut.b] - tree.twists[cut.a])
        inside[:, cut.v] -= adjoint(delta) @ Xi
        return rho, inverse_left_jacobian(rho) @ inside

    def _coupling(self, coupling: Coupling, q: Array) -> tuple[float, Array]:
        """gamma and Dgamma; N is the identity on the scalar coordinates that couplings may name."""
        none = np.zeros(self.nv)
        known = {name: Dual(value, none) for name, value in self._parameters.items()}
        for name in coupling.coordinates:
            gradient = np.zeros(self.nv)
            gradient[self._v_place[name]] = 1.0
            known[name] = Dual(float(q[self._q_place[name]]), gradient)
        gamma = fold(coupling.expression, known, dual_algebra, lambda value: Dual(value, none))
        return gamma.value, gamma.gradient
