"""A spanning tree seen from the maximal model, in many digits: how tree velocities and bodies belong together.

The rows of the tree's own constraints and of its joint velocities form a square system T, so that the accelerations of
all bodies follow from those of the tree joints, and forces on bodies become forces on tree joints by T^T.  The inverse
is taken in double; refinement with residuals in many digits makes the result good to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.relative import Row
from robocompiler.oracle.states import State

ROUNDS = 4  # each gains some twelve digits


class Tree:
    """The tree whose joints are not among `chords`, at a state."""

    def __init__(self, model: MaximalModel, state: State, chords: Sequence[str]) -> None:
        self.model = model
        apart = set(chords)
        self.joints = [joint for joint in model.scene.joints if joint.name not in apart]
        names = {joint.name for joint in self.joints}
        own = [row for row, (name, _) in zip(state.rows, state.row_names, strict=True) if name in names]
        self.closing = [row for row, (name, _) in zip(state.rows, state.row_names, strict=True) if name not in names]
        self.velocities = [name for joint in self.joints for name in joint.velocities]
        self.own = len(own)
        self.rows: list[Row] = [*own, *(state.rates[name] for name in self.velocities)]
        T = np.zeros((len(self.rows), model.columns))
        for k, row in enumerate(self.rows):
            for column, entry in row.entries.items():
                T[k, column] = float(entry)
        self.inverse = np.linalg.inv(T)  # square, as a tree's freedoms and constraints count all bodies

    def efforts(self, force: Sequence[Any]) -> dict[str, float]:
        """Forces on the tree's velocities that do the work of forces on all bodies, rounded to double once."""
        number = self.model.arithmetic.number
        with self.model.arithmetic.context():
            y = [number(0.0)] * len(self.rows)
            for _ in range(ROUNDS):
                left = list(force)
                for row, value in zip(self.rows, y, strict=True):
                    for column, entry in row.entries.items():
                        left[column] -= entry * value
                step = self.inverse.T @ np.array([float(x) for x in left])
                y = [x + number(float(s)) for x, s in zip(y, step, strict=True)]
            return dict(zip(self.velocities, map(float, y[self.own :]), strict=True))

    def residual(self, rates: Sequence[float], exact: Sequence[Any], bodies: Sequence[Any]) -> float:
        """r_c: the largest |A a + Adot V| over the closing rows at accelerations of the tree joints.

        `exact` and `bodies` are accelerations of the tree joints and of all bodies that belong together, in many
        digits: the rates' small difference from `exact` moves the bodies linearly, for which double is enough.
        """
        number = self.model.arithmetic.number
        with self.model.arithmetic.context():
            wanted = np.zeros(len(self.rows))
            wanted[self.own :] = [float(number(float(x)) - y) for x, y in zip(rates, exact, strict=True)]
            apart = (self.inverse @ wanted).tolist()
            return max((abs(float(row(bodies) + row.bias + row(apart))) for row in self.closing), default=0.0)
