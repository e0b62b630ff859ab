"""Joints of SDF.  Links may have several parents, so loops are there as they are; all joints are at 0 as drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from robocompiler.importers.draft import Draft, placement
from robocompiler.importers.limits import clean_limits
from robocompiler.importers.log import RECOGNISED
from robocompiler.importers.mimics import Mimic
from robocompiler.importers.sdf_frames import MODEL_FRAME, Scope
from robocompiler.importers.sdf_values import texts
from robocompiler.importers.transforms import Transform, product, times, transposed
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD, Vector3
from robocompiler.records.names import shown

_TYPES = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed", "ball": "spherical",
    "universal": "universal", "revolute2": "universal", "screw": "screw",
}  # fmt: skip
_LEFT_OUT = ("gearbox",)
_READ = frozenset((
    "parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch", "physics", "sensor",
))  # fmt: skip
_AXIS_READ = ("xyz", "limit", "dynamics", "mimic", "use_parent_model_frame", "initial_position")
_Z: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class SdfJoint:
    """A joint that became a record: its full name, type, element and scope."""

    name: str
    type: str
    element: Element
    scope: Scope


@dataclass(frozen=True)
class Version:
    """The version of the format, which decides the axes' frame."""

    number: tuple[int, int]

    @property
    def axes_in_model(self) -> bool:
        """Whether axes are expressed in the model frame by default."""
        return self.number <= (1, 4)


def import_joints(
    scope: Scope, draft: Draft, worlds: dict[str, Transform], here: Transform, version: Version
) -> list[SdfJoint]:
    """A record per joint; `worlds` has the poses of links by full name, `here` is that of the scope."""
    found: list[SdfJoint] = []
    children: dict[str, str] = {}
    for name, element in scope.all("joint"):
        record = scope.record(element)
        kind = element.get("type")
        if kind in _LEFT_OUT:
            scope.log.leave_out(f"{kind} joints: write a coupling in the side file", element.line)
            continue
        if kind not in _TYPES:
            hint = scope.log.suggest(kind, _TYPES)
            known = ", ".join(_TYPES)
            scope.log.problem(f"unknown joint type {shown(kind)}{hint} (known: {known})", record, element.line)
            continue
        ends = [_end(tag, scope, element) for tag in ("parent", "child")]
        if scope.static:
            scope.log.leave_out("joints of static models, whose links do not move", element.line)
            continue
        if not all(ends):
            continue
        if ends[0] == ends[1]:
            scope.log.problem(f"connects {shown(ends[0])} with itself", record, element.line)
            continue
        legal = draft.declare("joints", scope.full(name), element.line, "joint")
        frame = here @ scope.pose(name, element)
        data: dict[str, Any] = {"type": _TYPES[kind]}
        for side, link in zip("ab", ends, strict=True):
            body = WORLD if link == WORLD else draft.body(link)
            data[side] = placement(body, worlds[link].inverse() @ frame)
        data |= _freedoms(kind, name, element, scope, version)
        draft.put("joints", legal, data, element.line)
        found.append(SdfJoint(scope.full(name), _TYPES[kind], element, scope))
        if ends[1] in children:
            words = f"{shown(ends[1])} is the child of {shown(children[ends[1]])} already, so this joint closes a loop"
            scope.log.note(RECOGNISED, words, record, element.line)
        children.setdefault(ends[1], name)
        for child in element.children:
            if child.tag not in _READ:
                scope.log.leave_out(f"<{child.tag}> in joints", child.line)
    return found


def _end(tag: str, scope: Scope, joint: Element) -> str:
    """Full name of the link at one side, or '' with a fault noted."""
    element = joint.first(tag)
    if element is None or not element.text:
        scope.log.problem(f"<{tag}> is missing", scope.record(joint), joint.line)
        return ""
    return scope.link(element.text, joint)


def _freedoms(kind: str, name: str, element: Element, scope: Scope, version: Version) -> dict[str, Any]:
    """Axes, pitch, limits and losses."""
    data: dict[str, Any] = {}
    if kind in ("fixed", "ball"):
        return data
    axes = ("axis", "axis2") if _TYPES[kind] == "universal" else ("axis",)
    parts: list[dict[str, Any]] = []
    for tag in axes:
        axis = element.first(tag)
        if axis is None:
            scope.log.problem(f"<{tag}> is missing", scope.record(element), element.line)
            return data
        own = texts(axis, f"{scope.record(element)}: {tag}", scope.log)
        own.only(*_AXIS_READ, what="element")
        data[tag] = _direction(axis, own, name, element, scope, version)
        parts.append(_limits_and_losses(axis, own, kind, scope))
    if len(parts) == 1:
        data |= {key: value for key, value in parts[0].items() if value}
    else:
        suffixes = ("first", "second")
        for key in ("limits", "damping", "friction"):
            values = {suffix: part[key] for suffix, part in zip(suffixes, parts, strict=True) if part[key]}
            data |= {key: values} if values else {}
    if kind == "screw":
        data["pitch"] = _pitch(element, scope)
    return data


def _direction(axis: Element, own: Values, name: str, joint: Element, scope: Scope, version: Version) -> Vector3:
    """The axis in the joint's frame."""
    element = axis.first("xyz")
    direction = own.vector("xyz", _Z)
    if not any(direction):
        own.problem("the zero vector has no direction; give the axis, such as 0 0 1")
        return _Z
    expressed = element.get("expressed_in") if element is not None else ""
    if not expressed and (version.axes_in_model or own.flag("use_parent_model_frame", False)):
        expressed = MODEL_FRAME
    if not expressed:
        return direction
    turn = product(transposed(scope.pose(name, joint).rotation), scope.pose(expressed, joint).rotation)
    return times(turn, direction)


def _limits_and_losses(axis: Element, own: Values, kind: str, scope: Scope) -> dict[str, Any]:
    result: dict[str, Any] = {"limits": {}, "damping": 0.0, "friction": 0.0}
    limit, dynamics = axis.first("limit"), axis.first("dynamics")
    if limit is not None:
        there = texts(limit, f"{own.record}: limit", scope.log)
        there.only("lower", "upper", "velocity", "effort", "stiffness", "dissipation", what="element")
        interval = None
        if kind != "continuous" and ("lower" in there or "upper" in there):
            lower, upper = (
                there.number("lower", -math.inf, infinite=True),
                there.number("upper", math.inf, infinite=True),
            )
            interval = (lower, upper)
        bounds = [there.number(key, math.inf, infinite=True) for key in ("velocity", "effort")]
        velocity, effort = (math.inf if bound < 0 else bound for bound in bounds)  # -1: not enforced
        result["limits"] = clean_limits(interval, velocity, effort, there)
    if dynamics is not None:
        there = texts(dynamics, f"{own.record}: dynamics", scope.log)
        result |= {key: there.number(key) for key in ("damping", "friction")}
        if there.number("spring_stiffness"):
            scope.log.leave_out("springs of joints (spring_stiffness): write a port with a drive", dynamics.line)
    return result


def _pitch(joint: Element, scope: Scope) -> float:
    """Advance in m/rad.  screw_thread_pitch is m per turn; thread_pitch rad/m, left-handed where positive."""
    own = texts(joint, scope.record(joint), scope.log)
    if "screw_thread_pitch" in own:
        return own.number("screw_thread_pitch", 1.0) / (2 * math.pi)
    if "thread_pitch" in own:
        value = own.number("thread_pitch", 1.0)
        if value == 0:
            own.problem("'thread_pitch' must not be 0; write screw_thread_pitch, in metres per turn")
            return 0.0
        return -1.0 / value
    return 1.0 / (2 * math.pi)


def read_mimics(joints: list[SdfJoint], draft: Draft) -> dict[str, Mimic]:
    """Mimics by the legal coordinate of the follower: q = multiplier (q_leader - reference) + offset."""
    known = {joint.name: joint for joint in joints}
    mimics: dict[str, Mimic] = {}
    for joint in joints:
        for tag in ("axis", "axis2"):
            axis = joint.element.first(tag)
            mimic = None if axis is None else axis.first("mimic")
            if mimic is None:
                continue
            own = texts(mimic, f"{joint.scope.record(joint.element)}: mimic", draft.log)
            leader = known.get(joint.scope.full(mimic.get("joint").replace("::", "/")))
            if leader is None:
                hint = draft.log.suggest(mimic.get("joint"), known)
                own.problem(f"no joint is called {shown(mimic.get('joint'))}{hint}")
                continue
            follower = _coordinate(joint, tag, draft)
            leads = _coordinate(leader, mimic.get("axis", "axis"), draft)
            if follower is None or leads is None:
                own.problem("leader and follower need the axis that is named, and joints with axes")
            elif follower == leads:
                own.problem("the joint mimics itself; name another leader")
            else:
                multiplier = own.number("multiplier", 1.0)
                offset = own.number("offset") - multiplier * own.number("reference")
                mimics[follower] = Mimic(follower, leads, multiplier, offset, own.record, mimic.line)
    return mimics


def _coordinate(joint: SdfJoint, tag: str, draft: Draft) -> str | None:
    legal = draft.joint(joint.name)
    if joint.type == "universal":
        return f"{legal}:{'first' if tag == 'axis' else 'second'}"
    return legal if tag == "axis" and joint.type not in ("fixed", "spherical") else None
