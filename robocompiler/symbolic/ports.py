"""Actuator ports: displacement l = f_l(q), its tree Jacobian L_T with ldot = L_T v, and the two-point distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.graph.topology import Topology, TreeEdge
from robocompiler.records.model import WORLD, CoordinateSum, Distance, Point, Port
from robocompiler.symbolic.branches import Limb, Symbols, walk
from robocompiler.symbolic.scalars import to_sx, vector_to_sx
from robocompiler.symbolic.spatial import Pose

SX = Any


@dataclass(frozen=True)
class PortProgram:
    """l (nf,) and L_T (nf, nv) sparse, over the active velocities; rows in port order."""

    displacement: SX
    tree_map: SX


def build_ports(symbols: Symbols) -> PortProgram:
    """The ports of a mechanism, in file order."""
    topology = symbols.topology
    displacement, entries = [], []
    for row, port in enumerate(topology.mechanism.ports):
        value, coefficients = _measure(symbols, port)
        displacement.append(value)
        entries += [(row, index, coefficient) for index, coefficient in coefficients.items()]
    tree_map = cs.SX(len(displacement), topology.nv)
    for row, index, coefficient in entries:
        tree_map[row, index] += coefficient
    return PortProgram(cs.vertcat(cs.SX(0, 1), *displacement), cs.sparsify(tree_map))


def _measure(symbols: Symbols, port: Port) -> tuple[SX, dict[int, SX]]:
    topology = symbols.topology
    if isinstance(port.measure, CoordinateSum):
        parameters = _parameters(symbols)
        value, coefficients = cs.SX(0), {}
        for name, weight in port.measure.terms:
            scalar = to_sx(weight, parameters)
            value += scalar * symbols.q[topology.q_names.index(name)]
            coefficients[topology.v_names.index(name)] = scalar
        return value, coefficients
    return _distance(symbols, port.measure)


def _distance(symbols: Symbols, measure: Distance) -> tuple[SX, dict[int, SX]]:
    """|p_b - p_a| with rate n . (v_b - v_a), n the unit vector from a to b; local to the path between the bodies."""
    branch_a, branch_b = _branches(symbols.topology, measure.a.body, measure.b.body)
    parameters = _parameters(symbols)

    def end(point: Point, branch: tuple[str, ...]) -> Limb:
        local = Pose(Pose.identity().R, vector_to_sx(point.position, parameters))
        return walk(symbols, Pose.identity(), branch, local)

    a, b = end(measure.a, branch_a), end(measure.b, branch_b)
    span = b.pose.p - a.pose.p
    length = cs.norm_2(span)
    n = span / length
    coefficients: dict[int, SX] = {}
    for limb, sign in ((a, -1), (b, 1)):
        for motion in limb.motions:
            rate = sign * cs.dot(n, motion.velocity_of(limb.pose.p))
            coefficients[motion.index] = coefficients.get(motion.index, cs.SX(0)) + rate
    return length, coefficients


def _branches(topology: Topology, a: str, b: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tree joints from the lowest common ancestor of two bodies down to each of them."""
    inboard = {edge.child: edge for edge in topology.edges}

    def climb(body: str) -> list[TreeEdge]:
        path = []
        while body != WORLD:
            path.append(inboard[body])
            body = inboard[body].parent
        return path[::-1]

    down_a, down_b = climb(a), climb(b)
    shared = 0
    while shared < min(len(down_a), len(down_b)) and down_a[shared].joint == down_b[shared].joint:
        shared += 1
    return tuple(e.joint for e in down_a[shared:]), tuple(e.joint for e in down_b[shared:])


def _parameters(symbols: Symbols) -> dict[str, SX]:
    return {p.name: symbols.p[i] for i, p in enumerate(symbols.topology.mechanism.parameters)}
