"""The random states of the accuracy comparison: on the manifold, with speeds, efforts and wrenches by robot.

A robot with support modes is measured in all of them, floating first, with equally many states each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.check.states import draw
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]
KILO = 1e3


@dataclass(frozen=True)
class Ranges:
    """Bounds of uniform draws: independent speeds (rad/s or m/s), port efforts, and a (torque; force) at a frame."""

    speed: float
    efforts: tuple[float, ...]  # one for all ports, or one a port
    frame: str
    wrench: tuple[float, ...]


RANGES = {
    "stewart": Ranges(0.25, (400.0,), "platform", (12.0,) * 3 + (120.0,) * 3),
    "excavator": Ranges(
        0.3,
        tuple(KILO * x for x in (5.0, 5.0, 30.0, 150.0, 150.0, 500.0, 1.0, 25.0)),
        "bucket_1",
        (2 * KILO,) * 3 + (5 * KILO,) * 3,
    ),
    "kangaroo": Ranges(0.12, (200.0,), "base_link", (2.0,) * 3 + (15.0, 15.0, 10.0)),
}


MODES = {"kangaroo": ("left", "right", "double")}
FLOATING = "floating"


@dataclass(frozen=True)
class Case:
    """A robot, floating or fixed as its file has it, or held in a support mode."""

    robot: str
    mode: str = ""

    @property
    def label(self) -> str:
        """The name of its errors' file."""
        return f"{self.robot}_{self.mode}" if self.mode else self.robot

    @property
    def ranges(self) -> Ranges:
        """Bounds of its draws."""
        return RANGES[self.robot]


def cases(robot: str) -> tuple[Case, ...]:
    """A robot in all its modes."""
    return (Case(robot), *(Case(robot, mode) for mode in MODES.get(robot, ())))


@dataclass(frozen=True)
class Draw:
    """A configuration (nq,), independent speeds (d,), port efforts (nf,) and a wrench (6,)."""

    q: Array
    u: Array
    f: Array
    wrench: Array


def draws(robot: rc.Robot, mechanism: Mechanism, ranges: Ranges, count: int, seed: int) -> list[Draw]:
    """`count` draws of a compiled robot; `mechanism` are its records, those of the support mode where it is held."""
    random = np.random.default_rng([seed, 5])
    made = []
    for sample in draw(robot, mechanism, count, seed):
        u = ranges.speed * random.uniform(-1, 1, len(robot.independent))
        f = np.array(ranges.efforts) * random.uniform(-1, 1, len(robot.ports))
        made.append(Draw(sample.q, u, f, np.array(ranges.wrench) * random.uniform(-1, 1, 6)))
    return made
