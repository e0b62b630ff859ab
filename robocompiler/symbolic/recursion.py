"""The recursive algorithms on the link tree: Newton-Euler, energies, and the reduced mass matrix by composite inertias.

Everything is in link axes about link origins (the world's links have number -1).  For link i with parent p, whose
origin stands at r in p's axes, relative twist (w; s), angular velocity omega, angular acceleration alpha and classical
acceleration a of the origin (upward by g for the ground, which is gravity):

    omega = R^T omega_p + w             alpha = R^T alpha_p + (R^T omega_p) x w + wdot
    a = R^T (a_p + U_p r) + 2 (R^T omega_p) x s + w x s + sdot          U = [alpha]x + [omega]x [omega]x
    force = m a + U h                   moment = h x a + sum m r x U r = h x a + vee(U J - (U J)^T)

Velocities of points never appear (Luh, Walker and Paul 1980, with second moments J for the tensor of inertia).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as cs

from robocompiler.symbolic.inertia import Inertia
from robocompiler.symbolic.links import Link, LinkTree
from robocompiler.symbolic.spatial import Pose

SX = Any


@dataclass(frozen=True)
class Spatial:
    """A pair of 3-vectors: a twist or acceleration (angular; linear), or a wrench (moment; force)."""

    angular: SX
    linear: SX

    @staticmethod
    def zero() -> Spatial:
        """Zero."""
        return Spatial(cs.SX(cs.DM.zeros(3, 1).full()), cs.SX(cs.DM.zeros(3, 1).full()))

    def __add__(self, other: Spatial) -> Spatial:
        return Spatial(self.angular + other.angular, self.linear + other.linear)

    def power(self, other: Spatial) -> SX:
        """Power of a wrench on a twist (in either order)."""
        return cs.dot(self.angular, other.angular) + cs.dot(self.linear, other.linear)


def motion_inward(pose: Pose, V: Spatial) -> Spatial:
    """A twist of the parent frame seen in the link: X V."""
    return Spatial(cs.mtimes(pose.R.T, V.angular), cs.mtimes(pose.R.T, V.linear + cs.cross(V.angular, pose.p)))


def inward(link: Link, x: SX) -> SX:
    """A vector of the parent's axes in the link's: first out of the constant seat, then out of the joint's turn."""
    return cs.mtimes(link.motion.R.T, cs.mtimes(link.seat.R.T, x))


def carried_outward(link: Link, f: Spatial) -> Spatial:
    """A wrench of the link at its origin, seen in its parent's axes at the parent's origin."""
    force = cs.mtimes(link.seat.R, cs.mtimes(link.motion.R, f.linear))
    moment = cs.mtimes(link.seat.R, cs.mtimes(link.motion.R, f.angular))
    return Spatial(moment + cs.cross(link.pose.p, force), force)


def _joint_rate(link: Link, rates: SX) -> Spatial:
    total = Spatial.zero()
    for axis in link.axes:
        total = total + Spatial(axis.omega * rates[axis.index], axis.linear * rates[axis.index])
    return total


def newton_euler(tree: LinkTree, v: SX, a: SX, gravity: SX) -> dict[int, SX]:
    """Generalised forces {velocity index: tau} for tree velocities v and accelerations a (nv,), gravity included."""
    states: list[_State] = []
    wrenches: list[Spatial] = []
    for link in tree.links:
        state = _moved(link, states[link.parent] if link.parent >= 0 else None, v, a, gravity)
        states.append(state)
        wrenches.append(_inertial_wrench(link.inertia, state))
    tau: dict[int, SX] = {}
    for i in reversed(range(len(tree.links))):
        link, f = tree.links[i], wrenches[i]
        for axis in link.axes:
            tau[axis.index] = f.power(Spatial(axis.omega, axis.linear))
        if link.parent >= 0:
            wrenches[link.parent] = wrenches[link.parent] + carried_outward(link, f)
    return tau


@dataclass(frozen=True)
class _State:
    """A link in motion: omega, alpha and the acceleration of its origin, less gravity."""

    omega: SX
    alpha: SX
    origin: SX

    @cached_property
    def U(self) -> SX:
        """[alpha]x + [omega]x [omega]x: the acceleration of a point r is that of the origin plus U r."""
        x, y, z = (self.omega[k] for k in range(3))
        a, b, c = (self.alpha[k] for k in range(3))
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        return cs.vertcat(
            cs.horzcat(-(yy + zz), xy - c, xz + b),
            cs.horzcat(xy + c, -(xx + zz), yz - a),
            cs.horzcat(xz - b, yz + a, -(xx + yy)),
        )


def _moved(link: Link, parent: _State | None, v: SX, a: SX, gravity: SX) -> _State:
    speed, rate = _joint_rate(link, v), _joint_rate(link, a)
    pushed = cs.cross(speed.angular, speed.linear) + rate.linear
    if parent is None:
        return _State(speed.angular, rate.angular, inward(link, -gravity) + pushed)
    carried = inward(link, parent.omega)
    return _State(
        carried + speed.angular,
        inward(link, parent.alpha) + cs.cross(carried, speed.angular) + rate.angular,
        inward(link, parent.origin + cs.mtimes(parent.U, link.pose.p)) + 2 * cs.cross(carried, speed.linear) + pushed,
    )


def _inertial_wrench(inertia: Inertia, state: _State) -> Spatial:
    """Moment and force that the motion of a link's own matter takes, at its origin."""
    if inertia.is_zero:
        return Spatial.zero()
    m, h, a, U = inertia.m, inertia.h, state.origin, state.U
    UJ = cs.mtimes(U, inertia.J)
    turning = cs.vertcat(UJ[2, 1] - UJ[1, 2], UJ[0, 2] - UJ[2, 0], UJ[1, 0] - UJ[0, 1])
    return Spatial(cs.cross(h, a) + turning, m * a + cs.mtimes(U, h))


def kinetic_energy(tree: LinkTree, v: SX) -> SX:
    """sum V . I V / 2 (J)."""
    twists: list[Spatial] = []
    total = cs.SX(0)
    for link in tree.links:
        relative = _joint_rate(link, v)
        V = relative if link.parent < 0 else motion_inward(link.pose, twists[link.parent]) + relative
        twists.append(V)
        total += Spatial(*link.inertia.momentum(V.angular, V.linear)).power(V) / 2
    return total


def potential_energy(tree: LinkTree, gravity: SX) -> SX:
    """-sum m g . c (J), c the world position of each link's centre of mass."""
    poses: list[Pose] = []
    total = cs.SX(0)
    for link in tree.links:
        poses.append(link.pose if link.parent < 0 else poses[link.parent] @ link.pose)
        pose = poses[-1]
        total -= cs.dot(gravity, cs.mtimes(pose.R, link.inertia.h) + link.inertia.m * pose.p)
    return total


def composite_inertias(tree: LinkTree) -> list[Inertia]:
    """Inertia of everything carried by each link, in link axes."""
    composite = [link.inertia for link in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        if link.parent >= 0:
            composite[link.parent] = composite[link.parent] + _inertia_outward(link, composite[i])
    return composite


def _inertia_outward(link: Link, matter: Inertia) -> Inertia:
    """A link's matter seen in its parent's axes about the parent's origin."""
    if link.turns_about_z:
        return matter.turned_about_z(link.motion.R[0, 0], link.motion.R[1, 0]).moved(link.seat)
    return matter.moved(link.motion).moved(link.seat)


def reduced_mass(tree: LinkTree, E: SX) -> SX:
    """M_r = E^T M_T E (d, d) for the rows of E at the tree velocities; E (nv, d) sparse.

    One force column per independent speed, f_i^k = I^c_i s_i E_ik + sum of the children's.  Row i of E pairs with the
    children's columns twice (M_T is symmetric) and with its own once.
    """
    d = E.shape[1]
    composite = composite_inertias(tree)
    columns: list[dict[int, Spatial]] = [{} for _ in tree.links]
    upper: dict[tuple[int, int], SX] = {}

    def add(j: int, k: int, power: SX) -> None:
        place = (min(j, k), max(j, k))
        upper[place] = upper[place] + power if place in upper else power

    for i in reversed(range(len(tree.links))):
        link, carried = tree.links[i], columns[i]
        own = _own_columns(link, composite[i], E)
        for j, mine in own.items():
            for k, wrench in carried.items():
                power = mine.twist.power(wrench)
                add(j, k, 2 * power if j == k else power)
            for k, other in own.items():
                if j <= k:
                    add(j, k, mine.twist.power(other.wrench))
        for k, mine in own.items():
            carried[k] = carried[k] + mine.wrench if k in carried else mine.wrench
        if link.parent >= 0:
            target = columns[link.parent]
            for k, wrench in carried.items():
                moved = carried_outward(link, wrench)
                target[k] = target[k] + moved if k in target else moved
    M = cs.SX(d, d)
    for (j, k), value in upper.items():
        M[j, k] = M[k, j] = value
    return M


@dataclass(frozen=True)
class _Column:
    """A link's relative twist per unit of one independent speed, and the wrench that accelerating so takes."""

    twist: Spatial
    wrench: Spatial


def _own_columns(link: Link, composite: Inertia, E: SX) -> dict[int, _Column]:
    twists: dict[int, Spatial] = {}
    for axis in link.axes:
        for k in range(E.shape[1]):
            if E.has_nz(axis.index, k):
                part = Spatial(axis.omega * E[axis.index, k], axis.linear * E[axis.index, k])
                twists[k] = twists[k] + part if k in twists else part
    return {k: _Column(twist, Spatial(*composite.momentum(twist.angular, twist.linear))) for k, twist in twists.items()}
