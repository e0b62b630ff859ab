"""Events: functions of the state whose zeros are found on the way, and what happens there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.simulation.state import to_read

Array = NDArray[np.float64]

Value = Callable[[float, Array, Array], float]
Change = Callable[[float, Array, Array], Array]


@dataclass(frozen=True)
class Note:
    """The event is noted and the motion goes on."""


@dataclass(frozen=True)
class Stop:
    """The simulation ends."""


@dataclass(frozen=True)
class Jump:
    """The speeds change: u becomes change(t, q, u) (d,)."""

    change: Change


@dataclass(frozen=True)
class Impact:
    """The speeds change so that the event's value turns back: u becomes change(t, q, u) (d,).

    The simulation ends when the value has not turned back one step later: impacts that come ever faster (Zeno) or a
    map that does not bounce would else let the motion pass through.
    """

    change: Change


Action = Note | Stop | Jump | Impact


@dataclass(frozen=True)
class Event:
    """A scalar value(t, q, u) whose change of sign is an event.

    direction: +1 while rising, -1 while falling, 0 either way.  detail(t, q, u): more to tell of an occurrence.  Zeros
    are found to 1e-10 s; two within one step are not seen.
    """

    name: str
    value: Value
    direction: int = 0
    action: Action = Stop()
    detail: Callable[[float, Array, Array], str] | None = None

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"event {self.name!r}: direction must be -1, 0 or 1, is {self.direction}")

    def at(self, t: float, q: Array, u: Array) -> float:
        """The value; ValueError if it is not a finite number."""
        value = float(self.value(t, to_read(q), to_read(u)))
        if not np.isfinite(value):
            raise ValueError(f"event {self.name!r} has no finite value at t = {t:.9g} s: {value}")
        return value


@dataclass(frozen=True)
class Occurrence:
    """An event that happened: its name, time (s), the state just behind it before any change, and the detail."""

    name: str
    t: float
    q: Array
    u: Array
    detail: str


def crosses(event: Event, before: float, after: float) -> bool:
    """Whether the value changes its sign in the event's direction; leaving zero is no crossing, reaching it is."""
    rising, falling = before < 0 <= after, before > 0 >= after
    return (rising and event.direction >= 0) or (falling and event.direction <= 0)


def first_zero(value: Callable[[float], float], before: float, h: float, after: float, width: float) -> float:
    """The right end, at most `width` behind its zero, of a bracket of a zero of value(tau) on (0, h].

    False position and bisection in turn: superlinear, and never slower than bisection twice.
    """
    left, right, f_left, f_right = 0.0, h, before, after
    bisect = False
    while right - left > width:
        if bisect or f_left == f_right:
            middle = (left + right) / 2
        else:
            middle = right - f_right * (right - left) / (f_right - f_left)
            # kept off the ends: once an end is near enough to the zero, the point next to it lies on its other side
            middle = min(max(middle, left + width / 2), right - width / 2)
        f_middle = value(middle)
        if (f_middle < 0) == (before < 0) and f_middle != 0:
            left, f_left = middle, f_middle
        else:
            right, f_right = middle, f_middle
        bisect = not bisect
    return float(right)
