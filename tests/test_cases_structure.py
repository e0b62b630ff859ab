"""Mobility, rank, lifts and conventions of small mechanisms from public bug reports (tests/data/cases).

Every test states the right value and the wrong one that plausible code gives.
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from case_models import (
    at_state,
    built,
    case_mechanism,
    case_robot,
    column,
    gravity_effort,
    load_case,
    mechanism,
    reduced_inertia,
    row,
)

from robocompiler.compiler import run_front_end
from robocompiler.errors import ModelError

LOOP = ("c01", "c06", "c11", "c13")  # the same four-bar with other inertias


# --- C01, C06, C11, C13, C34: a planar loop of 3-D hinges -----------------------------------------------------------


@pytest.mark.parametrize("name", LOOP)
def test_a_planar_loop_of_hinges_moves_although_counting_says_it_cannot(name: str, build_folder: Path) -> None:
    expected = load_case("c01")["expected"]
    report = case_robot(build_folder, load_case(name)).rank_report
    bodies, hinges = 3, 4
    assert 6 * bodies - 5 * hinges == expected["gruebler_count"] == -2  # what counting gives
    assert report.freedoms == expected["mobility"] == 1
    assert report.rows == expected["loop_rows"]
    assert report.rank == expected["loop_rank"]
    assert report.rows - report.rank == expected["redundant_rows"]
    assert report.smallest_kept > 1e-2
    assert report.largest_dropped < 1e-12


@pytest.mark.parametrize("name", LOOP)
def test_lift_of_the_four_bar(name: str, build_folder: Path) -> None:
    robot, expected = case_robot(build_folder, load_case(name)), load_case("c01")["expected"]["E"]
    q = at_state(robot, load_case(name))
    assert robot.independent == ("j_ga",)
    for joint, speed in expected.items():
        assert row(robot, q, joint)[0] == pytest.approx(speed, rel=1e-9), joint


def test_the_four_bar_does_not_depend_on_the_order_of_its_joints(build_folder: Path) -> None:
    case = load_case("c11")
    turned = copy.deepcopy(case)
    turned["model"]["joints"] = dict(reversed(case["model"]["joints"].items()))
    turned["model"]["bodies"] = dict(reversed(case["model"]["bodies"].items()))
    one = case_robot(build_folder, case)
    other = built(build_folder, case_mechanism(turned, "c11_reversed"), ("j_ga",))
    assert one.coordinates == other.coordinates  # what is derived follows the names, not the order of the file
    p, q = at_state(one, case), at_state(other, turned)
    for body in case["model"]["bodies"]:
        np.testing.assert_allclose(one.task_jacobian(body, p), other.task_jacobian(body, q), rtol=0, atol=1e-12)
    for joint in case["model"]["joints"]:
        assert row(one, p, joint)[0] == pytest.approx(row(other, q, joint)[0], rel=1e-10)


def test_swapped_sides_and_negated_axes_change_signs_and_nothing_else(build_folder: Path) -> None:
    case, plain = load_case("c34"), load_case("c01")
    signs = {
        name: float(np.sign(case["expected"]["E"][name] * plain["expected"]["E"][name]))
        for name in plain["expected"]["E"]
    }
    case["state"] = {name: signs[name] * value for name, value in plain["state"].items() if name in signs}
    robot, original = case_robot(build_folder, case, ("j_ga",)), case_robot(build_folder, plain)
    q, q_plain = at_state(robot, case), at_state(original, plain)
    for joint, speed in case["expected"]["E"].items():
        assert row(robot, q, joint)[0] == pytest.approx(speed, rel=1e-9), joint
    assert {name for name, sign in signs.items() if sign < 0} == {"j_ab", "j_bc", "j_cg"}
    for body in case["model"]["bodies"]:
        for mine, theirs in zip(robot.pose(body, q), original.pose(body, q_plain), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12, err_msg=body)
        np.testing.assert_allclose(robot.task_jacobian(body, q), original.task_jacobian(body, q_plain), atol=1e-11)
    assert reduced_inertia(robot, case_mechanism(case), q)[0, 0] == pytest.approx(case["expected"]["Mr"], rel=1e-9)


@pytest.mark.parametrize("name", ["c01", "c06", "c41"])
def test_statics_and_inertia_of_planar_loops_follow_from_the_body_jacobians(name: str, build_folder: Path) -> None:
    case = load_case(name)
    robot, records = case_robot(build_folder, case, ("j_ga",) if name != "c41" else ("a",)), case_mechanism(case)
    q, expected = at_state(robot, case), case["expected"]
    hold = expected["hold_torque"] if name == "c41" else expected["gravity_torque"]
    assert reduced_inertia(robot, records, q)[0, 0] == pytest.approx(expected["Mr"], rel=1e-9)
    assert gravity_effort(robot, records, q)[0] == pytest.approx(hold, rel=1e-8)
    if name == "c41":
        wrong = case["wrong_answers_of_naive_code"]["tree_rnea_crank_row"]
        assert abs(gravity_effort(robot, records, q)[0] - wrong) > 0.5


# --- C09, C10: a remote elbow drive ---------------------------------------------------------------------------------


def test_port_velocity_map_of_the_remote_elbow_drive(build_folder: Path) -> None:
    case = load_case("c10")
    robot = case_robot(build_folder, case, ("m1", "el"))
    q, expected = at_state(robot, case), case["expected"]
    assert robot.independent == ("m1", "el")
    A = column(robot, q, ("m1", "m2"))
    np.testing.assert_allclose(A, expected["port_velocity_map_from_m1_el"], rtol=0, atol=1e-12)
    effort = gravity_effort(robot, case_mechanism(case), q)
    np.testing.assert_allclose(effort, expected["gravity_m1_el"], rtol=1e-9)
    motors = np.linalg.solve(A.T, effort)  # tau = A^T f
    np.testing.assert_allclose(motors, expected["gravity_m1_m2"], rtol=1e-9)
    wrong = case["wrong_answers_of_naive_code"]
    np.testing.assert_allclose(A @ effort, wrong["effort_with_velocity_matrix"], rtol=1e-9)  # that is the mistake
    for other in wrong.values():
        assert np.abs(motors - other).max() > 1.0


def test_the_remote_elbow_drive_in_the_chart_of_its_motors(build_folder: Path) -> None:
    case = load_case("c10")
    robot = case_robot(build_folder, case, ("m1", "m2"))
    q, records, expected = at_state(robot, case), case_mechanism(case), case["expected"]
    order = [robot.independent.index(name) for name in ("m1", "m2")]
    np.testing.assert_allclose(gravity_effort(robot, records, q)[order], expected["gravity_m1_m2"], rtol=1e-9)
    inertia = reduced_inertia(robot, records, q)[np.ix_(order, order)]
    np.testing.assert_allclose(inertia, expected["Mr_m1_m2"], rtol=1e-8)


def test_rotor_inertia_goes_through_the_transmission_as_a_congruence(build_folder: Path) -> None:
    case = load_case("c09")
    robot = built(build_folder, case_mechanism(load_case("c10")), ("m1", "el"))  # the same linkage
    assert case["model"] == load_case("c10")["model"]
    q, expected = at_state(robot, case), case["expected"]
    A, rotors = column(robot, q, ("m1", "m2")), np.diag([5e-5 * 50**2, 3e-5 * 60**2])
    links = reduced_inertia(robot, case_mechanism(case), q)
    np.testing.assert_allclose(links, expected["Mr_without_rotors_in_m1_el"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(A.T @ rotors @ A, expected["rotor_part"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(links + A.T @ rotors @ A, expected["Mr_total"], rtol=0, atol=1e-9)
    diagonal = case["wrong_answers_of_naive_code"]["diagonal_rotors"]
    assert np.abs(links + A.T @ rotors @ A - diagonal).max() > 0.1


# --- C18: axes ------------------------------------------------------------------------------------------------------


def _slider(axis: list[float] | None) -> dict[str, object]:
    joint = {"type": "prismatic", "a": "world", "b": "load", **({} if axis is None else {"axis": axis})}
    return {"bodies": {"load": {"mass": 2.0}}, "joints": {"slide": joint}}


def test_the_length_of_an_axis_does_not_scale_the_motion(build_folder: Path) -> None:
    case = load_case("c18")
    records = mechanism("c18", _slider([0, 3, 4]))
    robot = built(build_folder, records)
    q = robot.assemble(robot.configuration({"slide": 0.1}))
    _, p = robot.pose("load", q)
    np.testing.assert_allclose(p, case["expected"]["displacement"], rtol=0, atol=1e-15)
    assert np.abs(p - case["wrong_answers_of_naive_code"]["scaled"]).max() > 0.1
    assert reduced_inertia(robot, records, q)[0, 0] == pytest.approx(case["expected"]["M"], rel=1e-14)


@pytest.mark.parametrize("axis", [[0, 0, 0], None])
def test_a_zero_or_absent_axis_is_an_error(axis: list[float] | None) -> None:
    with pytest.raises(ModelError, match="axis"):
        mechanism("c18", _slider(axis))


# --- C21, C22, C23: idle freedoms of platforms ----------------------------------------------------------------------


def test_universals_make_the_platform_six_fold_and_balls_make_it_twelve_fold() -> None:
    case = load_case("c22")
    model = case["model"]
    model.pop("note")
    front = run_front_end(case_mechanism(case, reference=home_of_the_platform()))
    assert len(front.reduction.chart("port").independent) == case["expected"]["mobility"] == 6
    balls = copy.deepcopy(model)
    for k in range(6):
        joint = balls["joints"][f"u{k}"]
        joint["type"] = "spherical"
        del joint["axis"], joint["axis2"]
    spun = run_front_end(mechanism("c22_balls", balls, reference=home_of_the_platform()))
    assert (
        len(spun.reduction.chart("port").independent) == case["expected"]["mobility_if_universals_become_ball_joints"]
    )


def home_of_the_platform() -> dict[str, object]:
    """All legs 0.65 m long, the case's mean: a symmetric pose of the platform."""
    return {"joints": {f"p{k}": 0.65 for k in range(6)}}


def test_the_delta_has_three_useful_and_six_idle_freedoms(compiled) -> None:
    robot, expected = compiled("delta"), load_case("c23")["expected"]
    assert robot.rank_report.freedoms == expected["mobility"] == 9
    assert robot.independent[:3] == ("m0", "m1", "m2")
    idle = np.array([robot.task_jacobian("plate", robot.reference)[:, k] for k in range(3, 9)])
    np.testing.assert_allclose(idle, 0, atol=1e-12)  # spinning rods move no plate
    rods = [f"rod{k}{side}" for k in range(3) for side in "lr"]
    spins = np.array([robot.task_jacobian(rod, robot.reference)[:3, 3:] for rod in rods]).reshape(-1, 6)
    assert np.linalg.matrix_rank(spins, tol=1e-6) == 6


def test_the_rod_between_two_balls_keeps_its_spin(compiled) -> None:
    robot, expected = compiled("rssr"), load_case("c21")["expected"]
    assert robot.rank_report.freedoms == expected["mobility"] == 2
    E = robot.lift(robot.reference)
    assert np.linalg.matrix_rank(E[:, 1:], tol=1e-9) == 1
    np.testing.assert_allclose(E[[robot.velocities.index(j) for j in ("j1", "j2")], 1], 0, atol=1e-12)


# --- C05, C14, C24, C27, C40: other structures ----------------------------------------------------------------------


def test_a_body_fixed_to_another_moves_with_it(build_folder: Path) -> None:
    """C05 in part: the child's frame is turned and offset; its inertia counts at the hinge of the parent."""
    case = load_case("c05")
    c, s = np.cos(0.6), np.sin(0.6)  # inertial rpy (0, .6, 0) written out, since a record's inertia is in body axes
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    tensor = turn @ np.diag([0.004, 0.006, 0.008]) @ turn.T
    place = {"body": "parent", "xyz": [0.2, -0.1, 0.15], "rpy": [0.3, 0.2, -0.5]}
    model = {
        "bodies": {
            "parent": {"mass": 3, "com": [0.1, 0, 0.02], "inertia": [0.02, 0.03, 0.04]},
            "child": {
                "mass": 1.2,
                "com": [0.03, 0.06, -0.04],
                "inertia": [float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))],
            },
        },
        "joints": {
            "hinge": {"type": "revolute", "a": "world", "b": "parent", "axis": [0, 1, 0]},
            "weld": {"type": "fixed", "a": place, "b": "child"},
        },
    }
    records = mechanism("c05", model)
    robot = built(build_folder, records)
    inertia = reduced_inertia(robot, records, robot.reference)[0, 0]
    assert inertia == pytest.approx(case["expected"]["M_hinge_y_at_parent_origin"], rel=1e-9)
    assert abs(inertia - case["wrong_answers_of_naive_code"]["no_rotation_M_hinge_y"]) > 0.01


@pytest.mark.parametrize("branch", [0, 1])
def test_a_ball_between_two_hinged_arms_locks_them_in_either_branch(branch: int, build_folder: Path) -> None:
    """C14, site form: two sites held together; the default pose is open and must not be taken for closed."""
    expected = load_case("c14")["expected"]
    wanted = np.array(expected["site_assembled"])[branch]
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    sites = {"a": {"body": "a", "xyz": [0.4, 0, 0.1]}, "b": {"body": "b", "xyz": [-0.2, 0, 0.25]}}
    model = {
        "bodies": {"a": {"mass": 1, "inertia": [1, 1, 1]}, "b": {"mass": 1, "inertia": [1, 1, 1]}},
        "joints": {
            "ja": {**hinge, "a": "world", "b": "a"},
            "jb": {**hinge, "a": {"body": "world", "xyz": [0.5, 0, 0]}, "b": "b"},
            "site": {"type": "spherical", **sites},
        },
        "reference": {"joints": {"ja": round(float(wanted[0]), 1), "jb": round(float(wanted[1]), 1)}},
    }
    robot = built(build_folder, mechanism(f"c14_{branch}", model))
    assert robot.rank_report.freedoms == expected["site_mobility"] == 0
    np.testing.assert_allclose([robot.joint(robot.reference, j) for j in ("ja", "jb")], wanted, rtol=0, atol=1e-7)
    flat = robot.configuration({"ja": 0.0, "jb": 0.0, "site": [1, 0, 0, 0]})
    rho = robot.residual(flat)
    np.testing.assert_allclose(np.abs(rho[3:]), np.abs(expected["site_residual_at_0"]), rtol=0, atol=1e-12)


def test_a_cylinder_in_a_loop_of_hinges(build_folder: Path) -> None:
    case = load_case("c24")
    robot = cylinder_robot(build_folder)
    expected, q = case["expected"], at_state(robot, case)
    assert robot.independent == ("hb",)
    assert expected["gruebler"] == 6 * 3 - 5 * 4
    assert robot.rank_report.freedoms == expected["mobility"] == 1
    assert robot.joint(q, "cy") == pytest.approx(case["state"]["cylinder_length"], rel=1e-12)
    lever = row(robot, q, "cy")[0]
    assert lever == pytest.approx(expected["dl_dtheta"], rel=1e-10)
    records = case_mechanism(case)
    inertia, torque = reduced_inertia(robot, records, q)[0, 0], gravity_effort(robot, records, q)[0]
    assert inertia == pytest.approx(expected["Mr_hinge"], rel=1e-9)
    assert inertia / lever**2 == pytest.approx(expected["Mr_cylinder"], rel=1e-9)
    assert torque == pytest.approx(expected["hold_torque"], rel=1e-9)
    force = torque / lever
    assert force == pytest.approx(expected["hold_force"], rel=1e-9)
    wrong = case["wrong_answers_of_naive_code"]
    for name in ("lever_arm_guess_force", "cylinder_mass_ignored_force"):
        assert abs(force - wrong[name]) > 100


def cylinder_robot(folder: Path):
    """C24 with the joints that its state leaves out roughly placed."""
    return case_robot(folder, load_case("c24"), ("hb",), {"ft": 0.9, "cy": 0.8, "eye": -0.5})


def test_two_actuators_on_one_freedom(build_folder: Path) -> None:
    """C40: the map of hinge motor and cylinder, and the distribution that it allows."""
    expected = load_case("c40")["expected"]
    robot = cylinder_robot(build_folder)
    q = at_state(robot, load_case("c24"))
    B = column(robot, q, ("hb", "cy"))[:, 0]
    np.testing.assert_allclose(B, expected["B"], rtol=1e-9)
    torque = gravity_effort(robot, case_mechanism(load_case("c24")), q)[0]
    np.testing.assert_allclose(B * torque / (B @ B), expected["min_norm"], rtol=1e-9)
    W = np.array([1, 1e-4])
    np.testing.assert_allclose(B / W * torque / (B @ (B / W)), expected["weighted_W_1_1e_4"], rtol=1e-7)
    assert B @ expected["null_direction"] == pytest.approx(0, abs=1e-9)


def test_a_coupling_of_three_joints(build_folder: Path) -> None:
    case = load_case("c27")
    robot, records = case_robot(build_folder, case, ("q1", "q2")), case_mechanism(case)
    assert robot.rank_report.freedoms == case["expected"]["mobility"] == 2
    state = {name: case["state"][name] for name in ("q1", "q2", "q3")}
    start = robot.configuration(state)
    assert robot.residual(start)[0] == pytest.approx(0.2, abs=1e-15)  # the state violates the coupling on purpose
    q = robot.assemble(start, hold=["q1", "q2"])
    assert robot.joint(q, "q3") == pytest.approx(0.0, abs=1e-13)
    assert (robot.joint(q, "q1"), robot.joint(q, "q2")) == (0.3, -0.1)
    np.testing.assert_array_equal(robot.assemble(start), q)
    inertia = reduced_inertia(robot, records, q)
    np.testing.assert_allclose(inertia, case["expected"]["Mr"], rtol=1e-12)
    np.testing.assert_allclose(row(robot, q, "q3"), [0.5, 0.5], rtol=0, atol=1e-15)
    assert abs(inertia[0, 1]) > 1e-3  # q3 following q1 alone would leave it diagonal
