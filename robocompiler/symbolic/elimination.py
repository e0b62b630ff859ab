"""Static sparse elimination: A X = B solved symbolically in a given pivot order, structural zeros never touched."""

from __future__ import annotations

from typing import Any

import casadi as cs

from robocompiler.numerics.pivots import PivotOrder

SX = Any


def solve(A: SX, B: SX, order: PivotOrder) -> tuple[SX, list[SX]]:
    """X (n, m) with A X = B, and the pivots; both sparse SX, operations only on structural nonzeros."""
    n, m = A.shape[0], B.shape[1]
    left = _rows(A)
    right = _rows(B)
    pivots: list[SX] = []
    done: list[tuple[int, int, SX]] = []
    remaining = set(range(n))
    for row, column in order.pivots:
        remaining.discard(row)
        inverse = 1 / left[row][column]
        pivots.append(left[row][column])
        done.append((row, column, inverse))
        for other in sorted(remaining):
            if column not in left[other]:
                continue
            factor = left[other].pop(column) * inverse
            _subtract(left[other], left[row], factor, skip=column)
            _subtract(right[other], right[row], factor)
    X: dict[int, dict[int, SX]] = {}
    for row, column, inverse in reversed(done):
        value = dict(right[row])
        for other, coefficient in left[row].items():
            if other != column:
                _subtract(value, X[other], coefficient)
        X[column] = {j: entry * inverse for j, entry in value.items()}
    return _assembled(X, n, m), pivots


def solve_symmetric(M: SX, B: SX) -> tuple[SX, list[SX]]:
    """X with M X = B for a positive definite M (d, d), and the pivots, by LDL^T in a minimum-degree order.

    Positive definite matrices need no pivoting for size, so the order serves sparsity alone (first of equals).
    """
    n = M.shape[0]
    upper: list[dict[int, SX]] = [{} for _ in range(n)]
    for i, j in zip(*M.sparsity().get_triplet(), strict=True):
        upper[i][j] = M[i, j]
    right = _rows(B)
    left: set[int] = set(range(n))
    order: list[tuple[int, dict[int, SX], SX]] = []
    pivots: list[SX] = []
    while left:
        k = min(left, key=lambda i: (sum(j in left for j in upper[i]), i))
        left.discard(k)
        pivot = upper[k][k]
        inverse = 1 / pivot
        pivots.append(pivot)
        factors = {i: upper[k][i] * inverse for i in sorted(upper[k]) if i in left}
        for i, factor in factors.items():
            for j in factors:
                if i <= j:
                    product = factor * upper[k][j]
                    upper[i][j] = upper[j][i] = upper[i][j] - product if j in upper[i] else -product
            _subtract(right[i], right[k], factor)
        order.append((k, factors, inverse))
    X: dict[int, dict[int, SX]] = {}
    for k, factors, inverse in reversed(order):
        value = {j: entry * inverse for j, entry in right[k].items()}
        for i, factor in factors.items():
            _subtract(value, X[i], factor)
        X[k] = value
    return _assembled(X, n, B.shape[1]), pivots


def _assembled(X: dict[int, dict[int, SX]], n: int, m: int) -> SX:
    result = cs.SX(n, m)
    for i, entries in X.items():
        for j, entry in entries.items():
            result[i, j] = entry
    return result


def _rows(M: SX) -> list[dict[int, SX]]:
    rows: list[dict[int, SX]] = [{} for _ in range(M.shape[0])]
    for i, j in zip(*M.sparsity().get_triplet(), strict=True):
        rows[i][j] = M[i, j]
    return rows


def _subtract(target: dict[int, SX], source: dict[int, SX], factor: SX, skip: int = -1) -> None:
    """target -= factor * source."""
    for j, entry in source.items():
        if j != skip:
            product = factor * entry
            target[j] = target[j] - product if j in target else -product
