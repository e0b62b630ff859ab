"""The choice of the spanning forest: preferences, exchanges, roots."""

from __future__ import annotations

import time
from itertools import combinations

import networkx as nx
import pytest
from builders import damped, fourbar, joint, mechanism, mechanisms, port, robot
from hypothesis import given, settings

from robocompiler.graph.build import derive_topology
from robocompiler.graph.complexity import complexity
from robocompiler.graph.forest import spanning_forest
from robocompiler.graph.multigraph import joint_multigraph
from robocompiler.graph.preference import preferences
from robocompiler.graph.roots import hang_on_world
from robocompiler.records.expressions import Constant, Symbol
from robocompiler.records.model import WORLD, Coupling, Mechanism, Parameter


def cut(model: Mechanism) -> list[str]:
    return [chord.joint for chord in derive_topology(model).chords]


def trees(model: Mechanism) -> list[frozenset[str]]:
    """Every spanning tree, by brute force."""
    graph = joint_multigraph(model)
    joints = [item.name for item in model.joints]
    ends = {item.name: (item.a.body, item.b.body) for item in model.joints}
    found = []
    for choice in combinations(joints, len(graph) - 1):
        candidate = nx.MultiGraph()
        candidate.add_nodes_from(graph)
        candidate.add_edges_from(ends[name] for name in choice)
        if nx.is_connected(candidate):
            found.append(frozenset(choice))
    return found


def merit(model: Mechanism, tree: frozenset[str]) -> tuple[list[tuple[int, int]], int, int]:
    """Preferences of the tree's joints, total path length and total depth, written independently of the search."""
    wide = {item.name: int(item.type.value != "fixed") for item in model.joints}
    graph = nx.Graph()
    graph.add_node(WORLD)
    for item in model.joints:
        if item.name in tree:
            graph.add_edge(item.a.body, item.b.body, weight=wide[item.name])
    paths = sum(
        nx.shortest_path_length(graph, item.a.body, item.b.body, weight="weight")
        for item in model.joints
        if item.name not in tree
    )
    key = preferences(model)
    depth = sum(nx.single_source_dijkstra_path_length(graph, WORLD).values())
    return sorted(key[name] for name in tree), paths, depth


def test_joint_with_most_freedoms_is_cut() -> None:
    assert cut(fourbar("spherical")) == ["j_tip"]
    assert cut(fourbar("universal")) == ["j_tip"]


def test_free_joint_between_bodies_is_cut_before_a_spherical_one() -> None:
    model = mechanism(
        joint("a", "revolute", WORLD, "p"), joint("b", "spherical", WORLD, "q"), joint("z", "free", "p", "q")
    )
    assert cut(model) == ["z"]


@pytest.mark.parametrize(
    "fields",
    [
        {"ports": (port("motor", "j_tip:first"),)},
        {"couplings": (Coupling("c", Symbol("j_tip:first"), ("j_tip:first",)),)},
    ],
)
def test_ported_or_coupled_joint_stays_although_it_has_more_freedoms(fields: dict[str, object]) -> None:
    model = mechanism(
        joint("j_crank", "revolute", WORLD, "crank"),
        joint("j_coupler", "revolute", "crank", "coupler"),
        joint("j_tip", "universal", "coupler", "rocker"),
        joint("j_rocker", "revolute", WORLD, "rocker"),
        **fields,
    )
    assert cut(model) != ["j_tip"]


@pytest.mark.parametrize("field", ["armature", "damping", "friction"])
@pytest.mark.parametrize(
    ("value", "needed"), [(0.0, False), (0.2, True), (Constant(0.0), False), (Constant(1.0), True), (Symbol("k"), True)]
)
def test_drive_records_keep_a_joint_and_zeros_do_not(field: str, value: object, needed: bool) -> None:
    loop = [joint("a", "revolute", WORLD, "p"), joint("b", "revolute", WORLD, "p")]
    odd = joint("c", "spherical", WORLD, "p", **{field: (0.0, 0.0, value)})
    model = mechanism(*loop, odd, parameters=(Parameter("k", 0.0),))
    assert ("c" not in cut(model)) == needed


def test_screw_is_kept_as_chord_or_stays() -> None:
    assert cut(mechanism(joint("a", "revolute", WORLD, "p"), joint("z", "screw", WORLD, "p"))) == ["a"]
    topology = derive_topology(mechanism(joint("a", "screw", WORLD, "p"), joint("z", "screw", WORLD, "p")))
    assert [(chord.joint, chord.kept) for chord in topology.chords] == [("z", True)]


def test_fixed_joints_and_free_roots_stay() -> None:
    model = mechanism(
        joint("f", "free", WORLD, "p"), joint("w", "fixed", "p", "q"), damped("r", "revolute", WORLD, "q")
    )
    assert cut(model) == ["r"]


def test_kept_flags_follow_the_records() -> None:
    model = mechanism(
        damped("a", "revolute", WORLD, "p"),
        damped("b", "revolute", WORLD, "p"),
        joint("c", "revolute", WORLD, "p"),
        joint("d", "fixed", WORLD, "p"),
        joint("e", "free", WORLD, "p"),
    )
    kept = {chord.joint: chord.kept for chord in derive_topology(model).chords}
    assert kept == {"a": True, "b": True, "c": False, "d": False}


def test_paths_count_moving_joints_only() -> None:
    # The loop has two fixed joints: the path has two moving ones, and every body is one moving joint from the world.
    model = mechanism(
        joint("a", "revolute", WORLD, "p"),
        joint("w1", "fixed", "p", "p1"),
        joint("w2", "fixed", "p1", "p2"),
        joint("b", "revolute", "p2", "m"),
        joint("c", "revolute", WORLD, "m"),
    )
    figures = complexity(derive_topology(model))
    assert (figures.path_max, figures.local_factors, figures.depth) == (2, 2, 1)


def test_six_legged_platform_hangs_on_one_leg() -> None:
    topology = derive_topology(robot("stewart"))
    assert [chord.joint for chord in topology.chords] == [f"leg_{k}_ball" for k in range(1, 6)]


@settings(max_examples=150, deadline=None)
@given(mechanisms(max_bodies=5, max_joints=8))
def test_preferences_are_met_exactly_and_no_exchange_helps(model: Mechanism) -> None:
    hung, _ = hang_on_world(model)
    chosen = spanning_forest(hung)
    ours = merit(hung, chosen)
    everything = trees(hung)
    assert chosen in everything
    best = min(merit(hung, tree) for tree in everything)
    assert ours[0] == best[0]
    neighbours = [tree for tree in everything if len(tree - chosen) == 1]
    assert all(ours <= merit(hung, tree) for tree in neighbours)


def test_short_paths_beat_the_name_order() -> None:
    # A ladder of equal hinges: cutting by name alone would leave one long path around the outside.
    rails = [joint(f"z{k}", "revolute", WORLD if k == 0 else f"l{k - 1}", f"l{k}") for k in range(6)]
    rails += [joint(f"y{k}", "revolute", WORLD if k == 0 else f"r{k - 1}", f"r{k}") for k in range(6)]
    rungs = [joint(f"x{k}", "revolute", f"l{k}", f"r{k}") for k in range(6)]
    model = mechanism(*rails, *rungs)
    assert complexity(derive_topology(model)).local_factors == 2 + 5 * 3


@pytest.mark.parametrize(
    ("name", "kinds", "tree_velocities"),
    [
        ("stewart", {"spherical": 5}, 21),
        ("excavator", {"revolute": 9}, 23),
        ("kangaroo_full", {"spherical": 16, "universal": 8}, 82),
        ("kangaroo_published", {"spherical": 28}, 78),
    ],
)
def test_published_robots(name: str, kinds: dict[str, int], tree_velocities: int) -> None:
    model = robot(name)
    start = time.perf_counter()
    topology = derive_topology(model)
    assert time.perf_counter() - start < 0.5
    found = [topology.kind(chord.joint).value for chord in topology.chords]
    assert {kind: found.count(kind) for kind in found} == kinds
    assert topology.tree_nv == tree_velocities
    assert not any(chord.kept for chord in topology.chords)
    ported = {item.measure.terms[0][0] for item in model.ports}
    assert ported <= {edge.joint for edge in topology.edges}
