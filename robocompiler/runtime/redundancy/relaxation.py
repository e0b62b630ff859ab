"""Relaxation policies: what may give way where task and bounds contradict each other, declared by the caller.

A policy acts only on an infeasible problem, and its result says what it did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import mapping, number, several, texts
from robocompiler.errors import ArgumentError, RoboCompilerError
from robocompiler.runtime.redundancy.conflicts import Conflict
from robocompiler.runtime.redundancy.problem import Problem, Solution
from robocompiler.runtime.redundancy.solver import OPTIMAL, quadratic_program, solve

Array = NDArray[np.float64]
ROUNDS = 60
PROXIMAL_STEPS = 80


@dataclass(frozen=True)
class Relaxed:
    """A solution with what was given up for it: the task's scale, and slack of rows (J u - w, or A u - b > 0)."""

    solution: Solution
    scale: float
    task_slack: Array
    bound_slack: Array


class Relaxation(Protocol):
    """Anything that makes an infeasible problem feasible, or tells which of the rows that it must keep conflict."""

    def relaxed(
        self, problem: Problem, first: Conflict, tasks: Sequence[str], bounds: Sequence[str]
    ) -> Relaxed | Conflict:
        """`first`: the conflict of the problem as it stands; tasks, bounds: the names of its rows."""


@dataclass(frozen=True)
class ScaleTask:
    """J u = s w with the largest s in [0, 1] that the bounds allow: the same direction, slower.

    rows: names or patterns ('toe *') of the task rows to scale; the others stay as they are.

    Each conflict (lambda, mu) bounds s by 0 <= b^T lambda + w(s)^T mu; there are finitely many, and following them down
    from s = 1 ends at the largest feasible s itself, not near it.
    """

    rows: Sequence[str] = ("*",)

    def __post_init__(self) -> None:
        texts(self.rows, "rows", "names or patterns of rows")

    def relaxed(
        self, problem: Problem, first: Conflict, tasks: Sequence[str], bounds: Sequence[str]
    ) -> Relaxed | Conflict:
        """See `Relaxation.relaxed`."""
        chosen = matching(self.rows, tasks)
        moving, still = np.where(chosen, problem.w, 0.0), np.where(chosen, 0.0, problem.w)
        found, s = first, 1.0
        for _ in range(ROUNDS):
            slope = float(found.mu @ moving)
            if slope >= 0:  # slower does not help
                return found
            cut = -float(found.lam @ problem.b + found.mu @ still) / slope
            if cut < -1e-12:
                return found
            s = max(0.0, min(cut, s * (1 - 1e-14)))
            answer = solve(replace(problem, w=still + s * moving))
            if isinstance(answer, Solution):
                return Relaxed(answer, s, (s - 1) * moving, np.zeros(len(problem.b)))
            if s == 0.0:
                return answer
            found = answer
        raise RoboCompilerError(f"the largest feasible scale of the task was not found in {ROUNDS} steps")


@dataclass(frozen=True)
class Slack:
    """Rows that may be missed, the most important first: levels = ({name or pattern: weight, ...}, ...).

    Rows in no level hold exactly.  Level by level, the least sum of weight slack^2 (slack in the row's own unit) that
    the levels before leave possible is found and kept; the motion is then the best one with just those slacks.
    """

    levels: Sequence[Mapping[str, float]]

    def __post_init__(self) -> None:
        mend = "write [level] for a single one" if isinstance(self.levels, Mapping) else ""
        for level in several(self.levels, "levels", "mappings {row or pattern: weight}", mend):
            mapping(level, "every entry of levels", "{row or pattern: weight}")

    def relaxed(
        self, problem: Problem, first: Conflict, tasks: Sequence[str], bounds: Sequence[str]
    ) -> Relaxed | Conflict:
        """See `Relaxation.relaxed`."""
        m, names = len(tasks), (*tasks, *bounds)
        weights = [self._weights(level, names) for level in self.levels]
        pending = np.any([weight > 0 for weight in weights], axis=0) if weights else np.zeros(len(names), dtype=bool)
        slack = np.zeros(len(names))
        hard = solve(_part(problem, ~pending, slack))
        if isinstance(hard, Conflict):
            return _spread(hard, ~pending, m)
        for weight in weights:
            own = pending & (weight > 0)
            slack[own] = _least_slack(problem, ~pending, own, weight[own], slack)
            pending = pending & ~own
        answer = solve(_part(problem, np.ones(len(names), dtype=bool), slack))
        if isinstance(answer, Conflict):
            raise RoboCompilerError("the least slacks were lost in rounding; give the weights less different sizes")
        return Relaxed(answer, 1.0, slack[:m], slack[m:])

    @staticmethod
    def _weights(level: Mapping[str, float], names: Sequence[str]) -> Array:
        weights = np.zeros(len(names))
        for pattern, weight in level.items():
            size = number(weight, f"the weight of the slack of {pattern!r}", above=0.0)
            weights[matching((pattern,), names)] = size
        return weights


def matching(patterns: Sequence[str], names: Sequence[str]) -> NDArray[np.bool_]:
    """Mask of the names that equal or match a pattern.  ValueError for a pattern that none does."""
    mask = np.zeros(len(names), dtype=bool)
    for pattern in patterns:
        hits = np.array([name == pattern or fnmatchcase(name, pattern) for name in names], dtype=bool)
        if not hits.any():
            raise ArgumentError(f"no row is called {pattern!r}; there are {', '.join(names) or 'none'}")
        mask |= hits
    return mask


def _part(problem: Problem, kept: NDArray[np.bool_], slack: Array) -> Problem:
    """The problem with some of its rows (task rows first), their right-hand sides moved by their slack."""
    m = len(problem.w)
    t, b = kept[:m], kept[m:]
    return replace(problem, J=problem.J[t], w=(problem.w + slack[:m])[t], A=problem.A[b], b=(problem.b + slack[m:])[b])


def _spread(found: Conflict, kept: NDArray[np.bool_], m: int) -> Conflict:
    """A conflict of some rows as one of all."""
    mu, lam = np.zeros(m), np.zeros(len(kept) - m)
    mu[kept[:m]], lam[kept[m:]] = found.mu, found.lam
    return Conflict(lam, mu, found.gap)


def _least_slack(
    problem: Problem, hard: NDArray[np.bool_], soft: NDArray[np.bool_], weights: Array, slack: Array
) -> Array:
    """Slacks of the soft rows with the least weighted sum of squares, the hard ones (with their slack) kept.

    Unknowns are x = L^T u and t, scaled to |t| = 1 per unit of cost; rows: hard equalities, soft ones J u - t = w, hard
    bounds, soft ones A u - t <= b.
    """
    m, d = len(problem.w), len(problem.c)
    left = np.linalg.solve(problem.L, np.vstack((problem.J, problem.A)).T).T
    right = np.concatenate((problem.w, problem.b)) + slack
    place = np.zeros((len(right), int(soft.sum())))
    place[soft] = -np.diag(1 / np.sqrt(weights))
    equal, taken = np.arange(len(right)) < m, hard | soft
    rows = _FlatRows.of(np.hstack((left, place))[taken], right[taken], equal[taken], d)
    # read off x, so that x itself keeps the rows so relaxed
    missed = (left @ rows.minimiser()[:d] - right)[soft]
    return np.where(equal[soft], missed, np.maximum(missed, 0.0))


@dataclass(frozen=True)
class _FlatRows:
    """min 1/2 |t|^2 over (x, t) with rows (x, t) <= right, = right where `equal`; d: size of x.  Rows of length 1."""

    rows: Array
    right: Array
    equal: NDArray[np.bool_]
    d: int

    @staticmethod
    def of(rows: Array, right: Array, equal: NDArray[np.bool_], d: int) -> _FlatRows:
        """Rows divided by their length, (x, t) by the largest right-hand side that keeps it from zero."""
        size = np.linalg.norm(rows, axis=1)
        right = right / size
        return _FlatRows(rows / size[:, None], right, equal, d)

    def minimiser(self) -> Array:
        """(x, t).  The cost is flat along x, so that x approaches by proximal steps: min 1/2 |t|^2 + eps/2 |x - x_k|^2.

        What a step leaves of the conditions of optimality is eps |x - x_k|.  Small eps need few steps, and large ones
        are easier on the solver: eps falls while it succeeds, and rises where it does not.
        """
        along = np.arange(self.rows.shape[1]) < self.d
        flat, cost = np.diag(along.astype(np.float64)), np.diag((~along).astype(np.float64))
        top = float(np.abs(self.right[self.equal | (self.right < 0)]).max(initial=0.0)) or 1.0
        near, eps, rounding = np.zeros(len(along)), 1e-2, 1e-12
        for _ in range(PROXIMAL_STEPS):
            z, flag, _ = quadratic_program(
                cost + eps * flat, -eps * near, self.rows, self.right / top, self.equal, 1e-11
            )
            if flag != OPTIMAL:
                eps *= 30
                continue
            miss = eps * float(np.linalg.norm((z - near)[along]))
            if miss <= rounding * (1 + float(np.linalg.norm(z[along]))):
                return z * top
            near, eps = np.where(along, z, 0.0), max(eps / 4, 1e-7)
        raise RoboCompilerError("the least slack was not found; give rows and weights less different sizes")
