"""Events that a robot brings itself: limits of joints and ports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import duck
from robocompiler.runtime.drives import DriveInterface
from robocompiler.runtime.simulation.events import Action, Event, Stop, checked_action

Array = NDArray[np.float64]


def joint_limits(robot: DriveInterface, action: Action = Stop()) -> tuple[Event, ...]:  # noqa: B008  a frozen record
    """One event for the position limits of all joints (none where there are none): the least distance to a limit."""
    _checked(robot, action)
    limits = robot._description.limits
    if not limits:
        return ()
    index = np.array(list(limits), dtype=np.intp)
    lower, upper = np.array(list(limits.values()), dtype=np.float64).T
    return (_limits("joint limit", [robot.coordinates[i] for i in index], lower, upper,
                    lambda q, u: q[index], action),)  # fmt: skip


def port_limits(robot: DriveInterface, action: Action = Stop()) -> tuple[Event, ...]:  # noqa: B008
    """The same for the displacements of ports."""
    _checked(robot, action)
    limited = [(k, p.name, p.limits["displacement"]) for k, p in enumerate(robot.ports) if p.limits.get("displacement")]
    if not limited:
        return ()
    index = np.array([k for k, _, _ in limited], dtype=np.intp)
    lower, upper = np.array([interval for _, _, interval in limited], dtype=np.float64).T
    return (_limits("port limit", [name for _, name, _ in limited], lower, upper,
                    lambda q, u: robot.port_displacement(q)[index], action),)  # fmt: skip


def port_speed_limits(robot: DriveInterface, action: Action = Stop()) -> tuple[Event, ...]:  # noqa: B008
    """The same for the speeds |ldot| of ports."""
    _checked(robot, action)
    limited = [(k, p.name, p.limits["velocity"]) for k, p in enumerate(robot.ports) if p.limits.get("velocity")]
    if not limited:
        return ()
    index = np.array([k for k, _, _ in limited], dtype=np.intp)
    bound = np.array([limit for _, _, limit in limited], dtype=np.float64)
    return (_limits("port speed limit", [name for _, name, _ in limited], -bound, bound,
                    lambda q, u: (robot.port_map(q) @ u)[index], action),)  # fmt: skip


def _checked(robot: object, action: object) -> None:
    duck(robot, ("port_displacement", "port_map"), "robot", "a Robot")
    checked_action(action, "action")


def _limits(name: str, names: list[str], lower: Array, upper: Array, read: object, action: Action) -> Event:
    assert callable(read)

    def margins(q: Array, u: Array) -> Array:
        x = read(q, u)
        return np.asarray(np.minimum(x - lower, upper - x))

    def detail(t: float, q: Array, u: Array) -> str:
        worst = int(np.argmin(margins(q, u)))
        return f"{names[worst]} is {read(q, u)[worst]:.6g}, limits [{lower[worst]:.6g}, {upper[worst]:.6g}]"

    return Event(name, lambda t, q, u: float(margins(q, u).min()), -1, action, detail)
