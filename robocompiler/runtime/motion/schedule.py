"""Schedules of support modes: when a floating robot changes its contacts, and its simulated motion in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import function, instance, named, number, several
from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import vector
from robocompiler.runtime.motion.stance import Stance, Switched, switch
from robocompiler.runtime.simulation.builtin_events import joint_limits, port_limits
from robocompiler.runtime.simulation.controllers import Controller, Law
from robocompiler.runtime.simulation.events import Event, Stop
from robocompiler.runtime.simulation.result import End, Simulation

Array = NDArray[np.float64]
Condition = Callable[[float, Stance], float]
Control = Callable[[float, Stance], Law | Controller | None]

_OPTIONS = ("method", "step", "rtol", "every", "friction", "wrenches", "progress")  # handed on to `simulate`
SWITCH = "change of support"  # the event that ends a phase


@dataclass(frozen=True)
class Switch:
    """A change of support: at the time `at` (s), or when the condition value(t, stance) falls from above zero to it.

    mode: the support mode, None to float.  ValueError unless exactly one of `at` and `when` is given.
    """

    mode: str | None
    at: float | None = None
    when: Condition | None = None

    def __post_init__(self) -> None:
        if (self.at is None) == (self.when is None):
            raise ArgumentError(f"the switch to {self.mode!r} needs a time `at` or a condition `when`, and not both")
        if self.mode is not None:
            instance(self.mode, str, "mode", "the name of a support mode, or None")
        if self.at is not None:
            number(self.at, f"the time of the switch to {self.mode!r}", unit="seconds")
        if self.when is not None:
            function(self.when, "when", "when(t, stance)")


def touches(frame: str, height: float = 0.0, normal: Sequence[float] = (0.0, 0.0, 1.0)) -> Condition:
    """The condition that a frame's origin comes down to a plane: normal . p - height, metres for a unit normal."""
    instance(frame, str, "frame", "the name of a frame")
    height, n = number(height, "height"), vector(normal, 3, "normal").copy()
    if not n.any():
        raise ArgumentError(f"a plane's normal must be three finite numbers, not all zero, not {normal}")
    return lambda t, stance: float(n @ stance.held.pose(frame, stance.q)[1]) - height


@dataclass(frozen=True)
class Phase:
    """The motion in one support mode from `begin` to `end` (s).

    stance: the state at its end; switched: the change that began it, None for the first; simulation: how it moved, on a
    clock that begins with the phase; None where it took no time, or nothing of the held robot can move.
    """

    stance: Stance
    begin: float
    end: float
    switched: Switched | None
    simulation: Simulation | None


@dataclass(frozen=True)
class ScheduledMotion:
    """The phases in order, the switches that were not reached, and why the motion ended.

    end: as a simulation's; 'completed' when all the time has passed, else what ended the last phase: a joint limit, a
    singular pose, an interrupt.  z: drive states at the end.
    """

    phases: tuple[Phase, ...]
    left: tuple[Switch, ...]
    end: End
    z: Array


class Schedule:
    """Changes of support, one after the other: each is waited for only when the one before has happened."""

    def __init__(self, switches: Sequence[Switch]) -> None:
        """ValueError where times do not ascend."""
        self.switches: tuple[Switch, ...] = several(switches, "switches", "Switch")
        for entry in self.switches:
            instance(entry, Switch, "every entry of switches", "a Switch")
        times = [switch.at for switch in self.switches if switch.at is not None]
        if any(b < a for a, b in pairwise(times)):
            raise ArgumentError(f"the times of a schedule must ascend: {', '.join(f'{t:.9g}' for t in times)}")

    def run(
        self,
        stance: Stance,
        duration: float,
        *,
        control: Control | None = None,
        z: ArrayLike | None = None,
        **options: Any,
    ) -> ScheduledMotion:
        """The motion over `duration` seconds from t = 0, simulated from change to change.

        A switch whose time has passed when its turn comes happens at once.

        Args:
            stance: the start: `Stance.floats(robot, q, u)`, switched to the first mode.
            control: control(t, stance) at the start of every phase gives its controller, as `Robot.simulate` takes it,
                whose clock begins with the phase; default: no efforts.
            z: drive states at the start, carried from phase to phase; default: those of the file.
            options: of `Robot.simulate`: method, step, rtol, every, friction, wrenches, progress.

        Raises:
            ValueError: an unknown mode, a duration that is not positive, a condition that is no number, an option that
                `simulate` refuses or that belongs to the schedule, a stance in a chart that `simulate` refuses.
            LoadError, AssemblyError, RankError: see `switch` and `Robot.simulate`.
        """
        _check(stance, duration, control, options)
        states = (
            stance.floating.initial_drive_states if z is None else vector(z, len(stance.floating.drive_states), "z")
        )
        stance.floating.open_supports(mode for mode in (s.mode for s in self.switches) if mode is not None)
        t, phases, waiting = 0.0, [], list(self.switches)
        begun: Switched | None = None
        while True:
            due = waiting[0] if waiting else None
            until = duration if due is None or due.at is None else min(duration, max(due.at, t))
            move = _Move(stance, t, until, due, states)
            simulation, end = move.run(control, options)
            phase = _phase(move, simulation, end, begun)
            phases.append(phase)
            stance, t = phase.stance, phase.end
            states = states if simulation is None or not simulation.t.size else simulation.z[-1]
            timed = due is not None and due.at is not None and end.kind == "completed" and due.at <= t
            if due is None or not (timed or end.event == SWITCH):
                return ScheduledMotion(tuple(phases), tuple(waiting), _told(end, phase), states)
            waiting.pop(0)
            begun = switch(stance, due.mode)
            stance = begun.stance


@dataclass(frozen=True)
class _Move:
    """One phase that is about to be simulated."""

    stance: Stance
    begin: float
    until: float
    due: Switch | None
    z: Array

    def run(self, control: Control | None, options: dict[str, Any]) -> tuple[Simulation | None, End]:
        held, span = self.stance.held, self.until - self.begin
        if span <= 0 or not held.independent:
            return None, End("completed", self.until, f"t = {self.until:.9g} s reached")
        law = None if control is None else control(self.begin, self.stance)
        events = [*joint_limits(held), *port_limits(held), *self._events()]
        simulation = held.simulate(
            span, self.stance.q, self.stance.u, z=self.z, controller=law, events=events, **options
        )
        return simulation, simulation.end

    def _events(self) -> list[Event]:
        if self.due is None or self.due.when is None:
            return []
        when, stance, begin = self.due.when, self.stance, self.begin
        value = lambda t, q, u: when(begin + t, _at(stance, q, u))  # noqa: E731
        return [Event(SWITCH, value, -1, Stop())]


def _check(stance: Stance, duration: float, control: Control | None, options: dict[str, Any]) -> None:
    instance(stance, Stance, "stance", "a Stance", "begin with Stance.floats(robot)")
    number(duration, "the duration", above=0.0, unit="seconds")
    if control is not None:
        function(control, "control", "control(t, stance)")
    own = sorted({"q", "u", "duration", "controller", "events", "log"} & options.keys())
    if own:
        raise ArgumentError(f"{', '.join(own)}: the schedule itself gives this to every phase; see Schedule.run")
    for name in options:
        named("option of Schedule.run", name, _OPTIONS)


def _told(end: End, last: Phase) -> End:
    """The end of the last phase on the clock of the schedule."""
    tail = f", behind the change of support at t = {last.begin:.9g} s" if last.begin > 0 and last.simulation else ""
    return End(end.kind, last.end, end.message + tail, end.event)


def _phase(move: _Move, simulation: Simulation | None, end: End, begun: Switched | None) -> Phase:
    if simulation is None:
        return Phase(move.stance, move.begin, move.until, begun, None)
    if not simulation.t.size:  # its first state has no rates: nothing moved
        return Phase(move.stance, move.begin, move.begin, begun, simulation)
    # all the time that was asked for ends at the very number that was asked for
    reached = move.until if end.kind == "completed" else move.begin + float(simulation.t[-1])
    return Phase(_at(move.stance, simulation.q[-1], simulation.u[-1]), move.begin, reached, begun, simulation)


def _at(stance: Stance, q: Array, u: Array) -> Stance:
    return Stance(stance.floating, stance.mode, stance.held, q, u)
