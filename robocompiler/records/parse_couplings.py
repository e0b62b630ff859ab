"""Couplings, gamma(q) = 0: a weighted sum of coordinates or an expression over them."""

from __future__ import annotations

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.expressions import Apply, Constant, Expression, Scalar, Symbol, names
from robocompiler.records.fields import expression, scalar
from robocompiler.records.keys import COUPLING_KEYS
from robocompiler.records.model import Coupling
from robocompiler.records.nodes import MappingNode


def parse_couplings(cursor: Cursor | None, catalogue: Catalogue) -> tuple[Coupling, ...]:
    """All couplings in file order."""
    children = {} if cursor is None else cursor.named("couplings")
    couplings = (_coupling(name, child, catalogue) for name, child in children.items())
    return tuple(coupling for coupling in couplings if coupling is not None)


def parse_terms(cursor: Cursor, catalogue: Catalogue) -> tuple[tuple[str, Scalar], ...]:
    """{coordinate: weight}; terms of weight 0 are dropped, and a sum without any term is a fault."""
    before = cursor.log.count
    terms: list[tuple[str, Scalar]] = []
    for name, child in cursor.children("a mapping from coordinates to weights", may_be_empty=False).items():
        coordinate = catalogue.coordinate(name, child)
        weight = scalar(child, catalogue)
        if coordinate is not None and weight != 0.0:
            terms.append((coordinate, weight))
    unknown_type = any(
        catalogue.joints.get(entry.key.partition(":")[0], "") is None
        for entry in (cursor.node.entries if isinstance(cursor.node, MappingNode) else ())
    )
    if not terms and cursor.log.count == before and not unknown_type:
        cursor.problem("names no coordinate with a weight other than 0")
    return tuple(terms)


def weighted_sum(terms: tuple[tuple[str, Scalar], ...], constant: Scalar) -> Expression:
    """sum(weight * coordinate) + constant, balanced so that long sums stay shallow."""
    parts = [_product(weight, coordinate) for coordinate, weight in terms]
    if constant != 0.0:
        parts.append(_tree(constant))
    return _balanced(parts) if parts else Constant(0.0)


def _coupling(name: str, cursor: Cursor, catalogue: Catalogue) -> Coupling | None:
    fields = cursor.fields(COUPLING_KEYS)
    if "expression" in fields and ("terms" in fields or "constant" in fields):
        cursor.problem("has both an expression and terms or a constant; keep one form")
    elif "expression" in fields:
        return _from_expression(name, cursor, fields["expression"], catalogue)
    elif "terms" in fields:
        terms = parse_terms(fields["terms"], catalogue)
        offset = scalar(fields["constant"], catalogue) if "constant" in fields else 0.0
        return Coupling(name, weighted_sum(terms, offset), tuple(term[0] for term in terms), cursor.source)
    elif isinstance(cursor.node, MappingNode):
        cursor.problem("needs terms: {coordinate: weight} or an expression")
    return None


def _from_expression(name: str, cursor: Cursor, field: Cursor, catalogue: Catalogue) -> Coupling | None:
    tree = expression(field, catalogue)
    if tree is None:
        return None
    before = cursor.log.count
    wanted = sorted(names(tree) - catalogue.parameters.keys())
    coordinates = [catalogue.coordinate(symbol, field) for symbol in wanted]
    if not wanted and cursor.log.count == before:
        field.problem("names no coordinate, so that it constrains nothing")
    return Coupling(name, tree, tuple(c for c in coordinates if c is not None), cursor.source)


def _product(weight: Scalar, coordinate: str) -> Expression:
    return Symbol(coordinate) if weight == 1.0 else Apply("*", (_tree(weight), Symbol(coordinate)))


def _tree(value: Scalar) -> Expression:
    return Constant(float(value)) if isinstance(value, (int, float)) else value


def _balanced(parts: list[Expression]) -> Expression:
    if len(parts) == 1:
        return parts[0]
    half = (len(parts) + 1) // 2
    return Apply("+", (_balanced(parts[:half]), _balanced(parts[half:])))
