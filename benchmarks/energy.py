"""Energy drift of ten seconds of free motion, at three step sizes: compiled dynamics, RK4, loops closed at every stage.

    python -m benchmarks.energy

The state is (theta, u), independent coordinates and their speeds; all independents must be single joint coordinates.
Each stage predicts q by the lift, sets theta and closes the loops with the generated corrector, so that RK4 integrates
the exact ordinary differential equation udot = forward_dynamics(q(theta), u, 0) and nothing but its own error can let
the energy drift.  Prints the table of docs/covariance.md.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks.robots import model
from benchmarks.spread import table
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism
from robocompiler.runtime.library import Library
from robocompiler.runtime.manifest import find_manifest, read_manifest

Array = NDArray[np.float64]

SECONDS = 10.0
CLOSED = 1e-14
# start: independents that differ from the reference, speeds of the independents, and the largest of three steps (s).
STARTS: dict[str, tuple[Mapping[str, float], Sequence[float], float]] = {
    "fourbar": ({}, (2.0,), 0.01),  # the crank goes round and round
    "parallel_ankle": ({}, (0.5, -0.3), 0.01),  # the foot swings below its two rods, its dampers taken off
}


@dataclass(frozen=True)
class Run:
    """One integration: step (s), kinetic energy scale and largest |E - E0| (J), largest closure residual on the way."""

    step: float
    kinetic: float
    drift: float
    residual: float


class FreeMotion:
    """RK4 through the generated functions of one robot, under constant port efforts f (none by default)."""

    def __init__(self, robot: rc.Robot, folder: Path, f: Array | None = None) -> None:
        library = Library(folder, read_manifest(find_manifest(folder)))
        self.robot = robot
        self.names = ("velocity", "integrate", "correct", "forward_dynamics", "energy")
        self.call = {name: library.function(name) for name in self.names}
        self.buffer, self.null = library.output, library.null
        self.places = [robot.coordinates.index(name) for name in robot.independent]
        sizes = {"v": len(robot.velocities), "moved": len(robot.coordinates), "udot": len(self.places), "energy": 2}
        self.arrays = {name: np.zeros(size) for name, size in sizes.items()}
        self.c = {name: self.buffer(array) for name, array in self.arrays.items()}
        self.f = self.buffer(np.zeros(len(robot.ports)) if f is None else f)
        self.worst = np.zeros(1)

    def _good(self, status: int, name: str) -> None:
        if status != 0:
            raise ArithmeticError(f"{self.robot.name}: {name} returned status {status}")

    def at(self, theta: Array, near: Array) -> Array:
        """The closed q with independents theta, next to `near`."""
        change = np.ascontiguousarray(theta - near[self.places])
        q = self.buffer(near)
        self._good(self.call["velocity"](q, self.buffer(change), self.c["v"]), "velocity")
        self.call["integrate"](q, self.c["v"], self.c["moved"])
        moved = self.arrays["moved"].copy()
        moved[self.places] = theta
        residual = np.zeros(1)
        status = self.call["correct"](self.buffer(moved), CLOSED, 20, self.buffer(moved), self.buffer(residual))
        self._good(status, "correct")
        self.worst = np.maximum(self.worst, residual)
        return moved

    def udot(self, q: Array, u: Array) -> Array:
        """Accelerations of the independents."""
        status = self.call["forward_dynamics"](self.buffer(q), self.buffer(u), self.f, self.c["udot"])
        self._good(status, "forward_dynamics")
        return self.arrays["udot"].copy()

    def energies(self, q: Array, u: Array) -> tuple[float, float]:
        """Kinetic and potential."""
        self._good(self.call["energy"](self.buffer(q), self.buffer(u), self.c["energy"]), "energy")
        return float(self.arrays["energy"][0]), float(self.arrays["energy"][1])

    def run(self, q: Array, u: Array, step: float, seconds: float = SECONDS) -> Run:
        """Integrate and watch the energy after every step."""
        theta, u = q[self.places].copy(), np.array(u, dtype=np.float64)
        start = sum(self.energies(q, u))
        self.worst = np.zeros(1)
        drift = kinetic = 0.0
        for _ in range(round(seconds / step)):
            speeds, rates = [u], [self.udot(q, u)]
            for part in (0.5, 0.5, 1.0):
                stage = u + part * step * rates[-1]
                rates.append(self.udot(self.at(theta + part * step * speeds[-1], q), stage))
                speeds.append(stage)
            theta = theta + step / 6 * (speeds[0] + 2 * speeds[1] + 2 * speeds[2] + speeds[3])
            u = u + step / 6 * (rates[0] + 2 * rates[1] + 2 * rates[2] + rates[3])
            q = self.at(theta, q)
            energies = self.energies(q, u)
            drift, kinetic = max(drift, abs(sum(energies) - start)), max(kinetic, energies[0])
        return Run(step, kinetic, drift, float(self.worst[0]))


def undamped(name: str) -> Mechanism:
    """The records of a model without dampers."""
    mechanism = read_mechanism(model(name))
    return replace(mechanism, joints=tuple(replace(joint, damping=()) for joint in mechanism.joints))


def study(robot: rc.Robot, folder: Path) -> list[Run]:
    """Three runs from the start of STARTS, each with half the step of the one before."""
    values, u, largest = STARTS[robot.name]
    motion = FreeMotion(robot, folder)
    q = robot.assemble(robot.configuration(values))
    return [motion.run(q, np.array(u), largest / 2**k) for k in range(3)]


def orders(runs: Sequence[Run]) -> list[float]:
    """Observed orders: log2 of the ratio of successive drifts."""
    return [float(np.log2(a.drift / b.drift)) for a, b in itertools.pairwise(runs)]


def main() -> None:
    """Print the table."""
    output = Path("build") / "benchmark"
    rows = []
    for name in STARTS:
        robot = rc.compile(undamped(name), output=output / "undamped")
        runs = study(robot, output / "undamped" / robot.name)
        for run, order in zip(runs, [None, *orders(runs)], strict=True):
            rows.append(
                [name, f"{run.step * 1e3:g}", f"{run.drift:.2e}", f"{run.drift / run.kinetic:.1e}",
                 "" if order is None else f"{order:.2f}", f"{run.residual:.0e}"]
            )  # fmt: skip
            print(*rows[-1], file=sys.stderr)
    print(
        table(["", "step, ms", "largest energy error, J", "of the kinetic energy", "order", "closure residual"], rows)
    )


if __name__ == "__main__":
    main()
