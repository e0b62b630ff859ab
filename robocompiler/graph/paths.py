"""The hung tree: edges in depth-first order, and every chord's two branches below its common ancestor."""

from __future__ import annotations

from collections.abc import Mapping, Set

from robocompiler.graph.preference import needed_joints
from robocompiler.graph.topology import Chord, TreeEdge
from robocompiler.records.model import WORLD, Joint, Mechanism


def depth_first_edges(mechanism: Mechanism, forest: Set[str]) -> tuple[TreeEdge, ...]:
    """The joints named by `forest` as edges below the world, in depth-first order, children in name order."""
    below: dict[str, list[TreeEdge]] = {}
    for joint in mechanism.joints:
        if joint.name in forest:
            a, b = joint.a.body, joint.b.body
            below.setdefault(a, []).append(TreeEdge(joint.name, a, b, True))
            below.setdefault(b, []).append(TreeEdge(joint.name, b, a, False))
    edges: list[TreeEdge] = []
    stack = sorted(below.get(WORLD, []), key=lambda edge: edge.child, reverse=True)
    while stack:
        edge = stack.pop()
        edges.append(edge)
        children = (link for link in below[edge.child] if link.joint != edge.joint)
        stack += sorted(children, key=lambda link: link.child, reverse=True)
    return tuple(edges)


def chords(mechanism: Mechanism, edges: tuple[TreeEdge, ...]) -> tuple[Chord, ...]:
    """All joints that are not among `edges`, in name order, with their paths through the tree."""
    above = {edge.child: edge for edge in edges}
    inside = {edge.joint for edge in edges}
    needed = needed_joints(mechanism)
    outside = sorted((joint for joint in mechanism.joints if joint.name not in inside), key=lambda joint: joint.name)
    return tuple(_chord(joint, above, joint.name in needed) for joint in outside)


def _chord(joint: Joint, above: Mapping[str, TreeEdge], kept: bool) -> Chord:
    line_a, line_b = _line(joint.a.body, above), _line(joint.b.body, above)
    common = 0
    while common < min(len(line_a), len(line_b)) and line_a[common] == line_b[common]:
        common += 1
    ancestor = line_a[common - 1].child if common else WORLD
    branch_a, branch_b = (tuple(edge.joint for edge in line[common:]) for line in (line_a, line_b))
    return Chord(joint.name, ancestor, branch_a, branch_b, kept)


def _line(body: str, above: Mapping[str, TreeEdge]) -> list[TreeEdge]:
    """The edges from the world down to `body`."""
    line = []
    while body != WORLD:
        line.append(above[body])
        body = above[body].parent
    return line[::-1]
