"""The configurations at which everything is timed: many assembled ones, so that branches and caches are honest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.errors import RoboCompilerError

Array = NDArray[np.float64]

COUNT = 64
REACH = {"rad/s": 0.05, "m/s": 0.01}  # largest first-order move of an independent from the reference, by its unit
OPENING = 1e-3  # push of every dependent before the corrector, rad or m
FAR = 0.1  # push of every velocity for the off-manifold timing, rad or m


@dataclass(frozen=True)
class States:
    """Configurations (count, nq): assembled; `opened` by 1e-3 with the chart's independents kept; `far` off closure."""

    assembled: Array
    opened: dict[str, Array]
    far: Array


def sample(robot: rc.Robot, manifest: Mapping[str, Any], count: int = COUNT, seed: int = 2609) -> States:
    """`count` assembled configurations around the reference, and their perturbations; `manifest` tells the units."""
    unit = {entry["name"]: entry["unit"] for entry in manifest["velocities"]}
    reach = np.array([REACH[unit[name]] for name in robot.independent])
    random = np.random.default_rng(seed)
    assembled: list[Array] = []
    refused = 0
    while len(assembled) < count:
        try:
            q = robot.reference
            v = robot.velocity(q, reach * random.uniform(-1, 1, reach.size))
            assembled.append(robot.assemble(robot.integrate(q, v)))
        except RoboCompilerError:  # a random move may leave the joint limits or the branch: another one is drawn
            refused += 1
            if refused > count:
                raise
    charts = {name: robot.chart(name) for name in ("port", "inner")}
    opened = {name: np.array([_open(chart, q, random) for q in assembled]) for name, chart in charts.items()}
    every = len(robot.velocities)
    far = np.array([robot.integrate(q, random.uniform(-FAR, FAR, every)) for q in assembled])
    return States(np.array(assembled), opened, far)


def _open(robot: rc.Robot, q: Array, random: np.random.Generator) -> Array:
    dv = np.zeros(len(robot.velocities))
    dependents = [robot.velocities.index(name) for module in robot.modules for name in module.dependents]
    dv[dependents] = random.uniform(-OPENING, OPENING, len(dependents))
    return robot.integrate(q, dv)
