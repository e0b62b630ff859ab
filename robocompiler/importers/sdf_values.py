"""Values of SDF: most stand as text in child elements; poses know three ways to write a rotation."""

from __future__ import annotations

import math

from robocompiler.importers.inertias import degrees_fault
from robocompiler.importers.log import ImportLog
from robocompiler.importers.transforms import UNMOVED, Transform, unit_quaternion_of
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.rotations import rotation_of_quaternion, rotation_of_rpy


def texts(element: Element, record: str, log: ImportLog) -> Values:
    """The texts of an element's children by tag, the first of each."""
    items: dict[str, str] = {}
    for child in element.children:
        items.setdefault(child.tag, child.text)
    return Values(items, record, element.line, log)


def pose_of(owner: Element, record: str, log: ImportLog) -> Transform:
    """The <pose> inside an element: x y z roll pitch yaw, degrees where it says so, or x y z and a quaternion."""
    element = owner.first("pose")
    if element is None or not element.text:
        return UNMOVED
    own = Values({**element.attributes, "pose": element.text}, f"{record}: pose", element.line, log)
    if own.choice("rotation_format", ("euler_rpy", "quat_xyzw"), "euler_rpy") == "quat_xyzw":
        x, y, z, qx, qy, qz, qw = own.numbers("pose", (7,), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        unit = unit_quaternion_of((qw, qx, qy, qz))
        if unit is None:
            own.problem("the quaternion is zero")
            return UNMOVED
        return Transform(rotation_of_quaternion(unit), (x, y, z))
    x, y, z, roll, pitch, yaw = own.numbers("pose", (6,), (0.0,) * 6)
    if own.flag("degrees", False):
        roll, pitch, yaw = math.radians(roll), math.radians(pitch), math.radians(yaw)
    fault = degrees_fault((roll, pitch, yaw))
    if fault:
        own.problem(f'{fault}, or degrees="true"')
    return Transform(rotation_of_rpy((roll, pitch, yaw)), (x, y, z))


def relative_to(owner: Element) -> str:
    """The frame that the <pose> inside an element names, or ''."""
    element = owner.first("pose")
    return "" if element is None else element.get("relative_to")
