"""What acts on a simulated robot besides its ports: external wrenches and regularised dry friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import number
from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import floats

Array = NDArray[np.float64]

Wrench = ArrayLike | Callable[[float], ArrayLike]
Wrenches = Mapping[str, Wrench]


@dataclass(frozen=True)
class SmoothFriction:
    """Dry friction made smooth: -level tanh(v / slip) at each joint velocity, without a Stribeck peak.

    slip (rad/s or m/s): the speed below which a joint creeps instead of sticking.  An explicit step must stay below
    about 2 slip m / level, with m the inertia that the joint feels; smaller slips need smaller steps.
    """

    slip: float = 1e-2

    def __post_init__(self) -> None:
        number(self.slip, "slip", above=0.0, unit="rad/s or m/s")


@dataclass(frozen=True)
class NoFriction:
    """Dry friction of the records is left out."""


Friction = SmoothFriction | NoFriction


def friction_forces(friction: SmoothFriction, levels: Array, v: Array) -> Array:
    """-level tanh(v / slip) (nv,)."""
    return np.asarray(-levels * np.tanh(v / friction.slip))


def wrench_at(frame: str, wrench: Wrench, t: float) -> Array:
    """(moment about the frame's origin; force) (6,) in world axes at time t; ValueError for another shape or NaN."""
    given = wrench(t) if callable(wrench) else wrench
    value = floats(given, f"wrench on {frame!r} at t = {t:.6g} s", "six numbers (moment; force), or a function of t")
    if value.shape != (6,) or not np.all(np.isfinite(value)):
        raise ArgumentError(f"wrench on {frame!r} at t = {t:.6g} s must be six finite numbers (moment; force): {value}")
    return value
