"""The maximal-coordinate oracle: six coordinates a body, every joint only constraint rows, no tree and no cut.

M a + h = f + A^T lambda,  A a + Adot V = 0,  over the twists V of all bodies.  With lift columns E spanning the null
space of A and a particular solution `drift`, a = E udot + drift and (E^T M E) udot = E^T (f - h - M drift).  Bodies
may be massless where E^T M E stays positive definite.  Written once over a number type: `MaximalModel` computes in
double, `maximal_mp.PreciseModel` in 50 digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robocompiler.errors import AssemblyError, ModelError, Problem, RankError
from robocompiler.oracle import bodies as inertial
from robocompiler.oracle.arithmetic import Arithmetic, Number, double_arithmetic
from robocompiler.oracle.assembly import Assembly
from robocompiler.oracle.definite import inner, solve_definite
from robocompiler.oracle.efforts import applied_forces
from robocompiler.oracle.relative import Row
from robocompiler.oracle.spaces import DoubleSpace, Space
from robocompiler.oracle.states import Accelerations, Efforts, Pose, Reduced, State, Table
from robocompiler.records.model import Mechanism

NO_EFFORTS = Efforts()
__all__ = ["NO_EFFORTS", "AssemblyError", "Efforts", "MaximalModel", "Pose", "State"]


class MaximalModel(Assembly):
    """A mechanism in maximal coordinates.

    Args:
        mechanism: the records.
        parameters: run-time parameters that differ from their defaults.
        support: name of a support mode, whose frames are then held where the first pose has them.
        arithmetic: the number type.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        parameters: Mapping[str, float] | None = None,
        *,
        support: str = "",
        arithmetic: Arithmetic | None = None,
    ) -> None:
        super().__init__(mechanism, parameters, support, arithmetic or double_arithmetic())

    def _space(self, rows: Sequence[Row]) -> Space:
        return DoubleSpace(rows, self.columns)

    def table(self, rows: Sequence[Number] | Sequence[Sequence[Number]]) -> Table:
        """Numbers as an array: float64 in double, objects else."""
        return np.array(rows, dtype=float if self.arithmetic.name == "double" else object)

    def state(
        self, pose: Pose, u: Mapping[str, float] | None = None, independent: Sequence[str] | None = None
    ) -> State:
        """The state at a feasible pose.

        Args:
            u: independent velocities by name; those of `independent` that it leaves out are zero.
            independent: names of d velocities; by default the keys of `u`, or a well-conditioned set when `u` is empty.

        Raises:
            RankError: the names do not parametrise the free twists.
            ModelError: a name is no joint velocity.
        """
        given = dict(u or {})
        with self.arithmetic.context():
            rows, _, rates = self.linearise(pose, None)
            space = self._space(rows) if pose.space is None else pose.space.renewed(rows)
            names = tuple(independent if independent is not None else given) or self.choose(rates, space)
            self._check_names([*names, *given], rates)
            if set(given) - set(names):
                raise ModelError([Problem(f"{name!r} is not an independent velocity here") for name in given])
            number = self.arithmetic.number
            values = tuple(number(given.get(name, 0.0)) for name in names)
            zero, one = number(0.0), number(1.0)
            none = [zero] * len(rows)
            units = [(none, [one if k == i else zero for i in range(len(names))]) for k in range(len(names))]
            lift = space.solve([rates[name] for name in names], units) if names else []
            V = [
                sum((column[i] * x for column, x in zip(lift, values, strict=True)), zero) for i in range(self.columns)
            ]
            return self._moving(pose, names, values, V, lift, space)

    def _check_names(self, names: Sequence[str], rates: Mapping[str, Row]) -> None:
        unknown = [name for name in names if name not in rates]
        if unknown:
            raise ModelError([Problem(f"no joint velocity is called {name!r}") for name in unknown])

    def _moving(
        self,
        pose: Pose,
        names: tuple[str, ...],
        u: tuple[Number, ...],
        V: list[Number],
        lift: list[list[Number]],
        space: Space,
    ) -> State:
        """Attach the biases at the twists V and the accelerations at udot = 0."""
        rows, row_names, rates = self.linearise(pose, V)
        held = [rates[name] for name in names]
        (drift,) = space.solve(held, [([-row.bias for row in rows], [-row.bias for row in held])])
        bodies = inertial.world_bodies(self.scene, pose.poses)
        return State(
            pose, names, u, tuple(V), tuple(tuple(column) for column in lift), tuple(drift),
            tuple(rows), tuple(row_names), rates, tuple(bodies), space,
        )  # fmt: skip

    def velocities(self, state: State) -> dict[str, Number]:
        """Every joint velocity by name."""
        with self.arithmetic.context():
            return {name: row(state.V) for name, row in state.rates.items()}

    def lift(self, state: State, names: Sequence[str] | None = None) -> Table:
        """E (names, d): joint velocities per independent velocity; all of them by default."""
        with self.arithmetic.context():
            chosen = [state.rates[name] for name in names or state.rates]
            return self.table([[row(column) for column in state.lift] for row in chosen])

    def curvature(self, state: State) -> dict[str, Number]:
        """Edot u: the rate of every joint velocity at udot = 0."""
        with self.arithmetic.context():
            return {name: row(state.drift) + row.bias for name, row in state.rates.items()}

    def reduced(self, state: State) -> Reduced:
        """M_r and h_r for the state's independent velocities."""
        with self.arithmetic.context():
            return self._as_tables(state, *self._reduced(state))

    def _as_tables(self, state: State, M: list[list[Number]], h: list[Number]) -> Reduced:
        return Reduced(state.independent, self.table(M).reshape(len(M), len(M)), self.table(h))

    def _reduced(self, state: State) -> tuple[list[list[Number]], list[Number]]:
        images = [self._inertia_times(state, column) for column in state.lift]
        M = [[inner(column, image) for image in images] for column in state.lift]
        force = self._bias(state)
        image = self._inertia_times(state, state.drift)
        h = [inner(column, [x + y for x, y in zip(force, image, strict=True)]) for column in state.lift]
        return M, h

    def _armatures(self, state: State) -> list[tuple[Row, Number]]:
        return [
            (state.rates[name], value)
            for joint in self.scene.joints
            for name, value in zip(joint.velocities, joint.armature, strict=False)
        ]

    def _inertia_times(self, state: State, V: Sequence[Number]) -> list[Number]:
        """M V with the armatures, which act on joint velocities."""
        result = inertial.apply_inertia(state.bodies, V)
        for row, armature in self._armatures(state):
            _add_along(result, row, armature * row(V))
        return result

    def _bias(self, state: State) -> list[Number]:
        """Velocity products, weights, armature biases and damping: M a + this = f + A^T lambda."""
        result = inertial.bias_forces(state.bodies, state.V, self.scene.gravity)
        for row, armature in self._armatures(state):
            _add_along(result, row, armature * row.bias)
        for joint in self.scene.joints:
            for name, damping in zip(joint.velocities, joint.damping, strict=False):
                _add_along(result, state.rates[name], damping * state.rates[name](state.V))
        return result

    def accelerations(self, state: State, efforts: Efforts = NO_EFFORTS) -> Accelerations:
        """Accelerations and multipliers under `efforts`; RankError where the reduced inertia is singular."""
        with self.arithmetic.context():
            M, h = self._reduced(state)
            force = applied_forces(self, state, efforts)
            right = [inner(column, force) - bias for column, bias in zip(state.lift, h, strict=True)]
            udot = solve_definite(M, right, state.independent, self.arithmetic)
            a = list(state.drift)
            for column, x in zip(state.lift, udot, strict=True):
                a = [total + x * entry for total, entry in zip(a, column, strict=True)]
            inertia, bias = self._inertia_times(state, a), self._bias(state)
            needed = [x + y - f for x, y, f in zip(inertia, bias, force, strict=True)]
            multipliers = state.space.multipliers([state.rates[name] for name in state.independent], needed)
            residual = max((abs(float(row(a) + row.bias)) for row in state.rows), default=0.0)
            return Accelerations(
                self.table(udot),
                {name: row(a) + row.bias for name, row in state.rates.items()},
                {solid.name: tuple(a[6 * k : 6 * k + 6]) for k, solid in enumerate(self.scene.solids)},
                tuple(multipliers),
                residual,
                tuple(a),
                self._as_tables(state, M, h),
            )

    def applied(self, state: State, efforts: Efforts) -> Table:
        """E^T f (d,): the generalised force of `efforts` on the independent velocities."""
        with self.arithmetic.context():
            force = applied_forces(self, state, efforts)
            return self.table([inner(column, force) for column in state.lift])

    def energies(self, state: State) -> tuple[Number, Number]:
        """Kinetic (armatures included) and potential energy, J."""
        with self.arithmetic.context():
            kinetic = inner(state.V, self._inertia_times(state, state.V)) / 2
            return kinetic, inertial.potential_energy(state.bodies, state.pose.poses, self.scene, self.arithmetic)


def _add_along(force: list[Number], row: Row, value: Number) -> None:
    for column, entry in row.entries.items():
        force[column] = force[column] + entry * value


def freedoms(model: MaximalModel, pose: Pose) -> tuple[int, int]:
    """(rank of all constraint rows, freedoms) at a pose; RankError when there is no row-space gap to speak of."""
    state = model.state(pose)
    values = state.space.singular_values
    if state.space.rank and values[state.space.rank - 1] <= 0:
        raise RankError("no constraint row is left")
    return state.space.rank, len(state.independent)
