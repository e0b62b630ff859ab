"""Random mechanisms, reproducible by seed: a random structure with random physics on it.

Physics are inertias of random point masses, massless bodies where the reduced inertia stays regular, a gravity of any
direction, armature, damping, friction, limits around the reference, couplings of other forms, ports of all kinds,
frames, and run-time parameters (a payload's mass, a length).  The records are passed through the YAML text, so that a
mechanism is exactly what the file says that `--save` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robocompiler.check.random_parts import Maker, RandomMechanism
from robocompiler.check.random_structure import Size, closed_coupling, finish, random_structure, scalar_coordinates
from robocompiler.errors import AssemblyError, RankError
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.expressions import Apply, Constant, Symbol
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names
from robocompiler.records.model import (
    WORLD,
    Body,
    CoordinateSum,
    Distance,
    Joint,
    Limits,
    Mechanism,
    NamedFrame,
    Parameter,
    Point,
    Port,
)
from robocompiler.records.reader import read_mechanism_text
from robocompiler.records.yaml_writer import mechanism_yaml

Array = NDArray[np.float64]

LARGEST = Size(9, 4)
_RIGID = 0.1  # share of draws whose chords may lock everything
_REGULAR = 1e-3  # least eigenvalue of the reduced inertia, scaled to a unit diagonal, with which bodies go massless
_ZERO = 1e-6  # kg or kg m^2: a diagonal entry below is rounding, and must not be scaled to one
_PAYLOAD, _REACH = "payload", "reach"
_COUPLINGS = (
    "`{a}` - 0.7*`{b}`*`{c}`",
    "`{a}` + 0.5*tanh(2*`{b}`) - 0.2*`{c}`",
    "hypot(1 + `{a}`, `{b}`) - 0.3*cos(`{c}`)",
    "sqrt(2 + `{a}`**2) + 0.6*`{b}` - exp(0.2*`{c}`)",
    "-`{a}`/(3 + sin(`{b}`)) + 0.4*`{c}`",
)


def random_mechanism(seed: int, largest: Size = LARGEST) -> RandomMechanism:
    """The mechanism of a seed, with at most as many bodies and chords as `largest`; small ones are frequent."""
    random = np.random.default_rng([seed, 1])
    bodies = 1 + int(random.integers(largest.bodies) * random.uniform(0.4, 1.0))
    chords = int(random.integers(largest.chords + 1))
    rigid, coupled = random.random() < _RIGID, largest.couplings and random.random() < 0.5
    structure = random_structure(seed, Size(bodies, chords, coupled))
    while chords and not rigid and mobility(structure.mechanism) <= 0:
        chords -= 1
        structure = random_structure(seed, Size(bodies, chords, coupled))
    if not _has_coordinates(structure.mechanism):  # loose bodies, which no file can say, or one lump
        maker = Maker(random)
        joint = maker.joint("t0", JointType.FREE, WORLD, "b0")
        structure = finish(structure.mechanism.name, maker, ["b0"], [joint])
    return with_physics(structure, random, couplings=largest.couplings)


def _has_coordinates(records: Mechanism) -> bool:
    """Whether the records have a joint, and anything a coordinate."""
    return bool(records.joints) and (
        bool(records.reference.bases) or any(JOINT_SHAPES[joint.type].nq for joint in records.joints)
    )


def mobility(records: Mechanism) -> int:
    """The freedoms that a count of joints gives (Gruebler's), where no row is redundant; 0 or less is rigid."""
    shapes = [JOINT_SHAPES[joint.type] for joint in records.joints]
    return 6 * len(records.bodies) - sum(6 - shape.nv for shape in shapes) - len(records.couplings)


def with_physics(structure: RandomMechanism, random: np.random.Generator, *, couplings: bool) -> RandomMechanism:
    """The structure with random physics; see the module."""
    maker = Maker(random, dict(structure.values))
    records = structure.mechanism
    records = replace(
        records,
        gravity=maker.vector(10.0),
        bodies=tuple(_body(random, body.name) for body in records.bodies),
        joints=tuple(_joint(maker, joint) for joint in records.joints),
        frames=(*records.frames, NamedFrame("anywhere", maker.frame(_choice(random, records)))),
    )
    if couplings and random.random() < 0.3:
        records = _with_coupling(maker, records)
    records = replace(records, ports=(*records.ports, *_ports(maker, records)))
    records = _with_massless(random, records)
    records = _with_parameters(random, records)
    text = mechanism_yaml(records)
    return RandomMechanism(read_mechanism_text(text, f"{records.name}.yaml"), structure.values)


def _choice(random: np.random.Generator, records: Mechanism) -> str:
    return records.bodies[int(random.integers(len(records.bodies)))].name


def _body(random: np.random.Generator, name: str) -> Body:
    """The inertia of a few point masses: positive definite, with products, the centre of mass off the origin."""
    masses = random.uniform(0.1, 0.6, 5)
    points = random.uniform(-0.2, 0.2, (5, 3)) + random.uniform(-0.2, 0.2, 3)
    mass = float(masses.sum())
    com = masses @ points / mass
    arms = points - com
    inertia = (masses[:, None, None] * ((arms**2).sum(1)[:, None, None] * np.eye(3) - _outer(arms))).sum(0)
    xx, yy, zz, xy, xz, yz = (float(inertia[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    x, y, z = com.tolist()
    return Body(name, mass, (x, y, z), (xx, yy, zz, xy, xz, yz))


def _outer(arms: Array) -> Array:
    return np.asarray(arms[:, :, None] * arms[:, None, :])


def _joint(maker: Maker, joint: Joint) -> Joint:
    """Armature, damping, friction and limits on some joints."""
    random, nv = maker.random, JOINT_SHAPES[joint.type].nv

    def some(probability: float, largest: float) -> tuple[float, ...]:
        values = tuple(random.uniform(0.1 * largest, largest, nv).tolist())
        return values if random.random() < probability else ()

    return replace(
        joint,
        armature=some(0.7, 0.05) if joint.armature else (),
        damping=some(0.3, 1.0),
        friction=some(0.2, 0.5),
        limits=_limits(maker, joint) if random.random() < 0.2 else (),
    )


def _limits(maker: Maker, joint: Joint) -> tuple[Limits, ...]:
    """An interval around the reference where the type has position limits; a speed and an effort."""
    shape = JOINT_SHAPES[joint.type]
    bounded = joint.type is not JointType.CONTINUOUS and shape.nq == shape.nv
    result = []
    for k in range(shape.nv):
        lower, upper, speed, effort = maker.random.uniform(0.3, 1.0, 4).tolist()
        at = maker.values[coordinate_names(joint.name, joint.type)[k]] if bounded else 0.0
        result.append(Limits((at - lower, at + upper) if bounded else None, 10 * speed, 100 * effort))
    return tuple(result)


def _with_coupling(maker: Maker, records: Mechanism) -> Mechanism:
    scalar = scalar_coordinates(records.joints)
    if len(scalar) < 3:
        return records
    a, b, c = (scalar[int(i)] for i in maker.random.choice(len(scalar), 3, replace=False))
    form = _COUPLINGS[int(maker.random.integers(len(_COUPLINGS)))]
    made = closed_coupling("cam", parse_expression(form.format(a=a, b=b, c=c)), maker.values)
    return replace(records, couplings=(*records.couplings, made))


def _ports(maker: Maker, records: Mechanism) -> Sequence[Port]:
    """A weighted sum over several coordinates, and the distance of two points on different bodies."""
    random = maker.random
    ports = []
    scalar = scalar_coordinates(records.joints)
    if len(scalar) > 1 and random.random() < 0.3:
        chosen = random.choice(len(scalar), min(len(scalar), int(random.integers(2, 4))), replace=False)
        weights = random.uniform(-2, 2, len(chosen)).tolist()
        terms = tuple((scalar[int(i)], weight) for i, weight in zip(chosen, weights, strict=True))
        ports.append(Port("shared", CoordinateSum(terms), Limits(effort=50.0)))
    if random.random() < 0.3:
        names = [WORLD, *(body.name for body in records.bodies)]
        a, b = (names[int(i)] for i in random.choice(len(names), 2, replace=False))
        measure = Distance(Point(a, maker.vector(0.8)), Point(b, maker.vector(0.8)))
        ports.append(Port("cylinder", measure, Limits(velocity=1.0)))
    return ports


def _with_massless(random: np.random.Generator, records: Mechanism) -> Mechanism:
    """Sometimes one body without inertia, where what can move still has some."""
    if random.random() > 0.2:
        return records
    name = _choice(random, records)
    bodies = tuple(Body(body.name) if body.name == name else body for body in records.bodies)
    light = replace(records, bodies=bodies)
    return light if regular_inertia(light) else records


def regular_inertia(records: Mechanism) -> bool:
    """Whether every motion at the reference moves inertia, by the oracle; False where it cannot tell."""
    model = MaximalModel(records)
    try:
        M = np.asarray(model.reduced(model.state(model.project(model.pose()))).M, dtype=float)
    except (AssemblyError, RankError):
        return False
    if not M.size:
        return True
    size = np.sqrt(np.maximum(np.diag(M), _ZERO))
    return bool(np.linalg.eigvalsh(M / np.outer(size, size))[0] > _REGULAR)


def _with_parameters(random: np.random.Generator, records: Mechanism) -> Mechanism:
    """Sometimes a body's mass and inertia, or a joint frame's offset, hang on a run-time parameter."""
    if random.random() < 0.25:
        name = _choice(random, records)
        bodies = tuple(_scaled(body) if body.name == name else body for body in records.bodies)
        default = next(float(body.mass) for body in records.bodies if body.name == name)  # type: ignore[arg-type]
        if default > 0:
            records = replace(records, bodies=bodies, parameters=(Parameter(_PAYLOAD, default),))
    if random.random() < 0.25 and records.joints:
        chosen = int(random.integers(len(records.joints)))
        joint = records.joints[chosen]
        x, y, z = (float(value) for value in joint.a.translation)  # type: ignore[arg-type]
        longer = Apply("+", (Constant(x - 1.0), Symbol(_REACH)))
        moved = replace(joint, a=replace(joint.a, translation=(longer, y, z)))
        joints = (*records.joints[:chosen], moved, *records.joints[chosen + 1 :])
        records = replace(records, joints=joints, parameters=(*records.parameters, Parameter(_REACH, 1.0)))
    return records


def _scaled(body: Body) -> Body:
    """`body` with its mass as a parameter, and an inertia in proportion."""
    mass = float(body.mass)  # type: ignore[arg-type]
    if mass == 0:
        return body
    xx, yy, zz, xy, xz, yz = (
        Apply("*", (Constant(float(value) / mass), Symbol(_PAYLOAD)))  # type: ignore[arg-type]
        for value in body.inertia
    )
    return replace(body, mass=Symbol(_PAYLOAD), inertia=(xx, yy, zz, xy, xz, yz))
