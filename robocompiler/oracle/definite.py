"""Small dense symmetric systems over any number type."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

import numpy as np

from robocompiler.errors import RankError
from robocompiler.oracle.arithmetic import Arithmetic, Number

_SINGULAR = 1e-13  # smallest pivot over its diagonal entry that counts as inertia


def inner(a: Sequence[Number], b: Sequence[Number]) -> Number:
    """a . b."""
    if len(a) != len(b):
        raise ValueError(f"vectors of {len(a)} and {len(b)} numbers have no product")
    return sum(map(mul, a, b))


def solve_definite(
    M: Sequence[Sequence[Number]], right: Sequence[Number], names: Sequence[str], arithmetic: Arithmetic
) -> list[Number]:
    """x with M x = right by Cholesky.

    Raises RankError when M is not positive definite: `report` holds the smallest eigenvalue and its direction by name.
    """
    n = len(M)
    L: list[list[Number]] = [[arithmetic.number(0.0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = M[i][j] - inner(L[i][:j], L[j][:j])
            if i > j:
                L[i][j] = rest / L[j][j]
            elif rest <= _SINGULAR * M[i][i]:
                raise _indefinite(M, names)
            else:
                L[i][i] = arithmetic.sqrt(rest)
    x = list(right)
    for i in range(n):
        x[i] = (x[i] - inner(L[i][:i], x[:i])) / L[i][i]
    for i in reversed(range(n)):
        x[i] = (x[i] - sum(L[k][i] * x[k] for k in range(i + 1, n))) / L[i][i]
    return x


def _indefinite(M: Sequence[Sequence[Number]], names: Sequence[str]) -> RankError:
    values, vectors = np.linalg.eigh(np.array(M, dtype=float))
    direction = {name: float(x) for name, x in zip(names, vectors[:, 0], strict=True) if abs(x) > 1e-6}
    return RankError(
        f"the reduced inertia is not positive definite: {values[0]:.3g} along {direction}",
        {"eigenvalue": float(values[0]), "direction": direction},
    )
