"""Assembly along whole motions, velocities and rates of the public bug reports' mechanisms (tests/data/cases)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_models import (
    at_state,
    built,
    case_mechanism,
    case_robot,
    gravity_effort,
    inverse_effort,
    load_case,
    mechanism,
    quaternion_between,
    rate_of,
    reduced_inertia,
    row,
)

import robocompiler as rc
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"


def fourbar(name: str, lengths: dict[str, float], rest: dict[str, float], **rocker: Any):
    """A planar four-bar whose crank and rocker coordinates are absolute angles; the coupler's is crank + j_coupler."""
    hinge = {"type": "revolute", "axis": [0, 0, 1]}
    bodies = {body: {"mass": 1.0, "inertia": [1.0, 1.0, 1.0]} for body in ("crank", "coupler", "rocker")}
    joints = {
        "crank": {**hinge, "a": "world", "b": "crank"},
        "j_coupler": {**hinge, "a": {"body": "crank", "xyz": [lengths["crank"], 0, 0]}, "b": "coupler"},
        "tip": {
            **hinge,
            "a": {"body": "coupler", "xyz": [lengths["coupler"], 0, 0]},
            "b": {"body": "rocker", "xyz": [lengths["rocker"], 0, 0]},
        },
        "rocker": {**hinge, "a": {"body": "world", "xyz": [lengths["ground"], 0, 0]}, "b": "rocker", **rocker},
    }
    reference = {
        "crank": rest["crank"],
        "j_coupler": rest["coupler"] - rest["crank"],
        "tip": rest["rocker"] - rest["coupler"],
        "rocker": rest["rocker"],
    }
    ports = {"motor": {"joint": "crank"}}
    return mechanism(name, {"bodies": bodies, "joints": joints}, ports=ports, reference={"joints": reference})


C02 = {"ground": 1.0, "crank": 0.45, "coupler": 1.15, "rocker": 0.62}
C02_REST = {"crank": 0.0, "coupler": 0.196727560, "rocker": 0.371001254}


@pytest.fixture(scope="module")
def crank_rocker(build_folder: Path) -> rc.Robot:
    return built(build_folder, fourbar("c02", C02, C02_REST))


@pytest.fixture(scope="module")
def crank_turn(crank_rocker: rc.Robot) -> list[np.ndarray]:
    """The assembled configurations of all integer degrees, each from the rest pose."""
    robot = crank_rocker
    return [robot.assemble(robot.configuration({"crank": math.radians(degrees)})) for degrees in range(361)]


def absolute(robot: rc.Robot, q: np.ndarray) -> dict[str, float]:
    """Absolute coupler and rocker angles."""
    return {"coupler": robot.joint(q, "crank") + robot.joint(q, "j_coupler"), "rocker": robot.joint(q, "rocker")}


# --- C02, C42: the authored branch ----------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_crank_poses_on_the_authored_branch(degrees: int, crank_rocker: rc.Robot, crank_turn: list) -> None:
    case = load_case("c02")
    found = absolute(crank_rocker, crank_turn[degrees])
    for name, value in case["expected"][f"crank_deg_{degrees}"].items():
        assert found[name] == pytest.approx(value, rel=0, abs=1e-8)
    mirror = case["wrong_answers_of_naive_code"].get(f"mirror_{degrees}")
    if mirror:
        assert abs(found["rocker"] - mirror["rocker"]) > 1


def test_the_whole_crank_turn_stays_on_the_authored_branch(crank_rocker: rc.Robot, crank_turn: list) -> None:
    """The closed form with the authored sign, at every integer degree, and coupler above the diagonal throughout."""
    assert len(crank_turn) == 361
    for degrees, q in enumerate(crank_turn):
        angle = math.radians(degrees)
        tip = C02["crank"] * np.array([math.cos(angle), math.sin(angle)])
        diagonal = tip - [C02["ground"], 0]
        reach = float(np.linalg.norm(diagonal))
        opening = math.acos((C02["rocker"] ** 2 + reach**2 - C02["coupler"] ** 2) / (2 * C02["rocker"] * reach))
        wanted = math.atan2(diagonal[1], diagonal[0]) - opening
        found = absolute(crank_rocker, q)["rocker"]
        assert math.remainder(found - wanted, math.tau) == pytest.approx(0, abs=1e-10), degrees
        assert 0 < found < math.pi, degrees  # continuous with the rest pose: no whole turn, never the mirror
        assert q[crank_rocker.coordinates.index("crank")] == angle  # held bit for bit
    back = crank_turn[360] - crank_turn[0]  # a whole turn of the crank is closed as it stands: nothing else moves
    for name, turns in {"crank": 1, "j_coupler": 0, "tip": 0, "rocker": 0}.items():
        assert back[crank_rocker.coordinates.index(name)] == pytest.approx(turns * math.tau, abs=1e-10), name


def test_an_assembled_state_comes_back_bit_for_bit(crank_rocker: rc.Robot, crank_turn: list) -> None:
    for q in crank_turn:
        np.testing.assert_array_equal(crank_rocker.assemble(q), q)


def test_rocker_range_and_least_transmission_angle(crank_rocker: rc.Robot, crank_turn: list) -> None:
    """The case's range is that over the integer degrees; the true extremes lie where crank and coupler line up."""
    robot, expected = crank_rocker, load_case("c02")["expected"]

    def dead_centre(low: float, high: float) -> float:
        q, sign = crank_turn[round(math.degrees(low))], np.sign(rates[round(math.degrees(low))])
        for _ in range(60):
            middle = (low + high) / 2
            q = robot.assemble(robot.configuration({"crank": middle}, base=q))
            low, high = (middle, high) if row(robot, q, "rocker")[0] * sign > 0 else (low, middle)
        return robot.joint(q, "rocker")

    rates = np.array([row(robot, q, "rocker")[0] for q in crank_turn])
    turning = np.flatnonzero(np.sign(rates[1:]) != np.sign(rates[:-1]))
    assert len(turning) == 2
    extremes = [dead_centre(math.radians(int(k)), math.radians(int(k) + 1)) for k in turning]
    ground, rocker = C02["ground"], C02["rocker"]
    lined_up = [C02["coupler"] + sign * C02["crank"] for sign in (1, -1)]
    wanted = [math.pi - math.acos((ground**2 + rocker**2 - L**2) / (2 * ground * rocker)) for L in lined_up]
    np.testing.assert_allclose(sorted(extremes), wanted, rtol=0, atol=1e-10)
    sampled = [robot.joint(q, "rocker") for q in crank_turn]
    np.testing.assert_allclose([min(sampled), max(sampled)], expected["rocker_range"], rtol=0, atol=1e-8)
    angles = [absolute(robot, q) for q in crank_turn]
    transmission = [abs(math.degrees(math.remainder(a["rocker"] - a["coupler"], math.pi))) for a in angles]
    assert min(transmission) == pytest.approx(expected["min_transmission_deg"], abs=2e-5)


def test_a_limit_is_reported_with_the_wanted_value_and_not_evaded(build_folder: Path) -> None:
    case = load_case("c42")
    robot = built(build_folder, fourbar("c42", C02, C02_REST, limits={"position": [-2.6, 1.5]}))
    with pytest.raises(rc.AssemblyError, match="rocker") as caught:
        robot.assemble(robot.configuration({"crank": math.pi}))
    error = caught.value
    value, lower, upper = error.limits["rocker"]
    assert (lower, upper) == (-2.6, 1.5)
    assert value == pytest.approx(2.275237939, abs=1e-8)
    assert error.joint == "rocker"
    assert error.q[robot.coordinates.index("rocker")] == value
    assert np.abs(robot.residual(error.q)).max() < 1e-12  # what was wanted is assembled
    mirror = case["wrong_answers_of_naive_code"]["mirror_returned"]
    assert lower < mirror < upper and abs(value - mirror) > 4  # the mirror would have passed the limits
    inside = robot.assemble(robot.configuration({"crank": math.pi / 2}))
    assert robot.joint(inside, "rocker") == pytest.approx(1.343634222, abs=1e-8)


# --- C03: past the toggle -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def double_rocker(build_folder: Path) -> rc.Robot:
    lengths = {"ground": 1.0, "crank": 0.5, "coupler": 0.6, "rocker": 0.5}
    return built(build_folder, fourbar("c03", lengths, {"crank": 0.6, "coupler": 0.42, "rocker": 1.67}))


@pytest.mark.parametrize("degrees", [100, 150, -100])
def test_past_the_toggle_the_smallest_gap_is_reported(degrees: int, double_rocker: rc.Robot) -> None:
    robot = double_rocker
    wanted = load_case("c03")["expected"][f"gap_at_{abs(degrees)}deg"]
    given = robot.configuration({"crank": math.radians(degrees)})
    kept = given.copy()
    with pytest.raises(rc.AssemblyError) as caught:
        robot.assemble(given)
    error = caught.value
    ((metres, radians),) = error.gap.values()
    assert metres == pytest.approx(wanted, rel=1e-8)
    assert radians == pytest.approx(0, abs=1e-7)
    assert error.joint in error.gap
    assert 0 <= error.eta < 1
    assert np.all(np.isfinite(error.q)) and np.abs(error.q).max() < 2 * math.pi  # not wound up
    assert robot.joint(error.q, "crank") == math.radians(degrees)
    np.testing.assert_array_equal(given, kept)
    after = robot.assemble(robot.configuration({"crank": 0.6}))  # the next call starts afresh
    assert robot.joint(after, "rocker") == pytest.approx(robot.joint(robot.reference, "rocker"), abs=1e-12)


def test_the_toggle_is_where_the_case_says(double_rocker: rc.Robot) -> None:
    robot, expected = double_rocker, load_case("c03")["expected"]
    limit = expected["crank_limit_deg"]
    assert expected["feasible_at_87deg"]
    for degrees in (87.0, limit - 1e-3):
        q = robot.assemble(robot.configuration({"crank": math.radians(degrees)}))
        assert np.abs(robot.residual(q)).max() < 1e-12
        assert robot.joint(q, "crank") == math.radians(degrees)
    with pytest.raises(rc.AssemblyError):
        robot.assemble(robot.configuration({"crank": math.radians(limit + 1e-3)}))


# --- C06, C13, C24: velocities and accelerations from the lift ------------------------------------------------------


def test_accelerations_of_the_four_bar_by_differencing_its_velocities(build_folder: Path) -> None:
    case = load_case("c13")
    robot = case_robot(build_folder, case)
    q, u = at_state(robot, case), np.array([2.0])
    spin = rate_of(lambda x: np.array([robot.task_jacobian(b, x)[1] @ u for b in ("coupler", "rocker")]), robot, q, u)
    expected = [case["expected"]["coupler_abs_acc"], case["expected"]["rocker_abs_acc"]]
    np.testing.assert_allclose(-spin, expected, rtol=1e-8)  # the hinges turn about -y
    wrong = case["wrong_answers_of_naive_code"]["spatial_bias"]
    assert np.all(np.abs(-spin - [wrong["coupler"], wrong["rocker"]]) > 0.3)


@pytest.mark.parametrize("name", ["c01", "c06", "c13"])
def test_the_effort_that_a_moving_four_bar_needs(name: str, build_folder: Path) -> None:
    case = load_case(name)
    robot = case_robot(build_folder, case)
    effort = inverse_effort(robot, case_mechanism(case), at_state(robot, case), np.array([2.0]))[0]
    assert effort == pytest.approx(case["expected"].get("tau_u2_ud0", case["expected"].get("tau")), rel=1e-8)
    for wrong in (3.7193700232422637, load_case("c01")["expected"]["gravity_torque"]):  # spatial bias; no bias
        assert abs(effort - wrong) > 0.01


# --- C21, C22, C23: platforms ---------------------------------------------------------------------------------------


def test_the_two_cranks_joined_by_a_rod(compiled) -> None:
    case, robot = load_case("c21"), compiled("rssr")
    records = read_mechanism(MODELS / "rssr.yaml")
    assert (case_mechanism(case).bodies, case_mechanism(case).joints) == (records.bodies, records.joints)
    q, expected = at_state(robot, case), case["expected"]
    R, p = robot.pose("rd", q)
    np.testing.assert_allclose(p, case["state"]["rod_ball_A"], rtol=0, atol=1e-9)
    tip = p + R @ [case["state"]["rod_length"], 0, 0]
    np.testing.assert_allclose(tip, case["state"]["rod_ball_B"], rtol=0, atol=1e-9)
    assert row(robot, q, "j1")[0] == pytest.approx(1, abs=1e-14)
    ratio = row(robot, q, "j2")[0]
    assert ratio == pytest.approx(expected["phi_dot_over_theta_dot"], rel=1e-9)
    J = robot.task_jacobian("rd", q)[:3]
    along = R[:, 0]
    spin, slope = J[:, 1] @ along, J[:, 0] @ along
    np.testing.assert_allclose(J[:, 1], spin * along, rtol=0, atol=1e-12)
    F = np.array([[1.0, 0.0], [-slope / spin, 1.0 / spin]])  # to (j1, spin about the rod with no other share of it)
    inertia = F.T @ reduced_inertia(robot, records, q) @ F
    np.testing.assert_allclose(inertia, expected["Mr_j1_spin"], rtol=0, atol=1e-9)
    gravity = (F.T @ gravity_effort(robot, records, q))[0]
    assert -gravity / inertia[0, 0] == pytest.approx(expected["udot_j1_gravity"], rel=1e-7)


def test_the_platform_at_its_pose(build_folder: Path) -> None:
    case = load_case("c22")
    case["model"].pop("note")
    records = case_mechanism(case, reference={"joints": {f"p{k}": 0.65 for k in range(6)}})
    robot = built(build_folder, records, tuple(f"p{k}" for k in range(6)))
    lengths = case["expected"]["leg_lengths"]
    assert robot.independent == tuple(f"p{k}" for k in range(6))
    q = robot.assemble(robot.configuration({f"p{k}": length for k, length in enumerate(lengths)}))
    R, p = robot.pose("plat", q)
    roll, pitch, yaw = 0.1, -0.05, 0.2
    turn = _z(yaw) @ _y(pitch) @ _x(roll)
    np.testing.assert_allclose(p, [0.03, -0.02, 0.6], rtol=0, atol=3e-9)  # the lengths are given to 1e-9
    np.testing.assert_allclose(R, turn, rtol=0, atol=1e-8)
    forces = gravity_effort(robot, records, q)
    np.testing.assert_allclose(forces, case["expected"]["hold_forces"], rtol=1e-7)
    assert abs(forces[0] - case["expected"]["hold_forces_massless_legs"][0]) > 5
    inertia = reduced_inertia(robot, records, q)
    np.testing.assert_allclose(np.diag(inertia), case["expected"]["Mr_diag"], rtol=1e-7)
    np.testing.assert_allclose(np.linalg.eigvalsh(inertia), case["expected"]["Mr_eigs"], rtol=1e-7)


def _x(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def _y(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def _z(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def test_the_delta_carries_its_plate_without_turning_it(compiled) -> None:
    case, robot = load_case("c23"), compiled("delta")
    mine, theirs = case_mechanism(case), read_mechanism(MODELS / "delta.yaml")
    assert mine.bodies == theirs.bodies
    assert [(j.type, j.a, j.b, j.axis) for j in mine.joints] == [(j.type, j.a, j.b, j.axis) for j in theirs.joints]
    expected = case["expected"]
    home = expected["home_pose_0_0_m0p45"]
    q = robot.assemble(robot.configuration(dict.fromkeys(("m0", "m1", "m2"), home["motor"])))
    np.testing.assert_allclose(robot.pose("plate", q)[1], [0, 0, -0.45], rtol=0, atol=2e-9)
    np.testing.assert_allclose(gravity_effort(robot, theirs, q)[:3], home["hold"], rtol=1e-7)
    q = robot.assemble(robot.configuration({f"m{k}": angle for k, angle in enumerate(expected["motor_angles"])}))
    R, p = robot.pose("plate", q)
    np.testing.assert_allclose(p, [0.08, -0.05, -0.5], rtol=0, atol=2e-9)
    np.testing.assert_allclose(R, np.eye(3), rtol=0, atol=1e-12)
    J = robot.task_jacobian("plate", q)
    np.testing.assert_allclose(J[:3], expected["plate_angular_rate"], atol=1e-12)
    np.testing.assert_allclose(J[3:, :3], expected["dplate_dmotor"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(gravity_effort(robot, theirs, q)[:3], expected["hold_torques"], rtol=1e-7)


def test_quaternion_helper_turns_one_direction_into_the_other(compiled) -> None:
    """A ball seeded far off by hand comes back where it must: the rod of the RSSR points from one ball to the other."""
    robot, case = compiled("rssr"), load_case("c21")
    a, b = np.array(case["state"]["rod_ball_A"]), np.array(case["state"]["rod_ball_B"])
    crank, _ = robot.pose("cr", robot.reference)
    ball = quaternion_between(np.array([1.0, 0, 0]), crank.T @ (b - a))
    q = robot.assemble(robot.configuration({"s1": ball}))
    R, p = robot.pose("rd", q)
    np.testing.assert_allclose(p + R @ [case["state"]["rod_length"], 0, 0], b, rtol=0, atol=1e-9)
