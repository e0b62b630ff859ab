"""A MuJoCo model of the same records, written as MJCF: the tree exactly, closures as (soft) equality constraints.

Meant for masses, poses and tree dynamics.  Every joint of several freedoms becomes hinges, slides, a ball or a free
joint; a joint whose frame differs from its body's gets a carrier body without mass of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import ModelError, Problem
from robocompiler.oracle.arithmetic import double_arithmetic, verification_package
from robocompiler.oracle.scene import GROUND, Frame, PlacedJoint, Scene
from robocompiler.oracle.spanning import Branch, chain, spanning_tree
from robocompiler.oracle.vectors import quaternion_of
from robocompiler.oracle.walk import compose, inverse
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]
_TINY = 1e-12  # kg and kg m^2: MuJoCo refuses moving bodies without mass
_AXIS_HALF_LENGTH = 0.1  # m, as two points close a hinge
_KINDS = {"turn": "hinge", "slide": "slide", "ball": "ball", "free": "free"}


@dataclass(frozen=True)
class Slot:
    """Where a branch's elementary joint sits in qpos and qvel."""

    branch: Branch
    coordinate: str
    kind: str
    q: int
    v: int


def _numbers(values: Sequence[Any]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _place(element: ElementTree.Element, frame: Frame) -> None:
    element.set("pos", _numbers(frame.p))
    element.set("quat", _numbers(quaternion_of(frame.R, double_arithmetic())))


class MujocoModel:
    """The mechanism in MuJoCo.

    Attributes:
        text: the MJCF; `model` and `data` the compiled model.
        notes: what the equality constraints do not represent.

    Raises:
        MissingPackageError: MuJoCo is not installed.
        ModelError: a tree joint that MuJoCo has no elements for (screws, free joints off the world).
    """

    def __init__(self, mechanism: Mechanism, parameters: Mapping[str, float] | None = None) -> None:
        mujoco = verification_package("mujoco", "MuJoCo")
        self.mujoco = mujoco
        self.scene = Scene(mechanism, parameters, double_arithmetic())
        self.spanning = spanning_tree(self.scene)
        self.notes: list[str] = []
        self._names = {solid.name: f"body{k}" for k, solid in enumerate(self.scene.solids)}
        self._joints: list[tuple[str, Branch, str, str]] = []
        self.text = self._written()
        self.model: Any = mujoco.MjModel.from_xml_string(self.text)
        self.data: Any = mujoco.MjData(self.model)
        self.slots: list[Slot] = []
        for name, branch, coordinate, kind in self._joints:
            joint = self.model.joint(name).id
            q, v = int(self.model.jnt_qposadr[joint]), int(self.model.jnt_dofadr[joint])
            self.slots.append(Slot(branch, coordinate, kind, q, v))

    def _written(self) -> str:
        root = ElementTree.Element("mujoco")
        ElementTree.SubElement(root, "compiler", angle="radian", inertiafromgeom="false", autolimits="false")
        ElementTree.SubElement(root, "option", gravity=_numbers(self.scene.gravity), integrator="Euler")
        world = ElementTree.SubElement(root, "worldbody")
        elements: dict[int, tuple[ElementTree.Element, Frame | None]] = {GROUND: (world, None)}
        for branch in self.spanning.branches:
            self._body(branch, elements)
        equality = ElementTree.SubElement(root, "equality")
        for chord in self.spanning.chords:
            self._close(chord, equality)
        return ElementTree.tostring(root, encoding="unicode")

    def _body(self, branch: Branch, elements: dict[int, tuple[ElementTree.Element, Frame | None]]) -> None:
        """A carrier at the joint's parent frame has the freedoms; the body hangs on it by the child frame's inverse."""
        joint = branch.joint
        parent, child = (joint.b, joint.a) if branch.reversed else (joint.a, joint.b)
        holder = elements[branch.parent][0]
        solid = self.scene.solids[branch.child]
        parts = chain(branch)
        if any(part.kind == "free" for part in parts):
            self._free(branch, parent, child, holder, elements)
            return
        if any(part.kind == "screw" for part in parts):
            raise ModelError([Problem(f"MuJoCo has no counterpart of this {joint.kind.value} joint", joint.name)])
        carrier = ElementTree.SubElement(holder, "body", name=f"carrier{branch.child}")
        _place(carrier, parent)
        for part in parts:
            name = f"joint{len(self._joints)}"
            element = ElementTree.SubElement(carrier, "joint", name=name, type=_KINDS[part.kind], pos="0 0 0")
            if part.kind != "ball":
                element.set("axis", _numbers(part.axis))
            armature = self._armature(joint, part.coordinate)
            element.set("armature", repr(armature))
            self._joints.append((name, branch, part.coordinate, part.kind))
        if parts:
            ElementTree.SubElement(
                carrier, "inertial", pos="0 0 0", mass=repr(_TINY), diaginertia=_numbers([_TINY] * 3)
            )
        body = ElementTree.SubElement(carrier, "body", name=self._names[solid.name])
        R, p = inverse((child.R, child.p))
        _place(body, Frame(branch.child, R, p))
        self._inertial(body, branch.child)
        elements[branch.child] = (body, None)

    def _free(
        self,
        branch: Branch,
        parent: Frame,
        child: Frame,
        holder: ElementTree.Element,
        elements: dict[int, tuple[ElementTree.Element, Frame | None]],
    ) -> None:
        """A free joint must sit on a child of the world, whose frame is the joint's."""
        still = compose((parent.R, parent.p), inverse((child.R, child.p)))
        plain = all(abs(float(still[0][i][j]) - (i == j)) < 1e-15 for i in range(3) for j in range(3))
        plain = plain and max(abs(float(x)) for x in (*parent.p, *child.p)) == 0
        if branch.parent != GROUND or branch.reversed or not plain:
            raise ModelError([Problem("MuJoCo's free joints join the world and a body's own frame", branch.joint.name)])
        solid = self.scene.solids[branch.child]
        body = ElementTree.SubElement(holder, "body", name=self._names[solid.name])
        name = f"joint{len(self._joints)}"
        ElementTree.SubElement(body, "joint", name=name, type="free")
        self._joints.append((name, branch, branch.joint.name, "free"))
        self._inertial(body, branch.child)
        elements[branch.child] = (body, None)

    def _armature(self, joint: PlacedJoint, coordinate: str) -> float:
        if not joint.armature:
            return 0.0
        if joint.kind is JointType.SPHERICAL:
            if len(set(joint.armature)) > 1:
                raise ModelError([Problem("MuJoCo has one armature for all axes of a ball", joint.name)])
            return float(joint.armature[0])
        return float(joint.armature[joint.velocities.index(coordinate)])

    def _inertial(self, body: ElementTree.Element, index: int) -> None:
        solid = self.scene.solids[index]
        matrix = np.array(solid.inertia, dtype=float)
        if float(solid.mass) == 0 and not matrix.any():
            ElementTree.SubElement(body, "inertial", pos="0 0 0", mass=repr(_TINY), diaginertia=_numbers([_TINY] * 3))
            return
        full = (matrix[0, 0], matrix[1, 1], matrix[2, 2], matrix[0, 1], matrix[0, 2], matrix[1, 2])
        ElementTree.SubElement(
            body, "inertial", pos=_numbers(solid.com), mass=repr(float(solid.mass)), fullinertia=_numbers(full)
        )

    def _body_name(self, index: int) -> str:
        return "world" if index == GROUND else self._names[self.scene.solids[index].name]

    def _close(self, chord: PlacedJoint, equality: ElementTree.Element) -> None:
        ends = {"body1": self._body_name(chord.b.body), "body2": self._body_name(chord.a.body)}
        if chord.kind is JointType.FIXED:
            R, p = compose((chord.b.R, chord.b.p), inverse((chord.a.R, chord.a.p)))  # a's body in b's body
            pose = (*p, *quaternion_of(R, double_arithmetic()))
            ElementTree.SubElement(equality, "weld", ends, anchor="0 0 0", relpose=_numbers(pose))
            return
        if chord.kind in (JointType.SPHERICAL, JointType.UNIVERSAL):
            ElementTree.SubElement(equality, "connect", ends, anchor=_numbers(chord.b.p))
            if chord.kind is JointType.UNIVERSAL:
                self.notes.append(f"{chord.name}: a universal closure is represented by its point only")
        elif chord.kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
            for side in (-_AXIS_HALF_LENGTH, _AXIS_HALF_LENGTH):
                shift = np.array(chord.b.R, dtype=float) @ np.array(chord.n, dtype=float) * side
                anchor = np.array(chord.b.p, dtype=float) + shift
                ElementTree.SubElement(equality, "connect", ends, anchor=_numbers(anchor.tolist()))
        else:
            self.notes.append(f"{chord.name}: a {chord.kind.value} closure is left open")
        # `connect` takes its second point from the model's rest pose, where the loop may be open: see `hold`

    @property
    def mass(self) -> float:
        """Total mass; carriers without mass of their own weigh 1e-12 kg each."""
        return float(np.sum(self.model.body_mass))

    def configuration(self, values: Mapping[str, float]) -> Array:
        """Qpos from coordinates by name."""
        q: Array = np.array(self.model.qpos0)
        for slot in self.slots:
            if slot.kind in ("ball", "free"):
                own = [float(values[name]) for name in slot.branch.joint.coordinates]
                norm = math.hypot(*own[-4:])
                own[-4:] = [x / norm for x in own[-4:]]
                if slot.branch.reversed:  # a ball: a's rotation relative to b
                    own[-3:] = [-x for x in own[-3:]]
                q[slot.q : slot.q + len(own)] = own
            else:
                q[slot.q] = float(values[slot.coordinate])
        return q

    def _change(self, slot: Slot, q: Array) -> Array:
        """From a ball's or free joint's velocities to MuJoCo's.

        Free joints have the linear part first, in world axes; a reversed ball turns a relative to b in the axes of a:
        omega' = -R omega, with rates alike.
        """
        R = np.zeros(9)
        start = slot.q if slot.kind == "ball" else slot.q + 3
        self.mujoco.mju_quat2Mat(R, np.array(q[start : start + 4]))
        if slot.kind == "ball":
            return np.asarray(-R.reshape(3, 3).T) if slot.branch.reversed else np.eye(3)
        change = np.zeros((6, 6))
        change[:3, 3:], change[3:, :3] = R.reshape(3, 3), np.eye(3)
        return change

    def velocity(self, q: Array, speeds: Mapping[str, float]) -> Array:
        """Qvel at q from joint velocities by name."""
        v: Array = np.zeros(self.model.nv)
        for slot in self.slots:
            if slot.kind in ("ball", "free"):
                own = np.array([float(speeds[name]) for name in slot.branch.joint.velocities])
                v[slot.v : slot.v + len(own)] = self._change(slot, q) @ own
            else:
                v[slot.v] = float(speeds[slot.coordinate])
        return v

    def body_poses(self, q: Array) -> dict[str, tuple[Array, Array]]:
        """World (R, p) of every body."""
        self.data.qpos[:], self.data.qvel[:] = q, 0.0
        self.mujoco.mj_kinematics(self.model, self.data)
        found = {}
        for name, alias in self._names.items():
            placed = self.data.body(alias)
            found[name] = (np.array(placed.xmat).reshape(3, 3), np.array(placed.xpos))
        return found

    def tree_dynamics(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Mass matrix (armatures included) and bias forces of the tree, in MuJoCo's velocities; closures do not act."""
        self.data.qpos[:], self.data.qvel[:] = q, v
        self.mujoco.mj_forward(self.model, self.data)
        nv = int(self.model.nv)
        M = np.zeros((nv, nv))
        for k, unit in enumerate(np.eye(nv)):  # by products, since the stored form differs between MuJoCo's versions
            self.mujoco.mj_mulM(self.model, self.data, M[k], unit)
        return M, np.array(self.data.qfrc_bias)

    def named_dynamics(self, q: Array, v: Array) -> tuple[tuple[str, ...], Array, Array]:
        """(names, M, h) of the tree in the joint velocities by name: M vdot + h = tau, without damping."""
        M, h = self.tree_dynamics(q, v)
        names: list[str] = [""] * int(self.model.nv)
        change, drift = np.eye(self.model.nv), np.zeros(self.model.nv)
        for slot in self.slots:
            own = slot.branch.joint.velocities if slot.kind in ("ball", "free") else (slot.coordinate,)
            names[slot.v : slot.v + len(own)] = own
            if slot.kind not in ("ball", "free"):
                continue
            block = slice(slot.v, slot.v + len(own))
            C = self._change(slot, q)
            change[block, block] = C
            if slot.kind == "free":  # d/dt(R v) = R (vdot + omega x v)
                omega = v[slot.v + 3 : slot.v + 6]
                drift[slot.v : slot.v + 3] = C[:3, 3:] @ np.cross(omega, C[:3, 3:].T @ v[slot.v : slot.v + 3])
        return tuple(names), change.T @ M @ change, change.T @ (h + M @ drift)
