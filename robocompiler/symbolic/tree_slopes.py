"""Tangent-linear Newton-Euler on the link tree by composite quantities, for all directions of a lift at once.

Everything stands in the axes of each tree's first link, at its origin.  Let a direction move the joints by x, their
speeds by y and their accelerations by z.  Seen from the moved link, its twist changes by zeta and its acceleration by
gamma - V x zeta, where both are sums over the link and its ancestors j,

    zeta  = sum  (N x Phi_j) x_j + Phi_j y_j               N, B: twist and acceleration of the frame that holds the axes
    gamma = sum  (B x Phi_j + N x (N x Phi_j)) x_j + ((V_j + V_p) x Phi_j) y_j + Phi_j z_j

(gravity is an acceleration of the ground; for a ball held by its parent, see `held_speeds`, N and B are the link's own
and y counts 2 V x Phi_j).  The wrench that everything beyond a link takes changes by

    I gamma + 2 [Y zeta_omega; zeta_omega x P],     P = sum m V(r),     Y = sum m (V(r) . r) 1 - m V(r) r^T

with I, P and Y composite: a Coriolis force 2 m zeta_omega x V(r) acts on every mass point.  Wrenches of links beyond a
joint turn with it, which adds (Phi_j x_j) x* f_j on the way inward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.inertia import Inertia
from robocompiler.symbolic.links import Axis, Link, LinkTree
from robocompiler.symbolic.recursion import Spatial, motion_inward
from robocompiler.symbolic.spatial import Pose, skew

SX = Any


@dataclass(frozen=True)
class Directions:
    """Changes of joints x, speeds y and accelerations z: sparse matrices (nv, d), one column per direction."""

    x: SX
    y: SX
    z: SX

    def of(self, index: int) -> dict[int, tuple[SX | None, SX | None, SX | None]]:
        """{direction: entries of x, y and z} of one velocity, where any is not structurally zero."""
        parts = [_row(M, index) for M in (self.x, self.y, self.z)]
        return {k: (parts[0].get(k), parts[1].get(k), parts[2].get(k)) for k in sorted(set().union(*parts))}


@dataclass(frozen=True)
class _Change:
    """Contribution of one axis or link, or a sum of such: gamma and the angular part of zeta."""

    gamma: Spatial
    zeta: SX

    def __add__(self, other: _Change) -> _Change:
        return _Change(self.gamma + other.gamma, self.zeta + other.zeta)


@dataclass(frozen=True)
class _Carried:
    """Composite of a subtree: inertia, Coriolis terms P and Y, and the wrench that its motion takes."""

    inertia: Inertia
    P: SX
    Y: SX
    f: Spatial

    def __add__(self, other: _Carried) -> _Carried:
        return _Carried(self.inertia + other.inertia, self.P + other.P, self.Y + other.Y, self.f + other.f)

    def wrench(self, change: _Change) -> Spatial:
        """I gamma + 2 [Y zeta; zeta x P]."""
        angular, linear = self.inertia.momentum(change.gamma.angular, change.gamma.linear)
        return Spatial(angular + cs.mtimes(self.Y, change.zeta), linear + cs.cross(change.zeta, self.P))


@dataclass(frozen=True)
class _Placed:
    """An axis with its twist Phi and its rates: per unit of x (zeta_q, gamma_q) and of y (gamma_v)."""

    axis: Axis
    phi: Spatial
    zeta_q: Spatial
    gamma_q: Spatial
    gamma_v: Spatial


@dataclass(frozen=True)
class _State:
    """A link in motion, in the axes of its tree's first link."""

    pose: Pose
    V: Spatial
    A: Spatial
    axes: tuple[_Placed, ...]


def tree_slopes(
    tree: LinkTree, v: SX, a: SX, gravity: SX, sets: tuple[Directions, ...], parent_held: tuple[int, ...]
) -> tuple[SX, ...]:
    """Changes (nv, d) of the Newton-Euler forces along every direction of each set, at tree velocities v and a.

    parent_held: first velocities of the balls whose speeds are held in the parent's axes (`held_speeds`).
    """
    states, bodies = _moved(tree, v, a, gravity, parent_held)
    return tuple(_forces(tree, states, bodies, directions, v.shape[0]) for directions in sets)


def tree_forces(tree: LinkTree, v: SX, a: SX, gravity: SX, parent_held: tuple[int, ...]) -> dict[int, SX]:
    """The Newton-Euler forces themselves, {velocity: force}, from the wrenches that the slopes need anyway."""
    states, bodies = _moved(tree, v, a, gravity, parent_held)
    return {
        placed.axis.index: placed.phi.power(body.f)
        for state, body in zip(states, bodies, strict=True)
        for placed in state.axes
    }


def _moved(
    tree: LinkTree, v: SX, a: SX, gravity: SX, parent_held: tuple[int, ...]
) -> tuple[list[_State], list[_Carried]]:
    """Every link's state, and the composite of everything from it outward."""
    states = _states(tree, v, a, gravity, parent_held)
    bodies = [_body(link, state) for link, state in zip(tree.links, states, strict=True)]
    for i in reversed(range(len(bodies))):
        parent = tree.links[i].parent
        if parent >= 0:
            bodies[parent] = bodies[parent] + bodies[i]
    return states, bodies


def _forces(tree: LinkTree, states: list[_State], bodies: list[_Carried], directions: Directions, nv: int) -> SX:
    d = directions.x.shape[1]
    rows = {axis.index: directions.of(axis.index) for link in tree.links for axis in link.axes}
    felt: list[dict[int, _Change]] = []  # of each link, its ancestors' part included
    for link, state in zip(tree.links, states, strict=True):
        inherited = dict(felt[link.parent]) if link.parent >= 0 else {}
        for placed in state.axes:
            for k, entries in rows[placed.axis.index].items():
                own = _change(placed, entries)
                inherited[k] = inherited[k] + own if k in inherited else own
        felt.append(inherited)
    result = cs.SX(nv, d)
    beyond: list[dict[int, Spatial]] = [{} for _ in tree.links]  # wrenches of sources strictly beyond each link
    for i in reversed(range(len(tree.links))):
        link, state, body = tree.links[i], states[i], bodies[i]
        turned = _turned(state, body.f, rows) if link.axes_in_parent else {}
        for placed in state.axes:
            momentum = Spatial(*body.inertia.momentum(placed.phi.angular, placed.phi.linear))
            coriolis = cs.mtimes(body.Y.T, placed.phi.angular) + cs.cross(body.P, placed.phi.linear)
            for k in sorted(set(felt[i]) | set(beyond[i])):
                value = placed.phi.power(beyond[i][k]) if k in beyond[i] else cs.SX(0)
                if k in felt[i]:
                    value += momentum.power(felt[i][k].gamma) + cs.dot(coriolis, felt[i][k].zeta)
                if k in turned:
                    value += placed.phi.power(turned[k])
                result[placed.axis.index, k] = value
        if link.parent >= 0:
            target = beyond[link.parent]
            for k, wrench in _sent_inward(state, body, rows, beyond[i]).items():
                target[k] = target[k] + wrench if k in target else wrench
    return result


def _sent_inward(
    state: _State, body: _Carried, rows: Mapping[int, Any], beyond: Mapping[int, Spatial]
) -> dict[int, Spatial]:
    """Wrenches, by direction, of all sources from this link outward."""
    sent = dict(beyond)
    for placed in state.axes:
        phi, zero = placed.phi, cs.SX(cs.DM.zeros(3, 1).full())
        units = (
            body.wrench(_Change(placed.gamma_q, placed.zeta_q.angular)) + _cross_force(phi, body.f),
            body.wrench(_Change(placed.gamma_v, phi.angular)),
            body.wrench(_Change(phi, zero)),
        )
        for k, entries in rows[placed.axis.index].items():
            for unit, entry in zip(units, entries, strict=True):
                if entry is not None:
                    part = _scaled(unit, entry)
                    sent[k] = sent[k] + part if k in sent else part
    return sent


def _turned(state: _State, f: Spatial, rows: Mapping[int, Any]) -> dict[int, Spatial]:
    """(Phi x) x* f by direction: what axes that stay in the parent see of their own link's turn."""
    found: dict[int, Spatial] = {}
    for placed in state.axes:
        unit = _cross_force(placed.phi, f)
        for k, (entry, _, _) in rows[placed.axis.index].items():
            if entry is not None:
                part = _scaled(unit, entry)
                found[k] = found[k] + part if k in found else part
    return found


def _change(placed: _Placed, entries: tuple[SX | None, SX | None, SX | None]) -> _Change:
    gamma, zeta = Spatial.zero(), Spatial.zero().angular
    x, y, z = entries
    if x is not None:
        gamma, zeta = gamma + _scaled(placed.gamma_q, x), zeta + placed.zeta_q.angular * x
    if y is not None:
        gamma, zeta = gamma + _scaled(placed.gamma_v, y), zeta + placed.phi.angular * y
    if z is not None:
        gamma = gamma + _scaled(placed.phi, z)
    return _Change(gamma, zeta)


def _states(tree: LinkTree, v: SX, a: SX, gravity: SX, parent_held: tuple[int, ...]) -> list[_State]:
    ground = Spatial(Spatial.zero().angular, -gravity)
    states: list[_State] = []
    for link in tree.links:
        outer = link.parent < 0
        if outer:
            pose, V_p, A_p = Pose.identity(), Spatial.zero(), motion_inward(link.pose, ground)
        else:
            above = states[link.parent]
            pose, V_p, A_p = above.pose @ link.pose, above.V, above.A
        twists = [_moved_twist(pose, axis) for axis in link.axes]
        relative, pushed = Spatial.zero(), Spatial.zero()
        for axis, phi in zip(link.axes, twists, strict=True):
            relative, pushed = relative + _scaled(phi, v[axis.index]), pushed + _scaled(phi, a[axis.index])
        V = V_p + relative
        A = A_p + pushed + _cross_motion(V_p, relative)
        steady = link.axes[0].index in parent_held
        held_V, held_A = (V, A) if link.axes_in_parent or steady else (V_p, A_p)
        axes = []
        for axis, phi in zip(link.axes, twists, strict=True):
            zeta_q = _cross_motion(held_V, phi)
            gamma_q = _cross_motion(held_A, phi) + _cross_motion(held_V, zeta_q)
            between = Spatial(2 * zeta_q.angular, 2 * zeta_q.linear) if steady else _cross_motion(V + V_p, phi)
            axes.append(_Placed(axis, phi, zeta_q, gamma_q, between))
        states.append(_State(pose, V, A, tuple(axes)))
    return states


def _body(link: Link, state: _State) -> _Carried:
    """One link's own inertia, Coriolis terms (doubled) and inertial wrench."""
    inertia, V = link.inertia.moved(state.pose), state.V
    if link.inertia.is_zero:
        zero = Spatial.zero()
        return _Carried(Inertia.zero(), zero.linear, cs.SX(cs.DM.zeros(3, 3).full()), zero)
    angular, P = inertia.momentum(V.angular, V.linear)
    rate = Spatial(*inertia.momentum(state.A.angular, state.A.linear))
    outer = cs.mtimes(V.linear, inertia.h.T) + cs.mtimes(skew(V.angular), inertia.J)  # sum m V(r) r^T
    Y = cs.dot(V.linear, inertia.h) * cs.SX(cs.DM.eye(3).full()) - outer
    return _Carried(inertia, 2 * P, 2 * Y, rate + _cross_force(V, Spatial(angular, P)))


def _moved_twist(pose: Pose, axis: Axis) -> Spatial:
    omega = cs.mtimes(pose.R, axis.omega)
    return Spatial(omega, cs.mtimes(pose.R, axis.linear) + cs.cross(pose.p, omega))


def _cross_motion(V: Spatial, W: Spatial) -> Spatial:
    return Spatial(cs.cross(V.angular, W.angular), cs.cross(V.angular, W.linear) + cs.cross(V.linear, W.angular))


def _cross_force(V: Spatial, f: Spatial) -> Spatial:
    return Spatial(cs.cross(V.angular, f.angular) + cs.cross(V.linear, f.linear), cs.cross(V.angular, f.linear))


def _scaled(pair: Spatial, factor: SX) -> Spatial:
    return Spatial(pair.angular * factor, pair.linear * factor)


def _row(matrix: SX, index: int) -> dict[int, SX]:
    pattern = matrix[index, :].sparsity()
    return {int(k): matrix[index, int(k)] for k in pattern.get_triplet()[1]}
