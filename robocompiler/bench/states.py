"""The states that are timed, each with the answers of the maximal-coordinate oracle.

A state is drawn on the compiled robot and then closed by the oracle, so that everything that is timed gets the double
rounding of the same exactly closed state, and every result can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocompiler.check.states import Sample, draw
from robocompiler.errors import AssemblyError, RankError
from robocompiler.oracle.efforts import applied_forces
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.oracle.maximal_mp import PreciseModel
from robocompiler.oracle.states import State
from robocompiler.records.model import Mechanism
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    """One state and its answers, by joint coordinate and velocity name.

    Attributes:
        q (nq,), u (d,), f (nf,): arguments of forward dynamics; udot (d,): that of inverse dynamics.
        values, speeds: all coordinates and velocities.
        forward: rates of all velocities under f; udot_forward (d,) those of the independents.
        rates: rates of all velocities at `udot`; tau (d,): its generalised force M_r udot + h_r.
        lift: d(all velocities)/du, a row of d numbers each.
        model, state: the oracle's own.
    """

    q: Array
    u: Array
    f: Array
    udot: Array
    values: Mapping[str, float]
    speeds: Mapping[str, float]
    forward: Mapping[str, float]
    udot_forward: Array
    rates: Mapping[str, float]
    tau: Array
    lift: Mapping[str, Array]
    model: MaximalModel
    state: State

    def tree_efforts(self, chords: Sequence[str], ports: bool) -> dict[str, float]:
        """Damping of all joints, and the port efforts if asked for, as forces on the velocities of the tree of a peer
        that cuts `chords`.

        The rows of the tree's own constraints and of its joint velocities are square: T V = (0; v_T), so that forces F
        on the bodies do the work of tau = (T^-1)^T F restricted to the joint velocities.
        """
        apart, state = set(chords), self.state
        joints = [joint for joint in self.model.scene.joints if joint.name not in apart]
        inside = {joint.name for joint in joints}
        own = [row for row, (name, _) in zip(state.rows, state.row_names, strict=True) if name in inside]
        names = [name for joint in joints for name in joint.velocities]
        T = np.zeros((len(own) + len(names), self.model.columns))
        for k, row in enumerate([*own, *(state.rates[name] for name in names)]):
            for column, entry in row.entries.items():
                T[k, column] = float(entry)
        tau = np.linalg.solve(T.T, self._forces(ports))[len(own) :]
        return dict(zip(names, tau.tolist(), strict=True))

    def _forces(self, ports: bool) -> Array:
        """(moment about the origin; force) on each body, stacked."""
        names = [port.name for port in self.model.scene.mechanism.ports] if ports else []
        given = dict(zip(names, self.f.tolist(), strict=True)) if ports else {}
        with self.model.arithmetic.context():
            force = applied_forces(self.model, self.state, Efforts(ports=given))
            for joint in self.model.scene.joints:
                for name, damping in zip(joint.velocities, joint.damping, strict=False):
                    row = self.state.rates[name]
                    push = -damping * row(self.state.V)
                    for column, entry in row.entries.items():
                        force[column] += push * entry
        return np.array([float(x) for x in force])


@dataclass(frozen=True)
class References:
    """All states, arrays (count, ...) of them for loops and batches, and the values of the run-time parameters."""

    each: tuple[Reference, ...]
    parameters: tuple[float, ...]

    @property
    def constants(self) -> list[Array]:
        """What functions take besides: the run-time parameters, if there are any."""
        return [np.array(self.parameters)] if self.parameters else []

    @cached_property
    def q(self) -> Array:
        """Configurations."""
        return np.array([one.q for one in self.each])

    @cached_property
    def u(self) -> Array:
        """Independent speeds."""
        return np.array([one.u for one in self.each])

    @cached_property
    def f(self) -> Array:
        """Port efforts."""
        return np.array([one.f for one in self.each])

    @cached_property
    def udot(self) -> Array:
        """Accelerations for inverse dynamics."""
        return np.array([one.udot for one in self.each])

    def forward_error(self, found: Array) -> float:
        """Largest delta_a = |udot - reference| / max(1, |reference|) of udot (count, d)."""
        return worst(found, [one.udot_forward for one in self.each])

    def inverse_error(self, found: Array) -> float:
        """Largest delta_tau, formed alike, of tau_u (count, d)."""
        return worst(found, [one.tau for one in self.each])


def worst(found: Sequence[Array] | Array, wanted: Sequence[Array]) -> float:
    """Largest relative deviation of any state: |found - wanted| / max(1, |wanted|); not a number if any is none."""
    errors = [np.linalg.norm(a - b) / max(1.0, float(np.linalg.norm(b))) for a, b in zip(found, wanted, strict=True)]
    return float(np.max(errors))


def references(robot: Robot, mechanism: Mechanism, count: int, seed: int = 0, *, precise: bool = False) -> References:
    """`count` random states with their answers, in 50 digits if `precise`.

    Raises AssemblyError, RankError as drawing does; MissingPackageError where mpmath is needed and is not there.
    """
    model = PreciseModel(mechanism) if precise else MaximalModel(mechanism)
    each = tuple(_reference(robot, model, sample) for sample in samples(robot, mechanism, count, seed))
    return References(each, tuple(robot.parameters.values()))


def samples(robot: Robot, mechanism: Mechanism, count: int, seed: int) -> list[Sample]:
    """`count` random states, each from a seed of its own.

    A walk that ends in a corner of the joint limits is drawn again from the next seed; when more than `count` end so,
    the error of the last one is raised.
    """
    found: list[Sample] = []
    refused = 0
    while len(found) < count:
        try:
            found += draw(robot, mechanism, 1, seed + len(found) + refused)
        except (AssemblyError, RankError):
            refused += 1
            if refused > count:
                raise
    return found


def _reference(robot: Robot, model: MaximalModel, sample: Sample) -> Reference:
    names = robot.independent
    near = model.pose(dict(zip(robot.coordinates, sample.q.tolist(), strict=True)))
    pose = model.project(near, names)
    state = model.state(pose, dict(zip(names, sample.u.tolist(), strict=True)), names)
    ports = {port.name: float(value) for port, value in zip(robot.ports, sample.f, strict=True)}
    found = model.accelerations(state, Efforts(ports=ports))
    M, h = (np.asarray(part, dtype=float) for part in (found.reduced.M, found.reduced.h))
    E, drift = np.asarray(model.lift(state), dtype=float), model.curvature(state)
    values = {name: float(x) for name, x in pose.values.items()}
    rates = {n: float(drift[n]) + float(row @ sample.udot) for n, row in zip(state.rates, E, strict=True)}
    return Reference(
        q=_like(np.array([values[name] for name in robot.coordinates]), sample.q, robot.coordinates),
        u=sample.u, f=sample.f, udot=sample.udot, values=values,
        speeds={name: float(x) for name, x in model.velocities(state).items()},
        forward={name: float(x) for name, x in found.joints.items()},
        udot_forward=np.asarray(found.udot, dtype=float),
        rates=rates, tau=M @ sample.udot + h,
        lift=dict(zip(state.rates, E, strict=True)), model=model, state=state,
    )  # fmt: skip


def _like(q: Array, drawn: Array, names: Sequence[str]) -> Array:
    """q with the drawn signs of its quaternions: one and its negative are the same rotation."""
    result = q.copy()
    for k, name in enumerate(names):
        if name.endswith(":qw") and q[k : k + 4] @ drawn[k : k + 4] < 0:
            result[k : k + 4] = -q[k : k + 4]
    return result
