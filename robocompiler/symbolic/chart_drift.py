"""What the selected rows of a module lack in acceleration: S Cdot v, from which a chart's curvature follows.

R_p c_dep = -S Cdot v,     c = 0 at the independents
"""

from __future__ import annotations

from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.dynamics import Mechanics
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.kernels import make_kernel
from robocompiler.symbolic.reduction import Reduction


def chart_drifts(closures: ClosureProgram, reduction: Reduction) -> tuple[Kernel, ...]:
    """<module>_drift, q and v to S Cdot v (k), for the modules of every chart but the port chart."""
    symbols = closures.symbols
    rows = Mechanics(closures, reduction).row_curvatures(symbols.v)
    return tuple(
        make_kernel(
            symbols,
            f"{module.name}_drift",
            f"Cdot v of the selected rows of {module.name}.",
            [("x", "second derivatives of the rows", rows[list(module.rows)])],
            ("v", "velocities", symbols.v),
        )
        for chart in reduction.charts[1:]
        for module in chart.modules
        if module.dependents
    )
