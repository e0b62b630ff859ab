"""Joints that a URDF hides in <gazebo> elements, where loops are usually closed for that simulator: SDF inside URDF.

Such a joint is at 0 in the zero pose of the tree; its <pose> is relative to the child link, its axis to the joint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robocompiler.importers.draft import Draft, placement
from robocompiler.importers.log import RECOGNISED
from robocompiler.importers.sdf_values import pose_of, texts
from robocompiler.importers.transforms import UNMOVED, Transform
from robocompiler.importers.urdf_joints import UrdfJoint
from robocompiler.importers.urdf_links import origin
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import Vector3
from robocompiler.records.names import shown

_TYPES = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed", "ball": "spherical",
    "universal": "universal",
}  # fmt: skip
_READ = frozenset(("parent", "child", "pose", "axis", "axis2"))
_Z: Vector3 = (0.0, 0.0, 1.0)


def import_gazebo_joints(
    robot: Element, links: Mapping[str, Element], joints: Mapping[str, UrdfJoint], draft: Draft
) -> None:
    """A closing joint per <joint> below a <gazebo>; what else stands there is listed."""
    zero: dict[str, Transform] = {}
    for gazebo in robot.all("gazebo"):
        for element in gazebo.children:
            if element.tag != "joint":
                draft.log.leave_out(f"<{element.tag}> in <gazebo>", element.line)
                continue
            zero = zero or _zero_poses(links, joints, draft)
            _joint(element, links, zero, draft)


def _zero_poses(links: Mapping[str, Element], joints: Mapping[str, UrdfJoint], draft: Draft) -> dict[str, Transform]:
    """Poses of all links below each root with every joint at 0."""
    below: dict[str, list[UrdfJoint]] = {}
    for joint in joints.values():
        below.setdefault(joint.parent, []).append(joint)
    children = {joint.child for joint in joints.values()}
    poses = {name: UNMOVED for name in links if name not in children}
    waiting = list(poses)
    while waiting:
        name = waiting.pop()
        for joint in below.get(name, ()):
            if joint.child not in poses:
                poses[joint.child] = poses[name] @ origin(joint.element, joint.element.label, draft.log)
                waiting.append(joint.child)
    return poses


def _joint(element: Element, links: Mapping[str, Element], zero: Mapping[str, Transform], draft: Draft) -> None:
    log = draft.log
    own = Values(element.attributes, f"gazebo: {element.label}", element.line, log)
    there = texts(element, own.record, log)
    name = own.text("name")
    kind = own.choice("type", tuple(_TYPES), "revolute")
    if "type" not in own:
        own.problem("'type' is missing")
    ends = [there.text(side) for side in ("parent", "child")]
    for end in ends:
        if end is not None and end not in links:
            own.problem(f"no link is called {shown(end)}{log.suggest(end, links)}")
    parent, child = ends
    if name is None or parent is None or child is None or parent not in zero or child not in zero:
        return
    legal = draft.declare("joints", name, element.line, "joint")
    pose = pose_of(element, own.record, log)
    data: dict[str, Any] = {
        "type": _TYPES[kind],
        "a": placement(draft.body(parent), zero[parent].inverse() @ zero[child] @ pose),
        "b": placement(draft.body(child), pose),
    }
    for tag in ("axis", "axis2") if kind == "universal" else ("axis",) if kind not in ("fixed", "ball") else ():
        data[tag] = _axis(element, tag, own)
    draft.put("joints", legal, data, element.line)
    log.note(RECOGNISED, f"a closing {_TYPES[kind]} joint inside <gazebo>", f"joint {shown(name)}", element.line)
    for extra in element.children:
        if extra.tag not in _READ:
            log.leave_out(f"<{extra.tag}> in joints inside <gazebo>", extra.line)


def _axis(element: Element, tag: str, own: Values) -> Vector3:
    axis = element.first(tag)
    if axis is None:
        own.problem(f"<{tag}> is missing")
        return _Z
    there = texts(axis, f"{own.record}: {tag}", own.log)
    if there.flag("use_parent_model_frame", False):
        there.problem("axes in the parent model's frame are not read here; write the axis in the joint's frame")
    direction = there.vector("xyz", _Z)
    for child in axis.children:
        if child.tag not in ("xyz", "use_parent_model_frame"):
            own.log.leave_out(f"<{child.tag}> of axes inside <gazebo>", child.line)
    if not any(direction):
        there.problem("the zero vector has no direction; give the axis, such as 0 0 1")
        return _Z
    return direction
