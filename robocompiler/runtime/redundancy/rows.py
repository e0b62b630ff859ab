"""Rows of a resolution problem: equalities J u = w of tasks, inequalities A u <= b of bounds, each row with a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import one_of, texts
from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import floats, shape_refused
from robocompiler.runtime.mechanics import MechanicalInterface

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TaskRows:
    """J (m, d) u = w (m,), in the robot's chart; units: what counts as one unit of each row (rad, or metres)."""

    names: tuple[str, ...]
    J: Array
    w: Array
    units: Array


@dataclass(frozen=True)
class BoundRows:
    """A (k, d) u <= b (k,), in the robot's chart."""

    names: tuple[str, ...]
    A: Array
    b: Array


def stack_tasks(parts: Sequence[TaskRows], d: int) -> TaskRows:
    """All task rows below one another."""
    return TaskRows(
        distinct([name for part in parts for name in part.names], "task"),
        np.vstack([np.zeros((0, d)), *(part.J for part in parts)]),
        np.concatenate([np.zeros(0), *(part.w for part in parts)]),
        np.concatenate([np.zeros(0), *(part.units for part in parts)]),
    )


def stack_bounds(parts: Sequence[BoundRows], d: int) -> BoundRows:
    """All bound rows below one another."""
    return BoundRows(
        distinct([name for part in parts for name in part.names], "bound"),
        np.vstack([np.zeros((0, d)), *(part.A for part in parts)]),
        np.concatenate([np.zeros(0), *(part.b for part in parts)]),
    )


def distinct(names: Iterable[str], kind: str) -> tuple[str, ...]:
    """`names` as a tuple.  ValueError when one occurs twice: a report could not tell those rows apart."""
    listed = tuple(names)
    twice = [name for name, count in Counter(listed).items() if count > 1]
    if twice:
        raise ArgumentError(f"two {kind} rows are called {twice[0]!r}; give one of them another name")
    return listed


def matrix(value: ArrayLike, shape: tuple[int | None, ...], name: str) -> Array:
    """`value` as a finite float64 array of `shape` (None: any length).  ArgumentError otherwise."""
    wanted = f"({', '.join('any' if n is None else str(n) for n in shape)})"
    array = floats(value, name, f"numbers of shape {wanted}")
    if array.ndim != len(shape) or any(n is not None and n != have for n, have in zip(shape, array.shape, strict=True)):
        raise shape_refused(name, wanted, array.shape)
    if not np.all(np.isfinite(array)):
        raise ArgumentError(f"{name} has entries that are not finite numbers")
    return array


def row_names(value: object, name: str) -> tuple[str, ...]:
    """One name for each row: a list of texts."""
    return texts(value, name, "one name per row")


def to_own_chart(robot: MechanicalInterface, q: Array, rows: ArrayLike, over: str, name: str) -> Array:
    """Rows over the robot's own speeds u, from rows over 'port' speeds (the port chart's u) or all 'velocities' v.

    Both are charts that the caller can name once and for all, so that the same rows serve in every chart.
    """
    one_of(over, ("port", "velocities"), f"{name}: over")
    if over == "velocities":
        return np.asarray(matrix(rows, (None, len(robot.velocities)), name) @ robot.lift(q))
    own = matrix(rows, (None, len(robot.independent)), name)
    return own if robot.chart_name == "port" else np.asarray(own @ robot.F(q))
