"""Making kernels: inputs in a fixed order (q, others, p), common subexpressions removed over all outputs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as cs

from robocompiler.symbolic.branches import Symbols
from robocompiler.symbolic.kernel import Argument, Kernel

SX = Any
Output = tuple[str, str, SX]  # name, comment, dense column


def make_kernel(
    symbols: Symbols, name: str, summary: str, outputs: Sequence[Output], *more: tuple[str, str, SX]
) -> Kernel:
    """A kernel of q, `more` inputs (name, comment, symbols) and the run-time parameters p."""
    inputs = [("q", "coordinates", symbols.q), *more]
    if symbols.p.numel():
        inputs.append(("p", "run-time parameters", symbols.p))
    columns = cs.cse([cs.densify(value) for _, _, value in outputs])
    function = cs.Function(name, [value for _, _, value in inputs], columns, {"cse": False})
    return Kernel(
        name,
        summary,
        tuple(Argument(n, int(value.numel()), comment) for n, comment, value in inputs),
        tuple(Argument(n, int(value.numel()), comment) for n, comment, value in outputs),
        function,
    )


def operation_count(expressions: Sequence[SX]) -> int:
    """Arithmetic instructions of some expressions together, common subexpressions removed."""
    columns = cs.cse([nonzeros(cs.sparsify(value)) for value in expressions])
    function = cs.Function("count", cs.symvar(cs.vertcat(cs.SX(0, 1), *columns)), columns, {"cse": False})
    return Kernel("count", "", (), (), function).operations


def nonzeros(matrix: SX) -> SX:
    """The nonzeros of a sparse matrix as a dense column, in compressed-column order."""
    return cs.vertcat(cs.SX(0, 1), *matrix.nonzeros())
