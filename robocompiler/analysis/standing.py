"""Where frames stand in the assembled reference: what the support modes of a floating robot are placed by."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as cs
import numpy as np
from numpy.typing import NDArray

from robocompiler.graph.supports import FramePose, supported_mechanism
from robocompiler.records.model import Mechanism
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.kinematics import tree_kinematics
from robocompiler.symbolic.reduction import Reduction

Array = NDArray[np.float64]


def reference_poses(program: ClosureProgram, reduction: Reduction, frames: Iterable[str]) -> dict[str, FramePose]:
    """(R, p) in world axes (metres) of the named frames or bodies at the reference, parameters at their defaults."""
    wanted = set(frames)
    found = [frame for frame in tree_kinematics(program.symbols).frames if frame.name in wanted]
    parameters = [parameter.default for parameter in program.topology.mechanism.parameters]
    outputs = [output for frame in found for output in (frame.pose.R, frame.pose.p)]
    function = cs.Function("standing", [program.symbols.q, program.symbols.p], outputs)
    values = [np.asarray(value.full()) for value in function.call([cs.DM(reduction.reference), cs.DM(parameters)])]
    return {frame.name: _pose(values[2 * k], values[2 * k + 1]) for k, frame in enumerate(found)}


def _pose(R: Array, p: Array) -> FramePose:
    rows = [tuple(map(float, row)) for row in R]
    (a, b, c), (d, e, f), (g, h, i) = rows
    x, y, z = map(float, p.ravel())
    return ((a, b, c), (d, e, f), (g, h, i)), (x, y, z)


def standing_mechanism(program: ClosureProgram, reduction: Reduction, support: str) -> Mechanism:
    """The mechanism of a support mode, held where the floating robot stands at its reference.

    Args:
        program, reduction: of the floating robot.
        support: name of the mode.

    Raises:
        ModelError: there is no such mode.
    """
    topology = program.topology
    contacts = [contact for mode in topology.mechanism.supports if mode.name == support for contact, _ in mode.contacts]
    poses = reference_poses(program, reduction, contacts)
    coordinates = dict(zip(topology.q_names, reduction.reference, strict=True))
    return supported_mechanism(topology, support, poses, coordinates)
