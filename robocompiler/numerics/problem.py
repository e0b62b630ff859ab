"""The closure problem that the correction and continuation algorithms solve, independent of what evaluates it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ClosureProblem(Protocol):
    """Scaled condensed closures: lengths over the length scale, so that rows and increments are of order one."""

    def rows(self, q: Array) -> Array:
        """Residual (m,)."""
        ...

    def jacobian(self, q: Array) -> Array:
        """Jacobian (m, n) with respect to the scaled active increments."""
        ...

    def retract(self, q: Array, step: Array) -> Array:
        """q moved by the scaled active increments `step` (n,), eliminated coordinates recovered."""
        ...
