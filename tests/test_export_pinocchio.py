"""The Pinocchio export: tree dynamics projected on the compiler's lift, and constraints that hold these loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from casadi_mechanics import CasadiMechanics
from numpy.typing import NDArray
from oracle_kinematics import Oracle
from random_mechanisms import Sample, tree_case

import robocompiler as rc
from robocompiler.check.random_mechanism import random_mechanism
from robocompiler.errors import MissingPackageError, ModelError
from robocompiler.exporters.pinocchio_model import PinocchioExport, pinocchio_model
from robocompiler.graph.build import derive_topology
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

pin = pytest.importorskip("pinocchio", reason="a package of the verify extra, not needed to compile")
Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"


def bare(name: str) -> Mechanism:
    """A shipped model without damping, which Pinocchio's algorithms leave out."""
    records = read_mechanism(MODELS / f"{name}.yaml")
    return replace(records, joints=tuple(replace(joint, damping=(), friction=()) for joint in records.joints))


class Both:
    """A mechanism in the compiler and in Pinocchio at one random state; E_T: Pinocchio's velocities per u."""

    def __init__(self, records: Mechanism) -> None:
        self.export: PinocchioExport = rc.export.pinocchio(records)
        self.mechanics = CasadiMechanics.of(records)
        robot = self.mechanics.robot
        old = {new: name for name, new in self.export.renamed.items()}
        rows = [robot.topology.v_names.index(old.get(name, name)) for name in self.export.velocities]
        random = np.random.default_rng(4)
        self.q = robot.assembled_near(random)
        self.u = random.uniform(-1, 1, len(self.mechanics.independent))
        named = robot.named(self.q)
        self.theirs = np.array([named[old.get(name, name)] for name in self.export.coordinates])
        _, v, _ = self.mechanics.motion(self.q, self.u)
        self.v = v[rows]
        self.drift = self.mechanics.acceleration(self.q, self.u, np.zeros_like(self.u))[rows]
        self.E = robot.lift(self.q)[rows]

    def constraint_jacobian(self) -> Array:
        """Of all constraint models, at the state."""
        model, data = self.export.model, self.export.model.createData()
        pin.computeJointJacobians(model, data, self.theirs)
        parts = [np.zeros((0, model.nv))]
        for constraint in self.export.constraint_models:
            sides = []
            for joint, placement in (
                (constraint.joint1_id, constraint.joint1_placement),
                (constraint.joint2_id, constraint.joint2_placement),
            ):
                frame = data.oMi[joint] * placement
                local = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL) if joint else None
                twist = np.zeros((6, model.nv)) if local is None else placement.inverse().toActionMatrix() @ local
                sides.append(np.kron(np.eye(2), frame.rotation) @ twist)  # in world axes, linear part first
            point = constraint.type == pin.ContactType.CONTACT_3D
            parts.append((sides[1] - sides[0])[: 3 if point else 6])
        return np.vstack(parts)


@pytest.mark.parametrize("name", ["fourbar", "parallel_ankle", "excavator", "go2", "stewart"])
def test_tree_dynamics_and_constraints_are_those_of_the_compiler(name: str) -> None:
    both = Both(bare(name))
    export, model = both.export, both.export.model
    assert export.backwards == ()
    assert export.missing == ()
    data = model.createData()
    M = np.triu(pin.crba(model, data, both.theirs))
    M = M + np.triu(M, 1).T
    ours = both.mechanics.mass(both.q)
    np.testing.assert_allclose(both.E.T @ M @ both.E, ours, rtol=1e-11, atol=1e-12 * np.abs(ours).max())
    tau = both.E.T @ pin.rnea(model, data, both.theirs, both.v, both.drift)
    h = both.mechanics.inverse(both.q, both.u, np.zeros_like(both.u))
    np.testing.assert_allclose(tau, h, rtol=1e-10, atol=1e-11 * np.abs(h).max())
    K = both.constraint_jacobian()
    np.testing.assert_allclose(K @ both.E, 0, atol=1e-9)
    rank = np.linalg.matrix_rank(K, tol=1e-7 * np.linalg.norm(K, 2)) if K.size else 0
    assert rank == model.nv - both.u.size


@pytest.mark.parametrize("name", ["parallel_ankle", "stewart"])
def test_names_lead_to_joints_frames_and_the_closed_reference(name: str) -> None:
    found = rc.export.assembled(MODELS / f"{name}.yaml")
    export = rc.export.pinocchio(found.mechanism)
    model = export.model
    for name_, number in export.joints.items():
        assert model.names[number] == name_
    for k in range(1, model.njoints):  # depth first: a parent's numbers run on into its first child's
        assert model.parents[k] < k
        assert set(model.subtrees[k]) == set(range(k, k + len(model.subtrees[k])))
    data = model.createData()
    pin.framesForwardKinematics(model, data, export.reference)
    for body in found.mechanism.bodies:
        assert model.existFrame(body.name, pin.FrameType.BODY)
    for frame in found.mechanism.frames:
        assert model.existFrame(frame.name, pin.FrameType.OP_FRAME)
    gaps = []
    for constraint in export.constraint_models:
        first = data.oMi[constraint.joint1_id] * constraint.joint1_placement
        second = data.oMi[constraint.joint2_id] * constraint.joint2_placement
        gaps.append(np.linalg.norm(first.translation - second.translation))
    assert len(gaps) == len(export.constraint_joints)
    assert max(gaps) < 1e-12


def test_random_trees_stand_as_the_records_say_walked_forwards_and_backwards() -> None:
    backwards = 0
    samples = [random_mechanism(seed) for seed in range(20)]
    samples += [
        tree_case(kind, reversed_=True, seed=k) for kind in (JointType.SPHERICAL, JointType.FREE) for k in (1, 2)
    ]
    for seed, sample in enumerate(map(weightless_rotors, samples)):
        topology = derive_topology(sample.mechanism)
        export = pinocchio_model(sample.mechanism, sample.values)
        poses = Oracle(topology.mechanism).body_poses(sample.values, {chord.joint for chord in topology.chords})
        data = export.model.createData()
        pin.framesForwardKinematics(export.model, data, export.reference)
        for body in sample.mechanism.bodies:
            placed = data.oMf[export.model.getFrameId(body.name)]
            np.testing.assert_allclose(placed.homogeneous, poses[body.name], atol=1e-9, err_msg=f"{seed} {body.name}")
        backwards += len(export.backwards)
    assert backwards > 3


def weightless_rotors(sample: Sample) -> Sample:
    """Without armatures, which a ball walked backwards may not have along its axes unequally."""
    records = sample.mechanism
    joints = tuple(replace(joint, armature=()) for joint in records.joints)
    return replace(sample, mechanism=replace(records, joints=joints))


def test_unequal_armatures_of_a_ball_walked_backwards_are_refused() -> None:
    sample = tree_case(JointType.SPHERICAL, reversed_=True, seed=1)
    joints = tuple(
        replace(joint, armature=(0.1, 0.2, 0.3)) if joint.name == "tested" else joint
        for joint in sample.mechanism.joints
    )
    with pytest.raises(ModelError, match="tested: armatures that differ among the axes"):
        pinocchio_model(replace(sample.mechanism, joints=joints), sample.values)


def test_what_has_no_constraint_model_is_listed() -> None:
    export = rc.export.pinocchio(MODELS / "kangaroo.yaml")
    universal = {"left_ankle_4_closed", "left_hip_differential_2"}
    assert universal < set(export.missing)
    assert len(export.missing) == 8
    assert len(export.constraint_models) == 16
    told = [note.message for note in export.notes]
    assert any("freer without them" in message for message in told)
    assert any("damping and friction" in message for message in told)


def test_without_pinocchio_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    real = importlib.import_module

    def missing(name: str, *rest: Any) -> Any:
        if name == "pinocchio":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingPackageError, match="pip install pin"):
        rc.export.pinocchio(MODELS / "fourbar.yaml")
