"""A random tree with consistent chords, couplings and ports: the structure that `random_mechanism` gives physics to.

A tree of random joints (either direction, fixed lumps, floating parts) is posed at random values; chords of every joint
type close between bodies of one component; couplings get the constant that makes them vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocompiler.check.random_parts import Maker, RandomMechanism, body_poses
from robocompiler.records.expressions import Apply, Constant, Expression, Symbol, evaluate, names
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

ALL_KINDS = tuple(JointType)
TREE_KINDS = (
    JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.CYLINDRICAL, JointType.UNIVERSAL,
    JointType.SPHERICAL, JointType.PLANAR, JointType.SCREW, JointType.FIXED,
)  # fmt: skip


@dataclass(frozen=True)
class Size:
    """How much is drawn: bodies, chords (fewer where no two bodies are in one component), and whether couplings."""

    bodies: int = 6
    chords: int = 2
    couplings: bool = True


def random_structure(seed: int, size: Size = Size()) -> RandomMechanism:
    """A random closed structure with plain inertias; `seed` also cycles the chords through all joint types."""
    maker = Maker(np.random.default_rng(seed))
    random = maker.random
    names = [f"b{k}" for k in range(size.bodies)]
    group, joints, bases = _tree(maker, names)
    free = [Joint(f"{base.body}_free", JointType.FREE, Placement(WORLD), Placement(base.body)) for base in bases]
    poses = body_poses(names, [*joints, *free], maker.values)
    for k in range(size.chords):
        pairs = [(a, b) for a in group for b in names if a != b and group[a] == group[b]]
        if not pairs:
            break
        a, b = pairs[int(random.integers(len(pairs)))]
        if random.random() < 0.5:
            a, b = b, a
        kind = ALL_KINDS[(seed * size.chords + k) % len(ALL_KINDS)]
        armature = random.random() < 0.3
        joints.append(maker.closed(maker.joint(f"c{k}", kind, a, b, armature=armature, turns=1), poses))
    scalar = scalar_coordinates(joints)
    couplings: list[Coupling] = []
    if size.couplings and len(scalar) > 2 and seed % 2 == 0:
        chosen = [scalar[int(i)] for i in random.choice(len(scalar), 3, replace=False)]
        couplings.append(_coupling(maker, "relation", chosen, nonlinear=seed % 4 == 0))
    ported = [joint.name for joint in joints if JOINT_SHAPES[joint.type].nv == 1][:2]
    ports = [Port(f"motor_{name}", CoordinateSum(((name, 1.0),))) for name in ported if random.random() < 0.5]
    order = random.permutation(len(joints))
    return finish(f"random_{seed}", maker, names, [joints[int(i)] for i in order], bases, couplings, ports)


def _tree(maker: Maker, names: Sequence[str]) -> tuple[dict[str, str], list[Joint], list[BasePose]]:
    """Component of every body, tree joints and the poses of free roots."""
    random = maker.random
    group = {WORLD: WORLD}
    joints: list[Joint] = []
    bases: list[BasePose] = []
    for k, body in enumerate(names):
        if random.random() < (0.3 if k == 0 else 0.08):  # a floating part begins
            bases.append(maker.base(body))
            group[body] = body
            continue
        parent = str(random.choice([WORLD, *names[:k]] if k < 2 else names[max(0, k - 3) : k]))
        kind = TREE_KINDS[int(random.integers(len(TREE_KINDS)))]
        ends = (parent, body) if random.random() < 0.5 else (body, parent)
        turns = int(random.integers(-2, 3))
        joints.append(maker.joint(f"t{k}", kind, *ends, armature=random.random() < 0.4, turns=turns))
        group[body] = group[parent]
    return group, joints, bases


def finish(
    name: str,
    maker: Maker,
    bodies: Sequence[str],
    joints: Sequence[Joint],
    bases: Sequence[BasePose] = (),
    couplings: Sequence[Coupling] = (),
    ports: Sequence[Port] = (),
) -> RandomMechanism:
    """Records to a mechanism with plain inertias; the reference holds every joint value."""
    given = {n for joint in joints for n in coordinate_names(joint.name, joint.type)}
    frames = [NamedFrame(f"tip_{body}", maker.frame(body)) for body in bodies[-2:]]
    mechanism = Mechanism(
        name=name,
        bodies=tuple(_plain_body(body, 1.0 + 0.1 * k) for k, body in enumerate(bodies)),
        joints=tuple(joints),
        couplings=tuple(couplings),
        ports=tuple(ports),
        frames=tuple(frames),
        reference=Reference(tuple((n, v) for n, v in maker.values.items() if n in given), tuple(bases)),
    )
    return RandomMechanism(mechanism, dict(maker.values))


def scalar_coordinates(joints: Sequence[Joint]) -> list[str]:
    """Coordinates that couplings and ports may name."""
    return [
        name
        for joint in joints
        if joint.type not in (JointType.SPHERICAL, JointType.FREE)
        for name in coordinate_names(joint.name, joint.type)
    ]


def _plain_body(name: str, mass: float) -> Body:
    return Body(name, mass, (0.01, -0.02, 0.03), (0.02 * mass, 0.03 * mass, 0.025 * mass, 0.0, 0.0, 0.0))


def _coupling(maker: Maker, name: str, coordinates: Sequence[str], *, nonlinear: bool) -> Coupling:
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
    return closed_coupling(name, total, maker.values)


def closed_coupling(name: str, expression: Expression, values: dict[str, float]) -> Coupling:
    """`expression` + constant = 0, with the constant that makes it vanish at `values`; coordinates in name order."""
    offset = Constant(-evaluate(expression, values))
    return Coupling(name, Apply("+", (expression, offset)), tuple(sorted(names(expression))))
