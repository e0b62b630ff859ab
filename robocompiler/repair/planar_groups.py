"""Which joints make planar loops, found from directions on bodies alone and not from a pose.

A direction n is carried along by a hinge about n, a slide, a rigid joint and a planar joint with normal n: in whatever
configuration, the relative rotation of their two bodies keeps n.  A loop of such carriers, closed by one of them or by
one ball, moves in the plane across n; its tilts and its offset along n are redundant rows.  The test is on the records
of one body at a time (two axes fixed on it are parallel, or a slide is across them), so that an accidental alignment in
some pose decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Joint, Placement
from robocompiler.repair.loop_group import NEAR, LoopGroup, loop_group

Array = NDArray[np.float64]

HINGES = frozenset((JointType.REVOLUTE, JointType.CONTINUOUS, JointType.CYLINDRICAL, JointType.PLANAR))
RIGID = frozenset((JointType.FIXED, JointType.PRISMATIC))  # keep the relative rotation of their bodies


@dataclass(frozen=True)
class _Turning:
    """Relative rotations that never change: the rigid cluster of each body and its rotation in that cluster's axes."""

    cluster: dict[str, int]
    rotation: dict[str, Array]

    def direction(self, placement: Placement, axis: Iterable[float]) -> Array:
        """A direction of a joint frame in the axes of the cluster of its body."""
        return np.asarray(self.rotation[placement.body] @ np.array(placement.rotation) @ np.array(list(axis)))


def planar_groups(topology: Topology) -> tuple[LoopGroup, ...]:
    """The planar groups of a mechanism, sorted by their first joints; rounded ones (to NEAR) included."""
    joints = {joint.name: joint for joint in topology.mechanism.joints if not (joint.a.turn or joint.b.turn)}
    turning = _turning(joints.values())
    cut = {chord.joint for chord in topology.chords}
    found = []
    for family in _parallel_families(joints, turning):
        for names in _loops(joints, turning, family):
            found.append(loop_group(joints, names, cut))
    return tuple(sorted(found, key=lambda group: group.joints))


def _turning(joints: Iterable[Joint]) -> _Turning:
    joints = sorted(joints, key=lambda joint: joint.name)
    graph: nx.Graph[str] = nx.Graph()
    for joint in joints:
        graph.add_nodes_from((joint.a.body, joint.b.body))
        if joint.type in RIGID:
            graph.add_edge(joint.a.body, joint.b.body, joint=joint)
    cluster: dict[str, int] = {}
    rotation: dict[str, Array] = {}
    for number, bodies in enumerate(sorted(sorted(part) for part in nx.connected_components(graph))):
        rotation[bodies[0]] = np.eye(3)
        for near, far in nx.bfs_edges(graph, bodies[0]):
            joint = graph.edges[near, far]["joint"]
            step = np.array(joint.a.rotation) @ np.array(joint.b.rotation).T
            rotation[far] = rotation[near] @ (step if joint.a.body == near else step.T)
        cluster |= dict.fromkeys(bodies, number)
    return _Turning(cluster, rotation)


def _parallel_families(joints: dict[str, Joint], turning: _Turning) -> list[dict[int, Array]]:
    """Hinges joined by being parallel on a common body: for each family, its direction on every cluster it touches."""
    at_cluster: dict[int, list[tuple[str, Array]]] = {}
    graph: nx.Graph[str] = nx.Graph()
    for name in sorted(joints):
        joint = joints[name]
        if joint.type in HINGES:
            graph.add_node(name)
            for side in (joint.a, joint.b):
                here = at_cluster.setdefault(turning.cluster[side.body], [])
                here.append((name, turning.direction(side, joint.axis)))
    for axes in at_cluster.values():
        for (first, n), (second, m) in combinations(axes, 2):
            if np.linalg.norm(np.cross(n, m)) < NEAR:
                graph.add_edge(first, second)
    families = []
    for part in sorted(sorted(part) for part in nx.connected_components(graph)):
        directions: dict[int, Array] = {}
        for cluster, axes in sorted(at_cluster.items()):
            own = [axis for name, axis in axes if name in part]
            if own:
                directions[cluster] = own[0]
        families.append(directions)
    return families


def _loops(joints: dict[str, Joint], turning: _Turning, family: dict[int, Array]) -> list[list[str]]:
    """The joints of a family that lie on loops, in sets that hang together by more than one body."""
    carriers = [name for name, joint in sorted(joints.items()) if _carries(joint, turning, family)]
    graph: nx.Graph[tuple[str, str]] = nx.Graph()
    for name in carriers:
        graph.add_edges_from((("body", side.body), ("joint", name)) for side in (joints[name].a, joints[name].b))
    together = {node: k for k, part in enumerate(nx.connected_components(graph)) for node in part}
    for name, joint in sorted(joints.items()):
        ends = [("body", joint.a.body), ("body", joint.b.body)]
        in_reach = joint.type is JointType.SPHERICAL and all(end in together for end in ends)
        if in_reach and together[ends[0]] == together[ends[1]]:
            graph.add_edges_from((end, ("joint", name)) for end in ends)
    loops = []
    for part in nx.biconnected_components(graph):
        names = sorted(name for kind, name in part if kind == "joint")
        if len(names) > 1 and any(joints[name].type in HINGES for name in names):  # one joint alone is a bridge
            loops.append(names)
    return loops


def _carries(joint: Joint, turning: _Turning, family: dict[int, Array]) -> bool:
    n = family.get(turning.cluster[joint.a.body])
    m = family.get(turning.cluster[joint.b.body])
    if n is None or m is None:
        return False
    if joint.type in HINGES:
        sides = ((joint.a, n), (joint.b, m))
        return all(np.linalg.norm(np.cross(turning.direction(side, joint.axis), k)) < 10 * NEAR for side, k in sides)
    if joint.type is JointType.PRISMATIC:
        return bool(abs(turning.direction(joint.a, joint.axis) @ n) < NEAR)
    return joint.type is JointType.FIXED
