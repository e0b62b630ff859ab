"""Records as nested plain data shaped like a file: what the reader reads back to the same records.

Values that a file may leave out are left out when they are the reader's defaults.  Numbers stay floats, expressions
become text.  One entry of `GROUPS` makes one top-level key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from robocompiler.records.expression_parser import MAXIMUM_LENGTH
from robocompiler.records.expression_text import expression_text
from robocompiler.records.expressions import Apply, Constant, Expression, Scalar, Symbol
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names
from robocompiler.records.model import (
    IDENTITY,
    ORIGIN,
    BasePose,
    Body,
    Coupling,
    Distance,
    Drive,
    Joint,
    Limits,
    Mechanism,
    Placement,
    Point,
    Port,
    Reference,
)
from robocompiler.records.parse_couplings import weighted_sum
from robocompiler.records.parse_header import FORMAT_VERSION

Data = dict[str, Any]


def mechanism_data(mechanism: Mechanism) -> Data:
    """The mechanism as nested data: `mechanism_from_dict` of it is the mechanism again.

    That holds for records as the reader makes them: unit axes and quaternions, one entry per freedom, and no value in
    a field that a joint's type does not have (such a field is not written).

    Raises ValueError for what no file can say: a number that is not finite, an expression too long to be read, a frame
    that turns with parameters (the anchors of a support mode), several base poses without the names of their bodies.
    """
    found = {key: group(mechanism) for key, group in GROUPS.items()}
    return {key: value for key, value in found.items() if value not in (None, {}, [])}


def _scalar(value: Scalar) -> float | str:
    if isinstance(value, (int, float)):
        return float(value)
    return value.value if isinstance(value, Constant) else _expression(value)


def _expression(value: Expression) -> str:
    text = expression_text(value)
    if len(text) > MAXIMUM_LENGTH:
        raise ValueError(f"an expression of {len(text)} characters cannot be read back: {text[:40]}...")
    return text


def _scalars(values: Sequence[Scalar]) -> list[float | str]:
    return [_scalar(value) for value in values]


def _filled(**parts: Any) -> Data:
    """The parts that say something."""
    return {key: value for key, value in parts.items() if value not in (None, {}, [], "")}


def _body(body: Body) -> Data:
    return _filled(
        mass=_scalar(body.mass) if body.mass != 0.0 else None,
        com=_scalars(body.com) if body.com != ORIGIN else None,
        inertia=_scalars(body.inertia) if any(value != 0.0 for value in body.inertia) else None,
    )


def _placement(record: Placement) -> Data:
    if record.turn is not None:
        raise ValueError(f"a frame on {record.body} turns with run-time parameters, which no file can say")
    return _filled(
        body=record.body,
        xyz=_scalars(record.translation) if record.translation != ORIGIN else None,
        matrix=[list(row) for row in record.rotation] if record.rotation != IDENTITY else None,
    )


def _limits(limits: Limits, position: str) -> Data:
    return _filled(
        **{position: None if limits.position is None else list(limits.position)},
        velocity=limits.velocity,
        effort=limits.effort,
    )


def _per_freedom(values: Sequence[Any], kind: JointType, nothing: Any) -> Any:
    """One value for a joint of one freedom, else values by suffix; None where all are `nothing`."""
    said = {
        suffix: value for suffix, value in zip(JOINT_SHAPES[kind].velocities, values, strict=False) if value != nothing
    }
    return said.get("", said or None)


def _joint(joint: Joint) -> Data:
    shape, kind = JOINT_SHAPES[joint.type], joint.type
    return {
        "type": kind.value,
        "a": _placement(joint.a),
        "b": _placement(joint.b),
        **({"axis": list(joint.axis)} if shape.has_axis else {}),
        **({"axis2": list(joint.axis2)} if kind is JointType.UNIVERSAL else {}),
        **({"pitch": _scalar(joint.pitch)} if kind is JointType.SCREW else {}),
        **_filled(
            limits=_per_freedom([_limits(limits, "position") for limits in joint.limits], kind, {}),
            armature=_per_freedom(_scalars(joint.armature), kind, 0.0),
            damping=_per_freedom(_scalars(joint.damping), kind, 0.0),
            friction=_per_freedom(_scalars(joint.friction), kind, 0.0),
        ),
    }


def _coupling(coupling: Coupling) -> Data:
    """{terms, constant} where the expression is what the reader makes of that, else {expression}."""
    terms, constant = _as_sum(coupling.expression, frozenset(coupling.coordinates))
    if terms and tuple(name for name, _ in terms) == coupling.coordinates:
        again = weighted_sum(tuple(terms), constant)
        if again == coupling.expression:
            weights = {name: _scalar(weight) for name, weight in terms}
            return {"terms": weights, **({"constant": _scalar(constant)} if constant != 0.0 else {})}
    return {"expression": _expression(coupling.expression)}


def _as_sum(tree: Expression, coordinates: frozenset[str]) -> tuple[list[tuple[str, Scalar]], Scalar]:
    """Summands weight * coordinate in order, and the last other summand: a guess that the caller proves."""
    terms: list[tuple[str, Scalar]] = []
    constant: Scalar = 0.0
    waiting: list[Expression] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Apply) and part.function == "+":
            waiting += reversed(part.arguments)
        elif isinstance(part, Symbol) and part.name in coordinates:
            terms.append((part.name, 1.0))
        elif isinstance(part, Apply) and part.function == "*" and isinstance(part.arguments[1], Symbol):
            weight, symbol = part.arguments[0], part.arguments[1]
            terms.append((symbol.name, weight.value if isinstance(weight, Constant) else weight))
        else:
            constant = part.value if isinstance(part, Constant) else part
    return terms, constant


def _port(port: Port) -> Data:
    return {**_measure(port), **_filled(limits=_limits(port.limits, "displacement"))}


def _measure(port: Port) -> Data:
    if isinstance(port.measure, Distance):
        return {"distance": [_point(port.measure.a), _point(port.measure.b)]}
    terms = port.measure.terms
    if len(terms) == 1 and terms[0][1] == 1.0:
        return {"joint": terms[0][0]}
    return {"terms": {name: _scalar(weight) for name, weight in terms}}


def _point(point: Point) -> Data:
    return _filled(body=point.body, xyz=_scalars(point.position) if point.position != ORIGIN else None)


def _drive(drive: Drive) -> Data:
    return _filled(
        port=drive.port,
        commands={command.name: _filled(unit=command.unit) for command in drive.commands},
        states={state.name: {"initial": state.initial, **_filled(unit=state.unit)} for state in drive.states},
        constants={name: _scalar(value) for name, value in drive.constants},
        effort=_scalar(drive.effort),
        rates={state.name: _scalar(state.rate) for state in drive.states},
    )


def _reference(reference: Reference, joints: Sequence[Joint]) -> Data:
    bases = reference.bases
    single = len(bases) == 1
    if not single and any(not base.body for base in bases):
        raise ValueError("reference.base: several poses need the names of their bodies")
    base = _base(bases[0], named=True) if single else {pose.body: _base(pose, named=False) for pose in bases}
    return _filled(joints=_values(reference, joints), base=base)


def _base(pose: BasePose, *, named: bool) -> Data:
    return {**_filled(body=pose.body if named else ""), "xyz": list(pose.translation), "quat": list(pose.quaternion)}


def _values(reference: Reference, joints: Sequence[Joint]) -> Data:
    """Values in their order; those of a joint that stand together and complete become one list."""
    whole = {names[0]: names for joint in joints if len(names := coordinate_names(joint.name, joint.type)) > 1}
    owner = {joint_names: first.partition(":")[0] for first, joint_names in whole.items()}
    given, k = reference.coordinates, 0
    result: dict[str, float | list[float]] = {}
    while k < len(given):
        name, value = given[k]
        together = whole.get(name, ())
        if together and tuple(other for other, _ in given[k : k + len(together)]) == together:
            result[owner[together]] = [number for _, number in given[k : k + len(together)]]
            k += len(together)
        else:
            result[name] = value
            k += 1
    return result


GROUPS: dict[str, Callable[[Mechanism], Any]] = {
    "robocompiler": lambda m: FORMAT_VERSION,
    "name": lambda m: m.name,
    "gravity": lambda m: list(m.gravity),
    "scales": lambda m: {} if m.length_scale is None else {"length": m.length_scale},
    "parameters": lambda m: {parameter.name: parameter.default for parameter in m.parameters},
    "bodies": lambda m: {body.name: _body(body) for body in m.bodies},
    "joints": lambda m: {joint.name: _joint(joint) for joint in m.joints},
    "couplings": lambda m: {coupling.name: _coupling(coupling) for coupling in m.couplings},
    "ports": lambda m: {port.name: _port(port) for port in m.ports},
    "drives": lambda m: {drive.name: _drive(drive) for drive in m.drives},
    "frames": lambda m: {frame.name: _placement(frame.placement) for frame in m.frames},
    "supports": lambda m: {support.name: dict(support.contacts) for support in m.supports},
    "reference": lambda m: _reference(m.reference, m.joints),
}
