"""From arguments to a result: checks, the plant, the run, the log."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import function, integer, number
from robocompiler.errors import ArgumentError, RankError
from robocompiler.runtime.arrays import vector
from robocompiler.runtime.drives import DriveInterface
from robocompiler.runtime.simulation.builtin_events import joint_limits, port_limits
from robocompiler.runtime.simulation.columns import columns_of
from robocompiler.runtime.simulation.controllers import Actuation, Controller, Law
from robocompiler.runtime.simulation.events import Event, checked_events
from robocompiler.runtime.simulation.interrupts import Interrupts
from robocompiler.runtime.simulation.loads import Friction, Wrenches
from robocompiler.runtime.simulation.methods import method_named
from robocompiler.runtime.simulation.pace import Pace
from robocompiler.runtime.simulation.plant import Plant
from robocompiler.runtime.simulation.recorder import Recorder
from robocompiler.runtime.simulation.result import End, Simulation, Statistics
from robocompiler.runtime.simulation.run import Progress, Run
from robocompiler.runtime.simulation.singularity import LEAST, PivotMonitor
from robocompiler.runtime.simulation.state import State

Array = NDArray[np.float64]
_MOST_ROWS = 10**10
_MOST_STEPS = 1e10  # no simulation in double precision has more


@dataclass(frozen=True)
class Settings:
    """How to integrate and what to record; see `SimulationInterface.simulate`."""

    method: str
    step: float
    rtol: float
    every: int
    log: str | Path | None

    def __post_init__(self) -> None:
        method_named(self.method)
        for name, value in (("step", self.step), ("rtol", self.rtol)):
            number(value, name, above=0.0)
        integer(self.every, "every", 1, _MOST_ROWS)


def simulate(
    robot: DriveInterface,
    duration: float,
    start: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    controller: Law | Controller | None,
    wrenches: Wrenches,
    friction: Friction,
    events: Sequence[Event] | None,
    settings: Settings,
    progress: Progress | None,
) -> Simulation:
    """Run a simulation; start: (q, u, z), each with a default."""
    number(duration, "the duration", above=0.0, unit="seconds")
    if progress is not None:
        function(progress, "progress", "progress(t, duration)")
    own = None if events is None else checked_events(events)
    if duration / settings.step > _MOST_STEPS:
        raise ArgumentError(f"step is too short: {duration / settings.step:.1e} steps of {settings.step:g} s at least")
    plant = Plant(robot, friction, wrenches)
    state = _start(robot, *start)
    monitor = PivotMonitor(plant)
    least, module = monitor.measure(state.q)
    if least <= LEAST:
        raise RankError(f"{robot.name}: the {robot.chart_name} chart is singular at the start ({module}: {least:.2g})")
    chosen = (*joint_limits(robot), *port_limits(robot)) if own is None else own
    watched = (*monitor.event(), *chosen)
    if events is None:
        _refuse_beyond(chosen, state)
    recorder = Recorder(columns_of(robot), settings.log)
    pace = Pace(plant, method_named(settings.method), settings.step, settings.rtol)
    run = Run(plant, monitor, pace, Actuation(robot, controller), watched, recorder, settings.every, progress)
    begin = time.monotonic()
    end = _guarded(run, state, duration, recorder)
    statistics = Statistics(run.steps, pace.rejected, plant.evaluations, time.monotonic() - begin)
    saturated = {port.name: float(s) for port, s in zip(robot.ports, run.saturated, strict=True) if s > 0}
    path = None if settings.log is None else Path(settings.log)
    return Simulation(robot, end, tuple(run.occurrences), saturated, statistics, path, recorder.log)


def _guarded(run: Run, state: State, duration: float, recorder: Recorder) -> End:
    """The run, whose log is closed however it ends; a KeyboardInterrupt from anywhere is an end like others."""
    with Interrupts() as interrupts:
        try:
            return run.go(state, duration, interrupts)
        except KeyboardInterrupt:
            return End("interrupted", run.t, f"interrupted within the step from t = {run.t:.9g} s")
        finally:
            recorder.close()


def _start(robot: DriveInterface, q: ArrayLike | None, u: ArrayLike | None, z: ArrayLike | None) -> State:
    closed = robot.reference if q is None else robot.assemble(q)
    speeds = np.zeros(len(robot.independent)) if u is None else vector(u, len(robot.independent), "u")
    states = robot.initial_drive_states if z is None else vector(z, len(robot.drive_states), "z")
    return State(0.0, closed, speeds.copy(), states.copy())


def _refuse_beyond(events: Sequence[Event], state: State) -> None:
    for event in events:
        if event.at(state.t, state.q, state.u) < -1e-9:
            text = event.detail(state.t, state.q, state.u) if event.detail else ""
            raise ArgumentError(f"the simulation starts beyond a {event.name}: {text}; pass events=() to ignore limits")
