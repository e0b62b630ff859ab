"""Compiled functions inside CasADi: values, Jacobians, and optimal motions by collocation, checked by the oracle."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import casadi as cs
import numpy as np
import pytest
import yaml
from mechanics_support import MODELS, random_state, shipped

import robocompiler as rc
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict

QUIET = {
    "print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-8,
    "ipopt.hessian_approximation": "limited-memory",
}  # fmt: skip


@pytest.fixture(scope="module")
def fourbar(tmp_path_factory: pytest.TempPathFactory) -> rc.Robot:
    folder = tmp_path_factory.mktemp("calls")
    return rc.compile(shipped("fourbar"), output=folder, derivatives=True, extra_flags=("-O0",))


def kangaroo_leg() -> Mechanism:
    """The left leg of Kangaroo with its pelvis held: three modules, twelve chords, six freedoms."""
    data = yaml.safe_load((MODELS / "kangaroo.yaml").read_text(encoding="utf-8"))

    def right(name: str) -> bool:
        return "right" in name

    data["bodies"] = {name: body for name, body in data["bodies"].items() if not right(name)}
    data["joints"] = {
        name: joint for name, joint in data["joints"].items()
        if not any(map(right, (name, joint["a"]["body"], joint["b"]["body"])))
    }  # fmt: skip
    data["ports"] = {name: port for name, port in data["ports"].items() if not right(name)}
    data["frames"] = {name: frame for name, frame in data["frames"].items() if not right(frame["body"])}
    held = data["reference"]["joints"]
    data["reference"] = {"joints": {name: value for name, value in held.items() if name in data["joints"]}}
    data["joints"]["pelvis"] = {"type": "fixed", "a": {"body": "world"}, "b": {"body": "base_link"}}
    del data["supports"]
    return mechanism_from_dict({**data, "name": "kangaroo_leg"})


def independents(robot: rc.Robot, q: np.ndarray) -> np.ndarray:
    return np.array([q[robot.coordinates.index(name)] for name in robot.independent])


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "configuration", "port_displacement"])
def test_values_and_jacobians(name: str, fourbar: rc.Robot) -> None:
    q, u, _ = random_state(fourbar, 5)
    s, third = independents(fourbar, q), np.array([1.7])
    function = fourbar.casadi(name)
    given = [s, u, third][: function.n_in()]
    wanted = {
        "forward_dynamics": lambda: fourbar.forward_dynamics(q, u, third),
        "inverse_dynamics": lambda: fourbar.inverse_dynamics(q, u, third),
        "configuration": lambda: q,
        "port_displacement": lambda: fourbar.port_displacement(q),
    }[name]()
    assert function(*given).full().ravel() == pytest.approx(wanted, rel=1e-11, abs=1e-11)
    blocks = function.jacobian()(*given, wanted)
    blocks = blocks if isinstance(blocks, tuple) else (blocks,)
    h = 1e-5
    for k, block in enumerate(blocks):
        ahead, behind = ([x + (sign * h if i == k else 0.0) for i, x in enumerate(given)] for sign in (1, -1))
        difference = (function(*ahead) - function(*behind)).full().ravel() / (2 * h)
        assert block.full().ravel() == pytest.approx(difference, rel=1e-7, abs=1e-7)


def test_far_jumps_stay_on_the_branch(fourbar: rc.Robot) -> None:
    configuration = fourbar.casadi("configuration")
    for angle in (0.7, 1.6, 0.2, 1.1):
        q = configuration([angle]).full().ravel()
        assert q == pytest.approx(fourbar.assemble(fourbar.configuration({"j_ga": angle})), abs=1e-10)


def least_effort(robot: rc.Robot, target: np.ndarray, steps: int, duration: float) -> tuple[np.ndarray, ...]:
    """s (d, steps + 1), u and f from rest at the reference to rest at `target`, by the trapezoidal rule."""
    d, h = len(robot.independent), duration / steps
    start = independents(robot, robot.reference)
    udot = robot.casadi("forward_dynamics")
    opti = cs.Opti()
    s, u, f = (opti.variable(size, steps + 1) for size in (d, d, len(robot.ports)))
    scale = np.linalg.norm(robot.inverse_dynamics(robot.reference, np.zeros(d), np.zeros(d))) + 1.0
    rates = [udot(s[:, k], u[:, k], scale * f[:, k]) for k in range(steps + 1)]
    for k in range(steps):
        opti.subject_to(s[:, k + 1] - s[:, k] == h / 2 * (u[:, k] + u[:, k + 1]))
        opti.subject_to(u[:, k + 1] - u[:, k] == h / 2 * (rates[k] + rates[k + 1]))
    opti.subject_to([s[:, 0] == start, s[:, steps] == target, u[:, 0] == 0, u[:, steps] == 0])
    opti.minimize(cs.sumsqr(f))
    for k in range(steps + 1):
        opti.set_initial(s[:, k], start + (target - start) * k / steps)
    opti.solver("ipopt", QUIET)
    solution = opti.solve()
    found = (solution.value(s), solution.value(u), scale * solution.value(f))
    return tuple(np.asarray(x).reshape(-1, steps + 1) for x in found)


def judge(robot: rc.Robot, records: Mechanism, found: tuple[np.ndarray, ...], h: float) -> None:
    """The oracle's accelerations at the found states satisfy the rule."""
    model, configuration = MaximalModel(records), robot.casadi("configuration")
    S, U, F = found
    rates = []
    for k in range(S.shape[1]):
        q = configuration(S[:, k]).full().ravel()
        pose = model.project(model.pose(dict(zip(robot.coordinates, q.tolist(), strict=True))), robot.independent)
        state = model.state(pose, dict(zip(robot.independent, U[:, k].tolist(), strict=True)), robot.independent)
        ports = {port.name: float(value) for port, value in zip(robot.ports, F[:, k], strict=True)}
        rates.append(np.array(model.accelerations(state, Efforts(ports=ports)).udot, dtype=float))
    size = max(float(np.abs(rate).max()) for rate in rates)
    for k, (before, after) in enumerate(pairwise(rates)):
        assert np.abs(U[:, k + 1] - U[:, k] - h / 2 * (before + after)).max() <= 1e-6 * h * size


def test_the_four_bar_moves_with_least_effort(fourbar: rc.Robot) -> None:
    start = independents(fourbar, fourbar.reference)
    found = least_effort(fourbar, start + 0.5, 24, 0.6)
    judge(fourbar, shipped("fourbar"), found, 0.6 / 24)
    assert found[0][:, -1] - start == pytest.approx(0.5, abs=1e-8)
    assert np.abs(found[1]).max() > 0.8  # 0.5 rad in 0.6 s


def test_a_leg_of_kangaroo_moves_with_least_effort(tmp_path: Path) -> None:
    records = kangaroo_leg()
    leg = rc.compile(records, output=tmp_path, derivatives=True, extra_flags=("-O0",))
    assert len(leg.modules) == 3
    assert len(leg.independent) == 6
    start = independents(leg, leg.reference)
    target = start + np.array([0.001, 0.002, -0.002, 0.004, 0.002, 0.001])
    found = least_effort(leg, target, 8, 0.25)
    judge(leg, records, found, 0.25 / 8)
    assert found[0][:, -1] == pytest.approx(target, abs=1e-9)
    straight = np.abs(target - start) / 0.25
    assert (np.abs(found[1]).max(axis=1) > straight).all()  # from rest to rest: faster in between than on average


def test_what_cannot_be_had_is_told(fourbar: rc.Robot, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no function is called 'lift'; these are: forward_dynamics"):
        fourbar.casadi("lift")
    with pytest.raises(ValueError, match="port chart"):
        fourbar.chart("inner").casadi("configuration")
    ball = {
        "robocompiler": 1,
        "name": "ball",
        "bodies": {"bob": {"mass": 1.0, "com": [0, 0, -0.3], "inertia": [0.01, 0.01, 0.01, 0, 0, 0]}},
        "joints": {"hinge": {"type": "spherical", "a": {"body": "world"}, "b": {"body": "bob"}}},
    }
    loose = rc.compile(mechanism_from_dict(ball), output=tmp_path, extra_flags=("-O0",))
    with pytest.raises(ValueError, match="'hinge:wx' is a speed without a coordinate of its own"):
        loose.casadi("configuration")
