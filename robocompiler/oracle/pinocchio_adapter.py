"""A Pinocchio model of the same records: an own spanning tree, chords and supports as rigid constraints.

Joints of several freedoms become chains of elementary ones on massless bodies.  Joints are added depth first: in
another order Pinocchio's composite-inertia pass is silently wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import ModelError, Problem
from robocompiler.oracle.arithmetic import double_arithmetic, verification_package
from robocompiler.oracle.scene import GROUND, Frame, PlacedJoint, Scene
from robocompiler.oracle.spanning import Branch, Primitive, Spanning, chain, spanning_tree
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]
_AXIS_HALF_LENGTH = 0.1  # m: a hinge is closed by two points this far on either side along its axis


@dataclass(frozen=True)
class Slot:
    """Where a branch's elementary joint sits in q and v."""

    branch: Branch
    primitive: Primitive
    q: int
    v: int


class PinocchioModel:
    """The mechanism in Pinocchio.

    Args:
        mechanism, parameters: as for the maximal model.
        support: a support mode, whose contacts become constraints with the world at the poses of `anchors`.
        anchors: (R, p) of the supported frames.

    Attributes:
        model: the pinocchio.Model of the tree; `constraints` its RigidConstraintModels.
        notes: what the constraints do not represent (a universal chord is a point only).

    Raises:
        MissingPackageError: Pinocchio is not installed.
        ModelError: couplings, or a chord that no rigid constraint expresses.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        parameters: Mapping[str, float] | None = None,
        *,
        support: str = "",
        anchors: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> None:
        self.pin = verification_package("pinocchio", "Pinocchio (package pin)")
        self.scene = Scene(mechanism, parameters, double_arithmetic())
        self.spanning: Spanning = spanning_tree(self.scene)
        self.model: Any = self.pin.Model()
        self.model.gravity = self.pin.Motion(np.array(self.scene.gravity, dtype=float), np.zeros(3))
        self.slots: list[Slot] = []
        self.carrier: dict[int, tuple[int, Any]] = {GROUND: (0, self.pin.SE3.Identity())}
        for branch in self.spanning.branches:
            self._append(branch)
        self._armatures()
        self.notes: list[str] = []
        self.constraints: list[Any] = []
        self._blocked = "couplings have no counterpart in Pinocchio" if mechanism.couplings else ""
        for chord in self.spanning.chords:
            self._close(chord)
        contacts = next((s.contacts for s in mechanism.supports if s.name == support), ())
        for frame, contact in contacts:
            R, p = (anchors or {})[frame]
            self._constrain(contact, Frame(GROUND, R, p), self.scene.named_frame(frame))
        self.data: Any = self.model.createData()

    def _se3(self, frame: Frame) -> Any:
        return self.pin.SE3(np.array(frame.R, dtype=float), np.array(frame.p, dtype=float))

    def _on_joint(self, frame: Frame) -> tuple[int, Any]:
        """Pinocchio joint that carries a frame, and the frame's placement on it."""
        joint, offset = self.carrier[frame.body]
        return joint, offset * self._se3(frame)

    def _append(self, branch: Branch) -> None:
        ends = (branch.joint.b, branch.joint.a) if branch.reversed else (branch.joint.a, branch.joint.b)
        parent, placement = self._on_joint(ends[0])
        for primitive in chain(branch):
            made = self._joint_model(primitive)
            name = f"{branch.joint.name}|{primitive.coordinate}"
            parent = self.model.addJoint(parent, made, placement, name)
            placement = self.pin.SE3.Identity()
            joint = self.model.joints[parent]
            self.slots.append(Slot(branch, primitive, joint.idx_q, joint.idx_v))
        offset = placement * self._se3(ends[1]).inverse()
        self.carrier[branch.child] = (parent, offset)
        solid = self.scene.solids[branch.child]
        inertia = self.pin.Inertia(
            float(solid.mass), np.array(solid.com, dtype=float), np.array(solid.inertia, dtype=float)
        )
        self.model.appendBodyToJoint(parent, inertia, offset)
        kind = self.pin.FrameType.BODY
        self.model.addFrame(self.pin.Frame(solid.name, parent, 0, offset, kind))

    def _joint_model(self, primitive: Primitive) -> Any:
        axis = np.array(primitive.axis)
        if primitive.kind == "turn":
            return self.pin.JointModelRevoluteUnaligned(axis)
        if primitive.kind == "slide":
            return self.pin.JointModelPrismaticUnaligned(axis)
        if primitive.kind == "screw":
            return self.pin.JointModelHelicalUnaligned(axis, primitive.pitch)
        return self.pin.JointModelSpherical() if primitive.kind == "ball" else self.pin.JointModelFreeFlyer()

    def _armatures(self) -> None:
        for slot in self.slots:
            joint = slot.branch.joint
            if not joint.armature:
                continue
            if slot.primitive.kind in ("ball", "free"):
                if slot.branch.reversed and len(set(joint.armature)) > 1:
                    raise ModelError([Problem("unequal armatures of a reversed spherical joint", joint.name)])
                order = (3, 4, 5, 0, 1, 2) if slot.primitive.kind == "free" else (0, 1, 2)
                for k, source in enumerate(order):
                    self.model.armature[slot.v + k] = float(joint.armature[source])
            else:
                self.model.armature[slot.v] = float(joint.armature[joint.velocities.index(slot.primitive.coordinate)])

    def _close(self, chord: PlacedJoint) -> None:
        damped = any(value != 0 for value in chord.damping) and not self._rotation_axes(chord)
        if damped or any(value != 0 for value in chord.armature):
            self._blocked = self._blocked or f"{chord.name} is a chord here; its armature or damping would be lost"
        if chord.kind is JointType.FIXED:
            self._constrain("weld", chord.a, chord.b)
        elif chord.kind in (JointType.SPHERICAL, JointType.UNIVERSAL):
            self._constrain("point", chord.a, chord.b)
            if chord.kind is JointType.UNIVERSAL:
                self.notes.append(f"{chord.name}: a universal closure is represented by its point only")
        elif chord.kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
            for side in (-_AXIS_HALF_LENGTH, _AXIS_HALF_LENGTH):
                shift = side * np.array(chord.n, dtype=float)
                self._constrain("point", _shifted(chord.a, shift), _shifted(chord.b, shift))
        elif chord.kind is not JointType.FREE:
            self._blocked = self._blocked or f"a {chord.kind.value} closure ({chord.name}) is not a rigid constraint"

    def _constrain(self, contact: str, a: Frame, b: Frame) -> None:
        kind = self.pin.ContactType.CONTACT_6D if contact == "weld" else self.pin.ContactType.CONTACT_3D
        (first, M1), (second, M2) = self._on_joint(a), self._on_joint(b)
        if first == 0:
            first, M1, second, M2 = second, M2, first, M1  # Pinocchio wants the moving side first
        self.constraints.append(
            self.pin.RigidConstraintModel(kind, self.model, first, M1, second, M2, self.pin.ReferenceFrame.LOCAL)
        )

    @property
    def closable(self) -> str:
        """Why the constrained algorithms cannot be used, or ''."""
        return self._blocked

    @property
    def mass(self) -> float:
        """Total mass."""
        return float(self.pin.computeTotalMass(self.model))

    def configuration(self, values: Mapping[str, float]) -> Array:
        """q of the tree from coordinates by name."""
        q: Array = np.array(self.pin.neutral(self.model))
        for slot in self.slots:
            names = slot.branch.joint.coordinates
            if slot.primitive.kind not in ("ball", "free"):
                q[slot.q] = float(values[slot.primitive.coordinate])
                continue
            own = np.array([float(values[name]) for name in names])
            w, x, y, z = own[-4:] / np.linalg.norm(own[-4:])
            T = self.pin.SE3(self.pin.Quaternion(w, x, y, z).matrix(), own[:3] if len(own) == 7 else np.zeros(3))
            T = T.inverse() if slot.branch.reversed else T
            seven = self.pin.SE3ToXYZQUAT(T)
            count = 7 if slot.primitive.kind == "free" else 4
            q[slot.q : slot.q + count] = seven[7 - count :]
        return q

    def _changed(self, slot: Slot, values: Mapping[str, float], *, back: bool = False) -> Array:
        """Matrix from a ball's or free joint's velocities (angular first) to Pinocchio's, or back.

        A reversed branch moves a relative to b in the axes of a: V' = -Ad_T V, and so do the rates, as ad_V V = 0.
        """
        size = 6 if slot.primitive.kind == "free" else 3
        change: Array = np.eye(6)
        if slot.branch.reversed:
            own = np.array([float(values[name]) for name in slot.branch.joint.coordinates])
            w, x, y, z = own[-4:] / np.linalg.norm(own[-4:])
            T = self.pin.SE3(self.pin.Quaternion(w, x, y, z).matrix(), own[:3] if size == 6 else np.zeros(3))
            swap = np.roll(np.eye(6), 3, axis=0)  # Pinocchio's twists have the linear part first
            change = -swap @ T.toActionMatrix() @ swap
        if size == 6:
            change = np.roll(np.eye(6), 3, axis=0) @ change
        change = change[:size, :size]
        return np.asarray(np.linalg.inv(change)) if back else change

    def velocity(self, values: Mapping[str, float], speeds: Mapping[str, float]) -> Array:
        """v of the tree (or its rate) from joint velocities (or their rates) by name, at coordinates `values`."""
        v: Array = np.zeros(self.model.nv)
        for slot in self.slots:
            if slot.primitive.kind in ("ball", "free"):
                own = np.array([float(speeds[name]) for name in slot.branch.joint.velocities])
                v[slot.v : slot.v + len(own)] = self._changed(slot, values) @ own
            else:
                v[slot.v] = float(speeds[slot.primitive.coordinate])
        return v

    def named(self, values: Mapping[str, float], v: Sequence[float] | Array) -> dict[str, float]:
        """Joint velocities (or their rates) by name from Pinocchio's vector; tree joints only."""
        vector = np.asarray(v, dtype=float)
        result: dict[str, float] = {}
        for slot in self.slots:
            names = slot.branch.joint.velocities
            if slot.primitive.kind in ("ball", "free"):
                own = self._changed(slot, values, back=True) @ vector[slot.v : slot.v + len(names)]
                result.update(zip(names, own.tolist(), strict=True))
            else:
                result[slot.primitive.coordinate] = float(vector[slot.v])
        return result

    def effort(self, values: Mapping[str, float], efforts: Mapping[str, float]) -> Array:
        """Pinocchio's tau from forces per tree joint velocity, which may leave some out; ModelError for other names."""
        tau: Array = np.zeros(self.model.nv)
        left = dict(efforts)
        for slot in self.slots:
            names = slot.branch.joint.velocities
            if slot.primitive.kind in ("ball", "free"):
                own = np.array([float(left.pop(name, 0.0)) for name in names])
                tau[slot.v : slot.v + len(own)] = self._changed(slot, values, back=True).T @ own
            else:
                tau[slot.v] = float(left.pop(slot.primitive.coordinate, 0.0))
        if left:
            raise ModelError([Problem(f"{name!r} is no tree velocity of the Pinocchio model") for name in sorted(left)])
        return tau

    def damping_effort(self, values: Mapping[str, float], q: Array, v: Array) -> Array:
        """tau of the viscous damping at v, chords included; Pinocchio's algorithms leave it out."""
        speeds = self.named(values, v)
        efforts = {
            name: -float(damping) * speeds[name]
            for branch in self.spanning.branches
            for name, damping in zip(branch.joint.velocities, branch.joint.damping, strict=False)
        }
        tau = self.effort(values, efforts)
        self.pin.computeJointJacobians(self.model, self.data, q)
        for chord in self.spanning.chords:
            (first, M1), (second, M2) = self._on_joint(chord.a), self._on_joint(chord.b)
            turning = self._spin(second) - self._spin(first)
            carrier, M = (second, M2) if chord.kind is JointType.SPHERICAL else (first, M1)
            for axis, damping in zip(self._rotation_axes(chord), chord.damping, strict=False):
                row = (np.array(self.data.oMi[carrier].rotation) @ np.array(M.rotation) @ axis) @ turning
                tau -= float(damping) * (row @ v) * row
        return tau

    def _rotation_axes(self, chord: PlacedJoint) -> list[Array]:
        """Axes of a chord's velocities that are plain rotations, in frame a (hinges) or b (balls)."""
        if chord.kind is JointType.SPHERICAL:
            return list(np.eye(3))
        return [np.array(chord.n, dtype=float)] if chord.kind in (JointType.REVOLUTE, JointType.CONTINUOUS) else []

    def _spin(self, joint: int) -> Array:
        """World angular velocity of a joint's body per v."""
        if joint == 0:
            return np.zeros((3, self.model.nv))
        axes = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.array(self.pin.getJointJacobian(self.model, self.data, joint, axes))[3:]

    def body_poses(self, q: Array) -> dict[str, tuple[Array, Array]]:
        """World (R, p) of every body."""
        self.pin.framesForwardKinematics(self.model, self.data, q)
        found = {}
        for solid in self.scene.solids:
            placed = self.data.oMf[self.model.getFrameId(solid.name)]
            found[solid.name] = (np.array(placed.rotation), np.array(placed.translation))
        return found

    def mass_matrix(self, q: Array) -> Array:
        """M of the tree, armatures included."""
        M = np.array(self.pin.crba(self.model, self.data, q))
        return np.asarray(np.triu(M) + np.triu(M, 1).T)

    def rnea(self, q: Array, v: Array, a: Array) -> Array:
        """Inverse dynamics of the tree."""
        return np.array(self.pin.rnea(self.model, self.data, q, v, a))

    def aba(self, q: Array, v: Array, tau: Array) -> Array:
        """Forward dynamics of the open tree."""
        return np.array(self.pin.aba(self.model, self.data, q, v, tau))

    def closures(self) -> tuple[Any, Any, Any]:
        """Constraint models and data as Pinocchio takes them, and data of their own for the model.

        ModelError where the constrained algorithms cannot be used.
        """
        if self._blocked:
            raise ModelError([Problem(self._blocked, self.scene.mechanism.name)])
        models = self.pin.StdVec_RigidConstraintModel()
        models.extend(self.constraints)
        datas = self.pin.StdVec_RigidConstraintData()
        datas.extend([constraint.createData() for constraint in self.constraints])
        return models, datas, self.model.createData()

    def constraint_dynamics(
        self, q: Array, v: Array, tau: Array, *, mu: float = 1e-8, accuracy: float = 1e-14, rounds: int = 200
    ) -> Array:
        """Forward dynamics with closures by pinocchio.constraintDynamics."""
        models, datas, data = self.closures()
        self.pin.initConstraintDynamics(self.model, data, models, datas)
        settings = self.pin.ProximalSettings(accuracy, mu, rounds)
        return np.array(self.pin.constraintDynamics(self.model, data, q, v, tau, models, datas, settings))

    def lcaba(
        self, q: Array, v: Array, tau: Array, *, mu: float = 1e-6, accuracy: float = 1e-14, rounds: int = 200
    ) -> Array:
        """Forward dynamics with closures by pinocchio.lcaba."""
        models, datas, data = self.closures()
        self.pin.computeJointMinimalOrdering(self.model, data, models)
        settings = self.pin.ProximalSettings(accuracy, mu, rounds)
        return np.array(self.pin.lcaba(self.model, data, q, v, tau, models, datas, settings))


def _shifted(frame: Frame, shift: Array) -> Frame:
    p = np.array(frame.p, dtype=float) + np.array(frame.R, dtype=float) @ shift
    return Frame(frame.body, frame.R, (float(p[0]), float(p[1]), float(p[2])))
