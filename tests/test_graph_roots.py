"""Components, reference bodies, synthesised free joints, and what the graph refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import joint, mechanism

from robocompiler.errors import ModelError
from robocompiler.graph.build import derive_topology
from robocompiler.records.expressions import Apply, Constant, Symbol
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, BasePose, Body, Mechanism, Parameter, Reference, Source


def based(model: Mechanism, *bodies: str) -> Mechanism:
    poses = tuple(BasePose(body, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)) for body in bodies)
    return replace(model, reference=Reference(bases=poses), source=Source("robot.yaml"))


def pair(**masses: float) -> Mechanism:
    """Two floating pairs and one grounded body."""
    return mechanism(
        joint("jab", "revolute", "a", "b"),
        joint("jcd", "revolute", "c", "d"),
        joint("g", "revolute", WORLD, "ground_arm"),
        bodies=masses,
    )


def roots(model: Mechanism) -> list[tuple[str, tuple[str, ...], str]]:
    return [(c.root, c.bodies, c.free_joint) for c in derive_topology(model).components]


def test_heaviest_body_is_the_root_and_ties_go_by_name() -> None:
    assert roots(pair(b=2.0)) == [
        (WORLD, ("ground_arm",), ""),
        ("b", ("a", "b"), "b_free"),
        ("c", ("c", "d"), "c_free"),
    ]


def test_named_base_is_the_root() -> None:
    assert [root for root, _, _ in roots(based(pair(b=2.0), "a", "d"))] == [WORLD, "a", "d"]


def test_unnamed_base_belongs_to_the_only_floating_component() -> None:
    model = mechanism(joint("j", "revolute", "a", "b"), bodies={"b": 3.0})
    assert roots(based(model, "")) == [("b", ("a", "b"), "b_free")]


def test_mass_is_taken_at_the_parameters_defaults() -> None:
    half = Apply("*", (Constant(0.5), Symbol("payload")))
    model = Mechanism("m", bodies=(Body("a", half), Body("b", 3.0)), joints=(joint("j", "revolute", "a", "b"),))
    assert roots(replace(model, parameters=(Parameter("payload", 8.0),)))[0][0] == "a"
    assert roots(replace(model, parameters=(Parameter("payload", 4.0),)))[0][0] == "b"


def test_lone_body_floats_and_empty_mechanism_is_empty() -> None:
    assert roots(mechanism(bodies={"brick": 1.0})) == [("brick", ("brick",), "brick_free")]
    assert roots(mechanism()) == []


def test_free_joint_record() -> None:
    topology = derive_topology(mechanism(bodies={"brick": 1.0}))
    record = topology.joint("brick_free")
    assert (record.type, record.a.body, record.b.body) == (JointType.FREE, WORLD, "brick")
    assert (topology.nq, topology.nv, topology.tree_nv) == (7, 6, 6)


def test_free_joint_name_is_unique() -> None:
    model = mechanism(joint("a_free", "revolute", "a", "b"), joint("a_free_", "revolute", "a", "c"), bodies={"a": 5.0})
    assert roots(model)[0][2] == "a_free__"


def test_explicit_free_joint_is_an_ordinary_edge() -> None:
    topology = derive_topology(
        mechanism(joint("base", "free", "trunk", WORLD), joint("hip", "revolute", "trunk", "leg"))
    )
    assert [(c.root, c.free_joint) for c in topology.components] == [(WORLD, "")]
    assert [(e.joint, e.parent, e.child, e.forward) for e in topology.edges] == [
        ("base", WORLD, "trunk", False),
        ("hip", "trunk", "leg", True),
    ]


@pytest.mark.parametrize(
    ("bodies", "complaints"),
    [
        (("",), ["2 components float (those of a, c): name a body of each"]),
        (("ground_arm",), ["'ground_arm' is joined to the world and does not float: remove the base pose"]),
        (("nobody",), ["unknown body 'nobody'"]),
        ((WORLD,), ["the world is not a floating body"]),
        (("a", "b"), ["'a' and 'b' are bodies of one floating component: name one of them"]),
        (("nobody", "ground_arm"), ["unknown body 'nobody'", "'ground_arm' is joined"]),
    ],
)
def test_base_poses_that_do_not_fit(bodies: tuple[str, ...], complaints: list[str]) -> None:
    with pytest.raises(ModelError) as caught:
        derive_topology(based(pair(), *bodies))
    found = caught.value.problems
    assert len(found) == len(complaints)
    for problem, complaint in zip(found, complaints, strict=True):
        assert complaint in problem.message
        assert problem.record.startswith("reference.base")
        assert problem.file == "robot.yaml"


def test_base_pose_without_floating_component() -> None:
    model = based(mechanism(joint("g", "revolute", WORLD, "arm")), "")
    with pytest.raises(ModelError, match="nothing floats"):
        derive_topology(model)


def test_base_pose_of_a_body_with_an_explicit_free_joint_names_the_joint() -> None:
    model = based(mechanism(joint("root", "free", WORLD, "trunk")), "trunk")
    with pytest.raises(ModelError, match=r"free joint 'root' under reference\.joints"):
        derive_topology(model)


@pytest.mark.parametrize("bodies", [("", "a"), ("", "")])
def test_two_base_poses_of_the_only_floating_component(bodies: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match="more than one base pose"):
        derive_topology(based(mechanism(joint("j", "revolute", "a", "b")), *bodies))


def test_graph_refuses_what_it_would_merge_or_invent() -> None:
    good = mechanism(joint("j", "revolute", WORLD, "a"))
    bad = replace(
        good,
        bodies=(*good.bodies, Body("a")),
        joints=(*good.joints, joint("j", "fixed", "a", "ghost"), joint("k", "fixed", "a", "a")),
    )
    with pytest.raises(ModelError) as caught:
        derive_topology(bad)
    assert sorted(problem.record for problem in caught.value.problems) == [
        "bodies.a",
        "joints.j",
        "joints.j",
        "joints.k",
    ]
