"""MJCF exports: MuJoCo loads them and agrees with the records, loops are closed, and an import gives them back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_support import oracle_difference, same_dynamics, scalar_independents
from import_engines import compare_with_mujoco, tree_of
from import_support import written
from oracle_kinematics import Oracle

from robocompiler.check.random_mechanism import random_mechanism
from robocompiler.check.random_parts import Maker, body_poses
from robocompiler.check.random_structure import finish
from robocompiler.errors import ModelError
from robocompiler.export import Assembled, assembled
from robocompiler.exporters.mjcf import Exported, mjcf_text
from robocompiler.exporters.mjcf_bodies import LEAST
from robocompiler.exporters.notes import CHANGED, LEFT_OUT
from robocompiler.graph.build import derive_topology
from robocompiler.importers.import_model import Imported, import_model
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, Mechanism
from robocompiler.records.reader import mechanism_from_dict

mujoco = pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile")
MODELS = Path(__file__).resolve().parent.parent / "models"
NAMES = ("fourbar", "stewart", "excavator", "go2", "kangaroo", "crane", "parallel_ankle", "panda")


@cache
def exported(name: str) -> tuple[Assembled, Exported]:
    """A shipped model at its reference, and its MJCF."""
    found = assembled(MODELS / f"{name}.yaml")
    return found, mjcf_text(found.mechanism, found.reference)


def again(folder: Path, export: Exported) -> Imported:
    """The export imported."""
    return import_model(written(folder, export.text, "robot.xml"))


def loaded(text: str) -> tuple[Any, Any]:
    """(MjModel, MjData at the keyframe, after mj_forward)."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return model, data


def equality_gap(data: Any) -> float:
    """Largest residual of the equality constraints, m or rad."""
    rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    return float(np.abs(data.efc_pos[rows]).max(initial=0.0))


@pytest.mark.parametrize("name", NAMES)
def test_mujoco_has_the_masses_and_poses_of_the_records_and_closed_loops(name: str) -> None:
    found, export = exported(name)
    model, data = loaded(export.text)
    hung = derive_topology(found.mechanism).mechanism
    poses = Oracle(hung).body_poses(found.reference, ())
    for body in found.mechanism.bodies:
        there = model.body(body.name)
        assert there.mass[0] == pytest.approx(evaluate(body.mass, found.mechanism.defaults), rel=1e-14)
        placed = data.body(body.name)
        np.testing.assert_allclose(placed.xmat.reshape(3, 3), poses[body.name][:3, :3], atol=1e-11, err_msg=body.name)
        np.testing.assert_allclose(placed.xpos, poses[body.name][:3, 3], atol=1e-11, err_msg=body.name)
    own = {body.name for body in found.mechanism.bodies} | {WORLD}
    others = [k for k in range(model.nbody) if model.body(k).name not in own]
    assert all(model.body_mass[k] == LEAST for k in others)
    assert equality_gap(data) < 2e-12  # the excavator's reference is closed to 6e-13


def tree_records(model: Any, records: Mechanism) -> Mechanism:
    """The imported records without what closes loops."""
    names = {model.equality(k).name for k in range(model.neq)}
    return tree_of(records, *names, *(name.removesuffix("_1").removesuffix("_2") for name in names))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "parallel_ankle"])
def test_mujoco_has_the_tree_dynamics_of_what_is_imported_again(name: str, tmp_path: Path) -> None:
    found, export = exported(name)
    model, _ = loaded(export.text)
    records = again(tmp_path, export).mechanism
    assert compare_with_mujoco(model, tree_records(model, records)) == model.nv
    assert [port.name for port in records.ports] == [port.name for port in found.mechanism.ports]


@pytest.mark.parametrize("name", ["fourbar", "parallel_ankle"])
def test_mujoco_has_the_tree_dynamics_of_the_oracle_in_maximal_coordinates(name: str, tmp_path: Path) -> None:
    """For light robots too, where the bodies of 1e-12 kg that the comparison above inserts can be seen."""
    _, export = exported(name)
    model, data = loaded(export.text)
    records = tree_records(model, again(tmp_path, export).mechanism)
    still = replace(records, joints=tuple(replace(joint, damping=()) for joint in records.joints))
    oracle = MaximalModel(still)
    names = [model.joint(k).name for k in range(model.njnt)]
    random = np.random.default_rng(3)
    data.qpos[:], data.qvel[:] = random.uniform(-1, 1, model.nq), random.uniform(-1, 1, model.nv)
    mujoco.mj_forward(model, data)
    pose = oracle.pose(dict(zip(names, data.qpos.tolist(), strict=True)))
    reduced = oracle.reduced(oracle.state(pose, dict(zip(names, data.qvel.tolist(), strict=True)), names))
    M = np.zeros((model.nv, model.nv))
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, M[k], unit)
    np.testing.assert_allclose(reduced.M, M, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(reduced.h, data.qfrc_bias, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["stewart", "excavator", "go2", "kangaroo", "panda"])
def test_import_after_export_has_the_same_reduced_dynamics_by_the_oracle(name: str, tmp_path: Path) -> None:
    found, export = exported(name)
    records = again(tmp_path, export).mechanism
    M, h = oracle_difference(found.mechanism, records, found.reference, export.renamed)
    assert max(M, h) < 1e-12


@pytest.mark.parametrize("name", ["fourbar", "crane", "parallel_ankle"])
def test_import_after_export_has_the_same_reduced_dynamics_in_the_compiler(name: str, tmp_path: Path) -> None:
    found, export = exported(name)
    M, h = same_dynamics(found.mechanism, again(tmp_path, export).mechanism, export.renamed)
    assert max(M, h) < 1e-12


def test_random_mechanisms_load_and_come_back_where_the_format_holds_them(tmp_path: Path) -> None:
    compared = refused = 0
    for seed in range(30):
        sample = random_mechanism(seed)
        try:
            export = mjcf_text(sample.mechanism, sample.values)
        except ModelError as error:
            refused += 1
            told = (
                "one armature for all",
                "one damping for all",
                "one frictionloss for all",
                "this is neither",
                "unequal losses",
            )
            assert all(any(words in problem.message for words in told) for problem in error.problems), error
            assert all(problem.line and problem.record for problem in error.problems)
            continue
        _, data = loaded(export.text)
        assert equality_gap(data) < 1e-9
        if scalar_independents(sample.mechanism, sample.values):
            records = again(tmp_path, export).mechanism
            assert max(oracle_difference(sample.mechanism, records, sample.values, export.renamed)) < 1e-11, seed
            compared += 1
    assert compared >= 8
    assert refused >= 5


BODY = {"mass": 1.0, "com": [0.1, 0.0, 0.05], "inertia": [0.02, 0.03, 0.04, 0.001, 0, 0]}


def records(joints: dict[str, Any], **more: Any) -> Mechanism:
    """Bodies l1, l2, ... as the joints name them."""
    names = sorted({side["body"] for joint in joints.values() for side in (joint["a"], joint["b"])} - {"world"})
    bodies = dict.fromkeys(names, BODY)
    return mechanism_from_dict({"robocompiler": 1, "name": "small", "bodies": bodies, "joints": joints, **more})


def arm(count: int) -> dict[str, Any]:
    """A chain of `count` hinges j1, j2, ..."""
    ends = ["world", *(f"l{k}" for k in range(1, count + 1))]
    return {
        f"j{k}": {"type": "revolute", "a": {"body": a, "xyz": [0.3, 0, 0]}, "b": {"body": b}, "axis": [0, 1, 0]}
        for k, (a, b) in enumerate(pairwise(ends), start=1)
    }


def test_losses_limits_ports_and_couplings_come_back(tmp_path: Path) -> None:
    joints = arm(4)
    joints["j1"] |= {"armature": 0.2, "damping": 0.3, "friction": 0.4, "limits": {"position": [-1, 2], "effort": 7}}
    joints["j2"] |= {"limits": {"velocity": 3.0}}
    small = records(
        joints,
        couplings={
            "pair": {"terms": {"j2": 2.0, "j3": 1.0}, "constant": 0.25},
            "three": {"terms": {"j1": 1.0, "j2": -0.5, "j4": 0.75}, "constant": 0.1},
        },
        ports={
            "direct": {"joint": "j1", "limits": {"effort": 5.0, "velocity": 1.0}},
            "geared": {"terms": {"j2": 3.0}},
            "summed": {"terms": {"j1": 1.0, "j3": -2.0}},
            "rod": {"distance": [{"body": "l1", "xyz": [0, 0, 0.2]}, {"body": "l3"}]},
        },
    )
    found = assembled(small)
    export = mjcf_text(small, found.reference)
    model, data = loaded(export.text)
    assert (model.neq, model.nu) == (2, 4)
    assert equality_gap(data) < 1e-14
    back = again(tmp_path, export).mechanism
    assert {joint.name: joint.limits for joint in back.joints}["j1"] == small.joint("j1").limits
    for key in ("armature", "damping", "friction"):
        assert getattr(back.joint("j1"), key) == getattr(small.joint("j1"), key)
    assert [(port.name, port.measure) for port in back.ports] == [(port.name, port.measure) for port in small.ports]
    assert max(same_dynamics(small, back)) < 1e-12
    left_out = [note.message for note in export.notes if note.kind == LEFT_OUT]
    assert left_out == ["velocity limits of joints", "displacement and velocity limits of ports"]


def test_a_polynomial_cam_is_a_joint_equality_and_other_laws_are_refused() -> None:
    cam = records(arm(2), couplings={"cam": {"expression": "j2/2 - 0.3*j1**2 + (j1 - 1)**3/10 + 0.1"}})
    model, data = loaded(mjcf_text(cam, assembled(cam).reference).text)
    assert equality_gap(data) < 1e-14
    data.qpos[0] = 0.3
    data.qpos[1] = 2 * (0.3 * 0.3**2 - (0.3 - 1) ** 3 / 10 - 0.1)
    mujoco.mj_forward(model, data)
    assert equality_gap(data) < 1e-14
    sine = records(arm(2), couplings={"cam": {"expression": "j2 - sin(j1)"}})
    with pytest.raises(ModelError, match=r"couplings\.cam: MuJoCo couples joints by a sum"):
        mjcf_text(sine, {})


@pytest.mark.parametrize("kind", ["universal", "cylindrical", "planar", "prismatic", "screw", "revolute", "fixed"])
def test_every_closing_joint_comes_back(kind: str, tmp_path: Path) -> None:
    maker = Maker(np.random.default_rng(5))
    bodies = ("b0", "b1", "b2", "b3")
    ends = zip((WORLD, *bodies), bodies, strict=False)
    chain = [maker.joint(f"u{k}", JointType.UNIVERSAL, *pair) for k, pair in enumerate(ends)]
    closing = maker.joint("closing", JointType(kind), "b3", WORLD)
    closing = maker.closed(closing, body_poses(bodies, chain, maker.values))
    sample = finish("closed", maker, bodies, (*chain, closing))
    export = mjcf_text(sample.mechanism, sample.values)
    _, data = loaded(export.text)
    assert equality_gap(data) < 1e-12
    records = again(tmp_path, export).mechanism
    assert max(oracle_difference(sample.mechanism, records, sample.values, export.renamed)) < 1e-11
    changed = " ".join(note.message for note in export.notes if note.kind == CHANGED)
    assert ("ends on a new body" in changed) == (kind not in ("revolute", "fixed"))


def test_a_massless_link_between_two_hinges_is_no_body_of_the_mjcf(tmp_path: Path) -> None:
    joints = arm(3)
    joints["j2"]["axis"] = [0, 0, 1]
    joints["j2"]["b"] = {"body": "l2", "xyz": [0.1, 0.05, 0.02], "rpy": [0.3, 0.2, 0.1]}
    data = {"robocompiler": 1, "name": "cross", "bodies": {"l1": BODY, "l2": {}, "l3": BODY}, "joints": joints}
    cross = mechanism_from_dict(data)
    export = mjcf_text(cross, assembled(cross).reference)
    model, _ = loaded(export.text)
    assert [model.body(k).name for k in range(model.nbody)] == ["world", "l1", "l3"]
    assert "no body there" in str(export.notes[0])
    assert max(same_dynamics(cross, again(tmp_path, export).mechanism)) < 1e-12


def test_limits_that_mujoco_refuses_are_listed() -> None:
    joints = arm(2)
    joints["j1"] |= {"limits": {"position": [0.0, 0.0], "effort": 0.0}}
    small = records(joints, ports={"motor": {"joint": "j2", "limits": {"effort": 0.0}}}, scales={"length": 0.5})
    export = mjcf_text(small, {})
    loaded(export.text)
    told = {note.message: note.count for note in export.notes}
    assert told == {
        "position limits that leave no room, which MuJoCo refuses": 1,
        "effort limits of zero, which MuJoCo refuses": 2,
        "the length scale": 1,
    }


def test_the_same_records_give_the_same_text() -> None:
    found, export = exported("parallel_ankle")
    assert mjcf_text(found.mechanism, dict(reversed(found.reference.items()))).text == export.text
