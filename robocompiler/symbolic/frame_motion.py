"""Velocities and classical accelerations of every frame in world axes, from the world twists of the tree's motions."""

from __future__ import annotations

from typing import Any

import casadi as cs

from robocompiler.symbolic.curvature import Drift
from robocompiler.symbolic.joints import Motion
from robocompiler.symbolic.kinematics import TreeKinematics

SX = Any


def frame_accelerations(kinematics: TreeKinematics, v: SX, a: SX) -> SX:
    """(omegadot; acceleration of the origin) of every frame, 6 numbers each, at velocities v and accelerations a (nv,).

    Twists are taken at the world's origin: V = sum s v, Vdot = sum (s a + ad(V_inner) s v), outward along each frame's
    movers; frames that share a prefix of movers share its sums.
    """
    motions = {motion.index: motion for motion in kinematics.motions}
    known: dict[tuple[int, ...], Drift] = {(): _rest()}

    def state(movers: tuple[int, ...]) -> Drift:
        if movers not in known:
            factor = motions[movers[-1]].factor
            inner = movers
            while inner and motions[inner[-1]].factor == factor:
                inner = inner[:-1]
            group = [motions[index] for index in movers[len(inner) :]]
            known[movers] = _outward(state(inner), group, v, a)
        return known[movers]

    values = []
    for frame in kinematics.frames:
        drift = state(frame.movers)
        values += [drift.omega_dot, drift.point_acceleration(frame.pose.p)]
    return cs.vertcat(cs.SX(0, 1), *values)


def _rest() -> Drift:
    zero = cs.SX(cs.DM.zeros(3, 1).full())
    return Drift(zero, zero, zero, zero)


def _outward(inner: Drift, group: list[Motion], v: SX, a: SX) -> Drift:
    zero = cs.SX(cs.DM.zeros(3, 1).full())
    spin, slide, spin_rate, slide_rate = zero, zero, zero, zero
    for motion in group:
        twist = motion.twist()
        spin, slide = spin + twist[0:3] * v[motion.index], slide + twist[3:6] * v[motion.index]
        spin_rate, slide_rate = spin_rate + twist[0:3] * a[motion.index], slide_rate + twist[3:6] * a[motion.index]
    return Drift(
        inner.omega + spin,
        inner.v + slide,
        inner.omega_dot + spin_rate + cs.cross(inner.omega, spin),
        inner.v_dot + slide_rate + cs.cross(inner.omega, slide) + cs.cross(inner.v, spin),
    )
