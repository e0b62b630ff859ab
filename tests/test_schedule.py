"""Schedules of support modes: times, events, and the motion carried through them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from momentum import given, total
from numpy.typing import NDArray
from walker import built_walker, walker

import robocompiler as rc
from robocompiler.runtime.motion.schedule import SWITCH, Schedule, ScheduledMotion, Switch, touches
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


def held_joints(_: float, stance: Stance) -> Callable[[float, Array, Array], Array]:
    """Motors that hold the legs at the reference: springs and dampers."""
    held = stance.held
    place = [held.coordinates.index(port.name) for port in held.ports]
    start = np.array([stance.floating.joint(stance.floating.reference, port.name) for port in held.ports])
    return lambda t, q, u: -60 * (q[place] - start) - 2.0 * (held.port_map(q) @ u)


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
    return schedule.run(start, duration, control=held_joints, step=step)


@pytest.fixture(scope="module")
def motion(robot: rc.Robot) -> ScheduledMotion:
    """The landing with steps of 2 ms."""
    return landing(robot, 2e-3)


def test_phases_follow_the_schedule(robot: rc.Robot, motion: ScheduledMotion) -> None:
    assert [phase.stance.mode for phase in motion.phases] == [None, "left", "both feet", "left"]
    assert motion.left == ()
    ends = [phase.end for phase in motion.phases]
    assert (motion.end.kind, motion.end.t) == ("completed", 0.16)
    assert motion.end.message == "t = 0.03 s reached, behind the change of support at t = 0.13 s"
    assert ends[1:] == [0.1, 0.13, 0.16]
    assert 0.02 < ends[0] < 0.09
    for before, after in pairwise(motion.phases):
        assert after.begin == before.end
        assert after.switched is not None
        assert after.simulation is not None
        assert np.array_equal(after.switched.stance.floating_q, before.stance.floating_q)
        assert np.array_equal(after.switched.stance.q, after.simulation.q[0])
        assert np.array_equal(after.switched.stance.u, after.simulation.u[0])
        assert after.simulation.t[-1] == pytest.approx(after.end - after.begin, abs=1e-15)
    assert motion.phases[0].switched is None


def test_the_foot_lands_on_the_ground_and_stays_there(robot: rc.Robot, motion: ScheduledMotion) -> None:
    height = ground(robot)
    fall, *standing = motion.phases
    assert fall.simulation is not None
    heights = [robot.pose("left_foot", q)[1][2] for q in fall.simulation.q]
    assert heights[-1] == pytest.approx(height, abs=1e-9)
    assert min(heights) == heights[-1] <= height
    assert [happened.name for happened in fall.simulation.events] == [SWITCH]
    place = robot.pose("left_foot", fall.stance.q)
    for phase in standing:
        held = phase.stance.held
        assert phase.simulation is not None
        for q in phase.simulation.q:
            assert np.abs(held.residual(q)).max() < 1e-12
            np.testing.assert_allclose(held.pose("left_foot", q)[1], place[1], atol=1e-12)
            np.testing.assert_allclose(held.pose("left_foot", q)[0], place[0], atol=1e-12)
    both = standing[1]
    assert both.simulation is not None
    feet = [both.stance.held.pose("right_foot", q)[1] for q in both.simulation.q]
    assert max(float(np.abs(p - feet[0]).max()) for p in feet) < 1e-12


def test_momentum_balances_over_a_fall_and_its_landing(robot: rc.Robot, motion: ScheduledMotion) -> None:
    fall, landed = motion.phases[:2]
    weight = sum(9.81 * m for m in (7.0, 0.4, *[0.7] * 6))
    assert fall.simulation is not None
    q, u = fall.simulation.q, fall.simulation.u
    start, end = (total(robot, walker(), q[k], u[k]) for k in (0, -1))
    # gravity alone acts: the momentum changes by weight times time, to the error of the steps
    np.testing.assert_allclose((end - start)[3:], [0, 0, -weight * fall.end], atol=1e-6)
    assert landed.switched is not None
    met = landed.switched.impact
    assert met is not None
    after = total(robot, walker(), q[-1], u[-1] + met.jump)
    np.testing.assert_allclose(after - end, given(robot, q[-1], met.impulses), atol=1e-11)
    force = met.impulses["left_foot"][5]
    assert 0.1 * weight * fall.end < force < weight * fall.end  # it stops a part of what has fallen
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


def test_the_motion_converges_through_the_impacts(robot: rc.Robot, motion: ScheduledMotion) -> None:
    ends = [run.phases[-1].stance.floating_q for run in (landing(robot, 4e-3), motion, landing(robot, 1e-3))]
    coarse, fine = (float(np.linalg.norm(b - a)) for a, b in pairwise(ends))
    assert 8.0 < coarse / fine < 40.0  # steps of fourth order: about 16
    assert fine < 1e-5


def test_time_may_run_out_and_switches_come_at_once(robot: rc.Robot) -> None:
    start = Stance.floats(robot)
    never = Switch("left", when=touches("left_foot", -10.0))
    found = Schedule([never, Switch(None, at=0.2)]).run(start, 4e-3, step=2e-3)
    assert [phase.stance.mode for phase in found.phases] == [None]
    assert [switch.mode for switch in found.left] == ["left", None]
    assert (found.phases[0].end, found.end.kind) == (4e-3, "completed")
    # switches at one time happen one after the other; q is kept
    found = Schedule([Switch("left", at=0.0), Switch("both feet", at=0.0)]).run(start, 1e-3)
    assert [(phase.begin, phase.end) for phase in found.phases] == [(0.0, 0.0), (0.0, 0.0), (0.0, 1e-3)]
    assert [phase.simulation is None for phase in found.phases] == [True, True, False]
    assert found.phases[-1].stance.mode == "both feet"


def test_a_limit_on_the_way_ends_the_motion(robot: rc.Robot) -> None:
    start = Stance.floats(robot)
    knee = robot.coordinates.index("left_knee")
    limits = robot._description.limits
    limits[knee] = (-1.2, 0.0)
    try:
        bend = np.zeros(len(robot.ports))
        bend[[port.name for port in robot.ports].index("left_knee")] = -20.0
        found = Schedule([Switch("left", at=0.5)]).run(start, 1.0, control=lambda t, stance: lambda *_: bend)
    finally:
        del limits[knee]
    assert (found.end.kind, found.end.event) == ("event", "joint limit")
    assert 0 < found.end.t == found.phases[-1].end < 0.5
    assert "left_knee" in found.end.message
    assert [switch.mode for switch in found.left] == ["left"]
    assert found.phases[-1].stance.q[knee] == pytest.approx(-1.2, abs=1e-6)


def test_bad_schedules_are_refused(robot: rc.Robot) -> None:
    with pytest.raises(ValueError, match="the switch to 'left' needs a time `at` or a condition `when`"):
        Switch("left")
    with pytest.raises(ValueError, match="and not both"):
        Switch("left", at=1.0, when=touches("left_foot"))
    with pytest.raises(ValueError, match="must be a finite number of seconds"):
        Switch("left", at=float("nan"))
    with pytest.raises(ValueError, match=r"must ascend: 0.2, 0.1"):
        Schedule([Switch("left", at=0.2), Switch(None, at=0.1)])
    with pytest.raises(ValueError, match="a plane's normal"):
        touches("left_foot", normal=(0, 0, 0))
    start = Stance.floats(robot)
    with pytest.raises(ValueError, match="no support mode is called 'lefft'; did you mean 'left'"):
        Schedule([Switch("lefft", at=0.1)]).run(start, 1.0)
    with pytest.raises(ValueError, match="step must be a positive number"):
        Schedule([]).run(start, 1.0, step=0.0)
    with pytest.raises(ValueError, match="the duration must be a positive number"):
        Schedule([]).run(start, 0.0)
    with pytest.raises(ValueError, match="events, log: the schedule itself gives this"):
        Schedule([]).run(start, 1.0, log="x.npz", events=())
    with pytest.raises(ValueError, match="is in the port chart, not in 'inner'"):
        Schedule([]).run(Stance.floats(robot.chart("inner")), 1.0)
    with pytest.raises(ValueError, match=r"'change of support' has no finite value at t = 0 s: nan"):
        Schedule([Switch("left", when=lambda t, stance: float("nan"))]).run(start, 1.0)
    with pytest.raises(ValueError, match="no frame is called 'left_fot'"):
        Schedule([Switch("left", when=touches("left_fot"))]).run(start, 1.0)


def test_a_phase_whose_first_state_has_no_rates_ends_there(robot: rc.Robot) -> None:
    """Its log has no row: the motion ends at its start, with the state that it had."""
    impossible = robot.with_parameters({"payload": -50.0})  # no inertia that is positive definite
    stance = Stance.floats(impossible)
    motion = Schedule([Switch("left", at=0.1)]).run(stance, 0.2)
    (phase,) = motion.phases
    assert phase.simulation is not None
    assert phase.simulation.t.size == 0
    assert (phase.begin, phase.end, motion.end.kind) == (0.0, 0.0, phase.simulation.end.kind)
    assert motion.end.kind != "completed"
    assert np.array_equal(phase.stance.q, stance.q)
    assert [switch.mode for switch in motion.left] == ["left"]
