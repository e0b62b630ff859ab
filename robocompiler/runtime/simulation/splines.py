"""Cubic splines with continuous second derivatives, for several columns at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import number
from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import floats

Array = NDArray[np.float64]


class CubicSpline:
    """The C2 cubic through values (n, k) at times (n,), at rest at both ends (zero first derivative).

    Beyond its ends it stays at its end values.
    """

    def __init__(self, times: ArrayLike, values: ArrayLike) -> None:
        """ValueError: fewer than two times, times that do not grow, values of another length, or not finite."""
        t, y = floats(times, "times").copy(), floats(values, "values").copy()
        y = y[:, None] if y.ndim == 1 else y
        if t.ndim != 1 or t.size < 2 or y.shape[:1] != t.shape or y.ndim != 2:
            raise ArgumentError(f"a spline needs times (n,) with n > 1 and values (n, k), got {t.shape} and {y.shape}")
        if not (np.all(np.isfinite(t)) and np.all(np.isfinite(y)) and np.all(np.diff(t) > 0)):
            raise ArgumentError("times of a spline must grow, and its numbers be finite")
        self.times, self.values = t, y
        self.slopes = _slopes(t, y)

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """(value, first, second derivative), each (k,), at time t."""
        t = number(t, "t", unit="seconds")
        if t <= self.times[0] or t >= self.times[-1]:
            end = 0 if t <= self.times[0] else -1
            zero = np.zeros(self.values.shape[1])
            curved = self._piece(t)[2] if t in (self.times[0], self.times[-1]) else zero
            return self.values[end].copy(), zero, curved
        return self._piece(t)

    def _piece(self, t: float) -> tuple[Array, Array, Array]:
        i = min(int(np.searchsorted(self.times, t, side="right")) - 1, self.times.size - 2)
        h = self.times[i + 1] - self.times[i]
        s = (t - self.times[i]) / h
        y0, y1 = self.values[i], self.values[i + 1]
        m0, m1 = h * self.slopes[i], h * self.slopes[i + 1]
        c2, c3 = 3 * (y1 - y0) - 2 * m0 - m1, 2 * (y0 - y1) + m0 + m1
        return y0 + s * (m0 + s * (c2 + s * c3)), (m0 + s * (2 * c2 + 3 * s * c3)) / h, (2 * c2 + 6 * s * c3) / (h * h)


def _slopes(t: Array, y: Array) -> Array:
    """First derivatives (n, k) at the knots that make the second ones continuous (Thomas's algorithm)."""
    slopes = np.zeros_like(y)
    n = t.size - 2
    if not n:
        return slopes
    h = np.diff(t)
    secant = np.diff(y, axis=0) / h[:, None]
    diagonal = 2 * (h[:-1] + h[1:])
    right = 3 * (h[1:, None] * secant[:-1] + h[:-1, None] * secant[1:])
    upper = h[:-1].copy()  # row i: h_{i+1} m_i + 2 (h_i + h_{i+1}) m_{i+1} + h_i m_{i+2}
    for i in range(1, n):
        factor = h[i + 1] / diagonal[i - 1]
        diagonal[i] -= factor * upper[i - 1]
        right[i] -= factor * right[i - 1]
    slopes[n] = right[n - 1] / diagonal[n - 1]
    for i in range(n - 2, -1, -1):
        slopes[i + 1] = (right[i] - upper[i] * slopes[i + 2]) / diagonal[i]
    return slopes
