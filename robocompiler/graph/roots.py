"""Connected components, their reference bodies, and the free joints that carry the floating ones."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx

from robocompiler.errors import ModelError, Problem
from robocompiler.graph.multigraph import joint_multigraph
from robocompiler.graph.topology import Component
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType, coordinate_names
from robocompiler.records.model import WORLD, Joint, Mechanism, Placement


def hang_on_world(mechanism: Mechanism) -> tuple[Mechanism, tuple[Component, ...]]:
    """Give every component that does not touch the world a root body and a free joint from the world to it.

    The root is the body that `reference.base` names, else the heaviest (parameters at their defaults, ties by name).

    Returns:
        The mechanism with the free joints appended, and its components: the world's first (left out when nothing
        hangs on the world), then by root name.  `Component.bodies` is in name order and never lists the world.

    Raises:
        ModelError: a base pose names no body, a body that hangs on the world, or a component named already.
    """
    graph = joint_multigraph(mechanism)
    groups = [frozenset(group) for group in nx.connected_components(graph)]
    grounded = next(group for group in groups if WORLD in group)
    floating = sorted((group for group in groups if WORLD not in group), key=min)
    named = _named_roots(mechanism, grounded, floating)
    masses = {body.name: evaluate(body.mass, mechanism.defaults) for body in mechanism.bodies}

    roots = {named.get(group) or min(group, key=lambda name: (-masses[name], name)): group for group in floating}
    taken = {name for joint in mechanism.joints for name in (joint.name, *coordinate_names(joint.name, joint.type))}
    components, free_joints = [], []
    if len(grounded) > 1:
        components.append(Component(WORLD, tuple(sorted(grounded - {WORLD})), ""))
    for root in sorted(roots):
        name = f"{root}_free"
        while name in taken:
            name += "_"
        taken.add(name)
        free_joints.append(Joint(name, JointType.FREE, Placement(WORLD), Placement(root)))
        components.append(Component(root, tuple(sorted(roots[root])), name))
    return replace(mechanism, joints=mechanism.joints + tuple(free_joints)), tuple(components)


def _named_roots(
    mechanism: Mechanism, grounded: frozenset[str], floating: list[frozenset[str]]
) -> dict[frozenset[str], str]:
    """The root that `reference.base` asks for, per floating component."""
    named: dict[frozenset[str], str] = {}
    problems: list[Problem] = []
    for base in mechanism.reference.bases:
        if base.body == "" and len(floating) == 1:
            # The pose is of the component's own root, which stays for the heaviest body to become.
            continue
        fault = _base_fault(base.body, mechanism, grounded, floating)
        if not fault:
            group = next(group for group in floating if base.body in group)
            if group in named:
                fault = f"'{named[group]}' and '{base.body}' are bodies of one floating component: name one of them"
            else:
                named[group] = base.body
        if fault:
            record = f"reference.base.{base.body}" if base.body else "reference.base"
            problems.append(Problem(fault, record, mechanism.source.file))
    unnamed = [base for base in mechanism.reference.bases if base.body == ""]
    if len(floating) == 1 and len(unnamed) + len(named) > 1:
        message = "the only floating component has more than one base pose: keep one"
        problems.append(Problem(message, "reference.base", mechanism.source.file))
    if problems:
        raise ModelError(problems)
    return named


def _base_fault(body: str, mechanism: Mechanism, grounded: frozenset[str], floating: list[frozenset[str]]) -> str:
    if body == "" and not floating:
        return "nothing floats: remove the base pose"
    if body == "":
        roots = ", ".join(min(group) for group in floating)
        return f"{len(floating)} components float (those of {roots}): name a body of each"
    if any(body in group for group in floating):
        return ""
    if body not in grounded:
        return f"unknown body '{body}': declare it or correct the name"
    if body == WORLD:
        return "the world is not a floating body: remove the base pose"
    mend = "remove the base pose"
    for joint in sorted(mechanism.joints, key=lambda joint: joint.name):
        if joint.type is JointType.FREE and {joint.a.body, joint.b.body} == {WORLD, body}:
            mend = f"place it by the coordinates of its free joint '{joint.name}' under reference.joints"
            break
    return f"'{body}' is joined to the world and does not float: {mend}"
