"""Applied efforts as forces on the twists of all bodies, and port displacements as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robocompiler.errors import ModelError, Problem
from robocompiler.oracle.arithmetic import Number
from robocompiler.oracle.relative import Axis, Row, relative
from robocompiler.oracle.scene import GROUND, Frame
from robocompiler.oracle.states import Efforts, Pose, State
from robocompiler.oracle.vectors import add, apply, cross, dot, identity, scale, subtract
from robocompiler.records.model import CoordinateSum, Point

if TYPE_CHECKING:
    from robocompiler.oracle.assembly import Assembly
    from robocompiler.oracle.maximal import MaximalModel


def applied_forces(model: MaximalModel, state: State, efforts: Efforts) -> list[Number]:
    """(moment about the origin; force) on each body, stacked.  ModelError for names that do not exist."""
    number = model.arithmetic.number
    force = [number(0.0)] * model.columns
    for name, value in efforts.joints.items():
        if name not in state.rates:
            raise ModelError([Problem(f"no joint velocity is called {name!r}")])
        _add(force, state.rates[name], number(value))
    for name, value in efforts.ports.items():
        _add(force, port_row(model, state, name), number(value))
    for a, b, value in efforts.pairs:
        _add(force, distance_row(model, state, a, b), number(value))
    for name, wrench in efforts.wrenches.items():
        frame = model.scene.named_frame(name)
        if frame.body == GROUND:
            continue  # the world does not move
        torque, push = [tuple(number(x) for x in part) for part in (wrench[:3], wrench[3:6])]
        arm = apply(state.pose.poses.R[frame.body], frame.p)
        moment = add(torque, cross(arm, push))
        for k in range(3):
            force[6 * frame.body + k] += moment[k]
            force[6 * frame.body + 3 + k] += push[k]
    return force


def port_row(model: Assembly, state: State, name: str) -> Row:
    """The displacement rate of a port as a row over all twists; the bias is that of its second derivative."""
    port = next((port for port in model.scene.mechanism.ports if port.name == name), None)
    if port is None:
        raise ModelError([Problem(f"no port is called {name!r}")])
    if isinstance(port.measure, CoordinateSum):
        row = Row({}, model.arithmetic.number(0.0))
        for coordinate, weight in port.measure.terms:
            row = row + state.rates[coordinate].times(model.scene.scalar(weight))
        return row
    return distance_row(model, state, port.measure.a, port.measure.b)


def port_displacement(model: Assembly, pose: Pose, name: str) -> Number:
    """A port's displacement at a pose."""
    port = next(port for port in model.scene.mechanism.ports if port.name == name)
    with model.arithmetic.context():
        if isinstance(port.measure, CoordinateSum):
            return sum(model.scene.scalar(w) * pose.values[name] for name, w in port.measure.terms)
        a, b = _point_frame(model, port.measure.a), _point_frame(model, port.measure.b)
        offset = relative(a, b, pose.poses, None, model.arithmetic).offset
        return model.arithmetic.sqrt(dot(offset, offset))


def distance_row(model: Assembly, state: State, a: Point, b: Point) -> Row:
    """d|p_b - p_a|/dt as a row; its bias holds the square of the transverse velocity over the distance."""
    motion = relative(_point_frame(model, a), _point_frame(model, b), state.pose.poses, state.V, model.arithmetic)
    length = model.arithmetic.sqrt(dot(motion.offset, motion.offset))
    if length == 0:
        raise ModelError([Problem("the points of a two-point force coincide: the force has no direction")])
    direction = scale(1 / length, motion.offset)
    # in frame a's rotating axes the line turns by (X - e e.X) / length, on top of omega_a
    along = dot(direction, motion.X)
    turn = scale(1 / length, subtract(motion.X, scale(along, direction)))
    return motion.linear(Axis(direction, add(cross(motion.omega_a, direction), turn)))


def _point_frame(model: Assembly, point: Point) -> Frame:
    body, position = model.scene.point(point)
    return Frame(body, identity(model.arithmetic), position)


def _add(force: list[Number], row: Row, value: Number) -> None:
    for column, entry in row.entries.items():
        force[column] = force[column] + entry * value
