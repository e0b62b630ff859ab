"""Why a step of fixed length cannot be taken: the place is approached by shorter ones before the end is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robocompiler.runtime.simulation.state import Rate, Refused, State

LEAST = 1e-6  # of the refused step


@dataclass(frozen=True)
class Approached:
    """The last state that could be reached and its rate; passed: whether shorter steps get past the refused one."""

    state: State
    rate: Rate
    passed: bool


def approach(
    state: State,
    rate: Rate,
    h: float,
    step: Callable[[State, Rate, float], State],
    rates: Callable[[State], Rate],
    stop: Callable[[State], bool],
) -> Approached:
    """Steps of h/2, h/4, ... from `state` as long as they can be taken, up to t + h, or to a state where `stop`."""
    target, least = state.t + h, LEAST * h
    h /= 2
    while h > least:
        try:
            ahead = step(state, rate, min(h, target - state.t))
            rate_ahead = rates(ahead)
        except Refused:
            h /= 2
            continue
        if stop(ahead):
            h /= 2
            continue
        state, rate = ahead, rate_ahead
        if target - state.t < least:
            return Approached(state, rate, passed=True)
    return Approached(state, rate, passed=False)
