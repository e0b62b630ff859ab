"""Continuation along the mechanism: long moves, and the typed ends of those that cannot be made."""

from __future__ import annotations

from collections.abc import Callable
from math import acos, pi

import numpy as np
import pytest
from case_models import built, mechanism
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.records.model import Mechanism
from robocompiler.runtime.motion.reports import Cause

Array = NDArray[np.float64]
Get = Callable[[str], rc.Robot]
CRANK, COUPLER, ROCKER, BASE = 0.3, 1.0, 0.6, 0.9  # metres, models/fourbar.yaml


def driven_rocker() -> Mechanism:
    """The four-bar with its motor on the long rocker, which cannot turn all the way."""
    link = {"mass": 1.0, "inertia": [0.01, 0.01, 0.01]}
    hinge = {"type": "revolute", "axis": [0, -1, 0]}
    return mechanism(
        "rocked",
        {
            "bodies": dict.fromkeys(("crank", "coupler", "rocker"), link),
            "joints": {
                "j_ga": {**hinge, "a": "world", "b": "crank"},
                "j_ab": {**hinge, "a": {"body": "crank", "xyz": [CRANK, 0, 0]}, "b": "coupler"},
                "j_bc": {**hinge, "a": {"body": "coupler", "xyz": [COUPLER, 0, 0]},
                         "b": {"body": "rocker", "xyz": [ROCKER, 0, 0]}},
                "j_gc": {**hinge, "a": {"body": "world", "xyz": [BASE, 0, 0]}, "b": "rocker"},
            },
            "ports": {"motor": {"joint": "j_gc"}},
            "reference": {"joints": {"j_gc": 1.9, "j_ga": 0.9, "j_ab": -0.6}},
        },
    )  # fmt: skip


def dead_centres() -> tuple[float, float]:
    """Angles of the rocker (from the base line, outwards) at which crank and coupler are stretched and folded."""
    angles = []
    for reach in (COUPLER + CRANK, COUPLER - CRANK):  # the triangle of base, rocker and the straightened pair
        inner = (BASE**2 + ROCKER**2 - reach**2) / (2 * BASE * ROCKER)
        angles.append(pi - acos(inner))
    return min(angles), max(angles)


@pytest.mark.parametrize("target", [0.0, 3.1])
def test_a_rocker_stops_at_its_dead_centres(build_folder, target: float) -> None:  # type: ignore[no-untyped-def]
    robot = built(build_folder, driven_rocker())
    assert robot.independent == ("j_gc",)
    path = robot.follow(robot.reference, {"j_gc": target})
    assert not path.reached and path.stop is not None
    assert path.stop.cause is Cause.DEAD_CENTRE
    assert path.stop.module == robot.modules[0].name
    assert path.stop.dependent in robot.modules[0].dependents
    assert path.stop.pivot is not None and path.stop.pivot < 2e-2
    low, high = dead_centres()
    expected = low if target < 1.0 else high
    assert abs(robot.joint(path.q, "j_gc") - expected) < 2e-6  # smallest step 1e-7, scaled
    start = robot.joint(robot.reference, "j_gc")
    assert abs(path.fraction - (robot.joint(path.q, "j_gc") - start) / (target - start)) < 1e-12
    # at the dead centre crank and coupler are in line: to the square root of the distance that is left
    assert abs(np.sin(robot.joint(path.q, "j_ab"))) < 2e-2
    assert np.abs(robot.residual(path.q)).max() < 1e-12


def test_a_single_update_across_a_dead_centre_says_so_too(build_folder) -> None:  # type: ignore[no-untyped-def]
    robot = built(build_folder, driven_rocker())
    updater = robot.updater(robot.reference)
    updater.set("j_gc", dead_centres()[1] + 0.2)
    before = updater.snapshot()
    stop = updater.update().stop
    assert stop is not None and stop.cause is Cause.DEAD_CENTRE and updater.snapshot() == before
    reached = robot.joint(robot.reference, "j_gc") + stop.fraction * (
        dead_centres()[1] + 0.2 - robot.joint(robot.reference, "j_gc")
    )
    assert abs(reached - dead_centres()[1]) < 2e-6


def test_the_slider_of_a_slider_crank_stops_where_crank_and_rod_are_in_line(
    build_folder,
    compiled: Get,  # type: ignore[no-untyped-def]
) -> None:
    link = {"mass": 1.0, "inertia": [0.01, 0.01, 0.01]}
    records = mechanism(
        "pushed",
        {
            "bodies": dict.fromkeys(("crank", "rod", "slider"), link),
            "joints": {
                "crank": {"type": "revolute", "axis": [0, -1, 0], "a": "world", "b": "crank"},
                "pin": {"type": "revolute", "axis": [0, -1, 0], "a": {"body": "crank", "xyz": [0.1, 0, 0]}, "b": "rod"},
                "wrist": {"type": "revolute", "axis": [0, -1, 0], "a": {"body": "rod", "xyz": [0.35, 0, 0]},
                          "b": "slider"},
                "slide": {"type": "prismatic", "axis": [1, 0, 0], "a": "world", "b": "slider"},
            },
            "ports": {"piston": {"joint": "slide"}},
            "reference": {"joints": {"crank": 1.0, "pin": -1.25, "slide": 0.39}},
        },
    )  # fmt: skip
    robot = built(build_folder, records)
    assert robot.independent == ("slide",)
    for target, expected in ((0.6, 0.45), (0.1, 0.25)):  # rod + crank, rod - crank
        path = robot.follow(robot.reference, {"slide": target})
        assert path.stop is not None and path.stop.cause is Cause.DEAD_CENTRE
        assert abs(robot.joint(path.q, "slide") - expected) < 1e-6
        assert abs(np.sin(robot.joint(path.q, "crank"))) < 2e-2


def test_long_moves_arrive_where_small_ones_do(compiled: Get) -> None:
    robot = compiled("stewart")
    random = np.random.default_rng(1)
    lower, upper = np.array([robot._description.limits[robot.coordinates.index(n)] for n in robot.independent]).T
    middle = np.array([robot.joint(robot.reference, name) for name in robot.independent])
    arrived = 0
    for _ in range(6):
        target = middle + 0.5 * random.uniform(-1, 1, 6) * np.minimum(upper - middle, middle - lower)
        path = robot.follow(robot.reference, target)
        if not path.reached:
            assert path.stop is not None and path.stop.cause in (Cause.LIMIT, Cause.DEAD_CENTRE)
            continue
        arrived += 1
        knots = [middle + s * (target - middle) for s in np.linspace(0.02, 1.0, 50)]
        fine = robot.trajectory(robot.reference, knots)
        assert fine.complete and fine.q.shape == (50, len(robot.coordinates))
        np.testing.assert_allclose(path.q, fine.q[-1], atol=1e-10)
        back = robot.follow(path.q, robot.reference)  # and the way back ends where it began
        assert back.reached
        np.testing.assert_allclose(back.q, robot.reference, atol=1e-10)
    assert arrived >= 3


def test_a_limit_ends_a_path_next_to_the_limit(compiled: Get) -> None:
    robot = compiled("stewart")
    _, upper = robot._description.limits[robot.coordinates.index("leg_0_length")]
    path = robot.follow(robot.reference, {"leg_0_length": upper + 0.5})
    assert path.stop is not None and path.stop.cause is Cause.LIMIT and path.stop.joint is not None
    place = robot.coordinates.index(path.stop.joint)
    bound = robot._description.limits[place][0 if path.stop.side == "lower" else 1]
    assert abs(path.q[place] - bound) < 1e-6
    assert robot._description.violated_limits(path.q) == {}


def test_a_path_with_no_work_left_stops_half_way_and_can_go_on(compiled: Get) -> None:
    robot = compiled("fourbar")
    updater = robot.updater(robot.reference, work=12)
    updater.set("j_ga", 0.7 + 4.0)
    fractions, points = [], 0
    for _ in range(40):
        path = updater.follow()
        points += path.points
        assert path.evaluations <= 12
        if path.reached:
            break
        assert path.stop is not None and path.stop.cause is Cause.WORK
        fractions.append(path.fraction)
    assert path.reached and len(fractions) >= 1
    np.testing.assert_allclose(path.q, robot.follow(robot.reference, {"j_ga": 4.7}).q, atol=1e-11)


def test_a_trajectory_counts_modes_and_types_its_first_failure(build_folder, compiled: Get) -> None:  # type: ignore[no-untyped-def]
    robot = built(build_folder, driven_rocker())
    _, high = dead_centres()
    start = robot.joint(robot.reference, "j_gc")
    knots = [{"j_gc": x} for x in np.linspace(start, high + 0.1, 60)]
    done = robot.trajectory(robot.reference, knots)
    assert not done.complete and done.stop is not None and done.stop.cause is Cause.DEAD_CENTRE
    assert 0 < len(done.q) < 60 and sum(done.modes.values()) == len(done.q)
    assert robot.joint(done.q[-1], "j_gc") < high
    plain = compiled("stewart")
    middle = np.array([plain.joint(plain.reference, name) for name in plain.independent])
    waves = [middle + 0.02 * np.sin(0.1 * k + np.arange(6)) - 0.02 * np.sin(np.arange(6)) for k in range(60)]
    predicted = plain.trajectory(plain.reference, waves)
    direct = plain.trajectory(plain.reference, waves, prediction=False)
    assert predicted.complete and direct.complete
    np.testing.assert_allclose(predicted.q, direct.q, atol=1e-11)
    assert predicted.evaluations < direct.evaluations
    assert set(predicted.modes) <= {"rested", "predicted"} and set(direct.modes) <= {"rested", "direct"}
    empty = plain.trajectory(plain.reference, [])
    assert empty.complete and empty.q.shape == (0, len(plain.coordinates))


def test_a_parallelogram_does_not_fold_at_its_change_point(build_folder) -> None:  # type: ignore[no-untyped-def]
    """With equal opposite links both branches meet where all links are in line: the path must not pass blindly."""
    link = {"mass": 1.0, "inertia": [0.01, 0.01, 0.01]}
    hinge = {"type": "revolute", "axis": [0, -1, 0]}
    records = mechanism(
        "parallelogram",
        {
            "bodies": dict.fromkeys(("left", "top", "right"), link),
            "joints": {
                "a": {**hinge, "a": "world", "b": "left"},
                "b": {**hinge, "a": {"body": "left", "xyz": [0.3, 0, 0]}, "b": "top"},
                "c": {**hinge, "a": {"body": "top", "xyz": [0.9, 0, 0]}, "b": {"body": "right", "xyz": [0.3, 0, 0]}},
                "d": {**hinge, "a": {"body": "world", "xyz": [0.9, 0, 0]}, "b": "right"},
            },
            "ports": {"motor": {"joint": "a"}},
            "reference": {"joints": {"a": 1.0, "b": -1.0, "d": 1.0}},
        },
    )
    robot = built(build_folder, records)
    path = robot.follow(robot.reference, {"a": 2.5})
    assert path.reached and abs(robot.joint(path.q, "d") - 2.5) < 1e-10  # the crank stays parallel
    across = robot.follow(robot.reference, {"a": 4.0})
    assert across.stop is not None and across.stop.cause in (Cause.DEAD_CENTRE, Cause.BRANCH)
    assert abs(robot.joint(across.q, "a") - pi) < 1e-4
    assert abs(robot.joint(across.q, "d") - robot.joint(across.q, "a")) < 1e-4
