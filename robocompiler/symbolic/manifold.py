"""Moving a configuration: q (+) dv by each joint's Lie group, and the coordinate rates qdot = N(q) v.

Scalar coordinates add.  A ball moves by q <- q exp(w/2) with w in the axes of frame b; a free joint by the exponential
of its body twist, p <- p + R V(w) v.  Quaternions are renormalised, so that long integrations do not drift off the
sphere.
"""

from __future__ import annotations

from typing import Any

import casadi as cs

from robocompiler.graph.topology import Slot, Topology
from robocompiler.records.joint_types import JointType
from robocompiler.symbolic.spatial import quaternion_product, rotation_quaternion

SX = Any


def _sinc_terms(theta2: SX) -> tuple[SX, SX, SX, SX]:
    """cos(theta/2), sin(theta/2)/theta, (1 - cos theta)/theta^2 and (theta - sin theta)/theta^3, exact at 0."""

    def series(coefficients: list[float], t: SX) -> SX:
        total = cs.SX(0)
        for c in reversed(coefficients):
            total = total * t + c
        return total

    def alternating(first: int, terms: int = 6) -> list[float]:  # (-1)^k / (2k + first)!
        values, factorial = [], 1.0
        for i in range(2, first + 1):
            factorial *= i
        for k in range(terms):
            values.append((-1) ** k / factorial)
            factorial *= (2 * k + first + 1) * (2 * k + first + 2)
        return values

    small = theta2 < 0.02
    theta = cs.sqrt(theta2)
    half = theta / 2
    c = cs.cos(half)
    s = cs.if_else(small, series(alternating(1), theta2 / 4) / 2, cs.sin(half) / theta)
    a = cs.if_else(small, series(alternating(2), theta2), 2 * cs.sin(half) * cs.sin(half) / theta2)
    b = cs.if_else(small, series(alternating(3), theta2), (theta - cs.sin(theta)) / (theta2 * theta))
    return c, s, a, b


def _turned(quaternion: SX, w: SX, c: SX, s: SX) -> SX:
    product = quaternion_product(quaternion, cs.vertcat(c, s * w))
    return product / cs.norm_2(product)


def _moving(topology: Topology) -> list[Slot]:
    """The slots of joints that move: an empty slice of a one-element SX is a row and does not stack in a column."""
    return [slot for slot in topology.slots if slot.nv]


def integrate(topology: Topology, q: SX, dv: SX) -> SX:
    """q (+) dv as a column (nq,)."""
    parts = []
    for slot in _moving(topology):
        own, step = q[slot.q0 : slot.q0 + slot.nq], dv[slot.v0 : slot.v0 + slot.nv]
        kind = topology.kind(slot.joint)
        if kind is JointType.SPHERICAL:
            c, s, _, _ = _sinc_terms(cs.dot(step, step))
            parts.append(_turned(own, step, c, s))
        elif kind is JointType.FREE:
            w, v = step[0:3], step[3:6]
            c, s, a, b = _sinc_terms(cs.dot(w, w))
            wv = cs.cross(w, v)
            moved = v + a * wv + b * cs.cross(w, wv)  # V(w) v
            parts.append(own[0:3] + cs.mtimes(rotation_quaternion(own[3:7]), moved))
            parts.append(_turned(own[3:7], w, c, s))
        else:
            parts.append(own + step)
    return cs.vertcat(cs.SX(0, 1), *parts)


def coordinate_rates(topology: Topology, q: SX, v: SX) -> SX:
    """qdot = N(q) v as a column (nq,)."""
    parts = []
    for slot in _moving(topology):
        own, rate = q[slot.q0 : slot.q0 + slot.nq], v[slot.v0 : slot.v0 + slot.nv]
        kind = topology.kind(slot.joint)
        if kind is JointType.SPHERICAL:
            parts.append(quaternion_product(own, cs.vertcat(0, rate)) / 2)
        elif kind is JointType.FREE:
            parts.append(cs.mtimes(rotation_quaternion(own[3:7]), rate[3:6]))
            parts.append(quaternion_product(own[3:7], cs.vertcat(0, rate[0:3])) / 2)
        else:
            parts.append(rate)
    return cs.vertcat(cs.SX(0, 1), *parts)
