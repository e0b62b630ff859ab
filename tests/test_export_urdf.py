"""URDF exports with their side files: engines read the tree, and an import gives the whole mechanism back."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from export_support import oracle_difference, same_dynamics, scalar_independents
from import_engines import compare_with_pinocchio
from import_support import written

from robocompiler.check.random_mechanism import random_mechanism
from robocompiler.errors import ModelError
from robocompiler.export import Assembled, assembled
from robocompiler.exporters.urdf import ExportedUrdf, urdf_text
from robocompiler.graph.build import derive_topology
from robocompiler.importers.import_model import Imported, import_model
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism, Reference
from robocompiler.records.reader import mechanism_from_dict
from robocompiler.records.rotations import rotation_of_rpy, rpy_of_rotation

MODELS = Path(__file__).resolve().parent.parent / "models"


@cache
def exported(name: str) -> tuple[Assembled, ExportedUrdf]:
    """A shipped model at its reference, and its URDF."""
    found = assembled(MODELS / f"{name}.yaml")
    return found, urdf_text(found.mechanism, found.reference)


def again(folder: Path, export: ExportedUrdf) -> Imported:
    """The export imported."""
    written(folder, export.side, "robot.loops.yaml")
    return import_model(written(folder, export.text, "robot.urdf"))


@pytest.mark.parametrize("name", ["stewart", "excavator", "go2", "kangaroo", "panda"])
def test_import_after_export_has_the_same_reduced_dynamics_by_the_oracle(name: str, tmp_path: Path) -> None:
    found, export = exported(name)
    records = again(tmp_path, export).mechanism
    assert max(oracle_difference(found.mechanism, records, found.reference, export.renamed)) < 1e-12


@pytest.mark.parametrize("name", ["fourbar", "crane", "parallel_ankle"])
def test_import_after_export_has_the_same_reduced_dynamics_in_the_compiler(name: str, tmp_path: Path) -> None:
    found, export = exported(name)
    assert max(same_dynamics(found.mechanism, again(tmp_path, export).mechanism, export.renamed)) < 1e-12


@pytest.mark.parametrize("name", ["stewart", "go2", "crane"])
def test_records_that_a_urdf_cannot_say_come_back_from_the_side_file(name: str, tmp_path: Path) -> None:
    found, export = exported(name)
    mechanism, records = found.mechanism, again(tmp_path, export).mechanism
    assert records.name == mechanism.name
    assert records.gravity == mechanism.gravity
    assert [(frame.name, frame.placement) for frame in records.frames] == [
        (frame.name, frame.placement) for frame in mechanism.frames
    ]
    assert records.supports == mechanism.supports
    assert [port.name for port in records.ports] == [port.name for port in mechanism.ports]
    assert [port.limits for port in records.ports] == [port.limits for port in mechanism.ports]
    assert [drive.name for drive in records.drives] == [drive.name for drive in mechanism.drives]
    joints = {joint.name: joint for joint in records.joints}
    for joint in mechanism.joints:
        assert joints[joint.name].type in (joint.type, JointType.CONTINUOUS)
        for key in ("limits", "armature", "damping", "friction"):
            assert getattr(joints[joint.name], key) == getattr(joint, key), (joint.name, key)


@pytest.mark.parametrize("name", ["excavator", "go2", "parallel_ankle"])
def test_pinocchio_reads_the_tree_as_the_importer_does(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pinocchio", reason="a package of the verify extra, not needed to compile")
    _, export = exported(name)
    records = again(tmp_path, export).mechanism
    chords = {chord.joint for chord in derive_topology(records).chords}
    in_file = [joint for joint in records.joints if f'<joint name="{joint.name}"' in export.text]
    assert {joint.name for joint in records.joints} - {joint.name for joint in in_file} == chords
    bare = [replace(joint, armature=()) for joint in in_file]  # a URDF holds no armatures
    tree = Mechanism(records.name, records.gravity, records.bodies, tuple(bare), reference=Reference())
    if name == "go2":
        assert tree.joint("base_link_free").type is JointType.FREE
    assert compare_with_pinocchio(export.text, tree) == derive_topology(tree).tree_nv


def test_a_linear_coupling_is_a_mimic_of_the_joint_without_a_port(tmp_path: Path) -> None:
    sides = [("world", "l1"), ("l1", "l2"), ("l2", "l3")]
    small = mechanism_from_dict({
        "robocompiler": 1,
        "name": "fingers",
        "bodies": {b: {"mass": 1, "com": [0.1, 0, 0], "inertia": [0.1, 0.1, 0.1, 0, 0, 0]} for _, b in sides},
        "joints": {
            f"j{k}": {"type": "revolute", "a": {"body": a, "xyz": [0.2, 0, 0]}, "b": {"body": b}, "axis": [0, 1, 0]}
            for k, (a, b) in enumerate(sides, start=1)
        },
        "couplings": {
            "first": {"terms": {"j1": 2.0, "j2": 1.0}, "constant": 0.5},
            "again": {"terms": {"j1": 4.0, "j2": 2.0}, "constant": 1.0},
            "second": {"terms": {"j3": 1.0, "j2": -3.0}},
        },
        "ports": {"motor": {"joint": "j1"}},
    })  # fmt: skip
    found = assembled(small)
    export = urdf_text(small, found.reference)
    assert '<mimic joint="j1" multiplier="-2" offset="-0.5" />' in export.text
    assert '<mimic joint="j2" multiplier="3" offset="0" />' in export.text
    assert export.text.count("<mimic") == 2  # a second law for the same pair would close a circle
    records = again(tmp_path, export).mechanism
    assert [coupling.name for coupling in records.couplings] == ["j2_mimic", "j3_mimic", "again"]
    assert [port.name for port in records.ports] == ["motor"]
    assert max(oracle_difference(small, records, found.reference, {})) < 1e-12


def test_random_mechanisms_come_back(tmp_path: Path) -> None:
    compared = refused = 0
    for seed in range(30):
        sample = random_mechanism(seed)
        try:
            export = urdf_text(sample.mechanism, sample.values)
        except ModelError as error:
            refused += 1
            assert all("seen from its body b" in problem.message for problem in error.problems), error
            continue
        records = again(tmp_path, export).mechanism
        if scalar_independents(sample.mechanism, sample.values):
            assert max(oracle_difference(sample.mechanism, records, sample.values, export.renamed)) < 1e-11, seed
            compared += 1
    assert compared >= 12
    assert refused <= 3


def test_angles_of_a_rotation_give_it_back_also_near_a_quarter_turn_of_pitch() -> None:
    random = np.random.default_rng(2)
    turns = [tuple(random.uniform(-math.pi, math.pi, 3).tolist()) for _ in range(200)]
    turns += [(0.7, side * (math.pi / 2 - off), -0.4) for side in (1, -1) for off in (0.0, 1e-3, 1e-8, 1e-16)]
    for turn in turns:
        matrix = rotation_of_rpy(turn)
        np.testing.assert_allclose(rotation_of_rpy(rpy_of_rotation(matrix)), matrix, atol=1e-15)


def test_a_side_file_says_more_of_a_joint_of_the_model_but_not_twice_what_it_is(tmp_path: Path) -> None:
    text = exported("fourbar")[1].text
    written(tmp_path, text, "robot.urdf")
    name = derive_topology(import_model(tmp_path / "robot.urdf").mechanism).edges[0].joint
    written(tmp_path, f"joints:\n  {name}: {{armature: 0.25, limits: {{velocity: 3}}}}\n", "robot.loops.yaml")
    found = import_model(tmp_path / "robot.urdf")
    assert found.mechanism.joint(name).armature == (0.25,)
    assert found.mechanism.joint(name).limits[0].velocity == 3.0
    assert any("more about a joint of the model" in note.message for note in found.notes)
    written(tmp_path, f"joints:\n  {name}: {{type: revolute, armature: 0.25}}\n", "robot.loops.yaml")
    with pytest.raises(ModelError, match="the model has this name already"):
        import_model(tmp_path / "robot.urdf")
