"""What every part of `Robot` stands on: names, the compiled functions of one chart, and the checks of arguments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.errors import RankError
from robocompiler.runtime.acceptance import Acceptance
from robocompiler.runtime.arrays import vector
from robocompiler.runtime.assembly import Assembler
from robocompiler.runtime.description import Description
from robocompiler.runtime.evaluation import Evaluation
from robocompiler.runtime.library import Library
from robocompiler.runtime.reports import ChartReport, ModuleInfo, PortInfo, RankReport

Array = NDArray[np.float64]


class RobotBase:
    """A compiled robot in one chart: its description and its compiled functions."""

    def __init__(self, library: Library, description: Description, chart: str, parameters: Mapping[str, float]) -> None:
        self._library, self._description, self._chart = library, description, chart
        self._parameters = dict(parameters)
        self._evaluation = Evaluation(library, description, chart, np.array(list(parameters.values())))
        self._assembler = Assembler(self._evaluation)
        self._independent = description.independent(chart)
        self._own = self._evaluation.own

    @property
    def name(self) -> str:
        """The robot's name."""
        return self._description.name

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of q, in order."""
        return self._description.coordinates

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of v, in order."""
        return self._description.velocities

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of u, in order."""
        return tuple(self.velocities[i] for i in self._independent)

    @property
    def ports(self) -> tuple[PortInfo, ...]:
        """The actuator ports, in file order."""
        return self._description.ports

    @property
    def frames(self) -> tuple[str, ...]:
        """Every body, then the named frames."""
        return self._description.frames

    @property
    def modules(self) -> tuple[ModuleInfo, ...]:
        """The loop modules of this chart."""
        return self._description.modules(self._chart)

    @property
    def rank_report(self) -> RankReport:
        """The rank decision with its evidence."""
        return self._description.rank_report

    @property
    def chart_report(self) -> ChartReport | None:
        """Where the further charts were looked for, and whether they suffice; None where they were not asked for."""
        return self._description.chart_report

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the compiler found odd but acceptable in the records."""
        return self._description.warnings

    @property
    def closures(self) -> tuple[str, ...]:
        """Closures in the order of the residual: chords (six rows each), then couplings (one row each)."""
        return tuple(closure["name"] for closure in self._description.closures)

    @property
    def parameters(self) -> dict[str, float]:
        """Values of the run-time parameters."""
        return dict(self._parameters)

    @property
    def chart_name(self) -> str:
        """'port', 'inner' or that of a further chart."""
        return self._chart

    @property
    def position_limits(self) -> dict[str, tuple[float, float]]:
        """{coordinate: (lower, upper)} of the coordinates whose position the model file limits."""
        return {self.coordinates[index]: interval for index, interval in self._description.limits.items()}

    @property
    def speed_limits(self) -> dict[str, float]:
        """{velocity: largest speed} (rad/s or m/s) of those that the model file limits."""
        return {self.velocities[index]: limit for index, limit in self._description.speed_limits.items()}

    @property
    def length_scale(self) -> float:
        """The robot's length scale (m), by which lengths and angles are compared."""
        return self._description.length

    def single_coordinate(self, name: str) -> tuple[int, int]:
        """(index in v, index in q) of a coordinate that has a speed of its own.

        ValueError for an unknown name, for a joint with several coordinates, and for one of a quaternion.
        """
        return self._description.single_coordinate(name)

    @property
    def reference(self) -> Array:
        """An assembled configuration (nq,): the file's reference."""
        return self._description.reference.copy()

    def __repr__(self) -> str:
        return (
            f"<Robot {self.name!r}: {len(self.coordinates)} coordinates, {len(self.independent)} freedoms, "
            f"{len(self.modules)} modules, {self._chart} chart>"
        )

    # --- for the motion layer ---

    @property
    def evaluation(self) -> Evaluation:
        """The compiled functions of this chart, without checks."""
        return self._evaluation

    @property
    def acceptance(self) -> Acceptance:
        """When a configuration counts as assembled, in this chart."""
        return self._assembler.acceptance

    @property
    def independent_indices(self) -> NDArray[np.intp]:
        """Places (d,) of u in v."""
        return self._independent

    def checked(self, q: ArrayLike) -> Array:
        """q as an array (nq,).  ValueError for a wrong length, numbers that are not finite, quaternions not of unit
        length."""
        return self._q(q)

    # --- calls ---

    def _checked(self, name: str, *inputs: Array, size: int | tuple[int, ...], first: int | None = None) -> Array:
        """The single output of a compiled function that returns a status; RankError unless the status is OK.

        It is the function of this chart where the chart has its own, else that of the port chart.
        """
        shape = size if isinstance(size, tuple) else (size,)
        prefix = self._evaluation.prefix if self._own else ""
        output, status = self._evaluation.get(f"{prefix}{name}", inputs, shape, first=first)
        self._check(status)
        return output

    def _check(self, status: int) -> None:
        if status:
            raise RankError(
                f"{self.name}: a pivot vanishes at this configuration: the chart is singular there, or the reduced "
                "inertia is not positive definite; use another chart or pose",
                {"chart": self._chart, "status": status},
            )

    def _q(self, q: ArrayLike) -> Array:
        value = vector(q, len(self.coordinates), "q")
        self._description.check_quaternions(value)
        return value

    def _v(self, v: ArrayLike, name: str = "v") -> Array:
        return vector(v, len(self.velocities), name)

    def _u(self, u: ArrayLike, name: str = "u") -> Array:
        return vector(u, self._independent.size, name)
