"""Events: times in closed form, what happens there, limits, singular poses, impacts that do not bounce."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from case_models import built
from mechanics_support import shipped
from numpy.typing import NDArray
from simulation_yard import G, pendulum_angle, speeds, yard

import robocompiler as rc
from robocompiler.errors import RankError
from robocompiler.runtime.simulation.events import crosses, first_zero

Array = NDArray[np.float64]
sim = rc.simulation


@pytest.fixture(scope="module")
def robot(build_folder: Path) -> rc.Robot:
    return yard(build_folder)


def height(robot: rc.Robot) -> Callable[[float, Array, Array], float]:
    place = robot.coordinates.index("weight")
    return lambda t, q, u: float(q[place])


def bounce(robot: rc.Robot, restitution: float) -> Callable[[float, Array, Array], Array]:
    place = robot.independent.index("weight")

    def change(t: float, q: Array, u: Array) -> Array:
        new = u.copy()
        new[place] = -restitution * u[place]
        return new

    return change


@pytest.mark.parametrize(("method", "step"), [("euler", 1e-3), ("rk4", 0.013), ("dopri5", 0.2)])
def test_a_bouncing_weight_hits_the_ground_when_it_should(robot: rc.Robot, method: str, step: float) -> None:
    """Falls from 0.5 m; each flight lasts e times the one before."""
    ground = sim.Event("ground", height(robot), -1, sim.Impact(bounce(robot, 0.8)))
    q = robot.configuration({"weight": 0.5})
    motion = robot.simulate(1.5, q, method=method, step=step, events=[ground])
    assert motion.end.kind == "completed"
    fall = math.sqrt(2 * 0.5 / G)
    wanted = [fall, fall + 2 * 0.8 * fall, fall + 2 * (0.8 + 0.64) * fall]
    exact = method != "euler"  # the polynomial of the flight is of second degree
    assert [event.name for event in motion.events] == ["ground"] * len(wanted)
    assert [event.t for event in motion.events] == pytest.approx(wanted, abs=5e-10 if exact else 8e-3)
    assert min(motion.q[:, robot.coordinates.index("weight")]) > (-1e-8 if exact else -1e-6)
    assert all(abs(event.q[robot.coordinates.index("weight")]) < 1e-8 for event in motion.events)


def test_directions_and_notes(robot: rc.Robot) -> None:
    """A pendulum passes its lowest point both ways; a note ends nothing and the log has a row there."""
    place = robot.coordinates.index("pendulum")

    def angle(t: float, q: Array, u: Array) -> float:
        return float(q[place])

    events = [
        sim.Event(name, angle, direction, sim.Note()) for name, direction in (("falls", -1), ("rises", 1), ("both", 0))
    ]
    motion = robot.simulate(2.2, robot.configuration({"pendulum": 0.7}), step=5e-3, events=events)
    assert motion.end.kind == "completed"
    assert [event.name for event in motion.events] == ["falls", "both", "rises", "both"]
    first, second = motion.events[0], motion.events[2]
    assert pendulum_angle(first.t, 0.7) == pytest.approx(0.0, abs=1e-8)
    assert second.t == pytest.approx(3 * first.t, abs=1e-7)
    assert {first.t, second.t} <= set(motion.t)
    assert first.u[robot.independent.index("pendulum")] < 0 < second.u[robot.independent.index("pendulum")]


def test_a_stop_ends_at_the_earliest_of_two_events(robot: rc.Robot) -> None:
    """Both heights are passed within one step; the higher one comes first and the lower one is not told."""

    def below(level: float) -> Callable[[float, Array, Array], float]:
        return lambda t, q, u: height(robot)(t, q, u) - level

    events = [sim.Event("low", below(-1.01), -1), sim.Event("high", below(-1.0), -1)]
    motion = robot.simulate(2.0, step=0.05, events=events)
    assert motion.end.kind == "event"
    assert motion.end.event == "high"
    assert motion.end.t == pytest.approx(math.sqrt(2 * 1.0 / G), abs=2e-10)
    assert [event.name for event in motion.events] == ["high"]
    assert motion.t[-1] == motion.end.t


def test_a_jump_changes_the_speeds(robot: rc.Robot) -> None:
    kick = robot.independent.index("weight")

    def change(t: float, q: Array, u: Array) -> Array:
        new = u.copy()
        new[kick] += 3.0
        return new

    event = sim.Event("kick", lambda t, q, u: t - 0.25, 1, sim.Jump(change))
    motion = robot.simulate(0.5, step=0.02, events=[event])
    assert motion.end.kind == "completed"
    assert motion.u[-1, kick] == pytest.approx(-G * 0.5 + 3.0, abs=1e-9)
    assert np.count_nonzero(motion.t == motion.events[0].t) == 2  # a row before and a row behind the jump


def test_impacts_that_do_not_bounce_end_it(robot: rc.Robot) -> None:
    dead = sim.Event("ground", height(robot), -1, sim.Impact(lambda t, q, u: 0 * u))
    motion = robot.simulate(1.0, robot.configuration({"weight": 0.1}), step=0.01, events=[dead])
    assert motion.end.kind == "chattering"
    assert "ground does not turn back" in motion.end.message
    assert motion.end.t < 0.2
    wrong = sim.Event("ground", height(robot), -1, sim.Impact(lambda t, q, u: u[:2]))
    with pytest.raises(ValueError, match="'ground' must change u into 9 finite speeds"):
        robot.simulate(1.0, robot.configuration({"weight": 0.1}), step=0.01, events=[wrong])


def test_limits_of_joints_and_ports_end_a_motion_by_default(robot: rc.Robot) -> None:
    """The port's limit lies before the joint's; without it the joint's is met, and without events nothing stops."""
    u = speeds(robot, block=6.0)
    free = sim.NoFriction()
    port = robot.simulate(2.0, u=u, step=0.01, friction=free)
    assert (port.end.kind, port.end.event) == ("event", "port limit")
    assert "push is 4, limits [-4, 4]" in port.end.message
    assert port.end.t == pytest.approx(4 / 6, abs=1e-9)
    joint = robot.simulate(2.0, u=u, step=0.01, friction=free, events=sim.joint_limits(robot))
    assert joint.end.t == pytest.approx(5 / 6, abs=1e-9)
    assert "block is 5, limits [-5, 5]" in joint.end.message
    assert robot.simulate(1.0, u=u, step=0.01, friction=free, events=()).end.kind == "completed"
    with pytest.raises(ValueError, match=r"starts beyond a port limit: push is 4\.5"):
        robot.simulate(1.0, robot.configuration({"block": 4.5}))


def test_speed_limits_of_ports_can_be_watched(robot: rc.Robot) -> None:
    events = sim.port_speed_limits(robot)
    push = robot.simulate(2.0, controller=lambda t, q, u: [10.0], step=0.01, friction=sim.NoFriction(), events=events)
    assert push.end.event == "port speed limit"
    assert push.end.t == pytest.approx(6.0 / (10 / 2.0), abs=1e-8)


@pytest.mark.parametrize(("method", "step"), [("rk4", 1e-3), ("dopri5", 0.05)])
def test_the_motion_ends_before_a_singular_pose(build_folder: Path, method: str, step: float) -> None:
    """With the rocker's speed as independent, the pose with crank and coupler in line is singular."""
    robot = built(build_folder, shipped("fourbar"), ("j_cg",))
    assert robot.independent == ("j_cg",)
    motion = robot.simulate(2.0, u=[-2.0], method=method, step=step)
    assert motion.end.kind == "singular"
    assert "the port chart is nearly singular" in motion.end.message
    assert "module_0" in motion.end.message
    q = dict(zip(robot.coordinates, motion.q[-1], strict=True))
    assert abs(math.sin(q["j_ab"])) < 2e-2
    assert motion.residual.max() < 1e-11
    energy = motion.energy.sum(axis=1)[:-4]  # the last fixed steps lose it, where the acceleration grows without bound
    assert np.abs(energy - energy[0]).max() < 1e-3 * motion.energy[:, 0].max()


def test_a_singular_start_is_refused(compiled: Callable[[str], rc.Robot], monkeypatch: pytest.MonkeyPatch) -> None:
    from robocompiler.runtime.simulation import simulate as module

    robot = compiled("fourbar")
    monkeypatch.setattr(module, "LEAST", 1e6)
    with pytest.raises(RankError, match="singular at the start"):
        robot.simulate(1.0)


def test_values_that_are_no_numbers_are_refused(robot: rc.Robot) -> None:
    with pytest.raises(ValueError, match="'odd' has no finite value at t = 0 s"):
        robot.simulate(1.0, events=[sim.Event("odd", lambda t, q, u: math.nan)])
    with pytest.raises(ValueError, match="direction must be -1, 0 or 1"):
        sim.Event("odd", lambda t, q, u: 0.0, 2)


def test_first_zero_is_fast_and_sure() -> None:
    for function, root in (
        (lambda x: x - 0.3, 0.3),
        (lambda x: math.atan(40 * (x - 0.71)), 0.71),
        (lambda x: (x - 0.5) ** 9 * 1e6, 0.5),
        (lambda x: -1.0 if x < 0.123 else 2.0, 0.123),
    ):
        calls = []

        def counted(x: float, f: Callable[[float], float] = function, calls: list[float] = calls) -> float:
            calls.append(x)
            return f(x)

        found = first_zero(counted, function(0.0), 1.0, function(1.0), 1e-10)
        assert 0 <= found - root <= 1e-10 or function(found) == 0
        assert len(calls) <= 2 * 34 + 2
    event = sim.Event("x", lambda t, q, u: 0.0, -1)
    assert [crosses(event, a, b) for a, b in ((1, -1), (1, 0), (0, -1), (-1, 1))] == [True, True, False, False]
