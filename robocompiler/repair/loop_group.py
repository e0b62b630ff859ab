"""Joints whose loops share a normal or a centre, and how their bodies are reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import networkx as nx

from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, Joint

NEAR = 1e-3  # rad, or length scales: closer records count as meant to agree, five times what is ever repaired


@dataclass(frozen=True)
class LoopGroup:
    """Loops that hang together and share one normal (planar) or one centre (spherical).

    Attributes:
        root: the body whose axes the normal or centre is given in: the world where it belongs to the group.
        tree: joints that span the group's bodies, in an order that reaches each from the root.
        closing: the joints left over but balls, each of which closes one loop.
        balls: spherical joints that close a loop each.
    """

    root: str
    tree: tuple[str, ...]
    closing: tuple[str, ...]
    balls: tuple[str, ...]

    @property
    def joints(self) -> tuple[str, ...]:
        """All joints of the group."""
        return (*self.tree, *self.closing, *self.balls)


def loop_group(joints: Mapping[str, Joint], names: Iterable[str], cut: set[str]) -> LoopGroup:
    """The group of the joints `names`, with a spanning tree that prefers joints outside `cut` (the chords)."""
    names = sorted(names)
    balls = tuple(name for name in names if joints[name].type is JointType.SPHERICAL)
    carriers = sorted((name for name in names if name not in balls), key=lambda name: (name in cut, name))
    bodies = {side.body for name in carriers for side in (joints[name].a, joints[name].b)}
    root = WORLD if WORLD in bodies else min(bodies)
    links: nx.Graph[str] = nx.Graph()
    links.add_nodes_from(sorted(bodies))
    closing = []
    for name in carriers:
        a, b = joints[name].a.body, joints[name].b.body
        if nx.has_path(links, a, b):
            closing.append(name)
        else:
            links.add_edge(a, b, joint=name)
    tree = tuple(links.edges[edge]["joint"] for edge in nx.bfs_edges(links, root))
    return LoopGroup(root, tree, tuple(closing), balls)
