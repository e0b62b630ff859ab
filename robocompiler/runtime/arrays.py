"""Checking array arguments and filling `out` arrays."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def vector(value: ArrayLike, size: int, name: str) -> Array:
    """`value` as a finite float64 array of shape (size,); ValueError otherwise."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {array.shape}")
    # the sum of squares is finite unless an entry is not (or it overflows); testing every entry takes ten times as long
    if not math.isfinite(array.dot(array)) and not np.all(np.isfinite(array)):
        first = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name} has entries that are not finite numbers, first at index {first}")
    return array


def put(value: Array, out: Array | None) -> Array:
    """`value`, or `out` filled with it; ValueError when `out` has another shape or type."""
    if out is None:
        return value
    if out.shape != value.shape or out.dtype != np.float64:
        raise ValueError(f"out must be a float64 array of shape {value.shape}, got {out.dtype} {out.shape}")
    out[...] = value
    return out
