"""World directions of the joint axes at one configuration, for messages about loops that are almost planar."""

from __future__ import annotations

import casadi as cs
import numpy as np
from numpy.typing import NDArray

from robocompiler.records.joint_types import JOINT_SHAPES
from robocompiler.records.model import WORLD
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.kinematics import tree_kinematics

Array = NDArray[np.float64]


def world_axes(program: ClosureProgram, q: Array) -> dict[str, Array]:
    """{joint: unit vector} for every joint with one axis, its frame a posed at q."""
    rotations = body_rotations(program, q) | {WORLD: np.eye(3)}
    return {
        joint.name: rotations[joint.a.body] @ np.array(joint.a.rotation) @ np.array(joint.axis)
        for joint in program.topology.mechanism.joints
        if JOINT_SHAPES[joint.type].has_axis
    }


def body_rotations(program: ClosureProgram, q: Array) -> dict[str, Array]:
    """{body: R (3, 3)} in world axes at q."""
    symbols, mechanism = program.symbols, program.topology.mechanism
    frames = tree_kinematics(symbols).frames[: len(mechanism.bodies)]
    turned = cs.Function("R", [symbols.q, symbols.p], [frame.pose.R for frame in frames])
    values = turned(q, [parameter.default for parameter in mechanism.parameters]) if frames else ()
    values = values if isinstance(values, tuple) else (values,)
    return {frame.name: np.array(R.full()) for frame, R in zip(frames, values, strict=True)}
