"""Which joints make spherical loops: hinges whose axes meet in one point, in whatever configuration.

Two hinges that follow each other in a loop lie on one body; where their axes meet, that point is fixed on it.  If the
points that a hinge shares with its two neighbours are one point of its axis, and so all around, the loop turns about
that centre and its three position rows are redundant.  As with planar loops the test is on bodies, not on a pose.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from robocompiler.graph.topology import Topology
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Joint
from robocompiler.repair.loop_group import NEAR, LoopGroup, loop_group

Array = NDArray[np.float64]

HINGES = frozenset((JointType.REVOLUTE, JointType.CONTINUOUS))
OBLIQUE = 0.02  # sine of the smallest angle at which two axes say where they meet


def spherical_groups(topology: Topology, length: float) -> tuple[LoopGroup, ...]:
    """The spherical groups of a mechanism, rounded ones (to NEAR of the length scale) included."""
    joints = {joint.name: joint for joint in topology.mechanism.joints}
    values = topology.mechanism.defaults
    graph: nx.Graph[str] = nx.Graph()
    for chord in topology.chords:
        names = [*reversed(chord.branch_a), *chord.branch_b, chord.joint]
        if len(names) > 2 and all(joints[n].type in HINGES for n in names) and _meets(joints, names, values, length):
            graph.add_edges_from(pairwise(names))
    cut = {chord.joint for chord in topology.chords}
    return tuple(loop_group(joints, part, cut) for part in sorted(map(sorted, nx.connected_components(graph))))


def _meets(joints: Mapping[str, Joint], names: list[str], values: dict[str, float], length: float) -> bool:
    """Whether neighbours of a loop meet, each hinge with both at one point of its axis."""
    along: dict[str, list[float]] = {name: [] for name in names}
    for first, second in pairwise([*names, names[0]]):
        shared = _bodies(joints[first]) & _bodies(joints[second])
        if len(shared) != 1:
            return False
        (p, n), (r, m) = (_line(joints[name], next(iter(shared)), values) for name in (first, second))
        square = np.cross(n, m)
        if np.linalg.norm(square) < OBLIQUE:
            return False
        s, t, gap = np.linalg.solve(np.column_stack((n, -m, square / np.linalg.norm(square))), r - p)
        if abs(gap) > NEAR * length:
            return False
        along[first].append(float(s))
        along[second].append(float(t))
    return all(abs(one - two) <= NEAR * length / OBLIQUE for one, two in along.values())


def _bodies(joint: Joint) -> set[str]:
    return {joint.a.body, joint.b.body}


def _line(joint: Joint, body: str, values: dict[str, float]) -> tuple[Array, Array]:
    """Origin and direction of a hinge's axis on one of its bodies."""
    side = joint.a if joint.a.body == body else joint.b
    point = np.array([evaluate(value, values) for value in side.translation])
    return point, np.array(side.rotation) @ np.array(joint.axis)
