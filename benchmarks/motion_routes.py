"""The routes of the motion studies: a platform's six-axis reference, a digging cycle, steps of feet, leg drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.runtime.motion.updater import Updater

Array = NDArray[np.float64]

KNOTS = 1101  # of the platform's reference
SAMPLES = 4201  # of the excavator's route


def platform_poses(knots: int = KNOTS) -> list[tuple[Array, Array]]:
    """(R, p) of the platform relative to its rest: x, y, z, roll, pitch and yaw all move; the last is the first."""
    poses = []
    for c in np.linspace(0.0, 2.0 * np.pi, knots):
        p = np.array((0.05 * np.sin(c), 0.045 * np.sin(2 * c), 0.035 * np.sin(3 * c)))
        roll, pitch, yaw = 0.12 * np.sin(2 * c), 0.10 * np.sin(c), 0.20 * np.sin(3 * c)
        poses.append((turn(2, yaw) @ turn(1, pitch) @ turn(0, roll), p))
    poses[-1] = poses[0]
    return poses


def turn(axis: int, angle: float) -> Array:
    """Rotation about a coordinate axis."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = np.cos(angle)
    R[j, i] = np.sin(angle)
    R[i, j] = -R[j, i]
    return R


def reach_pose(updater: Updater, robot: rc.Robot, frame: str, R: Array, p: Array, tolerance: float = 1e-12) -> None:
    """Move an updater until a frame has a pose, by Newton's method over its task Jacobian in the independents."""
    for _ in range(20):
        at, place = updater.pose(frame)
        D = R @ at.T
        error = np.concatenate((0.5 * np.array((D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1])), p - place))
        if np.abs(error).max() < tolerance:
            return
        for index, step in enumerate(np.linalg.solve(robot.task_jacobian(frame, updater.q), error)):
            updater.advance(index, float(step))
        report = updater.update()
        if report.stop is not None:
            raise ValueError(f"{frame}: {report.stop}")
    raise ValueError(f"{frame}: the pose is not reached")


def platform_reference(robot: rc.Robot, knots: int = KNOTS) -> Array:
    """Configurations (knots, nq) that put the platform on its reference."""
    updater, found = robot.updater(robot.reference), []
    R0, p0 = robot.pose("platform", robot.reference)
    for R, p in platform_poses(knots):
        reach_pose(updater, robot, "platform", R @ R0, p0 + p)
        found.append(updater.q)
    found[-1] = found[0]
    return np.array(found)


# Joints of the digging cycle and how far each goes, rad or m; every stretch goes there and back.
DIGGING: tuple[Mapping[str, float], ...] = (
    {"q23": 0.6},
    {"p3": 0.10},
    {"p5": 0.15},
    {"p2": 0.12},
    {"p1": 0.03},
    {"q21": 0.5, "q23": -0.4},
    {"p3": -0.06, "p5": -0.10, "p2": 0.08},
)


def digging_route(robot: rc.Robot, samples: int = SAMPLES) -> Array:
    """Configurations (samples, nq) of an excavator whose independents are cylinders, from its reference and back."""
    stretches = len(DIGGING)
    length, rest = divmod(samples - 1, stretches)
    if rest:
        raise ValueError(f"{samples} samples are not one more than a multiple of {stretches}")
    begin = {name: robot.joint(robot.reference, name) for stretch in DIGGING for name in stretch}
    updater, found = robot.updater(robot.reference), [robot.reference]
    for stretch in DIGGING:
        for k in range(1, length + 1):
            along = 0.5 - 0.5 * np.cos(2 * np.pi * k / length)
            for name, far in stretch.items():
                updater.set(name, float(begin[name]) + far * along)
            report = updater.update()
            if report.stop is not None:
                raise ValueError(f"digging: {report.stop}")
            found.append(updater.q)
    return np.array(found)


def foot_steps(robot: rc.Robot, feet: Sequence[str], samples: int) -> Array:
    """Parameters (samples, np) of a support mode: anchors of `feet` swing 80 mm forth, 40 mm up, and back."""
    names = list(robot.parameters)
    table = np.tile(np.array(list(robot.parameters.values())), (samples, 1))
    c = np.linspace(0.0, 2.0 * np.pi, samples)
    for foot in feet:
        table[:, names.index(f"anchor:{foot}:x")] += 0.04 * (1 - np.cos(c))
        table[:, names.index(f"anchor:{foot}:z")] += 0.02 * (1 - np.cos(2 * c))
    return table


def drive_waves(robot: rc.Robot, reaches: Mapping[str, float], samples: int) -> Array:
    """Configurations (samples, nq), in which the named inputs go to their reach and back; others are as at rest."""
    updater, found = robot.updater(robot.reference), []
    begin = {name: float(robot.joint(robot.reference, name)) for name in reaches}
    for c in np.linspace(0.0, 2.0 * np.pi, samples):
        for name, far in reaches.items():
            updater.set(name, begin[name] + 0.5 * far * (1 - np.cos(c)))
        report = updater.update()
        if report.stop is not None:
            raise ValueError(f"waves: {report.stop}")
        found.append(updater.q)
    return np.array(found)
