"""Seeded random mechanisms that are closed by construction: random trees plus consistent chords of every joint type.

A tree of random joints (either direction, random frames and axes, fixed lumps, floating parts) is posed at random joint
values by the numpy oracle.  Each chord then gets a random type, random values and a random frame a; its frame b is what
closes it: X = A Q B^-1 = T, so B = T^-1 A Q.  Couplings get the constant that makes them vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from oracle_kinematics import Oracle, inverse, motion, placement, rigid
from scipy.spatial.transform import Rotation

from robocompiler.records.expressions import Apply, Constant, Expression, Symbol, evaluate
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names
from robocompiler.records.model import (
    WORLD,
    BasePose,
    Body,
    CoordinateSum,
    Coupling,
    Joint,
    Mechanism,
    NamedFrame,
    Placement,
    Port,
    Reference,
)

Array = NDArray[np.float64]
ALL_KINDS = tuple(JointType)
TREE_KINDS = (
    JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.CYLINDRICAL, JointType.UNIVERSAL,
    JointType.SPHERICAL, JointType.PLANAR, JointType.SCREW, JointType.FIXED,
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A closed mechanism and its coordinate values by name, those of free roots included."""

    mechanism: Mechanism
    values: dict[str, float]


@dataclass
class Maker:
    """Random records from one generator."""

    random: np.random.Generator
    values: dict[str, float] = field(default_factory=dict)

    def vector(self, size: float) -> tuple[float, float, float]:
        x, y, z = self.random.uniform(-size, size, 3).tolist()
        return x, y, z

    def direction(self) -> tuple[float, float, float]:
        v = self.random.normal(size=3)
        x, y, z = (v / np.linalg.norm(v)).tolist()
        return x, y, z

    def frame(self, body: str) -> Placement:
        R = Rotation.random(random_state=int(self.random.integers(2**31))).as_matrix()
        return place(body, rigid(R, np.array(self.vector(0.5))))

    def joint_values(self, kind: JointType, turns: int = 0) -> list[float]:
        """Coordinates of moderate size; `turns` whole turns more on the angle of a continuous joint."""
        shape = JOINT_SHAPES[kind]
        values = [float(self.random.uniform(-1.2, 1.2) if unit == "rad" else self.random.uniform(-0.4, 0.4))
                  for unit in shape.coordinate_units]  # fmt: skip
        if kind is JointType.CONTINUOUS:
            values[0] += 2 * np.pi * turns
        if "qw" in shape.coordinates:
            q = self.random.normal(size=4)
            values[-4:] = (q / np.linalg.norm(q)).tolist()
        return values

    def joint(self, name: str, kind: JointType, a: str, b: str, *, armature: bool = False, turns: int = 0) -> Joint:
        """A joint with its random values noted in `values`."""
        axis = self.direction()
        axis2 = self.direction()
        while abs(np.dot(axis, axis2)) > 0.7:
            axis2 = self.direction()
        pitch = float(self.random.choice([-1, 1]) * self.random.uniform(0.05, 0.3)) if kind is JointType.SCREW else 0.0
        inertia = (0.01,) * JOINT_SHAPES[kind].nv if armature else ()
        names = coordinate_names(name, kind)
        self.values.update(zip(names, self.joint_values(kind, turns), strict=True))
        return Joint(name, kind, self.frame(a), self.frame(b), axis, axis2, pitch, armature=inertia)

    def closed(self, joint: Joint, poses: dict[str, Array]) -> Joint:
        """`joint` with frame b moved to where it closes at its value and the given poses."""
        own = np.array([self.values[name] for name in coordinate_names(joint.name, joint.type)])
        T = inverse(poses[joint.a.body]) @ poses[joint.b.body]
        B = inverse(T) @ placement(joint.a, {}) @ motion(joint, own, {})
        return Joint(
            joint.name, joint.type, joint.a, place(joint.b.body, B), joint.axis, joint.axis2, joint.pitch,
            armature=joint.armature,
        )  # fmt: skip


def place(body: str, T: Array) -> Placement:
    """The record of a frame given as a 4x4."""
    rows = T[:3, :3].tolist()
    x, y, z = T[:3, 3].tolist()
    return Placement(body, (tuple(rows[0]), tuple(rows[1]), tuple(rows[2])), (x, y, z))


def body_record(name: str, mass: float) -> Body:
    """A body with some inertia."""
    return Body(name, mass, (0.01, -0.02, 0.03), (0.02 * mass, 0.03 * mass, 0.025 * mass, 0.0, 0.0, 0.0))


def finish(
    name: str, maker: Maker, bodies: Sequence[str], joints: Sequence[Joint], bases: Sequence[BasePose] = (),
    couplings: Sequence[Coupling] = (), ports: Sequence[Port] = (),
) -> Sample:  # fmt: skip
    """Records to a sample; the reference holds every joint value."""
    given = {n for joint in joints for n in coordinate_names(joint.name, joint.type)}
    frames = [NamedFrame(f"tip_{body}", maker.frame(body)) for body in bodies[-2:]]
    mechanism = Mechanism(
        name=name,
        bodies=tuple(body_record(body, 1.0 + 0.1 * k) for k, body in enumerate(bodies)),
        joints=tuple(joints),
        couplings=tuple(couplings),
        ports=tuple(ports),
        frames=tuple(frames),
        reference=Reference(tuple((n, v) for n, v in maker.values.items() if n in given), tuple(bases)),
    )
    return Sample(mechanism, dict(maker.values))


def _coupling(maker: Maker, name: str, coordinates: Sequence[str], nonlinear: bool) -> Coupling:
    """w.q + c = 0, or a - 0.4 b^2 + 0.3 sin(c) + c0 = 0, with the constant that closes it."""
    if nonlinear:
        a, b, c = (Symbol(coordinates[k % len(coordinates)]) for k in range(3))
        square = Apply("*", (Constant(0.4), Apply("**", (b, Constant(2.0)))))
        sine = Apply("*", (Constant(0.3), Apply("sin", (c,))))
        total: Expression = Apply("+", (Apply("-", (a, square)), sine))
    else:
        terms: list[Expression] = [
            Apply("*", (Constant(float(maker.random.uniform(0.5, 2))), Symbol(n))) for n in coordinates
        ]
        total = terms[0]
        for term in terms[1:]:
            total = Apply("+", (total, term))
    offset = Constant(-evaluate(total, maker.values))
    return Coupling(name, Apply("+", (total, offset)), tuple(dict.fromkeys(coordinates)))


def _scalar_coordinates(joints: Sequence[Joint]) -> list[str]:
    return [
        name
        for joint in joints
        if joint.type not in (JointType.SPHERICAL, JointType.FREE)
        for name in coordinate_names(joint.name, joint.type)
    ]


def random_mechanism(seed: int, *, bodies: int = 6, chords: int = 2, couplings: bool = True) -> Sample:
    """A random closed mechanism; `seed` also cycles the chords through all joint types."""
    maker = Maker(np.random.default_rng(seed))
    random = maker.random
    names = [f"b{k}" for k in range(bodies)]
    group = {WORLD: WORLD}
    joints: list[Joint] = []
    bases: list[BasePose] = []
    for k, body in enumerate(names):
        if random.random() < (0.3 if k == 0 else 0.08):  # a floating part begins
            T = maker.frame(body)
            q = Rotation.from_matrix(np.array(T.rotation)).as_quat()
            pose = (float(q[3]), *map(float, q[:3]))
            x, y, z = (float(v) for v in T.translation)  # type: ignore[arg-type]
            bases.append(BasePose(body, (x, y, z), pose))
            maker.values.update(zip(coordinate_names(f"{body}_free", JointType.FREE), (x, y, z, *pose), strict=True))
            group[body] = body
            continue
        parent = str(random.choice([WORLD, *names[:k]] if k < 2 else names[max(0, k - 3) : k]))
        kind = TREE_KINDS[int(random.integers(len(TREE_KINDS)))]
        ends = (parent, body) if random.random() < 0.5 else (body, parent)
        turns = int(random.integers(-2, 3))
        joints.append(maker.joint(f"t{k}", kind, *ends, armature=random.random() < 0.4, turns=turns))
        group[body] = group[parent]
    free = [Joint(f"{base.body}_free", JointType.FREE, Placement(WORLD), Placement(base.body)) for base in bases]
    tree = Mechanism("tree", bodies=tuple(Body(n) for n in names), joints=(*joints, *free))
    poses = Oracle(tree).body_poses(maker.values)
    for k in range(chords):
        pairs = [(a, b) for a in group for b in names if a != b and group[a] == group[b]]
        if not pairs:
            break
        a, b = pairs[int(random.integers(len(pairs)))]
        if random.random() < 0.5:
            a, b = b, a
        kind = ALL_KINDS[(seed * chords + k) % len(ALL_KINDS)]
        armature = random.random() < 0.3
        joints.append(maker.closed(maker.joint(f"c{k}", kind, a, b, armature=armature, turns=1), poses))
    scalar = _scalar_coordinates(joints)
    made: list[Coupling] = []
    if couplings and len(scalar) > 2 and seed % 2 == 0:
        chosen = [scalar[int(i)] for i in random.choice(len(scalar), 3, replace=False)]
        made.append(_coupling(maker, "relation", chosen, nonlinear=seed % 4 == 0))
    ported = [joint.name for joint in joints if JOINT_SHAPES[joint.type].nv == 1][:2]
    ports = [Port(f"motor_{name}", CoordinateSum(((name, 1.0),))) for name in ported if random.random() < 0.5]
    order = random.permutation(len(joints))
    return finish(f"random_{seed}", maker, names, [joints[int(i)] for i in order], bases, made, ports)


def chord_case(kind: JointType, *, swapped: bool, kept: bool, seed: int = 0) -> Sample:
    """One chord of the given kind between two bodies that fly freely: nothing but that chord constrains anything.

    Both free joints hang on the world, so that the forest keeps them and cuts the third joint whatever it is.
    """
    maker = Maker(np.random.default_rng([seed, list(JointType).index(kind), swapped, kept]))
    fly = [maker.joint(f"fly_{body}", JointType.FREE, WORLD, body) for body in ("left", "right")]
    tree = Mechanism("tree", bodies=(Body("left"), Body("right")), joints=tuple(fly))
    ends = ("right", "left") if swapped else ("left", "right")
    chord = maker.joint("tested", kind, *ends, armature=kept, turns=-2)
    chord = maker.closed(chord, Oracle(tree).body_poses(maker.values))
    return finish(f"chord_{kind.value}", maker, ("left", "right"), (*fly, chord))


def tree_case(kind: JointType, *, reversed_: bool, seed: int = 0) -> Sample:
    """A chain whose second joint is the tested one, closed by a spherical chord: the tested joint stays in the tree."""
    maker = Maker(np.random.default_rng([seed, list(JointType).index(kind), reversed_]))
    ends = ("b1", "b0") if reversed_ else ("b0", "b1")
    chain = [
        maker.joint("base", JointType.UNIVERSAL, WORLD, "b0", armature=True),
        maker.joint("tested", kind, *ends, armature=True, turns=1),
        maker.joint("elbow", JointType.REVOLUTE, "b2", "b1", armature=True),
        maker.joint("wrist", JointType.CYLINDRICAL, "b2", "b3", armature=True),
    ]
    names = ("b0", "b1", "b2", "b3")
    tree = Mechanism("tree", bodies=tuple(Body(n) for n in names), joints=tuple(chain))
    poses = Oracle(tree).body_poses(maker.values)
    chord = maker.closed(maker.joint("closing", JointType.SPHERICAL, "b3", WORLD), poses)
    return finish(f"tree_{kind.value}", maker, names, (*chain, chord))
