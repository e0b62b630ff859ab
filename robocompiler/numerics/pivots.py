"""Static pivot orders: chosen once on numbers at several configurations, replayed on symbols or in straight-line code.

Threshold Markowitz: among the entries that are within a factor of the largest of their column at every sample, the one
with the least fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

THRESHOLD = 0.1


@dataclass(frozen=True)
class PivotOrder:
    """Pivots (row, column) in order, and the least |pivot| over the samples, relative to the matrix's largest entry."""

    pivots: tuple[tuple[int, int], ...]
    smallest: float

    def transposed(self) -> PivotOrder:
        """The same pivots for the transposed matrix."""
        return PivotOrder(tuple((column, row) for row, column in self.pivots), self.smallest)


def pivot_order(samples: Sequence[Array], structure: NDArray[np.bool_]) -> PivotOrder:
    """A pivot order for square matrices of one structure, stable at every sample.

    Args:
        samples: (n, n) scaled numeric matrices at several configurations.
        structure: (n, n) structural nonzeros.

    Raises ValueError if some sample is singular to working precision.
    """
    work = [np.array(sample, dtype=np.float64) for sample in samples]
    pattern = structure.copy()
    scale = [max(float(np.abs(sample).max(initial=0.0)), 1e-300) for sample in work]
    rows, columns = list(range(len(structure))), list(range(len(structure)))
    order, smallest = [], np.inf
    while rows:
        row_counts, column_counts = (
            pattern[np.ix_(rows, columns)].sum(axis=1),
            pattern[np.ix_(rows, columns)].sum(axis=0),
        )
        sizes = np.min([np.abs(W[np.ix_(rows, columns)]) / s for W, s in zip(work, scale, strict=True)], axis=0)
        best_in_column = sizes.max(axis=0)
        cost = np.outer(row_counts - 1, column_counts - 1).astype(np.float64)
        cost[(sizes < THRESHOLD * best_in_column) | (sizes < 1e-12)] = np.inf
        if not np.isfinite(cost).any():
            raise ValueError("a sample is singular to working precision")
        ties = np.argwhere(cost == cost.min())
        i, j = max(ties, key=lambda tie: (round(float(sizes[tuple(tie)]), 9), -tie[0], -tie[1]))
        row, column = rows.pop(int(i)), columns.pop(int(j))
        smallest = min(smallest, float(sizes[i, j]))
        order.append((row, column))
        below, right = [r for r in rows if pattern[r, column]], [c for c in columns if pattern[row, c]]
        pattern[np.ix_(below, right)] = True
        for W in work:
            W[np.ix_(rows, columns)] -= np.outer(W[rows, column] / W[row, column], W[row, columns])
    return PivotOrder(tuple(order), smallest)
