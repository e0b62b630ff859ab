"""What the maximal-coordinate oracle takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robocompiler.oracle.arithmetic import Number
from robocompiler.oracle.bodies import WorldBody
from robocompiler.oracle.relative import Poses, Row
from robocompiler.oracle.spaces import Space
from robocompiler.oracle.vectors import Matrix, Vector
from robocompiler.records.model import Point

Table = NDArray[np.object_] | NDArray[np.float64]  # float64 in double, objects in many digits


@dataclass(frozen=True)
class Pose:
    """World poses of all bodies, coordinate values (they carry turns), and where supported frames are held."""

    poses: Poses
    values: Mapping[str, Number]
    anchors: Mapping[str, tuple[Matrix, Vector]] = field(default_factory=dict)
    space: Space | None = None  # of the rows near this pose, so that a decomposition serves twice


@dataclass(frozen=True)
class State:
    """A pose in motion.

    Attributes:
        independent: names of the d joint velocities that parametrise the free twists.
        u: their values.
        V: twists of all bodies, 6 numbers each: world angular velocity, velocity of the body's origin.
        lift: d columns, the twists per unit of each independent velocity.
        drift: accelerations of all bodies at udot = 0.
        rows, row_names: constraint rows with the biases of their rates, and (joint or coupling, number) of each.
        rates: every joint velocity as a row, by name.
    """

    pose: Pose
    independent: tuple[str, ...]
    u: tuple[Number, ...]
    V: tuple[Number, ...]
    lift: tuple[tuple[Number, ...], ...]
    drift: tuple[Number, ...]
    rows: tuple[Row, ...]
    row_names: tuple[tuple[str, int], ...]
    rates: Mapping[str, Row]
    bodies: tuple[WorldBody, ...]
    space: Space


@dataclass(frozen=True)
class Efforts:
    """What is applied from outside.

    Attributes:
        joints: force or torque per joint velocity.
        ports: effort per port, dual to its displacement.
        wrenches: (torque; force) in world axes at the origin of a named frame or body.
        pairs: (a, b, force): equal and opposite forces along the line of two points, positive when pushing apart.
    """

    joints: Mapping[str, float] = field(default_factory=dict)
    ports: Mapping[str, float] = field(default_factory=dict)
    wrenches: Mapping[str, Sequence[float]] = field(default_factory=dict)
    pairs: Sequence[tuple[Point, Point, float]] = ()


@dataclass(frozen=True)
class Reduced:
    """M_r udot + h_r = tau_u over the state's independent velocities; h_r has gravity and damping, no applied force."""

    independent: tuple[str, ...]
    M: Table
    h: Table


@dataclass(frozen=True)
class Accelerations:
    """Accelerations of a state under given efforts.

    Attributes:
        udot: rates of the independent velocities, in their order.
        joints: rate of every joint velocity.
        bodies: (alpha; d/dt of the velocity of the body's origin), world axes, by body.
        multipliers: of the constraint rows; minimum norm where rows are redundant.
        residual: largest |A a + Adot V| over the constraint rows.
        vector: the accelerations of all bodies, 6 numbers each.
        reduced: M_r and h_r, which they were computed from.
    """

    udot: Table
    joints: dict[str, Number]
    bodies: dict[str, tuple[Number, ...]]
    multipliers: tuple[Number, ...]
    residual: float
    vector: tuple[Number, ...]
    reduced: Reduced


@dataclass(frozen=True)
class Reaction:
    """Constraint wrench that a joint exerts on its b body: (moment about frame b's origin; force), axes of frame a.

    `undetermined` marks the components that redundant rows leave open; `wrench` then has the minimum-norm choice.
    """

    wrench: tuple[Number, ...]
    undetermined: tuple[bool, ...]
