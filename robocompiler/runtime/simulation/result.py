"""What a simulation leaves: why it ended, what happened, and the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import path
from robocompiler.runtime.simulation.events import Occurrence
from robocompiler.runtime.simulation.log import Log

Array = NDArray[np.float64]

ENDS = ("completed", "event", "singular", "closure", "not finite", "step too small", "chattering", "interrupted")


@dataclass(frozen=True)
class End:
    """Why a simulation ended.

    kind: 'completed'; 'event' (a `Stop`), whose name is `event`; 'singular', 'closure' or 'not finite' (the next step
    could not be taken, or the singularity event); 'step too small' (the adaptive step vanished); 'chattering' (an
    `Impact` did not turn back); 'interrupted'.
    """

    kind: str
    t: float
    message: str
    event: str = ""


@dataclass(frozen=True)
class Statistics:
    """Accepted and rejected steps, evaluations of forward dynamics within steps, and seconds on the clock."""

    steps: int
    rejected: int
    evaluations: int
    seconds: float


@dataclass(frozen=True)
class Simulation:
    """The result of `robot.simulate`.

    end: why it ended; events: what happened, in order; saturated: seconds during which each port's effort was at its
    limit (ports that never were are left out); log_path: the file, if there is one.
    """

    robot: Any = field(repr=False)
    end: End
    events: tuple[Occurrence, ...]
    saturated: Mapping[str, float]
    statistics: Statistics
    log_path: Path | None
    read: Callable[[], Log] = field(repr=False)

    @cached_property
    def log(self) -> Log:
        """All rows; read from the file when first asked for, where there is one."""
        return self.read()

    @property
    def t(self) -> Array:
        """Times (N,), s."""
        return self.log.group("t")

    @property
    def q(self) -> Array:
        """Configurations (N, nq)."""
        return self.log.group("q")

    @property
    def u(self) -> Array:
        """Independent speeds (N, d)."""
        return self.log.group("u")

    @property
    def udot(self) -> Array:
        """Their accelerations (N, d)."""
        return self.log.group("udot")

    @property
    def f(self) -> Array:
        """Port efforts (N, nf) as they act: limited, and those of drives by their laws."""
        return self.log.group("f")

    @property
    def l(self) -> Array:  # noqa: E743  the paper's symbol
        """Port displacements (N, nf)."""
        return self.log.group("l")

    @property
    def z(self) -> Array:
        """Drive states (N, nz)."""
        return self.log.group("z")

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy (N, 2), J."""
        return self.log.group("energy")

    @property
    def residual(self) -> Array:
        """Largest scaled closure residual (N,): rad, or metres over the length scale."""
        return self.log.group("residual")

    def plot(self, file: str | Path) -> None:
        """Draw port displacements, efforts, speeds and energies over time, as SVG."""
        from robocompiler.runtime.simulation.plot import plot_svg

        path(file, "file").write_text(plot_svg(self.log, self.robot.name), encoding="utf-8")

    def animate(self, file: str | Path, *, rate: float = 30.0) -> None:
        """Write a page (HTML, complete in itself) that shows the motion; `rate` pictures per second of motion."""
        from robocompiler.runtime.simulation.animation import animation_html

        path(file, "file").write_text(animation_html(self.robot, self.log, rate), encoding="utf-8")
