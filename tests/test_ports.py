"""Ports of every kind: joint ports, weighted terms and two-point distances, on open chains and inside loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_models import built, load_case, mechanism, rate_of
from mechanics_support import oracle_state, wander

import robocompiler as rc
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.oracle.tasks import port_map
from robocompiler.records.model import Mechanism

LINK = {"mass": 1.0, "com": [0.2, 0.02, -0.01], "inertia": [0.002, 0.02, 0.021]}


def arm() -> Mechanism:
    """A three-link arm: a tendon over two joints, a cylinder from base to forearm, a cable from wrist to world."""
    model = {
        "bodies": {"upper": LINK, "fore": LINK, "hand": LINK},
        "joints": {
            "shoulder": {"type": "universal", "a": "world", "b": "upper", "axis": [0, 0, 1], "axis2": [0, 1, 0]},
            "elbow": {"type": "revolute", "a": {"body": "upper", "xyz": [0.4, 0, 0]}, "b": "fore", "axis": [0, 1, 0]},
            "wrist": {"type": "cylindrical", "a": {"body": "fore", "xyz": [0.4, 0, 0]}, "b": "hand", "axis": [1, 0, 0]},
        },
    }
    ports: dict[str, Any] = {
        "motor": {"joint": "elbow"},
        "tendon": {"terms": {"elbow": 0.03, "shoulder:second": -0.05}},
        "mixed": {"terms": {"wrist:angle": 0.02, "wrist:displacement": -1.0}},
        "cylinder": {
            "distance": [{"body": "world", "xyz": [0.05, 0.1, -0.2]}, {"body": "fore", "xyz": [0.15, 0, 0.05]}]
        },
        "cable": {"distance": [{"body": "hand", "xyz": [0.1, 0.05, 0]}, {"body": "world", "xyz": [0.4, 0.5, 0.9]}]},
        "strut": {"distance": [{"body": "upper", "xyz": [0.1, 0, 0.1]}, {"body": "hand", "xyz": [0, 0, 0.1]}]},
    }
    reference = {"joints": {"shoulder:first": 0.3, "shoulder:second": 0.4, "elbow": -0.8, "wrist:angle": 0.5}}
    return mechanism("port_arm", model, ports=ports, reference=reference)


def loop() -> Mechanism:
    """C01 with a port on every joint, so that one of them is a chord, and a spring-like pair across the loop."""
    case = load_case("c01")
    joints = {k: v for k, v in case["state"].items() if k.startswith("j_")}
    ports: dict[str, Any] = {f"at_{name}": {"joint": name} for name in case["model"]["joints"]}
    ports["both"] = {"terms": {"j_cg": 1.5, "j_bc": -0.5}}
    ports["across"] = {"distance": [{"body": "crank", "xyz": [0.1, 0, 0]}, {"body": "rocker", "xyz": [0.3, 0.1, 0]}]}
    return mechanism("port_loop", case["model"], ports=ports, reference={"joints": joints})


MAKERS = {"arm": arm, "loop": loop}


def setting(folder: Path, name: str, seed: int) -> tuple[rc.Robot, Mechanism, np.ndarray, np.ndarray]:
    records = MAKERS[name]()
    robot = built(folder, records)
    random = np.random.default_rng(seed)
    q = wander(robot, random, 0.1)
    return robot, records, q, random.uniform(-1, 1, len(robot.independent))


@pytest.mark.parametrize("name", MAKERS)
def test_displacements_move_as_the_map_says(name: str, build_folder: Path) -> None:
    robot, _, q, u = setting(build_folder, name, 1)
    rate = rate_of(robot.port_displacement, robot, q, u)
    np.testing.assert_allclose(robot.port_map(q) @ u, rate, rtol=0, atol=1e-9)
    assert np.abs(rate).min() > 1e-6  # every port moves


@pytest.mark.parametrize("name", MAKERS)
def test_map_displacement_and_effects_agree_with_the_oracle(name: str, build_folder: Path) -> None:
    robot, records, q, u = setting(build_folder, name, 2)
    model = MaximalModel(records)
    state = oracle_state(model, robot, q, u)
    names = [port.name for port in robot.ports]
    np.testing.assert_allclose(robot.port_map(q), port_map(model, state, names), rtol=0, atol=1e-12)
    f = np.random.default_rng(3).uniform(-5, 5, len(robot.ports))
    wanted = model.accelerations(state, Efforts(ports=dict(zip(names, f.tolist(), strict=True)))).udot
    np.testing.assert_allclose(robot.forward_dynamics(q, u, f), wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", MAKERS)
def test_virtual_power(name: str, build_folder: Path) -> None:
    robot, _, q, u = setting(build_folder, name, 4)
    L, h = robot.port_map(q), robot.bias(q, u)
    for k in range(len(robot.ports)):
        f = np.zeros(len(robot.ports))
        f[k] = 3.0
        udot = robot.forward_dynamics(q, u, f)
        tau = robot.inverse_dynamics(q, u, udot)
        scale = np.abs(h).max() + np.abs(robot.mass_matrix(q)).max() * np.abs(udot).max()
        assert tau @ u == pytest.approx(f @ (L @ u), rel=1e-12, abs=1e-12 * scale), robot.ports[k]


def test_least_efforts_and_what_does_no_work(build_folder: Path) -> None:
    robot, _, q, u = setting(build_folder, "loop", 5)
    L, tau = robot.port_map(q), robot.bias(q, u)
    f, null = robot.port_efforts(q, tau), robot.effort_null_space(q)
    assert null.shape == (len(robot.ports), len(robot.ports) - 1)
    np.testing.assert_allclose(L.T @ f, tau, rtol=1e-12)
    np.testing.assert_allclose(null.T @ null, np.eye(null.shape[1]), rtol=0, atol=1e-14)
    np.testing.assert_allclose(L.T @ null, 0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(null.T @ f, 0, rtol=0, atol=1e-12 * np.abs(f).max())  # of least norm
    weights = np.linspace(1, 3, len(robot.ports))
    g = robot.port_efforts(q, tau, weights)
    np.testing.assert_allclose(L.T @ g, tau, rtol=1e-12)
    np.testing.assert_allclose(null.T @ (weights * g), 0, rtol=0, atol=1e-12 * np.abs(g).max())
    with pytest.raises(ValueError, match="positive"):
        robot.port_efforts(q, tau, np.zeros(len(robot.ports)))


def test_what_the_ports_cannot_do_is_refused(build_folder: Path) -> None:
    records = mechanism(
        "port_idle",
        {
            "bodies": {"one": LINK, "two": LINK},
            "joints": {
                "driven": {"type": "revolute", "a": "world", "b": "one", "axis": [0, 1, 0]},
                "idle": {"type": "revolute", "a": {"body": "one", "xyz": [0.4, 0, 0]}, "b": "two", "axis": [0, 1, 0]},
            },
        },
        ports={"motor": {"joint": "driven"}},
    )
    robot = built(build_folder, records)
    q = robot.reference
    with pytest.raises(rc.RankError, match="idle") as caught:
        robot.port_efforts(q, robot.bias(q, np.zeros(2)))
    assert "cannot produce" in str(caught.value)
    tau = np.zeros(2)
    tau[robot.independent.index("driven")] = 2.5
    np.testing.assert_allclose(robot.port_efforts(q, tau), [2.5], rtol=1e-15)


def test_the_gripper_of_the_panda_drives_both_fingers(compiled: Any) -> None:
    robot = compiled("panda")
    q = robot.assemble(robot.reference)
    k = [port.name for port in robot.ports].index("gripper_force")
    L = robot.port_map(q)[k]
    E = robot.lift(q)
    fingers = [E[robot.velocities.index(name)] for name in ("finger_joint1", "finger_joint2")]
    np.testing.assert_allclose(L, sum(fingers), rtol=0, atol=1e-15)
    assert robot.port_displacement(q)[k] == pytest.approx(0.08, abs=1e-12)
    moving = int(np.flatnonzero(L)[0])
    assert L[moving] == pytest.approx(2.0)  # one coupled speed, two fingers
