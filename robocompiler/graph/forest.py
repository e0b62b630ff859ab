"""The spanning forest: a minimum-weight forest by preference, then exchanges that shorten closure paths.

Kruskal's algorithm decides what each joint's own weight can say: which joints are worth keeping, and how many freedoms
a cut joint has.  Path lengths and depths depend on the whole tree; among the trees of equal preference they are lowered
by exchanging one chord with one tree joint on its cycle until no exchange helps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import networkx as nx

from robocompiler.graph.multigraph import joint_multigraph
from robocompiler.graph.preference import Preference, preferences
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, Mechanism

MAX_PASSES = 50  # every pass but the last strictly improves the tree; a handful is usual

Cost = tuple[int, int, int]


def spanning_forest(mechanism: Mechanism, cut_first: Collection[str] = ()) -> frozenset[str]:
    """Names of the joints in the forest of `mechanism`, whose bodies all hang on the world.

    The order of merit is: the preferences of `preferences`, then the sum over chords of path lengths, then the sum of
    body depths (both counted in moving joints, since fixed ones fold into constants), then joint names.  The last
    three are improved by single exchanges to a local optimum.  The result does not depend on record order.  Joints of
    `cut_first` come before all that, so that the joints outside any spanning forest, given here, yield that forest.

    Raises:
        ModelError: see `joint_multigraph`.
        ValueError: some body is not connected to the world (`hang_on_world` comes first), or an unknown joint.
    """
    graph = joint_multigraph(mechanism)
    if not nx.is_connected(graph):
        raise ValueError("every body must be connected to the world before the forest is chosen")
    preference = preferences(mechanism, cut_first)
    network = _network(mechanism, graph, preference)
    starts = (_kruskal(graph, _near_world_first(mechanism, graph, preference)), _kruskal(graph, preference))
    trees = [_improve(network, {network.index[name] for name in start}) for start in starts]
    best = min(trees, key=network.cost)
    return frozenset(network.names[edge] for edge in best)


def _kruskal(graph: nx.MultiGraph, key: dict[str, Preference] | dict[str, tuple[int, ...]]) -> set[str]:
    """The minimum forest by `key`, ties by name: ranks are distinct, so that it is unique."""
    rank = {name: place for place, name in enumerate(sorted(key, key=lambda name: (key[name], name)))}
    weighted = nx.MultiGraph()
    weighted.add_edges_from((u, v, name, {"rank": rank[name]}) for u, v, name in graph.edges(keys=True))
    edges = nx.minimum_spanning_edges(weighted, algorithm="kruskal", weight="rank", keys=True, data=False)
    return {name for _, _, name in edges}


def _near_world_first(
    mechanism: Mechanism, graph: nx.MultiGraph, preference: dict[str, Preference]
) -> dict[str, tuple[int, ...]]:
    """Preferences with ties broken by distance from the world: a breadth-first tree where all joints are alike."""
    moving = _moving(mechanism)
    distance = nx.single_source_dijkstra_path_length(
        graph, WORLD, weight=lambda _u, _v, parallel: min(moving[name] for name in parallel)
    )
    key: dict[str, tuple[int, ...]] = {}
    for u, v, name in graph.edges(keys=True):
        near, far = sorted((int(distance[u]), int(distance[v])))
        key[name] = (*preference[name], far, near)
    return key


def _moving(mechanism: Mechanism) -> dict[str, int]:
    return {joint.name: int(joint.type is not JointType.FIXED) for joint in mechanism.joints}


@dataclass(frozen=True)
class _Network:
    """The graph in integers: joints in name order, node 0 the world; `links[n]` lists (neighbour, joint) of node n."""

    names: tuple[str, ...]
    index: dict[str, int]
    ends: tuple[tuple[int, int], ...]
    moving: tuple[int, ...]
    preference: tuple[Preference, ...]
    links: tuple[tuple[tuple[int, int], ...], ...]

    def hang(self, tree: set[int]) -> tuple[list[int], list[int], list[int]]:
        """Parent, parent joint and level of every node when `tree` hangs on the world."""
        parent, joint, level = [-1] * len(self.links), [-1] * len(self.links), [0] * len(self.links)
        queue = [0]
        for node in queue:
            for other, edge in self.links[node]:
                if edge in tree and edge != joint[node]:
                    parent[other], joint[other], level[other] = node, edge, level[node] + 1
                    queue.append(other)
        return parent, joint, level

    def path(self, edge: int, hung: tuple[list[int], list[int], list[int]]) -> Iterator[int]:
        """The tree joints between the ends of joint `edge`."""
        parent, joint, level = hung
        a, b = self.ends[edge]
        while a != b:
            if level[a] < level[b]:
                a, b = b, a
            yield joint[a]
            a = parent[a]

    def cost(self, tree: set[int]) -> Cost:
        """(sum of path lengths, sum of depths, minus the sum of the chords' name ranks): smaller is better."""
        hung = self.hang(tree)
        chords = [edge for edge in range(len(self.ends)) if edge not in tree]
        paths = sum(self.moving[step] for edge in chords for step in self.path(edge, hung))
        return paths, self._depths(hung), -sum(chords)

    def _depths(self, hung: tuple[list[int], list[int], list[int]]) -> int:
        parent, joint, level = hung
        depth = [0] * len(parent)
        for node in sorted(range(1, len(parent)), key=level.__getitem__):
            depth[node] = depth[parent[node]] + self.moving[joint[node]]
        return sum(depth)


def _network(mechanism: Mechanism, graph: nx.MultiGraph, preference: dict[str, Preference]) -> _Network:
    nodes = {name: place for place, name in enumerate(graph.nodes)}
    joints = sorted(mechanism.joints, key=lambda joint: joint.name)
    ends = tuple((nodes[joint.a.body], nodes[joint.b.body]) for joint in joints)
    links: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for edge, (a, b) in enumerate(ends):
        links[a].append((b, edge))
        links[b].append((a, edge))
    names = tuple(joint.name for joint in joints)
    moving = _moving(mechanism)
    return _Network(
        names=names,
        index={name: place for place, name in enumerate(names)},
        ends=ends,
        moving=tuple(moving[name] for name in names),
        preference=tuple(preference[name] for name in names),
        links=tuple(tuple(link) for link in links),
    )


def _improve(network: _Network, tree: set[int]) -> set[int]:
    """Exchange chords with tree joints of the same preference while that strictly lowers the cost."""
    cost = network.cost(tree)
    for _ in range(MAX_PASSES):
        before = cost
        for chord in range(len(network.ends)):
            if chord in tree:
                continue
            alike = network.preference[chord]
            cycle = [e for e in network.path(chord, network.hang(tree)) if network.preference[e] == alike]
            candidates = [(network.cost(tree - {edge} | {chord}), edge) for edge in cycle]
            best, edge = min(candidates, default=(cost, -1))
            if best < cost:
                cost, tree = best, tree - {edge} | {chord}
        if cost == before:
            break
    return tree
