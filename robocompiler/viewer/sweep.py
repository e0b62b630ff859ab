"""Driving one command through its range: up, down and back, stopping where the mechanism does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from robocompiler.viewer.driving import STEP, Driver, Refusal, State

PICTURES = 80  # least number of states over a whole range, so that it looks like a motion
UPPER, LOWER, BACK = "upper end", "lower end", "start"


@dataclass(frozen=True)
class Stop:
    """One leg of a sweep is over: the command's value there, and why it went no further (None: it reached the end)."""

    leg: str
    value: float
    refusal: Refusal | None

    @property
    def message(self) -> str:
        """A sentence for people."""
        if self.refusal is not None:
            return f"{self.leg}: {self.refusal.message}"
        return f"{self.leg}: reached at {self.value:.6g}"


def sweep(driver: Driver, state: State, index: int) -> Iterator[State | Stop]:
    """States of command `index` on its way to the upper end of its range, to the lower end and back, and the Stops.

    The last leg returns to the value that it had; the other controlled commands keep theirs throughout.
    """
    command = driver.commands[index]
    begin = float(state.values[index])
    stride = min(STEP, (command.upper - command.lower) / (PICTURES * command.scale))
    current = state
    for leg, target in ((UPPER, command.upper), (LOWER, command.lower), (BACK, begin)):
        refusal = None
        for found in driver.walk(current, index, target, stride):
            if isinstance(found, Refusal):
                refusal = found
            else:
                current = found
                yield found
        yield Stop(leg, float(current.values[index]), refusal)
