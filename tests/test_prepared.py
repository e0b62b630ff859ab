"""Prepared calls of a robot with run-time parameters equal the robot's own methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from walker import built_walker, moved

import robocompiler as rc
from robocompiler.runtime.prepared import _FUNCTIONS


@pytest.fixture(scope="module")
def robot(build_folder: Path) -> rc.Robot:
    """The walker with another payload than its default."""
    return rc.load(built_walker(build_folder)).with_parameters({"payload": 3.5})


@pytest.mark.parametrize("name", sorted(_FUNCTIONS))
def test_prepared_calls_know_the_parameters(robot: rc.Robot, name: str) -> None:
    call = robot.prepare(name)
    random = np.random.default_rng(1)
    given: dict[str, Any] = {argument: random.uniform(-1, 1, array.shape) for argument, array in call.inputs.items()}
    given["q"] = moved(robot, 1)
    for argument, array in call.inputs.items():
        array[...] = given[argument]
    assert call() == 0
    q, others = given["q"], [given[argument] for argument in call.inputs if argument != "q"]
    if name == "forward_dynamics_with":
        u, f, tau = others
        wanted = robot.forward_dynamics(q, u, f) + np.linalg.solve(robot.mass_matrix(q), tau)
    elif name == "joint_friction":
        wanted = np.zeros(len(robot.velocities))  # the walker has none
    else:
        wanted = getattr(robot, name)(q, *others)
    np.testing.assert_allclose(call.output, wanted, rtol=1e-12, atol=1e-12)
