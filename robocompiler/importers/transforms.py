"""Rigid transforms of plain numbers, for composing the poses that files nest; identities stay exact."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robocompiler.records.model import IDENTITY, ORIGIN, Matrix3, Vector3
from robocompiler.records.rotations import quaternion_of_rotation, unit_direction

AXES: dict[str, Vector3] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
Tensor = tuple[float, float, float, float, float, float]  # xx, yy, zz, xy, xz, yz


def times(matrix: Matrix3, v: Vector3) -> Vector3:
    """R v."""
    x, y, z = (row[0] * v[0] + row[1] * v[1] + row[2] * v[2] + 0.0 for row in matrix)  # + 0.0: no negative zeros
    return (x, y, z)


def transposed(matrix: Matrix3) -> Matrix3:
    """R^T."""
    (a, b, c), (d, e, f), (g, h, i) = matrix
    return ((a, d, g), (b, e, h), (c, f, i))


def product(first: Matrix3, second: Matrix3) -> Matrix3:
    """R S."""
    x, y, z = (times(first, column) for column in transposed(second))
    return transposed((x, y, z))


def added(first: Vector3, second: Vector3) -> Vector3:
    """u + v."""
    return (first[0] + second[0], first[1] + second[1], first[2] + second[2])


def scaled(v: Vector3, factor: float) -> Vector3:
    """factor v."""
    return (v[0] * factor + 0.0, v[1] * factor + 0.0, v[2] * factor + 0.0)


def cross(u: Vector3, v: Vector3) -> Vector3:
    """u x v."""
    return (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])


def rotation_about(axis: Vector3, angle: float) -> Matrix3:
    """Rot(axis, angle) of a unit axis (Rodrigues)."""
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = axis
    v = 1 - c
    return (
        (c + x * x * v, x * y * v - z * s, x * z * v + y * s),
        (y * x * v + z * s, c + y * y * v, y * z * v - x * s),
        (z * x * v - y * s, z * y * v + x * s, c + z * z * v),
    )


def shortest_rotation(source: Vector3, target: Vector3) -> Matrix3:
    """The smallest rotation that takes one unit vector to another; half a turn about x (else y) for opposite ones."""
    axis = cross(source, target)
    sine = math.hypot(*axis)
    cosine = sum(a * b for a, b in zip(source, target, strict=True))
    if sine < 1e-10:
        if cosine > 0:
            return IDENTITY
        across = cross(source, AXES["x"])
        across = across if math.hypot(*across) > 0.1 else cross(source, AXES["y"])
        unit = unit_direction(AXES["x"] if source == AXES["z"] else across)
        assert unit is not None
        return rotation_about(unit, math.pi)
    return rotation_about(scaled(axis, 1 / sine), math.atan2(sine, cosine))


def unit_quaternion_of(q: tuple[float, ...]) -> tuple[float, float, float, float] | None:
    """(w, x, y, z) over its norm, or None when it is zero."""
    norm = math.hypot(*q)
    if norm == 0:
        return None
    w, x, y, z = q
    return (w / norm, x / norm, y / norm, z / norm)


def rotated_tensor(rotation: Matrix3, tensor: Tensor) -> Tensor:
    """R I R^T as (xx, yy, zz, xy, xz, yz); exact for the identity."""
    if rotation == IDENTITY:
        return tensor
    xx, yy, zz, xy, xz, yz = tensor
    m = product(product(rotation, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))), transposed(rotation))
    return (
        m[0][0],
        m[1][1],
        m[2][2],
        (m[0][1] + m[1][0]) / 2,
        (m[0][2] + m[2][0]) / 2,
        (m[1][2] + m[2][1]) / 2,
    )


@dataclass(frozen=True)
class Transform:
    """x_outer = R x_inner + p."""

    rotation: Matrix3 = IDENTITY
    translation: Vector3 = ORIGIN

    def __matmul__(self, other: Transform) -> Transform:
        return Transform(product(self.rotation, other.rotation), self.point(other.translation))

    def point(self, v: Vector3) -> Vector3:
        """The image of a point."""
        return added(times(self.rotation, v), self.translation)

    def inverse(self) -> Transform:
        """The transform back."""
        back = transposed(self.rotation)
        return Transform(back, scaled(times(back, self.translation), -1.0))

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """(w, x, y, z) of the rotation, w >= 0."""
        return quaternion_of_rotation(self.rotation)


def moved(v: Vector3) -> Transform:
    """Trans(v)."""
    return Transform(IDENTITY, v)


UNMOVED = Transform()
