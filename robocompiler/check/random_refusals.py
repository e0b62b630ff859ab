"""Whether the compiler was right to refuse a random mechanism: the oracle's singular values must show why.

A random mechanism closes by construction, so that the only sound reason is a rank that is not clear: some combination
of the constraint rows nearly vanishes, at the reference or where the mechanism moves a little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import AssemblyError, RankError, RoboCompilerError
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.states import Pose
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]

NEARLY_SINGULAR = 1e-3  # of the largest singular value; rows of a usual draw stay above 1e-2
_ROUNDING = 1e-9  # below this a value belongs to rows that are redundant
_MOVES = 6
_STEP = 0.15  # rad or m


def smallest_value(mechanism: Mechanism) -> float:
    """The least singular value of the oracle's constraint rows, over the largest, that is no rounding.

    Taken at the reference and at random poses a small move away, as a mechanism that passes close to a singular pose
    has no clear rank either.  1 where nothing is constrained.
    """
    model = MaximalModel(mechanism)
    random = np.random.default_rng(0)
    pose = model.project(model.pose())
    values = [_least(model, pose)]
    for _ in range(_MOVES):
        moved = _moved(model, pose, random)
        values += [] if moved is None else [_least(model, moved)]
    return min(values)


def _least(model: MaximalModel, pose: Pose) -> float:
    values = np.asarray(model.state(pose).space.singular_values, dtype=float)
    kept = values[values > _ROUNDING * values[0]] if values.size else values
    return float(kept[-1] / values[0]) if kept.size else 1.0


def _moved(model: MaximalModel, pose: Pose, random: np.random.Generator) -> Pose | None:
    """A pose one random move away, or None where that does not close again."""
    null = model.state(pose).space.null
    if not null.shape[1]:
        return None
    step = null @ random.normal(size=null.shape[1])
    try:
        return model.project(model.moved(pose, (_STEP * step / np.abs(step).max()).tolist()))
    except (AssemblyError, RankError):
        return None


def justified(error: RoboCompilerError, mechanism: Mechanism) -> tuple[bool, str]:
    """(whether the refusal is right, the oracle's evidence)."""
    if not isinstance(error, RankError):
        return False, "the mechanism closes by construction"
    try:
        value = smallest_value(mechanism)
    except (AssemblyError, RankError) as fault:
        return False, f"the oracle fails as well: {fault}"
    return value < NEARLY_SINGULAR, f"smallest singular value of the oracle's constraint rows: {value:.1e}"
