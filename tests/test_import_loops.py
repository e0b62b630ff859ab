"""Five URDFs with loops as people have them: they import, close and agree with the maximal-coordinate oracle."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from dynamics_agreement import agrees
from import_engines import compare_with_pinocchio, tree_of
from import_support import DATA, at, imported, messages, problems, written

from robocompiler.errors import ModelError
from robocompiler.importers.import_model import import_model
from robocompiler.importers.options import ImportOptions
from robocompiler.importers.read_model import read_model
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.joint_types import JointType
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"
CLOSING = {
    "fourbar_leg": ("pin",),
    "parallel_ankle": ("heel_left", "heel_right"),
    "five_bar": ("foot",),
    "delta": ("ball0l", "ball0r", "ball1l", "ball1r", "ball2l", "ball2r"),
    "gripper": ("left_tip", "right_tip"),
}
FREEDOMS = {"fourbar_leg": 2, "parallel_ankle": 2, "five_bar": 2, "delta": 3, "gripper": 1}
PORTS = {
    "fourbar_leg": {"hip_drive", "knee_drive"},
    "parallel_ankle": {"motor_left_motor", "motor_right_motor"},
    "five_bar": {"hip_left_motor", "hip_right_motor"},
    "delta": {"motor0_motor", "motor1_motor", "motor2_motor"},
    "gripper": {"left_knuckle_joint_motor"},
}


@pytest.mark.parametrize("name", sorted(CLOSING))
def test_a_urdf_with_loops_assembles_and_agrees_with_the_oracle(name: str) -> None:
    records = import_model(DATA / f"{name}.urdf").mechanism
    assert {port.name for port in records.ports} == PORTS[name]
    sample = SimpleNamespace(mechanism=records, values={})
    assert agrees(sample, np.random.default_rng(3)) == FREEDOMS[name]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(CLOSING))
def test_pinocchio_reads_the_same_tree_from_the_file(name: str) -> None:
    path = DATA / f"{name}.urdf"
    tree = tree_of(import_model(path).mechanism, *CLOSING[name])
    assert compare_with_pinocchio(path.read_text(), tree) == sum(len(joint.armature) for joint in tree.joints)


def test_the_five_bar_is_the_hand_made_one() -> None:
    found, made = import_model(DATA / "five_bar.urdf").mechanism, read_mechanism(MODELS / "five_bar.yaml")
    assert found.bodies == made.bodies
    speeds = {"hip_left": 0.7, "hip_right": -1.1}
    values = dict(made.reference.coordinates)
    results = []
    for records in (found, made):
        model, state = at(records, values, speeds)
        reduced = model.reduced(state)
        results.append(np.vstack([reduced.M, reduced.h]).astype(float))
        armature = sum(float(value) for joint in records.joints for value in joint.armature)
        results[-1][:2] -= armature / 2 * np.eye(2)  # a URDF has no armature; the hand-made one has 0.0015 twice
    np.testing.assert_allclose(results[0], results[1], rtol=1e-10, atol=1e-13)


def test_the_gripper_closes_with_one_motor_and_its_cover_follows_the_chain() -> None:
    records = import_model(DATA / "gripper.urdf").mechanism
    model, state = at(records, {"left_knuckle_joint": 0.3, "right_knuckle_joint": -0.3}, {"left_knuckle_joint": 1.0})
    rates = np.asarray(model.lift(state, ["right_knuckle_joint", "cover_joint"]), dtype=float).ravel()
    assert rates == pytest.approx([-1.0, -0.5])
    left, right = (np.array(model.frame_pose(f"{s}_finger", state.pose)[1], float) for s in ("left", "right"))
    assert left * [-1, 1, 1] == pytest.approx(right, abs=1e-12)  # the fingers mirror each other
    assert float(state.pose.values["cover_joint"]) == pytest.approx(0.5 * -0.3 + 0.1)


# --- the side file ---

TREE = (
    '<robot name="r"><link name="w"/><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link>\n<joint name="j" type="revolute"><parent link="w"/><child link="a"/>'
    '<limit lower="-1" upper="1" effort="2" velocity="3"/></joint></robot>'
)


def test_a_side_file_adds_joints_by_frame_names_and_replaces_guessed_ports(tmp_path: Path) -> None:
    side = written(
        tmp_path,
        "frames: {tip: {body: a, xyz: [0, 0, 1]}}\n"
        "joints:\n  tie: {type: spherical, a: tip, b: {body: w, xyz: [0, 0, 1]}}\n"
        "ports: {drive: {joint: j}}\nreference: {joints: {j: 0.5}}\n",
        "extra.yaml",
    )
    found = imported(tmp_path, TREE, options=ImportOptions(loops=side))
    tie = found.mechanism.joint("tie")
    assert (tie.type, tie.a.body, tie.a.translation) == (JointType.SPHERICAL, "a", (0, 0, 1))
    assert [port.name for port in found.mechanism.ports] == ["drive"]
    assert dict(found.mechanism.reference.coordinates) == {"j": 0.5}
    assert any("guessed ports" in text for text in messages(found, "left out"))


def test_faults_of_both_files_come_together_each_with_its_own_line(tmp_path: Path) -> None:
    side = written(
        tmp_path,
        "joints:\n  j: {type: fixed, a: w, b: a}\n  tie: {type: sphericall, a: a, b: nobody}\nloops: {}\n",
        "extra.yaml",
    )
    text = TREE.replace('mass value="1"', 'mass value="1kg"')
    found = problems(tmp_path, text, options=ImportOptions(loops=side))
    told = [(Path(p.file).name, p.line, p.record, p.message) for p in found]
    assert [(file, line) for file, line, _, _ in told] == [
        ("robot.urdf", 1), ("extra.yaml", 2), ("extra.yaml", 3), ("extra.yaml", 3), ("extra.yaml", 4),
    ]  # fmt: skip
    assert "write 1" in told[0][3]
    assert "robot.urdf:2" in told[1][3]
    assert "no body is called 'nobody'" in told[2][3]
    assert "did you mean 'spherical'" in told[3][3]
    assert "closing joints stand under 'joints'" in told[4][3]


def test_a_broken_side_file_is_refused_with_its_line(tmp_path: Path) -> None:
    side = written(tmp_path, "joints:\n  tie: {type: [\n", "extra.yaml")
    with pytest.raises(ModelError) as caught:
        imported(tmp_path, TREE, options=ImportOptions(loops=side))
    (problem,) = caught.value.problems
    assert Path(problem.file).name == "extra.yaml"
    assert problem.line == 3
    with pytest.raises(ModelError, match="cannot be read"):
        imported(tmp_path, TREE, options=ImportOptions(loops=tmp_path / "none.yaml"))


def test_the_side_file_beside_a_model_is_taken_and_said(tmp_path: Path) -> None:
    written(tmp_path, "reference: {joints: {j: 0.25}}\n", "robot.loops.yaml")
    found = imported(tmp_path, TREE)
    assert dict(found.mechanism.reference.coordinates) == {"j": 0.25}
    assert any("robot.loops.yaml" in text for text in messages(found, "assumed"))
    assert read_model(tmp_path / "robot.urdf") == found.mechanism


def test_groups_that_are_left_empty_change_nothing(tmp_path: Path) -> None:
    side = written(tmp_path, "joints:\ncouplings:\nreference: {joints: {j: 0.5}}\n", "extra.yaml")
    with_side = imported(tmp_path, TREE, options=ImportOptions(loops=side)).mechanism
    alone = imported(tmp_path, TREE).mechanism
    assert with_side.joints == alone.joints
    assert with_side.ports == alone.ports


def test_a_closed_pose_of_the_leg_meets_at_the_pin() -> None:
    records = import_model(DATA / "fourbar_leg.urdf").mechanism
    model = MaximalModel(records)
    pose = model.project(model.pose({"hip": 0.3, "crank_motor": 0.4}), ["hip", "crank_motor"])
    ends = [np.array(model.frame_pose(name, pose)[1], dtype=float) for name in ("rod_end", "shank_lever")]
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)
    assert float(pose.values["hip"]) == pytest.approx(0.3)
    assert float(pose.values["crank_motor"]) == pytest.approx(0.4)
