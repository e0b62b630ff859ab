"""The maximal-coordinate oracle against closed forms and cases whose answers are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from case_models import case_mechanism, load_case, mechanism
from scipy.spatial.transform import Rotation

from robocompiler.errors import AssemblyError, ModelError, RankError
from robocompiler.oracle.efforts import port_displacement
from robocompiler.oracle.maximal import Efforts, MaximalModel, State
from robocompiler.oracle.reactions import joint_reactions
from robocompiler.oracle.tasks import motion_at, port_map, task_acceleration, task_jacobian
from robocompiler.records.model import Mechanism, Point

G = 9.81


def assembled(records: Mechanism, u: Mapping[str, float], **hold: float) -> tuple[MaximalModel, State]:
    """The model and its state at the reference (or `hold`), moving at the independent speeds u."""
    model = MaximalModel(records)
    pose = model.project(model.pose(hold), list(u))
    return model, model.state(pose, u)


def bar(length: float, mass: float, inertia: float) -> dict[str, Any]:
    return {"mass": mass, "com": [length / 2, 0, 0], "inertia": [1e-4, inertia, inertia]}


def test_pendulum() -> None:
    joint = {"type": "revolute", "a": {"body": "world"}, "b": {"body": "bar"}, "axis": [0, 1, 0]}
    joint |= {"armature": 0.02, "damping": 0.3}
    records = mechanism("pendulum", {"bodies": {"bar": bar(1.0, 2.0, 0.2)}, "joints": {"hinge": joint}})
    model, state = assembled(records, {"hinge": 1.5}, hinge=0.4)
    inertia = 0.2 + 2.0 * 0.25 + 0.02
    found = model.accelerations(state, Efforts(joints={"hinge": 3.0}))
    # axis +y lowers the bar: gravity's torque is + m g l/2 cos q
    expected = (3.0 + 2.0 * G * 0.5 * np.cos(0.4) - 0.3 * 1.5) / inertia
    np.testing.assert_allclose(found.joints["hinge"], expected, rtol=1e-14)
    np.testing.assert_allclose(model.energies(state), [0.5 * inertia * 1.5**2, -2 * G * 0.5 * np.sin(0.4)], rtol=1e-14)
    reaction = joint_reactions(model, state, found)["hinge"]
    assert not any(reaction.undetermined)
    com = task_acceleration(model, state, "bar", found.vector)[3:]
    np.testing.assert_allclose(com, 0, atol=1e-14)  # the origin is the hinge
    along = 2.0 * (-0.5 * 1.5**2 * np.cos(0.4) - 0.5 * expected * np.sin(0.4))  # m x'' of the centre of mass
    np.testing.assert_allclose(reaction.wrench[3], along, rtol=1e-13)


def test_double_pendulum() -> None:
    joints = {
        "a": {"type": "revolute", "a": {"body": "world"}, "b": {"body": "p"}, "axis": [0, 0, 1]},
        "b": {"type": "revolute", "a": {"body": "p", "xyz": [0.7, 0, 0]}, "b": {"body": "q"}, "axis": [0, 0, 1]},
    }
    bodies = {"p": bar(0.7, 1.3, 0.05), "q": bar(0.5, 0.8, 0.02)}
    records = mechanism("double", {"bodies": bodies, "joints": joints, "gravity": [0, -G, 0]})
    model, state = assembled(records, {"a": 0.9, "b": -1.7}, a=0.3, b=0.8)
    m1, m2, l1, c1, c2 = 1.3, 0.8, 0.7, 0.35, 0.25
    cross = m2 * l1 * c2
    M22 = 0.02 + m2 * c2**2
    M12 = M22 + cross * np.cos(0.8)
    M11 = 0.05 + m1 * c1**2 + M22 + m2 * l1**2 + 2 * cross * np.cos(0.8)
    s = cross * np.sin(0.8)
    h = [
        -s * (2 * 0.9 * -1.7 + 1.7**2) + G * ((m1 * c1 + m2 * l1) * np.cos(0.3) + m2 * c2 * np.cos(1.1)),
        s * 0.9**2 + G * m2 * c2 * np.cos(1.1),
    ]
    reduced = model.reduced(state)
    np.testing.assert_allclose(reduced.M, [[M11, M12], [M12, M22]], rtol=1e-13)
    np.testing.assert_allclose(reduced.h, h, rtol=1e-13)


def test_free_body_obeys_euler() -> None:
    inertia = np.diag([0.05, 0.08, 0.1])
    fixed = {"type": "fixed", "a": {"body": "top"}, "b": {"body": "tag"}}
    bodies = {"top": {"mass": 4.0, "inertia": [0.05, 0.08, 0.1]}, "tag": {}}
    records = mechanism(
        "top", {"bodies": bodies, "joints": {"f": fixed}}, reference={"base": {"rpy": [0.3, -0.4, 0.8]}}
    )
    omega = np.array([0.5, -0.4, 0.6])
    u = dict(zip(("top_free:wx", "top_free:wy", "top_free:wz"), omega, strict=True))
    u |= {"top_free:vx": 0.2, "top_free:vy": -0.1, "top_free:vz": 0.3}
    model, state = assembled(records, u)
    torque = np.array([0.1, 0.2, -0.3])
    R = np.array(state.pose.poses.R[0])
    found = model.accelerations(state, Efforts(wrenches={"top": [*(R @ torque), 0, 0, 4 * G]}))
    expected = np.linalg.solve(inertia, torque - np.cross(omega, inertia @ omega))
    np.testing.assert_allclose([found.joints[f"top_free:w{x}"] for x in "xyz"], expected, rtol=1e-13)
    np.testing.assert_allclose(found.bodies["top"][3:], 0, atol=1e-13)
    # body-frame velocity turns with the body: vdot = -omega x v
    np.testing.assert_allclose(
        [found.joints[f"top_free:v{x}"] for x in "xyz"], -np.cross(omega, [0.2, -0.1, 0.3]), rtol=1e-13
    )


@pytest.mark.parametrize("kind", ["prismatic", "screw"])
def test_slider_on_an_incline(kind: str) -> None:
    slope, pitch = 0.35, 0.2
    joint = {"type": kind, "a": {"body": "world", "rpy": [0, slope, 0]}, "b": {"body": "block"}, "axis": [1, 0, 0]}
    if kind == "screw":
        joint["pitch"] = pitch
    body = {"mass": 3.0, "com": [0.1, 0, 0], "inertia": [0.04, 0.1, 0.1]}
    records = mechanism("incline", {"bodies": {"block": body}, "joints": {"j": joint}})
    model, state = assembled(records, {"j": 0.4}, j=0.6)
    found = model.accelerations(state).joints["j"]
    downhill = 3.0 * G * np.sin(slope)
    expected = downhill / 3.0 if kind == "prismatic" else downhill * pitch / (0.04 + 3.0 * pitch**2)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_c01_fourbar_of_three_dimensional_hinges() -> None:
    case = load_case("c01")
    model, state = assembled(case_mechanism(case), {"j_ga": 2.0})
    expected = case["expected"]
    assert (len(state.rows), state.space.rank, len(state.independent)) == (20, 17, 1)
    assert len(state.rows) - state.space.rank == expected["redundant_rows"]
    lift = dict(zip(state.rates, model.lift(state)[:, 0], strict=True))
    for name, value in expected["E"].items():
        np.testing.assert_allclose(lift[name], value, rtol=1e-9)
    reduced = model.reduced(state)
    np.testing.assert_allclose(reduced.M, [[expected["Mr"]]], rtol=1e-12)
    np.testing.assert_allclose(reduced.h, [expected["tau_u2_ud0"]], rtol=1e-12)
    still = model.state(state.pose, {"j_ga": 0.0})
    np.testing.assert_allclose(model.reduced(still).h, [expected["gravity_torque"]], rtol=1e-12)
    found = model.accelerations(state)
    np.testing.assert_allclose(found.udot, [expected["udot_u2_tau0"]], rtol=1e-11)
    assert found.residual < 1e-12


def test_c06_massless_coupler() -> None:
    case = load_case("c06")
    model, state = assembled(case_mechanism(case), {"j_ga": 2.0})
    expected = case["expected"]
    reduced = model.reduced(state)
    np.testing.assert_allclose(reduced.M, [[expected["Mr"]]], rtol=1e-11)
    np.testing.assert_allclose(reduced.h, [expected["tau_u2_ud0"]], rtol=1e-8)
    np.testing.assert_allclose(model.accelerations(state).udot, [expected["udot_u2_tau0"]], rtol=1e-8)


def test_c09_rotors_through_a_coupled_transmission() -> None:
    case = load_case("c09")
    data = {**case["model"], "joints": {name: dict(joint) for name, joint in case["model"]["joints"].items()}}
    data["joints"]["m1"]["armature"] = 5e-5 * 50**2
    data["joints"]["m2"]["armature"] = 3e-5 * 60**2
    model = MaximalModel(mechanism("c09", data))
    pose = model.project(model.pose({"m1": 0.4, "m2": -0.9, "a": 1.3, "el": -1.3}), ["m1", "m2"])
    reduced = model.reduced(model.state(pose, independent=["m1", "el"]))
    np.testing.assert_allclose(reduced.M, case["expected"]["Mr_total"], rtol=1e-8)


def test_c10_remote_elbow_drive() -> None:
    case = load_case("c10")
    model = MaximalModel(mechanism("c10", case["model"]))
    pose = model.project(model.pose({"m1": 0.4, "m2": -0.9, "a": 1.3, "el": -1.3}), ["m1", "m2"])
    expected = case["expected"]
    joint = model.state(pose, independent=["m1", "el"])
    np.testing.assert_allclose(model.reduced(joint).h, expected["gravity_m1_el"], rtol=1e-8)
    np.testing.assert_allclose(model.lift(joint, ["m1", "m2"]), expected["port_velocity_map_from_m1_el"], atol=1e-12)
    motor = model.reduced(model.state(pose, independent=["m1", "m2"]))
    np.testing.assert_allclose(motor.h, expected["gravity_m1_m2"], rtol=1e-8)
    np.testing.assert_allclose(motor.M, expected["Mr_m1_m2"], rtol=1e-8)


def test_c11_armature_wherever_the_joint_stands() -> None:
    case = load_case("c11")
    model, state = assembled(case_mechanism(case), {"j_ga": 2.0})
    np.testing.assert_allclose(model.reduced(state).M, [[case["expected"]["Mr"]]], rtol=1e-11)
    np.testing.assert_allclose(model.reduced(state).h, [case["expected"]["tau_u2_ud0"]], rtol=1e-8)


def test_c12_pin_forces() -> None:
    case = load_case("c12")
    model, state = assembled(case_mechanism(case), {"a": 0.0})
    found = model.accelerations(state, Efforts(joints={"a": case["state"]["torque_on_a"]}))
    np.testing.assert_allclose(found.udot, 0, atol=1e-10)
    expected = case["expected"]
    reactions = joint_reactions(model, state, found)
    for name in "abcd":
        frame = np.array(model.frame_pose({"a": "world", "b": "l1", "c": "cpl", "d": "world"}[name], state.pose)[0])
        force = frame.astype(float) @ np.array(reactions[name].wrench[3:])
        np.testing.assert_allclose(abs(force[0]), expected["horizontal_pin_force"], rtol=1e-8, err_msg=name)
        np.testing.assert_allclose(abs(force[2]), expected[f"vertical_{name}"], rtol=1e-8, err_msg=name)
        # about the hinge axis nothing is transmitted; across it everything is open, in the plane nothing
        assert reactions[name].undetermined == (True, False, True, False, True, False)
        np.testing.assert_allclose(reactions[name].wrench[1], 0, atol=1e-10)


@pytest.mark.parametrize("thin", [False, True])
def test_c21_idle_spin(thin: bool) -> None:
    case = load_case("c21")
    data = {**case["model"], "bodies": {name: dict(body) for name, body in case["model"]["bodies"].items()}}
    if thin:
        data["bodies"]["rd"]["inertia"] = [0, *data["bodies"]["rd"]["inertia"][1:]]
    model = MaximalModel(mechanism("c21", data))
    direction = np.array(case["state"]["rod_ball_B"]) - np.array(case["state"]["rod_ball_A"])
    direction /= np.linalg.norm(direction)
    hinge = model.frame_pose("cr", model.pose({"j1": 0.5}))[0]
    local = np.array(hinge, dtype=float).T @ direction
    quaternion = np.array([1 + local[0], 0.0, -local[2], local[1]])
    quaternion /= np.linalg.norm(quaternion)
    seed = {"j1": 0.5, "j2": 0.3} | dict(zip(("s1:qw", "s1:qx", "s1:qy", "s1:qz"), quaternion, strict=True))
    pose = model.project(model.pose(seed), ["j1", "s1:wx"])
    state = model.state(pose, independent=["j1", "s1:wx"])
    lift = dict(zip(state.rates, model.lift(state), strict=True))
    np.testing.assert_allclose(lift["j2"], [case["expected"]["phi_dot_over_theta_dot"], 0], atol=1e-8)
    if thin:
        with pytest.raises(RankError, match="not positive definite") as caught:
            model.accelerations(state)
        assert set(caught.value.report["direction"]) == {"s1:wx"}
        return
    found = model.accelerations(state)
    np.testing.assert_allclose(found.udot[0], case["expected"]["udot_j1_gravity"], rtol=1e-7)


def test_c22_stewart_platform() -> None:
    case = load_case("c22")
    lengths = [f"p{k}" for k in range(6)]
    seed = dict(zip(lengths, case["expected"]["leg_lengths"], strict=True))
    model = MaximalModel(mechanism("c22", {k: v for k, v in case["model"].items() if k != "note"}))
    roughly = model.pose({"p0": 0.66, "p1": 0.66, "p2": 0.66, "p3": 0.66, "p4": 0.66, "p5": 0.66})
    pose = model.project(_platform_lifted(model, roughly), tolerance=1e-9)
    for _ in range(4):  # towards the wanted lengths in steps, on one branch
        values = {k: float(v) for k, v in pose.values.items()}
        for name in lengths:
            values[name] += (seed[name] - values[name]) / 2
        pose = model.project(model.pose(values), lengths)
    pose = model.project(model.pose({k: float(v) for k, v in pose.values.items()} | seed), lengths)
    state = model.state(pose, independent=lengths)
    expected = case["expected"]
    assert (state.space.rank, len(state.rows)) == (expected["rank"], expected["rows"])
    reduced = model.reduced(state)
    np.testing.assert_allclose(reduced.h, expected["hold_forces"], rtol=2e-7)  # lengths are given to nine digits
    np.testing.assert_allclose(np.diag(reduced.M), expected["Mr_diag"], rtol=2e-7)
    np.testing.assert_allclose(np.linalg.eigvalsh(reduced.M), expected["Mr_eigs"], rtol=2e-7)


def _platform_lifted(model: MaximalModel, pose: Any) -> Any:
    """The platform moved to where its mean height is; its legs follow in the projection."""
    step = [0.0] * model.columns
    index = model.scene.index["plat"]
    p = np.array(pose.poses.p[index], dtype=float)
    R = np.array(pose.poses.R[index], dtype=float)
    step[6 * index : 6 * index + 3] = Rotation.from_matrix(R.T).as_rotvec().tolist()
    step[6 * index + 3 : 6 * index + 6] = (np.array([0, 0, 0.6]) - p).tolist()
    return model.moved(pose, step)


def test_c23_delta_robot() -> None:
    case = load_case("c23")
    motors = ["m0", "m1", "m2"]
    model = MaximalModel(mechanism("c23", case["model"]))
    expected = case["expected"]
    angles = dict(zip(motors, expected["motor_angles"], strict=True))
    plate = np.array([0.08, -0.05, -0.5])
    seed = model.pose(angles)
    step = [0.0] * model.columns
    targets: dict[str, tuple[Any, Any]] = {"plate": (np.eye(3), plate)}
    for limb in range(3):
        for side in "lr":
            arm = next(j for j in model.scene.joints if j.name == f"e{limb}{side}").a
            ball = next(j for j in model.scene.joints if j.name == f"b{limb}{side}").b
            R, p = (np.array(x, dtype=float) for x in model.frame_pose(f"arm{limb}", seed))
            start = p + R @ np.array(arm.p, dtype=float)
            along = plate + np.array(ball.p, dtype=float) - start
            turn, _ = Rotation.align_vectors([along / np.linalg.norm(along)], [[1.0, 0, 0]])
            targets[f"rod{limb}{side}"] = (turn.as_matrix(), start)
    for name, (R, p) in targets.items():
        k = model.scene.index[name]
        now_R, now_p = (np.array(x, dtype=float) for x in model.frame_pose(name, seed))
        step[6 * k : 6 * k + 3] = Rotation.from_matrix(R @ now_R.T).as_rotvec().tolist()
        step[6 * k + 3 : 6 * k + 6] = (p - now_p).tolist()
    spins = [f"e{limb}{side}:wx" for limb in range(3) for side in "lr"]
    pose = model.project(model.moved(seed, step), [*motors, *spins])
    np.testing.assert_allclose(np.array(pose.poses.p[0], dtype=float), plate, atol=2e-9)
    state = model.state(pose, independent=[*motors, *spins])
    assert len(state.independent) == expected["mobility"]
    J = task_jacobian(model, state, "plate")
    np.testing.assert_allclose(J[3:, :3], expected["dplate_dmotor"], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(J[:3], 0, atol=1e-8)
    reduced = model.reduced(state)
    np.testing.assert_allclose(reduced.h[:3], expected["hold_torques"], rtol=1e-7)
    # the spins are idle: the motors' inertia with the rods free to spin is the Schur complement
    M = reduced.M
    schur = M[:3, :3] - M[:3, 3:] @ np.linalg.solve(M[3:, 3:], M[3:, :3])
    np.testing.assert_allclose(schur, expected["Mr"], rtol=2e-5)


def test_c24_boom_and_cylinder() -> None:
    case = load_case("c24")
    port = {"distance": [{"body": "world", "xyz": [0.4, 0, -0.3]}, {"body": "boom", "xyz": [0.9, 0, 0.12]}]}
    seed = {"hb": 0.35, "ft": 0.9, "cy": 0.83}
    records = mechanism("c24", case["model"], ports={"cylinder": port}, reference={"joints": seed})
    model, state = assembled(records, {"hb": 0.3})
    expected = case["expected"]
    np.testing.assert_allclose(port_displacement(model, state.pose, "cylinder"), case["state"]["cylinder_length"])
    lever = port_map(model, state)[0, 0]
    np.testing.assert_allclose(lever, expected["dl_dtheta"], rtol=1e-11)
    np.testing.assert_allclose(model.lift(state, ["cy"])[0, 0], lever, rtol=1e-12)
    reduced = model.reduced(state)
    np.testing.assert_allclose(reduced.M, [[expected["Mr_hinge"]]], rtol=1e-10)
    np.testing.assert_allclose(reduced.h, [expected["tau_u0p3"]], rtol=1e-10)
    still = model.state(state.pose, {"hb": 0.0})
    held = model.accelerations(still, Efforts(ports={"cylinder": expected["hold_force"]}))
    np.testing.assert_allclose(held.udot, 0, atol=1e-10)
    by_length = model.reduced(model.state(state.pose, independent=["cy"]))
    np.testing.assert_allclose(by_length.M, [[expected["Mr_cylinder"]]], rtol=1e-10)
    pair = (Point("world", (0.4, 0.0, -0.3)), Point("boom", (0.9, 0.0, 0.12)), expected["hold_force"])
    np.testing.assert_allclose(model.accelerations(still, Efforts(pairs=[pair])).udot, 0, atol=1e-10)


def test_c27_differential_coupling() -> None:
    case = load_case("c27")
    model = MaximalModel(mechanism("c27", case["model"]))
    pose = model.project(model.pose({"q1": 0.3, "q2": -0.1, "q3": 0.2}), ["q1", "q2"])
    np.testing.assert_allclose(pose.values["q3"], 0.0, atol=1e-14)
    reduced = model.reduced(model.state(pose, independent=["q1", "q2"]))
    np.testing.assert_allclose(reduced.M, case["expected"]["Mr"], rtol=1e-10)


def test_c29_floating_base_conventions() -> None:
    case = load_case("c29")
    fixed = {"type": "fixed", "a": {"body": "base"}, "b": {"body": "tag"}}
    bodies = {"base": {"mass": 4.0, "com": [0.03, -0.02, 0.05], "inertia": [0.05, 0.08, 0.1]}, "tag": {}}
    records = mechanism(
        "c29", {"bodies": bodies, "joints": {"f": fixed}}, reference={"base": {"rpy": [0.3, -0.4, 0.8]}}
    )
    names = [f"base_free:{x}" for x in ("wx", "wy", "wz", "vx", "vy", "vz")]
    u = dict(zip(names, [0.5, -0.4, 0.6, 0.2, -0.1, 0.3], strict=True))
    model, state = assembled(records, u)
    M, h = model.reduced(state).M, model.reduced(state).h
    np.testing.assert_allclose(M[3, 1], case["expected"]["M04_body"], rtol=1e-12)
    np.testing.assert_allclose(M[4, 0], case["expected"]["M13_body"], rtol=1e-12)
    linear_first = np.concatenate((h[3:], h[:3]))
    np.testing.assert_allclose(linear_first, case["expected"]["bias_body_spatial"], rtol=1e-9)


def test_c41_gravity_compensation() -> None:
    case = load_case("c41")
    model, state = assembled(case_mechanism(case), {"a": 0.0})
    np.testing.assert_allclose(model.reduced(state).h, [case["expected"]["hold_torque"]], rtol=1e-12)
    np.testing.assert_allclose(model.reduced(state).M, [[case["expected"]["Mr"]]], rtol=1e-12)


def test_c13_classical_accelerations() -> None:
    case = load_case("c13")
    model, state = assembled(case_mechanism(case), {"j_ga": 2.0})
    a = motion_at(model, state, [0.0])
    expected = case["expected"]
    spins = {body: task_acceleration(model, state, body, a)[1] for body in ("coupler", "rocker")}
    np.testing.assert_allclose(abs(spins["coupler"]), expected["coupler_abs_acc"], rtol=1e-9)
    np.testing.assert_allclose(abs(spins["rocker"]), expected["rocker_abs_acc"], rtol=1e-9)


def test_virtual_power_of_wrenches() -> None:
    case = load_case("c01")
    model, state = assembled(
        case_mechanism(case, frames={"tip": {"body": "coupler", "xyz": [0.3, 0.1, 0.2]}}), {"j_ga": 2.0}
    )
    wrench = [0.3, -0.2, 0.5, 7.0, -3.0, 2.0]
    tau = model.applied(state, Efforts(wrenches={"tip": wrench}))
    np.testing.assert_allclose(tau, task_jacobian(model, state, "tip").T @ wrench, rtol=1e-13)


def test_refusals() -> None:
    model, state = assembled(case_mechanism(load_case("c01")), {"j_ga": 2.0})
    with pytest.raises(RankError, match="2 speeds are given, the mechanism has 1"):
        model.state(state.pose, {"j_ga": 1.0, "j_ab": 1.0})
    with pytest.raises(ModelError, match="no joint velocity"):
        model.state(state.pose, {"nothing": 1.0})
    with pytest.raises(ModelError, match="no port"):
        model.accelerations(state, Efforts(ports={"nothing": 1.0}))
    case = load_case("c01")
    case["model"]["joints"]["j_cg"]["b"]["xyz"] = [5.0, 0.0, 0.0]
    torn = MaximalModel(mechanism("torn", case["model"]))
    with pytest.raises(AssemblyError, match="no assembled pose") as caught:
        torn.project(torn.pose({"j_ga": 0.7}), ["j_ga"])
    assert caught.value.residual > 0.5
