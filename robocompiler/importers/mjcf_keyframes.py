"""The reference of an MJCF: a keyframe, else qpos0; closing joints get the values that the bodies then have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from robocompiler.importers.log import ASSUMED, RECOGNISED
from robocompiler.importers.mjcf_joints import joint_motion
from robocompiler.importers.mjcf_tree import Tree, TreeBody
from robocompiler.importers.transforms import UNMOVED, Transform, moved, unit_quaternion_of
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import IDENTITY, WORLD
from robocompiler.records.names import shown
from robocompiler.records.rotations import rotation_of_quaternion, unit_direction

_SIZES = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}


def import_reference(root: Element, tree: Tree, closing: Sequence[tuple[str, dict[str, Any]]], key: str) -> None:
    """Fill the draft's reference and base poses."""
    chosen = _keyframe(root, tree, key)
    values = {} if chosen is None else _values(chosen, tree)
    poses = _poses(tree, values)
    for body in tree.bodies:
        for joint in body.joints:
            if joint.name not in values:
                continue
            value = values[joint.name]
            if joint.kind == "free" and body.name in tree.draft.bases:
                tree.draft.bases[body.name] = poses[body.name]
            else:
                tree.draft.reference[joint.name] = value[0] if len(value) == 1 else list(value)
    for name, data in closing:
        seed = _closing_value(data, poses)
        if seed is not None:
            tree.draft.reference[name] = seed


def _keyframe(root: Element, tree: Tree, key: str) -> Values | None:
    keys = [element for section in root.all("keyframe") for element in section.all("key")]
    named = [element for element in keys if element.get("name") == key] if key else keys
    if key and not named:
        names = ", ".join(shown(element.get("name")) for element in keys[:20])
        tree.log.problem(f"no keyframe is called {shown(key)} (the file has: {names or 'none'})", "keyframe", root.line)
        return None
    for element in named:
        if "qpos" in element.attributes:
            own = Values(element.attributes, element.label, element.line, tree.log)
            others = len(keys) - 1
            words = f"is the reference; {others} other keyframes are left out" if others else "is the reference"
            tree.log.note(RECOGNISED if not others else ASSUMED, words, own.record, element.line)
            return own
    return None


def _values(own: Values, tree: Tree) -> dict[str, tuple[float, ...]]:
    """Values by legal joint name from qpos: body by body, joint by joint."""
    joints = [joint for body in tree.bodies for joint in body.joints]
    sizes = [_SIZES[joint.kind] for joint in joints]
    qpos = own.numbers("qpos", (sum(sizes),))
    if len(qpos) != sum(sizes):
        return {}
    values: dict[str, tuple[float, ...]] = {}
    k = 0
    for joint, size in zip(joints, sizes, strict=True):
        value = qpos[k : k + size]
        k += size
        if size > 1:
            unit = unit_quaternion_of(value[-4:])
            if unit is None:
                own.problem(f"'qpos': the quaternion of {shown(joint.name)} is zero")
                unit = (1.0, 0.0, 0.0, 0.0)
            value = (*value[:-4], *unit)
        values[joint.name] = value
    return values


def _poses(tree: Tree, values: Mapping[str, Sequence[float]]) -> dict[str, Transform]:
    """World poses of all bodies at these values, at qpos0 where there are none."""
    poses = {WORLD: UNMOVED}
    for body in tree.bodies:
        poses[body.name] = poses[body.parent] @ _in_parent(body, values)
    return poses


def _in_parent(body: TreeBody, values: Mapping[str, Sequence[float]]) -> Transform:
    pose = body.pose
    for joint in body.joints:
        value = values.get(joint.name)
        if value is None:
            continue
        if joint.kind == "free":
            w, x, y, z = value[3:7]
            return Transform(rotation_of_quaternion((w, x, y, z)), (value[0], value[1], value[2]))
        if joint.kind == "ball":
            w, x, y, z = value
            motion = Transform(rotation_of_quaternion((w, x, y, z)))
        else:
            motion = joint_motion(joint, value[0] - joint.ref)
        anchor = moved(joint.pos)
        pose = pose @ anchor @ motion @ anchor.inverse()
    return pose


def _closing_value(data: Mapping[str, Any], poses: Mapping[str, Transform]) -> float | list[float] | None:
    """The coordinate of a closing ball or hinge at these poses; None where it is zero or there is none."""
    if data["type"] not in ("spherical", "revolute"):
        return None
    relative = (_frame(data["a"], poses)).inverse() @ _frame(data["b"], poses)
    w, x, y, z = relative.quaternion
    if data["type"] == "spherical":
        return None if math.hypot(x, y, z) < 1e-12 else [w, x, y, z]
    axis = unit_direction(data["axis"])
    assert axis is not None
    angle = 2 * math.atan2(sum(a * b for a, b in zip(axis, (x, y, z), strict=True)), w)
    return None if abs(angle) < 1e-12 else angle


def _frame(data: Mapping[str, Any], poses: Mapping[str, Transform]) -> Transform:
    own = Transform(data.get("matrix", IDENTITY), data.get("xyz", (0.0, 0.0, 0.0)))
    return poses[data["body"]] @ own
