"""Tasks: what must move how.  Each gives rows J u = w with w = xdot_d - K (x - x_d) at a configuration.

Frames move in world axes, angular rows first, linear ones at the frame's origin, as `Robot.task_jacobian` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import function, named, number, one_of, refused, texts
from robocompiler.errors import ArgumentError
from robocompiler.numerics import se3
from robocompiler.runtime.arrays import floats
from robocompiler.runtime.mechanics import MechanicalInterface
from robocompiler.runtime.redundancy.rows import TaskRows, matrix, row_names, to_own_chart

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
        return rate.rows(
            self.frame, SHIFTS, _axes(self.axes, self.frame), self.gain, _turn(R, self.axes_of), _length(robot)
        )


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
        return rate.rows(self.frame, TURNS, _axes(self.axes, self.frame), self.gain, _turn(R, self.axes_of), 1.0)


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
            if not isinstance(self.target, tuple | list) or len(self.target) != 2:
                raise refused(_label(self.frame, "target"), "(R, p)", self.target)
            R_d, p_d = _rotation(self.target[0], self.frame), matrix(self.target[1], (3,), _label(self.frame, "target"))
            one_of(self.error, ("split", "screw"), f"task on {self.frame!r}: error")
            if self.error == "split":
                error = np.concatenate((se3.log_rotation(R @ R_d.T), p - p_d))
            else:
                error, wanted = _screw((R, p), (R_d, p_d), wanted)
        rate = _Rate(robot.task_jacobian(self.frame, q), error, wanted)
        turn = np.asarray(np.kron(np.eye(2), _turn(R, self.axes_of)))
        return rate.rows(self.frame, (*TURNS, *SHIFTS), _axes(self.axes, self.frame), self.gain, turn, _length(robot))


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
        index = names.index(named("port", self.port, names))
        return _single(self, f"port {self.port}", robot.port_map(q)[index], float(robot.port_displacement(q)[index]))


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
        return _single(self, f"joint {self.name}", robot.lift(q)[velocity], float(q[coordinate]))


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
        names = row_names(self.rows_named, "rows_named")
        found = function(self.function, "function", "function(robot, q) that returns (J, w)")(robot, q.copy())
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise refused(f"what the function of the task {names} returns", "(J, w)", found)
        J, w = found
        own = to_own_chart(robot, q, J, self.over, f"J of the task {names}")
        if len(own) != len(names):
            raise ArgumentError(f"the task {names} has {len(names)} names and {len(own)} rows")
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
        if (
            not all(isinstance(axis, str) for axis in chosen)
            or not chosen
            or len(set(chosen)) != len(chosen)
            or not set(chosen) <= set(known)
        ):
            raise ArgumentError(f"task on {frame!r}: axes must be some of {', '.join(known)}, got {tuple(chosen)}")
        picked = [known.index(axis) for axis in chosen]
        factors = floats(gain, _label(frame, "gain"), f"a number, or {len(chosen)} of them")
        factors = matrix(factors, () if factors.ndim == 0 else (len(chosen),), _label(frame, "gain"))
        if np.any(factors < 0):
            raise refused(
                _label(frame, "gain"), "at least 0", float(factors.min()), "a negative gain drives away from the target"
            )
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


def _single(task: PortDisplacement | JointCoordinate, name: str, row: Array, now: float) -> TaskRows:
    """The row of one number that is `now`: w = velocity - gain (now - target)."""
    gain = number(
        task.gain,
        f"{name}: gain",
        least=0.0,
        mend="a negative gain drives away from the target, a feedforward is `velocity`",
    )
    error = 0.0 if task.target is None else now - number(task.target, f"{name}: target")
    w = number(task.velocity, f"{name}: velocity") - gain * error
    return TaskRows((name,), row[None], np.array([w]), np.ones(1))


def _axes(axes: object, frame: str) -> tuple[str, ...]:
    """The names of axes, one letter each where they are one text."""
    return tuple(axes) if isinstance(axes, str) else texts(axes, _label(frame, "axes"), "names of axes")


def _rotation(value: ArrayLike, frame: str) -> Array:
    R = matrix(value, (3, 3), _label(frame, "target rotation"))
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
        raise ArgumentError(f"task on {frame!r}: the target rotation is not a rotation matrix")
    return R


def _turn(R: Array, axes_of: str) -> Array:
    one_of(axes_of, ("world", "frame"), "axes_of")
    return np.eye(3) if axes_of == "world" else np.asarray(R.T)


def _length(robot: MechanicalInterface) -> float:
    return robot.length_scale


def _label(frame: str, what: str) -> str:
    return f"task on {frame!r}: {what}"
