"""The lengths of steps: equal pieces up to the next sample or the end, or as long as the error allows."""

from __future__ import annotations

import math

from robocompiler.runtime.simulation.methods import Method, Methods, adaptive
from robocompiler.runtime.simulation.plant import Plant, Source
from robocompiler.runtime.simulation.state import Rate, Refused, State
from robocompiler.runtime.simulation.steps import Step, take

SAFETY = 0.9
FIRST = 1e-3  # s; the first trial of an adaptive method, which then finds its own


class Pace:
    """Takes steps of one method that never pass a given time."""

    def __init__(self, plant: Plant, method: Methods, step: float, rtol: float) -> None:
        """step: the fixed step (s), or the largest one of an adaptive method; rtol: see `Plant.size`."""
        self._plant, self._method, self._step, self._rtol = plant, method, step, rtol
        self._adaptive = adaptive(method)
        self._wish = min(step, FIRST)
        self.rejected = 0
        self.tried = 0.0  # length (s) of the fixed step that was tried last

    def again(self, state: State, rate: Rate, h: float, source: Source) -> State:
        """The state a given time h after `state`, by one step (within a step that was accepted)."""
        return take(self._plant, self._method, state, rate, h, source, self._rtol).state

    def step(self, state: State, rate: Rate, limit: float, source: Source) -> State:
        """The next state, at `limit` (s) at the latest.  Raises Refused."""
        if self._adaptive:
            return self._adapted(state, rate, limit, source)
        remaining = limit - state.t
        pieces = max(1, math.ceil(remaining / self._step - 1e-9))
        self.tried = remaining / pieces
        found = take(self._plant, self._method, state, rate, self.tried, source, self._rtol).state
        return _at(found, limit) if pieces == 1 else found

    def _adapted(self, state: State, rate: Rate, limit: float, source: Source) -> State:
        remaining = limit - state.t
        least = 1e-13 * max(1.0, abs(state.t))
        h = self._wish
        while True:
            last = h >= remaining * (1 - 1e-9)
            h = remaining if last else min(h, remaining / 2) if h > remaining / 2 else h
            try:
                found = take(self._plant, self._method, state, rate, h, source, self._rtol)
            except Refused:
                self.rejected += 1
                if h / 4 < least:
                    raise
                h /= 4
                self._wish = h
                continue
            factor = self._factor(found)
            if found.error <= 1:
                grown = h * factor
                self._wish = min(self._step, grown if h >= self._wish else max(self._wish, grown))
                return _at(found.state, limit) if last else found.state
            self.rejected += 1
            h *= factor
            self._wish = h
            if h < least:
                raise Refused(
                    "step too small",
                    f"at t = {state.t:.9g} s no step is short enough for the tolerance {self._rtol:g}: the motion is "
                    "not smooth there, or runs away",
                )

    def _factor(self, step: Step) -> float:
        """How much longer (at most 5) or shorter (at least 0.1) the next step may be."""
        if not math.isfinite(step.error):
            return 0.1
        assert isinstance(self._method, Method)
        wanted = SAFETY * float(max(step.error, 1e-10) ** (-1 / self._method.order))
        return min(5.0, max(0.1, wanted))


def _at(state: State, t: float) -> State:
    """The state with the exact time, free of the rounding of sums."""
    return State(t, state.q, state.u, state.z)
