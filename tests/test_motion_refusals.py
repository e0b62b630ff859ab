"""Inputs that the motion layer and simulations refuse, whole: found by a new user who tried to break them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import robocompiler as rc


def test_inputs_beyond_all_numbers_are_refused_and_nothing_moves(compiled: Callable[[str], rc.Robot]) -> None:
    robot = compiled("five_bar")
    updater = robot.updater(robot.reference)
    name = updater.inputs[0]
    for value in (1e31, -1e100):
        with pytest.raises(ValueError, match="beyond 1e"):
            updater.set(name, value)
        with pytest.raises(ValueError, match="beyond 1e"):
            robot.follow(robot.reference, {name: value})
        with pytest.raises(ValueError, match="was not taken"):
            updater.advance(name, value)
    assert updater.update().mode == "rested"
    assert np.array_equal(updater.q, robot.reference)


def test_several_inputs_are_set_all_or_not_at_all(compiled: Callable[[str], rc.Robot]) -> None:
    robot = compiled("five_bar")
    updater = robot.updater(robot.reference)
    first, second = updater.inputs[:2]
    here = updater.q[robot.coordinates.index(first)]
    for wrong, message in (([1.0, 2.0], "must have shape"), (1e40, "beyond 1e"), (np.nan, "not finite")):
        with pytest.raises(ValueError, match=message):
            updater.set_many({first: here + 0.1, second: wrong})
        report = updater.update()
        assert (report.mode, report.moved) == ("rested", ())
        assert np.array_equal(updater.q, robot.reference)
    with pytest.raises(ValueError, match="beyond 1e"):
        updater.set_many([here + 0.1, 1e40])
    assert updater.update().mode == "rested"


def test_the_state_of_a_simulation_is_not_for_its_functions_to_change(compiled: Callable[[str], rc.Robot]) -> None:
    robot = compiled("five_bar")

    def pushing(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        q[0] += 0.001
        return [0.0, 0.0]

    def watching(t: float, q: np.ndarray, u: np.ndarray) -> float:
        u[0] = 3.0
        return 1.0

    with pytest.raises(ValueError, match="read-only"):
        robot.simulate(0.01, controller=pushing, step=1e-3)
    with pytest.raises(ValueError, match="read-only"):
        robot.simulate(0.01, events=[rc.simulation.Event("watch", watching)], step=1e-3)
    with pytest.raises(ValueError, match="step is too short"):
        robot.simulate(0.05, step=1e-20)
