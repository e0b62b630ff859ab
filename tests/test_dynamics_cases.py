"""Inertias, efforts and accelerations of the public bug reports' mechanisms (tests/data/cases), from the compiled code.

Where a case lists what naive code gives, the wrong number must not come out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from casadi_mechanics import CasadiMechanics
from case_models import at_state, built, case_mechanism, case_robot, load_case, mechanism

import robocompiler as rc
from robocompiler.records.reader import read_mechanism

NONE = np.zeros(0)
MODELS = Path(__file__).resolve().parent.parent / "models"


# --- planar four-bars: C01, C06, C11, C13, C41 ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["c01", "c06", "c11"])
def test_four_bar(name: str, build_folder: Path) -> None:
    """C06 has a massless coupler, C11 an armature on every joint that a tree may cut."""
    case = load_case(name)
    robot = case_robot(build_folder, case)
    q, u, expected = at_state(robot, case), np.array([2.0]), case["expected"]
    assert robot.mass_matrix(q)[0, 0] == pytest.approx(expected["Mr"], rel=1e-9)
    assert robot.inverse_dynamics(q, u, [0.0])[0] == pytest.approx(expected["tau_u2_ud0"], rel=1e-9)
    assert robot.bias(q, u)[0] == robot.inverse_dynamics(q, u, [0.0])[0]
    if "gravity_torque" in expected:
        assert robot.bias(q, [0.0])[0] == pytest.approx(expected["gravity_torque"], rel=1e-9)
        assert robot.forward_dynamics(q, u, NONE)[0] == pytest.approx(expected["udot_u2_tau0"], rel=1e-9)
    for wrong in case["wrong_answers_of_naive_code"].get("cut_joint_armature_lost", {}).values():
        assert abs(robot.mass_matrix(q)[0, 0] - wrong) > 1e-4


def test_an_armature_counts_once_whatever_is_cut(build_folder: Path) -> None:
    """All four joints carry rotors: one of them is cut, and the chord is kept for it."""
    case = load_case("c11")
    rotors = {"j_ga": 0.005, "j_ab": 0.003, "j_bc": 0.001, "j_cg": 0.02}
    joints = {name: {**joint, "armature": rotors[name]} for name, joint in case["model"]["joints"].items()}
    model = {**case["model"], "joints": joints}
    robot = built(build_folder, mechanism("c11_all", model, reference=_reference(case)), ("j_ga",))
    q = at_state(robot, case)
    E = load_case("c01")["expected"]["E"]
    wanted = load_case("c01")["expected"]["Mr"] + sum(rotors[name] * E[name] ** 2 for name in rotors)
    assert robot.mass_matrix(q)[0, 0] == pytest.approx(wanted, rel=1e-10)
    a = dict(zip(robot.velocities, robot.curvature(q, [2.0]), strict=True))
    plain = load_case("c01")["expected"]["tau_u2_ud0"]
    extra = sum(rotors[name] * E[name] * a[name] for name in rotors)
    assert robot.inverse_dynamics(q, [2.0], [0.0])[0] == pytest.approx(plain + extra, rel=1e-9)


def _reference(case: dict[str, Any]) -> dict[str, Any]:
    return {"joints": {k: v for k, v in case["state"].items() if k in case["model"]["joints"]}}


def test_classical_accelerations_of_the_four_bar(build_folder: Path) -> None:
    case = load_case("c13")
    robot = case_robot(build_folder, case)
    q, u, expected = at_state(robot, case), [2.0], case["expected"]
    wrong = case["wrong_answers_of_naive_code"]["spatial_bias"]
    for body in ("coupler", "rocker"):
        spin = robot.task_acceleration(body, q, u, [0.0])[1]
        assert abs(spin) == pytest.approx(expected[f"{body}_abs_acc"], rel=1e-9)
        assert abs(abs(spin) - wrong[body]) > 0.3
    tau = robot.inverse_dynamics(q, u, [0.0])[0]
    assert tau == pytest.approx(expected["tau"], rel=1e-9)
    assert abs(tau - wrong["tau"]) > 0.05


def test_gravity_compensation_at_the_motor_of_a_parallelogram(build_folder: Path) -> None:
    case = load_case("c41")
    robot = case_robot(build_folder, case, ("a",))
    q = at_state(robot, case)
    hold = robot.bias(q, [0.0])[0]
    assert hold == pytest.approx(case["expected"]["hold_torque"], rel=1e-11)
    assert robot.mass_matrix(q)[0, 0] == pytest.approx(case["expected"]["Mr"], rel=1e-11)
    assert abs(hold - case["wrong_answers_of_naive_code"]["tree_rnea_crank_row"]) > 0.5


# --- lumps, couplings and transmissions: C05, C07, C09, C10, C27, C39 -----------------------------------------------


def test_fixed_bodies_lump_with_their_frames_turned() -> None:
    """C05: mass, centre and inertia of the lump show in the inertia of a free body that carries it."""
    case = load_case("c05")
    c, s = np.cos(0.6), np.sin(0.6)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    I = turn @ np.diag([0.004, 0.006, 0.008]) @ turn.T  # noqa: E741 - the symbol of an inertia
    child = {
        "mass": 1.2,
        "com": [0.03, 0.06, -0.04],
        "inertia": [float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))],
    }
    bodies = {"parent": {"mass": 3, "com": [0.1, 0, 0.02], "inertia": [0.02, 0.03, 0.04]}, "child": child}
    place = {"body": "parent", "xyz": [0.2, -0.1, 0.15], "rpy": [0.3, 0.2, -0.5]}
    weld = {"type": "fixed", "a": place, "b": "child"}
    hinge = {"type": "revolute", "a": "world", "b": "parent", "axis": [0, 1, 0]}
    expected = case["expected"]
    hinged = CasadiMechanics.of(mechanism("c05_hinged", {"bodies": bodies, "joints": {"hinge": hinge, "weld": weld}}))
    inertia = hinged.mass(hinged.robot.reference)[0, 0]
    assert inertia == pytest.approx(expected["M_hinge_y_at_parent_origin"], rel=1e-12)
    assert abs(inertia - case["wrong_answers_of_naive_code"]["no_rotation_M_hinge_y"]) > 0.01
    root = {"type": "free", "a": "world", "b": "parent"}
    flying = CasadiMechanics.of(mechanism("c05_free", {"bodies": bodies, "joints": {"root": root, "weld": weld}}))
    M = flying.mass(flying.robot.reference)
    m, com = expected["mass"], np.array(expected["com"])
    xx, yy, zz, xy, xz, yz = expected["I_com_xx_yy_zz_xy_xz_yz"]
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    arm = np.cross(com, np.eye(3)).T  # com x
    wanted = np.block([[central - m * arm @ arm, m * arm], [-m * arm, m * np.eye(3)]])
    np.testing.assert_allclose(M, wanted, rtol=0, atol=1e-9)


def mimic(offset: float) -> dict[str, Any]:
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    return {
        "bodies": {
            "p": {"mass": 1.2, "com": [0.15, 0, 0], "inertia": [0.001, 0.012, 0.012]},
            "f": {"mass": 0.7, "com": [0.1, 0, 0.02], "inertia": [0.0005, 0.004, 0.004]},
        },
        "joints": {
            "j1": {**hinge, "a": "world", "b": "p"},
            "j2": {**hinge, "a": {"body": "p", "xyz": [0.3, 0, 0]}, "b": "f"},
        },
        "couplings": [{"terms": {"j2": 1.0, "j1": 1.5}, "constant": -offset}],
    }


def test_a_follower_with_multiplier_and_offset_on_its_leader(build_folder: Path) -> None:
    case = load_case("c07")
    robot = built(build_folder, mechanism("c07", mimic(0.25)), ("j1",))
    q = robot.assemble(robot.configuration({"j1": 0.4}))
    assert robot.joint(q, "j2") == pytest.approx(-0.35, abs=1e-14)
    expected = case["expected"]
    found = {
        "Mr": robot.mass_matrix(q)[0, 0],
        "tau": robot.inverse_dynamics(q, [1.3], [-0.4])[0],
        "gravity": robot.bias(q, [0.0])[0],
    }
    assert found["Mr"] == pytest.approx(expected["Mr"], rel=1e-10)
    assert found["tau"] == pytest.approx(expected["tau_v1p3_am0p4"], rel=1e-10)
    assert found["gravity"] == pytest.approx(expected["gravity"], rel=1e-10)
    assert robot.forward_dynamics(q, [1.3], NONE)[0] == pytest.approx(expected["udot_v1p3_tau0"], rel=1e-10)
    for name, value in case["wrong_answers_of_naive_code"]["offset_dropped"].items():
        assert abs(found[name] - value) > 1e-3


def test_rotors_act_through_their_transmission(build_folder: Path) -> None:
    case = load_case("c09")
    rotors = {"m1": 5e-5 * 50**2, "m2": 3e-5 * 60**2}
    joints = {k: {**j, "armature": rotors[k]} if k in rotors else j for k, j in case["model"]["joints"].items()}
    seed = {"joints": {"m1": 0.4, "m2": -0.9, "a": 1.3, "b": -0.5, "el": -1.3}}
    records = mechanism("c09_rotors", {**case["model"], "joints": joints}, reference=seed)
    robot, plain = built(build_folder, records, ("m1", "el")), built_linkage(build_folder, ("m1", "el"))
    q, expected = at_state(robot, case), case["expected"]
    total, bare = robot.mass_matrix(q), plain.mass_matrix(at_state(plain, case))
    np.testing.assert_allclose(bare, expected["Mr_without_rotors_in_m1_el"], rtol=1e-8)
    np.testing.assert_allclose(total, expected["Mr_total"], rtol=1e-8)
    np.testing.assert_allclose(total - bare, expected["rotor_part"], rtol=1e-8)
    diagonal = case["wrong_answers_of_naive_code"]["diagonal_rotors"]
    assert np.abs(total - diagonal).max() > 0.1


def built_linkage(folder: Path, independent: tuple[str, ...]) -> rc.Robot:
    return case_robot(folder, load_case("c10"), independent)


def test_efforts_of_the_remote_elbow_drive(build_folder: Path) -> None:
    """The elbow is driven from the base: its motor's share is L^-T of the joint torques, not a copy of them."""
    case = load_case("c10")
    expected = case["expected"]
    seed = {"joints": {"m1": 0.4, "m2": -0.9, "a": 1.3, "b": -0.5, "el": -1.3}}
    ports = {"shoulder": {"joint": "m1"}, "elbow": {"joint": "m2"}}
    robot = built(build_folder, case_mechanism(case, "c10_ports", ports=ports, reference=seed), ("m1", "el"))
    q = at_state(robot, case)
    np.testing.assert_allclose(robot.port_map(q), expected["port_velocity_map_from_m1_el"], rtol=0, atol=1e-12)
    gravity = robot.bias(q, np.zeros(2))
    np.testing.assert_allclose(gravity, expected["gravity_m1_el"], rtol=1e-9)
    efforts = robot.port_efforts(q, gravity)
    np.testing.assert_allclose(efforts, expected["gravity_m1_m2"], rtol=1e-9)
    for wrong in ("effort_with_velocity_matrix", "effort_copied"):
        assert np.abs(efforts - case["wrong_answers_of_naive_code"][wrong]).max() > 1
    np.testing.assert_allclose(robot.forward_dynamics(q, np.zeros(2), efforts), 0, rtol=0, atol=1e-10)
    motors = built_linkage(build_folder, ("m1", "m2"))
    at = at_state(motors, case)
    order = [motors.independent.index(name) for name in ("m1", "m2")]
    np.testing.assert_allclose(motors.bias(at, np.zeros(2))[order], expected["gravity_m1_m2"], rtol=1e-9)
    np.testing.assert_allclose(motors.mass_matrix(at)[np.ix_(order, order)], expected["Mr_m1_m2"], rtol=1e-8)


def test_a_differential_of_three_joints(build_folder: Path) -> None:
    case = load_case("c27")
    robot = case_robot(build_folder, case, ("q1", "q2"))
    q = robot.assemble(robot.configuration({"q1": 0.3, "q2": -0.1}))
    M = robot.mass_matrix(q)
    np.testing.assert_allclose(M, case["expected"]["Mr"], rtol=1e-12)
    assert abs(M[0, 1]) > 1e-3  # an o that follows i1 alone would leave it diagonal


def test_an_epicyclic_couples_relative_angles(build_folder: Path) -> None:
    case = load_case("c39")
    robot = case_robot(build_folder, case, ("c",))
    M = robot.mass_matrix(at_state(robot, case))[0, 0]
    assert pytest.approx(case["expected"]["Mr"], rel=1e-12) == M
    assert abs(M - case["wrong_answers_of_naive_code"]["absolute_angle_ratio"]) > 1e-4


# --- spatial cases: C21, C22, C23, C29, C30 -------------------------------------------------------------------------


def thin_rod(case: dict[str, Any], rod_spin: float) -> rc.records.model.Mechanism:
    records = read_mechanism(MODELS / "rssr.yaml")
    bodies = {name: dict(body) for name, body in case["model"]["bodies"].items()}
    bodies["rd"]["inertia"][0] = rod_spin
    reference = {"joints": dict(records.reference.coordinates)}
    return mechanism("c21_thin", {**case["model"], "bodies": bodies}, reference=reference)


def test_the_idle_spin_of_a_rod(compiled: Any) -> None:
    case, robot = load_case("c21"), compiled("rssr")
    q, expected = at_state(robot, case), case["expected"]
    assert robot.independent[0] == "j1"
    R = robot.pose("rd", q)[0]
    along = R[:, 0] @ robot.task_jacobian("rd", q)[:3]  # spin of the rod per independent speed
    F = np.array([[1.0, 0.0], [-along[0] / along[1], 1 / along[1]]])  # to (j1, spin of the rod alone)
    np.testing.assert_allclose(F.T @ robot.mass_matrix(q) @ F, expected["Mr_j1_spin"], rtol=0, atol=1e-9)
    udot = robot.forward_dynamics(q, np.zeros(2), np.zeros(len(robot.ports)))
    assert udot[0] == pytest.approx(expected["udot_j1_gravity"], rel=1e-8)


def test_a_thin_rod_is_reported_and_still_moves(build_folder: Path) -> None:
    """Spin inertia zero: accelerations are refused with the direction named, everything kinematic still works."""
    case = load_case("c21")
    robot = built(build_folder, thin_rod(case, 0.0), ("j1", "s1:wx"))
    assert robot.independent == ("j1", "s1:wx")
    assert any("s1:wx" in warning for warning in robot.warnings)
    q = at_state(robot, case)
    with pytest.raises(rc.RankError) as caught:
        robot.forward_dynamics(q, np.zeros(2), NONE)
    assert set(caught.value.report["direction"]) == {"s1:wx"}
    assert "s1:wx" in str(caught.value)
    E = robot.lift(q)
    ratio = E[robot.velocities.index("j2")] / E[robot.velocities.index("j1"), 0]
    np.testing.assert_allclose(ratio, [case["expected"]["phi_dot_over_theta_dot"], 0], rtol=0, atol=1e-8)
    M = robot.mass_matrix(q)
    assert abs(np.linalg.det(M)) < 1e-12 * M[0, 0] ** 2
    tau = robot.bias(q, np.zeros(2))
    assert -tau[0] / M[0, 0] == pytest.approx(case["expected"]["udot_j1_gravity"], rel=1e-6)


LEGS = tuple(f"p{k}" for k in range(6))


def platform(case: dict[str, Any]) -> rc.Robot:
    case["model"].pop("note", None)
    return case_mechanism(case, reference={"joints": dict.fromkeys(LEGS, 0.65)})


def test_hold_forces_and_inertia_of_the_platform(build_folder: Path) -> None:
    case = load_case("c22")
    robot, expected = built(build_folder, platform(case), LEGS), case["expected"]
    q = robot.assemble(robot.configuration(dict(zip(LEGS, expected["leg_lengths"], strict=True))))
    forces = robot.bias(q, np.zeros(6))
    np.testing.assert_allclose(forces, expected["hold_forces"], rtol=1e-7)
    assert abs(forces[0] - expected["hold_forces_massless_legs"][0]) > 5
    M = robot.mass_matrix(q)
    np.testing.assert_allclose(np.diag(M), expected["Mr_diag"], rtol=1e-7)
    np.testing.assert_allclose(np.linalg.eigvalsh(M), expected["Mr_eigs"], rtol=1e-7)
    np.testing.assert_array_equal(M, M.T)


def test_the_platform_on_massless_legs(build_folder: Path) -> None:
    """Twelve bodies without mass: their rows of a tree's inertia vanish, the reduced inertia is definite."""
    case = load_case("c22")
    heavy = built(build_folder, platform(case), LEGS)
    expected = case["expected"]
    q = heavy.assemble(heavy.configuration(dict(zip(LEGS, expected["leg_lengths"], strict=True))))
    home = heavy.assemble(heavy.configuration(dict.fromkeys(LEGS, 0.65)))
    for name in case["model"]["bodies"]:
        if name != "plat":
            case["model"]["bodies"][name] = {"mass": 0.0}
    values = dict(zip(heavy.coordinates, map(float, home), strict=True))
    light = CasadiMechanics.of(case_mechanism(case, "c22_light", reference={"joints": values}), LEGS)
    assert light.independent == LEGS
    order = [heavy.coordinates.index(name) for name in light.robot.topology.q_names]
    np.testing.assert_allclose(
        light.inverse(q[order], np.zeros(6), np.zeros(6)), expected["hold_forces_massless_legs"], rtol=1e-7
    )
    assert np.linalg.eigvalsh(light.mass(q[order])).min() > 0.1
    udot = light.forward(q[order], np.zeros(6), NONE)
    assert np.all(np.isfinite(udot)) and np.abs(udot).max() > 1  # it falls


def test_hold_torques_and_inertia_of_the_delta(compiled: Any) -> None:
    case, robot = load_case("c23"), compiled("delta")
    expected = case["expected"]
    q = robot.assemble(robot.configuration({f"m{k}": angle for k, angle in enumerate(expected["motor_angles"])}))
    assert len(robot.independent) == expected["mobility"]
    assert robot.independent[:3] == ("m0", "m1", "m2")
    h, M = robot.bias(q, np.zeros(9)), robot.mass_matrix(q)
    np.testing.assert_allclose(h[:3], expected["hold_torques"], rtol=1e-7)
    np.testing.assert_allclose(h[3:], 0, rtol=0, atol=1e-9)
    schur = M[:3, :3] - M[:3, 3:] @ np.linalg.solve(M[3:, 3:], M[3:, :3])  # the rods' spins are idle
    np.testing.assert_allclose(schur, expected["Mr"], rtol=2e-5)
    home = robot.assemble(
        robot.configuration(dict.fromkeys(("m0", "m1", "m2"), expected["home_pose_0_0_m0p45"]["motor"]))
    )
    np.testing.assert_allclose(robot.bias(home, np.zeros(9))[:3], expected["home_pose_0_0_m0p45"]["hold"], rtol=1e-7)


def free_body(folder: Path) -> tuple[rc.Robot, np.ndarray, np.ndarray]:
    body = {"mass": 4, "com": [0.03, -0.02, 0.05], "inertia": [0.05, 0.08, 0.1]}
    robot = built(
        folder,
        mechanism("c29", {"bodies": {"base": body}, "joints": {"root": {"type": "free", "a": "world", "b": "base"}}}),
    )
    half = np.array([0.3, -0.4, 0.8]) / 2
    (cr, cp, cy), (sr, sp, sy) = np.cos(half), np.sin(half)
    quaternion = [
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    ]
    q = robot.configuration({"root": [0.3, 0.1, 0.7, *quaternion]})
    return robot, q, robot.pose("base", q)[0]


def test_a_free_body_in_its_own_twist_and_in_world_velocities(build_folder: Path) -> None:
    expected = load_case("c29")["expected"]
    robot, q, R = free_body(build_folder)
    omega, v = np.array([0.5, -0.4, 0.6]), np.array([0.2, -0.1, 0.3])
    u = np.concatenate((omega, v))
    M, h = robot.mass_matrix(q), robot.bias(q, u)
    assert M[3, 1] == pytest.approx(expected["M04_body"], rel=1e-12)
    assert M[4, 0] == pytest.approx(expected["M13_body"], rel=1e-12)
    mixed = M[3:, :3].copy()
    assert (R @ mixed)[0, 1] == pytest.approx(expected["M04_world_linear"], rel=1e-9)
    assert (R @ mixed)[1, 0] == pytest.approx(expected["M13_world_linear"], rel=1e-9)
    np.testing.assert_allclose(np.concatenate((h[3:], h[:3])), expected["bias_body_spatial"], rtol=1e-9)
    # no acceleration of the origin in the world: its body components turn, vdot = -omega x v
    tau = robot.inverse_dynamics(q, u, np.concatenate((np.zeros(3), -np.cross(omega, v))))
    world = np.concatenate((R @ tau[3:], tau[:3]))
    np.testing.assert_allclose(world, expected["bias_world_linear"], rtol=1e-8)
    rotated_only = np.concatenate((R @ h[3:], h[:3]))
    assert np.abs(rotated_only - world).max() > 0.2  # the naive answer: the turning of v forgotten


def test_a_ball_is_not_three_hinges(build_folder: Path) -> None:
    case = load_case("c30")
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
    ones, none = np.ones(3), np.zeros(3)
    expected = case["expected"]
    torque = ball.inverse_dynamics(ball.reference, ones, none)
    np.testing.assert_allclose(torque, expected["ball_torque_at_omegadot_0"], rtol=0, atol=1e-15)
    at_rest = three.inverse_dynamics(three.reference, ones, none)
    np.testing.assert_allclose(at_rest, expected["three_hinge_xyz_torque_at_qdd_0"], rtol=0, atol=1e-15)
    alpha = three.task_acceleration("top", three.reference, ones, none)[:3]
    np.testing.assert_allclose(alpha, expected["omega_dot_bias_of_hinges"], rtol=0, atol=1e-15)
    assert np.abs(at_rest - torque).max() > 0.05


# --- actuated loops: C24, C40 ---------------------------------------------------------------------------------------


def boom(folder: Path, name: str, independent: str, ports: dict[str, Any]) -> rc.Robot:
    case = load_case("c24")
    seed = {"joints": {"hb": 0.35, "ft": 0.9, "cy": 0.8269, "eye": -0.5}}
    return built(folder, case_mechanism(case, name, ports=ports, reference=seed), (independent,))


def test_a_boom_on_its_cylinder_in_both_coordinates(build_folder: Path) -> None:
    case = load_case("c24")
    expected, wrong = case["expected"], case["wrong_answers_of_naive_code"]
    ends = [{"body": "world", "xyz": [0.4, 0, -0.3]}, {"body": "boom", "xyz": [0.9, 0, 0.12]}]
    ports = {"cylinder": {"joint": "cy"}, "rope": {"distance": ends}, "motor": {"joint": "hb"}}
    robot = boom(build_folder, "c24_hinge", "hb", ports)
    q = at_state(robot, case)
    assert robot.mass_matrix(q)[0, 0] == pytest.approx(expected["Mr_hinge"], rel=1e-9)
    assert robot.bias(q, [0.0])[0] == pytest.approx(expected["hold_torque"], rel=1e-9)
    assert robot.bias(q, [0.3])[0] == pytest.approx(expected["tau_u0p3"], rel=1e-9)
    L = robot.port_map(q)[:, 0]
    np.testing.assert_allclose(L, [expected["dl_dtheta"], expected["dl_dtheta"], 1.0], rtol=1e-9)
    np.testing.assert_allclose(robot.port_displacement(q)[:2], case["state"]["cylinder_length"], rtol=1e-9)
    for k, effort in enumerate([expected["hold_force"], expected["hold_force"], expected["hold_torque"]]):
        f = np.zeros(3)
        f[k] = effort
        np.testing.assert_allclose(robot.forward_dynamics(q, [0.0], f), 0, rtol=0, atol=1e-8)
        for name in ("lever_arm_guess_force", "cylinder_mass_ignored_force"):
            if k < 2:
                f[k] = wrong[name]
                assert abs(robot.forward_dynamics(q, [0.0], f)[0]) > 0.1
    by_length = boom(build_folder, "c24_length", "cy", {})
    at = by_length.assemble(q)
    assert by_length.independent == ("cy",)
    assert by_length.mass_matrix(at)[0, 0] == pytest.approx(expected["Mr_cylinder"], rel=1e-9)
    assert by_length.bias(at, [0.0])[0] == pytest.approx(expected["hold_force"], rel=1e-9)


def test_two_actuators_on_one_freedom(build_folder: Path) -> None:
    expected = load_case("c40")["expected"]
    ports = {"motor": {"joint": "hb"}, "cylinder": {"joint": "cy"}}
    robot = boom(build_folder, "c40_ports", "hb", ports)
    q = at_state(robot, load_case("c24"))
    np.testing.assert_allclose(robot.port_map(q)[:, 0], expected["B"], rtol=1e-9)
    tau = robot.bias(q, [0.0])
    np.testing.assert_allclose(robot.port_efforts(q, tau), expected["min_norm"], rtol=1e-9)
    weighted = robot.port_efforts(q, tau, weights=[1, 1e-4])
    np.testing.assert_allclose(weighted, expected["weighted_W_1_1e_4"], rtol=1e-8)
    null = robot.effort_null_space(q)
    assert null.shape == (2, 1)
    np.testing.assert_allclose(null[:, 0] / null[1, 0], expected["null_direction"], rtol=1e-9)
    for f in (weighted, robot.port_efforts(q, tau) + 300 * null[:, 0]):
        np.testing.assert_allclose(robot.forward_dynamics(q, [0.0], f), 0, rtol=0, atol=1e-9)


# --- C43: two seconds of free motion --------------------------------------------------------------------------------


def test_two_seconds_of_free_motion(build_folder: Path) -> None:
    """RK4 of 1 ms on (theta, thetadot), assembled at every stage; the crank falls and turns through its loop."""
    case = load_case("c43")
    robot = case_robot(build_folder, case, ("j_ga",))
    q, expected = at_state(robot, {**case, "state": {**case["state"], "u": {}}}), case["expected"]
    assert sum(robot.energy(q, [0.0])) == pytest.approx(expected["energy_J"], rel=1e-9)
    crank = robot.velocities.index("j_ga")
    theta, rate = robot.joint(q, "j_ga"), 0.0
    energies, h = [], 1e-3

    def at(angle: float, near: np.ndarray) -> np.ndarray:
        moved = robot.integrate(near, robot.velocity(near, [angle - near[crank]]))
        moved[crank] = angle
        return robot.assemble(moved)

    for step in range(1, 2001):
        k1 = (rate, robot.forward_dynamics(q, [rate], NONE)[0])
        stages = [k1]
        for part in (0.5, 0.5, 1.0):
            p, r = theta + part * h * stages[-1][0], rate + part * h * stages[-1][1]
            stages.append((r, robot.forward_dynamics(at(p, q), [r], NONE)[0]))
        theta, rate = (
            x + h / 6 * (stages[0][i] + 2 * stages[1][i] + 2 * stages[2][i] + stages[3][i])
            for i, x in enumerate((theta, rate))
        )
        q = at(theta, q)
        if step % 50 == 0:
            energies.append(sum(robot.energy(q, [rate])))
        time = f"{step * h:g}" if step not in {1000, 2000} else f"{step * h:.1f}"
        if time in expected["theta"]:
            assert theta == pytest.approx(expected["theta"][time], abs=1e-6), time
            assert rate == pytest.approx(expected["thetadot"][time], abs=5e-6), time
    assert np.abs(robot.residual(q)).max() < 1e-12
    np.testing.assert_allclose(energies, expected["energy_J"], rtol=1e-6)
