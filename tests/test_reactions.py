"""Closure reactions: pin forces with closed forms, equilibrium, what redundancy leaves open, the oracle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_models import at_state, built, case_robot, load_case, mechanism
from mechanics_support import difference, oracle_state, random_state, shipped

import robocompiler as rc
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.oracle.reactions import coupling_reactions, joint_reactions
from robocompiler.records.model import WORLD, Mechanism

Compiled = Callable[[str], rc.Robot]


def parallelogram(cut: str) -> Mechanism:
    """C12 with damping on the other pins, which keeps those in the tree and does nothing at rest."""
    case = load_case("c12")
    joints = {k: joint if k == cut else {**joint, "damping": 0.1} for k, joint in case["model"]["joints"].items()}
    reference = {"joints": {"a": 0.6, "b": -0.6, "d": 0.6}}
    return mechanism(f"c12_{cut}", {**case["model"], "joints": joints}, reference=reference)


@pytest.mark.parametrize("cut", "abcd")
def test_pin_forces_of_a_loaded_parallelogram(cut: str, build_folder: Path) -> None:
    """In the plane of the loop every pin force is unique; across it nothing is, and that is said."""
    case, records = load_case("c12"), parallelogram(cut)
    robot = built(build_folder, records, ("a",))
    assert robot.closures == (cut,)
    q, expected = at_state(robot, case), case["expected"]
    motor = {"l1": [0, -case["state"]["torque_on_a"], 0, 0, 0, 0]}  # the hinge's axis is -y
    np.testing.assert_allclose(robot.forward_dynamics(q, [0.0], [], motor), 0, rtol=0, atol=1e-10)
    found = robot.reactions(q, [0.0], [], motor)
    body = {"a": WORLD, "b": "l1", "c": "cpl", "d": WORLD}[cut]
    R = np.eye(3) if body == WORLD else robot.pose(body, q)[0]
    force = R @ found.values[3:]
    assert abs(force[0]) == pytest.approx(expected["horizontal_pin_force"], rel=1e-8)
    assert abs(force[2]) == pytest.approx(expected[f"vertical_{cut}"], rel=1e-8)
    np.testing.assert_array_equal(found.undetermined, [True, False, True, False, True, False])
    np.testing.assert_allclose(found.values[[0, 2, 4]], 0, rtol=0, atol=1e-9)  # nothing pushes across: least norm
    # no moment about the pin itself: the moment about body a's origin is that of the force alone
    joint = next(joint for joint in records.joints if joint.name == cut)
    arm = np.array(joint.a.translation, dtype=float)
    assert np.cross(arm, found.values[3:])[1] == pytest.approx(found.values[1], abs=1e-9)


def test_a_port_at_the_chord_is_not_counted_as_a_reaction(build_folder: Path) -> None:
    """The motor's torque passes through the hinge to the ground once: neither doubled nor lost."""
    case = load_case("c12")
    reference = {"joints": {"a": 0.6, "b": -0.6, "d": 0.6}}
    robot = built(
        build_folder, mechanism("c12_motor", case["model"], ports={"m": {"joint": "a"}}, reference=reference), ("a",)
    )
    q, torque = at_state(robot, case), case["state"]["torque_on_a"]
    np.testing.assert_allclose(robot.forward_dynamics(q, [0.0], [torque]), 0, rtol=0, atol=1e-10)
    found = robot.reactions(q, [0.0], [torque])
    same = robot.reactions(q, [0.0], [0.0], {"l1": [0, -torque, 0, 0, 0, 0]})
    np.testing.assert_allclose(found.values, same.values, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found.undetermined, same.undetermined)


def converted(model: MaximalModel, records: Mechanism, state: Any, name: str, wrench: Any) -> np.ndarray:
    """The oracle's wrench (frame a's axes, about frame b's origin) in body a's axes about body a's origin."""
    joint = next(joint for joint in records.joints if joint.name == name)
    A = np.array(joint.a.rotation, dtype=float)
    moment, force = (A @ np.array(wrench[k : k + 3], dtype=float) for k in (0, 3))
    Rb, pb = (np.eye(3), np.zeros(3)) if joint.b.body == WORLD else model.frame_pose(joint.b.body, state.pose)
    Ra, pa = (np.eye(3), np.zeros(3)) if joint.a.body == WORLD else model.frame_pose(joint.a.body, state.pose)
    point = np.array(pb, dtype=float) + np.array(Rb, dtype=float) @ np.array(joint.b.translation, dtype=float)
    arm = np.array(Ra, dtype=float).T @ (point - np.array(pa, dtype=float))
    return np.concatenate((moment + np.cross(arm, force), force))


@pytest.mark.parametrize("name", ["rssr", "parallel_ankle", "stewart"])
def test_reactions_of_loops_without_redundancy_agree_with_the_oracle(name: str, compiled: Compiled) -> None:
    robot, records = compiled(name), shipped(name)
    model = MaximalModel(records)
    q, u, random = random_state(robot, 30, speed=0.5)
    f = random.uniform(-20, 20, len(robot.ports))
    wrench = {robot.frames[-1]: random.uniform(-5, 5, 6)}
    state = oracle_state(model, robot, q, u)
    named = {port.name: float(x) for port, x in zip(robot.ports, f, strict=True)}
    efforts = Efforts(ports=named, wrenches={k: w.tolist() for k, w in wrench.items()})
    accelerations = model.accelerations(state, efforts)
    wanted = joint_reactions(model, state, accelerations)
    found = robot.reactions(q, u, f, wrench)
    assert not found.undetermined.any()
    for k, closure in enumerate(robot.closures):
        reference = converted(model, records, state, closure, wanted[closure].wrench)
        assert difference(found.values[6 * k : 6 * k + 6], reference) < 1e-9, closure


def test_the_effort_of_a_coupling_agrees_with_the_oracle(build_folder: Path) -> None:
    case = load_case("c27")
    robot = case_robot(build_folder, case, ("q1", "q2"))
    q = robot.assemble(robot.configuration({"q1": 0.3, "q2": -0.1}))
    u = np.array([0.4, -0.7])
    records = mechanism("c27", case["model"])
    model = MaximalModel(records)
    state = oracle_state(model, robot, q, u)
    accelerations = model.accelerations(state, Efforts(wrenches={"o": [0, 0, 2.0, 1.0, 0, 0]}))
    ((value, undetermined),) = coupling_reactions(model, state, accelerations).values()
    found = robot.reactions(q, u, [], {"o": [0, 0, 2.0, 1.0, 0, 0]})
    assert found.values[0] == pytest.approx(value, rel=1e-10)
    assert abs(found.values[0]) > 0.1
    assert not found.undetermined[0] and not undetermined


@pytest.mark.parametrize("name", ["fourbar", "excavator"])
def test_reactions_do_no_work(name: str, compiled: Compiled) -> None:
    """C^T lambda has no part along the motion, and lambda itself none along the redundant combinations."""
    robot = compiled(name)
    q, u, random = random_state(robot, 31, speed=0.3)
    f = random.uniform(-20, 20, len(robot.ports))
    found = robot.reactions(q, u, f)
    C, E = robot.closure_jacobian(q), robot.lift(q)
    size = np.abs(found.values).max()
    assert size > 1e-3
    np.testing.assert_allclose(E.T @ C.T @ found.values, 0, rtol=0, atol=1e-9 * size)
    left, values, _ = np.linalg.svd(C)
    idle = left[:, int(np.sum(values > 1e-9 * values[0])) :]
    assert idle.shape[1] > 0 and found.undetermined.any()
    np.testing.assert_allclose(idle.T @ found.values, 0, rtol=0, atol=1e-9 * size)


def test_a_tree_has_no_reactions(build_folder: Path) -> None:
    joint = {"hinge": {"type": "revolute", "a": "world", "b": "bar", "axis": [0, 1, 0]}}
    bar = {"bar": {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}}
    robot = built(build_folder, mechanism("reactionless", {"bodies": bar, "joints": joint}))
    found = robot.reactions(robot.reference, [0.3], [])
    assert found.values.shape == found.undetermined.shape == (0,)
