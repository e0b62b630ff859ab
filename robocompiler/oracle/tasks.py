"""Frames and ports of the maximal model: Jacobians, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence

from robocompiler.oracle.arithmetic import Number
from robocompiler.oracle.bodies import halves
from robocompiler.oracle.efforts import port_row
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.scene import GROUND
from robocompiler.oracle.states import State, Table
from robocompiler.oracle.vectors import Vector, add, apply, cross


def _arm(model: MaximalModel, state: State, frame: str) -> tuple[int, Vector]:
    placed = model.scene.named_frame(frame)
    if placed.body == GROUND:
        return GROUND, placed.p
    return placed.body, apply(state.pose.poses.R[placed.body], placed.p)


def _twist_at(V: Sequence[Number], body: int, arm: Vector) -> list[Number]:
    omega, v = halves(V, body)
    return [*omega, *add(v, cross(omega, arm))]


def task_jacobian(model: MaximalModel, state: State, frame: str) -> Table:
    """J (6, d): (omega; velocity of the frame's origin) in world axes per independent velocity."""
    with model.arithmetic.context():
        body, arm = _arm(model, state, frame)
        if body == GROUND:
            return model.table([[model.arithmetic.number(0.0)] * len(state.lift)] * 6)
        columns = [_twist_at(column, body, arm) for column in state.lift]
        return model.table([[column[k] for column in columns] for k in range(6)])


def task_acceleration(model: MaximalModel, state: State, frame: str, vector: Sequence[Number]) -> Table:
    """(alpha; d/dt of the origin's velocity) of a frame, world axes, from the accelerations of all bodies."""
    with model.arithmetic.context():
        body, arm = _arm(model, state, frame)
        if body == GROUND:
            return model.table([model.arithmetic.number(0.0)] * 6)
        alpha_a = _twist_at(vector, body, arm)
        omega, _ = halves(state.V, body)
        centripetal = cross(omega, cross(omega, arm))
        return model.table(alpha_a[:3] + [x + y for x, y in zip(alpha_a[3:], centripetal, strict=True)])


def motion_at(model: MaximalModel, state: State, udot: Sequence[Number]) -> list[Number]:
    """Accelerations of all bodies for given rates of the independent velocities."""
    with model.arithmetic.context():
        a = list(state.drift)
        for column, x in zip(state.lift, udot, strict=True):
            a = [total + model.arithmetic.number(float(x)) * entry for total, entry in zip(a, column, strict=True)]
        return a


def port_map(model: MaximalModel, state: State, ports: Sequence[str] | None = None) -> Table:
    """L (ports, d): displacement rates per independent velocity; all ports by default."""
    with model.arithmetic.context():
        names = ports or [port.name for port in model.scene.mechanism.ports]
        rows = [port_row(model, state, name) for name in names]
        return model.table([[row(column) for column in state.lift] for row in rows])


def port_acceleration(model: MaximalModel, state: State, vector: Sequence[Number], port: str) -> Number:
    """Second derivative of a port's displacement at given accelerations of all bodies."""
    with model.arithmetic.context():
        row = port_row(model, state, port)
        return row(vector) + row.bias
