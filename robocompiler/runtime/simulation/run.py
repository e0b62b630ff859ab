"""The loop of a simulation: sample, evaluate, record, step, find events."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import floats
from robocompiler.runtime.simulation import singularity
from robocompiler.runtime.simulation.approach import approach
from robocompiler.runtime.simulation.controllers import Actuation
from robocompiler.runtime.simulation.events import (
    Action,
    Event,
    Impact,
    Jump,
    Occurrence,
    Stop,
    crosses,
    first_zero,
)
from robocompiler.runtime.simulation.interrupts import Interrupts
from robocompiler.runtime.simulation.pace import Pace
from robocompiler.runtime.simulation.plant import Plant
from robocompiler.runtime.simulation.recorder import Recorder
from robocompiler.runtime.simulation.result import End
from robocompiler.runtime.simulation.singularity import PivotMonitor
from robocompiler.runtime.simulation.state import Rate, Refused, State, to_read

Array = NDArray[np.float64]
Progress = Callable[[float, float], None]

EVENT_WIDTH = 1e-10  # s
NEAR = 0.05  # smallest pivot, over that at the probed poses, below which a step fails because of it
BEAT = 0.1  # seconds between calls of the progress function


class Run:
    """One simulation while it goes on: `go` runs it to its end; the rest is what it leaves."""

    def __init__(
        self,
        plant: Plant,
        monitor: PivotMonitor,
        pace: Pace,
        actuation: Actuation,
        events: Sequence[Event],
        recorder: Recorder,
        every: int,
        progress: Progress | None,
    ) -> None:
        self._monitor = monitor
        self._plant, self._pace, self._actuation, self._events = plant, pace, actuation, tuple(events)
        self._recorder, self._every, self._progress = recorder, every, progress
        self.occurrences: list[Occurrence] = []
        self.saturated = np.zeros(len(plant.robot.ports))
        self.steps = 0
        self.t = 0.0  # s; of the state that was reached
        self._bounced: set[int] = set()  # impacts whose value must have turned back one step later
        self._beat = time.monotonic()

    def go(self, state: State, t_end: float, interrupts: Interrupts) -> End:
        """Run from `state` to `t_end` or an earlier end; why it ended."""
        values = self._values(state)
        end: End | None = None
        while True:
            self.t = state.t
            self._actuation.sample(state)
            try:
                rate = self._plant.rate(state, self._actuation)
            except Refused as refused:
                return self._refused(refused, state)
            if end is None and state.t >= t_end:
                end = End("completed", state.t, f"t = {state.t:.9g} s reached")
            if end is None and interrupts.requested:
                end = End("interrupted", state.t, f"interrupted at t = {state.t:.9g} s")
            if end is not None or self.steps % self._every == 0:
                self._record(state, rate)
            if end is not None:
                return end
            self._tell(state.t, t_end)
            try:
                state, values, end = self._advance(state, rate, values, min(t_end, self._actuation.next_sample))
            except Refused as refused:
                return self._cannot_step(refused, state, rate, values)

    # --- one step ---

    def _advance(self, state: State, rate: Rate, values: Array, limit: float) -> tuple[State, Array, End | None]:
        """The next state with the values of the events there, and the end if this is one."""
        new = self._pace.step(state, rate, limit, self._actuation)
        after = self._values(new)
        hits = self._hits(values, after)
        if hits:
            new, after = self._first(state, rate, values, new, after, hits)
            hits = self._hits(values, after)
        self.steps += 1
        self.saturated[rate.saturated] += new.t - state.t
        stuck = self._stuck(values, after, new)
        self._bounced = set()
        if stuck is not None:
            return new, after, stuck
        return self._happen(new, after, hits) if hits else (new, after, None)

    def _first(
        self, state: State, rate: Rate, before: Array, new: State, after: Array, hits: Sequence[int]
    ) -> tuple[State, Array]:
        """The state just behind the earliest zero of the events in `hits`, and the values of all events there."""
        h = new.t - state.t
        width = max(EVENT_WIDTH, 8 * float(np.spacing(new.t)))
        reached = {h: new}

        def at(tau: float) -> State:
            if tau not in reached:
                reached[tau] = self._pace.again(state, rate, tau, self._actuation)
            return reached[tau]

        def value(k: int) -> Callable[[float], float]:
            event = self._events[k]
            return lambda tau: event.at(at(tau).t, at(tau).q, at(tau).u)

        tau = min(first_zero(value(k), before[k], h, after[k], width) for k in hits)
        found = at(tau)
        return found, after if tau == h else self._values(found)

    def _happen(self, state: State, values: Array, hits: Sequence[int]) -> tuple[State, Array, End | None]:
        """Events at a state: noted, speeds changed, or the end."""
        end: End | None = None
        self._note_row(state)
        u = state.u
        for k in hits:
            event = self._events[k]
            detail = event.detail(state.t, state.q, u) if event.detail else ""
            self.occurrences.append(Occurrence(event.name, state.t, state.q.copy(), u.copy(), detail))
            if isinstance(event.action, Stop):
                end = end or self._stopped(event, state.t, detail)
            elif isinstance(event.action, Jump | Impact):
                u = self._changed(event, event.action, state, u)
                if isinstance(event.action, Impact):
                    self._bounced.add(k)
        changed = State(state.t, state.q, u, state.z)
        return changed, values if u is state.u else self._values(changed), end

    def _changed(self, event: Event, action: Action, state: State, u: Array) -> Array:
        assert isinstance(action, Jump | Impact)
        given = action.change(state.t, to_read(state.q), to_read(u))
        new = floats(given, f"what event {event.name!r} changes u into", f"{u.size} speeds").copy()
        if new.shape != u.shape or not np.all(np.isfinite(new)):
            raise ArgumentError(f"event {event.name!r} must change u into {u.size} finite speeds, gave {new}")
        return new

    def _note_row(self, state: State) -> None:
        """The row of a state at which something happens: written even between rows, if its rates exist."""
        try:
            self._record(state, self._plant.rate(state, self._actuation))
        except Refused:
            return  # the next evaluation tells it as the end

    def _stopped(self, event: Event, t: float, detail: str) -> End:
        tail = f": {detail}" if detail else ""
        if event.name == singularity.NAME:
            chart = self._plant.robot.chart_name
            text = f"the {chart} chart is nearly singular at t = {t:.9g} s{tail}; choose other independents to go on"
            return End("singular", t, text, event.name)
        return End("event", t, f"{event.name} at t = {t:.9g} s{tail}", event.name)

    # --- small parts ---

    def _values(self, state: State) -> Array:
        return np.array([event.at(state.t, state.q, state.u) for event in self._events])

    def _hits(self, before: Array, after: Array) -> list[int]:
        return [k for k, event in enumerate(self._events) if crosses(event, before[k], after[k])]

    def _stuck(self, before: Array, after: Array, state: State) -> End | None:
        for k in self._bounced:
            if before[k] * after[k] > 0:
                name = self._events[k].name
                text = (
                    f"{name} does not turn back at t = {state.t:.9g} s: its impacts come faster than steps, or its "
                    "change of speeds does not bounce"
                )
                return End("chattering", state.t, text, name)
        return None

    def _refused(self, refused: Refused, state: State) -> End:
        return End(refused.kind, state.t, refused.message)

    def _cannot_step(self, refused: Refused, state: State, rate: Rate, values: Array) -> End:
        """The end where the next step is refused; a singular pose within a fixed step is told as such."""
        if self.steps % self._every:
            self._record(state, rate)
        if not self._pace.tried:
            return self._refused(refused, state)

        def singular(ahead: State) -> bool:
            hits = self._hits(values, self._values(ahead))
            return any(self._events[k].name == singularity.NAME for k in hits)

        found = approach(
            state, rate, self._pace.tried, lambda s, r, h: self._pace.again(s, r, h, self._actuation),
            lambda s: self._plant.rate(s, self._actuation), singular,
        )  # fmt: skip
        if found.passed:
            text = f"{refused.message}; shorter steps get past: choose a smaller step, or a method with error control"
            return End(refused.kind, state.t, text)
        self._record(found.state, found.rate)
        least, module = self._monitor.measure(found.state.q)
        if least < NEAR:
            text = (
                f"the {self._plant.robot.chart_name} chart is nearly singular at t = {found.state.t:.9g} s: the "
                f"smallest pivot of {module} is {least:.2g} of that at the probed poses; choose other independents to "
                "go on"
            )
            return End("singular", found.state.t, text, singularity.NAME)
        return End(refused.kind, found.state.t, refused.message)

    def _record(self, state: State, rate: Rate) -> None:
        plant = self._plant
        row = np.concatenate((
            [state.t], state.q, state.u, rate.udot, rate.f, plant.displacement(state.q), state.z,
            plant.energy(state.q, state.u), [plant.residual(state.q)],
        ))  # fmt: skip
        self._recorder.add(row)

    def _tell(self, t: float, t_end: float) -> None:
        if self._progress is not None and time.monotonic() - self._beat > BEAT:
            self._beat = time.monotonic()
            self._progress(t, t_end)
