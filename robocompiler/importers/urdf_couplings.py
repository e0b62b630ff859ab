"""Mimic tags, and the URDF+ elements <loop> and <coupling> of a URDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robocompiler.importers.draft import Draft, placement
from robocompiler.importers.log import RECOGNISED
from robocompiler.importers.mimics import Mimic, import_mimics
from robocompiler.importers.transforms import Transform
from robocompiler.importers.urdf_joints import SCALAR, UrdfJoint, axis
from robocompiler.importers.urdf_links import known_link, origin, values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.names import shown

_LOOP_TYPES = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed", "planar": "planar",
    "spherical": "spherical", "ball": "spherical", "universal": "universal",
}  # fmt: skip


def import_joint_mimics(joints: Mapping[str, UrdfJoint], draft: Draft) -> None:
    """The <mimic> tags of all joints."""
    mimics: dict[str, Mimic] = {}
    for name, joint in joints.items():
        element = joint.element.first("mimic")
        if element is None:
            continue
        own = values(element, f"joint {shown(name)}: mimic", draft.log)
        own.only("joint", "multiplier", "offset")
        leader = own.text("joint")
        multiplier, offset = own.number("multiplier", 1.0), own.number("offset")
        if leader is None:
            continue
        if leader not in joints:
            own.problem(f"no joint is called {shown(leader)}{draft.log.suggest(leader, joints)}")
        elif joint.type not in SCALAR or joints[leader].type not in SCALAR:
            wrong = name if joint.type not in SCALAR else leader
            own.problem(f"the joint {shown(wrong)} has not exactly one freedom, so it can neither lead nor follow")
        elif leader == name:
            own.problem("the joint mimics itself; name another leader")
        else:
            legal = draft.joint(name)
            mimics[legal] = Mimic(legal, draft.joint(leader), multiplier, offset, own.record, element.line)
    import_mimics(mimics, draft)


def import_loops(robot: Element, links: Mapping[str, Element], draft: Draft) -> None:
    """URDF+ <loop>: a joint between a predecessor and a successor link, each with its own origin."""
    for element in robot.all("loop"):
        own = values(element, element.label, draft.log)
        name = own.text("name")
        kind = _LOOP_TYPES[own.choice("type", tuple(_LOOP_TYPES), "revolute")]
        if "type" not in own:
            own.problem("'type' is missing")
        sides = [_side(element, tag, links, draft) for tag in ("predecessor", "successor")]
        if name is None:
            continue
        legal = draft.declare("joints", name, element.line, "joint or loop")
        if None in sides:
            continue
        data: dict[str, Any] = {"type": kind, "a": sides[0], "b": sides[1]}
        if kind not in ("fixed", "spherical"):
            data["axis"] = axis(element, draft.log)
        if kind == "universal":
            second = element.first("axis2")
            if second is None:
                own.problem("a universal loop needs <axis2 xyz=.../>, the axis on the successor")
            else:
                data["axis2"] = values(second, f"{element.label}: axis2", draft.log).vector("xyz")
        draft.put("joints", legal, data, element.line)
        draft.log.note(RECOGNISED, f"a closing {kind} joint (URDF+)", element.label, element.line)


def _side(loop: Element, tag: str, links: Mapping[str, Element], draft: Draft) -> dict[str, Any] | None:
    """The frame on one link; its origin stands in <predecessor> or beside it as <predecessor_origin>."""
    element = loop.first(tag)
    if element is None:
        draft.log.problem(f"<{tag} link=.../> is missing", loop.label, loop.line)
        return None
    own = values(element, f"{loop.label}: {tag}", draft.log)
    link = own.text("link")
    pose: Transform = origin(element, own.record, draft.log)
    if element.first("origin") is None:
        pose = origin(loop, own.record, draft.log, f"{tag}_origin")
    return placement(draft.body(link), pose) if known_link(link, links, own) and link is not None else None


def import_couplings(
    robot: Element, links: Mapping[str, Element], joints: Mapping[str, UrdfJoint], draft: Draft
) -> None:
    """URDF+ <coupling>: ratio * (joints to the predecessor) = (joints to the successor), from their common ancestor."""
    above = {joint.child: (name, joint.parent) for name, joint in joints.items()}
    for element in robot.all("coupling"):
        own = values(element, element.label, draft.log)
        name = own.text("name")
        ends = []
        for tag in ("predecessor", "successor"):
            end = element.first(tag)
            if end is None:
                own.problem(f"<{tag} link=.../> is missing")
                continue
            there = values(end, f"{element.label}: {tag}", draft.log)
            link = there.text("link")
            if known_link(link, links, there) and link is not None:
                ends.append(link)
        ratio_element = element.first("ratio")
        ratio = 1.0
        if ratio_element is not None:
            ratio = values(ratio_element, f"{element.label}: ratio", draft.log).required("value")
        if name is None or len(ends) < 2:
            continue
        first, second = (_path(link, above) for link in ends)
        shared = frozenset(first) & frozenset(second)
        terms = {draft.joint(j): ratio for j in first if j not in shared and joints[j].type in SCALAR}
        terms |= {draft.joint(j): -1.0 for j in second if j not in shared and joints[j].type in SCALAR}
        if not terms:
            own.problem("no joint with one freedom lies between these links, so that nothing is coupled")
            continue
        legal = draft.declare("couplings", name, element.line, "coupling")
        draft.put("couplings", legal, {"terms": terms}, element.line)
        sum_text = " + ".join(f"{weight:g} {joint}" for joint, weight in terms.items())
        draft.log.note(RECOGNISED, f"the coupling {sum_text} = 0 (URDF+)", element.label, element.line)


def _path(link: str, above: Mapping[str, tuple[str, str]]) -> Sequence[str]:
    """Names of the joints from a link up to the root."""
    path: list[str] = []
    while link in above and above[link][0] not in path:
        name, link = above[link]
        path.append(name)
    return path
