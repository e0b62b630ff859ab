"""One closure, several ways to its rows and Jacobian: evaluations of a corrector run, and time by representation.

Systems: `augmented` is rho over dependents and cut joints' speeds, the paper's; `condensed` are the rows that the
generated corrector solves, over the dependents alone.  Jacobians: analytic, or central differences of the residual,
column by column (dense) or in groups of columns that share no row (coloured).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks.global_evaluator import GlobalEvaluator
from benchmarks.robots import model
from benchmarks.spread import Spread
from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.graph.build import derive_topology
from robocompiler.records.reader import read_mechanism
from robocompiler.runtime.evaluation import Evaluation
from robocompiler.symbolic.closures import build_closures

Array = NDArray[np.float64]
Move = Callable[[Array, Array], Array]

TOLERANCE = 1e-13  # largest row, rad or length scales
DIFFERENCE = 1e-6
MOST = 12


@dataclass(frozen=True)
class System:
    """Rows (n,) with a square Jacobian (n, n) over unknowns that `move` steps along; pattern: its nonzeros."""

    rows: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    move: Move
    pattern: NDArray[np.bool_]


@dataclass(frozen=True)
class Counted:
    """Points visited by a corrector run, residual calls it made, and those with a Jacobian at every point."""

    points: int
    calls: int
    calls_everywhere: int


def colours(pattern: NDArray[np.bool_]) -> list[list[int]]:
    """Groups of columns that share no row, greedily, the fullest columns first."""
    groups: list[list[int]] = []
    taken: list[NDArray[np.bool_]] = []
    for column in np.argsort(-pattern.sum(0), kind="stable"):
        free = next((k for k, rows in enumerate(taken) if not np.any(rows & pattern[:, column])), None)
        if free is not None:
            groups[free].append(int(column))
            taken[free] = taken[free] | pattern[:, column]
        else:
            groups.append([int(column)])
            taken.append(pattern[:, column].copy())
    return groups


def differenced(system: System, q: Array, groups: Sequence[Sequence[int]]) -> Array:
    """The Jacobian by central differences, one pair of residuals per group."""
    J = np.zeros(system.pattern.shape)
    for group in groups:
        step = np.zeros(J.shape[1])
        step[list(group)] = DIFFERENCE
        change = (system.rows(system.move(q, step)) - system.rows(system.move(q, -step))) / (2 * DIFFERENCE)
        for column in group:
            J[:, column] = np.where(system.pattern[:, column], change, 0.0)
    return J


def run(system: System, q: Array, groups: Sequence[Sequence[int]] | None = None) -> tuple[Array, Counted]:
    """One corrector run from q, analytic or by differences over `groups`; ValueError where it does not converge."""
    pairs = len(groups) if groups is not None else 0
    points, calls, r = 1, 1, system.rows(q)
    while np.abs(r).max() > TOLERANCE:
        if points > MOST:
            raise ValueError(f"residual {np.abs(r).max():.2g} after {points} points")
        J = system.jacobian(q) if groups is None else differenced(system, q, groups)
        q = system.move(q, np.linalg.solve(J, -r))
        r = system.rows(q)
        points, calls = points + 1, calls + 1 + 2 * pairs
    return q, Counted(points, calls, points * (1 + 2 * pairs))


def places(robot: rc.Robot, cuts: bool) -> list[int]:
    """Velocities of all dependents, and of cut joints."""
    names = [name for module in robot.modules for name in module.dependents]
    closed = {closure for module in robot.modules for closure in module.closures}
    names += [name for name in robot.velocities if cuts and name.partition(":")[0] in closed]
    return [robot.velocities.index(name) for name in names]


def condensed(robot: rc.Robot, problem: Evaluation | ClosureEvaluator) -> System:
    """The condensed rows by the compiled functions, or by CasADi's interpreter of the same expressions."""
    description = robot._description
    own = places(robot, cuts=False)
    free = [int(np.flatnonzero(description.active == index)[0]) for index in own]

    def move(q: Array, step: Array) -> Array:
        whole = np.zeros(description.active.size)
        whole[free] = step
        return np.asarray(problem.retract(q, whole))

    def jacobian(q: Array) -> Array:
        return np.asarray(problem.jacobian(q)[:, free])

    off = robot.integrate(robot.reference, np.full(len(robot.velocities), 0.01))
    return System(lambda q: np.asarray(problem.rows(q)), jacobian, move, jacobian(off) != 0)


def augmented(robot: rc.Robot, rho_and_C: Callable[[Array], tuple[Array, Array]]) -> System:
    """The complete residual over dependents and cut joints, by any evaluator of rho and C."""
    own = places(robot, cuts=True)

    def move(q: Array, step: Array) -> Array:
        dv = np.zeros(len(robot.velocities))
        dv[own] = step
        return robot._evaluation.integrate(q, dv)

    off = robot.integrate(robot.reference, np.full(len(robot.velocities), 0.01))
    pattern = rho_and_C(off)[1][:, own] != 0
    return System(lambda q: rho_and_C(q)[0], lambda q: rho_and_C(q)[1][:, own], move, pattern)


def predicted(robot: rc.Robot, configurations: Array) -> Array:
    """Starts of corrector runs (n - 1, nq): each configuration moved along its lift to the next one's inputs."""
    own = [robot.velocities.index(name) for name in robot.independent]
    at = [robot.coordinates.index(name) for name in robot.independent]
    starts = []
    for q, after in itertools.pairwise(configurations):
        dv = robot.lift(q) @ (after[at] - q[at])
        dv[own] = after[at] - q[at]
        starts.append(robot._evaluation.integrate(q, dv))
    return np.array(starts)


@dataclass(frozen=True)
class Kind:
    """One line of the table of evaluations: means over all runs."""

    system: str
    jacobian: str
    groups: int
    points: float
    calls: float
    calls_everywhere: float
    typical: int
    apart: float


def evaluations(robot: rc.Robot, configurations: Array) -> list[Kind]:
    """Both systems with all three Jacobians over the predicted starts of a route."""
    starts, found = predicted(robot, configurations), []
    systems = {
        "augmented": augmented(robot, robot._evaluation.augmented),
        "condensed": condensed(robot, robot._evaluation),
    }
    for name, system in systems.items():
        n = system.pattern.shape[1]
        kinds = {"analytic": None, "dense": [[k] for k in range(n)], "coloured": colours(system.pattern)}
        for kind, groups in kinds.items():
            runs = [run(system, q, groups) for q in starts]
            counts = [counted for _, counted in runs]
            apart = max(float(np.abs(q - to).max()) for (q, _), to in zip(runs, configurations[1:], strict=True))
            found.append(
                Kind(
                    system=name,
                    jacobian=kind,
                    groups=0 if groups is None else len(groups),
                    points=float(np.mean([c.points for c in counts])),
                    calls=float(np.mean([c.calls for c in counts])),
                    calls_everywhere=float(np.mean([c.calls_everywhere for c in counts])),
                    typical=int(np.median([c.calls_everywhere for c in counts])),
                    apart=apart,
                )
            )
    return found


def held(robot: rc.Robot, configurations: Array) -> Array:
    """Starts without prediction (n - 1, nq): each configuration with the next one's inputs."""
    at = [robot.coordinates.index(name) for name in robot.independent]
    starts = configurations[:-1].copy()
    starts[:, at] = configurations[1:, at]
    return starts


def systems_of(robot: rc.Robot, name: str) -> dict[str, System]:
    """The closure in four representations."""
    closures = build_closures(derive_topology(read_mechanism(model(name))))
    return {
        "condensed, compiled": condensed(robot, robot._evaluation),
        "condensed, CasADi's interpreter": condensed(robot, ClosureEvaluator(closures)),
        "augmented, compiled": augmented(robot, robot._evaluation.augmented),
        "augmented, paths walked in numpy": augmented(robot, GlobalEvaluator(closures.topology).shared),
    }


def representations(robot: rc.Robot, name: str, configurations: Array, rounds: int) -> dict[str, list[float]]:
    """Seconds per knot by representation, one entry per round; the Newton loop is the same numpy code.

    Every representation twice: from the predicted start, the prediction's own time included, and "direct".
    """
    systems = systems_of(robot, name)
    seconds: dict[str, list[float]] = {f"{key}{start}": [] for key in systems for start in ("", ", direct")}
    for _ in range(rounds):
        for key, system in systems.items():
            for start, begin_at in (("", predicted), (", direct", held)):
                begin = time.thread_time()
                ends = [run(system, q)[0] for q in begin_at(robot, configurations)]
                seconds[key + start].append((time.thread_time() - begin) / len(ends))
                for q, to in zip(ends, configurations[1:], strict=True):
                    assert np.abs(q - to).max() < 1e-9, key
    return seconds


def ratio(seconds: dict[str, list[float]], key: str, to: str) -> Spread:
    """Time of one representation over another's, formed within each round."""
    return Spread.of([a / b for a, b in zip(seconds[key], seconds[to], strict=True)])
