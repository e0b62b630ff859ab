"""The records as numbers of one type: bodies, placed joints and free roots, rotations made exactly orthonormal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robocompiler.errors import ModelError, Problem
from robocompiler.oracle.arithmetic import Arithmetic, Number
from robocompiler.oracle.vectors import (
    Matrix,
    Vector,
    by_quaternion,
    identity,
    multiply,
    orthonormal,
    perpendiculars,
    plane_axes,
    unit,
)
from robocompiler.records.expressions import Scalar, fold
from robocompiler.records.joint_types import JointType, coordinate_names, velocity_names
from robocompiler.records.model import WORLD, Joint, Mechanism, Placement, Point

GROUND = -1  # the index of the world


@dataclass(frozen=True)
class Frame:
    """A frame on a body: its index, rotation and origin in body coordinates."""

    body: int
    R: Matrix
    p: Vector


@dataclass(frozen=True)
class Solid:
    """A rigid body; `inertia` about the centre of mass in body axes."""

    name: str
    mass: Number
    com: Vector
    inertia: Matrix


@dataclass(frozen=True)
class PlacedJoint:
    """A joint between frames a and b.

    (e1, e2, n) is right-handed; for planar joints it is the triad of the input language.  m is axis2, fixed in b.
    """

    name: str
    kind: JointType
    a: Frame
    b: Frame
    n: Vector
    m: Vector
    e1: Vector
    e2: Vector
    pitch: Number
    armature: tuple[Number, ...] = ()
    damping: tuple[Number, ...] = ()

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Full names of the coordinates."""
        return coordinate_names(self.name, self.kind)

    @property
    def velocities(self) -> tuple[str, ...]:
        """Full names of the velocities."""
        return velocity_names(self.name, self.kind)


class Scene:
    """All records evaluated for given parameters.

    Free components get a FREE joint from the world, called `<body>_free`: on the body that `reference.base` names,
    else on the heaviest (ties by name), which is the naming of the robot interface.
    """

    def __init__(self, mechanism: Mechanism, parameters: Mapping[str, float] | None, arithmetic: Arithmetic) -> None:
        unknown = set(parameters or {}) - set(mechanism.defaults)
        if unknown:
            raise ModelError([Problem(f"no run-time parameter is called {name!r}") for name in sorted(unknown)])
        self.mechanism = mechanism
        self.arithmetic = arithmetic
        values = mechanism.defaults | dict(parameters or {})
        self.parameters = {name: arithmetic.number(value) for name, value in values.items()}
        self.index = {body.name: k for k, body in enumerate(mechanism.bodies)} | {WORLD: GROUND}
        self.solids = tuple(
            Solid(body.name, self.scalar(body.mass), self.vector(body.com), self._inertia(body.inertia))
            for body in mechanism.bodies
        )
        self.roots = self._roots()
        joints = mechanism.joints + tuple(
            Joint(name, JointType.FREE, Placement(WORLD), Placement(body)) for body, name in self.roots.items()
        )
        self.joints = tuple(self._place(joint) for joint in joints)
        self.gravity = self.vector(mechanism.gravity)
        self.frames = {frame.name: self.frame(frame.placement) for frame in mechanism.frames}

    def scalar(self, value: Scalar) -> Number:
        """A record's scalar as a number."""
        return fold(value, self.parameters, self.arithmetic, self.arithmetic.number)

    def vector(self, value: tuple[Scalar, Scalar, Scalar]) -> Vector:
        """A record's vector as numbers."""
        return (self.scalar(value[0]), self.scalar(value[1]), self.scalar(value[2]))

    def frame(self, placement: Placement) -> Frame:
        """A record's frame; the rotation, given to double rounding, is made exactly orthonormal."""
        rows = placement.rotation
        R = orthonormal((self.vector(rows[0]), self.vector(rows[1]), self.vector(rows[2])))
        if placement.turn is not None:
            w, x, y, z = (self.scalar(value) for value in placement.turn)
            R = multiply(by_quaternion((w, x, y, z), self.arithmetic), R)
        return Frame(self.index[placement.body], R, self.vector(placement.translation))

    def named_frame(self, name: str) -> Frame:
        """A named frame, or a body under its own name; ModelError for neither."""
        if name in self.frames:
            return self.frames[name]
        if name in self.index:
            zero = self.arithmetic.number(0.0)
            return Frame(self.index[name], identity(self.arithmetic), (zero, zero, zero))
        raise ModelError([Problem(f"no frame or body is called {name!r}")])

    def point(self, point: Point) -> tuple[int, Vector]:
        """Body index and position of a point."""
        return self.index[point.body], self.vector(point.position)

    def _inertia(self, six: tuple[Scalar, ...]) -> Matrix:
        xx, yy, zz, xy, xz, yz = (self.scalar(value) for value in six)
        return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))

    def _place(self, joint: Joint) -> PlacedJoint:
        n = unit(self.vector(joint.axis), self.arithmetic)
        m = unit(self.vector(joint.axis2), self.arithmetic)
        axes = plane_axes if joint.type is JointType.PLANAR else perpendiculars
        e1, e2 = axes(n, self.arithmetic)
        extras = [tuple(self.scalar(value) for value in group) for group in (joint.armature, joint.damping)]
        return PlacedJoint(
            joint.name, joint.type, self.frame(joint.a), self.frame(joint.b), n, m, e1, e2,
            self.scalar(joint.pitch), *extras,
        )  # fmt: skip

    def _roots(self) -> dict[str, str]:
        """Root body of each component that does not touch the world, with the name of its free joint."""
        group = {name: name for name in self.index}

        def top(name: str) -> str:
            while group[name] != name:
                name = group[name]
            return name

        for joint in self.mechanism.joints:
            group[top(joint.a.body)] = top(joint.b.body)
        floating: dict[str, list[str]] = {}
        for solid in self.solids:
            if top(solid.name) != top(WORLD):
                floating.setdefault(top(solid.name), []).append(solid.name)
        wanted = {base.body for base in self.mechanism.reference.bases}
        mass = {solid.name: solid.mass for solid in self.solids}
        roots = {}
        taken = {joint.name for joint in self.mechanism.joints}
        for members in floating.values():
            named = [name for name in members if name in wanted]
            root = named[0] if named else min(members, key=lambda name: (-mass[name], name))
            free = f"{root}_free"
            while free in taken:
                free += "_"
            roots[root] = free
        return roots
