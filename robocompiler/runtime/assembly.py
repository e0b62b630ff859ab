"""Assembly: from any configuration to an assembled one on the authored branch, or a typed refusal.

1. What is closed already comes back bit for bit.
2. A configuration that differs from the reference in its independents only: continuation along the mechanism, from the
   reference, moving the independents to the wanted values.
3. Each module by Newton in C, the independents held.  It gives up rather than jump: on steps above half a radian or
   length scale, on a sign change of det R_p, on a residual that grows.
4. A module that fails there: continuation of the artificial defect from the given configuration.
5. If a module fails there too: the walk of 2.
Whatever results must pass the complete residual, the log domain, the branch signs and the joint limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.numerics.continuation import acquire
from robocompiler.numerics.gauss_newton import correct
from robocompiler.runtime.acceptance import Acceptance
from robocompiler.runtime.evaluation import Evaluation, Unknowns
from robocompiler.runtime.manifold import difference
from robocompiler.runtime.refusals import refuse_branch, refuse_limits, refuse_open

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SOLVED = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 2e-6}
ITERATIONS = 12
TRUSTED = 0.6  # scaled distance beyond which a Newton result is checked by continuation instead of believed


class Assembler:
    """Assembly for one robot in one chart."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.description = evaluation.description
        self.acceptance = Acceptance(evaluation)
        self._solved = SOLVED[evaluation.library.real]
        self._slack = 1e-12 if evaluation.library.real == np.float64 else 1e-5
        chart = self.description.charts[evaluation.chart]
        self._independent: Indices = np.array(chart["independent"], dtype=np.intp)
        self._own = self.acceptance.fixed_by(self._independent)
        self._moving = [joint for joint in self.description.joints if joint["role"] != "cut"]
        self._modules: list[dict[str, Any]] = [module for module in chart["modules"] if module["dependents"]]

    def assemble(self, q: Array, hold: Indices | None) -> Array:
        """The assembled configuration; AssemblyError if there is none that is admissible."""
        if self.acceptance.closed(q):
            refuse_limits(self.acceptance, q)
            return q.copy()
        if hold is not None:
            return self._assemble_holding(q, hold)
        others = np.setdiff1d(np.arange(q.size), self._own)
        followed = None
        if np.array_equal(q[others], self.description.reference[others]):  # only independents were set: walk there
            followed = self._follow(q)
            if self._admissible(q, followed):
                refuse_limits(self.acceptance, followed)
                return followed
        found, eta = self._solve_modules(q)
        if not self._admissible(q, found):
            followed = self._follow(q) if followed is None else followed
            if self._admissible(q, followed):
                found = followed
            elif not self.acceptance.closed(found):
                carried = followed.copy()
                carried[self._own] = q[self._own]
                refuse_open(self.acceptance, (q, carried), self._independent, eta)
            else:
                refuse_branch(self.acceptance, found, self.acceptance.off_branch(found))
        refuse_limits(self.acceptance, found)
        return found

    def _admissible(self, given: Array, found: Array) -> bool:
        """Closed, on the branch, with the independents where they were."""
        kept = np.abs(given[self._own] - found[self._own]).max(initial=0.0) <= self._slack
        return bool(kept) and self.acceptance.closed(found) and not self.acceptance.off_branch(found)

    def _distance(self, a: Array, b: Array) -> float:
        """Largest scaled increment from a to b over the active velocities."""
        dv = difference(self._moving, a, b, len(self.description.velocities))
        return float(np.abs(dv / self.description.column_scales)[self.description.active].max(initial=0.0))

    # --- from the given configuration ---

    def _solve_modules(self, q: Array) -> tuple[Array, float]:
        """Every module solved with the independents held, cut joints recovered; and the least eta reached."""
        current, reached = q, 1.0
        for module in self._modules:
            found, status = self.evaluation.correct_module(module["name"], current, self._solved, ITERATIONS)
            if status or self._distance(current, found) > TRUSTED:
                found, eta = self._acquire(module, current)
                reached = min(reached, eta)
            current = found
        return self.evaluation.recover(current), reached

    def _acquire(self, module: dict[str, Any], q: Array) -> tuple[Array, float]:
        """The artificial defect for one module's closures, over its dependents and its cut joints' velocities."""
        name = module["name"]
        closures = np.array(module["closures"], dtype=np.intp)
        cut = [i for c in closures for i in self.description.cut_velocities(int(c))]
        unknowns = Unknowns(self.evaluation, closures, np.array([*module["dependents"], *cut], dtype=np.intp))
        result = acquire(unknowns, self.evaluation.recover(q), lambda trial: self.acceptance.on_branch(trial, name))
        polished, status = self.evaluation.correct_module(name, result.q, self._solved, ITERATIONS)
        return (polished, result.eta) if status == 0 else (result.q, result.eta)

    # --- along the mechanism ---

    def _follow(self, q: Array) -> Array:
        """From the reference until the independents have the values that they have in q, or as far as that goes."""
        current = self.description.reference.copy()
        step = 0.25
        while True:
            ahead = difference(self._moving, current, q, len(self.description.velocities))
            du = ahead[self._independent]
            size = float(np.abs(du / self.description.column_scales[self._independent]).max(initial=0.0))
            fraction = min(1.0, step / size) if size > 0 else 1.0
            E, status = self.evaluation.lift(current)
            predicted = self.evaluation.recover(self.evaluation.integrate(current, fraction * (E @ du)))
            if fraction == 1.0:
                predicted[self._own] = q[self._own]
            found, corrected, _ = self.evaluation.correct(predicted, self._solved, ITERATIONS)
            # a correction as large as the move means that the tangent told nothing: a singular pose lies between
            smooth = self._distance(predicted, found) <= 0.25 * self._distance(current, predicted) + 1e-9
            if status == 0 and corrected == 0 and smooth and self.acceptance.closed(found):
                current = found
                if fraction == 1.0:
                    return current
                step = min(2 * step, 0.5)
            else:
                step = min(step, size) / 2
                if step < 1e-5:
                    return current

    # --- other coordinates held ---

    def _assemble_holding(self, q: Array, hold: Indices) -> Array:
        """Minimum-norm correction with the velocities in `hold` fixed; for far starts the artificial defect first."""
        start = self.evaluation.recover(q)
        free = np.flatnonzero(~np.isin(self.description.active, hold))
        found = correct(self.evaluation, start, free, tolerance=self._solved).q
        eta = 1.0
        if not self.acceptance.closed(found) or self._distance(start, found) > TRUSTED:
            velocities = np.setdiff1d(np.arange(len(self.description.velocities)), hold)
            closures = np.arange(len(self.description.closures))
            result = acquire(Unknowns(self.evaluation, closures, velocities), start, _anywhere)
            found, eta = correct(self.evaluation, result.q, free, tolerance=self._solved).q, result.eta
        own = self.acceptance.fixed_by(hold)
        if not self.acceptance.closed(found) or np.abs(q[own] - found[own]).max(initial=0.0) > self._slack:
            refuse_open(self.acceptance, (start,), hold, eta)
        refuse_limits(self.acceptance, found)
        return found


def _anywhere(_: Array) -> bool:
    """With other coordinates held the chart's branch signs mean nothing; continuity alone guards the branch."""
    return True
