"""How far a configuration is from where the port chart is singular, with a sign that changes beyond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.description import Description
from robocompiler.runtime.simulation.events import Event, Stop
from robocompiler.runtime.simulation.plant import Plant

Array = NDArray[np.float64]

NAME = "singular"
LEAST = 1e-2  # of the smallest pivot at the probed poses


class PivotMonitor:
    """The least singular value of each module's R_p, over that at the poses probed by the compiler.

    It is signed by det R_p over its sign at the reference, so that it passes zero where the assembly branch is left.
    Modules whose selected rows mark no branch are left out; there the status of each evaluation alone tells.
    """

    def __init__(self, plant: Plant) -> None:
        self._evaluation, description = plant.evaluation, plant.description
        chart = description.charts[plant.evaluation.chart]
        sizes: dict[int, list[dict[str, Any]]] = {}
        for module in chart["modules"]:
            if module["dependents"] and module["sign"]:
                sizes.setdefault(len(module["dependents"]), []).append(module)
        self._stacks = [_Stack.of(modules, description) for modules in sizes.values()]

    def measure(self, q: Array) -> tuple[float, str]:
        """(least signed value, its module); (inf, '') for a robot without loops."""
        least, worst = float("inf"), ""
        if not self._stacks:
            return least, worst
        _, nonzeros = self._evaluation.condensed_values(q)
        for stack in self._stacks:
            values = stack.measure(nonzeros)
            k = int(np.argmin(values))
            if values[k] < least:
                least, worst = float(values[k]), stack.names[k]
        return least, worst

    def event(self) -> tuple[Event, ...]:
        """The event that ends a simulation before the port chart becomes singular."""
        if not self._stacks:
            return ()

        def detail(t: float, q: Array, u: Array) -> str:
            value, module = self.measure(q)
            return f"the smallest pivot of {module} is {value:.2g} of that at the probed poses"

        return (Event(NAME, lambda t, q, u: self.measure(q)[0] - LEAST, -1, Stop(), detail),)


@dataclass(frozen=True)
class _Stack:
    """The R_p of modules of one size: where their entries lie among the nonzeros, and what they are scaled by."""

    names: tuple[str, ...]
    shape: tuple[int, int, int]
    places: NDArray[np.intp]  # into the flattened stack
    source: NDArray[np.intp]  # into the nonzeros
    factors: Array
    signs: Array
    smallest: Array

    @staticmethod
    def of(modules: Sequence[Mapping[str, Any]], description: Description) -> _Stack:
        pattern, size = description.condensed, len(modules[0]["dependents"])
        places, source = [], []
        for k, module in enumerate(modules):
            row = {index: i for i, index in enumerate(module["rows"])}
            column = {index: i for i, index in enumerate(module["dependents"])}
            for n, (r, c) in enumerate(zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True)):
                if r in row and c in column:
                    places.append((k * size + row[r]) * size + column[c])
                    source.append(n)
        index = np.array(source, dtype=np.intp)
        factors = description.column_scales[pattern.columns[index]] / description.row_scales[pattern.rows[index]]
        return _Stack(
            tuple(module["name"] for module in modules), (len(modules), size, size), np.array(places, dtype=np.intp),
            index, factors, np.array([float(module["sign"]) for module in modules]),
            np.array([module["smallest_pivot"] for module in modules]),
        )  # fmt: skip

    def measure(self, nonzeros: Array) -> Array:
        """Least singular values over those at the probed poses, negative off the branch."""
        R = np.zeros(self.shape)
        R.reshape(-1)[self.places] = nonzeros[self.source] * self.factors
        values = np.linalg.svd(R, compute_uv=False)[:, -1] / self.smallest
        return np.where(np.linalg.slogdet(R)[0] == self.signs, values, -values)
