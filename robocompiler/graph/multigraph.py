"""The mechanism as a multigraph: bodies and the world are nodes, joints are edges keyed by their names."""

from __future__ import annotations

from collections import Counter

import networkx as nx

from robocompiler.errors import ModelError, Problem
from robocompiler.records.model import WORLD, Joint, Mechanism


def joint_multigraph(mechanism: Mechanism) -> nx.MultiGraph:
    """The multigraph of `mechanism`; parallel joints stay separate edges and a body without joints is a lone node.

    Nodes and edges are inserted in name order, so that nothing built on the graph can depend on record order.

    Raises:
        ModelError: a joint names an unknown body or joins a body to itself, or a name is used twice.
    """
    _check(mechanism)
    graph = nx.MultiGraph()
    graph.add_node(WORLD)
    graph.add_nodes_from(sorted(body.name for body in mechanism.bodies))
    for joint in sorted(mechanism.joints, key=lambda joint: joint.name):
        graph.add_edge(joint.a.body, joint.b.body, key=joint.name)
    return graph


def _check(mechanism: Mechanism) -> None:
    """Refuse what would silently merge or invent nodes and edges (the reader refuses it too, with line numbers)."""
    known = {WORLD, *(body.name for body in mechanism.bodies)}
    problems = [problem for joint in mechanism.joints for problem in _joint_problems(joint, known)]
    for group, names in (
        ("bodies", [WORLD, *(body.name for body in mechanism.bodies)]),
        ("joints", [joint.name for joint in mechanism.joints]),
    ):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        problems += [
            Problem("the name is used more than once: rename one", f"{group}.{name}", mechanism.source.file)
            for name in twice
        ]
    if problems:
        raise ModelError(problems)


def _joint_problems(joint: Joint, known: set[str]) -> list[Problem]:
    record, source = f"joints.{joint.name}", joint.source
    problems = [
        Problem(f"joins an unknown body '{body}': declare it or correct the name", record, source.file, source.line)
        for body in sorted({joint.a.body, joint.b.body} - known)
    ]
    if joint.a.body == joint.b.body:
        message = f"joins '{joint.a.body}' to itself: name two different bodies"
        problems.append(Problem(message, record, source.file, source.line))
    return problems
