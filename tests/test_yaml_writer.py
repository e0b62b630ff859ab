"""Records to YAML and back: equal for every shipped model, and for a mechanism with every field of every record."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robocompiler.records import model as records_module
from robocompiler.records.expression_folding import fold_constants
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.expression_text import expression_text
from robocompiler.records.expressions import FUNCTIONS, Apply, Constant, Expression, Symbol
from robocompiler.records.keys import TOP_KEYS
from robocompiler.records.model import BasePose, Mechanism, Placement, Reference, Source
from robocompiler.records.plain_data import GROUPS, mechanism_data
from robocompiler.records.reader import mechanism_from_dict, read_mechanism, read_mechanism_text
from robocompiler.records.yaml_writer import mechanism_yaml

MODELS = sorted((Path(__file__).resolve().parent.parent / "models").glob("*.yaml"))

EVERYTHING = """
robocompiler: 1
name: every/thing 1.0
gravity: [0.1, -0.2, -9.7]
scales: {length: 0.7}
parameters: {payload: 2.0, reach: 0.3}
bodies:
  "on": {mass: 1.5, com: [0.1, reach, 0.2], inertia: [0.2, 0.3, 0.25, 0.01, 0.02, 0.03]}
  "12": {mass: payload*0.5, inertia: [payload, 2*payload, 2*payload, 0, 0, 0]}
  left-arm.2: {}
  d: {mass: 1}
joints:
  "null":
    type: revolute
    a: {body: world, xyz: [reach, 0.1, -reach], rpy: [0.1, 0.2, 0.3]}
    b: {body: "on", quat: [0.6, 0, 0.8, 0]}
    axis: [1, 2, 3]
    limits: {position: [-1, 2], velocity: 3, effort: 4}
    armature: 0.1*payload
    damping: 0.2
    friction: 0.3
  pi:
    type: universal
    a: {body: "on"}
    b: {body: "12", xyz: [0, 1e-7, 12345678.9]}
    axis: [1, 0, 0]
    axis2: [0, 1, 1]
    limits: {second: {velocity: 2}}
    damping: {first: 0.1}
    friction: {second: 0.7}
  lead/screw: {type: screw, a: world, b: left-arm.2, axis: [0, 0, 1], pitch: reach/10}
  ball: {type: spherical, a: left-arm.2, b: d, armature: 0.1}
couplings:
  gears: {terms: {"null": 1, "pi:first": -2, lead/screw: payload}, constant: reach - 1}
  cam: {expression: "sin(`null`)**2 - -`pi:first`/(3 - payload) - (1 - `lead/screw`)"}
ports:
  single: {joint: "pi:second", limits: {displacement: [0, 1], velocity: 2, effort: 3}}
  several: {terms: {"null": 2, "pi:first": -payload}}
  cylinder: {distance: [{body: "on", xyz: [0, reach, 1]}, {body: world}]}
drives:
  valve:
    port: single
    commands: {opening: {unit: "%"}, plain: {}}
    states: {pressure: {initial: 1.0e5, unit: Pa}, other: 0}
    constants: {gain: 2*payload, speed_limit: 3}
    effort: gain*pressure - speed(`pi:first`)*`null`
    rates: {pressure: "clamp(opening, -1, 1) - velocity - plain", other: effort - speed_limit}
frames:
  tip: {body: d, xyz: [0, 0, reach], matrix: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}
supports:
  stand: {tip: point, "on": weld}
reference:
  joints: {ball: [0.5, 0.5, 0.5, 0.5], "null": 0.25, "pi:second": 0.1}
  base: {body: d, xyz: [1, 2, 3], quat: [0, 1, 0, 0]}
"""


@pytest.fixture(scope="module")
def everything() -> Mechanism:
    return read_mechanism_text(EVERYTHING)


def records_of(value: Any) -> Iterator[Any]:
    """Every dataclass instance inside a value, expressions left out."""
    if isinstance(value, (Constant, Symbol, Apply, Source)):
        return
    if dataclasses.is_dataclass(value):
        yield value
        for field in dataclasses.fields(value):
            yield from records_of(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from records_of(item)


def compared(kind: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(kind) if field.compare]


def is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    return field.default is not dataclasses.MISSING and bool(value == field.default)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models_round_trip(path: Path) -> None:
    records = read_mechanism(path)
    text = mechanism_yaml(records)
    assert read_mechanism_text(text) == records
    assert mechanism_from_dict(mechanism_data(records)) == records
    assert mechanism_yaml(read_mechanism_text(text)) == text


def test_the_example_uses_every_record_and_every_field(everything: Mechanism) -> None:
    """A new kind of record, or a new field, fails here until the writer and this example know it."""
    kinds = {
        value
        for value in vars(records_module).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == records_module.__name__
    } - {Source}
    used: dict[type, set[str]] = {}
    for record in records_of(everything):
        names = used.setdefault(type(record), set())
        names |= {field.name for field in compared(record) if not is_default(field, getattr(record, field.name))}
    assert {kind.__name__ for kind in kinds} == {kind.__name__ for kind in used}
    for kind in kinds:
        said = {field.name for field in compared(kind)} - ({"turn"} if kind is Placement else set())
        assert said == used[kind], kind.__name__


def test_the_example_round_trips(everything: Mechanism) -> None:
    assert read_mechanism_text(mechanism_yaml(everything)) == everything
    assert mechanism_from_dict(mechanism_data(everything)) == everything


def test_every_top_level_key_has_its_writer(everything: Mechanism) -> None:
    assert set(GROUPS) == set(TOP_KEYS)
    assert set(mechanism_data(everything)) == set(TOP_KEYS)


def test_a_changed_number_anywhere_changes_the_text(everything: Mechanism) -> None:
    """Each body, joint, port, frame and coupling is written from its own fields, and none from another's."""
    text = mechanism_yaml(everything)
    for group in ("bodies", "joints", "couplings", "ports", "drives", "frames", "supports", "parameters"):
        records = getattr(everything, group)
        assert records, group
        for k in range(len(records)):
            without = replace(everything, **{group: records[:k] + records[k + 1 :]})
            assert mechanism_yaml(without) != text, (group, k)


def test_several_base_poses_are_written_by_body(everything: Mechanism) -> None:
    poses = (
        BasePose("d", (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0)),
        BasePose("on", (0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.0)),
    )
    several = replace(everything, reference=Reference(everything.reference.coordinates[:2], poses))
    with pytest.raises(Exception, match="quaternion of 'ball' is incomplete"):
        read_mechanism_text(mechanism_yaml(several))
    several = replace(several, reference=Reference(everything.reference.coordinates, poses))
    assert read_mechanism_text(mechanism_yaml(several)) == several
    nameless = replace(several, reference=Reference((), (replace(poses[0], body=""), poses[1])))
    with pytest.raises(ValueError, match="need the names of their bodies"):
        mechanism_yaml(nameless)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_no_file_can_say_is_refused(everything: Mechanism, value: float) -> None:
    broken = replace(everything, gravity=(0.0, 0.0, value))
    with pytest.raises(ValueError, match="not a finite number"):
        mechanism_yaml(broken)
    frame = replace(everything.frames[0], placement=replace(everything.frames[0].placement, turn=(1.0, 0.0, 0.0, 0.0)))
    with pytest.raises(ValueError, match="turns with run-time parameters"):
        mechanism_yaml(replace(everything, frames=(frame,)))
    tree: Expression = Symbol("payload")
    for _ in range(90):
        tree = Apply("+", (tree, Apply("*", (Constant(0.123456789012345), Symbol("a_parameter_with_a_long_name_x")))))
    body = replace(everything.bodies[0], mass=tree)
    with pytest.raises(ValueError, match="cannot be read back"):
        mechanism_yaml(replace(everything, bodies=(body,)))


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64).filter(lambda x: abs(x) < 1e300)
LEAVES = st.one_of(
    NUMBERS.map(Constant), st.sampled_from(["x", "pi", "sin", "left-knee", "ball:x", "speed", "clamp"]).map(Symbol)
)


def branches(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    operators = st.builds(
        lambda f, a, b: Apply(f, (a, b)), st.sampled_from(["+", "-", "*", "/", "**"]), children, children
    )
    signs = children.map(lambda a: Apply("neg", (a,)))
    calls = st.sampled_from(sorted(FUNCTIONS)).flatmap(
        lambda f: st.tuples(*[children] * FUNCTIONS[f]).map(lambda arguments: Apply(f, arguments))
    )
    return st.one_of(operators, signs, calls)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.recursive(LEAVES, branches, max_leaves=12))
def test_expressions_round_trip(tree: Expression) -> None:
    """The parser alone gives the tree again, up to the sign of a number, which it reads as a negation."""
    again = parse_expression(expression_text(tree))
    assert unsigned(again) == unsigned(tree)


def unsigned(tree: Expression) -> Expression:
    """Negative constants as negations of positive ones."""
    if isinstance(tree, Constant):
        return Apply("neg", (Constant(-tree.value),)) if math.copysign(1.0, tree.value) < 0 else tree
    if isinstance(tree, Apply):
        return Apply(tree.function, tuple(unsigned(argument) for argument in tree.arguments))
    return tree


def test_text_has_only_the_parentheses_that_it_needs() -> None:
    for text in ("a + b*c".replace("*", " * "), "(a + b) * c", "a - (b - c)", "a / (b * c)", "-a**2.0", "(-a)**2.0"):
        assert expression_text(parse_expression(text)) == text
    assert expression_text(fold_constants(parse_expression("a + -0.4*b"))) == "a + -0.4 * b"
    assert typing.get_type_hints(expression_text)["return"] is str
