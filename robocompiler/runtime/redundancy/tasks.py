"""Tasks: what must move how.  Each gives rows J u = w with w = xdot_d - K (x - x_d) at a configuration.

Frames move in world axes, angular rows first, linear ones at the frame's origin, as `Robot.task_jacobian` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.numerics import se3
from robocompiler.runtime.description import unknown
from robocompiler.runtime.mechanics import MechanicalInterface
from robocompiler.runtime.redundancy.rows import TaskRows, matrix, to_own_chart

Array = NDArray[np.float64]
Gain = float | Sequence[float]
Axes = Literal["world", "frame"]

TURNS = ("rx", "ry", "rz")
SHIFTS = ("x", "y", "z")


class Task(Protocol):
    """Anything that gives task rows at a configuration."""

    def rows(self, robot: MechanicalInterface, q: Array) -> TaskRows:
        """J, w, names and units at q (nq,), in the robot's chart."""


@dataclass(frozen=True)
class FramePosition:
    """The origin of `frame` at `target` (3,) m, or only moving with `velocity` where there is no target.

    w = velocity - gain (p - target), in `axes` ('xz' leaves y free) of the world or, with axes_of='frame', of the frame
    itself.  gain: 1/s, one number or one per axis.
    """

    frame: str
    target: ArrayLike | None = None
    velocity: ArrayLike = (0.0, 0.0, 0.0)
    gain: Gain = 1.0
    axes: str = "xyz"
    axes_of: Axes = "world"

    def rows(self, robot: MechanicalInterface, q: Array) -> TaskRows:
        """See `Task.rows`."""
        R, p = robot.pose(self.frame, q)
        error = np.zeros(3) if self.target is None else p - matrix(self.target, (3,), _label(self.frame, "target"))
        wanted = matrix(self.velocity, (3,), _label(self.frame, "velocity"))
        rate = _Rate(robot.task_jacobian(self.frame, q)[3:], error, wanted)
        return rate.rows(self.frame, SHIFTS, tuple(self.axes), self.gain, _turn(R, self.axes_of), _length(robot))


@dataclass(frozen=True)
class FrameOrientation:
    """`frame` turned as `target` (3, 3) says, or only turning with `velocity` (rad/s, world) where there is none.

    w = velocity - gain log(R target^T), whose error decays as exp(-gain t); `axes` are 'rx', 'ry', 'rz' of the world or
    of the frame (two of the frame's leave it free to spin about the third).
    """

    frame: str
    target: ArrayLike | None = None
    velocity: ArrayLike = (0.0, 0.0, 0.0)
    gain: Gain = 1.0
    axes: Sequence[str] = TURNS
    axes_of: Axes = "world"

    def rows(self, robot: MechanicalInterface, q: Array) -> TaskRows:
        """See `Task.rows`."""
        R, _ = robot.pose(self.frame, q)
        error = np.zeros(3)
        if self.target is not None:
            error = se3.log_rotation(R @ _rotation(self.target, self.frame).T)
        wanted = matrix(self.velocity, (3,), _label(self.frame, "velocity"))
        rate = _Rate(robot.task_jacobian(self.frame, q)[:3], error, wanted)
        return rate.rows(self.frame, TURNS, tuple(self.axes), self.gain, _turn(R, self.axes_of), 1.0)


@dataclass(frozen=True)
class FramePose:
    """`frame` at `target` = (R, p), or only moving with the twist `velocity` (omega; v) where there is none.

    error 'split' takes orientation and position apart (SO(3) x R^3: the origin goes straight); 'screw' takes
    log(T_d^-1 T) on SE(3) in the frame's axes (the frame goes along one screw).  Both decay as exp(-gain t).  axes: any
    of rx ry rz x y z, of the world or of the frame.
    """

    frame: str
    target: tuple[ArrayLike, ArrayLike] | None = None
    velocity: ArrayLike = (0.0,) * 6
    gain: Gain = 1.0
    axes: Sequence[str] = (*TURNS, *SHIFTS)
    axes_of: Axes = "world"
    error: Literal["split", "screw"] = "split"

    def rows(self, robot: MechanicalInterface, q: Array) -> TaskRows:
        """See `Task.rows`."""
        R, p = robot.pose(self.frame, q)
        wanted = matrix(self.velocity, (6,), _label(self.frame, "velocity"))
        error = np.zeros(6)
        if self.target is not None:
            R_d, p_d = _rotation(self.target[0], self.frame), matrix(self.target[1], (3,), _label(self.frame, "target"))
            if self.error == "split":
                error = np.concatenate((se3.log_rotation(R @ R_d.T), p - p_d))
            elif self.error == "screw":
                error, wanted = _screw((R, p), (R_d, p_d), wanted)
            else:
                raise ValueError(f"task on {self.frame!r}: error is 'split' or 'screw', not {self.error!r}")
        rate = _Rate(robot.task_jacobian(self.frame, q), error, wanted)
        turn = np.asarray(np.kron(np.eye(2), _turn(R, self.axes_of)))
        return rate.rows(self.frame, (*TURNS, *SHIFTS), tuple(self.axes), self.gain, turn, _length(robot))


@dataclass(frozen=True)
class PortDisplacement:
    """A port's displacement l at `target` (m or rad): w = velocity - gain (l - target)."""

    port: str
    target: float | None = None
    velocity: float = 0.0
    gain: float = 1.0

    def rows(self, robot: MechanicalInterface, q: Array) -> TaskRows:
        """See `Task.rows`."""
        names = [port.name for port in robot.ports]
        if self.port not in names:
            raise unknown("port", self.port, names)
        index = names.index(self.port)
        error = 0.0 if self.target is None else robot.port_displacement(q)[index] - self.target
        return _single(f"port {self.port}", robot.port_map(q)[index], self.velocity - self.gain * error)


@dataclass(frozen=True)
class JointCoordinate:
    """One coordinate of a joint at `target` (rad or m), cut and dependent joints too: w = velocity - gain (q - target).

    ValueError for a joint with a quaternion, whose coordinates have no speed each: use FrameOrientation there.
    """

    name: str
    target: float | None = None
    velocity: float = 0.0
    gain: float = 1.0

    def rows(self, robot: MechanicalInterface, q: Array) -> TaskRows:
        """See `Task.rows`."""
        velocity, coordinate = robot.single_coordinate(self.name)
        error = 0.0 if self.target is None else float(q[coordinate]) - self.target
        return _single(f"joint {self.name}", robot.lift(q)[velocity], self.velocity - self.gain * error)


@dataclass(frozen=True)
class UserTask:
    """Rows of the caller's own: function(robot, q) -> (J (m, d or nv), w (m,)), over 'port' speeds or all 'velocities'.

    rows_named: one name per row.
    """

    rows_named: Sequence[str]
    function: Callable[[MechanicalInterface, Array], tuple[ArrayLike, ArrayLike]]
    over: Literal["port", "velocities"] = "port"

    def rows(self, robot: MechanicalInterface, q: Array) -> TaskRows:
        """See `Task.rows`."""
        names = tuple(self.rows_named)
        J, w = self.function(robot, q.copy())
        own = to_own_chart(robot, q, np.asarray(J, dtype=np.float64), self.over, f"J of the task {names}")
        if len(own) != len(names):
            raise ValueError(f"the task {names} has {len(names)} names and {len(own)} rows")
        return TaskRows(names, own, matrix(w, (len(names),), f"w of the task {names}"), np.ones(len(names)))


@dataclass(frozen=True)
class _Rate:
    """J (n, d), x - x_d and xdot_d of one frame, before axes are chosen."""

    J: Array
    error: Array
    wanted: Array

    def rows(
        self, frame: str, known: Sequence[str], chosen: Sequence[str], gain: Gain, turn: Array, length: float
    ) -> TaskRows:
        if not chosen or len(set(chosen)) != len(chosen) or not set(chosen) <= set(known):
            raise ValueError(f"task on {frame!r}: axes must be some of {', '.join(known)}, got {tuple(chosen)}")
        picked = [known.index(axis) for axis in chosen]
        size = () if np.ndim(gain) == 0 else (len(chosen),)
        factors = matrix(gain, size, _label(frame, "gain"))
        w = (turn @ self.wanted)[picked] - factors * (turn @ self.error)[picked]
        units = np.array([1.0 if axis in TURNS else length for axis in chosen])
        return TaskRows(tuple(f"{frame} {axis}" for axis in chosen), (turn @ self.J)[picked], w, units)


def _screw(now: tuple[Array, Array], then: tuple[Array, Array], wanted: Array) -> tuple[Array, Array]:
    """World-axes error and feedforward twist of log(T_d^-1 T): V_b = Ad_D^-1 V_d - K e with D = T_d^-1 T."""
    (R, p), (R_d, p_d) = now, then
    D, x = R_d.T @ R, R_d.T @ (p - p_d)
    own = np.kron(np.eye(2), R_d.T) @ wanted
    back = se3.adjoint(D.T, -D.T @ x) @ own
    turn = np.kron(np.eye(2), R)
    return turn @ se3.log(D, x), turn @ back


def _single(name: str, row: Array, w: float) -> TaskRows:
    if not np.isfinite(w):
        raise ValueError(f"{name}: target, velocity and gain must be finite numbers")
    return TaskRows((name,), row[None], np.array([w]), np.ones(1))


def _rotation(value: ArrayLike, frame: str) -> Array:
    R = matrix(value, (3, 3), _label(frame, "target rotation"))
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
        raise ValueError(f"task on {frame!r}: the target rotation is not a rotation matrix")
    return R


def _turn(R: Array, axes_of: str) -> Array:
    if axes_of not in ("world", "frame"):
        raise ValueError(f"axes are those of the 'world' or of the 'frame', not {axes_of!r}")
    return np.eye(3) if axes_of == "world" else np.asarray(R.T)


def _length(robot: MechanicalInterface) -> float:
    return robot.length_scale


def _label(frame: str, what: str) -> str:
    return f"task on {frame!r}: {what}"
