"""Checking array arguments and filling `out` arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import refused
from robocompiler.errors import ArgumentError

Array = NDArray[np.float64]

_ORDER = {  # whose order the entries of an argument have
    "q": "coordinates", "v": "velocities", "u": "independent", "udot": "independent", "tau_u": "independent",
    "f": "ports", "weights": "ports", "z": "drive_states", "c": "commands", "parameters": "parameters",
}  # fmt: skip


def floats(value: object, name: str, expected: str = "numbers") -> Array:
    """`value` as a float64 array of any shape; ArgumentError for text, None, ragged lists, complex numbers."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind in "buif":
            return array.astype(np.float64)
        if array.dtype.kind == "O" and all(_number_like(entry) for entry in array.flat):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass  # told below, as for arrays of other things
    raise refused(name, expected, value)


def vector(value: ArrayLike, size: int, name: str) -> Array:
    """`value` as a finite float64 array of shape (size,); ArgumentError otherwise."""
    array = floats(value, name, f"numbers of shape ({size},)")
    if array.shape != (size,):
        order = f"; its entries are in the order of Robot.{_ORDER[name]}" if name in _ORDER else ""
        raise shape_refused(name, f"({size},)", array.shape, order)
    # the sum of squares is finite unless an entry is not (or it overflows); testing every entry takes ten times as long
    if not math.isfinite(array.dot(array)) and not np.all(np.isfinite(array)):
        first = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ArgumentError(
            f"{name} has entries that are not finite numbers, first at index {first}",
            argument=name, expected="finite numbers", got=str(array[first]),
        )  # fmt: skip
    return array


def shape_refused(name: str, wanted: str, got: Iterable[int], mend: str = "") -> ArgumentError:
    """The error for an array of another shape than the `wanted` one."""
    shape = tuple(got)
    return ArgumentError(
        f"{name} must have shape {wanted}, got {shape}{mend}", argument=name, expected=f"shape {wanted}", got=str(shape)
    )


def put(value: Array, out: Array | None) -> Array:
    """`value`, or `out` filled with it; ArgumentError when `out` is no writeable float64 array of its shape."""
    if out is None:
        return value
    checked_out(out, value.shape)[...] = value
    return out


def checked_out(out: Any, shape: tuple[int, ...]) -> Array:
    """`out` itself; ArgumentError when it is no writeable float64 array of this shape."""
    wanted = f"a float64 array of shape {shape}"
    if not isinstance(out, np.ndarray):
        raise refused("out", wanted, out)
    if out.shape != shape or out.dtype != np.float64:
        got = f"{out.dtype} {out.shape}"
        raise ArgumentError(f"out must be {wanted}, got {got}", argument="out", expected=wanted, got=got)
    if not out.flags.writeable:
        raise ArgumentError(
            f"out must be {wanted} that can be written to, got a read-only one; give a copy", argument="out",
            expected=wanted, got="read-only",
        )  # fmt: skip
    return out


def _number_like(entry: object) -> bool:
    """A number of another package, such as a fraction: it has a float, and is no text and no truth value."""
    return hasattr(type(entry), "__float__") and not isinstance(entry, str | bytes | np.ndarray)
