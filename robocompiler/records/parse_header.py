"""The top-level scalars: format version, name, gravity, scales and run-time parameters."""

from __future__ import annotations

from collections.abc import Mapping

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.expressions import FUNCTIONS, SHORTHANDS
from robocompiler.records.fields import constant, vector3
from robocompiler.records.keys import PARAMETER_KEYS, SCALE_KEYS
from robocompiler.records.model import Parameter, Vector3
from robocompiler.records.names import check_identifier, check_name, shown
from robocompiler.records.nodes import MappingNode, ScalarNode

FORMAT_VERSION = 1
STANDARD_GRAVITY: Vector3 = (0.0, 0.0, -9.81)
_NOTHING = Catalogue()


def check_version(cursor: Cursor) -> None:
    """The value of `robocompiler:` must be the version that this reader knows."""
    node = cursor.node
    if isinstance(node, ScalarNode) and node.text in ("1", "1.0"):
        return
    found = shown(node.text) if isinstance(node, ScalarNode) else "a list or mapping"
    cursor.problem(f"this compiler reads format version {FORMAT_VERSION}, found {found}; write 'robocompiler: 1'")


def parse_name(cursor: Cursor) -> str:
    """The mechanism's name."""
    name = cursor.text("a name")
    fault = None if name is None else check_name(name)
    if fault:
        cursor.problem(fault)
    return name or ""


def parse_gravity(cursor: Cursor | None, catalogue: Catalogue) -> Vector3:
    """Acceleration of free fall in world axes (m/s^2)."""
    return STANDARD_GRAVITY if cursor is None else vector3(cursor, catalogue)


def parse_scales(cursor: Cursor | None, catalogue: Catalogue) -> float | None:
    """The length (m) that weighs translations against rotations in ranks and tolerances."""
    length = None if cursor is None else cursor.fields(SCALE_KEYS, may_be_empty=True).get("length")
    if length is None:
        return None
    before = length.log.count
    value = constant(length, catalogue)
    if length.log.count == before and value <= 0:
        length.problem(f"must be greater than 0, is {value:g}")
    return value


def parse_parameters(cursor: Cursor | None) -> tuple[Parameter, ...]:
    """Run-time parameters, `name: 8.0` or `name: {default: 8.0}`."""
    children = {} if cursor is None else cursor.children("a mapping from names to parameters")
    return tuple(_parameter(name, child) for name, child in children.items())


def _parameter(name: str, cursor: Cursor) -> Parameter:
    fault = check_identifier(name)
    if fault is None and (name == "pi" or name in FUNCTIONS or name in SHORTHANDS):
        fault = f"{name} has a meaning in expressions already; choose another name"
    if fault:
        cursor.problem(fault)
    value: Cursor | None = cursor
    if isinstance(cursor.node, MappingNode):
        value = cursor.fields(PARAMETER_KEYS, PARAMETER_KEYS).get("default")
    before = cursor.log.count
    default = 1.0 if value is None else constant(value, _NOTHING)
    # a broken default counts as 1, so that expressions over it do not report a division by zero on top
    return Parameter(name, default if cursor.log.count == before else 1.0, cursor.source)


def check_parameter_names(cursors: Mapping[str, Cursor], catalogue: Catalogue) -> None:
    """A parameter must not be called like a coordinate, since couplings name both."""
    for name, cursor in cursors.items():
        if name in catalogue.scalars:
            cursor.problem("a joint coordinate has this name already; rename the parameter")
