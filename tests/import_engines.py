"""Imported trees against the engines' own readers of the same file: MuJoCo on MJCF and URDF, Pinocchio on URDF."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.oracle.mujoco_adapter import MujocoModel
from robocompiler.oracle.pinocchio_adapter import PinocchioModel
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism, Reference

Array = NDArray[np.float64]


def tree_of(mechanism: Mechanism, *closing: str) -> Mechanism:
    """The mechanism without closing joints, couplings and joint seeds: what a reader of trees sees."""
    joints = tuple(joint for joint in mechanism.joints if joint.name not in closing)
    return replace(mechanism, joints=joints, couplings=(), reference=Reference(bases=mechanism.reference.bases))


def compare_with_pinocchio(text: str, tree: Mechanism, seed: int = 0) -> int:
    """Body poses, mass matrix and inverse dynamics by Pinocchio's URDF reader and by the records; its nv."""
    ours = PinocchioModel(tree)
    pin = ours.pin
    model = pin.buildModelFromXML(text)
    model.gravity = ours.model.gravity
    data = model.createData()
    random = np.random.default_rng(seed)
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    v, a = random.uniform(-1, 1, model.nv), random.uniform(-1, 1, model.nv)
    own_q, order = np.array(pin.neutral(ours.model)), np.zeros(model.nv, dtype=int)
    for slot in ours.slots:
        joint = model.joints[model.getJointId(slot.branch.joint.name)]
        theirs = q[joint.idx_q : joint.idx_q + joint.nq]
        if slot.branch.joint.kind is JointType.CONTINUOUS:
            theirs = np.array([np.arctan2(theirs[1], theirs[0])])
        own_q[slot.q : slot.q + theirs.size] = theirs
        order[slot.v : slot.v + joint.nv] = range(joint.idx_v, joint.idx_v + joint.nv)
    poses = ours.body_poses(own_q)
    pin.framesForwardKinematics(model, data, q)
    for name, (R, p) in poses.items():
        placed = data.oMf[model.getFrameId(name)]
        np.testing.assert_allclose(R, placed.rotation, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(p, placed.translation, atol=1e-12, err_msg=name)
    M = np.triu(pin.crba(model, data, q))
    M = M + np.triu(M, 1).T
    np.testing.assert_allclose(ours.mass_matrix(own_q), M[np.ix_(order, order)], rtol=1e-11, atol=1e-12)
    wanted = pin.rnea(model, data, q, v, a)[order]
    np.testing.assert_allclose(ours.rnea(own_q, v[order], a[order]), wanted, rtol=1e-10, atol=1e-11)
    return int(model.nv)


def compare_with_mujoco(theirs: Any, tree: Mechanism, seed: int = 0) -> int:
    """Masses, body and site poses, mass matrix and bias of an MjModel and of the records at a random state; its nv.

    Joints are found by their names in the records; free roots by the body they carry.
    """
    ours = MujocoModel(tree)
    mujoco = ours.mujoco
    data = mujoco.MjData(theirs)
    random = np.random.default_rng(seed)
    q, v = np.array(theirs.qpos0), random.uniform(-1, 1, theirs.nv)
    own_q, order = np.array(ours.model.qpos0), np.zeros(theirs.nv, dtype=int)
    for slot in ours.slots:
        joint = _joint_of(theirs, slot.branch.joint.name, slot.coordinate)
        size, speeds = (7, 6) if slot.kind == "free" else (4, 3) if slot.kind == "ball" else (1, 1)
        place, speed = int(theirs.jnt_qposadr[joint]), int(theirs.jnt_dofadr[joint])
        value = random.uniform(-1, 1, size)
        if size > 1:
            value[-4:] /= np.linalg.norm(value[-4:])
        q[place : place + size] = own_q[slot.q : slot.q + size] = value
        order[slot.v : slot.v + speeds] = range(speed, speed + speeds)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(theirs, data)
    assert np.isclose(np.sum(theirs.body_mass), sum(float(body.mass) for body in tree.bodies), rtol=1e-12)
    for name, (R, p) in ours.body_poses(own_q).items():
        body = mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_BODY, name)
        if body < 0:
            continue  # the massless bodies between several joints of one body
        np.testing.assert_allclose(R, data.xmat[body].reshape(3, 3), atol=1e-10, err_msg=name)
        np.testing.assert_allclose(p, data.xpos[body], atol=1e-10, err_msg=name)
    M = np.zeros((theirs.nv, theirs.nv))
    for k, unit in enumerate(np.eye(theirs.nv)):
        mujoco.mj_mulM(theirs, data, M[k], unit)
    found, bias = ours.tree_dynamics(own_q, v[order])
    scale = float(np.abs(M).max())
    np.testing.assert_allclose(found, M[np.ix_(order, order)], rtol=1e-9, atol=1e-10 * scale)
    wanted = np.array(data.qfrc_bias)[order]
    np.testing.assert_allclose(bias, wanted, rtol=1e-8, atol=1e-9 * max(1.0, float(np.abs(wanted).max())))
    return int(theirs.nv)


def _joint_of(model: Any, name: str, coordinate: str) -> int:
    import mujoco

    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
    if found >= 0:
        return int(found)
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name.removesuffix("_free"))
    assert body >= 0, (name, coordinate)
    return int(model.body_jntadr[body])
