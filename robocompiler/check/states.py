"""Random states on the manifold of a compiled robot: walked along the mechanism, within its limits, assembled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import AssemblyError, RankError
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, velocity_names
from robocompiler.records.model import Mechanism
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]
_STEPS = 3  # moves from the reference to a state
_REACH = 0.15  # largest change of any joint in one move: rad, or lengths of the mechanism
_SPEED = 1.0  # largest joint speed: rad/s, or lengths of the mechanism per second
_SMALLEST = 2.0**-12  # a state as near to the reference as this that still cannot be reached is given up
_DRAWS = 100  # smallest moves that are tried where limits are what is in the way


@dataclass(frozen=True)
class Sample:
    """A state with what acts on it.

    Attributes:
        q (nq,), u (d,): configuration and independent speeds of the port chart.
        udot (d,): accelerations to test inverse dynamics and frame accelerations with.
        f (nf,): port efforts.
        frame, wrench (6,): an external wrench, world axes, at the origin of a frame.
    """

    q: Array
    u: Array
    udot: Array
    f: Array
    frame: str
    wrench: Array


def length_of(mechanism: Mechanism) -> float:
    """A typical length of a mechanism, m: the record's, else the farthest joint frame from its body's origin."""
    if mechanism.length_scale is not None:
        return mechanism.length_scale
    arms = [
        math.hypot(*(float(x) for x in side.translation if isinstance(x, int | float)))
        for joint in mechanism.joints
        for side in (joint.a, joint.b)
    ]
    return max(arms, default=0.0) or 1.0


def draw(robot: Robot, mechanism: Mechanism, count: int, seed: int) -> tuple[Sample, ...]:
    """`count` random states of `robot` in its port chart, reproducible by `seed`.

    A move that leaves limits or the branch is turned round, then drawn again, shorter each time.
    Raises AssemblyError or RankError when even tiny moves fail.
    """
    random = np.random.default_rng(seed)
    size = _sizes(robot, mechanism)
    return tuple(_sample(robot, random, size) for _ in range(count))


def _sizes(robot: Robot, mechanism: Mechanism) -> Array:
    """What counts as one unit of every velocity."""
    length = length_of(mechanism)
    units: dict[str, str] = {}
    for joint in mechanism.joints:
        units |= dict(zip(velocity_names(joint.name, joint.type), JOINT_SHAPES[joint.type].velocity_units, strict=True))
    free = JOINT_SHAPES[JointType.FREE].velocity_units
    missing = [name for name in robot.velocities if name not in units]  # those of free roots, six by six
    units |= {name: free[k % 6] for k, name in enumerate(missing)}
    return np.array([1.0 if units[name].startswith("rad") else length for name in robot.velocities])


def _sample(robot: Robot, random: np.random.Generator, size: Array) -> Sample:
    q = robot.assemble(robot.reference)  # run-time parameters may have opened it
    for _ in range(_STEPS):
        q = _moved(robot, random, size, q)
    E = robot.lift(q)
    u = _direction(E, random, size, _SPEED)
    udot = _direction(E, random, size, _SPEED)
    bias = robot.bias(q, u) if u.size else u  # without freedoms there are no dynamics
    force = max(1.0, float(np.abs(bias).max(initial=0.0)))  # efforts that matter beside the weight
    frame = robot.frames[int(random.integers(len(robot.frames)))]
    return Sample(q, u, udot, force * random.uniform(-1, 1, len(robot.ports)), frame, force * random.uniform(-1, 1, 6))


def _direction(E: Array, random: np.random.Generator, size: Array, bound: float) -> Array:
    """Random independent speeds, scaled so that no velocity exceeds `bound` of its unit."""
    u = random.uniform(-1, 1, E.shape[1])
    fastest = float(np.abs(E @ u / size).max(initial=0.0))
    factor = bound / fastest if fastest > 0 else 1.0
    return np.asarray(factor * u)


def _moved(robot: Robot, random: np.random.Generator, size: Array, q: Array) -> Array:
    """A random move, or its opposite: where a coordinate stands at its limit, one of them leads out of it."""
    E = robot.lift(q)
    reach, draws = _REACH, 0
    while True:
        move = E @ _direction(E, random, size, reach)
        for step in (move, -move):
            try:
                found = robot.assemble(robot.integrate(q, step))
                robot.lift(found)
                return found
            except (AssemblyError, RankError) as error:
                refusal = error
        if reach / 2 >= _SMALLEST:
            reach /= 2
            continue
        draws += 1  # with several coordinates at their limits few directions lead inside, but some do
        if not getattr(refusal, "limits", {}) or draws == _DRAWS:
            raise refusal
