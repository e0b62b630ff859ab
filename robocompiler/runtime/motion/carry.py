"""State carried from one compiled robot to another by names: coordinates, base poses, speeds, drive states, parameters.

The two may differ in anything: edited records, another joint, a limb more or less.  What both have is taken over, the
loops are closed again, and speeds become the admissible ones nearest to those before in the metric of the new robot's
inertia, u = M_r^-1 E^T M_T v, which is v itself wherever the new closures allow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import duck
from robocompiler.errors import RankError
from robocompiler.numerics.se3 import quaternion_of_rotation
from robocompiler.runtime.arrays import vector
from robocompiler.runtime.manifold import difference
from robocompiler.runtime.motion.closing import close

if TYPE_CHECKING:
    from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]

_ALIKE = ({"revolute", "continuous"},)  # types whose coordinates mean the same
SAME = 1e-9  # difference of speeds, over the largest, both scaled, that is rounding


@dataclass(frozen=True)
class Names:
    """Which names of a kind were carried, are new, and were lost; `lost` says why."""

    carried: tuple[str, ...]
    new: tuple[str, ...]
    lost: Mapping[str, str]

    def __str__(self) -> str:
        lost = ", ".join(f"{name} ({why})" for name, why in self.lost.items())
        return f"{len(self.carried)} carried, new: {', '.join(self.new) or 'none'}, lost: {lost or 'none'}"


@dataclass(frozen=True)
class Carried:
    """A state of the new robot, and what was done to get it.

    robot: the new one, see `alike`; q, u, z: its assembled configuration,
    independent speeds and drive states.

    joints, parameters, drive_states: what was carried.  bases: {body: joint} of floating bodies whose pose was taken
    from another joint's motion, or from standing on the world.  held: 'all' (closed as carried, bit for bit),
    'independents' (the loops were closed by the dependents) or 'nothing' (the independents had to give way); see
    `closing.close`.

    q_change, v_change (nv,): by the new robot's velocities, the increment that closed the loops (rad, m) and the change
    of speeds (rad/s, m/s), new joints from their reference and from rest; v_energy: 1/2 |v_change|_M^2 (J).
    """

    robot: Robot
    q: Array
    u: Array
    z: Array
    joints: Names
    parameters: Names
    drive_states: Names
    bases: Mapping[str, str]
    held: str
    q_change: Array
    v_change: Array
    v_energy: float

    @property
    def largest_change(self) -> tuple[str, float]:
        """The velocity name and size of the largest increment that closed the loops; ('', 0.0) without any."""
        return _largest(self.robot.velocities, self.q_change)

    def __str__(self) -> str:
        name, size = self.largest_change
        closing = f"; closing moved {name} by {size:.3g}" if size else ""
        return f"joints: {self.joints}; held: {self.held}{closing}; speeds changed by {self.v_energy:.3g} J"


def carry(old: Robot, q: ArrayLike, u: ArrayLike, new: Robot, z: ArrayLike | None = None) -> Carried:
    """The state of `old` as one of `new`.

    Joints are carried where name, type and direction are the same; others start at the reference of `new`, at rest.  A
    floating body whose free joint is new takes pose and twist of the body of its name in `old`.

    Args:
        q, u, z: assembled configuration, independent speeds and drive states (default: their start) of `old`.

    Raises:
        ValueError: arrays of the wrong size, not finite.
        AssemblyError: the loops of `new` cannot be closed nearby, or joint limits forbid it.
        RankError: the chart of `new` is singular there, or its inertia is not positive definite.
    """
    for name, robot in (("old", old), ("new", new)):
        duck(robot, ("assemble", "velocity", "with_parameters"), name, "a Robot")
    before, speeds = vector(q, len(old.coordinates), "q"), vector(u, len(old.independent), "u")
    robot = alike(old, new)
    start, v = robot.reference, np.zeros(len(robot.velocities))
    joints = _joints(old, robot)
    v_before = old.velocity(before, speeds)
    for name in joints.carried:
        (q0, q1), (v0, v1) = _place(robot, name)
        (p0, p1), (w0, w1) = _place(old, name)
        start[q0:q1], v[v0:v1] = before[p0:p1], v_before[w0:w1]
    bases = _bases(old, before, speeds, robot, joints.new)
    for body, joint in bases.items():
        (q0, q1), (v0, v1) = _place(robot, joint)
        start[q0:q1], v[v0:v1] = _base(old, body, before, speeds)
    found, held = close(robot, start)
    nv = len(robot.velocities)
    own, change, energy = _speeds(robot, found, v)
    return Carried(
        robot, found, own, _drive_states(old, z, robot), joints, _parameters(old, new), _drive_names(old, new), bases,
        held, difference(robot._description.joints, start, found, nv), change, energy,
    )  # fmt: skip


def alike(old: Robot, new: Robot) -> Robot:
    """`new` in the chart of `old`, or the port chart where it has none of that name, with the values of the run-time
    parameters that both have.
    """
    values = {name: value for name, value in old.parameters.items() if name in new.parameters}
    chart = old.chart_name if old.chart_name in new.charts else "port"
    return new.chart(chart).with_parameters(values)


# --- names ---


def _joints(old: Robot, new: Robot) -> Names:
    before = {joint["name"]: joint for joint in old._description.joints}
    after = {joint["name"]: joint for joint in new._description.joints}
    lost = {name: why for name, joint in before.items() if (why := _why_lost(joint, after.get(name)))}
    carried = tuple(name for name in after if name in before and name not in lost)
    return Names(carried, tuple(name for name in after if name not in carried), lost)


def _why_lost(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> str:
    """Why a joint's coordinates mean nothing any more, '' where they do."""
    if after is None:
        return "no joint of this name"
    if before["type"] != after["type"] and {before["type"], after["type"]} not in _ALIKE:
        return f"was {before['type']}, is {after['type']}"
    if (before["a"], before["b"]) == (after["b"], after["a"]):
        return "its bodies changed places"
    return ""


def _parameters(old: Robot, new: Robot) -> Names:
    return _names(tuple(old.parameters), tuple(new.parameters), "no parameter of this name")


def _drive_names(old: Robot, new: Robot) -> Names:
    return _names(old.drive_states, new.drive_states, "no drive state of this name")


def _names(before: tuple[str, ...], after: tuple[str, ...], why: str) -> Names:
    carried = tuple(name for name in after if name in before)
    new = tuple(name for name in after if name not in before)
    return Names(carried, new, {name: why for name in before if name not in after})


def _place(robot: Robot, joint: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where a joint's coordinates and velocities lie."""
    entry = next(entry for entry in robot._description.joints if entry["name"] == joint)
    (q0, nq), (v0, nv) = entry["q"], entry["v"]
    return (q0, q0 + nq), (v0, v0 + nv)


def _drive_states(old: Robot, z: ArrayLike | None, new: Robot) -> Array:
    given = old.initial_drive_states if z is None else vector(z, len(old.drive_states), "z")
    known = dict(zip(old.drive_states, given, strict=True))
    start = dict(zip(new.drive_states, new.initial_drive_states, strict=True))
    return np.array([known.get(name, value) for name, value in start.items()], dtype=np.float64)


# --- floating bodies ---


def _bases(old: Robot, q: Array, u: Array, new: Robot, joints: tuple[str, ...]) -> dict[str, str]:
    """{body: free joint} of new free joints from the world whose coordinates are the pose of a body that `old` has."""
    found = {}
    for entry in new._description.joints:
        body = entry["b"]
        if entry["name"] in joints and (entry["type"], entry["a"]) == ("free", "world") and body in old.frames:
            (q0, q1), _ = _place(new, entry["name"])
            if np.abs(_pose(new, body, new.reference) - new.reference[q0:q1]).max() < 1e-9:
                found[body] = entry["name"]
    return found


def _pose(robot: Robot, body: str, q: Array) -> Array:
    """(x, y, z, w, i, j, k) of a body in the world, the quaternion's sign as in the reference of a free joint."""
    R, p = robot.pose(body, q)
    quaternion = np.array(quaternion_of_rotation(R))
    return np.concatenate((p, quaternion))


def _base(old: Robot, body: str, q: Array, u: Array) -> tuple[Array, Array]:
    """Coordinates and velocities of a free joint from the world: the pose of a body, and its twist in its own axes."""
    R = old.pose(body, q)[0]
    twist = old.task_jacobian(body, q) @ u
    return _pose(old, body, q), np.concatenate((R.T @ twist[:3], R.T @ twist[3:]))


# --- speeds ---


def _speeds(robot: Robot, q: Array, v: Array) -> tuple[Array, Array, float]:
    """u of the admissible velocities nearest to v (nv,) in the metric of the tree's inertia; the change, its energy."""
    E, scales = robot.lift(q), robot._description.column_scales
    u = np.array([v[robot.velocities.index(name)] for name in robot.independent])
    change = E @ u - v
    if not robot.independent:
        return u, change, 0.0 if not v.any() else float("nan")
    tree = sorted(robot._description.motions)  # the speeds of cut joints follow from the others and carry no inertia
    if np.abs(change / scales)[tree].max(initial=0.0) > SAME * np.abs(v / scales)[tree].max(initial=0.0):
        try:
            root = np.linalg.cholesky(robot.mass_matrix(q))
        except np.linalg.LinAlgError:
            raise RankError(
                f"{robot.name}: the reduced inertia is not positive definite at the carried state"
            ) from None
        u = np.linalg.solve(root.T, np.linalg.solve(root, E.T @ _inertia_times(robot, q, v)))
        change = E @ u - v
    return u, change, float(change @ _inertia_times(robot, q, change)) / 2


def _inertia_times(robot: Robot, q: Array, v: Array) -> Array:
    """M_T v (nv,): tree forces at rest are M_T a + h_T, so the difference of two, at a = s v and a = 0.

    s is a power of two that makes the accelerations large, so that gravity takes no digits from the difference.
    """
    largest = float(np.abs(v).max(initial=0.0))
    if largest == 0.0:
        return np.zeros(v.size)
    s = 2.0 ** (20 - np.frexp(largest)[1])
    rest = np.zeros(v.size)
    moving = robot._evaluation.get("tree_forces", (q, rest, s * v), (v.size,))[0]
    return np.asarray((moving - robot._evaluation.get("tree_forces", (q, rest, rest), (v.size,))[0]) / s)


def _largest(names: tuple[str, ...], values: Array) -> tuple[str, float]:
    if not values.size or not np.any(values):
        return "", 0.0
    worst = int(np.argmax(np.abs(values)))
    return names[worst], float(values[worst])
