"""Constant rotations in many digits, rounded to double once.

A record's rotation is given to rounding: it is no exact rotation, and products of such matrices in double differ from
the rotation that is meant by some 1e-16 an entry.  In a light parallel mechanism joint accelerations of 1e4 rad/s^2
turn that into constraint residuals of 1e-10.  Decimal arithmetic gives the same digits on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.model import Matrix3, Vector3

Array = NDArray[np.float64]
Digits = list[list[Decimal]]
_DIGITS = Context(prec=40)
_ROUNDS = 3  # from an error of 1e-9, the largest that records may have, to 1e-72


def turned(rotation: Matrix3, turn: Digits) -> Digits:
    """The rotation nearest to `rotation`, times `turn`: R <- R (3 I - R^T R) / 2, which converges quadratically."""
    with localcontext(_DIGITS):
        R = [[Decimal(entry) for entry in row] for row in rotation]
        for _ in range(_ROUNDS):
            G = _product(_transposed(R), R)
            R = _product(R, [[(3 * (i == j) - G[i][j]) / 2 for j in range(3)] for i in range(3)])
        return _product(R, turn)


def between(first: Digits, second: Digits) -> Digits:
    """first^T second."""
    with localcontext(_DIGITS):
        return _product(_transposed(first), second)


def unturned() -> Digits:
    """The identity."""
    return [[Decimal(i == j) for j in range(3)] for i in range(3)]


def from_z(axis: Vector3) -> Digits:
    """The rotation R_n with R_n z = n: the shortest one for n_z >= 0, else Rot(x, pi) times the shortest one.

    It is a signed permutation for the six coordinate directions.  Its first two columns are the in-plane axes e1, e2 of
    a planar joint.
    """
    with localcontext(_DIGITS):
        x, y, z = (Decimal(entry) for entry in axis)
        norm = (x * x + y * y + z * z).sqrt()
        flip = -1 if z < 0 else 1
        x, y, z = x / norm, flip * y / norm, flip * z / norm
        w = 1 / (1 + z)
        shortest = [[1 - x * x * w, -x * y * w, x], [-x * y * w, 1 - y * y * w, y], [-x, -y, z]]
        return [shortest[0], *([flip * entry for entry in row] for row in shortest[1:])]


def rounded(matrix: Digits) -> Array:
    """The nearest doubles."""
    return np.array([[float(entry) for entry in row] for row in matrix])


def _product(a: Sequence[Sequence[Decimal]], b: Sequence[Sequence[Decimal]]) -> Digits:
    return [[row[0] * b[0][j] + row[1] * b[1][j] + row[2] * b[2][j] for j in range(3)] for row in a]


def _transposed(matrix: Digits) -> Digits:
    return [list(column) for column in zip(*matrix, strict=True)]
