"""Walking tree paths symbolically, module-locally: only the joints between a chord and its ancestor appear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JointType
from robocompiler.symbolic.frames import AlignedJoint, align, constant_product
from robocompiler.symbolic.joints import Motion, traverse
from robocompiler.symbolic.spatial import Pose

SX = Any


@dataclass(frozen=True)
class Symbols:
    """The symbolic inputs of the kernels, q (nq), v (nv) and p (run-time parameters), and the aligned joints."""

    topology: Topology
    q: SX
    v: SX
    p: SX
    joints: dict[str, AlignedJoint]

    def coordinates(self, joint: str) -> SX:
        """The joint's part of q."""
        slot = self.topology.slot(joint)
        return self.q[slot.q0 : slot.q0 + slot.nq]


def make_symbols(topology: Topology) -> Symbols:
    """Fresh inputs for a topology, and its joints in aligned form."""
    mechanism = topology.mechanism
    p = cs.SX.sym("p", len(mechanism.parameters))
    parameters = {parameter.name: p[i] for i, parameter in enumerate(mechanism.parameters)}
    joints = {joint.name: align(joint, parameters) for joint in mechanism.joints}
    return Symbols(topology, cs.SX.sym("q", topology.nq), cs.SX.sym("v", topology.nv), p, joints)


@dataclass(frozen=True)
class Limb:
    """The end of a path: the pose, in the path's base frame, of the frame walked to, and the motions that move it.

    end: the constant pose of that frame in the last joint's far frame.
    """

    pose: Pose
    motions: tuple[Motion, ...]
    end: Pose


def joint_sides(symbols: Symbols, name: str) -> tuple[bool, Pose, Pose]:
    """(forward, near frame, far frame) of a tree joint walked away from the root, frames in their own bodies."""
    joint = symbols.joints[name]
    forward = next(edge.forward for edge in symbols.topology.edges if edge.joint == name)
    return (True, joint.A, joint.B) if forward else (False, joint.B, joint.A)


def first_frame(symbols: Symbols, branch: Sequence[str], end: Pose) -> Pose:
    """The aligned frame of the branch's first moving joint (else `end`), posed on the branch's first body at any q."""
    pose = Pose.identity()
    for name in branch:
        _, near, far = joint_sides(symbols, name)
        pose = constant_product(pose, near)
        if symbols.joints[name].kind is not JointType.FIXED:
            return pose
        pose = constant_product(pose, far.inverse())
    return constant_product(pose, end)


def walk(symbols: Symbols, base: Pose, branch: Sequence[str], end: Pose) -> Limb:
    """Walk `branch` downwards from its first body and on to the frame `end` of its last body.

    `base` is the pose of the path's base frame on the first body; poses and motions come out in that base frame.
    Constant transforms between joints are multiplied out before anything symbolic touches them.
    """
    pose, motions = Pose.identity(), []
    pending = base.inverse()  # constant transform from the current frame to the coordinates of the current body
    for name in branch:
        forward, near, far = joint_sides(symbols, name)
        pose = pose @ constant_product(pending, near)
        slot = symbols.topology.slot(name)
        pose, found = traverse(pose, symbols.joints[name], symbols.coordinates(name), slot.v0, forward)
        motions += found
        pending = far.inverse()
    last = constant_product(pending, end)
    return Limb(pose @ last, tuple(motions), last)
