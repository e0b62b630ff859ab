"""Static solves of one module: Newton step and lift by elimination in the pivot order of the reduction.

With rows and columns scaled, A = R_p and B = R_a of the selected rows,

    step    A x = -r          lift    A L = -B

Only structural nonzeros are touched.  The pivots travel along: a small one sends the caller to the dense solver with
row exchanges, and their signs with `parity` are the sign of det R_p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.branches import Symbols
from robocompiler.symbolic.elimination import solve
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.kernels import make_kernel
from robocompiler.symbolic.reduction import Module

SX = Any


@dataclass(frozen=True)
class ModuleSolve:
    """newton: q -> r (k, scaled), x (k, increments of the dependents), pivot (k); lift: q -> L (k x m by rows), pivot.

    lift is None for a module that no independent moves; parity: sign of det R_p when all pivots are positive.
    """

    newton: Kernel
    lift: Kernel | None
    parity: int


def module_solve(
    symbols: Symbols, module: Module, residual: SX, block: SX, rows: Sequence[float], columns: Sequence[float]
) -> ModuleSolve:
    """The kernels of a module with dependents.

    Args:
        residual (k,), block (k, k + m): its rows and their Jacobian, dependents' columns first.
        rows (k,), columns (k + m,): sizes of one unit of the rows and of the velocities.
    """
    k, m = len(module.dependents), len(module.independents)
    inverse = cs.DM([1 / size for size in rows])
    scaled = cs.sparsify(cs.mtimes(cs.diag(cs.SX(inverse)), block))
    A = cs.sparsify(cs.mtimes(scaled[:, :k], cs.diag(cs.SX(columns[:k]))))
    r = inverse * cs.densify(residual)
    step, pivots = solve(A, cs.sparsify(-r), module.pivots)
    pivot = ("pivot", "scaled pivots of R_p", cs.vertcat(*pivots))
    newton = make_kernel(
        symbols,
        f"{module.name}_newton",
        f"Newton step of {module.name}: scaled rows r, increments x of its dependents with R_p x = -r.",
        [("r", "scaled rows", r), ("x", "increments, rad or m", cs.SX(columns[:k]) * cs.densify(step)), pivot],
    )
    lift = None
    if m:
        X, _ = solve(A, cs.sparsify(-scaled[:, k:]), module.pivots)
        L = cs.densify(cs.mtimes(cs.diag(cs.SX(columns[:k])), X))
        lift = make_kernel(
            symbols,
            f"{module.name}_static_lift",
            f"Lift of {module.name}: its dependents' speeds per unit of its independents.",
            [("L", "row by row", cs.reshape(L.T, k * m, 1)), pivot],
        )
    return ModuleSolve(newton, lift, _parity(module))


def _parity(module: Module) -> int:
    rows, columns = zip(*module.pivots.pivots, strict=True)
    return _permutation_sign(rows) * _permutation_sign(columns)


def _permutation_sign(order: Sequence[int]) -> int:
    sign, seen = 1, set[int]()
    for start in range(len(order)):
        length, at = 0, start
        while at not in seen:
            seen.add(at)
            at, length = order[at], length + 1
        sign *= -1 if length and length % 2 == 0 else 1
    return sign
