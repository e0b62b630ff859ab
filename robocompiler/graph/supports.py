"""A support mode as a mechanism of its own: the same records, and one joint to the world per contact.

A weld becomes a fixed joint and a point a spherical joint to the world.  Where on the world is a matter of run-time
parameters, `anchor:FRAME:x` and so on, since a walking robot sets its feet elsewhere at every step; their defaults are
where the frame stands in the floating robot's assembled reference.  A point has three of them, a weld also a unit
quaternion.  No name in a file has a colon, so that they meet no parameter of the user.

The free joint of a component that is held is written out as a joint of the mechanism, under the name that it has when
the robot floats: every coordinate keeps its name across the modes, the contacts are chords that close through it, and
the ranks grow by six a weld and three a point.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from robocompiler.errors import ModelError, Problem
from robocompiler.graph.topology import Component, Topology
from robocompiler.records.expressions import Symbol
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names
from robocompiler.records.model import (
    IDENTITY,
    WORLD,
    BasePose,
    Joint,
    Matrix3,
    Mechanism,
    Parameter,
    Placement,
    Reference,
    Support,
    Vector3,
)
from robocompiler.records.rotations import quaternion_of_rotation

FramePose = tuple[Matrix3, Vector3]
CONTACT_JOINTS = {"weld": JointType.FIXED, "point": JointType.SPHERICAL}


def find_supports(mechanism: Mechanism, names: Iterable[str]) -> tuple[Support, ...]:
    """The support modes called `names`, in the order of the file and each once; "all" among the names means every mode.

    Raises:
        ModelError: a name that no mode has, or "all" where the mechanism declares none.
    """
    wanted = set(names)
    known = {support.name: support for support in mechanism.supports}
    file = mechanism.source.file
    if "all" in wanted:
        if not known:
            raise ModelError([Problem("the mechanism declares no support mode", "supports", file)])
        return mechanism.supports
    problems = [Problem(_unknown(name, known), "supports", file) for name in sorted(wanted - set(known))]
    if problems:
        raise ModelError(problems)
    return tuple(support for support in mechanism.supports if support.name in wanted)


def _unknown(name: str, known: Mapping[str, Support]) -> str:
    near = difflib.get_close_matches(name, known, 3)
    if near:
        return f"no support mode is called '{name}'; did you mean {' or '.join(repr(other) for other in near)}?"
    declared = ", ".join(repr(other) for other in known)
    return f"no support mode is called '{name}'; " + (f"there are {declared}" if known else "none is declared")


def supported_mechanism(
    topology: Topology, name: str, poses: Mapping[str, FramePose], reference: Mapping[str, float]
) -> Mechanism:
    """The mechanism of the floating robot held in one of its support modes.

    Args:
        topology: the floating robot's, with its synthesised free joints.
        name: the support mode.
        poses: (R, p) of every contact frame of the mode in world axes: x_world = R x_frame + p, metres; the defaults of
            the anchors' parameters.
        reference: the floating robot's assembled coordinates by name (m, rad, quaternions); they become the seed.

    Returns:
        A mechanism called ROBOT_MODE without support modes.  Components that the mode does not hold float as before.

    Raises:
        ModelError: there is no such mode.
    """
    floating = topology.mechanism
    support = next((mode for mode in floating.supports if mode.name == name), None)
    if support is None:
        declared = {mode.name: mode for mode in floating.supports}
        raise ModelError([Problem(_unknown(name, declared), "supports", floating.source.file)])
    placements = {contact: _placement(floating, contact) for contact, _ in support.contacts}
    touched = {placement.body for placement in placements.values()}
    loose = [component for component in topology.components if component.free_joint]
    still = [component for component in loose if touched.isdisjoint(component.bodies)]
    left_out = {component.free_joint for component in still}

    taken = {word for joint in floating.joints for word in (joint.name, *coordinate_names(joint.name, joint.type))}
    contacts, parameters = [], list(floating.parameters)
    for contact, kind in support.contacts:
        anchor, own = _anchor(contact, kind, *poses[contact])
        parameters += own
        label = _fresh(f"{contact}_support", taken)
        contacts.append(Joint(label, CONTACT_JOINTS[kind], anchor, placements[contact]))
    kept = tuple(joint for joint in floating.joints if joint.name not in left_out)
    known = {word for joint in kept for word in coordinate_names(joint.name, joint.type)}
    seed = Reference(
        coordinates=tuple((word, value) for word, value in reference.items() if word in known),
        bases=tuple(_base(component, reference) for component in still),
    )
    return replace(
        floating,
        name=f"{floating.name}_{name}",
        joints=(*kept, *contacts),
        supports=(),
        parameters=tuple(parameters),
        reference=seed,
    )


def _anchor(contact: str, kind: str, R: Matrix3, p: Vector3) -> tuple[Placement, list[Parameter]]:
    """Where on the world a frame is held, and the parameters that say so, by default (R, p)."""
    values = (*p, *quaternion_of_rotation(R)) if kind == "weld" else p
    suffixes = JOINT_SHAPES[JointType.FREE].coordinates[: len(values)]
    parameters = [
        Parameter(f"anchor:{contact}:{suffix}", value) for suffix, value in zip(suffixes, values, strict=True)
    ]
    x, y, z, *turn = (Symbol(parameter.name) for parameter in parameters)
    if not turn:  # the turn of a point contact is counted from the orientation in the reference
        return Placement(WORLD, R, (x, y, z)), parameters
    qw, qx, qy, qz = turn
    return Placement(WORLD, IDENTITY, (x, y, z), (qw, qx, qy, qz)), parameters


def _placement(mechanism: Mechanism, contact: str) -> Placement:
    for frame in mechanism.frames:
        if frame.name == contact:
            return frame.placement
    return Placement(contact)


def _fresh(name: str, taken: set[str]) -> str:
    """`name`, with underscores behind it until no joint and no coordinate has it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _base(component: Component, reference: Mapping[str, float]) -> BasePose:
    """The pose of a component that still floats, read off its free joint's coordinates."""
    x, y, z, *quaternion = (reference[name] for name in coordinate_names(component.free_joint, JointType.FREE))
    w, i, j, k = quaternion
    return BasePose(component.root, (x, y, z), (w, i, j, k))
