"""Joints of several freedoms as chains of hinges, slides and balls over bodies without mass.

A Q_1(q_1) Q_2(q_2) ... B^-1  =  (A Q_1 I) (I Q_2 I) ... (I Q_k B^-1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from robocompiler.exporters.notes import ExportLog
from robocompiler.importers.transforms import AXES
from robocompiler.records.expressions import Scalar
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import Body, Coupling, Joint, Limits, Placement, Vector3
from robocompiler.records.parse_couplings import weighted_sum


@dataclass(frozen=True)
class Part:
    """One elementary joint: suffix of its name, type, axis in the joint frame, and its freedoms in the whole."""

    suffix: str
    type: JointType
    axis: Vector3
    freedoms: tuple[int, ...]


@dataclass(frozen=True)
class Expansion:
    """What replaces a joint.

    coordinates: name of the new coordinate by that of the old; follower: (new coordinate, old one, factor) of a screw.
    """

    joints: tuple[Joint, ...]
    between: tuple[Body, ...]
    coordinates: dict[str, str]
    couplings: tuple[Coupling, ...] = ()
    follower: tuple[str, str, float] | None = None


def planar_axes(n: Vector3) -> tuple[Vector3, Vector3]:
    """e1, e2 of a planar joint, the images of x and y under the shortest turn z -> n (`records.joint_types`)."""
    flip = -1.0 if n[2] < 0 else 1.0  # after half a turn about x
    x, y, z = n[0], flip * n[1], flip * n[2]
    first = (1 - x * x / (1 + z), -x * y / (1 + z), -x)
    second = (-x * y / (1 + z), 1 - y * y / (1 + z), -y)
    return (
        (first[0] + 0.0, flip * first[1] + 0.0, flip * first[2] + 0.0),
        (second[0] + 0.0, flip * second[1] + 0.0, flip * second[2] + 0.0),
    )


def parts_of(joint: Joint) -> tuple[Part, ...]:
    """The elementary joints of a joint of several freedoms, from body a to body b."""
    n, turn, slide = joint.axis, JointType.REVOLUTE, JointType.PRISMATIC
    if joint.type is JointType.UNIVERSAL:
        return (Part("first", turn, n, (0,)), Part("second", turn, joint.axis2, (1,)))
    if joint.type in (JointType.CYLINDRICAL, JointType.SCREW):
        return (Part("angle", turn, n, (0,)), Part("displacement", slide, n, (1,)))
    if joint.type is JointType.PLANAR:
        e1, e2 = planar_axes(n)
        return (Part("x", slide, e1, (0,)), Part("y", slide, e2, (1,)), Part("angle", turn, n, (2,)))
    if joint.type is JointType.FREE:
        slides = tuple(Part(key, slide, AXES[key], (3 + k,)) for k, key in enumerate("xyz"))
        return (*slides, Part("", JointType.SPHERICAL, n, (0, 1, 2)))
    raise ValueError(f"a {joint.type.value} joint is elementary")


def expand(joint: Joint, new_joint: Callable[[str], str], new_body: Callable[[str], str], log: ExportLog) -> Expansion:
    """The chain that replaces a joint; `new_joint` and `new_body` give free names like a wish.

    Equal losses along the axes of b are equal losses along those of a; a free joint with others has no such chain,
    which is noted as a fault.
    """
    if joint.type is JointType.FREE and any(_unequal(group[3:]) for group in _losses(joint)):
        log.problem("unequal losses along the axes of a free joint have no counterpart", joint.name, joint.source)
    parts = parts_of(joint)
    # the ball of a free joint keeps the name, and so the names of its coordinates
    names = [new_joint(f"{joint.name}_{part.suffix}") if part.suffix else joint.name for part in parts]
    bodies = tuple(Body(new_body(f"{name}_link")) for name in names[:-1])
    joints = []
    for k, (part, name) in enumerate(zip(parts, names, strict=True)):
        a = joint.a if k == 0 else Placement(bodies[k - 1].name)
        b = joint.b if k + 1 == len(parts) else Placement(bodies[k].name)
        armature, damping, friction = (_picked(group, part) for group in _losses(joint))
        limits = tuple(joint.limits[f] for f in part.freedoms if f < len(joint.limits))
        limits = limits if any(x != Limits() for x in limits) else ()
        placed = replace(joint, name=name, type=part.type, a=a, b=b, axis=part.axis, pitch=0.0, limits=limits)
        joints.append(replace(placed, armature=armature, damping=damping, friction=friction))
    renamed = {_whole(joint.name, part.suffix): name for part, name in zip(parts, names, strict=True) if part.suffix}
    if joint.type is JointType.SCREW:
        return _screw(joint, names, tuple(joints), bodies, new_joint)
    return Expansion(tuple(joints), bodies, renamed)


def _screw(
    joint: Joint, names: list[str], joints: tuple[Joint, ...], bodies: tuple[Body, ...], fresh: Callable[[str], str]
) -> Expansion:
    """Rot(n, q) Trans(n pitch q): a hinge and a slide that follows it."""
    assert isinstance(joint.pitch, float)
    terms: tuple[tuple[str, Scalar], ...] = ((names[1], 1.0), (names[0], -joint.pitch))
    law = Coupling(fresh(f"{joint.name}_pitch"), weighted_sum(terms, 0.0), (names[1], names[0]), joint.source)
    return Expansion(joints, bodies, {joint.name: names[0]}, (law,), (names[1], joint.name, joint.pitch))


def _whole(joint: str, suffix: str) -> str:
    return f"{joint}:{suffix}"


def _losses(joint: Joint) -> tuple[tuple[Scalar, ...], ...]:
    return joint.armature, joint.damping, joint.friction


def _picked(group: tuple[Scalar, ...], part: Part) -> tuple[Scalar, ...]:
    picked = tuple(group[k] for k in part.freedoms if k < len(group))
    return picked if any(value != 0.0 for value in picked) else ()


def _unequal(values: tuple[Scalar, ...]) -> bool:
    return len(set(values)) > 1


def is_elementary(kind: JointType) -> bool:
    """Whether a joint is fixed, of one freedom, or a ball."""
    shape = JOINT_SHAPES[kind]
    return kind is JointType.SPHERICAL or (shape.nv <= 1 and kind is not JointType.SCREW)
