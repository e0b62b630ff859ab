"""Other records of the same mechanism: permuted, renamed, with other joint frames, body frames and joint directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from oracle_kinematics import Oracle, along, inverse, placement, rigid
from random_mechanisms import place
from scipy.spatial.transform import Rotation

from robocompiler.graph.build import derive_topology
from robocompiler.records.expressions import Apply, Constant, Expression, Symbol
from robocompiler.records.joint_types import JointType, coordinate_names
from robocompiler.records.model import (
    WORLD,
    BasePose,
    Body,
    CoordinateSum,
    Coupling,
    Distance,
    Joint,
    Limits,
    Mechanism,
    NamedFrame,
    Placement,
    Point,
    Port,
    Reference,
    Vector3,
)

Array = NDArray[np.float64]
AXIAL = (
    JointType.REVOLUTE,
    JointType.CONTINUOUS,
    JointType.PRISMATIC,
    JointType.CYLINDRICAL,
    JointType.SCREW,
)  # fmt: skip  - a slide along their axis commutes with their motion
NEGATED = AXIAL  # reversed, these are the same joint with their coordinates negated


@dataclass(frozen=True)
class Variant:
    """A representation: the records, and how bodies and coordinates of the original appear in them.

    bodies: new name of every body; moved: D with T_new = T D, by old name; guesses: rough values of single coordinates,
    which tell the turn of an angle.
    """

    mechanism: Mechanism
    bodies: dict[str, str]
    moved: dict[str, Array] = field(default_factory=dict)
    guesses: dict[str, float] = field(default_factory=dict)

    def poses(self, poses: Mapping[str, Array]) -> dict[str, Array]:
        """World poses of the new bodies at those of the old ones."""
        return {self.bodies.get(name, name): T @ self.moved.get(name, np.eye(4)) for name, T in poses.items()}

    def values(self, poses: Mapping[str, Array]) -> dict[str, float]:
        """All coordinates, free roots included, at the world poses of the old bodies."""
        full = derive_topology(self.mechanism).mechanism
        oracle, new = Oracle(full), self.poses(poses)
        result: dict[str, float] = {}
        for joint in full.joints:
            own = oracle.coordinates_between(joint, new).tolist()
            for name, value in zip(coordinate_names(joint.name, joint.type), own, strict=True):
                rotary = joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS) or name.endswith(":angle")
                turns = round((self.guesses.get(name, value) - value) / (2 * np.pi)) if rotary else 0
                result[name] = value + 2 * np.pi * turns
        return result


def with_reference(variant: Variant, poses: Mapping[str, Array]) -> Variant:
    """The variant with the reference that stands for the given world poses of the old bodies."""
    mechanism = variant.mechanism
    own = {n for joint in mechanism.joints for n in coordinate_names(joint.name, joint.type)}
    new = variant.poses(poses)
    bases = []
    for base in mechanism.reference.bases:
        T = new[base.body]
        x, y, z, w = Rotation.from_matrix(T[:3, :3]).as_quat().tolist()
        bases.append(BasePose(base.body, _triple(T[:3, 3]), (w, x, y, z)))
    values = tuple((n, v) for n, v in variant.values(poses).items() if n in own)
    return replace(variant, mechanism=replace(mechanism, reference=Reference(values, tuple(bases))))


def identity(mechanism: Mechanism, values: Mapping[str, float]) -> Variant:
    """The same records."""
    return Variant(mechanism, {body.name: body.name for body in mechanism.bodies}, guesses=dict(values))


def permuted(mechanism: Mechanism, values: Mapping[str, float], seed: int) -> Variant:
    """Records of every group in another order."""
    random = np.random.default_rng(seed)

    def shuffled(group: tuple) -> tuple:  # type: ignore[type-arg]
        return tuple(group[int(i)] for i in random.permutation(len(group)))

    changed = replace(
        mechanism,
        bodies=shuffled(mechanism.bodies),
        joints=shuffled(mechanism.joints),
        couplings=shuffled(mechanism.couplings),
        ports=shuffled(mechanism.ports),
        frames=shuffled(mechanism.frames),
    )
    return identity(changed, values)


def renamed(mechanism: Mechanism, values: Mapping[str, float], seed: int) -> Variant:
    """Bodies and joints with names that sort in another order (ties of the forest fall otherwise)."""
    random = np.random.default_rng(seed)

    def names(group: list[str], letter: str) -> dict[str, str]:
        return {name: f"{letter}{int(k):03d}" for name, k in zip(group, random.permutation(len(group)), strict=True)}

    bodies = names([body.name for body in mechanism.bodies], "n")
    joints = names([joint.name for joint in mechanism.joints], "e")

    def coordinate(name: str) -> str:
        joint, colon, suffix = name.partition(":")
        return joints.get(joint, joint) + colon + suffix

    def side(record: Placement) -> Placement:
        return replace(record, body=bodies.get(record.body, WORLD))

    changed = replace(
        mechanism,
        bodies=tuple(replace(body, name=bodies[body.name]) for body in mechanism.bodies),
        joints=tuple(replace(j, name=joints[j.name], a=side(j.a), b=side(j.b)) for j in mechanism.joints),
        couplings=tuple(_coupling(c, {n: Symbol(coordinate(n)) for n in c.coordinates}) for c in mechanism.couplings),
        ports=tuple(_port(port, {n: (coordinate(n), 1.0) for n in _ported(port)}, bodies) for port in mechanism.ports),
        frames=tuple(replace(frame, placement=side(frame.placement)) for frame in mechanism.frames),
        reference=Reference(
            (), tuple(replace(base, body=bodies.get(base.body, "")) for base in mechanism.reference.bases)
        ),
    )
    return Variant(changed, bodies, guesses={coordinate(n): v for n, v in values.items()})


def reframed(mechanism: Mechanism, values: Mapping[str, float], seed: int) -> Variant:
    """Joint frames turned (axes re-expressed) and slid along what commutes with the joint; body frames moved.

    Centres of mass and inertias follow their bodies' frames.
    """
    random = np.random.default_rng(seed)
    coupled = {n.partition(":")[0] for c in mechanism.couplings for n in c.coordinates}
    moved = {
        body.name: rigid(
            Rotation.random(random_state=int(random.integers(2**31))).as_matrix(), random.uniform(-0.3, 0.3, 3)
        )
        for body in mechanism.bodies
    }

    def side(record: Placement) -> Placement:
        D = moved.get(record.body, np.eye(4))
        return place(record.body, inverse(D) @ placement(record, mechanism.defaults))

    def joint(j: Joint) -> Joint:
        turn = Rotation.random(random_state=int(random.integers(2**31))).as_matrix()
        if j.type is JointType.PLANAR and j.name in coupled:
            turn = np.eye(3)  # its x and y are named by a coupling, and turning the frame would mix them
        slide = np.zeros(3)
        if j.type in (*AXIAL, JointType.PLANAR):
            slide = np.array(j.axis) * random.uniform(-0.2, 0.2)
        elif j.type is JointType.FIXED or (j.type is JointType.FREE and not _loaded(j)):
            slide = random.uniform(-0.2, 0.2, 3)
        G = along(slide) @ rigid(turn, np.zeros(3))
        A, B = (placement(side(s), {}) for s in (j.a, j.b))
        axis, axis2 = (_triple(turn.T @ np.array(n)) for n in (j.axis, j.axis2))
        return replace(j, a=place(j.a.body, A @ G), b=place(j.b.body, B @ G), axis=axis, axis2=axis2)

    def point(p: Point) -> Point:
        D = inverse(moved.get(p.body, np.eye(4)))
        return Point(p.body, _triple(D[:3, :3] @ np.array(p.position, dtype=float) + D[:3, 3]))

    def port(p: Port) -> Port:
        if isinstance(p.measure, Distance):
            return replace(p, measure=Distance(point(p.measure.a), point(p.measure.b)))
        return p

    def body(b: Body) -> Body:
        D = inverse(moved[b.name])
        xx, yy, zz, xy, xz, yz = (float(value) for value in b.inertia)  # type: ignore[arg-type]
        I = D[:3, :3] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ D[:3, :3].T  # noqa: E741 - an inertia
        six = tuple(float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        return replace(b, com=_triple(D[:3, :3] @ np.array(b.com, dtype=float) + D[:3, 3]), inertia=six)

    changed = replace(
        mechanism,
        bodies=tuple(body(b) for b in mechanism.bodies),
        joints=tuple(joint(j) for j in mechanism.joints),
        ports=tuple(port(p) for p in mechanism.ports),
        frames=tuple(NamedFrame(f.name, side(f.placement)) for f in mechanism.frames),
    )
    return Variant(changed, {body.name: body.name for body in mechanism.bodies}, moved, dict(values))


def reversed_joints(mechanism: Mechanism, values: Mapping[str, float], seed: int) -> Variant:
    """Frames a and b of two joints in three swapped, with the signs of ports, couplings and limits that follow."""
    random = np.random.default_rng(seed)
    named = {n.partition(":")[0] for c in mechanism.couplings for n in c.coordinates}
    named |= {n.partition(":")[0] for port in mechanism.ports for n in _ported(port)}
    swapped = {
        j.name
        for j in mechanism.joints
        if (j.type in NEGATED or (j.name not in named and not _loaded(j))) and random.random() < 0.67
    }
    kinds = {j.name: j.type for j in mechanism.joints}

    def sign(coordinate: str) -> float:
        joint = coordinate.partition(":")[0]
        return -1.0 if joint in swapped and kinds[joint] in NEGATED else 1.0

    def joint(j: Joint) -> Joint:
        if j.name not in swapped:
            return j
        axes = (j.axis2, j.axis) if j.type is JointType.UNIVERSAL else (j.axis, j.axis2)
        limits = tuple(_negative(limit) for limit in j.limits) if j.type in NEGATED else ()
        order = slice(None, None, -1) if j.type is JointType.UNIVERSAL else slice(None)
        return replace(
            j, a=j.b, b=j.a, axis=axes[0], axis2=axes[1], limits=limits, armature=j.armature[order],
            damping=j.damping[order], friction=j.friction[order],
        )  # fmt: skip

    def substitute(name: str) -> Expression:
        return Symbol(name) if sign(name) > 0 else Apply("neg", (Symbol(name),))

    changed = replace(
        mechanism,
        joints=tuple(joint(j) for j in mechanism.joints),
        couplings=tuple(
            _coupling(c, {n: substitute(n) for n in c.coordinates}, c.coordinates) for c in mechanism.couplings
        ),
        ports=tuple(_port(port, {n: (n, sign(n)) for n in _ported(port)}, {}) for port in mechanism.ports),
    )
    guesses = {name: sign(name) * value for name, value in values.items() if ":" not in name or sign(name) < 0}
    return Variant(changed, {body.name: body.name for body in mechanism.bodies}, guesses=guesses)


def together(mechanism: Mechanism, values: Mapping[str, float], seed: int) -> Variant:
    """All changes at once: joints reversed, frames re-expressed, everything renamed, records permuted."""
    one = reversed_joints(mechanism, values, seed)
    two = reframed(one.mechanism, one.guesses, seed)
    three = renamed(two.mechanism, two.guesses, seed)
    four = permuted(three.mechanism, three.guesses, seed)
    return Variant(four.mechanism, three.bodies, two.moved, three.guesses)


def _loaded(joint: Joint) -> bool:
    """Whether planar or free coordinates bear rotors or dampers, so that their axes and points count."""
    wide = joint.type in (JointType.PLANAR, JointType.FREE)
    return wide and any(float(x) != 0 for x in (*joint.armature, *joint.damping))  # type: ignore[arg-type]


def _negative(limit: Limits) -> Limits:
    return limit if limit.position is None else replace(limit, position=(-limit.position[1], -limit.position[0]))


def _coupling(record: Coupling, new: Mapping[str, Expression], coordinates: tuple[str, ...] = ()) -> Coupling:
    def walk(tree: Expression) -> Expression:
        if isinstance(tree, Constant):
            return tree
        if isinstance(tree, Symbol):
            return new.get(tree.name, tree)
        return Apply(tree.function, tuple(walk(argument) for argument in tree.arguments))

    names = coordinates or tuple(s.name for s in new.values() if isinstance(s, Symbol))
    return replace(record, expression=walk(record.expression), coordinates=names)


def _ported(port: Port) -> tuple[str, ...]:
    return tuple(name for name, _ in port.measure.terms) if isinstance(port.measure, CoordinateSum) else ()


def _port(port: Port, new: Mapping[str, tuple[str, float]], bodies: Mapping[str, str]) -> Port:
    measure = port.measure
    if isinstance(measure, Distance):
        ends = (replace(p, body=bodies.get(p.body, p.body)) for p in (measure.a, measure.b))
        return replace(port, measure=Distance(*ends))
    terms = tuple((new[name][0], new[name][1] * float(weight)) for name, weight in measure.terms)  # type: ignore[arg-type]
    return replace(port, measure=CoordinateSum(terms))


def _triple(v: Array) -> Vector3:
    x, y, z = v.tolist()
    return x, y, z
