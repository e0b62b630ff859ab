"""Constraint rows as a linear space: rank by singular values, solutions of A x = a with B x = b, multipliers.

The rank is the number of singular values above 1e-9 of the largest.  Rows that are redundant to rounding disagree by
rounding; what counts is the dominant row space, that of U1^T A, which the singular vectors U1 span.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter, mul
from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from robocompiler.errors import RankError
from robocompiler.oracle.arithmetic import Arithmetic, Number
from robocompiler.oracle.relative import Row

Array = NDArray[np.float64]
RANK_TOLERANCE = 1e-9  # of the largest singular value
_NEGLIGIBLE = (
    1e-13  # entries of left null vectors that are rounding; dropped, they cost 1e-13 of the rows' disagreement
)
_SMALLEST_RCOND = 1e-13
_SPARE = 1e-56  # relative correction that need not be made
_PROMISED = 1e-52  # relative correction below which the 50 digits that are promised are there


class Space(Protocol):
    """What the model asks of the constraint rows A (m, n) at one pose."""

    rank: int
    singular_values: Array
    left_null: Array  # (m, m - rank): multipliers without effect
    null: Array  # (n, n - rank), double: orthonormal basis of the free twists

    def solve(
        self, held: Sequence[Row], right: Sequence[tuple[Sequence[Number], Sequence[Number]]]
    ) -> list[list[Number]]:
        """x for each (a, b): A x = a on the dominant rows and held . x = b.  RankError when `held` does not fix x."""

    def renewed(self, rows: Sequence[Row]) -> Space:
        """The space of the same rows at a pose that differs by rounding of double at most."""

    def multipliers(self, held: Sequence[Row], force: Sequence[Number]) -> list[Number]:
        """The minimum-norm lambda with A^T lambda = force, for a force without power in the free twists."""


def dense(rows: Sequence[Row], columns: int) -> Array:
    """Rows as a float matrix."""
    matrix = np.zeros((len(rows), columns))
    for k, row in enumerate(rows):
        for column, value in row.entries.items():
            matrix[k, column] = float(value)
    return matrix


class DoubleSpace:
    """By singular value decomposition in double; also decides the rank for `PreciseSpace`."""

    def __init__(self, rows: Sequence[Row], columns: int) -> None:
        self.matrix = dense(rows, columns)
        if rows:
            self.U, self.singular_values, self.Vt = np.linalg.svd(self.matrix)
            self.rank = int(np.sum(self.singular_values > RANK_TOLERANCE * self.singular_values[0]))
        else:
            self.U, self.singular_values, self.Vt, self.rank = np.eye(0), np.zeros(0), np.eye(columns), 0
        self.left_null: Array = self.U[:, self.rank :]
        self.null: Array = self.Vt[self.rank :].T

    def renewed(self, rows: Sequence[Row]) -> Space:
        """See Space."""
        return DoubleSpace(rows, self.matrix.shape[1])

    def pseudo(self, a: Array) -> Array:
        """A^+ a, truncated at the rank."""
        r = self.rank
        result: Array = self.Vt[:r].T @ ((self.U[:, :r].T @ a) / self.singular_values[:r, None])
        return result

    def solve(
        self, held: Sequence[Row], right: Sequence[tuple[Sequence[Number], Sequence[Number]]]
    ) -> list[list[Number]]:
        """See Space."""
        B = dense(held, self.matrix.shape[1])
        free = B @ self.null
        check_held(free)
        a = np.array([pair[0] for pair in right], dtype=float).reshape(len(right), -1).T
        b = np.array([pair[1] for pair in right], dtype=float).reshape(len(right), -1).T
        particular = self.pseudo(a)
        x = particular + self.null @ np.linalg.solve(free, b - B @ particular)
        columns: list[list[Number]] = x.T.tolist()
        return columns

    def multipliers(self, held: Sequence[Row], force: Sequence[Number]) -> list[Number]:
        """See Space; `held` is not needed."""
        r = self.rank
        projected = self.Vt[:r] @ np.array(force, dtype=float)
        values: list[Number] = (self.U[:, :r] @ (projected / self.singular_values[:r])).tolist()
        return values


class PreciseSpace:
    """In many digits, by refinement of a double factorisation of K = [Y^T A; held].

    Y spans the dominant left singular space: the kept rows, each with its share of the redundant ones, so that
    Y^T A has the row space of the truncated decomposition.  Each refinement gains as many digits as K leaves of double.
    """

    def __init__(
        self, rows: Sequence[Row], columns: int, arithmetic: Arithmetic, double: DoubleSpace | None = None
    ) -> None:
        double = double or DoubleSpace(rows, columns)
        self._double = double
        self.rank, self.singular_values = double.rank, double.singular_values
        self.left_null, self.null = double.left_null, double.null
        self._arithmetic, self._columns = arithmetic, columns
        self._count = len(rows)
        self._shares = self._redundant_shares(arithmetic)
        self._rows = [self._mixed(rows, kept) for kept in self._kept]
        self._factors: tuple[tuple[Row, ...], tuple[Array, NDArray[np.int32]], list[Row]] | None = None

    def renewed(self, rows: Sequence[Row]) -> Space:
        """See Space: the double decomposition stays, the rows are taken anew."""
        return PreciseSpace(rows, self._columns, self._arithmetic, self._double)

    def _redundant_shares(self, arithmetic: Arithmetic) -> dict[int, dict[int, Number]]:
        """For each kept row, the weights of dropped rows that make it orthogonal to every left null vector."""
        N = self.left_null
        spare = N.shape[1]
        dropped = scipy.linalg.qr(N.T, pivoting=True, mode="r")[1][:spare] if spare else np.zeros(0, dtype=int)
        gone = set(dropped.tolist())
        self._kept = [k for k in range(self._count) if k not in gone]
        if not spare:
            return {k: {} for k in self._kept}
        weights = -np.linalg.solve(N[dropped].T, N[self._kept].T)  # (spare, kept)
        return {
            kept: {
                int(row): arithmetic.number(float(w))
                for row, w in zip(dropped, weights[:, k], strict=True)
                if abs(w) > _NEGLIGIBLE
            }
            for k, kept in enumerate(self._kept)
        }

    def _mixed(self, rows: Sequence[Row], kept: int) -> Row:
        result = rows[kept]
        for row, weight in self._shares[kept].items():
            result = result + rows[row].times(weight)
        return result

    def _factorised(self, held: Sequence[Row]) -> tuple[tuple[Array, NDArray[np.int32]], list[Row]]:
        if self._factors is None or self._factors[0] != tuple(held):
            K = [*self._rows, *held]
            matrix = dense(K, self._columns)
            check_held(dense(held, self._columns) @ self.null)
            self._factors = (tuple(held), scipy.linalg.lu_factor(matrix), K)
        return self._factors[1], self._factors[2]

    def solve(
        self, held: Sequence[Row], right: Sequence[tuple[Sequence[Number], Sequence[Number]]]
    ) -> list[list[Number]]:
        """See Space."""
        factors, K = self._factorised(held)
        columns = []
        for a, b in right:
            mixed = [a[k] + sum(w * a[row] for row, w in self._shares[k].items()) for k in self._kept]
            columns.append(self._refined(factors, K, [*mixed, *b], transposed=False))
        return columns

    def multipliers(self, held: Sequence[Row], force: Sequence[Number]) -> list[Number]:
        """See Space: lambda = Y mu lies in the dominant left space, hence has minimum norm."""
        factors, K = self._factorised(held)
        mu = self._refined(factors, K, list(force), transposed=True)[: len(self._kept)]
        values = [self._arithmetic.number(0.0)] * self._count
        for kept, value in zip(self._kept, mu, strict=True):
            values[kept] = value
            for row, weight in self._shares[kept].items():
                values[row] = values[row] + weight * value
        return values

    def _refined(
        self, factors: tuple[Array, NDArray[np.int32]], K: list[Row], right: list[Number], *, transposed: bool
    ) -> list[Number]:
        """x with K x = right (or K^T x = right), refined until the correction is rounding."""
        x = [self._arithmetic.number(0.0)] * self._columns
        residual, size, before = right, 0.0, np.inf
        lines = _columns_of(K, self._columns) if transposed else [_line(row.entries) for row in K]
        for _ in range(60):
            largest = max((abs(value) for value in residual), default=0)
            if largest == 0:
                return x
            small = np.array([float(value / largest) for value in residual])
            step = scipy.linalg.lu_solve(factors, small, trans=int(transposed), check_finite=False)
            change = float(np.max(np.abs(step))) * float(largest)
            x = [value + largest * float(d) for value, d in zip(x, step, strict=True)]
            size = max(size, change)
            if change <= 100 * self._arithmetic.epsilon * size:
                return x
            if change <= 1e-6 * before < np.inf and change * (change / before) <= _SPARE * size:
                return x  # what the next correction would be, by the digits that this one gained
            if change > 0.1 * before:
                if change <= _PROMISED * size:  # rounding, which conditioning lifts above the bound before
                    return x
                raise RankError("the constraints are too ill-conditioned to be refined from double")
            before = change
            residual = [
                goal - sum(map(mul, values, pick(x))) for goal, (pick, values) in zip(right, lines, strict=True)
            ]
        raise RankError("refinement of the constraint solution did not end")


def check_held(free: Array) -> None:
    """`free` = held . null basis must be square and regular; RankError says what is wrong."""
    if free.shape[0] != free.shape[1]:
        raise RankError(f"{free.shape[0]} speeds are given, the mechanism has {free.shape[1]} freedoms")
    if free.size == 0:
        return
    singular = np.linalg.svd(free, compute_uv=False)
    if singular[-1] <= _SMALLEST_RCOND * singular[0]:
        raise RankError("the given speeds are not independent", {"singular_values": singular.tolist()})


Line = tuple[Callable[[Sequence[Number]], Sequence[Number]], tuple[Number, ...]]


def _line(entries: Mapping[int, Number]) -> Line:
    """A sparse row as (what picks its places out of a vector, its values), for products that are taken many times."""
    places, values = tuple(entries), tuple(entries.values())
    if len(places) < 2:  # an itemgetter of one place gives no sequence
        return (lambda x: [x[place] for place in places]), values
    return itemgetter(*places), values


def _columns_of(K: Sequence[Row], columns: int) -> list[Line]:
    """The rows of K^T."""
    entries: list[dict[int, Number]] = [{} for _ in range(columns)]
    for k, row in enumerate(K):
        for column, entry in row.entries.items():
            entries[column][k] = entry
    return [_line(column) for column in entries]


def independent_rows(rows: Sequence[Row], null: Array) -> list[int]:
    """Indices of rows that fix the free twists best (pivoted QR on the null basis), in ascending order."""
    freedoms = null.shape[1]
    if freedoms == 0:
        return []
    F = dense(rows, null.shape[0]) @ null
    pivots = scipy.linalg.qr(F.T, pivoting=True, mode="r")[1]
    return sorted(int(k) for k in pivots[:freedoms])
