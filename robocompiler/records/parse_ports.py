"""Actuator ports: one joint, a weighted sum of coordinates, or the distance of two points."""

from __future__ import annotations

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.keys import PORT_KEYS, PORT_KINDS
from robocompiler.records.model import CoordinateSum, Distance, Port
from robocompiler.records.names import shown
from robocompiler.records.nodes import MappingNode
from robocompiler.records.parse_couplings import parse_terms
from robocompiler.records.parse_limits import parse_port_limits
from robocompiler.records.parse_placement import parse_point


def parse_ports(cursor: Cursor | None, catalogue: Catalogue) -> tuple[Port, ...]:
    """All ports in file order."""
    children = {} if cursor is None else cursor.named("ports")
    ports = (_port(name, child, catalogue) for name, child in children.items())
    return tuple(port for port in ports if port is not None)


def _port(name: str, cursor: Cursor, catalogue: Catalogue) -> Port | None:
    fields = cursor.fields(PORT_KEYS)
    limits = parse_port_limits(fields.get("limits"), catalogue)
    kinds = [kind for kind in PORT_KINDS if kind in fields]
    if len(kinds) != 1:
        if isinstance(cursor.node, MappingNode):
            found = " and ".join(kinds) or "none"
            cursor.problem(f"needs exactly one of {', '.join(PORT_KINDS)}, found {found}")
        return None
    measure = _measure(kinds[0], fields[kinds[0]], catalogue)
    return None if measure is None else Port(name, measure, limits, cursor.source)


def _measure(kind: str, field: Cursor, catalogue: Catalogue) -> CoordinateSum | Distance | None:
    if kind == "terms":
        return CoordinateSum(parse_terms(field, catalogue))
    if kind == "distance":
        return _distance(field, catalogue)
    name = field.text("the name of a joint of one freedom, or of a coordinate")
    coordinate = None if name is None else catalogue.coordinate(name, field)
    return None if coordinate is None else CoordinateSum(((coordinate, 1.0),))


def _distance(field: Cursor, catalogue: Catalogue) -> Distance | None:
    items = field.items((2,), "a list of 2 points {body, xyz}")
    if items is None:
        return None
    first, second = (parse_point(item, catalogue) for item in items)
    if first.body and first.body == second.body:
        field.problem(f"both points are on {shown(first.body)}, so that their distance never changes; name two bodies")
    return Distance(first, second)
