"""Schedules of support modes: times, events, and the motion carried through them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from momentum import given, total
from numpy.typing import NDArray
from walker import built_walker, walker

import robocompiler as rc
from robocompiler.runtime.motion.schedule import Schedule, ScheduledMotion, Switch, touches
from robocompiler.runtime.motion.stance import Stance

Array = NDArray[np.float64]
GROUND = 0.01  # m, below the left foot of the reference


@pytest.fixture(scope="module")
def robot(build_folder: Path) -> rc.Robot:
    """The floating walker."""
    return rc.load(built_walker(build_folder))


def ground(robot: rc.Robot) -> float:
    """A height that the left foot reaches first when the walker falls."""
    left, right = (robot.pose(f"{side}_foot", robot.reference)[1][2] for side in ("left", "right"))
    return float(min(left, right)) - GROUND


def held_joints(t: float, stance: Stance) -> Array:
    """Motors that hold the legs at the reference: springs and dampers."""
    held = stance.held
    names = [port.name for port in held.ports]
    q = np.array([held.joint(stance.q, name) for name in names])
    start = np.array([stance.floating.joint(stance.floating.reference, name) for name in names])
    return -60 * (q - start) - 2.0 * (held.port_map(stance.q) @ stance.u)


def landing(robot: rc.Robot, step: float, duration: float = 0.16) -> ScheduledMotion:
    """Falls, lands on the left foot, stands on both at 0.1 s, lifts the right one at 0.13 s."""
    height = ground(robot)
    start = Stance.floats(robot, u=np.full(len(robot.independent), 0.05))
    schedule = Schedule(
        [
            Switch("left", when=touches("left_foot", height)),
            Switch("both feet", at=0.1),
            Switch("left", at=0.13),
        ]
    )
    return schedule.run(start, duration, efforts=held_joints, step=step)


@pytest.fixture(scope="module")
def motion(robot: rc.Robot) -> ScheduledMotion:
    """The landing with steps of 2 ms."""
    return landing(robot, 2e-3)


def test_phases_follow_the_schedule(robot: rc.Robot, motion: ScheduledMotion) -> None:
    assert [phase.stance.mode for phase in motion.phases] == [None, "left", "both feet", "left"]
    assert motion.left == ()
    ends = [float(phase.t[-1]) for phase in motion.phases]
    assert ends[1:] == [0.1, 0.13, 0.16]
    assert 0.02 < ends[0] < 0.09
    for before, after in pairwise(motion.phases):
        assert after.t[0] == before.t[-1]
        assert np.all(np.diff(after.t) > 0)
        assert after.switched is not None
        assert np.array_equal(after.switched.stance.floating_q, before.stance.floating_q)
        assert np.array_equal(after.switched.stance.q, after.q[0])
        assert np.array_equal(after.switched.stance.u, after.u[0])
    assert motion.phases[0].switched is None


def test_the_foot_lands_on_the_ground_and_stays_there(robot: rc.Robot, motion: ScheduledMotion) -> None:
    height = ground(robot)
    fall, *standing = motion.phases
    heights = [robot.pose("left_foot", q)[1][2] for q in fall.q]
    assert heights[-1] == pytest.approx(height, abs=1e-9)
    assert heights[-1] <= height < heights[-2]
    place = robot.pose("left_foot", fall.q[-1])
    for phase in standing:
        held = phase.stance.held
        for q in phase.q:
            assert np.abs(held.residual(q)).max() < 1e-12
            np.testing.assert_allclose(held.pose("left_foot", q)[1], place[1], atol=1e-12)
            np.testing.assert_allclose(held.pose("left_foot", q)[0], place[0], atol=1e-12)
    both = standing[1]
    feet = [both.stance.held.pose("right_foot", q)[1] for q in both.q]
    assert max(float(np.abs(p - feet[0]).max()) for p in feet) < 1e-12


def test_momentum_balances_over_a_fall_and_its_landing(robot: rc.Robot, motion: ScheduledMotion) -> None:
    fall, landed = motion.phases[:2]
    weight = sum(9.81 * m for m in (7.0, 0.4, *[0.7] * 6))
    start, end = (total(robot, walker(), fall.q[k], fall.u[k]) for k in (0, -1))
    gained = end - start
    # gravity alone acts: the momentum changes by weight times time, to the error of steps of second order
    np.testing.assert_allclose(gained[3:], [0, 0, -weight * (fall.t[-1] - fall.t[0])], atol=2e-4)
    assert landed.switched is not None
    met = landed.switched.impact
    assert met is not None
    after = total(robot, walker(), fall.q[-1], fall.u[-1] + met.jump)
    np.testing.assert_allclose(after - end, given(robot, fall.q[-1], met.impulses), atol=1e-11)
    force = met.impulses["left_foot"][5]
    assert 0.1 * weight * fall.t[-1] < force < weight * fall.t[-1]  # it stops a part of what has fallen
    assert 0 < met.after < met.before


def test_energies_jump_down_only(motion: ScheduledMotion) -> None:
    kinds = []
    for phase in motion.phases[1:]:
        assert phase.switched is not None
        kinds.append(phase.switched.impact is None)
        if phase.switched.impact is not None:
            assert phase.switched.impact.loss > 0
        assert phase.switched.correction == 0.0
    assert kinds == [False, False, True]


def test_the_motion_converges_with_the_square_of_the_step(robot: rc.Robot, motion: ScheduledMotion) -> None:
    ends = [run.phases[-1].stance.floating_q for run in (motion, landing(robot, 1e-3), landing(robot, 5e-4))]
    coarse, fine = (float(np.linalg.norm(b - a)) for a, b in pairwise(ends))
    assert 3.0 < coarse / fine < 5.5
    assert fine < 1e-3


def test_time_may_run_out_and_switches_come_at_once(robot: rc.Robot) -> None:
    start = Stance.floats(robot)
    never = Switch("left", when=touches("left_foot", -10.0))
    found = Schedule([never, Switch(None, at=0.2)]).run(start, 4e-3, step=2e-3)
    assert [phase.stance.mode for phase in found.phases] == [None]
    assert [switch.mode for switch in found.left] == ["left", None]
    assert found.phases[0].t.tolist() == [0.0, 2e-3, 4e-3]
    # switches at one time happen one after the other; q is kept
    found = Schedule([Switch("left", at=0.0), Switch("both feet", at=0.0)]).run(start, 1e-3)
    assert [phase.t.tolist() for phase in found.phases] == [[0.0], [0.0], [0.0, 1e-3]]
    assert found.phases[-1].stance.mode == "both feet"


def test_another_stepper_may_move_the_robot(robot: rc.Robot) -> None:
    calls = []

    def still(t: float, stance: Stance, h: float, _: Any) -> Stance:
        calls.append((t, h, stance.mode))
        return stance

    start = Stance.floats(robot).switched("both feet").stance
    found = Schedule([Switch("left", at=0.25)]).run(start, 0.4, step=0.1, advance=still)
    assert [mode for _, _, mode in calls] == ["both feet"] * 3 + ["left"] * 2
    assert found.phases[0].t[-1] == 0.25
    assert sum(h for _, h, _ in calls) == pytest.approx(0.4, rel=1e-15)


def test_bad_schedules_are_refused(robot: rc.Robot) -> None:
    with pytest.raises(ValueError, match="the switch to 'left' needs a time `at` or a condition `when`"):
        Switch("left")
    with pytest.raises(ValueError, match="and not both"):
        Switch("left", at=1.0, when=touches("left_foot"))
    with pytest.raises(ValueError, match="no finite time"):
        Switch("left", at=float("nan"))
    with pytest.raises(ValueError, match=r"must ascend: 0.2, 0.1"):
        Schedule([Switch("left", at=0.2), Switch(None, at=0.1)])
    with pytest.raises(ValueError, match="a plane's normal"):
        touches("left_foot", normal=(0, 0, 0))
    start = Stance.floats(robot)
    with pytest.raises(ValueError, match="no support mode is called 'lefft'; did you mean 'left'"):
        Schedule([Switch("lefft", at=0.1)]).run(start, 1.0)
    with pytest.raises(ValueError, match="duration and step must be positive"):
        Schedule([]).run(start, 1.0, step=0.0)
    with pytest.raises(ValueError, match="is no finite number at t = 0 s: nan"):
        Schedule([Switch("left", when=lambda t, stance: float("nan"))]).run(start, 1.0)
    with pytest.raises(ValueError, match="no frame is called 'left_fot'"):
        Schedule([Switch("left", when=touches("left_fot"))]).run(start, 1.0)
