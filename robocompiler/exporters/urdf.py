"""Records to URDF: the tree as links and joints, everything else in the side file that the importer reads.

A URDF joint has its child link at its own frame, X = origin Q(axis, q).  A joint whose frame on the child is off its
axis gets a link of its own there, fixed to the child, so that every body keeps its frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from robocompiler.exporters.naming import Names
from robocompiler.exporters.notes import CHANGED, ExportLog, ExportNote
from robocompiler.exporters.placing import Hung, hung, number, single, text, weightless
from robocompiler.exporters.side_records import side_text
from robocompiler.exporters.structure import Target, structure
from robocompiler.exporters.urdf_mimics import followers, write_mimic
from robocompiler.importers.transforms import UNMOVED, Transform, cross, times
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import IDENTITY, ORIGIN, WORLD, Body, Joint, Limits, Mechanism, Vector3
from robocompiler.records.rotations import rpy_of_rotation

URDF = Target("URDF", None, frozenset((JointType.FREE,)))
_TYPES = {
    JointType.FIXED: "fixed", JointType.REVOLUTE: "revolute", JointType.CONTINUOUS: "continuous",
    JointType.PRISMATIC: "prismatic", JointType.SPHERICAL: "spherical", JointType.FREE: "floating",
}  # fmt: skip
_SCALAR = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)
_NONE = "1e16"  # readers want effort and velocity; this is how no limit is written


@dataclass(frozen=True)
class ExportedUrdf:
    """The URDF, the side file that belongs beside it (STEM.loops.yaml), notes, and new names of renamed coordinates."""

    text: str
    side: str
    notes: tuple[ExportNote, ...]
    renamed: Mapping[str, str]


def urdf_text(mechanism: Mechanism, reference: Mapping[str, float]) -> ExportedUrdf:
    """The URDF and the side file of a mechanism (SI units).

    Args:
        reference: an assembled configuration, values by coordinate name, which the side file holds.

    Raises ModelError for a ball of the tree whose losses differ among its axes and which the tree walks backwards.
    """
    log = ExportLog()
    built = structure(mechanism, URDF, log)
    robot = Element("robot", name=mechanism.name)
    SubElement(robot, "link", name=WORLD)
    for body in built.mechanism.bodies:
        _link(robot, body)
    links = Names((WORLD, *(body.name for body in built.mechanism.bodies)))
    joints = Names(joint.name for joint in built.mechanism.joints)
    laws = followers(built)
    for edge in built.topology.edges:
        _joint(robot, hung(built.topology.joint(edge.joint), edge), links, joints, log)
    for element in robot.iter("joint"):
        law = laws.get(element.get("name", ""))
        if law is not None:
            write_mimic(element, law)
            log.note(CHANGED, "a linear coupling of two joints is a mimic, FOLLOWER_mimic to an import", law.coupling)
    side = side_text(built, reference, {law.coupling for law in laws.values()})
    log.finish()
    indent(robot)
    return ExportedUrdf(tostring(robot, encoding="unicode") + "\n", side, log.notes, dict(built.coordinates))


def _link(robot: Element, body: Body) -> None:
    link = SubElement(robot, "link", name=body.name)
    if weightless(body):
        return
    inertial = SubElement(link, "inertial")
    if body.com != ORIGIN:
        SubElement(inertial, "origin", xyz=text(map(number, body.com)), rpy="0 0 0")
    SubElement(inertial, "mass", value=text([body.mass]))
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    entries = dict(zip(keys, body.inertia, strict=True))
    SubElement(inertial, "inertia", {key: text([entries[key]]) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")})


def _joint(robot: Element, one: Hung, links: Names, joints: Names, log: ExportLog) -> None:
    joint = one.joint
    origin, axis = _straight(one)
    child = one.child
    if origin is None:
        child = links.fresh(f"{joint.name}_link")
        SubElement(robot, "link", name=child)
        end = SubElement(robot, "joint", name=joints.fresh(f"{joint.name}_end"), type="fixed")
        _origin(end, one.inner.inverse())
        _ends(end, child, one.child)
        origin, axis = one.outer, one.axis
        log.note(CHANGED, "a joint off the origin of its child has a link of its own at its frame", joint.name)
    element = SubElement(robot, "joint", name=joint.name, type=_kind(joint, log))
    _origin(element, origin)
    _ends(element, one.parent, child)
    if (
        joint.type is JointType.SPHERICAL
        and one.backwards
        and any(len(set(group)) > 1 for group in (joint.armature, joint.damping, joint.friction))
    ):
        log.problem("losses that differ among the axes of a ball, seen from its body b", joint.name, joint.source)
    if joint.type in _SCALAR:
        SubElement(element, "axis", xyz=text(axis))
        _limit(element, joint)
        _dynamics(element, joint)


def _straight(one: Hung) -> tuple[Transform | None, Vector3]:
    """(pose of the joint, axis) with the child link's own frame at the joint; None where that cannot be.

    X = (A B^-1) (B Q B^-1), and B Q B^-1 is the motion about the turned axis when B only turns, or shifts along it.
    """
    axis, offset = times(one.inner.rotation, one.axis), one.inner.translation
    kind = one.joint.type
    if kind is JointType.FIXED or kind is JointType.PRISMATIC:
        return one.rest, axis
    if kind in _SCALAR and cross(axis, offset) == ORIGIN:
        return one.rest, axis
    if one.inner == UNMOVED and not (one.backwards and kind is JointType.FREE):
        return one.outer, axis
    return None, axis


def _kind(joint: Joint, log: ExportLog) -> str:
    if joint.type is JointType.SPHERICAL:
        log.note(CHANGED, "a ball is a joint of type 'spherical', which not every reader of URDF knows", joint.name)
    unlimited = not joint.limits or joint.limits[0].position is None
    if joint.type is JointType.REVOLUTE and unlimited:
        return _TYPES[JointType.CONTINUOUS]  # a revolute one must have limits
    return _TYPES[joint.type]


def _origin(element: Element, pose: Transform) -> None:
    if pose == UNMOVED:
        return
    rpy = (0.0, 0.0, 0.0) if pose.rotation == IDENTITY else rpy_of_rotation(pose.rotation)
    SubElement(element, "origin", xyz=text(pose.translation), rpy=text(rpy))


def _ends(element: Element, parent: str, child: str) -> None:
    SubElement(element, "parent", link=parent)
    SubElement(element, "child", link=child)


def _limit(element: Element, joint: Joint) -> None:
    limits = joint.limits[0] if joint.limits else Limits()
    if limits == Limits() and joint.type is not JointType.PRISMATIC:
        return
    limit = SubElement(element, "limit")
    interval = limits.position
    if element.get("type") != "continuous":
        limit.set("lower", f"-{_NONE}" if interval is None else text(interval[:1]))
        limit.set("upper", _NONE if interval is None else text(interval[1:]))
    # a limit of zero means that none is known to most readers: the side file says it
    limit.set("effort", text([limits.effort]) if limits.effort else _NONE)
    limit.set("velocity", text([limits.velocity]) if limits.velocity else _NONE)


def _dynamics(element: Element, joint: Joint) -> None:
    damping, friction = single(joint.damping), single(joint.friction)
    if damping or friction:
        SubElement(element, "dynamics", damping=text([damping]), friction=text([friction]))
