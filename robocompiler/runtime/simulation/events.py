"""Events: functions of the state whose zeros are found on the way, and what happens there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import function, instance, refused, several, whole
from robocompiler.errors import ArgumentError
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

    def __post_init__(self) -> None:
        function(self.change, "the change of a Jump", "change(t, q, u)")


@dataclass(frozen=True)
class Impact:
    """The speeds change so that the event's value turns back: u becomes change(t, q, u) (d,).

    The simulation ends when the value has not turned back one step later: impacts that come ever faster (Zeno) or a
    map that does not bounce would else let the motion pass through.
    """

    change: Change

    def __post_init__(self) -> None:
        function(self.change, "the change of an Impact", "change(t, q, u)")


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
        instance(self.name, str, "the name of an event", "text")
        function(self.value, f"the value of event {self.name!r}", "value(t, q, u)")
        if self.detail is not None:
            function(self.detail, f"the detail of event {self.name!r}", "detail(t, q, u)")
        checked_action(self.action, f"the action of event {self.name!r}")
        if whole(self.direction) not in (-1, 0, 1):
            raise refused(f"event {self.name!r}: direction", "-1, 0 or 1", self.direction)

    def at(self, t: float, q: Array, u: Array) -> float:
        """The value; ValueError if it is not a finite number."""
        found = self.value(t, to_read(q), to_read(u))
        try:
            value = float(found)
        except (TypeError, ValueError, OverflowError):
            raise refused(f"the value of event {self.name!r} at t = {t:.9g} s", "a number", found) from None
        if not np.isfinite(value):
            raise ArgumentError(f"event {self.name!r} has no finite value at t = {t:.9g} s: {value}")
        return value


@dataclass(frozen=True)
class Occurrence:
    """An event that happened: its name, time (s), the state just behind it before any change, and the detail."""

    name: str
    t: float
    q: Array
    u: Array
    detail: str


def checked_events(events: object) -> tuple[Event, ...]:
    """A user's events as a tuple; ArgumentError for what is no list of them."""
    found = several(events, "events", "Event", "write [event] for a single one" if isinstance(events, Event) else "")
    for entry in found:
        instance(entry, Event, "every entry of events", "an Event")
    return found


def checked_action(action: object, name: str) -> None:
    """ArgumentError for what is no action of an event."""
    mend = f"write {action.__name__}()" if isinstance(action, type) else ""
    instance(action, (Note, Stop, Jump, Impact), name, "Note(), Stop(), Jump(change) or Impact(change)", mend)


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
