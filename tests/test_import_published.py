"""Published MJCF files against the hand-made models of the same robots, and against MuJoCo's own reading of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from import_engines import compare_with_mujoco, tree_of
from import_support import DATA, messages

from robocompiler.importers.import_model import Imported, import_model
from robocompiler.importers.options import ImportOptions
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import CoordinateSum, Joint, Mechanism
from robocompiler.records.reader import read_mechanism

ROOT = Path(__file__).resolve().parent.parent
MADE = {
    "go2": ROOT / "models" / "go2.yaml",
    "panda": ROOT / "models" / "panda.yaml",
    "kangaroo_published": ROOT / "tests" / "data" / "kangaroo_published.yaml",
}
NAMES = sorted(MADE)


@cache
def found(name: str) -> Imported:
    """The import, with connects kept as balls as the hand-made records have them."""
    return import_model(DATA / f"{name}.xml", ImportOptions(hinges=False))


@cache
def made(name: str) -> Mechanism:
    return read_mechanism(MADE[name])


def closing(mechanism: Mechanism) -> tuple[str, ...]:
    """The joints that close loops: in these files they carry the word."""
    balls = {joint.name for joint in mechanism.joints if joint.type is JointType.SPHERICAL}
    return tuple(name for name in sorted(balls) if "closed" in name or "differential" in name)


@pytest.mark.parametrize("name", NAMES)
def test_bodies_are_those_of_the_hand_made_model(name: str) -> None:
    ours, theirs = found(name).mechanism, made(name)
    assert [body.name for body in ours.bodies] == [body.name for body in theirs.bodies]
    for body in ours.bodies:
        other = theirs.body(body.name)
        assert body.mass == other.mass
        size = max(abs(float(value)) for value in other.inertia)
        np.testing.assert_allclose(body.inertia, other.inertia, rtol=1e-9, atol=1e-12 * size, err_msg=body.name)
        if other.mass:  # a massless body has no centre
            np.testing.assert_allclose(body.com, other.com, rtol=0, atol=1e-15, err_msg=body.name)


def same_joint(ours: Joint, theirs: Joint, limits: bool) -> None:
    assert (ours.type, ours.a.body, ours.b.body) == (theirs.type, theirs.a.body, theirs.b.body), ours.name
    ball = ours.type is JointType.SPHERICAL  # the axes of a ball's frames are a choice
    for side in ("a", "b"):
        one, two = getattr(ours, side), getattr(theirs, side)
        np.testing.assert_allclose(one.translation, two.translation, atol=1e-12, err_msg=f"{ours.name} {side}")
        if not ball:
            np.testing.assert_allclose(one.rotation, two.rotation, atol=1e-12, err_msg=f"{ours.name} {side}")
    np.testing.assert_allclose(ours.axis, theirs.axis, atol=1e-15, err_msg=ours.name)
    for what in ("armature", "damping", "friction"):
        assert getattr(ours, what) == getattr(theirs, what), (ours.name, what)
    if limits:
        assert [entry.position for entry in ours.limits] == [entry.position for entry in theirs.limits], ours.name


@pytest.mark.parametrize("name", NAMES)
def test_joints_are_those_of_the_hand_made_model(name: str) -> None:
    ours, theirs = found(name).mechanism, made(name)
    assert {joint.name for joint in ours.joints} == {joint.name for joint in theirs.joints}
    for joint in ours.joints:
        same_joint(joint, theirs.joint(joint.name), limits=True)


@pytest.mark.parametrize("name", ["go2", "kangaroo_published"])
def test_ports_drive_the_joints_of_the_hand_made_model(name: str) -> None:
    ours, theirs = found(name).mechanism, made(name)
    assert [port.measure for port in ours.ports] == [port.measure for port in theirs.ports]
    if name == "go2":  # the Kangaroo's hand-made limits come from another document
        assert [port.limits.effort for port in ours.ports] == [port.limits.effort for port in theirs.ports]


def test_the_fingers_of_the_panda_are_coupled_as_by_hand() -> None:
    (ours,), (theirs,) = found("panda").mechanism.couplings, made("panda").couplings
    assert set(ours.coordinates) == set(theirs.coordinates)
    model = MaximalModel(found("panda").mechanism)
    pose = model.project(model.pose({"finger_joint1": 0.02, "finger_joint2": 0.02}))
    state = model.state(pose)
    assert len(state.independent) == 8
    rates = np.asarray(model.lift(state, ["finger_joint1", "finger_joint2"]), dtype=float)
    np.testing.assert_allclose(rates[0], rates[1], atol=1e-12)


@pytest.mark.parametrize("name", ["go2", "panda"])
def test_the_home_keyframe_is_the_reference_of_the_hand_made_model(name: str) -> None:
    ours, theirs = found(name).mechanism.reference, made(name).reference
    assert dict(ours.coordinates) == dict(theirs.coordinates)
    assert ours.bases == theirs.bases


def test_the_kangaroo_stands_at_its_keyframe_as_in_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile")
    model = mujoco.MjModel.from_xml_path(str(DATA / "kangaroo_published.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_kinematics(model, data)
    records = tree_of(found("kangaroo_published").mechanism, *closing(found("kangaroo_published").mechanism))
    oracle = MaximalModel(records)
    reference = found("kangaroo_published").mechanism.reference
    values = {name: value for name, value in reference.coordinates if name in oracle.coordinate_names}
    (base,) = reference.bases
    free = [f"{base.body}_free:{suffix}" for suffix in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    values |= dict(zip(free, (*base.translation, *base.quaternion), strict=True))
    pose = oracle.pose(values)
    for body in records.bodies:
        R, p = oracle.frame_pose(body.name, pose)
        np.testing.assert_allclose(np.array(R, float), data.body(body.name).xmat.reshape(3, 3), atol=1e-12)
        np.testing.assert_allclose(np.array(p, float), data.body(body.name).xpos, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_mujoco_agrees_on_masses_poses_and_tree_dynamics(name: str) -> None:
    mujoco = pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile")
    records = found(name).mechanism
    model = mujoco.MjModel.from_xml_path(str(DATA / f"{name}.xml"))
    assert compare_with_mujoco(model, tree_of(records, *closing(records)), seed=4) == model.nv


def test_two_connects_along_one_axis_become_a_hinge_and_it_is_said() -> None:
    merged = import_model(DATA / "kangaroo_published.xml")
    pairs = [f"{side}_hip_differential_{k}" for side in ("left", "right") for k in (2, 3)]
    said = messages(merged, "recognised")
    balls = found("kangaroo_published").mechanism
    for pair in pairs:
        assert any(pair in text and f"{pair}a, {pair}b" in text and "a hinge" in text for text in said)
        hinge = merged.mechanism.joint(pair)
        assert hinge.type is JointType.REVOLUTE
        np.testing.assert_allclose(hinge.axis, [1, 0, 0], atol=1e-15)
        first, second = (balls.joint(f"{pair}{letter}") for letter in "ab")
        for side in ("a", "b"):
            middle = np.add(getattr(first, side).translation, getattr(second, side).translation) / 2
            np.testing.assert_allclose(getattr(hinge, side).translation, middle, atol=1e-15)
        turned = np.array(hinge.b.rotation) @ hinge.axis
        span = np.subtract(second.b.translation, first.b.translation)
        np.testing.assert_allclose(turned, span / np.linalg.norm(span), atol=1e-12)
    assert len(merged.mechanism.joints) == len(balls.joints) - len(pairs)


def test_what_is_not_imported_is_listed() -> None:
    notes = found("kangaroo_published").notes
    left_out = {note.message: note.count for note in notes if note.kind == "left out"}
    assert any("servo gains" in message and count == 12 for message, count in left_out.items())
    assert any("solref and solimp" in note.message for note in notes)


@pytest.mark.parametrize("name", NAMES)
def test_measures_are_single_coordinates(name: str) -> None:
    ports = found(name).mechanism.ports
    assert all(isinstance(port.measure, CoordinateSum) and len(port.measure.terms) == 1 for port in ports)
    assert bool(ports) == (name != "panda")
