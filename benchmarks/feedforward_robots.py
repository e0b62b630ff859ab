"""The two robots of the feedforward ablation, their references and their gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.robots import model
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, Joint, Mechanism, Placement
from robocompiler.records.reader import read_mechanism

Array = NDArray[np.float64]

PELVIS = "base_link"
RAMP = 0.5  # s over which a sinusoid grows to its size
HURRY = 1.15  # each port's frequency over that of the one before


@dataclass(frozen=True)
class Case:
    """A robot with its reference: size (m) and lowest frequency (Hz) of the ports' sinusoids, and the PD bandwidth."""

    name: str
    title: str
    records: Callable[[], Mechanism]
    size: float
    frequency: float
    bandwidth: float  # rad/s
    method: str  # of our simulation, at `substeps` steps per sample
    substeps: int
    damping: float = 1.0


def stewart() -> Mechanism:
    """The shipped platform."""
    return read_mechanism(model("stewart"))


def held_kangaroo() -> Mechanism:
    """Kangaroo with its pelvis welded to the world where its reference has it; its ports are twelve linear drives."""
    records = read_mechanism(model("kangaroo"))
    base = next(base for base in records.reference.bases if base.body in ("", PELVIS))
    if base.quaternion != (1.0, 0.0, 0.0, 0.0):
        raise ValueError("the reference of kangaroo has a turned pelvis")
    mount = Joint("pelvis_mount", JointType.FIXED, Placement(WORLD, translation=base.translation), Placement(PELVIS))
    return replace(
        records, name="kangaroo_held", joints=(*records.joints, mount), supports=(),
        reference=replace(records.reference, bases=()),
    )  # fmt: skip


CASES = (
    Case("stewart", "Stewart platform, six legs", stewart, 0.04, 1.0, 40.0, "rk4", 1),
    Case("kangaroo", "Kangaroo, pelvis fixed, twelve drives", held_kangaroo, 0.006, 0.8, 40.0, "ros2", 2),
)


def sinusoids(start: Array, size: float, frequency: float) -> Callable[[float], tuple[Array, Array, Array]]:
    """s_k(t) = start_k + A r(t) sin(w_k t), w_k = 2 pi f 1.15^(k mod 6), r a quintic ramp: three derivatives are zero
    at t = 0, so that the plant starts on the reference.
    """
    w = 2 * np.pi * frequency * HURRY ** (np.arange(start.size) % 6)
    sign = np.where(np.arange(start.size) % 2 == 0, 1.0, -1.0) * size

    def path(t: float) -> tuple[Array, Array, Array]:
        x = min(t / RAMP, 1.0)
        r = x**3 * (10 - 15 * x + 6 * x * x)
        r1 = 30 * x * x * (1 - x) ** 2 / RAMP
        r2 = 60 * x * (1 - x) * (1 - 2 * x) / RAMP**2
        s, c = np.sin(w * t), np.cos(w * t)
        return (
            start + sign * r * s,
            sign * (r1 * s + r * w * c),
            sign * (r2 * s + 2 * r1 * w * c - r * w * w * s),
        )

    return path
