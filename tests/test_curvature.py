"""Leaving out Edot u: the closures part with an acceleration that grows with the square of the speeds.

With it they stay together to rounding.  The residual is formed in 50 digits by maximal coordinates, from accelerations
of the compiled C; `python -m benchmarks.curvature` has the excavator and the Kangaroo too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mechanics_support import random_state, shipped

import robocompiler as rc
from benchmarks.curvature import Loops

SPEEDS = {"fourbar": 5.0, "stewart": 0.25}


@pytest.mark.parametrize("name", SPEEDS)
def test_without_the_curvature_the_loops_part(name: str, compiled: Callable[[str], rc.Robot]) -> None:
    robot = compiled(name)
    loops = Loops(robot, shipped(name))
    q, u, random = random_state(robot, 31, SPEEDS[name])
    f = random.uniform(-10, 10, len(robot.ports))
    found = [loops.residuals(q, scale * u, f) for scale in (1.0, 2.0, 4.0)]
    assert found[0].without > 1e-2  # m/s^2 at ordinary speeds
    growth = [one.without / found[0].without for one in found]
    np.testing.assert_allclose(growth, [1, 4, 16], rtol=1e-9)
    for one in found:
        assert one.complete < 1e-13 * max(1.0, one.acceleration)
        assert one.complete < 1e-10 * one.without
    np.testing.assert_allclose(loops.residuals(q, 0 * u, f).without, 0, atol=1e-13 * max(1.0, found[0].acceleration))
