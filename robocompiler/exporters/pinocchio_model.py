"""Records as a Pinocchio model: joints in depth-first order, closures as rigid constraint models, maps of the names.

Depth first matters: with joints in another order Pinocchio's composite-inertia pass is silently wrong.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import MissingPackageError
from robocompiler.exporters.notes import CHANGED, LEFT_OUT, ExportLog, ExportNote
from robocompiler.exporters.placing import Hung, hung, number, transform, vector
from robocompiler.exporters.structure import POINTS, Structure, Target, structure
from robocompiler.importers.transforms import Transform, moved, scaled
from robocompiler.records.joint_types import JointType, coordinate_names, velocity_names
from robocompiler.records.model import WORLD, Body, Joint, Mechanism

Array = NDArray[np.float64]
PINOCCHIO = Target("Pinocchio", POINTS, frozenset((JointType.FREE,)), split=False)
_HALF = 0.1  # m: a hinge is two coincident points this far on either side along its axis
_MOVING_ORDER = {JointType.FREE: (3, 4, 5, 0, 1, 2), JointType.SPHERICAL: (0, 1, 2)}  # linear part first


@dataclass(frozen=True)
class PinocchioExport:
    """A mechanism in Pinocchio.

    Attributes:
        model: the pinocchio.Model of the tree, with a BODY frame per body and an OP_FRAME per named frame.
        constraint_models: a RigidConstraintModel per closure, two points for a hinge; `constraint_joints` names the
            closing joint of each.
        joints: id of the Pinocchio joint by coordinate name (of a ball or a free joint: by joint name).
        coordinates, velocities: what stands at each place of Pinocchio's q and v, by the names of the compiler's; of
            balls and free joints in Pinocchio's order, (x, y, z, w) and the linear part first.  A joint that the tree
            walks backwards has the inverse motion in its place: `backwards` lists such balls and free joints.
        renamed: name here of each coordinate (and velocity) of the records that was renamed.
        reference: the assembled q of the tree.
        missing: closures and couplings that have no rigid constraint model.  Empty: the constraints are all there.
        notes: what was decided.
    """

    model: Any
    constraint_models: tuple[Any, ...]
    constraint_joints: tuple[str, ...]
    joints: Mapping[str, int]
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    backwards: tuple[str, ...]
    renamed: Mapping[str, str]
    reference: Array
    missing: tuple[str, ...]
    notes: tuple[ExportNote, ...]


def pinocchio_model(mechanism: Mechanism, reference: Mapping[str, float]) -> PinocchioExport:
    """Build the model; `reference` holds assembled values by coordinate name.

    Raises MissingPackageError without Pinocchio, and ModelError for armatures that differ among the axes of a ball
    which the tree walks backwards.
    """
    try:
        pin = importlib.import_module("pinocchio")
    except ImportError as error:
        raise MissingPackageError("exporting to Pinocchio needs Pinocchio: pip install pin") from error
    log = ExportLog()
    built = structure(mechanism, PINOCCHIO, log)
    made = _Builder(pin, built, log)
    for edge in built.topology.edges:
        made.joint(hung(built.topology.joint(edge.joint), edge))
    for frame in built.mechanism.frames:
        carrier, offset = made.on_joint(frame.placement.body, transform(frame.placement))
        made.model.addFrame(pin.Frame(frame.name, carrier, 0, offset, pin.FrameType.OP_FRAME))
    for chord in built.topology.chords:
        if chord.joint not in built.missing:
            made.close(built.topology.joint(chord.joint))
    missing = (*built.missing, *(coupling.name for coupling in built.mechanism.couplings))
    for name in missing:
        log.note(LEFT_OUT, "closures that no rigid constraint model says: the motion is freer without them", name)
    if any(any(joint.damping) or any(joint.friction) for joint in built.mechanism.joints):
        log.note(LEFT_OUT, "damping and friction, which Pinocchio's algorithms do not apply", mechanism.name)
    log.finish()
    return made.finished(built.values(reference), missing)


class _Builder:
    """The model in the making; `carriers` has the Pinocchio joint of each body and the body's pose on it."""

    def __init__(self, pin: Any, built: Structure, log: ExportLog) -> None:
        self.pin, self.built, self.log = pin, built, log
        self.model = pin.Model()
        self.model.name = built.mechanism.name
        self.model.gravity = pin.Motion(np.array(built.mechanism.gravity, dtype=float), np.zeros(3))
        self.carriers: dict[str, tuple[int, Any]] = {WORLD: (0, pin.SE3.Identity())}
        self.constraints: list[Any] = []
        self.constraint_joints: list[str] = []
        self.moving: list[tuple[int, Hung]] = []
        self.bodies = {body.name: body for body in built.mechanism.bodies}

    def se3(self, pose: Transform) -> Any:
        """A pose in Pinocchio's type."""
        return self.pin.SE3(np.array(pose.rotation), np.array(pose.translation))

    def on_joint(self, body: str, pose: Transform) -> tuple[int, Any]:
        """The Pinocchio joint that carries a frame of a body, and the frame's place on it."""
        carrier, offset = self.carriers[body]
        return carrier, offset * self.se3(pose)

    def joint(self, one: Hung) -> None:
        """Add a joint of the tree with the body that it carries; fixed ones add to their parent's joint."""
        carrier, placement = self.on_joint(one.parent, one.outer)
        if one.joint.type is not JointType.FIXED:
            carrier = self.model.addJoint(carrier, self._kind(one), placement, one.joint.name)
            placement = self.pin.SE3.Identity()
            self.moving.append((carrier, one))
            self._armature(self.model.joints[carrier], one)
        offset = placement * self.se3(one.inner).inverse()
        self.carriers[one.child] = (carrier, offset)
        self.model.appendBodyToJoint(carrier, self._inertia(self.bodies[one.child]), offset)
        self.model.addFrame(self.pin.Frame(one.child, carrier, 0, offset, self.pin.FrameType.BODY))

    def _kind(self, one: Hung) -> Any:
        axis = np.array(one.axis)
        if one.joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS):
            return self.pin.JointModelRevoluteUnaligned(axis)
        if one.joint.type is JointType.PRISMATIC:
            return self.pin.JointModelPrismaticUnaligned(axis)
        ball = one.joint.type is JointType.SPHERICAL
        return self.pin.JointModelSpherical() if ball else self.pin.JointModelFreeFlyer()

    def _armature(self, made: Any, one: Hung) -> None:
        joint = one.joint
        if not any(joint.armature):
            return
        order = _MOVING_ORDER.get(joint.type, (0,))
        if one.backwards and len(order) > 1 and len(set(joint.armature)) > 1:
            self.log.problem("armatures that differ among the axes, seen from body b", joint.name, joint.source)
        for k, source in enumerate(order):
            self.model.armature[made.idx_v + k] = number(joint.armature[source])

    def _inertia(self, body: Body) -> Any:
        xx, yy, zz, xy, xz, yz = (number(value) for value in body.inertia)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return self.pin.Inertia(number(body.mass), np.array(vector(body.com), dtype=float), tensor)

    def close(self, joint: Joint) -> None:
        """Add the constraint models of a closing joint."""
        a, b = transform(joint.a), transform(joint.b)
        if joint.type is JointType.FREE:
            return
        if joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS):
            for side in (-_HALF, _HALF):
                shift = moved(scaled(joint.axis, side))
                self._constrain(self.pin.ContactType.CONTACT_3D, joint, a @ shift, b @ shift)
            return
        weld = joint.type is JointType.FIXED
        kind = self.pin.ContactType.CONTACT_6D if weld else self.pin.ContactType.CONTACT_3D
        self._constrain(kind, joint, a, b)

    def _constrain(self, kind: Any, joint: Joint, a: Transform, b: Transform) -> None:
        first, second = self.on_joint(joint.a.body, a), self.on_joint(joint.b.body, b)
        if first[0] == 0:
            first, second = second, first  # Pinocchio wants the moving side first
        local = self.pin.ReferenceFrame.LOCAL
        self.constraints.append(self.pin.RigidConstraintModel(kind, self.model, *first, *second, local))
        self.constraint_joints.append(joint.name)

    def finished(self, values: Mapping[str, float], missing: tuple[str, ...]) -> PinocchioExport:
        """The export with its maps of names."""
        q = np.array(self.pin.neutral(self.model))
        coordinates, velocities = [""] * self.model.nq, [""] * self.model.nv
        for carrier, one in self.moving:
            joint, made = one.joint, self.model.joints[carrier]
            names, speeds = list(coordinate_names(joint.name, joint.type)), velocity_names(joint.name, joint.type)
            if joint.type in _MOVING_ORDER:  # quaternions end with w there
                names = [*names[:-4], *names[-3:], names[-4]]
            coordinates[made.idx_q : made.idx_q + made.nq] = names
            velocities[made.idx_v : made.idx_v + made.nv] = [speeds[k] for k in _MOVING_ORDER.get(joint.type, (0,))]
            own = np.array([values[name] for name in names])
            q[made.idx_q : made.idx_q + made.nq] = self._inverse(own) if one.backwards and made.nv > 1 else own
        backwards = tuple(o.joint.name for _, o in self.moving if o.backwards and o.joint.type in _MOVING_ORDER)
        if backwards:
            self.log.note(CHANGED, "a ball or free joint that the tree walks backwards", backwards[0])
        return PinocchioExport(
            self.model, tuple(self.constraints), tuple(self.constraint_joints),
            {one.joint.name: carrier for carrier, one in self.moving}, tuple(coordinates), tuple(velocities),
            backwards, dict(self.built.coordinates), q, missing, self.log.notes,
        )  # fmt: skip

    def _inverse(self, own: Array) -> Array:
        """Coordinates (x, y, z, w) of the inverse rotation, or of the inverse pose."""
        if own.size == 4:
            return np.array([*-own[:3], own[3]])
        return np.asarray(self.pin.SE3ToXYZQUAT(self.pin.XYZQUATToSE3(own).inverse()))
