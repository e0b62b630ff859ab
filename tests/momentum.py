"""Momentum of a robot, summed over its bodies from their records, poses and twists: no mass matrix, no tree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.records.expressions import evaluate
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]


def momenta(robot: rc.Robot, records: Mechanism, q: Array, u: Array) -> Iterator[tuple[str, Array, Array, Array]]:
    """(body, origin, angular momentum about that origin, linear momentum) of every body, world axes."""
    values = {**records.defaults, **robot.parameters}
    for body in records.bodies:
        mass = evaluate(body.mass, values)
        com = np.array([evaluate(x, values) for x in body.com])
        xx, yy, zz, xy, xz, yz = (evaluate(x, values) for x in body.inertia)
        R, p = robot.pose(body.name, q)
        twist = robot.task_jacobian(body.name, q) @ u
        arm = R @ com
        linear = mass * (twist[3:] + np.cross(twist[:3], arm))
        inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        yield body.name, p, inertia @ twist[:3] + np.cross(arm, linear), linear


def total(robot: rc.Robot, records: Mechanism, q: Array, u: Array) -> Array:
    """(6,): angular momentum about the world's origin, then linear momentum."""
    parts = [np.concatenate((own + np.cross(p, linear), linear)) for _, p, own, linear in momenta(robot, records, q, u)]
    return np.asarray(sum(parts))


def given(robot: rc.Robot, q: Array, impulses: dict[str, Array]) -> Array:
    """(6,): what impulses on frames add to `total`."""
    result = np.zeros(6)
    for frame, impulse in impulses.items():
        p = robot.pose(frame, q)[1]
        result += np.concatenate((impulse[:3] + np.cross(p, impulse[3:]), impulse[3:]))
    return result
