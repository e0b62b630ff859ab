"""What leaving out Edot u costs: accelerations that tear the loops open, at one, two and four times the speeds.

    python -m benchmarks.curvature [ROBOT ...]

The accelerations a = E udot + Edot u of the tree joints come from the compiled C, with udot from its forward dynamics;
without the curvature they are E udot.  All bodies are moved by them in 50 digits, and r_c is the largest |A a + Adot V|
over the rows of the closing joints: the acceleration with which the two sides of a closure part, m/s^2 for points and
rad/s^2 for axes.  The rate of the rows is quadratic in the speeds, so r_c without the curvature grows by four each
time the speeds double.  Prints the table of docs/covariance.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks.robots import CLOSED_CHAINS, model
from benchmarks.spread import table
from robocompiler.check.states import draw
from robocompiler.graph.build import derive_topology
from robocompiler.oracle.maximal_mp import PreciseModel
from robocompiler.oracle.states import State
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

Array = NDArray[np.float64]

SCALES = (1.0, 2.0, 4.0)
STATES = {"stewart": 10, "excavator": 10, "kangaroo": 3}
SPEEDS = {"stewart": 0.25, "excavator": 0.3, "kangaroo": 0.12}  # of the independents, rad/s or m/s, before scaling
EFFORTS = {"stewart": 400.0, "excavator": 5e3, "kangaroo": 200.0}  # of the ports, N or N m
SEED = 2609
ROUNDS = 4  # of refinement; each gains some twelve digits


@dataclass(frozen=True)
class Residuals:
    """r_c without and with Edot u, and the largest |Edot u| and |a| of a tree joint; rad/s^2 or m/s^2."""

    without: float
    complete: float
    curvature: float
    acceleration: float


class Parting:
    """How far the closing joints part when the bodies of a state move by given accelerations of its tree's joints.

    The constraint rows of the tree joints and their velocities form a square system for all bodies.  It is inverted in
    double and refined with residuals in the model's digits.
    """

    def __init__(self, model: PreciseModel, state: State, chords: Sequence[str]) -> None:
        apart = set(chords)
        self.model = model
        joints = [joint for joint in model.scene.joints if joint.name not in apart]
        tree = {joint.name for joint in joints}
        named = list(zip(state.rows, (name for name, _ in state.row_names), strict=True))
        self.closing = [row for row, name in named if name not in tree]
        self.velocities = [name for joint in joints for name in joint.velocities]
        own = [row for row, name in named if name in tree]
        self.own, self.rows = len(own), [*own, *(state.rates[name] for name in self.velocities)]
        T = np.zeros((len(self.rows), model.columns))
        for k, row in enumerate(self.rows):
            for column, entry in row.entries.items():
                T[k, column] = float(entry)
        self.inverse = np.linalg.inv(T)

    def __call__(self, rates: Sequence[float]) -> float:
        """The largest |A a + Adot V| over the closing rows, for accelerations of `velocities`."""
        number = self.model.arithmetic.number
        with self.model.arithmetic.context():
            wanted = [-row.bias for row in self.rows]
            for k, rate in enumerate(rates):
                wanted[self.own + k] += number(float(rate))
            a: list[Any] = [number(0.0)] * self.model.columns
            for _ in range(ROUNDS):
                left = np.array([float(w - row(a)) for w, row in zip(wanted, self.rows, strict=True)])
                a = [x + number(float(step)) for x, step in zip(a, self.inverse @ left, strict=True)]
            return max(abs(float(row(a) + row.bias)) for row in self.closing)


class Loops:
    """A compiled robot beside its records in 50 digits."""

    def __init__(self, robot: rc.Robot, mechanism: Mechanism) -> None:
        self.robot, self.model = robot, PreciseModel(mechanism)
        self.chords = [chord.joint for chord in derive_topology(mechanism).chords]

    def residuals(self, q: Array, u: Array, f: Array) -> Residuals:
        """Both residuals at an assembled q, speeds u and port efforts f."""
        robot = self.robot
        values = dict(zip(robot.coordinates, map(float, q), strict=True))
        pose = self.model.project(self.model.pose(values), robot.independent)
        state = self.model.state(pose, dict(zip(robot.independent, map(float, u), strict=True)), robot.independent)
        parting = Parting(self.model, state, self.chords)
        places = [robot.velocities.index(name) for name in parting.velocities]
        udot = robot.forward_dynamics(q, u, f)
        a, rate = robot.acceleration(q, u, udot)[places], robot.curvature(q, u)[places]
        flat = (robot.lift(q) @ udot)[places]
        return Residuals(parting(flat), parting(a), float(np.abs(rate).max()), float(np.abs(a).max()))


def study(name: str, output: Path) -> list[list[str]]:
    """A row for each scale of the speeds: the largest numbers over all states."""
    mechanism = read_mechanism(model(name))
    robot = rc.compile(mechanism, output=output)
    loops, random = Loops(robot, mechanism), np.random.default_rng(SEED)
    states = [
        (sample.q, SPEEDS[name] * random.uniform(-1, 1, len(robot.independent)),
         EFFORTS[name] * random.uniform(-1, 1, len(robot.ports)))
        for sample in draw(robot, mechanism, STATES[name], SEED)
    ]  # fmt: skip
    rows: list[list[str]] = []
    first: list[float] = []
    for scale in SCALES:
        found = [loops.residuals(q, scale * u, f) for q, u, f in states]
        first = first or [one.without for one in found]
        growth = [one.without / before for one, before in zip(found, first, strict=True)]
        rows.append(
            [f"{name}, {len(states)} states, speeds x {scale:g}", f"{max(x.without for x in found):.3g}",
             f"{min(growth):.9g} to {max(growth):.9g}", f"{max(x.complete for x in found):.1e}",
             f"{max(x.complete / x.without for x in found):.1e}", f"{max(x.curvature for x in found):.3g}",
             f"{max(x.acceleration for x in found):.3g}"]
        )  # fmt: skip
    return rows


def main(arguments: Sequence[str]) -> None:
    """Print the table of the named robots (default: the closed chains)."""
    header = ["", "r_c without", "growth", "r_c with", "with / without", "largest Edot u", "largest a"]
    rows = [row for name in arguments or CLOSED_CHAINS for row in study(name, Path("build") / "benchmark")]
    print(table(header, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
