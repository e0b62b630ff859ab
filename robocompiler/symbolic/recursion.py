"""The recursive algorithms on the link tree: twists, Newton-Euler, and the reduced mass matrix by composite inertias.

Everything is in link axes about link origins (the world's links have number -1).  For link i with parent p, pose (R, r)
in p and axes s:

    V_i = X V_p + s v        A_i = X A_p + s a + V_i x (s v)        f_i = I_i A_i + V_i x* I_i V_i
    f_p += X^T f_i           tau_s = s . f_i                        X V = (R^T omega; R^T (v + omega x r))
"""

from __future__ import annotations

from dataclasses import dataclass
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


def wrench_outward(pose: Pose, f: Spatial) -> Spatial:
    """A wrench of the link seen in its parent: X^T f."""
    force = cs.mtimes(pose.R, f.linear)
    return Spatial(cs.mtimes(pose.R, f.angular) + cs.cross(pose.p, force), force)


def _joint_rate(link: Link, rates: SX) -> Spatial:
    total = Spatial.zero()
    for axis in link.axes:
        total = total + Spatial(axis.omega * rates[axis.index], axis.linear * rates[axis.index])
    return total


def newton_euler(tree: LinkTree, v: SX, a: SX, gravity: SX) -> dict[int, SX]:
    """Generalised forces {velocity index: tau} for tree velocities v and accelerations a (nv,), gravity included."""
    twists: list[Spatial] = []
    accelerations: list[Spatial] = []
    wrenches: list[Spatial] = []
    ground = Spatial(Spatial.zero().angular, -gravity)
    for link in tree.links:
        outer = link.parent < 0
        relative = _joint_rate(link, v)
        V = relative if outer else motion_inward(link.pose, twists[link.parent]) + relative
        A = motion_inward(link.pose, ground if outer else accelerations[link.parent]) + _joint_rate(link, a)
        if not outer:
            A = A + Spatial(
                cs.cross(V.angular, relative.angular),
                cs.cross(V.angular, relative.linear) + cs.cross(V.linear, relative.angular),
            )
        twists.append(V)
        accelerations.append(A)
        wrenches.append(_inertial_wrench(link.inertia, V, A))
    tau: dict[int, SX] = {}
    for i in reversed(range(len(tree.links))):
        link, f = tree.links[i], wrenches[i]
        for axis in link.axes:
            tau[axis.index] = f.power(Spatial(axis.omega, axis.linear))
        if link.parent >= 0:
            wrenches[link.parent] = wrenches[link.parent] + wrench_outward(link.pose, f)
    return tau


def _inertial_wrench(inertia: Inertia, V: Spatial, A: Spatial) -> Spatial:
    """I A + V x* I V."""
    if inertia.m.is_zero() and inertia.I.is_zero():
        return Spatial.zero()
    angular, linear = inertia.momentum(V.angular, V.linear)
    rate_angular, rate_linear = inertia.momentum(A.angular, A.linear)
    return Spatial(
        rate_angular + cs.cross(V.angular, angular) + cs.cross(V.linear, linear),
        rate_linear + cs.cross(V.angular, linear),
    )


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
            composite[link.parent] = composite[link.parent] + composite[i].moved(link.pose)
    return composite


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
                moved = wrench_outward(link.pose, wrench)
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
