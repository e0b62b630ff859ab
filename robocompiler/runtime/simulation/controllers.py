"""What controllers are, and how they act: continuous ones at every stage, sampled ones through a zero-order hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import function, number
from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import floats
from robocompiler.runtime.drives import DriveInterface
from robocompiler.runtime.simulation.state import Applied, State, to_read

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Commands:
    """What a controller returns for a robot with drives: commands c (nc,), and efforts f (nf,) of ports without one."""

    c: ArrayLike
    f: ArrayLike | None = None


@dataclass(frozen=True)
class Direct:
    """Efforts f (nf,) that act at the ports of a robot with drives as they are, past the drives, whose states rest."""

    f: ArrayLike


Output = ArrayLike | Commands | Direct
Law = Callable[[float, Array, Array], Output]


@runtime_checkable
class Controller(Protocol):
    """A law with a sample time: f = controller(t, q, u), efforts (nf,) of ports; with drives `Commands` or `Direct`.

    sample_time: seconds between samples, at 0, T, 2 T, ...; None: the law is continuous and evaluated at every stage of
    every step, so that it must not remember anything.  A plain function is a continuous controller.
    """

    @property
    def sample_time(self) -> float | None:
        """T (s), or None."""

    def __call__(self, t: float, q: Array, u: Array) -> Output:
        """The efforts, or the commands."""


@dataclass(frozen=True)
class Sampled:
    """Any law behind a zero-order hold: evaluated at 0, T, 2 T, ... only, its output held between."""

    law: Law
    sample_time: float

    def __post_init__(self) -> None:
        function(self.law, "law", "law(t, q, u)")
        number(self.sample_time, "the sample time", above=0.0, unit="seconds")

    def __call__(self, t: float, q: Array, u: Array) -> Output:
        """The law's output."""
        return self.law(t, q, u)


class Actuation:
    """The controller of a simulation with its sample clock, as what `Plant.rate` asks."""

    def __init__(self, robot: DriveInterface, controller: Law | Controller | None) -> None:
        """None: no efforts, and commands of drives are zero."""
        if controller is not None:
            function(controller, "controller", "f(t, q, u)")
        self._robot, self._law = robot, controller
        self._ports, self._commands = len(robot.ports), len(robot.commands)
        self.period = controller.sample_time if isinstance(controller, Controller) else None
        if self.period is not None:
            self.period = number(self.period, "the controller's sample time", above=0.0, unit="seconds")
        self._next = 0
        self._held = Applied(np.zeros(self._ports), np.zeros(self._commands) if robot.drives else None)

    @property
    def next_sample(self) -> float:
        """When the next sample is due; infinite for continuous controllers."""
        return float("inf") if self.period is None else self._next * self.period

    def sample(self, state: State) -> None:
        """Take the sample that is due at this state, if one is."""
        if self.period is not None and state.t >= self.next_sample:
            self._held = self._evaluate(state)
            self._next += 1

    def __call__(self, state: State) -> Applied:
        """What acts at a state."""
        if self._law is None or self.period is not None:
            return self._held
        return self._evaluate(state)

    def _evaluate(self, state: State) -> Applied:
        assert self._law is not None
        found = self._law(state.t, to_read(state.q), to_read(state.u))
        name = self._robot.name
        if isinstance(found, Direct):
            return Applied(self._vector(found.f, self._ports, "efforts", state.t))
        if isinstance(found, Commands) and not self._robot.drives:
            raise ArgumentError(f"the controller returns Commands, but {name} declares no drive")
        if not isinstance(found, Commands):
            if self._robot.drives:
                raise ArgumentError(
                    f"{name} declares drives: its controller must return Commands(c, f), or Direct(f) for efforts that "
                    "act past the drives"
                )
            return Applied(self._vector(found, self._ports, "efforts", state.t))
        f = np.zeros(self._ports) if found.f is None else self._vector(found.f, self._ports, "efforts", state.t)
        return Applied(f, self._vector(found.c, self._commands, "commands", state.t))

    def _vector(self, value: ArrayLike, size: int, what: str, t: float) -> Array:
        array = floats(value, f"what the controller returns at t = {t:.9g} s", f"{size} {what}").copy()
        if array.shape != (size,) or not np.all(np.isfinite(array)):
            raise ArgumentError(
                f"the controller must return {size} finite {what} of {self._robot.name} ({self._names(what)}); at "
                f"t = {t:.9g} s it returned {array}"
            )
        return array

    def _names(self, what: str) -> str:
        names = [port.name for port in self._robot.ports] if what == "efforts" else list(self._robot.commands)
        return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
