"""The bodies and joints of an MJCF, nested as the tree is.

A body with joints 1..n stands at P M_1(q_1) ... M_n(q_n) in its parent, M(q) = T(pos) Q(q) T(pos)^-1.  Bodies without
mass that only stand between joints are no bodies of an MJCF: their joints belong to the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement

from robocompiler.exporters.notes import CHANGED, LEFT_OUT, ExportLog
from robocompiler.exporters.placing import Hung, hung, number, single, text, weightless
from robocompiler.exporters.structure import Structure
from robocompiler.importers.transforms import Transform, times
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import IDENTITY, ORIGIN, WORLD, Body, Distance, Joint, Limits, Vector3
from robocompiler.records.physics import judge_inertia

LEAST = 1e-14  # kg, kg m^2: MuJoCo wants every moving body to have some
_KINDS = {
    JointType.REVOLUTE: "hinge", JointType.CONTINUOUS: "hinge", JointType.PRISMATIC: "slide",
    JointType.SPHERICAL: "ball", JointType.FREE: "free",
}  # fmt: skip
_TURNING = ("hinge", "ball", "free")


@dataclass(frozen=True)
class Moving:
    """A joint of an MJCF body: the record, its kind, and its frame in the body."""

    hung: Hung
    kind: str
    frame: Transform


@dataclass
class Bodies:
    """What was written: elements by body, and the elements of joints."""

    world: Element
    elements: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, Moving] = field(default_factory=dict)


@dataclass(frozen=True)
class _Waiting:
    """A body without an element of its own: where its joints start, its pose there, and the joints so far."""

    holder: Element
    pose: Transform
    joints: tuple[Moving, ...]


def write_bodies(world: Element, structure: Structure, log: ExportLog) -> Bodies:
    """Add every body below <worldbody>, with its joints and inertia."""
    made = Bodies(world, {WORLD: world})
    passing = _passing(structure)
    records = {body.name: body for body in structure.mechanism.bodies}
    waiting: dict[str, _Waiting] = {}
    moving = _moving_masses(structure)
    for edge in structure.topology.edges:
        one = hung(structure.topology.joint(edge.joint), edge)
        start = waiting.pop(one.parent, None)
        own = _own(one)
        if start is not None and not _may_join(start.joints, own):
            made.elements[one.parent] = _body(start, records[one.parent], moving, made, log)
            start = None
        if start is None:
            step = _Waiting(made.elements[one.parent], one.rest, own)
        else:
            back = one.rest.inverse()
            earlier = tuple(Moving(j.hung, j.kind, back @ j.frame) for j in start.joints)
            step = _Waiting(start.holder, start.pose @ one.rest, earlier + own)
        if edge.child in passing:
            waiting[edge.child] = step
            if edge.child not in structure.between:
                log.note(CHANGED, "a body without mass is no body there: its joints are the next one's", edge.child)
        else:
            made.elements[edge.child] = _body(step, records[edge.child], moving, made, log)
    return made


def place(element: Element, pose: Transform) -> None:
    """Write pos and quat, where they say something."""
    if pose.translation != ORIGIN:
        element.set("pos", text(pose.translation))
    if pose.rotation != IDENTITY:
        element.set("quat", text(pose.quaternion))


def _own(one: Hung) -> tuple[Moving, ...]:
    kind = _KINDS.get(one.joint.type)
    return () if kind is None else (Moving(one, kind, one.inner),)


def _may_join(before: Sequence[Moving], own: Sequence[Moving]) -> bool:
    """MuJoCo has a ball only where no other joint of the body turns, and a free joint alone."""
    kinds = [joint.kind for joint in (*before, *own)]
    turning = [kind for kind in kinds if kind in _TURNING]
    return "free" not in kinds and ("ball" not in kinds or len(turning) == 1)


def _passing(structure: Structure) -> frozenset[str]:
    """Bodies without mass through which one chain of moving joints passes, and on which nothing else stands."""
    topology, mechanism = structure.topology, structure.mechanism
    fixed = {joint.name for joint in mechanism.joints if joint.type is JointType.FIXED}
    leaving: dict[str, int] = {}
    for edge in topology.edges:
        leaving[edge.parent] = leaving.get(edge.parent, 0) + 1
    used = {body for chord in topology.chords for body in _ends(topology.joint(chord.joint))}
    used |= {frame.placement.body for frame in mechanism.frames}
    measures = [port.measure for port in mechanism.ports]
    used |= {end.body for m in measures if isinstance(m, Distance) for end in (m.a, m.b)}
    stiff = {body for edge in topology.edges if edge.joint in fixed for body in (edge.parent, edge.child)}
    return frozenset(
        body.name
        for body in mechanism.bodies
        if weightless(body) and leaving.get(body.name) == 1 and body.name not in used | stiff
    )


def _ends(joint: Joint) -> tuple[str, str]:
    return joint.a.body, joint.b.body


def _moving_masses(structure: Structure) -> frozenset[str]:
    """Bodies with a joint of their own (not fixed to their parent)."""
    topology = structure.topology
    return frozenset(edge.child for edge in topology.edges if topology.kind(edge.joint) is not JointType.FIXED)


def _body(step: _Waiting, record: Body, moving: frozenset[str], made: Bodies, log: ExportLog) -> Element:
    element = SubElement(step.holder, "body", name=record.name)
    free = any(joint.kind == "free" for joint in step.joints)
    place(element, Transform() if free else step.pose)
    for joint in step.joints:
        _joint(element, joint, log)
        made.joints[joint.hung.joint.name] = joint
    _inertial(element, record, record.name in moving, log)
    return element


def _joint(body: Element, moving: Moving, log: ExportLog) -> None:
    joint, kind = moving.hung.joint, moving.kind
    losses = {"armature": joint.armature, "damping": joint.damping, "frictionloss": joint.friction}
    if kind == "free" and not any(any(group) for group in losses.values()):
        SubElement(body, "freejoint", name=joint.name)
        return
    element = SubElement(body, "joint", name=joint.name, type=kind)
    if kind != "free" and moving.frame.translation != ORIGIN and kind != "slide":
        element.set("pos", text(moving.frame.translation))
    if kind in ("ball", "free") and any(limits != Limits() for limits in joint.limits):
        log.note(LEFT_OUT, "limits of balls and free joints", joint.name)
    if kind in ("hinge", "slide"):
        element.set("axis", text(times(moving.frame.rotation, moving.hung.axis)))
        _limits(element, joint, log)
    for key, group in losses.items():
        if any(group):
            if len(set(group)) > 1:
                log.problem(f"MuJoCo has one {key} for all axes of a {kind} joint", joint.name, joint.source)
            element.set(key, text([single(group)]))


def _limits(element: Element, joint: Joint, log: ExportLog) -> None:
    limits = joint.limits[0] if joint.limits else Limits()
    if limits.position is not None and limits.position[0] < limits.position[1]:
        element.set("limited", "true")
        element.set("range", text(limits.position))
    elif limits.position is not None:
        log.note(LEFT_OUT, "position limits that leave no room, which MuJoCo refuses", joint.name)
    if limits.effort:
        element.set("actuatorfrclimited", "true")
        element.set("actuatorfrcrange", text((-limits.effort, limits.effort)))
    elif limits.effort is not None:
        log.note(LEFT_OUT, "effort limits of zero, which MuJoCo refuses", joint.name)
    if limits.velocity is not None:
        log.note(LEFT_OUT, "velocity limits of joints", joint.name)


def _inertial(element: Element, record: Body, moving: bool, log: ExportLog) -> None:
    """Mass and inertia as they are; a moving body without has LEAST, since MuJoCo refuses it otherwise."""
    mass, inertia = number(record.mass), tuple(number(value) for value in record.inertia)
    xx, yy, zz, xy, xz, yz = inertia
    verdict = judge_inertia((xx, yy, zz, xy, xz, yz))
    if not moving and weightless(record):
        return
    if moving and (mass < LEAST or verdict.eigenvalues[0] < LEAST):
        mass = max(mass, LEAST)
        inertia = (xx + LEAST, yy + LEAST, zz + LEAST, xy, xz, yz)
        log.note(
            CHANGED,
            f"a moving body without mass or inertia has {LEAST:g} kg and {LEAST:g} kg m^2, the least that MuJoCo takes "
            "safely; its soft equalities hold such a body badly, so give it more before you simulate",
            record.name,
        )
    if verdict.triangle_deficit > 0:
        log.note(
            CHANGED,
            "principal moments that break the triangle inequality are written as they are, but MuJoCo refuses them: "
            'set balanceinertia="true" to load the file',
            record.name,
        )
    SubElement(element, "inertial", pos=text(map(number, record.com)), mass=text([mass]), fullinertia=text(inertia))


def positions(made: Bodies, values: Mapping[str, float]) -> list[float]:
    """Qpos of the joints in document order, which is MuJoCo's."""
    found: list[float] = []
    for element in made.world.iter():
        if element.tag not in ("joint", "freejoint"):
            continue
        moving = made.joints[element.get("name", "")]
        name = moving.hung.joint.name
        if moving.kind == "free":
            found += [values[f"{name}:{key}"] for key in ("x", "y", "z", "qw", "qx", "qy", "qz")]
        elif moving.kind == "ball":
            found += _turned(moving, [values[f"{name}:{key}"] for key in ("qw", "qx", "qy", "qz")])
        else:
            found.append(values[name])
    return found


def _turned(moving: Moving, quaternion: list[float]) -> list[float]:
    """The rotation in the axes of the body: R R(q) R^T, or with the inverse of R(q)."""
    w, x, y, z = quaternion
    sign = -1.0 if moving.hung.backwards else 1.0
    turned: Vector3 = times(moving.frame.rotation, (sign * x, sign * y, sign * z))
    return [w, *turned]
