"""Joints of MJCF bodies as records: each at its own position, several in a row through bodies without mass.

A body with joints 1..n stands at X = P M_1(q_1) ... M_n(q_n) in its parent, M(q) = T(pos) Q(q - ref) T(pos)^-1.
"""

from __future__ import annotations

import math
from typing import Any

from robocompiler.importers.draft import placement
from robocompiler.importers.limits import clean_limits
from robocompiler.importers.log import ASSUMED, RECOGNISED
from robocompiler.importers.mjcf_settings import Settings, notice_degrees
from robocompiler.importers.mjcf_tree import Tree, TreeBody, TreeJoint
from robocompiler.importers.transforms import UNMOVED, Transform, moved, rotation_about, scaled
from robocompiler.importers.values import Values
from robocompiler.records.model import WORLD
from robocompiler.records.names import shown
from robocompiler.records.rotations import unit_direction

_TYPES = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}
_FREEDOMS = {"ball": ("wx", "wy", "wz"), "free": ("wx", "wy", "wz", "vx", "vy", "vz")}
_KNOWN = (
    "name", "class", "type", "group", "pos", "axis", "springdamper", "limited", "actuatorfrclimited", "solreflimit",
    "solimplimit", "solreffriction", "solimpfriction", "stiffness", "range", "actuatorfrcrange", "actuatorgravcomp",
    "margin", "ref", "springref", "armature", "damping", "frictionloss", "user", "springyield", "align",
)  # fmt: skip


def import_joints(tree: Tree) -> None:
    """The records of all joints, of the mounts of bodies without, and the base poses of floating bodies."""
    for body in tree.bodies:
        _one_body(body, tree)
    hinges = [joint.name for body in tree.bodies for joint in body.joints if joint.kind == "hinge"]
    records = [tree.draft.groups["joints"].get(name) for name in hinges]
    limits = [record.data.get("limits", {}) for record in records if record is not None]
    notice_degrees([entry["position"] for entry in limits if "position" in entry], tree.settings, tree.log)


def joint_motion(joint: TreeJoint, value: float) -> Transform:
    """Q(value) of a hinge or slide, which stands still at 0."""
    if value == 0:
        return UNMOVED
    axis = unit_direction(joint.axis)
    assert axis is not None
    return Transform(rotation_about(axis, value)) if joint.kind == "hinge" else moved(scaled(axis, value))


def _one_body(body: TreeBody, tree: Tree) -> None:
    line = body.element.line
    if not body.joints:
        name = tree.draft.fresh("joints", f"{body.name}_mount")
        mount = {"type": "fixed", "a": placement(body.parent, body.pose), "b": placement(body.name)}
        tree.draft.put("joints", name, mount, line)
        return
    for joint in body.joints:
        joint.values.only(*_KNOWN)
        if joint.kind == "free" and joint.values.items.get("align") == "true":
            tree.log.leave_out(
                "align of free joints: the body's axes, and so its base pose, stay those of the file", joint.values.line
            )
    if any(joint.kind == "free" for joint in body.joints):
        _floating(body, tree)
        return
    holder, pose = body.parent, body.pose
    for k, joint in enumerate(body.joints):
        last = k + 1 == len(body.joints)
        child = body.name if last else _between(body, joint, tree)
        anchor = moved(joint.pos) if joint.kind != "slide" else UNMOVED
        data: dict[str, Any] = {
            "type": _TYPES[joint.kind],
            "a": placement(holder, pose @ anchor @ joint_motion(joint, -joint.ref)),
            "b": placement(child, anchor),
        }
        if joint.kind != "ball":
            data["axis"] = joint.axis
            limits = _limits(joint, tree.settings)
            if limits:
                data["limits"] = limits
        elif _limited(joint.values, "limited", "range", tree.settings):
            tree.log.leave_out("range limits of ball joints", joint.values.line)
        data |= _losses(joint)
        tree.draft.put("joints", joint.name, data, joint.values.line)
        if joint.ref:
            tree.draft.reference[joint.name] = joint.ref
        holder, pose = child, UNMOVED


def _between(body: TreeBody, joint: TreeJoint, tree: Tree) -> str:
    """A body without mass between two joints of one body."""
    name = tree.draft.fresh("bodies", f"{body.name}_{joint.name}")
    tree.draft.put("bodies", name, {}, joint.values.line)
    tree.log.note(
        RECOGNISED,
        f"one of {len(body.joints)} joints of {shown(body.name)}: the body {shown(name)} without mass stands between",
        joint.values.record,
        joint.values.line,
    )
    return name


def _floating(body: TreeBody, tree: Tree) -> None:
    """A free joint is no record unless it has losses or inertia of its own: a body without joints floats anyway."""
    joint = next(joint for joint in body.joints if joint.kind == "free")
    if len(body.joints) > 1:
        joint.values.problem("a free joint must be the only joint of its body")
    if body.parent != WORLD:
        joint.values.problem("a free joint may only stand in a body directly below the world")
    losses = _losses(joint)
    if losses:
        data = {"type": "free", "a": placement(WORLD), "b": placement(body.name), **losses}
        tree.draft.put("joints", joint.name, data, joint.values.line)
        tree.draft.reference[joint.name] = [*body.world.translation, *body.world.quaternion]
        if "armature" in losses:
            tree.log.note(
                ASSUMED,
                "the armature of a free joint acts along its body's axes",
                joint.values.record,
                joint.values.line,
            )
    else:
        tree.draft.bases[body.name] = body.world


def _limited(own: Values, flag: str, key: str, settings: Settings) -> bool:
    """Whether a range limits: where the flag says so, or by itself with autolimits."""
    word = own.choice(flag, ("auto", "true", "false"), "auto") if flag in own else "auto"
    if word == "auto":
        return key in own and settings.autolimits
    if word == "true" and key not in own:
        own.problem(f"'{flag}' is true, but there is no '{key}'")
        return False
    return word == "true"


def limited_range(own: Values, flag: str, key: str, settings: Settings) -> tuple[float, float] | None:
    """The range under `key` where it limits."""
    if not _limited(own, flag, key, settings):
        return None
    low, high = own.numbers(key, (2,), (0.0, 0.0))
    return low, high


def _limits(joint: TreeJoint, settings: Settings) -> dict[str, Any]:
    own = joint.values
    interval = limited_range(own, "limited", "range", settings)
    if interval is not None and joint.kind == "hinge":
        interval = (settings.angle(interval[0]), settings.angle(interval[1]))
    return clean_limits(interval, math.inf, effort_of(own, limited_range(own, *_FORCE, settings)), own)


_FORCE = ("actuatorfrclimited", "actuatorfrcrange")


def effort_of(own: Values, interval: tuple[float, float] | None) -> float:
    """The largest magnitude of a range of forces, with a note when it is not symmetric."""
    if interval is None:
        return math.inf
    low, high = interval
    if low != -high:
        own.log.note(ASSUMED, f"the effort limit is the larger side of {low:g} .. {high:g}", own.record, own.line)
    return max(abs(low), abs(high))


def _losses(joint: TreeJoint) -> dict[str, Any]:
    """Armature, damping and friction; what has no counterpart is listed."""
    own = joint.values
    damping = own.numbers("damping", (1, 2, 3), (0.0,))
    if any(damping[1:]):
        own.log.leave_out("nonlinear damping of joints", own.line)
    found = {"armature": own.number("armature"), "damping": damping[0], "friction": own.number("frictionloss")}
    if any(own.numbers("stiffness", (1, 2, 3), (0.0,))):
        own.log.leave_out("springs of joints (stiffness): write a port with a drive", own.line)
    if any(own.numbers("springdamper", (2,), (0.0, 0.0))):
        own.log.leave_out("springs and dampers of joints (springdamper): write damping and a drive", own.line)
    found = {key: value for key, value in found.items() if value != 0}
    if joint.kind in _FREEDOMS:
        return {key: dict.fromkeys(_FREEDOMS[joint.kind], value) for key, value in found.items()}
    return found
