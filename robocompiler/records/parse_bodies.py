"""Bodies: mass, centre of mass and inertia, with the physical checks."""

from __future__ import annotations

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.expressions import Scalar
from robocompiler.records.fields import default_value, non_negative, scalar, scalar_vector3
from robocompiler.records.keys import BODY_KEYS
from robocompiler.records.model import ORIGIN, WORLD, Body
from robocompiler.records.physics import judge_inertia

Inertia = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
_INERTIA = "a list of 6 numbers [ixx, iyy, izz, ixy, ixz, iyz] or of 3 [ixx, iyy, izz]"


def parse_bodies(cursor: Cursor | None, catalogue: Catalogue) -> tuple[Body, ...]:
    """All bodies in file order; an empty record is a body without mass."""
    children = {} if cursor is None else cursor.named("bodies")
    return tuple(_body(name, child, catalogue) for name, child in children.items())


def _body(name: str, cursor: Cursor, catalogue: Catalogue) -> Body:
    if name == WORLD:
        cursor.problem("the world is implicit and has no record; rename this body")
    fields = cursor.fields(BODY_KEYS, may_be_empty=True)
    return Body(
        name=name,
        mass=non_negative(fields["mass"], catalogue) if "mass" in fields else 0.0,
        com=scalar_vector3(fields["com"], catalogue) if "com" in fields else ORIGIN,
        inertia=_inertia(fields["inertia"], catalogue) if "inertia" in fields else (0.0,) * 6,
        source=cursor.source,
    )


def _inertia(cursor: Cursor, catalogue: Catalogue) -> Inertia:
    items = cursor.items((3, 6), _INERTIA)
    if items is None:
        return (0.0,) * 6
    before = cursor.log.count
    values = [scalar(item, catalogue) for item in items]
    if len(values) == 3:
        values += [0.0, 0.0, 0.0]
    inertia: Inertia = (values[0], values[1], values[2], values[3], values[4], values[5])
    if cursor.log.count == before:
        _judge(cursor, inertia, catalogue)
    return inertia


def _judge(cursor: Cursor, inertia: Inertia, catalogue: Catalogue) -> None:
    xx, yy, zz, xy, xz, yz = (default_value(value, catalogue) for value in inertia)
    verdict = judge_inertia((xx, yy, zz, xy, xz, yz))
    at = "" if all(isinstance(value, float) for value in inertia) else " at the default parameters"
    low, middle, high = (f"{value:.9g}" for value in verdict.eigenvalues)
    if verdict.indefinite:
        line = "" if cursor.line is None else f" at line {cursor.source.line}"
        cursor.problem(
            f"not positive definite, smallest eigenvalue {low}{line}{at}; give the tensor about the centre of mass, "
            "in body axes, in the order [ixx, iyy, izz, ixy, ixz, iyz]"
        )
    elif verdict.triangle_deficit > 0:
        cursor.log.warn(
            f"principal moments {low}, {middle}, {high} violate the triangle inequality by "
            f"{verdict.triangle_deficit:.9g} kg m^2{at}: no positive mass distribution has it; it is used as given",
            cursor.record,
            cursor.line,
        )
