"""`robot.resolve` and `robot.advance`: redundancy resolution as methods of the robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import number
from robocompiler.runtime.drives import DriveInterface
from robocompiler.runtime.redundancy.bounds import Bound
from robocompiler.runtime.redundancy.metrics import Metric
from robocompiler.runtime.redundancy.preferences import Preference
from robocompiler.runtime.redundancy.relaxation import Relaxation
from robocompiler.runtime.redundancy.resolve import Resolution, resolve
from robocompiler.runtime.redundancy.tasks import Task

Array = NDArray[np.float64]


class ResolutionInterface(DriveInterface):
    """Methods that choose among the motions which a task leaves open; see `robocompiler.runtime.redundancy`."""

    def resolve(
        self,
        q: ArrayLike,
        tasks: Sequence[Task],
        *,
        bounds: Sequence[Bound] = (),
        metric: str | Metric = "kinetic",
        preference: Preference | None = None,
        relax: Relaxation | None = None,
    ) -> Resolution:
        """u of min 1/2 |u|_W^2 + k_phi g^T u subject to J u = w and A u <= b, in this robot's chart.

        Args:
            q: an assembled configuration (nq,).
            tasks: what gives J and w (`FramePosition`, `PortDisplacement`, ...), together of full row rank.
            bounds: what gives A and b (`declared(step)`: all limits of the model file).
            metric: W: 'kinetic' (M_r), 'port' (L^T L), 'joint' (E^T E), or a Metric.
            preference: Phi with its gain k_phi.
            relax: what may give way where task and bounds contradict each other; by default nothing.

        Raises:
            InfeasibleTaskError: they do contradict each other (and relaxing does not help); it names the rows.
            RankError: rows of the task depend on one another (named), the metric is singular, or the chart is.
            MissingPackageError: bounds are in the way and the QP solver is not installed.
            ValueError: names that do not exist, wrong shapes, numbers that are not finite.
        """
        return resolve(
            self, self._q(q), tasks, bounds=bounds, metric=metric, preference=preference, relax=relax
        )  # fmt: skip

    def advance(self, q: ArrayLike, u: ArrayLike, step: float) -> Array:
        """q (+) h E u with its loops closed again (nq,), the independents held: the next configuration.

        Raises:
            AssemblyError: no admissible configuration there (loops that do not close, another branch, limits violated).
            ValueError: `step` is not a finite number.
        """
        h = number(step, "step", unit="seconds")
        start = self._q(q)
        return self.assemble(self._evaluation.integrate(start, h * self.velocity(start, u)))
