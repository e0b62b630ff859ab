"""Trajectories: one update per knot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from robocompiler.arguments import several
from robocompiler.runtime.motion.reports import Stop, TrajectoryResult
from robocompiler.runtime.motion.updater import Updater, Values


def trajectory(updater: Updater, knots: Iterable[Values | ArrayLike]) -> TrajectoryResult:
    """Move an updater through the inputs of every knot, as `Updater.set_many` takes them, until one is refused."""
    accepted, modes = [], Counter[str]()
    evaluations, residual = 0, 0.0
    stop: Stop | None = None
    for knot in several(knots, "knots", "inputs, as `Updater.set_many` takes them"):
        updater.set_many(knot)
        report = updater.update()
        evaluations += report.evaluations
        if report.stop is not None:
            stop = report.stop
            break
        accepted.append(updater.q)
        modes[report.mode] += 1
        residual = max(residual, report.residual)
    q = np.array(accepted) if accepted else np.empty((0, updater.q.size))
    return TrajectoryResult(q, dict(modes), evaluations, residual, stop)
