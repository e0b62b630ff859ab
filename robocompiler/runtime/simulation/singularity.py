"""How far a configuration is from where the port chart is singular, with a sign that changes beyond."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.simulation.events import Event, Stop
from robocompiler.runtime.simulation.plant import Plant

Array = NDArray[np.float64]

NAME = "singular"
LEAST = 1e-2  # of the smallest pivot at the probed poses


class PivotMonitor:
    """The least singular value of each module's R_p, over that at the poses probed by the compiler.

    It is signed by det R_p over its sign at the reference, so that it passes zero where the assembly branch is left.
    Modules whose selected rows mark no branch are left out; there the status of each evaluation alone tells.
    """

    def __init__(self, plant: Plant) -> None:
        self._evaluation = plant.evaluation
        chart = plant.description.charts[plant.evaluation.chart]
        smallest = {module["name"]: module["smallest_pivot"] for module in chart["modules"]}
        self._modules = [(name, block, sign, smallest[name]) for name, (block, sign) in plant.acceptance.blocks.items()]

    def measure(self, q: Array) -> tuple[float, str]:
        """(least signed value, its module); (inf, '') for a robot without loops."""
        least, worst = float("inf"), ""
        if not self._modules:
            return least, worst
        J = self._evaluation.jacobian(q)
        for name, block, sign, smallest in self._modules:
            R = J[block]
            value = float(np.linalg.svd(R, compute_uv=False)[-1]) / smallest
            if np.linalg.slogdet(R)[0] != sign:
                value = -value
            if value < least:
                least, worst = value, name
        return least, worst

    def event(self) -> tuple[Event, ...]:
        """The event that ends a simulation before the port chart becomes singular."""
        if not self._modules:
            return ()

        def detail(t: float, q: Array, u: Array) -> str:
            value, module = self.measure(q)
            return f"the smallest pivot of {module} is {value:.2g} of that at the probed poses"

        return (Event(NAME, lambda t, q, u: self.measure(q)[0] - LEAST, -1, Stop(), detail),)
