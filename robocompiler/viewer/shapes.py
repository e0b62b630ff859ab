"""Primitive shapes in body coordinates, and the box that has a body's inertia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Triple = tuple[float, float, float]
Rows = tuple[Triple, Triple, Triple]


@dataclass(frozen=True)
class Pose:
    """x_outer = rotation x + position (m)."""

    position: Triple
    rotation: Rows


@dataclass(frozen=True)
class Box:
    """A box with edges `size` along the axes of `pose`, which stands at its middle."""

    pose: Pose
    size: Triple


@dataclass(frozen=True)
class Capsule:
    """A round bar of `radius` between two points."""

    start: Triple
    end: Triple
    radius: float


@dataclass(frozen=True)
class Cylinder:
    """A flat-ended cylinder between two points."""

    start: Triple
    end: Triple
    radius: float


@dataclass(frozen=True)
class Ball:
    """A sphere."""

    centre: Triple
    radius: float


@dataclass(frozen=True)
class Ring:
    """A torus about `axis` (unit): `radius` to the middle of its tube, which has the radius `tube`."""

    centre: Triple
    axis: Triple
    radius: float
    tube: float


Shape = Box | Capsule | Cylinder | Ball | Ring


def triple(vector: Array) -> Triple:
    """Three numbers of an array."""
    x, y, z = (float(component) for component in vector)
    return (x, y, z)


def rows(matrix: Array) -> Rows:
    """A 3x3 array as tuples."""
    return (triple(matrix[0]), triple(matrix[1]), triple(matrix[2]))


def inertia_box(mass: float, com: Triple, inertia: tuple[float, ...]) -> Box | None:
    """The uniform box of the same mass, centre and inertia, or None for a body that has no extent.

    inertia: (xx, yy, zz, xy, xz, yz) about the centre of mass. With principal moments I_1, I_2, I_3 the edges are

        e_1 = sqrt(6 (I_2 + I_3 - I_1) / m)        and cyclic

    which is real for every physical inertia; what rounding makes negative counts as zero.
    """
    xx, yy, zz, xy, xz, yz = inertia
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass <= 0:
        return None
    moments, axes = np.linalg.eigh(matrix)
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]
    squares = 6 * (moments.sum() - 2 * moments) / mass
    size = np.sqrt(np.maximum(squares, 0.0))
    if size.max(initial=0.0) <= 0:
        return None
    return Box(Pose(com, rows(axes)), triple(size))


def about(axis: Array) -> Array:
    """A rotation (3, 3) whose third column is the unit vector `axis`: the shortest turn from z, or half a turn."""
    x, y, z = axis
    if z < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    k = 1 / (1 + z)
    return np.array([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]])
