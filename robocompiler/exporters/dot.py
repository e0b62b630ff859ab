"""The mechanism graph in the DOT language: bodies as boxes, tree joints solid from parent to child, chords dashed."""

from __future__ import annotations

from collections.abc import Iterator

from robocompiler.graph.preference import ported_joints
from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JOINT_SHAPES
from robocompiler.records.model import WORLD, Distance


def dot_text(topology: Topology) -> str:
    """DOT text for Graphviz; the same topology gives the same bytes.

    Edges carry the names and types of the joints, those of ports in bold, chords also how many rows they close.
    Couplings are diamonds that name the coordinates they tie; two-point ports are dotted lines.
    """
    return "\n".join(_lines(topology)) + "\n"


def _lines(topology: Topology) -> Iterator[str]:
    mechanism = topology.mechanism
    driven = ported_joints(mechanism)
    yield f"graph {_quoted(mechanism.name)} {{"
    yield "  node [shape=box, fontname=Helvetica];"
    yield "  edge [fontname=Helvetica, fontsize=10];"
    yield f"  {_quoted(WORLD)} [shape=plaintext];"
    for body in mechanism.bodies:
        yield f"  {_quoted(body.name)};"
    for edge in topology.edges:
        kind = topology.kind(edge.joint)
        style = "bold" if edge.joint in driven else "solid"
        label = _quoted(f"{edge.joint}\n{kind.value}")
        yield f"  {_quoted(edge.parent)} -- {_quoted(edge.child)} [label={label}, style={style}];"
    for chord in topology.chords:
        joint = topology.joint(chord.joint)
        label = _quoted(f"{joint.name}\n{joint.type.value}, closes {6 - JOINT_SHAPES[joint.type].nv}")
        yield (f"  {_quoted(joint.a.body)} -- {_quoted(joint.b.body)} [label={label}, style=dashed, constraint=false];")
    for port in mechanism.ports:
        if isinstance(port.measure, Distance):
            ends = f"{_quoted(port.measure.a.body)} -- {_quoted(port.measure.b.body)}"
            yield f"  {ends} [label={_quoted(port.name)}, style=dotted, constraint=false];"
    for coupling in mechanism.couplings:
        label = _quoted(f"{coupling.name}: {', '.join(coupling.coordinates)}")
        yield f"  {_quoted('coupling ' + coupling.name)} [shape=diamond, label={label}];"
    yield "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
