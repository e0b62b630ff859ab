"""Which pins of crosses (`repair.crosses`) hold the nearly redundant rows of a closure Jacobian."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.numerics.gap import CLEAR, NOISE
from robocompiler.repair.crosses import Cross, crosses

Array = NDArray[np.float64]

SHARE = 0.01  # of the squares of a nearly vanishing combination of rows: less is another joint's


def nearly_redundant_pins(evaluator: ClosureEvaluator, J: Array) -> tuple[tuple[Cross, ...], bool]:
    """The pins that take part in nearly vanishing combinations of rows of J (m, active), and whether only they do."""
    U, values, _ = np.linalg.svd(J)
    relative = values / max(float(values[0]), 1e-300) if values.size else values
    nearly = np.abs(U[:, np.flatnonzero((relative > NOISE) & (relative <= CLEAR))]) ** 2
    closures = evaluator.program.closures
    rows = {closure.name: list(own) for closure, own in zip(closures, evaluator.closure_rows, strict=True)}
    topology = evaluator.program.topology
    found, held = [], np.zeros(nearly.shape[1])
    for cross in crosses(topology.mechanism, {chord.joint for chord in topology.chords}):
        share = nearly[[row for name in cross.joints for row in rows[name]]].sum(axis=0)
        if share.max(initial=0.0) > SHARE:
            found.append(cross)
            held += share
    return tuple(found), bool(found) and bool(held.min(initial=1.0) > 1 - SHARE)
