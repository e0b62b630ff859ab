"""Rows of Pinocchio, called from Python, without what the call itself costs.

An empty-work call is the same function of the same binding on a model without joints: the time that its arguments and
its result take on their way, and what Pinocchio does before and after its loops over joints.  Models, data, constraints
and settings are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.bench.states import Reference, References, worst
from robocompiler.bench.timing import FORWARD, INVERSE, NetLoop, PythonLoop, Skipped, Timed
from robocompiler.errors import MissingPackageError, ModelError
from robocompiler.oracle.pinocchio_adapter import PinocchioModel
from robocompiler.records.model import Mechanism
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]
NAME = "Pinocchio"
USABLE = 1e-2  # a solver whose accelerations are off by more than this is not listed with a time


@dataclass(frozen=True)
class Setting:
    """A proximal solver: regularisation mu, accuracy at which it stops, and its iterations at most."""

    function: str
    mu: float
    accuracy: float
    rounds: int

    @property
    def solver(self) -> str:
        """As the table names it."""
        rounds = "1 iteration" if self.rounds == 1 else f"to {self.accuracy:g}, at most {self.rounds} iterations"
        return f"{NAME}, {self.function}, mu {self.mu:g}, {rounds}"


SETTINGS = (
    Setting("constraintDynamics", 1e-12, 1e-14, 1),  # its fastest: a single solve, with the least that keeps it regular
    Setting("constraintDynamics", 1e-8, 1e-12, 5),
    Setting("lcaba", 1e-6, 1e-14, 1),
    Setting("lcaba", 1e-4, 1e-12, 20),
)


def pinocchio_rows(robot: Robot, mechanism: Mechanism, states: References) -> tuple[list[Timed], list[Skipped]]:
    """Closed-chain forward dynamics, and the open tree's aba and rnea; what cannot be had is told with its reason."""
    try:
        engine = PinocchioModel(mechanism)
    except (MissingPackageError, ModelError) as error:
        return [], [Skipped(NAME, str(error))]
    bench = _Bench(engine, robot, states)
    open_tree, rows, skipped = [bench.aba(), bench.rnea()], [], []
    why_not = _obstacle(engine)
    if why_not:
        return open_tree, [Skipped(f"{NAME}, closed chain", why_not)]
    for setting in SETTINGS if engine.constraints else ():
        found = bench.proximal(setting)
        if isinstance(found, Skipped):
            skipped.append(found)
        else:
            rows.append(found)
    if not engine.constraints:
        skipped.append(Skipped(f"{NAME}, closed chain", "there is no closure: aba is its forward dynamics"))
    return [*rows, *open_tree], skipped


def _obstacle(engine: PinocchioModel) -> str:
    return engine.closable or "; ".join(engine.notes)


class _Bench:
    """The arguments of every state, and the empty model."""

    def __init__(self, engine: PinocchioModel, robot: Robot, states: References) -> None:
        self.engine, self.pin, self.robot, self.states = engine, engine.pin, robot, states
        self.chords = [chord.name for chord in engine.spanning.chords]
        self.q = [engine.configuration(one.values) for one in states.each]
        self.v = [engine.velocity(one.values, one.speeds) for one in states.each]
        self.empty: Any = self.pin.Model()
        self.none: Array = np.zeros(0)
        self.subtracted = "less {} of a model without joints"

    def _net(self, call: Callable[..., Any], each: Sequence[tuple[Any, ...]], without: tuple[Any, ...]) -> NetLoop:
        return NetLoop(PythonLoop(call, each), PythonLoop(call, [without] * len(each)))

    def _push(self, one: Reference, *, ports: bool) -> Array:
        return self.engine.effort(one.values, one.tree_efforts(self.chords, ports))

    def _names(self) -> list[str]:
        """The independents, or all of the tree's velocities where one of those is at a chord here."""
        one = self.states.each[0]
        tree = list(self.engine.named(one.values, self.v[0]))
        return list(self.robot.independent) if set(self.robot.independent) <= set(tree) else tree

    def rnea(self) -> Timed:
        """The open tree's inverse dynamics; its error is that of E_T^T (rnea - damping) as tau_u."""
        engine, data = self.engine, self.engine.model.createData()
        a = [engine.velocity(one.values, one.rates) for one in self.states.each]
        each = [(engine.model, data, q, v, x) for q, v, x in zip(self.q, self.v, a, strict=True)]
        found = []
        for one, arguments in zip(self.states.each, each, strict=True):
            force = np.array(self.pin.rnea(*arguments)) - self._push(one, ports=False)
            found.append(self._lift(one).T @ force)
        loop = self._net(self.pin.rnea, each, (self.empty, self.empty.createData(), *[self.none] * 3))
        note = f"open tree; {self.subtracted.format('rnea')}; error of its projection on the loops' lift"
        return Timed(INVERSE, f"{NAME}, rnea of the open tree", False, loop.sample, self.states.inverse_error(
            np.array(found)
        ), note)  # fmt: skip

    def _lift(self, one: Reference) -> Array:
        """E_T (nv of the tree, d), in Pinocchio's velocities."""
        d = len(self.robot.independent)
        columns = [{name: float(row[k]) for name, row in one.lift.items()} for k in range(d)]
        return np.column_stack([self.engine.velocity(one.values, column) for column in columns])

    def aba(self) -> Timed:
        """The open tree's forward dynamics under the efforts that make it move as the closed one does."""
        engine, data = self.engine, self.engine.model.createData()
        wanted = [engine.velocity(one.values, one.rates) for one in self.states.each]
        tau = [
            np.array(self.pin.rnea(engine.model, data, q, v, a)) for q, v, a in zip(self.q, self.v, wanted, strict=True)
        ]
        each = [(engine.model, data, q, v, x) for q, v, x in zip(self.q, self.v, tau, strict=True)]
        error = worst([np.array(self.pin.aba(*arguments)) for arguments in each], wanted)
        loop = self._net(self.pin.aba, each, (self.empty, self.empty.createData(), *[self.none] * 3))
        note = f"open tree, loops ignored; {self.subtracted.format('aba')}; error of aba after rnea"
        return Timed(FORWARD, f"{NAME}, aba of the open tree", False, loop.sample, error, note)

    def proximal(self, setting: Setting) -> Timed | Skipped:
        """A closed-chain solver, or why it is of no use here."""
        pin, engine = self.pin, self.engine
        models, datas, data = engine.closures()
        none_models, none_datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        empty_data = self.empty.createData()
        if setting.function == "lcaba":
            pin.computeJointMinimalOrdering(engine.model, data, models)
            pin.computeJointMinimalOrdering(self.empty, empty_data, none_models)
        else:
            pin.initConstraintDynamics(engine.model, data, models, datas)
            pin.initConstraintDynamics(self.empty, empty_data, none_models, none_datas)
        solve = getattr(pin, setting.function)
        proximal = pin.ProximalSettings(setting.accuracy, setting.mu, setting.rounds)
        push = [self._push(one, ports=True) for one in self.states.each]
        each = [
            (engine.model, data, q, v, tau, models, datas, proximal)
            for q, v, tau in zip(self.q, self.v, push, strict=True)
        ]
        names, found, most = self._names(), [], 0
        for one, arguments in zip(self.states.each, each, strict=True):
            rates = engine.named(one.values, np.array(solve(*arguments)))
            found.append(np.array([rates[name] for name in names]))
            most = max(most, int(proximal.iter))
        error = worst(found, [np.array([one.forward[name] for name in names]) for one in self.states.each])
        if not error <= USABLE:  # not a number, too
            return Skipped(setting.solver, f"not usable here: its accelerations are off by {error:.1g}")
        without = (self.empty, empty_data, *[self.none] * 3, none_models, none_datas, proximal)
        note = f"{self.subtracted.format(setting.function)}; {most} iteration{'s' if most > 1 else ''} at most"
        return Timed(FORWARD, setting.solver, False, self._net(solve, each, without).sample, error, note)
