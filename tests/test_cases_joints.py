"""Velocity conventions of single joints and of couplings, from public bug reports (tests/data/cases C29 to C39)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from case_models import at_state, built, case_mechanism, case_robot, load_case, mechanism, rate_of, reduced_inertia


def _x(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def _y(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def _z(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def test_a_free_joint_moves_with_its_body_twist(build_folder: Path) -> None:
    expected = load_case("c29")["expected"]
    model = {
        "bodies": {"base": {"mass": 4, "com": [0.03, -0.02, 0.05], "inertia": [0.05, 0.08, 0.1]}},
        "joints": {"root": {"type": "free", "a": "world", "b": "base"}},
    }
    records = mechanism("c29", model)
    robot = built(build_folder, records)
    R0 = _z(0.8) @ _y(-0.4) @ _x(0.3)
    half = np.array([0.3, -0.4, 0.8]) / 2
    (cr, cp, cy), (sr, sp, sy) = np.cos(half), np.sin(half)
    quaternion = [
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    ]
    q = robot.configuration({"root": [0.3, 0.1, 0.7, *quaternion]})
    R, _ = robot.pose("base", q)
    np.testing.assert_allclose(R, R0, rtol=0, atol=1e-14)
    omega, linear = np.array([0.5, -0.4, 0.6]), np.array([0.2, -0.1, 0.3])
    u = np.concatenate((omega, linear))
    assert robot.independent == tuple(f"root:{x}" for x in ("wx", "wy", "wz", "vx", "vy", "vz"))
    twist = robot.task_jacobian("base", q) @ u
    np.testing.assert_allclose(twist, np.concatenate((R @ omega, R @ linear)), rtol=0, atol=1e-14)
    rates = robot.coordinate_rates(q, robot.velocity(q, u))
    np.testing.assert_allclose(rates[:3], R @ linear, rtol=0, atol=1e-14)  # not the body components
    h = 1e-5
    ahead, behind = (robot.pose("base", robot.integrate(q, s * h * robot.velocity(q, u))) for s in (1, -1))
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * h), R @ linear, rtol=0, atol=1e-9)
    skew = np.cross(omega, np.eye(3)).T
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * h), R @ skew, rtol=0, atol=1e-9)
    M = reduced_inertia(robot, records, q)
    swap = [3, 4, 5, 0, 1, 2]  # the case counts linear first
    body = M[np.ix_(swap, swap)]
    assert body[0, 4] == pytest.approx(expected["M04_body"], rel=1e-12)
    assert body[1, 3] == pytest.approx(expected["M13_body"], rel=1e-12)
    mixed = np.kron([[1, 0], [0, 0]], R) + np.kron([[0, 0], [0, 1]], np.eye(3))  # world linear, body angular
    world = mixed @ body @ mixed.T
    assert world[0, 4] == pytest.approx(expected["M04_world_linear"], rel=1e-10)
    assert world[1, 3] == pytest.approx(expected["M13_world_linear"], rel=1e-10)


def test_finite_motion_of_a_free_joint_is_the_exponential_of_its_twist(build_folder: Path) -> None:
    """A constant body twist for a second: halves compose to the whole, and a quarter turn lands where a screw does."""
    model = {"bodies": {"base": {"mass": 1.0}}, "joints": {"root": {"type": "free", "a": "world", "b": "base"}}}
    robot = built(build_folder, mechanism("screwing", model))
    v = np.array([0, 0, math.pi / 2, 1.0, 0, 0.5])
    q = robot.integrate(robot.reference, v)
    halves = robot.integrate(robot.integrate(robot.reference, v / 2), v / 2)
    np.testing.assert_allclose(q, halves, rtol=0, atol=1e-14)
    R, p = robot.pose("base", q)
    np.testing.assert_allclose(R, _z(math.pi / 2), rtol=0, atol=1e-15)
    np.testing.assert_allclose(p, [2 / math.pi, 2 / math.pi, 0.5], rtol=0, atol=1e-14)


def test_ball_rates_are_an_angular_velocity_and_hinge_rates_are_not(build_folder: Path) -> None:
    case = load_case("c30")
    inertia = np.diag([0.02, 0.05, 0.09])
    body = {"mass": 1.0, "inertia": [0.02, 0.05, 0.09]}
    joint = {"s": {"type": "spherical", "a": "world", "b": "top"}}
    ball = built(build_folder, mechanism("c30_ball", {"bodies": {"top": body}, "joints": joint}))
    hinges = {
        name: {"type": "revolute", "a": a, "b": b, "axis": axis}
        for name, a, b, axis in (
            ("x", "world", "outer", [1, 0, 0]),
            ("y", "outer", "middle", [0, 1, 0]),
            ("z", "middle", "top", [0, 0, 1]),
        )
    }
    three = built(
        build_folder, mechanism("c30_hinges", {"bodies": {"outer": {}, "middle": {}, "top": body}, "joints": hinges})
    )
    omega = np.ones(3)
    q = ball.reference
    np.testing.assert_allclose(ball.coordinate_rates(q, omega), [0, 0.5, 0.5, 0.5], rtol=0, atol=1e-15)
    np.testing.assert_allclose(ball.task_jacobian("top", q)[:3], np.eye(3), rtol=0, atol=1e-15)
    order = [three.independent.index(name) for name in "xyz"]
    assert three.independent == ("x", "y", "z")
    for robot, bias in ((ball, [0.0, 0.0, 0.0]), (three, case["expected"]["omega_dot_bias_of_hinges"])):
        alpha = rate_of(lambda x, r=robot: r.task_jacobian("top", x)[:3] @ omega, robot, robot.reference, omega)
        np.testing.assert_allclose(alpha[order], bias, rtol=0, atol=1e-9)
        torque = inertia @ alpha + np.cross(omega, inertia @ omega)
        name = "ball_torque_at_omegadot_0" if robot is ball else "three_hinge_xyz_torque_at_qdd_0"
        np.testing.assert_allclose(torque, case["expected"][name], rtol=0, atol=1e-9)


def test_a_planar_joint_moves_normal_to_its_axis(build_folder: Path) -> None:
    """C31: axis y means translations in xz and a rotation about y."""
    assert "xz" in load_case("c31")["expected"]["motion"]
    model = {
        "bodies": {"puck": {"mass": 1.0, "inertia": [1, 1, 1]}},
        "joints": {"p": {"type": "planar", "a": "world", "b": "puck", "axis": [0, 1, 0]}},
    }
    robot = built(build_folder, mechanism("c31", model))
    q = robot.configuration({"p": [0.3, -0.2, 0.9]})
    R, p = robot.pose("puck", q)
    assert p[1] == 0
    assert np.linalg.norm(p) == pytest.approx(math.hypot(0.3, 0.2), rel=1e-15)
    np.testing.assert_allclose(R, _y(0.9), rtol=0, atol=1e-15)
    J = robot.task_jacobian("puck", q)
    np.testing.assert_allclose(J[:, 2], [0, 1, 0, 0, 0, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.abs(J[3:, :2]).sum(axis=1) > 0, [True, False, True])
    e1, e2 = J[3:, 0], J[3:, 1]
    np.testing.assert_allclose(np.cross(e1, e2), [0, 1, 0], rtol=0, atol=1e-15)  # right-handed with the normal


def test_continuous_joints_are_not_wrapped(build_folder: Path) -> None:
    case = load_case("c32")
    wheel = {"mass": 1.0, "inertia": [1, 1, 1]}
    turning = {"type": "continuous", "a": "world", "axis": [0, 0, 1]}
    model = {
        "bodies": {"one": wheel, "two": wheel},
        "joints": {"q1": {**turning, "b": "one"}, "q2": {**turning, "b": "two"}},
        "couplings": [{"terms": {"q2": 1.0, "q1": -2.5}}],
    }
    robot = built(build_folder, mechanism("c32", model), ("q1",))
    turn = robot.assemble(robot.configuration({"q1": 2 * math.pi}))
    assert robot.joint(turn, "q2") == pytest.approx(5 * math.pi, rel=1e-14)
    np.testing.assert_allclose(robot.pose("two", turn)[0], np.diag([-1, -1, 1]), rtol=0, atol=1e-14)
    before, after = (robot.assemble(robot.configuration({"q1": math.pi + s * 1e-3})) for s in (-1, 1))
    jump = robot.joint(after, "q2") - robot.joint(before, "q2")
    assert jump == pytest.approx(case["expected"]["jump_across_pi_pm_1e3"], abs=1e-12)
    assert abs(jump - case["wrong_answers_of_naive_code"]["wrapped_leader_jump"]) > 15
    far = robot.assemble(robot.configuration({"q1": 200.0}))
    assert robot.joint(far, "q2") == pytest.approx(500.0, rel=1e-14)


def test_couplings_are_between_relative_angles(build_folder: Path) -> None:
    case = load_case("c39")
    robot, records = case_robot(build_folder, case, ("c",)), case_mechanism(case)
    q = at_state(robot, case)
    assert robot.task_jacobian("planet", q)[2, 0] == pytest.approx(case["expected"]["planet_absolute_rate"], rel=1e-14)
    inertia = reduced_inertia(robot, records, q)[0, 0]
    assert inertia == pytest.approx(case["expected"]["Mr"], rel=1e-12)
    assert abs(inertia - case["wrong_answers_of_naive_code"]["absolute_angle_ratio"]) > 1e-4
