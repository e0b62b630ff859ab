"""Assembly: from any configuration to an assembled one on the authored branch, or a typed refusal.

1. What is closed already comes back bit for bit.
2. Newton in C, module by module, with the independents held.  It gives up rather than jump: on steps above half a
radian
   or length scale, on a sign change of det R_p, on a residual that grows.
3. Continuation of the artificial defect from the given configuration.
4. Continuation along the mechanism, from the reference, moving the independents to the wanted values.
Whatever results must pass the complete residual, the log domain, the branch signs and the joint limits.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import AssemblyError
from robocompiler.numerics.continuation import acquire
from robocompiler.numerics.gauss_newton import correct, smallest_gap
from robocompiler.runtime.evaluation import Evaluation
from robocompiler.runtime.manifold import difference

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SOLVED = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 2e-6}
ACCEPTED = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 2e-5}
ITERATIONS = 12


class Assembler:
    """Assembly for one robot in one chart."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.description = evaluation.description
        self.solved = SOLVED[evaluation.library.real]
        # redundant rows of the records may disagree by the floor found at compile time; nothing closes better than that
        self.accepted = max(ACCEPTED[evaluation.library.real], 8 * self.description.floor)
        self._row_scales = self.description.augmented_scales()
        chart = self.description.charts[evaluation.chart]
        self._independent: Indices = np.array(chart["independent"], dtype=np.intp)
        place = {int(index): k for k, index in enumerate(self.description.active)}
        self._blocks = [
            (np.array(m["rows"]), np.array([place[i] for i in m["dependents"]]), m["sign"], m["name"])
            for m in chart["modules"]
            if m["dependents"]
        ]

    # --- acceptance ---

    def closed(self, q: Array) -> float:
        """Largest scaled augmented residual; infinite outside the log domain."""
        rho = self.evaluation.residual(q)
        if not np.all(np.isfinite(rho)) or self._turned(rho):
            return float("inf")
        return float(np.abs(rho / self._row_scales).max(initial=0.0))

    def _turned(self, rho: Array) -> str:
        """The chord that is near the edge of the logarithm's domain, '' if none is."""
        for k, name in enumerate(self.description.chords):
            if np.linalg.norm(rho[6 * k : 6 * k + 3]) > self.description.refused_rotation:
                return name
        return ""

    def on_branch(self, q: Array) -> bool:
        """Whether det R_p of every module has its sign of the reference."""
        J = self.evaluation.jacobian(q)
        return all(np.linalg.slogdet(J[np.ix_(rows, columns)])[0] == sign for rows, columns, sign, _ in self._blocks)

    # --- solving ---

    def assemble(self, q: Array, hold: Indices | None) -> Array:
        """The assembled configuration; AssemblyError if there is none that is admissible."""
        if self.closed(q) <= self.accepted:
            self._check_limits(q)
            return q.copy()
        if hold is not None:
            return self._finish(q, self._assemble_holding(q, hold), hold)
        found, status, _ = self.evaluation.correct(q, self.solved, ITERATIONS)
        if status == 0 and self.closed(found) <= self.accepted and self.on_branch(found):
            return self._finish(q, found, self._independent)
        for attempt in (self._acquire, self._follow):
            found = attempt(q)
            if self.closed(found) <= self.accepted and self.on_branch(found):
                return self._finish(q, found, self._independent)
        return self._finish(q, found, self._independent)

    def _polish(self, q: Array) -> Array:
        found, status, _ = self.evaluation.correct(q, self.solved, ITERATIONS)
        return found if status == 0 else q

    def _acquire(self, q: Array) -> Array:
        """Artificial defect from q with the independents held."""
        start = self.evaluation.recover(q)
        free = np.setdiff1d(np.arange(len(self.description.velocities)), self._independent)
        return self._polish(acquire(self.evaluation, start, free, self.on_branch).q)

    def _follow(self, q: Array) -> Array:
        """Along the mechanism from the reference, until the independents have the values that they have in q."""
        current = self.description.reference.copy()
        own = self._wholly_held(self._independent)
        step = 0.25
        while True:
            ahead = difference(self.description.joints, current, q, len(self.description.velocities))
            du = ahead[self._independent]
            size = float(np.abs(du / self.description.column_scales[self._independent]).max(initial=0.0))
            fraction = min(1.0, step / size) if size > 0 else 1.0
            E, status = self.evaluation.lift(current)
            predicted = self.evaluation.recover(self.evaluation.integrate(current, fraction * (E @ du)))
            if fraction == 1.0:
                predicted[own] = q[own]
            found, corrected, _ = self.evaluation.correct(predicted, self.solved, ITERATIONS)
            if status == 0 and corrected == 0 and self.closed(found) <= self.accepted:
                current = found
                if fraction == 1.0:
                    return current
                step = min(2 * step, 0.5)
            else:
                step = min(step, size) / 2
                if step < 1e-5:
                    return current

    def _wholly_held(self, hold: Indices) -> Indices:
        """Coordinates that holding these velocities fixes.

        A ball of which only some angular velocities are held has none: no coordinate belongs to a single one of them.
        """
        held = set(map(int, hold))
        found: list[int] = []
        for joint in self.description.joints:
            (q0, nq), (v0, nv) = joint["q"], joint["v"]
            if nq == nv:
                found += [q0 + k for k in range(nq) if v0 + k in held]
            elif set(range(v0, v0 + nv)) <= held:
                found += range(q0, q0 + nq)
        return np.array(found, dtype=np.intp)

    def _assemble_holding(self, q: Array, hold: Indices) -> Array:
        """Minimum-norm correction with the velocities in `hold` fixed, then the artificial defect."""
        start = self.evaluation.recover(q)
        free_active = np.flatnonzero(~np.isin(self.description.active, hold))
        found = correct(self.evaluation, start, free_active, tolerance=self.solved)
        small = np.abs(difference(self.description.joints, start, found.q, len(self.description.velocities)))
        if self.closed(found.q) <= self.accepted and np.all(small <= 1.0 * self.description.column_scales):
            return found.q
        free = np.setdiff1d(np.arange(len(self.description.velocities)), hold)
        acquired = acquire(self.evaluation, start, free, _always)
        return correct(self.evaluation, acquired.q, free_active, tolerance=self.solved).q

    # --- outcome ---

    def _finish(self, given: Array, found: Array, hold: Indices) -> Array:
        """`found` if it is admissible, else the refusal that explains."""
        if self.closed(found) > self.accepted:
            self._refuse_open(given, found, hold)
        if hold is self._independent and not self.on_branch(found):
            self._refuse_branch(found)
        slack = 1e-12 if self.evaluation.library.real == np.float64 else 1e-5
        held = self._wholly_held(hold)
        if np.abs(given[held] - found[held]).max(initial=0.0) > slack:
            self._refuse_open(given, found, hold)
        self._check_limits(found)
        return found

    def _check_limits(self, q: Array) -> None:
        limits = self.description.violated_limits(q)
        if limits:
            name, (value, lower, upper) = next(iter(limits.items()))
            raise AssemblyError(
                f"assembled, but {name} is {value:.9g}, outside its limits [{lower:.6g}, {upper:.6g}]"
                + (f" (and {len(limits) - 1} more)" if len(limits) > 1 else ""),
                residual=self.closed(q),
                joint=name,
                eta=1.0,
                limits=limits,
                q=q,
            )

    def _refuse_branch(self, q: Array) -> NoReturn:
        J = self.evaluation.jacobian(q)
        flipped = [
            name for rows, columns, sign, name in self._blocks if np.linalg.slogdet(J[np.ix_(rows, columns)])[0] != sign
        ]
        raise AssemblyError(
            f"the loops close only on another assembly branch ({', '.join(flipped)})",
            residual=self.closed(q),
            joint=flipped[0] if flipped else "",
            eta=1.0,
            q=q,
        )

    def _refuse_open(self, given: Array, reached: Array, hold: Indices) -> NoReturn:
        """Find the smallest gap with the held coordinates fixed, and report it."""
        free = np.flatnonzero(~np.isin(self.description.active, hold))
        starts = [self.evaluation.recover(given)]
        carried = reached.copy()
        if hold is self._independent:
            own = self._wholly_held(hold)
            carried[own] = given[own]
            starts.append(self.evaluation.recover(carried))
        candidates = [smallest_gap(self.evaluation, start, free) for start in starts]
        best = min(candidates, key=lambda q: float(np.linalg.norm(self.evaluation.rows(q))))
        rho = self.evaluation.residual(best)
        gap = self._gaps(rho)
        size = {name: m / self.description.length + r for name, (m, r) in gap.items()}
        worst = max(size, key=lambda name: size[name])
        metres, radians = gap[worst]
        held = ", ".join(self.description.velocities[i] for i in hold[:6]) + (", ..." if hold.size > 6 else "")
        raise AssemblyError(
            f"the loops cannot be closed with {held or 'nothing'} held; the smallest gap found is {metres:.6g} m and "
            f"{radians:.6g} rad, at {worst}",
            residual=float(np.abs(rho / self._row_scales).max(initial=0.0)),
            gap=gap,
            joint=worst,
            eta=0.0,
            limits=self.description.violated_limits(best),
            q=best,
        )

    def _gaps(self, rho: Array) -> dict[str, tuple[float, float]]:
        gaps = {}
        for closure in self.description.closures:
            start, count = closure["augmented"]
            part = rho[start : start + count]
            if closure["kind"] == "coupling":
                gaps[closure["name"]] = (0.0, float(abs(part[0])))
            else:
                gaps[closure["name"]] = (float(np.linalg.norm(part[3:])), float(np.linalg.norm(part[:3])))
        return gaps


def _always(_: Array) -> bool:
    return True
