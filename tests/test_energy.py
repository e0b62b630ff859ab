"""Ten seconds of free motion: the energy drifts by the integrator's error alone, which falls with its order.

`python -m benchmarks.energy` prints the numbers of docs/covariance.md, for the parallel ankle as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mechanics_support import shipped

import robocompiler as rc
from benchmarks.energy import FreeMotion, orders, study
from robocompiler.records.expressions import evaluate


def test_the_energy_of_the_four_bar_drifts_at_the_order_of_the_integrator(
    compiled: Callable[[str], rc.Robot], build_folder: Path
) -> None:
    """Halving the step of RK4 must divide the drift by 16 at least: nothing but the integrator errs."""
    robot = compiled("fourbar")
    losses = [x for joint in shipped("fourbar").joints for x in (*joint.damping, *joint.friction)]
    assert not any(evaluate(x, {}) for x in losses)
    runs = study(robot, build_folder / "fourbar")
    assert [run.step for run in runs] == [0.01, 0.005, 0.0025]
    assert all(run.residual < 1e-13 for run in runs)
    assert all(4.0 < order < 5.5 for order in orders(runs)), orders(runs)
    assert runs[-1].drift < 1e-6 * runs[-1].kinetic


def test_a_force_that_does_work_would_be_seen(compiled: Callable[[str], rc.Robot], build_folder: Path) -> None:
    """With a torque of 1 mN m on the crank the drift stays, however short the steps."""
    robot = compiled("fourbar")
    motion = FreeMotion(robot, build_folder / "fourbar", np.array([1e-3]))
    q = robot.assemble(robot.reference)
    coarse, fine = (motion.run(q, np.array([2.0]), step, seconds=1.0) for step in (0.005, 0.0025))
    assert coarse.drift == pytest.approx(fine.drift, rel=1e-2)
    assert fine.drift > 1e-4
