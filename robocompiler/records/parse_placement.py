"""Frames fixed on bodies: a translation and one of three ways to write a rotation."""

from __future__ import annotations

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.fields import constant, scalar_vector3, vector3
from robocompiler.records.keys import PLACEMENT_KEYS, POINT_KEYS, ROTATION_KEYS
from robocompiler.records.model import IDENTITY, ORIGIN, Matrix3, Placement, Point
from robocompiler.records.nodes import ScalarNode
from robocompiler.records.rotations import (
    ORTHONORMAL_EXACT,
    UNIT_TOLERANCE,
    Quaternion,
    determinant_sign,
    nearest_rotation,
    orthonormality_error,
    rotation_of_quaternion,
    rotation_of_rpy,
    unit_quaternion,
)


def parse_placement(cursor: Cursor, catalogue: Catalogue, *, shorthand: bool) -> Placement:
    """{body, xyz, rpy | quat | matrix}; with `shorthand` a body's bare name stands for its own frame."""
    if shorthand and isinstance(cursor.node, ScalarNode):
        return Placement(catalogue.body(cursor))
    fields = cursor.fields(PLACEMENT_KEYS, ("body",))
    return Placement(
        body=catalogue.body(fields["body"]) if "body" in fields else "",
        rotation=parse_rotation(cursor, fields, catalogue),
        translation=scalar_vector3(fields["xyz"], catalogue) if "xyz" in fields else ORIGIN,
    )


def parse_point(cursor: Cursor, catalogue: Catalogue) -> Point:
    """{body, xyz}."""
    fields = cursor.fields(POINT_KEYS, ("body",))
    return Point(
        body=catalogue.body(fields["body"]) if "body" in fields else "",
        position=scalar_vector3(fields["xyz"], catalogue) if "xyz" in fields else ORIGIN,
    )


def parse_rotation(cursor: Cursor, fields: dict[str, Cursor], catalogue: Catalogue) -> Matrix3:
    """The rotation of a frame record; identity when none is written."""
    given = [key for key in ROTATION_KEYS if key in fields]
    if len(given) > 1:
        cursor.problem(f"the rotation is given {len(given)} times ({', '.join(given)}); keep one")
    if not given:
        return IDENTITY
    field = fields[given[0]]
    if given[0] == "rpy":
        return rotation_of_rpy(vector3(field, catalogue))
    if given[0] == "quat":
        return rotation_of_quaternion(parse_quaternion(field, catalogue))
    return _matrix(field, catalogue)


def parse_quaternion(cursor: Cursor, catalogue: Catalogue) -> Quaternion:
    """[w, x, y, z] of norm one within 1e-6, normalised."""
    identity = (1.0, 0.0, 0.0, 0.0)
    items = cursor.items((4,), "a unit quaternion [w, x, y, z]")
    if items is None:
        return identity
    before = cursor.log.count
    w, x, y, z = (constant(item, catalogue) for item in items)
    return checked_quaternion((w, x, y, z), cursor) if cursor.log.count == before else identity


def checked_quaternion(quaternion: Quaternion, cursor: Cursor) -> Quaternion:
    """`quaternion` normalised; a fault is noted at `cursor` when its norm is off by more than 1e-6."""
    unit = unit_quaternion(quaternion)
    if unit is None:
        norm = sum(x * x for x in quaternion) ** 0.5
        cursor.problem(
            f"the quaternion [w, x, y, z] has norm {norm:.9g} instead of 1 (within {UNIT_TOLERANCE:g}); normalise it"
        )
        return (1.0, 0.0, 0.0, 0.0)
    return unit


def _matrix(cursor: Cursor, catalogue: Catalogue) -> Matrix3:
    rows = cursor.items((3,), "a 3x3 rotation matrix as a list of 3 rows")
    if rows is None:
        return IDENTITY
    before = cursor.log.count
    matrix: Matrix3 = (vector3(rows[0], catalogue), vector3(rows[1], catalogue), vector3(rows[2], catalogue))
    if cursor.log.count > before:
        return IDENTITY
    error = orthonormality_error(matrix)
    if not error <= UNIT_TOLERANCE:
        cursor.problem(
            f"not a rotation matrix: R^T R differs from I by {error:.3g}, at most {UNIT_TOLERANCE:g} is accepted; "
            "write more digits, or rpy or quat"
        )
        return IDENTITY
    if determinant_sign(matrix) < 0:
        cursor.problem("the matrix has determinant -1: it is a reflection, not a rotation; make the frame right-handed")
        return IDENTITY
    if error <= ORTHONORMAL_EXACT:
        return matrix
    cursor.log.warn(
        f"R^T R differs from I by {error:.3g}; replaced by the nearest rotation", cursor.record, cursor.line
    )
    return nearest_rotation(matrix)
