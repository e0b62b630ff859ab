"""Shapes that stand for joints: a pin for a hinge, a sleeve for a slide, a ball, a cross; rings mark a chord."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Joint
from robocompiler.viewer.shapes import Ball, Box, Cylinder, Pose, Ring, Shape, Triple, about, rows, triple

Array = NDArray[np.float64]


def joint_shapes(joint: Joint, frame: Pose, unit: float) -> list[Shape]:
    """The joint's sign in the coordinates of its body a; frame: its frame there; unit: its size (m)."""
    origin, R = np.array(frame.position), np.array(frame.rotation)
    axis = R @ np.array(joint.axis)
    if joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.SCREW):
        return [_pin(origin, axis, unit)]
    if joint.type is JointType.UNIVERSAL:
        second = R @ np.array(joint.axis2)
        return [_pin(origin, axis, 0.55 * unit, 2.2), _pin(origin, second, 0.55 * unit, 2.2)]
    if joint.type in (JointType.PRISMATIC, JointType.CYLINDRICAL):
        return [Box(Pose(frame.position, rows(about(axis))), (1.8 * unit, 1.8 * unit, 2.6 * unit))]
    if joint.type is JointType.PLANAR:
        return [Box(Pose(frame.position, rows(about(axis))), (4 * unit, 4 * unit, 0.4 * unit))]
    if joint.type is JointType.FIXED:
        return [Box(frame, (1.1 * unit, 1.1 * unit, 1.1 * unit))]
    return [Ball(frame.position, unit)]


def marks_of_chord(joint: Joint, frame: Pose, unit: float) -> list[Shape]:
    """A chord's sign, larger than that of a tree joint, with a ring about its axis (a ball has three)."""
    axis = triple(np.array(frame.rotation) @ np.array(joint.axis))
    shapes = joint_shapes(joint, frame, 1.25 * unit)
    axes: list[Triple] = [axis]
    if joint.type in (JointType.SPHERICAL, JointType.FREE):
        axes = [triple(column) for column in np.array(frame.rotation).T]
    return [*shapes, *(Ring(frame.position, along, 2.3 * unit, 0.28 * unit) for along in axes)]


def dial(joint: Joint, a: Pose, b: Pose, unit: float) -> tuple[list[Shape], list[Shape]]:
    """(on body a, on body b): a ring with a mark at zero, and a pointer that turns with body b, about the joint's axis.

    A joint without an axis of its own gets a ring alone.
    """
    side_a, side_b = np.array(a.rotation), np.array(b.rotation)
    axis = np.array(joint.axis)
    turn = about(axis)
    zero = turn[:, 0]
    origin_a, origin_b = np.array(a.position), np.array(b.position)
    ring = Ring(a.position, triple(side_a @ axis), 2.6 * unit, 0.22 * unit)
    if joint.type not in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.SCREW):
        return [ring], []
    tick = Ball(triple(origin_a + 2.6 * unit * (side_a @ zero)), 0.5 * unit)
    pointer = Cylinder(b.position, triple(origin_b + 2.6 * unit * (side_b @ zero)), 0.22 * unit)
    return [ring, tick], [pointer]


def _pin(origin: Array, axis: Array, unit: float, length: float = 1.5) -> Cylinder:
    """A pin along the axis, `length` units to each side."""
    reach = length * unit * axis
    return Cylinder(triple(origin - reach), triple(origin + reach), unit)
