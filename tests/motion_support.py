"""What the tests of the motion layer share: random inputs, the oracle's closure of a configuration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.runtime.motion.reports import UpdateReport
from robocompiler.runtime.motion.updater import Updater

Array = NDArray[np.float64]


def step_inputs(
    updater: Updater, random: np.random.Generator, scales: Array, only: Sequence[int] | None = None
) -> None:
    """Advance all inputs, or `only` some, by up to `scales` (d,)."""
    chosen = range(len(updater.inputs)) if only is None else only
    for index in chosen:
        updater.advance(index, float(scales[index] * random.uniform(-1, 1)))


def scales(robot: rc.Robot, size: float) -> Array:
    """`size` radians or length scales for every input (d,)."""
    description = robot._description
    return size * description.column_scales[description.independent("port")]


def follow_randomly(
    updater: Updater, random: np.random.Generator, size: Array, steps: int
) -> tuple[list[Array], list[UpdateReport]]:
    """A random walk: all inputs or one per update; what is refused is taken back and must have changed nothing."""
    found, reports = [], []
    for _ in range(steps):
        alone = random.random() < 0.5
        step_inputs(updater, random, size, [int(random.integers(size.size))] if alone else None)
        before = updater.snapshot()
        report = updater.update()
        reports.append(report)
        if report.ok:
            found.append(updater.q)
        else:
            assert updater.snapshot() == before
            updater.revert()
    return found, reports


def agrees_with_the_oracle(model: MaximalModel, robot: rc.Robot, q: Array, tolerance: float) -> None:
    """The oracle, begun at q, closes its own constraints there without moving a body by more than `tolerance`."""
    values = dict(zip(robot.coordinates, map(float, q), strict=True))
    pose = model.project(model.pose(values), robot.independent)
    for solid, R, p in zip(model.scene.solids, pose.poses.R, pose.poses.p, strict=True):
        ours = robot.pose(solid.name, q)
        np.testing.assert_allclose(ours[0], np.array(R, dtype=float), atol=tolerance, err_msg=solid.name)
        np.testing.assert_allclose(ours[1], np.array(p, dtype=float), atol=tolerance, err_msg=solid.name)
