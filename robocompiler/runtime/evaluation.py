"""The compiled functions of one robot in one chart, as plain numpy calls without checks.

Implements both problems of `numerics`: the scaled condensed closures and the unscaled augmented ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.description import Description
from robocompiler.runtime.library import Library

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Evaluation:
    """Raw evaluations at given run-time parameters.  Arrays are float64; matrices row by row."""

    def __init__(self, library: Library, description: Description, chart: str, parameters: Array) -> None:
        self.library, self.description, self.chart = library, description, chart
        self._parameters = np.ascontiguousarray(parameters, dtype=library.real)
        self._extra = (library.input(self._parameters),) if parameters.size else ()
        self.prefix = "" if chart == "port" else f"{chart}_"  # of this chart's functions
        self.own = chart == "port" or library.has(f"{self.prefix}acceleration")  # dynamics without the port chart

    def _call(self, name: str, *arguments: Any) -> Any:
        return self.library.function(name)(*arguments)

    def _get(self, name: str, q: Array, *shape: int) -> Array:
        """Call a function of q with one output of `shape`."""
        result = self.library.new(*shape)
        self._call(name, self.library.input(q), *self._extra, self.library.output(result))
        return result.astype(np.float64, copy=False)

    def get(
        self, name: str, inputs: Sequence[Array], shape: tuple[int, ...], first: int | None = None
    ) -> tuple[Array, int]:
        """(output of `shape`, status) of a compiled function; status 0 for functions that return none."""
        lib = self.library
        result = lib.new(*shape)
        if not result.size:
            return result.astype(np.float64), 0
        leading = () if first is None else (first,)
        status = self._call(name, *leading, *(lib.input(value) for value in inputs), *self._extra, lib.output(result))
        return result.astype(np.float64, copy=False), int(status or 0)

    def correct(self, q: Array, tolerance: float, iterations: int) -> tuple[Array, int, float]:
        """(q_closed, status, residual) of the Newton corrector in this chart."""
        lib = self.library
        closed, residual = lib.new(q.size), lib.new(1)
        status = self._call(
            f"{self.prefix}correct", lib.input(q), *self._extra, tolerance, iterations, lib.output(closed),
            lib.output(residual),
        )  # fmt: skip
        return closed.astype(np.float64, copy=False), int(status), float(residual[0])

    def correct_module(self, module: str, q: Array, tolerance: float, iterations: int) -> tuple[Array, int]:
        """(q with the module's dependents corrected, status); cut joints are not recovered."""
        lib = self.library
        closed = lib.new(q.size)
        status = self._call(
            f"{module}_correct", lib.input(q), *self._extra, tolerance, iterations, lib.output(closed), lib.null
        )
        return closed.astype(np.float64, copy=False), int(status)

    def recover(self, q: Array) -> Array:
        """q with the cut joints' coordinates set from the others."""
        moved = q.astype(self.library.real)
        self._call("recover", self.library.output(moved), *self._extra)
        return moved.astype(np.float64, copy=False)

    def residual(self, q: Array) -> Array:
        """rho (nr,)."""
        return self._get("residual", q, self.description.augmented.shape[0])

    def augmented(self, q: Array) -> tuple[Array, Array]:
        """rho (nr,) and C (nr, nv)."""
        lib, pattern = self.library, self.description.augmented
        rho, values = lib.new(pattern.shape[0]), lib.new(pattern.nonzeros)
        self._call("closure_jacobian", lib.input(q), *self._extra, lib.output(rho), lib.output(values))
        return rho.astype(np.float64, copy=False), pattern.dense(values, np.empty(pattern.shape))

    def condensed(self, q: Array) -> tuple[Array, Array]:
        """Condensed rows (nk,) and their Jacobian (nk, nv), unscaled."""
        pattern = self.description.condensed
        rows, values = self.condensed_values(q)
        return rows, pattern.dense(values, np.empty(pattern.shape))

    def condensed_values(self, q: Array) -> tuple[Array, Array]:
        """Condensed rows (nk,) and the nonzeros of their Jacobian, unscaled, in the order of the pattern."""
        lib, pattern = self.library, self.description.condensed
        rows, values = lib.new(pattern.shape[0]), lib.new(pattern.nonzeros)
        self._call("closure", lib.input(q), *self._extra, lib.output(rows), lib.output(values))
        return rows.astype(np.float64, copy=False), values.astype(np.float64, copy=False)

    def lift(self, q: Array, chart: str | None = None) -> tuple[Array, int]:
        """E (nv, d) and the status, in this chart or another."""
        prefix = self.prefix if chart is None else ("" if chart == "port" else f"{chart}_")
        lib, description = self.library, self.description
        E = lib.new(len(description.velocities), description.independent(chart or self.chart).size)
        status = self._call(f"{prefix}lift", lib.input(q), *self._extra, lib.output(E)) if E.size else 0
        return E.astype(np.float64, copy=False), int(status)

    def integrate(self, q: Array, dv: Array) -> Array:
        """q (+) dv."""
        lib = self.library
        moved = lib.new(q.size)
        self._call("integrate", lib.input(q), lib.input(dv), *self._extra, lib.output(moved))
        return moved.astype(np.float64, copy=False)

    def rates(self, q: Array, v: Array) -> Array:
        """qdot = N(q) v."""
        lib = self.library
        rates = lib.new(q.size)
        self._call("rates", lib.input(q), lib.input(v), *self._extra, lib.output(rates))
        return rates.astype(np.float64, copy=False)

    def pose(self, frame: int, q: Array) -> tuple[Array, Array]:
        """(R, p) of a frame in the world."""
        lib = self.library
        R, p = lib.new(3, 3), lib.new(3)
        self._call("pose", frame, lib.input(q), *self._extra, lib.output(R), lib.output(p))
        return R.astype(np.float64, copy=False), p.astype(np.float64, copy=False)

    def task_jacobian(self, frame: int, q: Array) -> tuple[Array, int]:
        """J (6, d) of a frame and the status."""
        lib = self.library
        if self.own and self.chart != "port":
            E, own = self.lift(q)
            return np.asarray(self.tree_jacobian(frame, q) @ E), own
        J = lib.new(6, self.description.independent("port").size)
        status = self._call("task_jacobian", frame, lib.input(q), *self._extra, lib.output(J)) if J.size else 0
        if self.chart != "port":  # the compiled one is in the port chart: J = J_port F
            E, own = self.lift(q)
            return J @ E[self.description.independent("port")], int(status) | own
        return J.astype(np.float64, copy=False), int(status)

    def tree_jacobian(self, frame: int, q: Array) -> Array:
        """(6, nv): world twist of a frame, at its origin, per unit of every tree velocity, closures ignored."""
        movers = self.description.movers[frame]
        _, p = self.pose(frame, q)
        twists = self._get("motions", q, len(self.description.motions), 6)
        J = np.zeros((6, len(self.description.velocities)))
        for index in movers:
            t = twists[self.description.motions[index]]
            J[:3, index], J[3:, index] = t[:3], t[3:] + np.cross(t[:3], p)
        return J

    # --- numerics.ClosureProblem: scaled condensed closures over the active velocities ---

    def rows(self, q: Array) -> Array:
        """Scaled condensed rows."""
        return np.asarray(self.condensed(q)[0] / self.description.row_scales)

    def jacobian(self, q: Array) -> Array:
        """Scaled condensed Jacobian (nk, active)."""
        d = self.description
        J = self.condensed(q)[1] * d.column_scales / d.row_scales[:, None]
        return np.asarray(J[:, d.active])

    def retract(self, q: Array, step: Array) -> Array:
        """q moved by scaled active increments, cut joints recovered."""
        d = self.description
        dv = np.zeros(len(d.velocities))
        dv[d.active] = step * d.column_scales[d.active]
        return self.recover(self.integrate(q, dv))


class Unknowns:
    """Some augmented rows over some velocities: `numerics.continuation.AugmentedProblem`.

    closures: indices into the description's closures (chords come before couplings); velocities: the unknowns.
    """

    def __init__(self, evaluation: Evaluation, closures: Indices, velocities: Indices) -> None:
        self._evaluation = evaluation
        self._velocities = velocities
        entries = [evaluation.description.closures[i] for i in sorted(closures)]
        self.chords = sum(entry["kind"] != "coupling" for entry in entries)
        places = [np.arange(start, start + count) for start, count in (entry["augmented"] for entry in entries)]
        self._rows = np.concatenate(places) if places else np.zeros(0, dtype=np.intp)

    def augmented(self, q: Array) -> tuple[Array, Array]:
        """rho and C of these rows and unknowns."""
        rho, C = self._evaluation.augmented(q)
        return rho[self._rows], C[np.ix_(self._rows, self._velocities)]

    def scales(self) -> tuple[Array, Array]:
        """Sizes of one unit of the rows and of the unknowns."""
        description = self._evaluation.description
        return description.augmented_scales()[self._rows], description.column_scales[self._velocities]

    def move(self, q: Array, step: Array) -> Array:
        """q moved by increments of the unknowns."""
        dv = np.zeros(len(self._evaluation.description.velocities))
        dv[self._velocities] = step
        return self._evaluation.integrate(q, dv)
