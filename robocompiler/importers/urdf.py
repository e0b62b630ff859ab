"""URDF, with the URDF+ elements <loop> and <coupling>, to a draft."""

from __future__ import annotations

from pathlib import Path

from robocompiler.importers.draft import Draft
from robocompiler.importers.log import ImportLog
from robocompiler.importers.options import ImportOptions
from robocompiler.importers.seeds import import_seeds
from robocompiler.importers.urdf_couplings import (
    import_couplings,
    import_joint_mimics,
    import_loops,
)
from robocompiler.importers.urdf_gazebo import import_gazebo_joints
from robocompiler.importers.urdf_joints import attach_root, import_joints
from robocompiler.importers.urdf_links import import_links
from robocompiler.importers.urdf_ports import import_ports
from robocompiler.importers.urdf_visuals import import_visuals
from robocompiler.importers.xml_reader import Element

_READ = frozenset(("link", "joint", "loop", "coupling", "transmission", "ros2_control", "gazebo"))
_NOTHING_HERE = {"material": "materials: a mechanism has no colours", "sensor": "sensors"}


def import_urdf(robot: Element, path: Path, log: ImportLog, options: ImportOptions) -> Draft:
    """The draft of a <robot> element; faults go to `log`."""
    _refuse_xacro(robot, log)
    draft = Draft(name=robot.get("name") or path.stem, log=log, line=robot.line)
    links = import_links(robot, draft)
    joints = import_joints(robot, links, draft)
    attach_root(robot, links, draft, options)
    import_seeds(draft)
    import_joint_mimics(joints, draft)
    import_loops(robot, links, draft)
    import_couplings(robot, links, joints, draft)
    import_gazebo_joints(robot, links, joints, draft)
    import_ports(robot, joints, draft)
    import_visuals(robot, links, draft, str(path))
    for element in robot.children:
        if element.tag not in _READ:
            log.leave_out(_NOTHING_HERE.get(element.tag, f"<{element.tag}>"), element.line)
    return draft


def _refuse_xacro(robot: Element, log: ImportLog) -> None:
    waiting, count = [robot], 0
    while waiting:
        element = waiting.pop()
        if element.tag.startswith("xacro:") and count == 0:
            count += 1
            log.problem(
                "the file is xacro source, not URDF; expand it first: xacro robot.urdf.xacro > robot.urdf",
                element.tag,
                element.line,
            )
        waiting += reversed(element.children)
    if count:
        log.finish()
