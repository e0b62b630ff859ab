"""The scales that make closure rows and columns comparable: radians as they are, lengths over one length."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from robocompiler.graph.topology import Topology
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JOINT_SHAPES
from robocompiler.records.model import WORLD

Array = NDArray[np.float64]


def length_scale(topology: Topology) -> float:
    """The declared length scale, else the power of two nearest to the largest distance of two joint origins on one
    body.

    1 m if all coincide.  A power of two changes no digits when it divides, and stays when one record is edited a
    little.
    """
    declared, largest = topology.mechanism.length_scale, largest_length(topology)
    if declared is not None:
        return declared
    return 2.0 ** round(math.log2(largest)) if largest > 0 else 1.0


def largest_length(topology: Topology) -> float:
    """The largest distance (m) of two joint origins on one body, or displacement of a slide in the reference."""
    mechanism = topology.mechanism
    origins: dict[str, list[Array]] = {}
    for joint in mechanism.joints:
        for placement in (joint.a, joint.b):
            if placement.body != WORLD:
                point = [evaluate(value, mechanism.defaults) for value in placement.translation]
                origins.setdefault(placement.body, []).append(np.array(point))
    spans = [float(np.linalg.norm(p - r)) for points in origins.values() for p, r in combinations(points, 2)]
    lengths = [abs(value) for name, value in mechanism.reference.coordinates if _is_length(topology, name)]
    return max([*spans, *lengths], default=0.0)


def _is_length(topology: Topology, coordinate: str) -> bool:
    joint, _, suffix = coordinate.partition(":")
    shape = JOINT_SHAPES[topology.kind(joint)]
    return shape.coordinate_units[shape.coordinates.index(suffix)] == "m"


def velocity_scales(topology: Topology, length: float) -> Array:
    """Size of one unit of each velocity (nv,): 1 for rad/s, `length` for m/s."""
    units = [unit for slot in topology.slots for unit in JOINT_SHAPES[topology.kind(slot.joint)].velocity_units]
    return np.array([length if unit == "m/s" else 1.0 for unit in units])


def row_scales(units: tuple[str, ...], length: float) -> Array:
    """Size of one unit of each closure row: `length` for metres, 1 for radians and couplings."""
    return np.array([length if unit == "m" else 1.0 for unit in units])
