"""Steps per second of simulations: processor time of this process, median of rounds.

python -m benchmarks.simulation_speed [--robots stewart,kangaroo] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import robocompiler as rc
from benchmarks.feedforward_robots import CASES
from benchmarks.feedforward_run import PERIOD, gains, reference
from benchmarks.robots import ROOT
from benchmarks.spread import table

STEPS = 200


def rates(robot: rc.Robot, tracking: bool, method: str, rounds: int) -> tuple[float, float]:
    """(steps per second, evaluations per second), by processor time, at steps that the method and damping bear."""
    step = {"euler": PERIOD / 20, "rk4": PERIOD if robot.name == "stewart" else PERIOD / 4, "ros2": PERIOD}[method]
    friction = None if method == "ros2" else rc.simulation.NoFriction()
    case = next(case for case in CASES if case.name in robot.name)
    kp, kd = gains(robot, case)
    found, evaluations = [], []
    for _ in range(rounds + 1):  # the first warms up
        held = np.zeros(len(robot.ports))
        controller = rc.simulation.Sampled(lambda t, q, u, f=held: f, PERIOD)
        if tracking:
            controller = rc.simulation.TrackingController(robot, reference(robot, case), kp, kd, sample_time=PERIOD)
        begin = time.process_time()
        motion = robot.simulate(
            STEPS * step, controller=controller, method=method, step=step, events=(), friction=friction
        )
        spent = time.process_time() - begin
        found.append(motion.statistics.steps / spent)
        evaluations.append(motion.statistics.evaluations / spent)
    return statistics.median(found[1:]), statistics.median(evaluations[1:])


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Measure steps per second of simulations.")
    parser.add_argument("--robots", default="stewart,kangaroo", help="comma-separated names of the ablation's robots")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "feedforward", help="folder of compiled robots")
    options = parser.parse_args(arguments)
    cells = []
    for case in CASES:
        if case.name not in options.robots.split(","):
            continue
        robot = rc.compile(case.records(), output=options.build)
        runs = [("euler", False, "euler"), ("rk4", False, "rk4"), ("ros2", False, "ros2")]
        runs.append((f"{case.method}, tracking controller", True, case.method))
        for name, tracking, method in runs:
            steps, evaluations = rates(robot, tracking, method, options.rounds)
            cells.append([robot.name, name, f"{steps:.0f}", f"{evaluations:.0f}"])
    print(table(["robot", "method", "steps/s", "evaluations/s"], cells))


if __name__ == "__main__":
    main()
