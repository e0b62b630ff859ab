"""The two charts that are compiled: the port chart (what a controller commands) and the inner chart (cheapest to
solve).

The port chart takes as dependents the unactuated joints first, then ports, then free roots; users may ask for others to
stay independent.  The inner chart starts from the dependents that occur in the fewest closures (a matroid greedy, which
is optimal for that sum) and then exchanges one dependent for one independent as long as the modules get smaller or, at
equal size, R_p better conditioned.  An exchange multiplies det R_p by the entry of R_p^-1 R_a that it pivots on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.exchanges import Exchanges
from robocompiler.analysis.modules import Samples, Touch
from robocompiler.analysis.selection import select_columns
from robocompiler.numerics.gap import CLEAR

Array = NDArray[np.float64]

LEAST_PIVOT = 0.05  # an exchange on a smaller scaled pivot is not worth a smaller module
Cost = tuple[int, int, int, float]


def port_dependents(jacobians: Sequence[Array], preference: Callable[[int], int], rank: int) -> list[int]:
    """Dependent columns of the port chart.  `preference` of a column: 0 rather dependent, larger rather independent."""
    columns = range(jacobians[0].shape[1])
    levels = sorted({preference(column) for column in columns})
    classes = [[column for column in columns if preference(column) == level] for level in levels]
    return select_columns(jacobians, classes, rank, CLEAR)


def _tableaux(jacobians: Sequence[Array], dependents: Sequence[int], independents: Sequence[int]) -> Array:
    """Smallest |R_p^-1 R_a| over the probes (r, d).  Redundant rows are consistent, so least squares is exact."""
    solutions = [np.linalg.lstsq(J[:, dependents], J[:, independents], rcond=None)[0] for J in jacobians]
    return np.asarray(np.min(np.abs(solutions), axis=0))


def _improve(jacobians: Sequence[Array], touched: Sequence[Touch], dependents: list[int]) -> tuple[Cost, list[int]]:
    columns = range(jacobians[0].shape[1])
    log_pivot = 0.0
    best: Cost = (*Exchanges(touched, frozenset(dependents)).sizes(), 0.0)
    for _ in range(200):
        independents = [column for column in columns if column not in dependents]
        if not independents or not dependents:
            break
        exchanges = Exchanges(touched, frozenset(dependents))
        T = _tableaux(jacobians, dependents, independents)
        found: tuple[Cost, int, int] | None = None
        for i, j in zip(*np.nonzero(T > LEAST_PIVOT), strict=True):
            gained = log_pivot + float(np.log(T[i, j]))
            cost = (*exchanges.after(dependents[i], independents[j]), -round(gained, 6))
            if cost < best and (found is None or cost < found[0]):
                found = (cost, int(i), int(j))
        if found is None:
            break
        best, i, j = found
        log_pivot = -best[3]
        dependents[i] = independents[j]
    return best, sorted(dependents)


def inner_dependents(samples: Samples, port: Sequence[int], rank: int) -> list[int]:
    """Dependent columns of the inner chart: the better search from the greedy choice and the port chart."""
    jacobians, touched = samples.jacobians, samples.touched
    count = [sum(column in touch.variables for touch in touched) for column in range(jacobians[0].shape[1])]
    greedy = port_dependents(jacobians, lambda column: count[column], rank)
    starts = [start for start in (greedy, list(port)) if len(start) == rank]
    results = [_improve(jacobians, touched, start) for start in starts]
    return min(results, key=lambda result: (result[0][:3], result[1]))[1]
