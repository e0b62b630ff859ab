"""Compiled drives against their laws on maximal coordinates, at some states and commands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robocompiler.check.states import Sample
from robocompiler.oracle.drives import drive_values
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.states import State
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]
Compare = Callable[[str, Array, Array, tuple[str, ...]], None]  # quantity, found, wanted, names


def compare_drives(robot: Robot, model: MaximalModel, state: State, sample: Sample, compare: Compare) -> None:
    """Efforts and rates at z near the start and commands in (-1, 1), which vary with the sample.

    Entry by entry, since pressures and currents have no common size.  Where a law has no finite value the compiled one
    must be refused: it then counts as an infinite deviation if it is not.
    """
    if not robot.drives:
        return
    start, phase = robot.initial_drive_states, sample.f.sum()
    z = start + 0.1 * (1 + np.abs(start)) * np.sin(phase + np.arange(start.size))
    c = np.cos(phase + np.arange(len(robot.commands)))
    named_z = dict(zip(robot.drive_states, z.tolist(), strict=True))
    named_c = dict(zip(robot.commands, c.tolist(), strict=True))
    ports = [drive.port for drive in robot.drives]
    order = [[port.name for port in robot.ports].index(port) for port in ports]
    try:
        efforts, rates = drive_values(model, state, named_z, named_c)
        wanted = [np.array([float(table[name]) for name in table]) for table in (efforts, rates)]
    except (ArithmeticError, ValueError, TypeError):  # TypeError: a complex value in many digits
        wanted = []
    try:
        found = [robot.drive_efforts(sample.q, sample.u, z, c)[order], robot.drive_rates(sample.q, sample.u, z, c)]
    except ValueError:
        found = []
    labels = ([f"drive effort {port}" for port in ports], [f"drive rate {name}" for name in robot.drive_states])
    if not wanted or not found:
        refused = np.array([0.0 if bool(wanted) == bool(found) else np.inf])
        compare("drives refused", refused, np.zeros(1), ("drives",))
        return
    for have, want, names in zip(found, wanted, labels, strict=True):
        for k, label in enumerate(names):
            compare(label, have[k : k + 1], want[k : k + 1], (label,))
