"""What the tests of the compiled dynamics share: random states along a robot, the oracle at the same state, damping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.oracle.maximal import MaximalModel, State
from robocompiler.records.joint_types import velocity_names
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"
# Moves that stay inside every joint's limits and off singular poses.  The excavator's cylinders are metres long.
SIZE = {"panda": 0.25, "excavator": 0.05, "stewart": 0.06, "kangaroo": 0.002, "delta": 0.15, "parallel_ankle": 0.1}

# The panda's fingers move centimetres where its arm moves radians, and its reference has them at their limits.
START = {"panda": {"finger_joint1": 0.02, "finger_joint2": 0.02}}
SHARES = {"finger_joint1": 0.02, "finger_joint2": 0.02}


def shipped(name: str) -> Mechanism:
    """The records of models/NAME.yaml."""
    return read_mechanism(MODELS / f"{name}.yaml")


def wander(robot: rc.Robot, random: np.random.Generator, size: float, steps: int = 3) -> Array:
    """A configuration reached from the reference along the mechanism, `size` in every independent at most per step."""
    q = robot.assemble(robot.configuration(START.get(robot.name, {})))
    shares = np.array([SHARES.get(name, 1.0) for name in robot.independent])
    for _ in range(steps):
        u = shares * random.uniform(-1, 1, shares.size)
        q = robot.assemble(robot.integrate(q, size * robot.velocity(q, u)))
    return q


def random_state(robot: rc.Robot, seed: int, speed: float = 1.0) -> tuple[Array, Array, np.random.Generator]:
    """An assembled q and speeds u of a robot, and the generator for more."""
    random = np.random.default_rng(seed)
    q = wander(robot, random, SIZE.get(robot.name, 0.1))
    shares = np.array([SHARES.get(name, 1.0) for name in robot.independent])
    return q, shares * random.uniform(-speed, speed, shares.size), random


def oracle_state(model: MaximalModel, robot: rc.Robot, q: Array, u: Sequence[float] | Array) -> State:
    """The oracle at the robot's configuration (projected by the oracle itself), moving at the same speeds."""
    values = dict(zip(robot.coordinates, map(float, q), strict=True))
    pose = model.project(model.pose(values), robot.independent)
    speeds = dict(zip(robot.independent, map(float, u), strict=True))
    return model.state(pose, speeds, robot.independent)


def damping_power(records: Mechanism, speeds: Mapping[str, float]) -> float:
    """What viscous damping takes: the sum of d v^2."""
    return sum(
        damping * speeds[name] ** 2
        for joint in records.joints
        for name, damping in zip(velocity_names(joint.name, joint.type), joint.damping, strict=False)
    )


def difference(found: Array, wanted: Array) -> float:
    """|found - wanted| / max(1, |wanted|), the measure of the accuracy tables; `wanted` in any number type."""
    wanted = np.asarray(wanted, dtype=np.float64)
    return float(np.linalg.norm(found - wanted) / max(1.0, float(np.linalg.norm(wanted))))
