"""The derived topology: counts, completeness of tree plus chords, independence of record order and of names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from builders import fourbar, mechanism, mechanisms, robot
from hypothesis import given, settings
from hypothesis import strategies as st

from robocompiler.graph.build import derive_topology
from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import WORLD, Joint, Mechanism, Placement

Array = np.ndarray[Any, np.dtype[np.float64]]


def rotation(quaternion: Array) -> Array:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def about(axis: Any, angle: float) -> Array:
    return rotation(np.array([np.cos(angle / 2), *(np.sin(angle / 2) * np.asarray(axis))]))


def pose(turn: Array | None = None, shift: Any = (0.0, 0.0, 0.0)) -> Array:
    result = np.eye(4)
    result[:3, :3] = np.eye(3) if turn is None else turn
    result[:3, 3] = shift
    return result


def random_pose(rng: np.random.Generator) -> Array:
    return pose(rotation(rng.normal(size=4)), rng.normal(size=3))


def motion(record: Joint, q: Array) -> Array:
    """Q(q) of a joint with its axis along z, and its second axis along y."""
    n, m = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    match record.type:
        case JointType.FIXED:
            return pose()
        case JointType.REVOLUTE | JointType.CONTINUOUS:
            return pose(about(n, q[0]))
        case JointType.PRISMATIC:
            return pose(shift=n * q[0])
        case JointType.SCREW:
            return pose(about(n, q[0]), n * float(record.pitch) * q[0])  # type: ignore[arg-type]
        case JointType.CYLINDRICAL:
            return pose(about(n, q[0]), n * q[1])
        case JointType.UNIVERSAL:
            return pose(about(n, q[0]) @ about(m, q[1]))
        case JointType.SPHERICAL:
            return pose(rotation(q))
        case JointType.PLANAR:
            return pose(about(n, q[2]), (q[0], q[1], 0.0))
        case JointType.FREE:
            return pose(rotation(q[3:]), q[:3])


def place(body: str, transform: Array) -> Placement:
    rows = tuple(tuple(float(x) for x in row) for row in transform[:3, :3])
    return Placement(body, rows, tuple(float(x) for x in transform[:3, 3]))  # type: ignore[arg-type]


def matrix(placement: Placement) -> Array:
    return pose(np.array(placement.rotation), placement.translation)


def transform(record: Joint, q: Array) -> Array:
    return matrix(record.a) @ motion(record, q) @ np.linalg.inv(matrix(record.b))


def branch(topology: Topology, names: tuple[str, ...], X: dict[str, Array]) -> Array:
    """The transform from a chord's ancestor down one of its branches."""
    edges = {edge.joint: edge for edge in topology.edges}
    product = np.eye(4)
    for name in names:
        product = product @ (X[name] if edges[name].forward else np.linalg.inv(X[name]))
    return product


def paths_by_chord(topology: Topology, X: dict[str, Array]) -> dict[str, Array]:
    """T_e of every chord from its two branches."""
    return {
        chord.joint: np.linalg.inv(branch(topology, chord.branch_a, X)) @ branch(topology, chord.branch_b, X)
        for chord in topology.chords
    }


@settings(max_examples=200, deadline=None)
@given(mechanisms())
def test_counts_and_structure(model: Mechanism) -> None:
    topology = derive_topology(model)
    joints = topology.mechanism.joints
    nodes = {WORLD} | {body.name for body in model.bodies}
    graph = nx.MultiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((item.a.body, item.b.body) for item in model.joints)
    assert len(topology.chords) == len(model.joints) - len(nodes) + nx.number_connected_components(graph)
    assert len(topology.edges) == len(model.bodies)

    order = [edge.joint for edge in topology.edges] + [chord.joint for chord in topology.chords]
    assert sorted(order) == sorted(item.name for item in joints)
    assert [slot.joint for slot in topology.slots] == order
    reached = {WORLD}
    for edge in topology.edges:
        record = topology.joint(edge.joint)
        ends = (record.a.body, record.b.body)
        assert edge.parent in reached and edge.child not in reached
        assert (edge.parent, edge.child) == (ends if edge.forward else ends[::-1])
        reached.add(edge.child)
    assert reached == nodes
    assert [chord.joint for chord in topology.chords] == sorted(chord.joint for chord in topology.chords)
    listed = [name for component in topology.components for name in component.bodies]
    assert sorted(listed) == sorted(nodes - {WORLD})


@settings(max_examples=100, deadline=None)
@given(mechanisms())
def test_slots_are_dense(model: Mechanism) -> None:
    topology = derive_topology(model)
    q = v = 0
    for slot in topology.slots:
        shape = JOINT_SHAPES[topology.kind(slot.joint)]
        assert (slot.q0, slot.nq, slot.v0, slot.nv) == (q, shape.nq, v, shape.nv)
        q, v = q + shape.nq, v + shape.nv
    assert (topology.nq, topology.nv) == (q, v)
    assert (len(topology.q_names), len(topology.v_names)) == (q, v)


@settings(max_examples=100, deadline=None)
@given(mechanisms())
def test_branches_meet_only_at_the_lowest_common_ancestor(model: Mechanism) -> None:
    topology = derive_topology(model)
    edges = {edge.joint: edge for edge in topology.edges}
    for chord in topology.chords:
        record = topology.joint(chord.joint)
        assert not set(chord.branch_a) & set(chord.branch_b)
        for names, end in ((chord.branch_a, record.a.body), (chord.branch_b, record.b.body)):
            body = chord.ancestor
            for name in names:
                assert edges[name].parent == body
                body = edges[name].child
            assert body == end
        # The branches part at once, so that no deeper body is a common ancestor.
        first = [edges[names[0]].child for names in (chord.branch_a, chord.branch_b) if names]
        assert len(set(first)) == len(first) > 0


@settings(max_examples=60, deadline=None)
@given(mechanisms(kinds=("free",)), st.integers(0, 2**31))
def test_free_joints_represent_any_poses(model: Mechanism, seed: int) -> None:
    """Random body poses: the edges hold them exactly, and then every chord's path gives the relative pose too."""
    rng = np.random.default_rng(seed)
    poses = {WORLD: np.eye(4)} | {body.name: random_pose(rng) for body in model.bodies}
    topology = derive_topology(model)
    X = {item.name: np.linalg.inv(poses[item.a.body]) @ poses[item.b.body] for item in topology.mechanism.joints}
    for name, T in paths_by_chord(topology, X).items():
        np.testing.assert_allclose(T, X[name], atol=1e-10)


@settings(max_examples=100, deadline=None)
@given(mechanisms(), st.integers(0, 2**31))
def test_tree_and_closed_chords_satisfy_every_joint(model: Mechanism, seed: int) -> None:
    """Random frames, random joint values of every type; chord frames are chosen so that Delta_e = I on the paths."""
    rng = np.random.default_rng(seed)
    placed = replace(
        model,
        joints=tuple(
            replace(item, a=place(item.a.body, random_pose(rng)), b=place(item.b.body, random_pose(rng)), pitch=0.3)
            for item in model.joints
        ),
    )
    topology = derive_topology(placed)
    records = {item.name: item for item in topology.mechanism.joints}
    q = {name: rng.normal(size=JOINT_SHAPES[item.type].nq) for name, item in records.items()}
    X = {edge.joint: transform(records[edge.joint], q[edge.joint]) for edge in topology.edges}
    for name, T in paths_by_chord(topology, X).items():
        open_chord = records[name]
        frame = np.linalg.inv(T) @ matrix(open_chord.a) @ motion(open_chord, q[name])
        records[name] = replace(open_chord, b=place(open_chord.b.body, frame))

    poses = {WORLD: np.eye(4)}
    for edge in topology.edges:
        step = X[edge.joint] if edge.forward else np.linalg.inv(X[edge.joint])
        poses[edge.child] = poses[edge.parent] @ step
    for name, record in records.items():
        expected = poses[record.a.body] @ transform(record, q[name])
        np.testing.assert_allclose(poses[record.b.body], expected, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(mechanisms(), st.randoms(use_true_random=False))
def test_record_order_does_not_matter(model: Mechanism, random: Any) -> None:
    shuffled = {name: random.sample(getattr(model, name), len(getattr(model, name))) for name in ("bodies", "joints")}
    other = replace(model, **{name: tuple(records) for name, records in shuffled.items()})
    first, second = derive_topology(model), derive_topology(other)
    for group in ("components", "edges", "chords", "slots"):
        assert getattr(first, group) == getattr(second, group)


@pytest.mark.parametrize("name", ["excavator", "kangaroo_published"])
def test_record_order_does_not_matter_for_robots(name: str) -> None:
    model = robot(name)
    other = replace(model, bodies=model.bodies[::-1], joints=model.joints[::-1], ports=model.ports[::-1])
    first, second = derive_topology(model), derive_topology(other)
    assert (first.edges, first.chords, first.slots) == (second.edges, second.chords, second.slots)


@settings(max_examples=100, deadline=None)
@given(mechanisms(), st.randoms(use_true_random=False))
def test_swapping_a_joints_bodies_only_turns_it_round(model: Mechanism, random: Any) -> None:
    turned = {item.name for item in model.joints if random.random() < 0.5}
    joints = tuple(replace(item, a=item.b, b=item.a) if item.name in turned else item for item in model.joints)
    first, second = derive_topology(model), derive_topology(replace(model, joints=joints))
    assert [replace(edge, forward=edge.forward ^ (edge.joint in turned)) for edge in first.edges] == list(second.edges)
    flipped = [replace(c, branch_a=c.branch_b, branch_b=c.branch_a) if c.joint in turned else c for c in first.chords]
    assert flipped == list(second.chords)
    assert first.slots == second.slots


@settings(max_examples=100, deadline=None)
@given(mechanisms())
def test_order_preserving_names_give_the_isomorphic_topology(model: Mechanism) -> None:
    def body(name: str) -> str:
        return name if name == WORLD else f"body/{name}.x"

    def label(name: str) -> str:
        return f"{body(name.removesuffix('_free'))}_free" if name.endswith("_free") else f"joint {name}-x"

    renamed = replace(
        model,
        bodies=tuple(replace(record, name=body(record.name)) for record in model.bodies),
        joints=tuple(
            replace(
                item,
                name=label(item.name),
                a=replace(item.a, body=body(item.a.body)),
                b=replace(item.b, body=body(item.b.body)),
            )
            for item in model.joints
        ),
        ports=tuple(
            replace(p, measure=replace(p.measure, terms=tuple((label(n), w) for n, w in p.measure.terms)))  # type: ignore[union-attr]
            for p in model.ports
        ),
    )
    first, second = derive_topology(model), derive_topology(renamed)
    assert second.edges == tuple(
        replace(e, joint=label(e.joint), parent=body(e.parent), child=body(e.child)) for e in first.edges
    )
    assert second.chords == tuple(
        replace(
            c,
            joint=label(c.joint),
            ancestor=body(c.ancestor),
            branch_a=tuple(map(label, c.branch_a)),
            branch_b=tuple(map(label, c.branch_b)),
        )
        for c in first.chords
    )


def test_fourbar_in_full() -> None:
    topology = derive_topology(fourbar())
    assert [(e.joint, e.parent, e.child, e.forward) for e in topology.edges] == [
        ("j_crank", WORLD, "crank", True),
        ("j_coupler", "crank", "coupler", True),
        ("j_rocker", WORLD, "rocker", True),
    ]
    (chord,) = topology.chords
    assert (chord.joint, chord.ancestor, chord.kept) == ("j_tip", WORLD, False)
    assert (chord.branch_a, chord.branch_b) == (("j_crank", "j_coupler"), ("j_rocker",))
    assert (topology.tree_nv, topology.nv) == (3, 4)


def test_mechanism_keeps_its_records_and_appends_free_joints() -> None:
    model = mechanism(bodies={"p": 1.0, "o": 1.0})
    topology = derive_topology(model)
    assert topology.mechanism.bodies == model.bodies
    assert [item.name for item in topology.mechanism.joints] == ["o_free", "p_free"]
