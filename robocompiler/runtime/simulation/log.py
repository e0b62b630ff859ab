"""A log of a simulation in memory: rows of numbers with named columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import instance, named, unknown
from robocompiler.runtime.simulation.columns import Column

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Log:
    """rows (N, columns) with their columns.

    complete: False for a log that was read from the parts of a run that was killed.
    """

    columns: tuple[Column, ...]
    rows: Array
    complete: bool = True

    def group(self, name: str) -> Array:
        """All columns of a group: (N, k), or (N,) for `t` and `residual`."""
        instance(name, str, "name", "the name of a group, such as 'q'")
        places = [k for k, column in enumerate(self.columns) if column.group == name]
        if not places:
            if name in {"q", "u", "udot", "f", "l", "z"}:
                return np.zeros((len(self.rows), 0))
            raise unknown("group of columns", name, dict.fromkeys(column.group for column in self.columns))
        if len(places) == 1 and not self.columns[places[0]].name:
            return self.rows[:, places[0]]
        return self.rows[:, places[0] : places[-1] + 1]

    def column(self, title: str) -> Array:
        """One column (N,) by its title, such as 'q:j_ga' or 't'."""
        titles = [column.title for column in self.columns]
        named("column", title, titles)
        return self.rows[:, titles.index(title)]
