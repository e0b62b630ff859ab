"""The maximal oracle against Pinocchio and MuJoCo, which share nothing with it but the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_models import case_mechanism, load_case
from random_mechanisms import random_mechanism, tree_case

from robocompiler.errors import MissingPackageError, ModelError
from robocompiler.oracle.arithmetic import verification_package
from robocompiler.oracle.maximal import Efforts, MaximalModel, State
from robocompiler.oracle.maximal_mp import PreciseModel
from robocompiler.oracle.mujoco_adapter import MujocoModel
from robocompiler.oracle.pinocchio_adapter import PinocchioModel
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

pytest.importorskip("pinocchio", reason="an optional engine of the verify extra, not needed to compile or to run")
pytest.importorskip("mujoco", reason="an optional engine of the verify extra, not needed to compile or to run")
MODELS = Path(__file__).resolve().parent.parent / "models"
TREE_KINDS = [kind for kind in JointType if kind is not JointType.FREE]


def moving(records: Mechanism, seed: int, support: str = "") -> tuple[MaximalModel, State, np.random.Generator]:
    """The model in motion at its reference, at random independent speeds."""
    random = np.random.default_rng(seed)
    model = MaximalModel(records, support=support)
    pose = model.project(model.pose())
    names = model.state(pose).independent
    u = dict(zip(names, random.uniform(-0.5, 0.5, len(names)).tolist(), strict=True))
    return model, model.state(pose, u), random


def opened(records: Mechanism) -> Mechanism:
    """The mechanism without its closing joint."""
    joints = tuple(joint for joint in records.joints if joint.name != "closing")
    return Mechanism(**{**records.__dict__, "joints": joints})


def agree(engine: PinocchioModel, model: MaximalModel, state: State, found: Any, tolerance: float) -> None:
    values = state.pose.values
    named = engine.named(values, found)
    wanted = model.accelerations(state).joints
    scale = max(1.0, *(abs(wanted[name]) for name in named))
    assert max(abs(named[name] - wanted[name]) for name in named) < tolerance * scale


TREES = [random_mechanism(seed, chords=0, couplings=False).mechanism for seed in range(10)]
TREES += [opened(tree_case(kind, reversed_=r).mechanism) for kind in TREE_KINDS for r in (False, True)]


@pytest.mark.parametrize("records", TREES, ids=lambda records: records.name)
def test_pinocchio_on_trees(records: Mechanism) -> None:
    model, state, random = moving(records, 1)
    engine = PinocchioModel(records)
    values = state.pose.values
    names = list(model.velocity_names)
    efforts = dict(zip(names, random.uniform(-1, 1, len(names)).tolist(), strict=True))
    q, v = engine.configuration(values), engine.velocity(values, model.velocities(state))
    poses = engine.body_poses(q)
    for k, solid in enumerate(model.scene.solids):
        np.testing.assert_allclose(poses[solid.name][0], np.array(state.pose.poses.R[k]), atol=1e-13)
        np.testing.assert_allclose(poses[solid.name][1], np.array(state.pose.poses.p[k]), atol=1e-13)
    found = model.accelerations(state, Efforts(joints=efforts)).joints
    other = engine.named(values, engine.aba(q, v, engine.effort(values, efforts)))
    np.testing.assert_allclose([other[n] for n in names], [found[n] for n in names], rtol=1e-9, atol=1e-10)
    # inverse dynamics at those accelerations gives the efforts back
    tau = engine.rnea(q, v, engine.velocity(values, found))
    np.testing.assert_allclose(tau, engine.effort(values, efforts), atol=1e-10)
    M = engine.mass_matrix(q)
    columns = np.column_stack([engine.rnea(q, 0 * v, e) - engine.rnea(q, 0 * v, 0 * v) for e in np.eye(len(v))])
    np.testing.assert_allclose(M, columns, atol=1e-11)  # fails when joints are not added depth first


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("fourbar", 1e-11), ("five_bar", 1e-11), ("delta", 1e-9), ("stewart", 1e-11), ("kangaroo", 1e-9)],
)
def test_pinocchio_on_loops(name: str, tolerance: float) -> None:
    model, state, _ = moving(read_mechanism(MODELS / f"{name}.yaml"), 2)
    engine = PinocchioModel(model.scene.mechanism)
    assert engine.closable == "" and engine.notes == []
    q, v = engine.configuration(state.pose.values), engine.velocity(state.pose.values, model.velocities(state))
    tau = engine.damping_effort(state.pose.values, q, v)
    agree(engine, model, state, engine.constraint_dynamics(q, v, tau), tolerance)
    agree(engine, model, state, engine.lcaba(q, v, tau, mu=1e-2), 1e3 * tolerance)


def test_pinocchio_on_a_foot() -> None:
    records = read_mechanism(MODELS / "go2.yaml")
    support = records.supports[0]
    model, state, _ = moving(records, 3, support.name)
    engine = PinocchioModel(records, support=support.name, anchors=state.pose.anchors)
    q, v = engine.configuration(state.pose.values), engine.velocity(state.pose.values, model.velocities(state))
    assert len(engine.constraints) == len(support.contacts)
    agree(engine, model, state, engine.constraint_dynamics(q, v, engine.damping_effort(state.pose.values, q, v)), 1e-10)


def test_pinocchio_on_the_excavator() -> None:
    """Its redundant rows disagree by 2e-13, which conditioning makes 1e-10 of acceleration; its rank is clear."""
    records = read_mechanism(MODELS / "excavator.yaml")
    model, state, _ = moving(records, 4)
    engine = PinocchioModel(records)
    q, v = engine.configuration(state.pose.values), engine.velocity(state.pose.values, model.velocities(state))
    agree(engine, model, state, engine.constraint_dynamics(q, v, engine.damping_effort(state.pose.values, q, v)), 1e-8)
    assert PreciseModel(records).state(state.pose).space.rank == state.space.rank == 143


def test_pinocchio_says_what_it_cannot_do() -> None:
    coupled = case_mechanism(load_case("c27"))
    engine = PinocchioModel(coupled)
    q = engine.configuration({"q1": 0.3, "q2": -0.1, "q3": 0.0})
    with pytest.raises(ModelError, match="couplings have no counterpart"):
        engine.constraint_dynamics(q, 0 * q, 0 * q)
    with pytest.raises(ModelError, match="no tree velocity"):
        engine.effort({"q1": 0.3, "q2": -0.1, "q3": 0.0}, {"q9": 1.0})
    with pytest.raises(MissingPackageError, match="which is not installed"):
        verification_package("a_package_that_is_not_there", "a package")


@pytest.mark.parametrize("records", TREES, ids=lambda records: records.name)
def test_mujoco_on_trees(records: Mechanism) -> None:
    if any(joint.type is JointType.SCREW for joint in records.joints):
        with pytest.raises(ModelError, match="no counterpart of this screw"):
            MujocoModel(records)
        return
    model, state, _ = moving(records, 5)
    engine = MujocoModel(records)
    q = engine.configuration(state.pose.values)
    v = engine.velocity(q, model.velocities(state))
    np.testing.assert_allclose(engine.mass, sum(float(body.mass) for body in records.bodies), atol=1e-10)
    poses = engine.body_poses(q)
    for k, solid in enumerate(model.scene.solids):
        np.testing.assert_allclose(poses[solid.name][0], np.array(state.pose.poses.R[k]), atol=1e-12)
        np.testing.assert_allclose(poses[solid.name][1], np.array(state.pose.poses.p[k]), atol=1e-12)
    names, M, h = engine.named_dynamics(q, v)
    reduced = model.reduced(state)
    order = [reduced.independent.index(name) for name in names]
    np.testing.assert_allclose(M, reduced.M[np.ix_(order, order)], atol=2e-10)  # carriers weigh 1e-12
    np.testing.assert_allclose(h, reduced.h[order], atol=2e-9)


@pytest.mark.parametrize(("name", "support"), [("fourbar", ""), ("stewart", ""), ("kangaroo", ""), ("go2", "FL_FR")])
def test_mujoco_closures_at_rest(name: str, support: str) -> None:
    """At rest MuJoCo's soft constraints give the accelerations of hard ones to their impedance."""
    records = read_mechanism(MODELS / f"{name}.yaml")
    model = MaximalModel(records, support=support)
    pose = model.project(model.pose())
    engine = MujocoModel(records, support=support, anchors=pose.anchors)
    q = engine.configuration(pose.values)
    assert np.max(np.abs(engine.closure_gaps(q))) < 1e-10
    wanted = model.accelerations(model.state(pose)).joints
    found = engine.accelerations(q, np.zeros(engine.model.nv), {})
    scale = max(abs(value) for value in wanted.values())
    assert max(abs(found[name] - wanted[name]) for name in found) < 3e-3 * scale
    with pytest.raises(ModelError, match="no tree velocity"):
        engine.accelerations(q, np.zeros(engine.model.nv), {"nothing": 1.0})
