"""Moving a robot by its sliders: small steps along the mechanism, loops closed by the compiled correctors.

A move of command k takes the rows of d independent measures, its own among them, and solves

    rows(q) du = goals - values(q),     q <- correct(q (+) E(q) du)

by Newton, while the goal of k goes to its target in small steps and the others stay.  A step counts when every loop is
closed, no limit is passed, the corrector did little beside the step, and neither det R_p nor det(rows) has changed its
sign: so the assembly branch is kept.  Otherwise the step is halved, down to a refusal with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import RankError
from robocompiler.runtime.inside import inside
from robocompiler.runtime.manifold import difference
from robocompiler.runtime.robot import Robot
from robocompiler.viewer.commands import Command, choose_rows, commands_of, row_scale
from robocompiler.viewer.measures import Since, Slopes
from robocompiler.viewer.status import SMALL, Gauge

Array = NDArray[np.float64]

STEP = 0.05  # of a command's scale: the largest step of a goal
FINEST = STEP / 2**14  # the least one, before a move is refused
SETTLED = 1e-12  # scaled distance from the goals at which a step counts as arrived
ROUNDS = 12  # Newton iterations of a step
REACH = 0.5  # largest scaled move of any joint in one step
QUIET = 1e-14  # scaled speeds below this are rounding: their modules are not stale

LIMIT, SINGULAR, DEAD, OPEN = "limit", "singular pose", "dead centre", "not closable"


@dataclass(frozen=True)
class State:
    """An assembled configuration q (nq,), the values of all commands there, and the modules corrected on the way."""

    q: Array
    values: Array
    corrected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """Why a move goes no further: its kind, what stands in the way, and a sentence for people."""

    kind: str
    name: str
    message: str


@dataclass(frozen=True)
class Move:
    """Where a slider's move ends: the state, and why it was refused (then the state is the one before)."""

    state: State
    refusal: Refusal | None = None


@dataclass(frozen=True)
class _Blocked:
    """A step that was not taken; `limit` names a passed limit, with its value and bounds."""

    limit: tuple[str, float, float, float] | None = None


class Driver:
    """Moves one robot; every state that it hands out is assembled, on the branch of the reference.

    Raises RankError when the robot's chart is singular at its reference.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._inside = inside(robot)
        self._gauge = Gauge(robot)
        description = self._inside.description
        self._joints = [joint for joint in description.joints if joint["role"] != "cut"]
        chart = description.charts[robot.chart_name]
        self._independent = description.independent(robot.chart_name)
        self._speed_scales = description.column_scales[self._independent]
        self._modules: list[dict[str, Any]] = [module for module in chart["modules"] if module["dependents"]]
        place = {int(index): k for k, index in enumerate(self._independent)}
        self._inputs = {m["name"]: [place[i] for i in m["independents"] if i in place] for m in self._modules}
        at = self._slopes(robot.reference)
        self.commands: tuple[Command, ...] = commands_of(description, robot.ports, robot.chart_name, at)
        self._reference_rows = self._rows(at, at.q)

    # --- what the page asks for ---

    def start(self) -> State:
        """The reference."""
        return self.at(self.robot.reference)

    def at(self, q: Array) -> State:
        """The state at an assembled q, from where turns are counted."""
        start = State(q, np.zeros(len(self.commands)))
        return State(q, self._values(self._slopes(q), start))

    def move(self, state: State, index: int, target: float) -> Move:
        """Command `index` taken to `target`, the other independent commands held; refused, the state stays.

        ValueError: a target that is not finite.
        """
        last, corrected = state, set[str]()
        for found in self.walk(state, index, target):
            if isinstance(found, Refusal):
                return Move(state, found)
            last = found
            corrected.update(found.corrected)
        names = tuple(module["name"] for module in self._modules if module["name"] in corrected)
        return Move(replace(last, corrected=names))

    def walk(self, state: State, index: int, target: float, largest: float = STEP) -> Iterator[State | Refusal]:
        """The states on the way to `target`, and a Refusal at the end if it is not reached.

        largest: longest step of the goal, in units of the command's scale.
        """
        if not np.isfinite(target):
            raise ValueError(f"{self.commands[index].name}: not a finite number: {target}")
        scale = self.commands[index].scale
        held = self.held(state, index)
        if index not in held:
            yield self._explain(state, index, _Blocked())
            return
        goals = state.values[list(held)].copy()
        own = held.index(index)
        step, current = largest, state
        while abs(target - goals[own]) > 0:
            ahead = target - goals[own]
            trial = goals.copy()
            trial[own] = target if abs(ahead) <= step * scale else goals[own] + np.sign(ahead) * step * scale
            found = self._step(current, held, trial)
            if isinstance(found, State):
                current, goals = found, trial
                step = min(2 * step, largest)
                yield current
                continue
            step = min(step, abs(ahead) / scale) / 2
            if step < FINEST:
                yield self._explain(current, index, found)
                return

    def held(self, state: State, index: int) -> tuple[int, ...]:
        """Commands whose values a move of `index` controls: itself first, and as many others as are independent.

        Empty or without `index` where the robot cannot tell (a singular pose), or where the command moves nothing.
        """
        try:
            at = self._slopes(state.q)
        except RankError:
            return ()
        rows = self._rows(at, state.q)
        if np.linalg.norm(rows[index]) < 1e-9 * row_scale(self._reference_rows[index]):
            return ()
        others = [k for k in range(len(rows)) if k != index]
        chosen = choose_rows(rows, [index, *others], self._independent.size)
        return chosen if len(chosen) == self._independent.size else ()

    # --- one step ---

    def _slopes(self, q: Array) -> Slopes:
        robot = self.robot
        return Slopes(q, robot.lift(q), robot.port_displacement(q), robot.port_map(q))

    def _values(self, at: Slopes, state: State) -> Array:
        """Values of all commands, `state` being where the step to `at` began."""
        since = [Since(state.q, float(value)) for value in state.values]
        return np.array([command.measure.value(at, s) for command, s in zip(self.commands, since, strict=True)])

    def _rows(self, at: Slopes, since: Array) -> list[Array]:
        """Rows of all commands over scaled speeds."""
        return [command.measure.row(at, Since(since, 0.0)) * self._speed_scales for command in self.commands]

    def _system(self, at: Slopes, held: tuple[int, ...], state: State) -> tuple[Array, Array]:
        """(values, rows over scaled speeds) of the held commands, both in units of their scales."""
        values, rows = self._values(at, state), self._rows(at, state.q)
        scales = np.array([self.commands[k].scale for k in held])
        return values[list(held)] / scales, np.array([rows[k] for k in held]) / scales[:, None]

    def _step(self, state: State, held: tuple[int, ...], goals: Array) -> State | _Blocked:
        """The state with the held commands at their goals, on this side of every singular pose; or why not."""
        wanted = goals / np.array([self.commands[k].scale for k in held])
        q, corrected, sign = state.q, set[str](), 0.0
        try:
            for _ in range(ROUNDS):
                at = self._slopes(q)
                values, rows = self._system(at, held, state)
                side = float(np.linalg.slogdet(rows)[0])
                sign = sign or side
                if side == 0 or side != sign:
                    return _Blocked()
                miss = wanted - values
                if np.abs(miss).max(initial=0.0) <= SETTLED:
                    return self._accepted(state, q, at, corrected)
                du = np.linalg.solve(rows, miss)
                du[np.abs(du) < QUIET] = 0.0
                q = self._corrected(q, at.E, du * self._speed_scales, corrected)
                if self._distance(state.q, q) > REACH:
                    return _Blocked()
        except (RankError, _Unsolved):
            return _Blocked()
        return _Blocked()

    def _corrected(self, q: Array, E: Array, du: Array, corrected: set[str]) -> Array:
        """q (+) E du with its stale modules closed again; adds their names to `corrected`."""
        evaluation, solved, iterations = self._inside.evaluation, self._inside.solved, self._inside.iterations
        predicted = current = evaluation.recover(evaluation.integrate(q, E @ du))
        for module in self._modules:
            name = module["name"]
            if not np.any(du[self._inputs[name]]):
                continue
            current, status = evaluation.correct_module(name, current, solved, iterations)
            if status:
                raise _Unsolved
            corrected.add(name)
        current = evaluation.recover(current)
        # a correction as large as the move means that the tangent told nothing: a singular pose lies between
        if self._distance(predicted, current) > 0.25 * self._distance(q, predicted) + 1e-9:
            raise _Unsolved
        return current

    def _distance(self, a: Array, b: Array) -> float:
        """Largest scaled increment of a tree joint that takes part in closures or in u."""
        description = self._inside.description
        dv = np.abs(difference(self._joints, a, b, len(description.velocities))) / description.column_scales
        return float(dv.max(initial=0.0))

    def _accepted(self, state: State, q: Array, at: Slopes, corrected: set[str]) -> State | _Blocked:
        acceptance = self._inside.acceptance
        if not acceptance.closed(q) or acceptance.off_branch(q):
            return _Blocked()
        passed = self._passed(state.q, q)
        if passed is not None:
            return _Blocked(passed)
        names = tuple(module["name"] for module in self._modules if module["name"] in corrected)
        return State(q, self._values(at, state), names)

    # --- limits and reasons ---

    def _passed(self, before: Array, after: Array) -> tuple[str, float, float, float] | None:
        """The first limit that `after` violates and by more than `before` does: (name, value, lower, upper)."""
        earlier, now = self._beyond(before), self._beyond(after)
        for name, (value, lower, upper) in now.items():
            if name not in earlier:
                return name, value, lower, upper
            old = earlier[name][0]
            if max(lower - value, value - upper) > max(lower - old, old - upper) + 1e-12:
                return name, value, lower, upper
        return None

    def _beyond(self, q: Array) -> dict[str, tuple[float, float, float]]:
        """Violated limits of coordinates and of ports."""
        found = self._inside.description.violated_limits(q)
        for port, value in zip(self.robot.ports, self.robot.port_displacement(q), strict=True):
            ends = port.limits.get("displacement")
            if ends is not None and not ends[0] - 1e-9 <= value <= ends[1] + 1e-9:
                found[port.name] = (float(value), float(ends[0]), float(ends[1]))
        return found

    def _explain(self, state: State, index: int, blocked: _Blocked) -> Refusal:
        """Why `index` goes no further than `state`, by the evidence there."""
        command = self.commands[index]
        value = f"{command.name} stops at {state.values[index]:.6g} {command.unit}".rstrip()
        if blocked.limit is not None:
            name, _, lower, upper = blocked.limit
            return Refusal(LIMIT, name, f"{value}: {name} is at its limit [{lower:.6g}, {upper:.6g}]")
        least = min(self._gauge.pivots(state.q), key=lambda pivot: pivot.ratio, default=None)
        if least is not None and least.small:
            part = f"{least.module}'s pivot is down to {100 * least.ratio:.2g} % of its reference"
            return Refusal(SINGULAR, least.module, f"{value}: a singular pose lies ahead, {part}")
        if self._dead(state, index):
            return Refusal(DEAD, command.name, f"{value}: a dead centre, where it turns back as the mechanism goes on")
        return Refusal(OPEN, command.name, f"{value}: beyond, the loops cannot be closed in small steps")

    def _dead(self, state: State, index: int) -> bool:
        """Whether the rows that control the command have come near to being dependent."""
        held = self.held(state, index)
        if index not in held:
            return True
        _, rows = self._system(self._slopes(state.q), held, state)
        reference = np.array([self._reference_rows[k] / self.commands[k].scale for k in held])
        least, usual = (float(np.linalg.svd(A, compute_uv=False)[-1]) for A in (rows, reference))
        return least < SMALL * usual


class _Unsolved(Exception):  # noqa: N818 - it never leaves this file
    """A module's corrector gave up, or did more than correct."""
