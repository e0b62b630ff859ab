"""Dependency modules of a chart, and the rows that each one solves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.selection import select_columns
from robocompiler.errors import RankError
from robocompiler.graph.modules import dependency_modules
from robocompiler.numerics.gap import CLEAR, NOISE
from robocompiler.numerics.pivots import pivot_order
from robocompiler.symbolic.reduction import Chart, Module

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Touch:
    """The columns that occur in one closure, as a comparison for the union-find."""

    name: str
    variables: frozenset[int]


@dataclass(frozen=True)
class Samples:
    """The scaled condensed Jacobians at the probes, and what their rows and columns are.

    closure_rows: row numbers of every closure; touched: its columns; active: the velocity index of every column.
    """

    jacobians: tuple[Array, ...]
    closure_rows: tuple[tuple[int, ...], ...]
    touched: tuple[Touch, ...]
    active: tuple[int, ...]


def partition(touched: Sequence[Touch], dependents: Collection[int]) -> tuple[tuple[int, ...], ...]:
    """Closures grouped by shared dependents."""
    return dependency_modules(touched, dependents)


def _sign(jacobians: Sequence[Array], rows: Sequence[int], columns: Sequence[int], square: Array) -> int:
    """Sign of det R_p at the reference, or 0 where it marks no branch.

    Where a module has more working rows than unknowns (a Bennett loop), the selected rows can become dependent along
    the motion while all rows together do not: their determinant changes sign on one and the same branch.
    """
    if not columns:
        return 1
    working = sum(any(np.abs(J[row]).max(initial=0.0) > NOISE for J in jacobians) for row in rows)
    return int(np.sign(np.linalg.det(square))) if working == len(columns) else 0


def make_chart(
    name: str,
    independent: Sequence[int],
    dependents: Sequence[int],
    samples: Samples,
    prefix: str,
) -> Chart:
    """The chart with `dependents` (column numbers of the scaled Jacobians), its modules and their selected rows.

    Raises RankError when a module has fewer independent rows than dependents: the choice is not a chart.
    """
    jacobians, touched, active = samples.jacobians, samples.touched, samples.active
    modules = []
    for number, closures in enumerate(partition(touched, dependents)):
        columns = sorted(set(dependents) & frozenset().union(*(touched[c].variables for c in closures)))
        rows = [row for c in closures for row in samples.closure_rows[c]]
        blocks = [J[np.ix_(rows, columns)] for J in jacobians]
        picked = select_columns([block.T for block in blocks], [range(len(rows))], len(columns), CLEAR / 10)
        if len(picked) < len(columns):
            raise RankError(
                f"chart {name}: module {number} has {len(picked)} independent rows for {len(columns)} unknowns"
            )
        selected = [rows[k] for k in sorted(picked)]
        square = [J[np.ix_(selected, columns)] for J in jacobians]
        pivots = [float(np.linalg.svd(R, compute_uv=False)[-1]) for R in square if R.size]
        occurs = np.any([np.any(J[selected] != 0, axis=0) for J in jacobians], axis=0)
        reached = set(map(int, np.flatnonzero(occurs)))
        modules.append(
            Module(
                name=f"{prefix}module_{number}",
                closures=closures,
                rows=tuple(selected),
                dependents=tuple(active[c] for c in columns),
                independents=tuple(active[c] for c in sorted(reached - set(columns))),
                sign=_sign(jacobians, rows, columns, square[0]),
                smallest_pivot=min(pivots, default=1.0),
                pivots=pivot_order(square, np.any([R != 0 for R in square], axis=0)),
            )
        )
    return Chart(name, tuple(independent), tuple(modules))
