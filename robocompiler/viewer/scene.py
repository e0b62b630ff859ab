"""What the viewer draws, as plain data: shapes on bodies, chords with their module's colour, ports that stretch.

Everything comes from the records, the derived topology, the modules of the compiled robot and its reference pose;
nothing here knows how it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from robocompiler.graph.draw_style import FAINT, PORT_COLOUR, UNASSIGNED, module_style
from robocompiler.graph.topology import Topology
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import (
    WORLD,
    CoordinateSum,
    Distance,
    Joint,
    Mechanism,
    Placement,
    Port,
    ScalarVector3,
)
from robocompiler.runtime.reports import ModuleInfo
from robocompiler.viewer.joint_shapes import dial, joint_shapes, marks_of_chord
from robocompiler.viewer.shapes import Ball, Capsule, Pose, Shape, Triple, about, inertia_box, rows, triple
from robocompiler.viewer.visuals import DrawnVisuals

Array = NDArray[np.float64]
Poses = Mapping[str, tuple[Array, Array]]

LINK_COLOUR, GROUND_COLOUR, INERTIA_COLOUR, JOINT_COLOUR = "#76828f", "#52606d", "#9fb8d6", "#323f4b"
LINKS, INERTIAS, JOINTS, CHORDS, PORTS = "links", "inertias", "joints", "chords", "ports"
COVERED, VISUALS = "links that have visuals", "visuals"  # bars where the file has a shape of its own, and these shapes
BARREL = 0.55  # of a strut's length at the reference
PALE = 0.5  # share of white in the colour of a joint that a module solves for
SLIDING = (JointType.PRISMATIC, JointType.CYLINDRICAL)
TURNING = (JointType.REVOLUTE, JointType.CONTINUOUS)


@dataclass(frozen=True)
class Part:
    """A shape that is fixed on a body, in a layer that can be shown or hidden; record: what it stands for."""

    body: str
    layer: str
    colour: str
    shape: Shape
    record: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Chord:
    """A joint that closes a loop: its two attachment frames, and the module that closes it ('' for none)."""

    joint: str
    module: str
    colour: str
    body_a: str
    frame_a: Pose
    body_b: str
    frame_b: Pose
    size: float


@dataclass(frozen=True)
class Strut:
    """A rod that stretches between two points of two bodies, out of a barrel: a slide, or a two-point port.

    barrel: its length from end a (m); radius: of the barrel.
    """

    record: str
    layer: str
    colour: str
    body_a: str
    point_a: Triple
    body_b: str
    point_b: Triple
    radius: float
    barrel: float


@dataclass(frozen=True)
class FrameMark:
    """A named frame of the records on its body."""

    name: str
    body: str
    pose: Pose


@dataclass(frozen=True)
class ModuleMark:
    """A loop module with its colour, the chords and couplings it closes, and the joints that it solves for."""

    name: str
    colour: str
    closures: tuple[str, ...]
    dependents: tuple[str, ...]


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn.

    Attributes:
        bodies: all bodies but the world, which is the scene's own frame.
        visuals: shapes that an imported file has on its bodies.
        unit: radius of a joint, from which all sizes are taken; size: the mechanism's extent; centre: its middle (m).
    """

    bodies: tuple[str, ...]
    parts: tuple[Part, ...]
    chords: tuple[Chord, ...]
    struts: tuple[Strut, ...]
    frames: tuple[FrameMark, ...]
    modules: tuple[ModuleMark, ...]
    unit: float
    size: float
    centre: Triple
    visuals: DrawnVisuals = field(default_factory=DrawnVisuals)


def describe(
    topology: Topology, modules: Sequence[ModuleInfo], poses: Poses, visuals: DrawnVisuals | None = None
) -> Scene:
    """The scene of a mechanism.

    Args:
        topology: as derived from the records that were compiled.
        modules: loop modules of the chart that is shown.
        poses: (R, p) of every body at the reference, in the world.
        visuals: shapes of an imported file; None: there are none.
    """
    mechanism = topology.mechanism
    values = mechanism.defaults
    free = {component.free_joint for component in topology.components if component.free_joint}
    joints = [joint for joint in mechanism.joints if joint.name not in free]
    points = attachment_points(mechanism, joints, values)
    unit, size, centre = _sizes(points, poses)
    marks = tuple(
        ModuleMark(module.name, module_style(k).colour, module.closures, module.dependents)
        for k, module in enumerate(modules)
    )
    closed = {closure: mark for mark in marks for closure in mark.closures}
    solved = {velocity.partition(":")[0]: tinted(mark.colour) for mark in marks for velocity in mark.dependents}
    driven = {name.partition(":")[0]: port.name for port in mechanism.ports for name in _terms(port)}
    chord_names = {chord.joint for chord in topology.chords}
    visuals = visuals or DrawnVisuals()
    parts = [*_links(points, unit, visuals.covered), *_inertias(mechanism, values, size)]
    chords: list[Chord] = []
    for joint in joints:
        frame_a, frame_b = pose_of(joint.a, values), pose_of(joint.b, values)
        if joint.name in chord_names:
            mark = closed.get(joint.name)
            colour = mark.colour if mark else UNASSIGNED
            module = mark.name if mark else ""
            chords.append(Chord(joint.name, module, colour, joint.a.body, frame_a, joint.b.body, frame_b, 3.2 * unit))
            shapes = marks_of_chord(joint, frame_a, unit)
            parts += [Part(joint.a.body, CHORDS, colour, shape, joint.name) for shape in shapes]
            parts.append(Part(joint.a.body, CHORDS, colour, Ball(frame_a.position, 3 * unit), joint.name, 0.22))
        else:
            slides = joint.type in SLIDING and joint.name in driven
            colour = PORT_COLOUR if slides else solved.get(joint.name, JOINT_COLOUR)
            shapes = joint_shapes(joint, frame_a, unit)
            layer = PORTS if slides else JOINTS
            parts += [Part(joint.a.body, layer, colour, shape, joint.name) for shape in shapes]
    port_parts, struts = _ports(mechanism, joints, values, unit, solved, driven)
    struts = tuple(replace(strut, barrel=BARREL * strut_pose(strut, poses)[1]) for strut in struts)
    return Scene(
        bodies=tuple(body.name for body in mechanism.bodies),
        parts=(*parts, *port_parts),
        chords=tuple(chords),
        struts=struts,
        frames=tuple(
            FrameMark(frame.name, frame.placement.body, pose_of(frame.placement, values)) for frame in mechanism.frames
        ),
        modules=marks,
        unit=unit,
        size=size,
        centre=centre,
        visuals=visuals,
    )


def tinted(colour: str) -> str:
    """A paler '#rrggbb'."""
    return "#" + "".join(f"{round(c + PALE * (255 - c)):02x}" for c in bytes.fromhex(colour.removeprefix("#")))


# --- places ---


def numbers(vector: ScalarVector3, values: Mapping[str, float]) -> Triple:
    """A vector of scalars at the defaults of the run-time parameters."""
    x, y, z = (evaluate(component, values) for component in vector)
    return (x, y, z)


def pose_of(placement: Placement, values: Mapping[str, float]) -> Pose:
    """A frame on its body."""
    return Pose(numbers(placement.translation, values), placement.rotation)


def attachment_points(
    mechanism: Mechanism, joints: Sequence[Joint], values: Mapping[str, float]
) -> dict[str, list[Triple]]:
    """By body: the origins of the joint frames on it, and the ends of two-point ports, each place once."""
    found: dict[str, list[Triple]] = {name: [] for name in (WORLD, *(body.name for body in mechanism.bodies))}
    places = [(side.body, numbers(side.translation, values)) for joint in joints for side in (joint.a, joint.b)]
    for port in mechanism.ports:
        if isinstance(port.measure, Distance):
            places += [(end.body, numbers(end.position, values)) for end in (port.measure.a, port.measure.b)]
    for body, point in places:
        if all(np.linalg.norm(np.subtract(point, other)) > 1e-6 for other in found[body]):
            found[body].append(point)
    return found


def _sizes(points: Mapping[str, list[Triple]], poses: Poses) -> tuple[float, float, Triple]:
    """(radius of a joint, extent, middle) of the mechanism at the reference."""
    placed = [poses[body][0] @ np.array(p) + poses[body][1] if body != WORLD else np.array(p)
              for body, group in points.items() for p in group]  # fmt: skip
    cloud = np.array(placed) if placed else np.zeros((1, 3))
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    size = float(np.linalg.norm(high - low)) or 1.0
    lengths = [float(np.linalg.norm(np.subtract(a, b))) for body, group in points.items() if body != WORLD
               for k, a in enumerate(group) for b in group[k + 1 :]]  # fmt: skip
    usual = float(np.median(lengths)) if lengths else size
    unit = min(0.016 * size, max(0.09 * usual, 0.007 * size))
    return unit, size, triple((low + high) / 2)


# --- bodies ---


def _links(points: Mapping[str, list[Triple]], unit: float, covered: frozenset[str]) -> list[Part]:
    """Round bars between the attachments of each body: one between two, else from each to their middle."""
    parts = []
    for body, group in points.items():
        if body == WORLD:
            parts += [Part(body, LINKS, GROUND_COLOUR, Ball(point, 0.9 * unit), body) for point in group]
            continue
        middle = triple(np.mean(group, axis=0)) if len(group) > 2 else None
        bars = [(point, middle) for point in group] if middle else [(group[0], group[1])] if len(group) == 2 else []
        for start, end in bars:
            if np.linalg.norm(np.subtract(start, end)) > 0.2 * unit:
                layer = COVERED if body in covered else LINKS
                parts.append(Part(body, layer, LINK_COLOUR, Capsule(start, end, 0.55 * unit), body))
    return parts


def _inertias(mechanism: Mechanism, values: Mapping[str, float], size: float) -> list[Part]:
    """A box of equal inertia for every body that has one of a size that can be drawn."""
    parts = []
    for body in mechanism.bodies:
        numeric = tuple(evaluate(value, values) for value in body.inertia)
        box = inertia_box(evaluate(body.mass, values), numbers(body.com, values), numeric)
        if box is not None and max(box.size) < 2 * size:
            parts.append(Part(body.name, INERTIAS, INERTIA_COLOUR, box, body.name, 0.28))
    return parts


# --- ports ---


def _ports(
    mechanism: Mechanism,
    joints: Sequence[Joint],
    values: Mapping[str, float],
    unit: float,
    solved: Mapping[str, str],
    driven: Mapping[str, str],
) -> tuple[list[Part], tuple[Strut, ...]]:
    """Dials at turning port joints; struts along sliding joints (ports in their colour) and two-point ports."""
    parts: list[Part] = []
    struts: list[Strut] = []
    for joint in joints:
        a, b = pose_of(joint.a, values), pose_of(joint.b, values)
        port = driven.get(joint.name, "")
        if joint.type in SLIDING:
            colour, layer = (PORT_COLOUR, PORTS) if port else (solved.get(joint.name, FAINT), JOINTS)
            record = port or joint.name
            struts.append(
                Strut(record, layer, colour, joint.a.body, a.position, joint.b.body, b.position, 0.8 * unit, 0.0)
            )
        elif port:
            on_a, on_b = dial(joint, a, b, unit)
            parts += [Part(joint.a.body, PORTS, PORT_COLOUR, shape, port) for shape in on_a]
            parts += [Part(joint.b.body, PORTS, PORT_COLOUR, shape, port) for shape in on_b]
    for port_record in mechanism.ports:
        measure = port_record.measure
        if isinstance(measure, Distance):
            ends = [numbers(end.position, values) for end in (measure.a, measure.b)]
            struts.append(
                Strut(port_record.name, PORTS, PORT_COLOUR, measure.a.body, ends[0], measure.b.body, ends[1],
                      0.8 * unit, 0.0)
            )  # fmt: skip
    return parts, tuple(struts)


def _terms(port: Port) -> tuple[str, ...]:
    return tuple(name for name, _ in port.measure.terms) if isinstance(port.measure, CoordinateSum) else ()


def strut_pose(strut: Strut, poses: Poses) -> tuple[Pose, float]:
    """(pose with its origin at end a and z towards end b, length) of a strut where the bodies stand."""
    ends = []
    for body, point in ((strut.body_a, strut.point_a), (strut.body_b, strut.point_b)):
        R, p = poses.get(body, (np.eye(3), np.zeros(3)))
        ends.append(R @ np.array(point) + p)
    along = ends[1] - ends[0]
    length = float(np.linalg.norm(along))
    turn = about(along / length) if length > 1e-9 else np.eye(3)
    return Pose(triple(ends[0]), rows(turn)), length
