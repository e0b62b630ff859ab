"""Actuators of an MJCF as ports: what they act on, with gear, and the limits that their ranges make."""

from __future__ import annotations

import math
from typing import Any

from robocompiler.importers.limits import clean_limits
from robocompiler.importers.log import ASSUMED
from robocompiler.importers.mjcf_joints import effort_of, limited_range
from robocompiler.importers.mjcf_tendons import Tendon
from robocompiler.importers.mjcf_tree import Tree
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.names import shown

_ONE = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_LAWS = {
    "position": "the servo gains (kp, kv, ...) of position actuators: the port takes an effort; write a drive",
    "velocity": "the gain (kv) of velocity actuators: the port takes an effort; write a drive",
    "intvelocity": "the gains of integrated-velocity actuators: the port takes an effort; write a drive",
    "general": "the gain and bias of general actuators: the port takes an effort; write a drive",
    "damper": "the law of damper actuators: the port takes an effort; write a drive",
    "cylinder": "the pressure dynamics of cylinder actuators: the port takes an effort; write a drive",
    "muscle": "the dynamics of muscle actuators: the port takes an effort; write a drive",
    "dcmotor": "the electric dynamics of DC motors: the port takes an effort; write a drive",
}


def import_actuators(root: Element, tree: Tree, tendons: dict[str, Tendon]) -> None:
    """One port per actuator on a joint, a fixed tendon, or a tendon that is a straight line between two sites."""
    count = 0
    for section in root.all("actuator"):
        for element in section.children:
            count += 1
            own = tree.defaults.values(element, "", "actuator")
            measure = _measure(own, element, tree, tendons)
            if measure is None:
                continue
            name = element.get("name")
            fallback = f"{own.items.get('joint') or own.items.get('tendon')}_{element.tag}"
            legal = (
                tree.draft.declare("ports", name, element.line, "actuator")
                if name
                else tree.draft.fresh("ports", fallback)
            )
            limits = _limits(own, element, tree)
            tree.draft.put("ports", legal, {**measure, **({"limits": limits} if limits else {})}, element.line)
            _laws(own, element, tree)


def _measure(own: Values, element: Element, tree: Tree, tendons: dict[str, Tendon]) -> dict[str, Any] | None:
    gear = own.numbers("gear", (1, 2, 3, 4, 5, 6), _ONE)
    for key in ("joint", "jointinparent"):
        name = own.items.get(key, "")
        if not name:
            continue
        joint = tree.joints.get(name)
        if joint is None:
            own.problem(f"'{key}': no joint is called {shown(name)}{tree.log.suggest(name, tree.joints)}")
            return None
        if joint.kind not in ("hinge", "slide"):
            tree.log.leave_out(f"actuators on {joint.kind} joints", element.line)
            return None
        return {"joint": joint.name} if gear[0] == 1 else {"terms": {joint.name: gear[0]}}
    name = own.items.get("tendon", "")
    if not name:
        where = next((key for key in ("site", "body", "cranksite", "slidersite") if key in own), "")
        if not where:
            own.problem("names nothing to act on (joint, tendon, ...)")
        else:
            tree.log.leave_out(f"actuators on a {where}: apply its wrench at a named frame", element.line)
        return None
    tendon = tendons.get(name)
    if tendon is None:
        own.problem(f"'tendon': no tendon is called {shown(name)}{tree.log.suggest(name, tendons)}")
        return None
    if tendon.terms:
        return {"terms": {coordinate: weight * gear[0] for coordinate, weight in tendon.terms.items()}}
    if tendon.ends is None or gear[0] != 1:
        tree.log.leave_out("actuators on spatial tendons that are not one straight line with gear 1", element.line)
        return None
    return {"distance": [{"body": site.body, "xyz": site.pose.translation} for site in tendon.ends]}


def _limits(own: Values, element: Element, tree: Tree) -> dict[str, Any]:
    """ctrlrange limits what the control of the actuator is; forcerange limits the effort."""
    control = limited_range(own, "ctrllimited", "ctrlrange", tree.settings)
    effort = effort_of(own, limited_range(own, "forcelimited", "forcerange", tree.settings))
    interval, velocity = None, math.inf
    if element.tag == "motor" and control is not None:
        effort = min(effort, effort_of(own, control))
    elif element.tag == "position":
        interval = control
    elif element.tag == "velocity" and control is not None:
        velocity = max(abs(control[0]), abs(control[1]))
    elif element.tag == "general" and control is not None and _is_motor(own):
        gain = abs((*own.numbers("gainprm", range(1, 11), (1.0,)),)[0])
        effort = min(effort, gain * effort_of(own, control))
    return clean_limits(interval, velocity, effort, own, position="displacement")


def _is_motor(own: Values) -> bool:
    """Whether a general actuator is a plain gain: force = gain * control."""
    words = (own.items.get("gaintype", "fixed"), own.items.get("biastype", "none"), own.items.get("dyntype", "none"))
    return words == ("fixed", "none", "none")


def _laws(own: Values, element: Element, tree: Tree) -> None:
    if element.tag in _LAWS and not (element.tag == "general" and _is_motor(own)):
        tree.log.leave_out(_LAWS[element.tag], element.line)
    elif element.tag not in ("motor", "general"):
        tree.log.note(ASSUMED, f"a <{element.tag}> actuator is a port; its law is left out", own.record, element.line)
    for key in ("armature", "damping"):
        if any(own.numbers(key, range(1, 4), (0.0,))):
            tree.log.leave_out(f"{key} of actuators: write it at the joint", element.line)
