"""The further charts that the reachable poses need: few, and one of them good at every regular pose.

How good a chart is at a pose is said by its lift, module by module, in scaled units,

    quality = 1 / max(1, |E_ij| of the dependents i and independents j of the module)

which is 1 where no dependent is faster than an independent and falls to 0 where R_p becomes singular.  It needs no
reference pose, compares charts with one another, and does not fall where C itself loses rank.  By Cramer's rule E_ij is
det R_p with column i exchanged for j, over det R_p: exchanging a large entry makes the determinant larger by it, and at
most poses a few exchanges lead to a chart of quality 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.modules import Samples
from robocompiler.analysis.selection import select_columns

Array = NDArray[np.float64]
Set = tuple[int, ...]

GOOD = 0.5  # quality that some chart of the cover has at every pose; the runtime changes to charts above 0.4
EXCHANGES = 60
TIED = 1e-6


@dataclass(frozen=True)
class Pose:
    """A pose to cover: the scaled Jacobian (m, n), and the charts barred there (off their branch, or without
    mechanics)."""

    jacobian: Array
    barred: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Choice:
    """Independents (column numbers) of a further chart and the numbers of the poses at which it is good."""

    independent: Set
    poses: tuple[int, ...]


@dataclass(frozen=True)
class Cover:
    """The further charts, how many poses there are, and how many of them no chart is good at."""

    choices: tuple[Choice, ...]
    poses: int
    uncovered: int


def motions(J: Array, freedoms: int) -> Array:
    """Orthonormal basis (n, d) of the motions that a scaled Jacobian of rank n - d allows."""
    if not J.shape[0]:
        return np.eye(J.shape[1])
    return np.asarray(np.linalg.svd(J)[2][J.shape[1] - freedoms :].T)


def lift_of(basis: Array, independent: Sequence[int]) -> Array | None:
    """E (n, d) in scaled units of the chart with these independents; None where it is singular."""
    square = basis[list(independent)]
    values = np.linalg.svd(square, compute_uv=False)
    if values.size and values[-1] < 1e-9:
        return None
    return np.asarray(np.linalg.solve(square.T, basis.T).T)


def quality_of(basis: Array, independent: Sequence[int]) -> float:
    """Quality of the whole chart at a pose: that of its worst module."""
    E = lift_of(basis, independent)
    return 0.0 if E is None else 1.0 / max(1.0, float(np.abs(E).max(initial=0.0)))


def improved(basis: Array, independent: Sequence[int]) -> Set:
    """The chart of quality 1 (nearly) that exchanges lead to from this one, one largest entry at a time.

    Where this one is singular the start is a pivoted choice.
    """
    chosen = list(independent)
    if lift_of(basis, chosen) is None:
        chosen = select_columns([basis.T], [range(basis.shape[0])], basis.shape[1], 1e-9)
    for _ in range(EXCHANGES):
        E = lift_of(basis, chosen)
        if E is None:
            break
        size = np.abs(E)
        if size.max(initial=0.0) <= 1.0 + TIED:
            break
        i, j = np.argwhere(size > (1 - TIED) * size.max())[0]  # the first of those that tie
        chosen[int(j)] = int(i)
    return tuple(sorted(chosen))


def covering(poses: Sequence[Pose], standing: Sequence[tuple[str, Sequence[int]]], freedoms: int, most: int) -> Cover:
    """At most `most` further charts so that at every pose some chart is good.

    Args:
        poses: regular poses met along the mechanism.
        standing: name and independents of the charts there are.

    The candidates are the standing charts themselves, without the branch that bars them, and at every pose that no
    chart is good at, what exchanges lead to.  The cover is greedy: most poses first, then the best worst quality.
    """
    bases = [motions(pose.jacobian, freedoms) for pose in poses]
    own = np.array([[quality_of(basis, chart) for _, chart in standing] for basis in bases]).reshape(len(poses), -1)
    for k, pose in enumerate(poses):
        own[k, [c for c, (name, _) in enumerate(standing) if name in pose.barred]] = 0.0
    best = own.max(axis=1, initial=0.0)
    left = [k for k in range(len(poses)) if best[k] < GOOD]
    candidates = {tuple(sorted(chart)) for _, chart in standing} if left else set()
    for k in left:
        if not any(quality_of(bases[k], chart) > 1 - TIED for chart in candidates):
            candidates.add(improved(bases[k], standing[int(np.argmax(own[k]))][1]))
    ordered = sorted(candidates)
    quality = {chart: np.array([quality_of(basis, chart) for basis in bases]) for chart in ordered}
    choices: list[Choice] = []
    while left and ordered and len(choices) < most:
        scores = [(int(np.sum(quality[chart][left] >= GOOD)), _worst(quality[chart], left)) for chart in ordered]
        top = max(scores)
        chart = ordered[scores.index(top)]
        if not top[0]:
            break
        good = tuple(int(k) for k in np.flatnonzero(quality[chart] >= GOOD))
        choices.append(Choice(chart, good))
        left = [k for k in left if k not in good]
    return Cover(tuple(choices), len(poses), len(left))


def _worst(quality: Array, poses: Sequence[int]) -> float:
    """Least quality over the poses at which it is good, to digits that do not depend on rounding."""
    good = [float(quality[k]) for k in poses if quality[k] >= GOOD]
    return round(min(good, default=0.0), 6)


def samples_at(samples: Samples, jacobians: Sequence[Array], most: int = 9) -> tuple[Samples, tuple[int, ...]]:
    """The samples at a spread of at most `most` of these Jacobians, and which they are."""
    picked = sorted({round(k) for k in np.linspace(0, len(jacobians) - 1, min(most, len(jacobians)))})
    chosen = tuple(jacobians[k] for k in picked)
    return Samples(chosen, samples.closure_rows, samples.touched, samples.active), tuple(picked)
