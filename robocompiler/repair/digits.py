"""Vectors and rotations in 40 digits, so that repaired records are off by their own rounding and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from decimal import Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from robocompiler.symbolic.exact_rotations import Digits

Array = NDArray[np.float64]
Vector = tuple[Decimal, Decimal, Decimal]


def many_digits() -> AbstractContextManager[Context]:
    """A context in which decimal numbers have 40 digits."""
    return localcontext(Context(prec=40))


def vector(values: Sequence[float | Decimal]) -> Vector:
    """The exact values of three numbers."""
    x, y, z = (Decimal(value) for value in values)
    return x, y, z


def dot(a: Vector, b: Vector) -> Decimal:
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """a x b"""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def plus(a: Vector, b: Vector, factor: Decimal | int = 1) -> Vector:
    """a + factor b"""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


def size(a: Vector) -> Decimal:
    """|a|"""
    return dot(a, a).sqrt()


def unit(a: Vector) -> Vector:
    """a / |a|"""
    length = size(a)
    return a[0] / length, a[1] / length, a[2] / length


def apply(matrix: Digits, a: Vector) -> Vector:
    """matrix a"""
    x, y, z = (row[0] * a[0] + row[1] * a[1] + row[2] * a[2] for row in matrix)
    return x, y, z


def transposed(matrix: Digits) -> Digits:
    """The transpose, which is the inverse of a rotation."""
    return [list(column) for column in zip(*matrix, strict=True)]


def product(a: Digits, b: Digits) -> Digits:
    """a b"""
    columns = [apply(a, vector(column)) for column in zip(*b, strict=True)]
    return [[column[i] for column in columns] for i in range(3)]


def smallest_turn(source: Vector, target: Vector) -> Digits:
    """The smallest rotation S with S source = target, for unit vectors that are not opposite.

    S = I + [k] + [k]^2 / (1 + c),    k = source x target, c = source . target
    """
    x, y, z = cross(source, target)
    K = [[Decimal(0), -z, y], [z, Decimal(0), -x], [-y, x, Decimal(0)]]
    square, scale = product(K, K), 1 / (1 + dot(source, target))
    return [[(i == j) + K[i][j] + scale * square[i][j] for j in range(3)] for i in range(3)]


def nearest(values: Vector) -> tuple[float, float, float]:
    """The nearest doubles, as records hold them."""
    x, y, z = (float(value) for value in values)
    return x, y, z


def doubles(values: Vector) -> Array:
    """The nearest doubles."""
    return np.array([float(value) for value in values])
