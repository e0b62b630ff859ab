"""How a configuration fares: closure residual, rank and its gap, pivots of the modules, limits reached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.inside import inside
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]

SMALL = 0.1  # a pivot below this part of its reference is marked
NEAR = 1e-3  # a limit counts as reached within this part of its interval


@dataclass(frozen=True)
class ModulePivot:
    """Least scaled singular value of a module's R_p, here and at the robot's reference."""

    module: str
    value: float
    reference: float

    @property
    def ratio(self) -> float:
        """Of the value to the reference."""
        return self.value / self.reference

    @property
    def small(self) -> bool:
        """Whether the module is near a singular pose."""
        return self.ratio < SMALL


@dataclass(frozen=True)
class LimitReached:
    """A coordinate or port at (or beyond) its limit: its value, and the bound."""

    name: str
    value: float
    bound: float
    beyond: bool


@dataclass(frozen=True)
class Status:
    """The numbers of the status panel.

    Attributes:
        residual: largest scaled entry of the complete closure residual (rad; metres over the length scale).
        tolerance: what a closed configuration may have.
        rank, freedoms: as compiled.
        kept, dropped: the singular values on both sides of the gap at this configuration, relative to the largest;
            dropped is None where no row is redundant.
    """

    residual: float
    tolerance: float
    rank: int
    freedoms: int
    kept: float
    dropped: float | None
    pivots: tuple[ModulePivot, ...]
    limits: tuple[LimitReached, ...]


class Gauge:
    """Measures the status of one robot's configurations."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        parts = inside(robot)
        self._evaluation, self._description, self._acceptance = parts.evaluation, parts.description, parts.acceptance
        place = {int(index): k for k, index in enumerate(self._description.active)}
        self._blocks = {
            module["name"]: np.ix_(module["rows"], [place[i] for i in module["dependents"]])
            for module in self._description.charts[robot.chart_name]["modules"]
            if module["dependents"]
        }

    @cached_property
    def _reference(self) -> dict[str, float]:
        return self._least(self._evaluation.jacobian(self._robot.reference))

    def _least(self, J: Array) -> dict[str, float]:
        """Least singular value of every module's block of the scaled Jacobian J."""
        return {name: float(np.linalg.svd(J[block], compute_uv=False)[-1]) for name, block in self._blocks.items()}

    def pivots(self, q: Array) -> tuple[ModulePivot, ...]:
        """Of every module, in the order of `robot.modules`."""
        return self._pivots(self._evaluation.jacobian(q))

    def _pivots(self, J: Array) -> tuple[ModulePivot, ...]:
        return tuple(ModulePivot(name, value, self._reference[name]) for name, value in self._least(J).items())

    def __call__(self, q: Array) -> Status:
        """The status of a configuration q (nq,)."""
        J = self._evaluation.jacobian(q)
        report = self._robot.rank_report
        sizes = np.linalg.svd(J, compute_uv=False) if J.size else np.zeros(0)
        rank = report.rank
        kept = float(sizes[rank - 1] / sizes[0]) if rank else 1.0
        dropped = float(sizes[rank] / sizes[0]) if rank < sizes.size else None
        return Status(
            residual=self._acceptance.residual(q),
            tolerance=self._acceptance.tolerance,
            rank=rank,
            freedoms=report.freedoms,
            kept=kept,
            dropped=dropped,
            pivots=self._pivots(J),
            limits=self.limits(q),
        )

    def limits(self, q: Array) -> tuple[LimitReached, ...]:
        """Coordinates, then ports, that stand at a limit."""
        named = [(self._description.coordinates[i], float(q[i]), ends) for i, ends in self._description.limits.items()]
        lengths = self._robot.port_displacement(q)
        for port, value in zip(self._robot.ports, lengths, strict=True):
            ends = port.limits.get("displacement")
            if ends is not None:
                named.append((port.name, float(value), (float(ends[0]), float(ends[1]))))
        reached = []
        for name, value, (lower, upper) in named:
            slack = NEAR * (upper - lower)
            bound = lower if value - lower < upper - value else upper
            if not lower + slack < value < upper - slack:
                beyond = not lower - 1e-9 <= value <= upper + 1e-9
                reached.append(LimitReached(name, value, bound, beyond))
        return tuple(reached)
