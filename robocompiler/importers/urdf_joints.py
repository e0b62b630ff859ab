"""Joints of a URDF: the tree, its root, and what each joint has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from robocompiler.importers.draft import Draft, placement
from robocompiler.importers.limits import clean_limits
from robocompiler.importers.log import ASSUMED, RECOGNISED, ImportLog
from robocompiler.importers.options import FLOATING, ImportOptions
from robocompiler.importers.transforms import UNMOVED
from robocompiler.importers.urdf_links import known_link, origin, values
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD, Vector3
from robocompiler.records.names import shown

TYPES = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed",
    "floating": "free", "planar": "planar", "spherical": "spherical", "ball": "spherical",
}  # fmt: skip
SCALAR = ("revolute", "continuous", "prismatic")
_AXIS_FREE = ("fixed", "free", "spherical")
_READ = frozenset(("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"))
_X: Vector3 = (1.0, 0.0, 0.0)


@dataclass(frozen=True)
class UrdfJoint:
    """A joint that could be read: its element, its type in the records, parent and child link."""

    element: Element
    type: str
    parent: str
    child: str


def import_joints(robot: Element, links: Mapping[str, Element], draft: Draft) -> dict[str, UrdfJoint]:
    """All joints by their names in the file."""
    found: dict[str, UrdfJoint] = {}
    parents: dict[str, str] = {}
    for element in robot.all("joint"):
        own = values(element, element.label, draft.log)
        own.only("name", "type", "independent")
        if "independent" in own:
            draft.log.leave_out("independent of joints: prefer coordinates with --independent", element.line)
        name = own.text("name")
        joint = _ends(element, own, links, draft.log)
        if name is None:
            continue
        legal = draft.declare("joints", name, element.line, "joint")
        if joint is None or name in found:
            continue
        found[name] = joint
        draft.put("joints", legal, _data(joint, own, draft), element.line)
        if joint.child in parents:
            draft.log.note(
                RECOGNISED,
                f"{shown(joint.child)} is the child of {shown(parents[joint.child])} already, so this joint closes a "
                "loop",
                element.label,
                element.line,
            )
        parents.setdefault(joint.child, name)
    return found


def attach_root(robot: Element, links: Mapping[str, Element], draft: Draft, options: ImportOptions) -> None:
    """Fix the root link to the world, or let it float; several roots are refused."""
    # also of joints that could not be read: their links are no roots
    children = {end.get("link") for joint in robot.all("joint") for end in joint.all("child")}
    roots = [name for name in links if name not in children]
    log = draft.log
    if not roots and links:
        log.problem(
            "every link is the child of a joint, so that none is the root: the parents form a cycle; turn one joint "
            "into <loop> (docs/import.md) or move it to the side file",
            "",
            draft.line,
        )
    if len(roots) > 1:
        names = ", ".join(shown(name) for name in sorted(roots))
        log.problem(
            f"{len(roots)} links are the child of no joint ({names}), but a URDF has one root: connect the others, "
            "or split the file",
            "",
            links[roots[1]].line,
        )
    if len(roots) != 1 or roots[0] == WORLD:
        return
    root, line = roots[0], links[roots[0]].line
    body = draft.body(root)
    if options.base == FLOATING:
        draft.bases[body] = UNMOVED
        log.note(ASSUMED, "the root link floats (asked for)", f"link {shown(root)}", line)
        return
    draft.put("joints", draft.fresh("joints", f"{body}_mount"), mount(body), line)
    log.note(
        ASSUMED, "the root link is fixed to the world (--base floating lets it float)", f"link {shown(root)}", line
    )


def mount(body: str) -> dict[str, Any]:
    """A body fixed to the world at its origin."""
    return {"type": "fixed", "a": placement(WORLD), "b": placement(body)}


def _ends(element: Element, own: Values, links: Mapping[str, Element], log: ImportLog) -> UrdfJoint | None:
    kind = element.get("type")
    if kind not in TYPES:
        hint = log.suggest(kind, TYPES)
        own.problem(
            f"unknown joint type {shown(kind)}{hint} (known: {', '.join(TYPES)})" if kind else "'type' is missing"
        )
    ends: list[str] = []
    for tag in ("parent", "child"):
        end = element.first(tag)
        if end is None:
            own.problem(f"<{tag} link=.../> is missing")
            continue
        there = values(end, f"{element.label}: {tag}", log)
        name = there.text("link")
        if known_link(name, links, there) and name is not None:
            ends.append(name)
    for child in element.children:
        if child.tag not in _READ:
            log.leave_out(f"<{child.tag}> in joints", child.line)
    if len(ends) < 2 or kind not in TYPES:
        return None
    if ends[0] == ends[1]:
        own.problem(f"connects {shown(ends[0])} with itself; parent and child must differ")
        return None
    return UrdfJoint(element, TYPES[kind], ends[0], ends[1])


def _data(joint: UrdfJoint, own: Values, draft: Draft) -> dict[str, Any]:
    log, element = draft.log, joint.element
    data: dict[str, Any] = {
        "type": joint.type,
        "a": placement(draft.body(joint.parent), origin(element, element.label, log)),
        "b": placement(draft.body(joint.child)),
    }
    if joint.type not in _AXIS_FREE:
        data["axis"] = axis(element, log)
    if joint.type in SCALAR:
        limits = _limits(joint, own, log)
        if limits:
            data["limits"] = limits
        data |= _losses(element, log)
    else:
        for tag in ("limit", "dynamics"):
            extra = element.first(tag)
            if extra is not None and joint.type != "fixed":
                log.leave_out(f"<{tag}> of {element.get('type')} joints, which have several freedoms", extra.line)
    return data


def axis(element: Element, log: ImportLog, default: Vector3 = _X) -> Vector3:
    """The direction of <axis xyz>; `default` when there is none, with a fault noted when it is zero."""
    found = element.first("axis")
    if found is None:
        return default
    own = values(found, f"{element.label}: axis", log)
    own.only("xyz")
    direction = own.vector("xyz", default)
    if not any(direction):
        own.problem('the zero vector has no direction; give the axis, such as xyz="0 0 1"')
        return default
    return direction


def _limits(joint: UrdfJoint, own: Values, log: ImportLog) -> dict[str, Any]:
    element = joint.element
    limit = element.first("limit")
    if limit is None:
        if joint.type != "continuous":
            log.note(ASSUMED, f"no <limit>, so this {joint.type} joint has no limits", element.label, element.line)
        return {}
    there = values(limit, f"{element.label}: limit", log)
    there.only("lower", "upper", "effort", "velocity")
    interval: tuple[float, float] | None = None
    if joint.type != "continuous" and ("lower" in there or "upper" in there):
        interval = (there.number("lower", infinite=True), there.number("upper", infinite=True))
    velocity = there.number("velocity", math.inf, infinite=True)
    effort = there.number("effort", math.inf, infinite=True)
    for key, value in (("velocity", velocity), ("effort", effort)):
        if value == 0:
            log.note(ASSUMED, f'{key}="0" in <limit> means that none is known', element.label, limit.line)
    return clean_limits(interval, velocity or math.inf, effort or math.inf, there)


def _losses(element: Element, log: ImportLog) -> dict[str, float]:
    dynamics = element.first("dynamics")
    if dynamics is None:
        return {}
    own = values(dynamics, f"{element.label}: dynamics", log)
    own.only("damping", "friction")
    found = {key: own.number(key) for key in ("damping", "friction")}
    return {key: value for key, value in found.items() if value != 0}
