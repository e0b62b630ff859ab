"""Whether C itself loses rank along a motion: by its singular values, and by what changes sign between two poses.

While a chart is regular, det R_p of a module can change sign only where its selected rows become dependent.  So a
change of sign between two poses at which the chart is good is looked into: the pose in between at which the sign
changes is found by bisection, and there the singular values decide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.numerics.gauss_newton import correct
from robocompiler.runtime.acceptance import Acceptance
from robocompiler.runtime.evaluation import Evaluation
from robocompiler.runtime.manifold import difference

Array = NDArray[np.float64]

HALVINGS = 30


@dataclass(frozen=True)
class RankChange:
    """The rank of the closures drops: when, how small the singular value that vanishes is there (relative to the
    largest; `next_value` is the one above it), and which closures take part.

    crossed: it lies between the pose checked last and this one.  q (nq,): the singular pose, or the nearest one met.
    """

    at: float
    rank: int
    value: float
    next_value: float
    closures: tuple[str, ...]
    crossed: bool
    q: Array


class RankWatch:
    """The rank of the scaled condensed Jacobian of one robot, pose after pose."""

    def __init__(self, evaluation: Evaluation, bound: float) -> None:
        self._evaluation, self._bound = evaluation, bound
        self._rank = evaluation.description.rank_report.rank
        self._last: tuple[Array, dict[str, int]] | None = None

    def reset(self) -> None:
        """Forget the pose of before."""
        self._last = None

    def enter(self, q: Array, acceptance: Acceptance) -> None:
        """Go on from q in another chart."""
        self._last = q, acceptance.orientations(q)

    def look(self, q: Array, acceptance: Acceptance, at: float) -> RankChange | None:
        """What there is to say about q, reached from the last pose in the chart of `acceptance`."""
        J = self._evaluation.jacobian(q)
        here = self._change(J, q, at, crossed=False)
        signs, last = acceptance.orientations_of(J), self._last
        self._last = q, signs
        if here is not None or last is None:
            return here
        turned = [name for name, sign in signs.items() if sign * last[1].get(name, sign) < 0]
        for name in turned:
            between = self.change_at(self._turning(last[0], q, acceptance, name), at, crossed=True)
            if between is not None:
                return between
        return None

    def change_at(self, q: Array, at: float, *, crossed: bool) -> RankChange | None:
        """The change of rank at q, None where the rank is what it was at compile time."""
        return self._change(self._evaluation.jacobian(q), q, at, crossed=crossed)

    def _change(self, J: Array, q: Array, at: float, *, crossed: bool) -> RankChange | None:
        if not self._rank:
            return None
        values = np.linalg.svd(J, compute_uv=False)
        value = float(values[self._rank - 1] / values[0])
        if value >= self._bound:
            return None
        U = np.linalg.svd(J)[0]
        above = float(values[self._rank - 2] / values[0]) if self._rank > 1 else 1.0
        return RankChange(at, self._rank, value, above, self._closures(U[:, self._rank - 1]), crossed, q.copy())

    def _closures(self, weights: Array) -> tuple[str, ...]:
        """Closures whose rows take part in the combination that vanishes."""
        found = []
        for closure in self._evaluation.description.closures:
            start, count = closure["condensed"]
            if count and np.abs(weights[start : start + count]).max() > 0.1 * np.abs(weights).max():
                found.append(str(closure["name"]))
        return tuple(found)

    def _turning(self, a: Array, b: Array, acceptance: Acceptance, module: str) -> Array:
        """The assembled pose between a and b at which det R_p of a module changes sign."""
        evaluation, description = self._evaluation, self._evaluation.description
        moving = [joint for joint in description.joints if joint["role"] != "cut"]
        way = difference(moving, a, b, len(description.velocities))
        every = np.arange(description.active.size)
        first = acceptance.orientations(a)[module]
        low, high, found = 0.0, 1.0, b
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            start = evaluation.recover(evaluation.integrate(a, middle * way))
            found = correct(evaluation, start, every, max_iterations=20).q
            low, high = (middle, high) if acceptance.orientations(found)[module] == first else (low, middle)
        return found
