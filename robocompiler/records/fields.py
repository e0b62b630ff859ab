"""Numbers, vectors and intervals of the input language.

Every reader notes its faults and then returns a harmless value, so that one pass finds all of them; the caller compares
`Diagnostics.count` before it judges values against each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from robocompiler.errors import ModelError
from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.expression_folding import fold_constants, real_value
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.expressions import Constant, Expression, Scalar, names
from robocompiler.records.model import Interval, ScalarVector3, Vector3
from robocompiler.records.names import shown
from robocompiler.records.nodes import ScalarNode
from robocompiler.records.number_text import NUMBER, advice

_STRUCTURAL = (
    "a parameter cannot stand here: the derived structure (rank, cuts, charts) hangs on this value; give a number"
)


def expression(cursor: Cursor, catalogue: Catalogue, of_names: Collection[str] = ()) -> Expression | None:
    """The value as an expression with constants folded, its names unchecked; None with a fault noted.

    `of_names`: see `parse_expression`.
    """
    node = cursor.node
    if not isinstance(node, ScalarNode) or node.is_null or node.is_truth_value or not node.text.strip():
        cursor.expected("a number")
        return None
    text = node.text.strip()
    if NUMBER.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return Constant(value)
        cursor.problem(f"{shown(text)} is too large for a double")
        return None
    fault = advice(text, catalogue.parameters)
    if fault is None:
        try:
            return fold_constants(parse_expression(text, of_names))
        except ModelError as error:
            fault = f"expected a number or an expression, found {shown(text)}: {error.problems[0].message}"
    cursor.problem(fault)
    return None


def constant(cursor: Cursor, catalogue: Catalogue) -> float:
    """A number, or an expression of numbers and pi; parameters are refused.  0 with a fault noted."""
    tree = expression(cursor, catalogue)
    if isinstance(tree, Constant):
        return tree.value
    if tree is not None and _known(tree, cursor, catalogue):
        cursor.problem(_STRUCTURAL)
    return 0.0


def scalar(cursor: Cursor, catalogue: Catalogue) -> Scalar:
    """A number, or an expression over parameters and pi.  0 with a fault noted."""
    tree = expression(cursor, catalogue)
    if isinstance(tree, Constant):
        return tree.value
    if tree is None or not _known(tree, cursor, catalogue):
        return 0.0
    try:
        real_value(tree, catalogue.parameters)
    except ModelError as error:
        cursor.problem(f"at the default parameters {error.problems[0].message}")
        return 0.0
    return tree


def default_value(value: Scalar, catalogue: Catalogue) -> float:
    """`value` at the default parameters (values come from `scalar`, so that it exists)."""
    return real_value(value, catalogue.parameters)


def non_negative(cursor: Cursor, catalogue: Catalogue) -> Scalar:
    """A scalar that is not negative at the default parameters."""
    value = scalar(cursor, catalogue)
    number = default_value(value, catalogue)
    if number < 0:
        at = "" if isinstance(value, float) else " at the default parameters"
        cursor.problem(f"must not be negative, is {number:g}{at}")
    return value


def vector3(cursor: Cursor, catalogue: Catalogue) -> Vector3:
    """[x, y, z] of constants."""
    items = cursor.items((3,), "a list of 3 numbers [x, y, z]")
    if items is None:
        return (0.0, 0.0, 0.0)
    return (constant(items[0], catalogue), constant(items[1], catalogue), constant(items[2], catalogue))


def scalar_vector3(cursor: Cursor, catalogue: Catalogue) -> ScalarVector3:
    """[x, y, z] of scalars."""
    items = cursor.items((3,), "a list of 3 numbers [x, y, z]")
    if items is None:
        return (0.0, 0.0, 0.0)
    return (scalar(items[0], catalogue), scalar(items[1], catalogue), scalar(items[2], catalogue))


def interval(cursor: Cursor, catalogue: Catalogue) -> Interval:
    """[lower, upper] of constants with lower <= upper."""
    items = cursor.items((2,), "a list of 2 numbers [lower, upper]")
    if items is None:
        return (0.0, 0.0)
    before = cursor.log.count
    lower, upper = constant(items[0], catalogue), constant(items[1], catalogue)
    if cursor.log.count == before and lower > upper:
        cursor.problem(f"the lower bound {lower:g} is above the upper bound {upper:g}; swap them")
    return (lower, upper)


def bound(cursor: Cursor, catalogue: Catalogue) -> float:
    """A constant that is not negative."""
    value = constant(cursor, catalogue)
    if value < 0:
        cursor.problem(f"must not be negative, is {value:g}")
    return value


def _known(tree: Expression, cursor: Cursor, catalogue: Catalogue) -> bool:
    """Whether all names of `tree` are parameters; faults are noted."""
    unknown = sorted(names(tree) - catalogue.parameters.keys())
    for name in unknown:
        if name in catalogue.scalars or name in catalogue.joints:
            cursor.problem(f"{shown(name)} is a joint coordinate; only parameters and pi may stand here")
        elif catalogue.parameters:
            hint = cursor.log.suggest(name, catalogue.parameters)
            cursor.problem(
                f"no parameter is called {shown(name)}{hint}; expected a number or an expression over parameters"
            )
        else:
            cursor.problem(f"expected a number, found the name {shown(name)}, and the file declares no parameters")
    return not unknown
