"""Records with names replaced and run-time parameters at their defaults: other formats hold plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from robocompiler.records.expression_folding import fold_constants
from robocompiler.records.expressions import Apply, Constant, Expression, Scalar, Symbol, evaluate
from robocompiler.records.model import (
    Body,
    CoordinateSum,
    Distance,
    Drive,
    Joint,
    Mechanism,
    Placement,
    Point,
    Port,
    ScalarVector3,
)

Rename = Callable[[str], Expression]


def at_defaults(mechanism: Mechanism) -> Mechanism:
    """The mechanism with every run-time parameter replaced by its default; no `Scalar` of it is an expression then."""
    values = mechanism.defaults

    def rename(name: str) -> Expression:
        return Constant(values[name]) if name in values else Symbol(name)

    return replace(
        mechanism,
        parameters=(),
        bodies=tuple(_body(body, values) for body in mechanism.bodies),
        joints=tuple(_joint(joint, values) for joint in mechanism.joints),
        couplings=tuple(
            replace(coupling, expression=_law(coupling.expression, rename)) for coupling in mechanism.couplings
        ),
        ports=tuple(_port(port, values) for port in mechanism.ports),
        drives=tuple(_drive(drive, rename, values) for drive in mechanism.drives),
        frames=tuple(replace(frame, placement=_placement(frame.placement, values)) for frame in mechanism.frames),
    )


def with_coordinates(mechanism: Mechanism, names: Mapping[str, str]) -> Mechanism:
    """Couplings, ports and drives with coordinates (and equally named velocities) renamed by `names`."""
    if not names:
        return mechanism

    def rename(name: str) -> Expression:
        if name.startswith("speed(") and name.endswith(")"):
            return Symbol(f"speed({names.get(name[6:-1], name[6:-1])})")
        return Symbol(names.get(name, name))

    def port(record: Port) -> Port:
        if isinstance(record.measure, Distance):
            return record
        terms = tuple((names.get(name, name), weight) for name, weight in record.measure.terms)
        return replace(record, measure=CoordinateSum(terms))

    return replace(
        mechanism,
        couplings=tuple(
            replace(
                coupling,
                expression=_substituted(coupling.expression, rename),
                coordinates=tuple(names.get(name, name) for name in coupling.coordinates),
            )
            for coupling in mechanism.couplings
        ),
        ports=tuple(map(port, mechanism.ports)),
        drives=tuple(_drive(drive, rename) for drive in mechanism.drives),
    )


def _substituted(tree: Expression, rename: Rename) -> Expression:
    if isinstance(tree, Symbol):
        return rename(tree.name)
    if isinstance(tree, Apply):
        return Apply(tree.function, tuple(_substituted(argument, rename) for argument in tree.arguments))
    return tree


def _law(tree: Expression, rename: Rename) -> Expression:
    changed = _substituted(tree, rename)
    return tree if changed == tree else fold_constants(changed)


def _vector(value: ScalarVector3, values: Mapping[str, float]) -> tuple[float, float, float]:
    x, y, z = (evaluate(component, values) for component in value)
    return (x, y, z)


def _body(body: Body, values: Mapping[str, float]) -> Body:
    xx, yy, zz, xy, xz, yz = (evaluate(value, values) for value in body.inertia)
    return replace(
        body, mass=evaluate(body.mass, values), com=_vector(body.com, values), inertia=(xx, yy, zz, xy, xz, yz)
    )


def _placement(placement: Placement, values: Mapping[str, float]) -> Placement:
    return replace(placement, translation=_vector(placement.translation, values))


def _joint(joint: Joint, values: Mapping[str, float]) -> Joint:
    def numbers(group: tuple[Scalar, ...]) -> tuple[float, ...]:
        return tuple(evaluate(value, values) for value in group)

    return replace(
        joint,
        a=_placement(joint.a, values),
        b=_placement(joint.b, values),
        pitch=evaluate(joint.pitch, values),
        armature=numbers(joint.armature),
        damping=numbers(joint.damping),
        friction=numbers(joint.friction),
    )


def _port(port: Port, values: Mapping[str, float]) -> Port:
    measure = port.measure
    if isinstance(measure, Distance):
        ends = [Point(end.body, _vector(end.position, values)) for end in (measure.a, measure.b)]
        return replace(port, measure=Distance(*ends))
    return replace(
        port, measure=CoordinateSum(tuple((name, evaluate(weight, values)) for name, weight in measure.terms))
    )


def _drive(drive: Drive, rename: Rename, values: Mapping[str, float] | None = None) -> Drive:
    """Names of the drive's own (states, commands, constants) win over what `rename` says."""
    own = {state.name for state in drive.states} | {command.name for command in drive.commands}
    own |= {name for name, _ in drive.constants}

    def inner(name: str) -> Expression:
        return Symbol(name) if name in own else rename(name)

    return replace(
        drive,
        effort=_substituted(drive.effort, inner),
        states=tuple(replace(state, rate=_substituted(state.rate, inner)) for state in drive.states),
        constants=tuple(
            (name, value if values is None else evaluate(value, values)) for name, value in drive.constants
        ),
    )
