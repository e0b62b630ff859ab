"""Ports of a URDF: joints that a transmission or a command interface drives, else those with an effort limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from robocompiler.importers.draft import Draft
from robocompiler.importers.guessed_ports import guess_ports, joint_port
from robocompiler.importers.log import ASSUMED
from robocompiler.importers.urdf_joints import SCALAR, UrdfJoint
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.names import shown


@dataclass(frozen=True)
class _Driven:
    """A joint that the file says is driven, the name of its actuator, and where it says so."""

    joint: str
    port: str
    element: Element


def import_ports(robot: Element, joints: Mapping[str, UrdfJoint], draft: Draft) -> None:
    """One port per driven joint; without any, one per joint with an effort limit that follows no other."""
    driven = [*_transmissions(robot, draft), *_command_interfaces(robot)]
    if not driven:
        passive = {draft.joint(name) for name, joint in joints.items() if joint.element.first("mimic") is not None}
        guess_ports(draft, passive)
        return
    taken: set[str] = set()
    for entry in driven:
        record, line = entry.element.label, entry.element.line
        if entry.joint not in joints:
            hint = draft.log.suggest(entry.joint, joints)
            draft.log.problem(f"no joint is called {shown(entry.joint)}{hint}", record, line)
        elif joints[entry.joint].type not in SCALAR:
            draft.log.problem(f"the joint {shown(entry.joint)} has not exactly one freedom to drive", record, line)
        elif entry.joint not in taken:
            taken.add(entry.joint)
            legal = draft.joint(entry.joint)
            draft.put("ports", draft.fresh("ports", entry.port), joint_port(legal, draft), line)


def _transmissions(robot: Element, draft: Draft) -> Iterator[_Driven]:
    for transmission in robot.all("transmission"):
        actuator = transmission.first("actuator")
        ends = list(transmission.all("joint"))
        for joint in ends:
            own = Values(joint.attributes, f"{transmission.label}: joint", joint.line, draft.log)
            name = own.text("name")
            port = actuator.get("name") if actuator is not None and len(ends) == 1 else ""
            if name is not None:
                yield _Driven(name, port or f"{name}_motor", transmission)
        for element in (transmission, *(actuator.children if actuator is not None else ())):
            reduction = element if element.tag == "mechanicalReduction" else element.first("mechanicalReduction")
            if reduction is not None and reduction.text not in ("", "1", "1.0"):
                draft.log.note(
                    ASSUMED,
                    f"the port acts at the joint: the reduction {shown(reduction.text)} is left out",
                    transmission.label,
                    reduction.line,
                )


def _command_interfaces(robot: Element) -> Iterator[_Driven]:
    for control in robot.all("ros2_control"):
        for joint in control.all("joint"):
            if joint.first("command_interface") is not None and joint.get("name"):
                yield _Driven(joint.get("name"), f"{joint.get('name')}_motor", joint)
