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
_TIGHT = {"solver": "Newton", "iterations": "200", "tolerance": "0", "jacobian": "dense"}
_STIFF = {"solimp": "0.9999 0.9999 0.001 0.5 2", "solref": "0.004 1"}  # as hard as MuJoCo makes equalities
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

    def __init__(
        self,
        mechanism: Mechanism,
        parameters: Mapping[str, float] | None = None,
        *,
        support: str = "",
        anchors: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> None:
        mujoco = verification_package("mujoco", "MuJoCo")
        self.mujoco = mujoco
        self.scene = Scene(mechanism, parameters, double_arithmetic())
        self.spanning = spanning_tree(self.scene)
        self.notes: list[str] = []
        self._names = {solid.name: f"body{k}" for k, solid in enumerate(self.scene.solids)}
        self._joints: list[tuple[str, Branch, str, str]] = []
        self._sites = 0
        contacts = next((record.contacts for record in mechanism.supports if record.name == support), ())
        self.text = self._written([(kind, Frame(GROUND, *(anchors or {})[name]), name) for name, kind in contacts])
        self.model: Any = mujoco.MjModel.from_xml_string(self.text)
        self.data: Any = mujoco.MjData(self.model)
        self.slots: list[Slot] = []
        for name, branch, coordinate, kind in self._joints:
            joint = self.model.joint(name).id
            q, v = int(self.model.jnt_qposadr[joint]), int(self.model.jnt_dofadr[joint])
            self.slots.append(Slot(branch, coordinate, kind, q, v))

    def _written(self, contacts: Sequence[tuple[str, Frame, str]]) -> str:
        root = ElementTree.Element("mujoco")
        ElementTree.SubElement(root, "compiler", angle="radian", inertiafromgeom="false", autolimits="false")
        ElementTree.SubElement(root, "option", _TIGHT, gravity=_numbers(self.scene.gravity))
        world = ElementTree.SubElement(root, "worldbody")
        elements: dict[int, ElementTree.Element] = {GROUND: world}
        for branch in self.spanning.branches:
            self._body(branch, elements)
        equality = ElementTree.SubElement(root, "equality")
        for chord in self.spanning.chords:
            self._close(chord, equality, elements)
        for contact, target, name in contacts:
            kind = "weld" if contact == "weld" else "connect"
            self._equal(kind, target, self.scene.named_frame(name), equality, elements)
        return ElementTree.tostring(root, encoding="unicode")

    def _body(self, branch: Branch, elements: dict[int, ElementTree.Element]) -> None:
        """A carrier at the joint's parent frame has the freedoms; the body hangs on it by the child frame's inverse."""
        joint = branch.joint
        parent, child = (joint.b, joint.a) if branch.reversed else (joint.a, joint.b)
        holder = elements[branch.parent]
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
        elements[branch.child] = body

    def _free(
        self,
        branch: Branch,
        parent: Frame,
        child: Frame,
        holder: ElementTree.Element,
        elements: dict[int, ElementTree.Element],
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
        elements[branch.child] = body

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

    def _equal(
        self,
        kind: str,
        a: Frame,
        b: Frame,
        equality: ElementTree.Element,
        bodies: Mapping[int, ElementTree.Element],
    ) -> None:
        """`connect` or `weld` two sites; by bodies, MuJoCo takes the second from a rest pose, maybe an open one."""
        names = []
        for frame in (a, b):
            names.append(f"site{self._sites}")
            self._sites += 1
            _place(ElementTree.SubElement(bodies[frame.body], "site", name=names[-1]), frame)
        ElementTree.SubElement(equality, kind, {"site1": names[0], "site2": names[1], **_STIFF})

    def _close(
        self, chord: PlacedJoint, equality: ElementTree.Element, bodies: Mapping[int, ElementTree.Element]
    ) -> None:
        if any(value != 0 for value in (*chord.armature, *chord.damping)):
            self.notes.append(f"{chord.name}: armature and damping of a closure are left out")
        if chord.kind is JointType.FIXED:
            self._equal("weld", chord.a, chord.b, equality, bodies)
        elif chord.kind in (JointType.SPHERICAL, JointType.UNIVERSAL):
            self._equal("connect", chord.a, chord.b, equality, bodies)
            if chord.kind is JointType.UNIVERSAL:
                self.notes.append(f"{chord.name}: a universal closure is represented by its point only")
        elif chord.kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
            for side in (-_AXIS_HALF_LENGTH, _AXIS_HALF_LENGTH):
                shift = side * np.array(chord.n, dtype=float)
                self._equal("connect", _shifted(chord.a, shift), _shifted(chord.b, shift), equality, bodies)
        elif chord.kind is not JointType.FREE:
            self.notes.append(f"{chord.name}: a {chord.kind.value} closure is left open")

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

    def closure_gaps(self, q: Array) -> Array:
        """Residuals of the equality constraints at q, m and rad."""
        self.data.qpos[:], self.data.qvel[:] = q, 0.0
        self.mujoco.mj_forward(self.model, self.data)
        equality = int(self.mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        return np.asarray(np.array(self.data.efc_pos)[np.array(self.data.efc_type) == equality])

    def _variables(self, q: Array, v: Array) -> tuple[tuple[str, ...], Array, Array]:
        """(names, C, c): qvel = C (joint velocities by name), and qacc = C (their rates) + c."""
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
        return tuple(names), change, drift

    def named_dynamics(self, q: Array, v: Array) -> tuple[tuple[str, ...], Array, Array]:
        """(names, M, h) of the tree in the joint velocities by name: M vdot + h = tau, without damping."""
        M, h = self.tree_dynamics(q, v)
        names, change, drift = self._variables(q, v)
        return names, change.T @ M @ change, change.T @ (h + M @ drift)

    def applied(self, q: Array, v: Array, efforts: Mapping[str, float]) -> Array:
        """MuJoCo's qfrc_applied from forces per tree joint velocity; ModelError for other names."""
        names, change, _ = self._variables(q, v)
        unknown = sorted(set(efforts) - set(names))
        if unknown:
            raise ModelError([Problem(f"{name!r} is no tree velocity of the MuJoCo model") for name in unknown])
        return np.asarray(np.linalg.solve(change.T, np.array([float(efforts.get(name, 0.0)) for name in names])))

    def accelerations(self, q: Array, v: Array, efforts: Mapping[str, float]) -> dict[str, float]:
        """Rates of the tree's joint velocities with the closures as MuJoCo's soft constraints.

        Efforts are forces per tree joint velocity; damping belongs to them.  MuJoCo leaves out how the constraint
        Jacobian changes, so that the result is off at speed even where its constraints are hard.
        """
        names, change, drift = self._variables(q, v)
        self.data.qpos[:], self.data.qvel[:] = q, v
        self.data.qfrc_applied[:] = self.applied(q, v, efforts)
        self.mujoco.mj_forward(self.model, self.data)
        self.data.qfrc_applied[:] = 0.0
        rates = np.linalg.solve(change, np.array(self.data.qacc) - drift)
        return dict(zip(names, rates.tolist(), strict=True))


def _shifted(frame: Frame, shift: Array) -> Frame:
    p = np.array(frame.p, dtype=float) + np.array(frame.R, dtype=float) @ shift
    return Frame(frame.body, frame.R, (float(p[0]), float(p[1]), float(p[2])))
