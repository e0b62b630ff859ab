"""Schedules of support modes: when a floating robot changes its contacts, and the motion in between.

The motion itself is not this file's matter: `Schedule.run` steps by whatever `Advance` it is given, `midpoint` if none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.motion.stance import Stance, Switched, switch

if TYPE_CHECKING:
    from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]
Efforts = Callable[[float, Stance], Array]
Condition = Callable[[float, Stance], float]
Advance = Callable[[float, Stance, float, Efforts], Stance]

WIDTH = 1e-10  # s: events are found to this


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
            raise ValueError(f"the switch to {self.mode!r} needs a time `at` or a condition `when`, and not both")
        if self.at is not None and not np.isfinite(self.at):
            raise ValueError(f"the switch to {self.mode!r} is at no finite time: {self.at}")


def touches(frame: str, height: float = 0.0, normal: Sequence[float] = (0.0, 0.0, 1.0)) -> Condition:
    """The condition that a frame's origin comes down to a plane: normal . p - height, metres for a unit normal."""
    n = np.array(normal, dtype=np.float64)
    if n.shape != (3,) or not np.isfinite(n).all() or not n.any():
        raise ValueError(f"a plane's normal must be three finite numbers, not all zero, not {normal}")
    return lambda t, stance: float(n @ stance.held.pose(frame, stance.q)[1]) - height


@dataclass(frozen=True)
class Phase:
    """The motion in one support mode: times t (N,), configurations q (N, nq) and speeds u (N, d) of `stance.held`.

    stance: the state at its end; switched: the change that began it, None for the first.
    """

    stance: Stance
    t: Array
    q: Array
    u: Array
    switched: Switched | None


@dataclass(frozen=True)
class ScheduledMotion:
    """The phases in order, and the switches that were not reached: more than none if time ran out first."""

    phases: tuple[Phase, ...]
    left: tuple[Switch, ...]


class Schedule:
    """Changes of support, one after the other: each is waited for only when the one before has happened."""

    def __init__(self, switches: Sequence[Switch]) -> None:
        """ValueError where times do not ascend."""
        self.switches = tuple(switches)
        times = [switch.at for switch in self.switches if switch.at is not None]
        if any(b < a for a, b in pairwise(times)):
            raise ValueError(f"the times of a schedule must ascend: {', '.join(f'{t:.9g}' for t in times)}")

    def run(
        self,
        stance: Stance,
        duration: float,
        *,
        efforts: Efforts | None = None,
        step: float = 1e-3,
        advance: Advance | None = None,
    ) -> ScheduledMotion:
        """The motion over `duration` seconds from t = 0, contacts changed by the schedule.

        A switch whose time has passed when its turn comes happens at once.

        Args:
            stance: the start; `Stance.floats(robot, q, u)`, switched to the first mode.
            efforts: f(t, stance) (nf,) of all ports; default: none.
            step: seconds; shortened to end at switches.
            advance: the step, (t, stance, h, efforts) -> stance in the same mode; default: `midpoint`.

        Raises:
            ValueError: an unknown mode, a time or step that is not positive, a condition that is no number.
            LoadError, AssemblyError, RankError: see `switch` and `midpoint`.
        """
        if not (np.isfinite(duration) and duration > 0 and np.isfinite(step) and step > 0):
            raise ValueError(f"duration and step must be positive numbers of seconds, not {duration} and {step}")
        stance.floating.open_supports(mode for mode in (s.mode for s in self.switches) if mode is not None)
        go, act = advance or midpoint, efforts or _idle
        t, phases, waiting = 0.0, [], list(self.switches)
        begun: Switched | None = None
        while True:
            rows = [(t, stance.q, stance.u)]
            due = waiting[0] if waiting else None
            while t < duration and not (due is not None and due.at is not None and t >= due.at):
                until = duration if due is None or due.at is None else min(duration, due.at)
                t, stance, happened = _step(t, stance, min(t + step, until), go, act, due)
                rows.append((t, stance.q, stance.u))
                if happened:
                    break
            else:
                happened = due is not None and due.at is not None and t >= due.at
            phases.append(_phase(stance, rows, begun))
            if not happened or due is None:
                return ScheduledMotion(tuple(phases), tuple(waiting))
            waiting.pop(0)
            begun = switch(stance, due.mode)
            stance = begun.stance


def _step(
    t: float, stance: Stance, until: float, go: Advance, act: Efforts, due: Switch | None
) -> tuple[float, Stance, bool]:
    """One step to `until` or the event of `due` before: the time, the stance there, and whether the event happened."""
    new = go(t, stance, until - t, act)
    if due is None or due.when is None or not (_value(due, t, stance) > 0 >= _value(due, until, new)):
        return until, new, False
    low, high, found = t, until, new
    while high - low > max(WIDTH, 4 * float(np.spacing(until))):
        middle = (low + high) / 2
        trial = go(t, stance, middle - t, act)
        if _value(due, middle, trial) > 0:
            low = middle
        else:
            high, found = middle, trial
    return high, found, True


def _value(switch: Switch, t: float, stance: Stance) -> float:
    assert switch.when is not None
    value = float(switch.when(t, stance))
    if not np.isfinite(value):
        raise ValueError(
            f"the condition of the switch to {switch.mode!r} is no finite number at t = {t:.9g} s: {value}"
        )
    return value


def _phase(stance: Stance, rows: Sequence[tuple[float, Array, Array]], begun: Switched | None) -> Phase:
    t, q, u = (np.array(column) for column in zip(*rows, strict=True))
    return Phase(stance, t, q, u, begun)


def _idle(_: float, stance: Stance) -> Array:
    return np.zeros(len(stance.held.ports))


def midpoint(t: float, stance: Stance, h: float, efforts: Efforts) -> Stance:
    """One step of the explicit midpoint rule (order 2) in the stance's mode, the loops closed behind it.

    Raises AssemblyError where they do not close or a joint limit is reached, RankError where the chart is singular.
    """
    held = stance.held
    if not held.independent:
        return stance
    first = _rates(held, stance.q, stance.u, efforts(t, stance))
    half = _with(stance, held.integrate(stance.q, h / 2 * first[0]), stance.u + h / 2 * first[1])
    v, udot = _rates(held, half.q, half.u, efforts(t + h / 2, half))
    return _with(stance, held.assemble(held.integrate(stance.q, h * v)), stance.u + h * udot)


def _rates(held: Robot, q: Array, u: Array, f: Array) -> tuple[Array, Array]:
    return held.velocity(q, u), held.forward_dynamics(q, u, f)


def _with(stance: Stance, q: Array, u: Array) -> Stance:
    return Stance(stance.floating, stance.mode, stance.held, q, u)
