"""What the motion layer reports: why it stopped, and what an update, a path or a trajectory did."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MODES = ("rested", "direct", "predicted", "continued", "recovered")


class Cause(IntFlag):
    """Why a motion ended; the status bits of the generated headers, of which one is set."""

    SMALL_PIVOT = 1
    NOT_CONVERGED = 2
    BRANCH = 4
    FAR = 8
    NOT_FINITE = 16
    LIMIT = 64
    OPEN = 128
    DOMAIN = 256
    WORK = 512
    DEAD_CENTRE = 1024
    BAD_POSE = 2048


_TEXT = {
    Cause.SMALL_PIVOT: "the chart is singular at this configuration",
    Cause.NOT_CONVERGED: "the corrector does not converge",
    Cause.BRANCH: "the loops close only on another assembly branch",
    Cause.FAR: "too large a step for one correction",
    Cause.NOT_FINITE: "a number is not finite",
    Cause.LIMIT: "a joint limit",
    Cause.OPEN: "the modules are solved but the complete residual does not vanish",
    Cause.DOMAIN: "a closure is turned too far for its logarithm",
    Cause.WORK: "a bound on the work was reached",
    Cause.DEAD_CENTRE: "a dead centre or turning point: det R_p vanishes",
    Cause.BAD_POSE: "a quaternion is not of unit length",
}


@dataclass(frozen=True)
class Stop:
    """Why and where a motion ended.

    joint: the coordinate whose limit is violated, `side` 'lower' or 'upper'; module: the loop module that could not be
    solved or accepted; dependent: its unknown that is nearly free, and `pivot` the smallest singular value of the
    scaled R_p (as 1/|R_p^-1|, exact to the root of its size), where a singularity was looked for; fraction: of the way
    to the inputs that was possible.
    """

    cause: Cause
    joint: str | None
    side: str | None
    module: str | None
    dependent: str | None
    pivot: float | None
    fraction: float

    def __str__(self) -> str:
        text = _TEXT[self.cause]
        if self.joint:
            text += f" ({self.side} limit of {self.joint})"
        if self.module:
            text += f" in {self.module}"
        if self.dependent:
            text += f", smallest singular value {self.pivot:.3g}, moving {self.dependent}"
        return text if self.fraction >= 1 else f"{text}; {self.fraction:.6g} of the way was possible"


@dataclass(frozen=True)
class UpdateReport:
    """What one update did.

    mode: 'rested' (nothing to solve), 'direct', 'predicted', 'continued' or 'recovered', the hardest of all modules;
    moved, skipped: modules solved and those that nothing touched; evaluations: of Newton's method in any module;
    points: tried by continuation and acquisition; residual: largest scaled row of the complete residual of the modules
    checked; contraction: of Newton's first corrections, worst module; stop: why q did not move, None if all is well.
    """

    mode: str
    moved: tuple[str, ...]
    skipped: tuple[str, ...]
    evaluations: int
    points: int
    residual: float
    contraction: float
    stop: Stop | None

    @property
    def ok(self) -> bool:
        """Whether the inputs were accepted."""
        return self.stop is None


@dataclass(frozen=True)
class PathResult:
    """Where a path towards some inputs ended: the last accepted q (nq,), the fraction of the way, and why it ended."""

    q: Array
    fraction: float
    points: int
    evaluations: int
    residual: float
    stop: Stop | None

    @property
    def reached(self) -> bool:
        """Whether it arrived."""
        return self.stop is None


@dataclass(frozen=True)
class TrajectoryResult:
    """The accepted knots q (n, nq) of a trajectory, how often each mode was needed, and the first failure.

    evaluations: Newton evaluations in all; residual: the largest of any knot; stop: why knot `len(q)` was refused, None
    if all were accepted.
    """

    q: Array
    modes: dict[str, int]
    evaluations: int
    residual: float
    stop: Stop | None

    @property
    def complete(self) -> bool:
        """Whether every knot was accepted."""
        return self.stop is None
