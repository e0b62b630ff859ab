"""Joints: type, the two frames, axes, pitch and what belongs to each freedom."""

from __future__ import annotations

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.expressions import Scalar
from robocompiler.records.fields import scalar, vector3
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.keys import JOINT_KEYS
from robocompiler.records.model import Joint, Placement, Vector3
from robocompiler.records.names import shown
from robocompiler.records.nodes import MappingNode, ScalarNode
from robocompiler.records.parse_limits import parse_joint_limits, parse_per_freedom
from robocompiler.records.parse_placement import parse_placement
from robocompiler.records.rotations import sine_between, unit_direction

_TYPES = tuple(kind.value for kind in JointType)
_PARALLEL = 1e-6  # sine below which two universal axes count as one
_Z: Vector3 = (0.0, 0.0, 1.0)
_Y: Vector3 = (0.0, 1.0, 0.0)


def declared_types(cursor: Cursor | None) -> dict[str, JointType | None]:
    """Each joint's type as far as it can be read, silently: names must be known before records are read."""
    if cursor is None or not isinstance(cursor.node, MappingNode):
        return {}
    types: dict[str, JointType | None] = {}
    for entry in cursor.node.entries:
        fields = entry.value.entries if isinstance(entry.value, MappingNode) else ()
        word = next((field.value for field in fields if field.key == "type"), None)
        legal = isinstance(word, ScalarNode) and word.text in _TYPES
        types[entry.key] = JointType(word.text) if isinstance(word, ScalarNode) and legal else None
    return types


def parse_joints(cursor: Cursor | None, catalogue: Catalogue) -> tuple[Joint, ...]:
    """All joints in file order."""
    children = {} if cursor is None else cursor.named("joints")
    joints = (_joint(name, child, catalogue) for name, child in children.items())
    return tuple(joint for joint in joints if joint is not None)


def _joint(name: str, cursor: Cursor, catalogue: Catalogue) -> Joint | None:
    fields = cursor.fields(JOINT_KEYS, ("type", "a", "b"))
    a, b = (
        parse_placement(fields[side], catalogue, shorthand=True) if side in fields else Placement("")
        for side in ("a", "b")
    )
    if a.body and a.body == b.body:
        cursor.problem(f"connects {shown(a.body)} with itself; frames a and b must be on different bodies")
    word = fields["type"].choice(_TYPES, "joint type") if "type" in fields else None
    if word is None:
        return None
    kind = JointType(word)
    axis, axis2 = _axes(cursor, fields, kind, catalogue)
    return Joint(
        name=name,
        type=kind,
        a=a,
        b=b,
        axis=axis,
        axis2=axis2,
        pitch=_pitch(cursor, fields.get("pitch"), kind, catalogue),
        limits=parse_joint_limits(fields.get("limits"), kind, catalogue),
        armature=parse_per_freedom(fields.get("armature"), kind, catalogue),
        damping=parse_per_freedom(fields.get("damping"), kind, catalogue),
        friction=parse_per_freedom(fields.get("friction"), kind, catalogue),
        source=cursor.source,
    )


def _axes(cursor: Cursor, fields: dict[str, Cursor], kind: JointType, catalogue: Catalogue) -> tuple[Vector3, Vector3]:
    before = cursor.log.count
    universal = kind is JointType.UNIVERSAL
    _presence(cursor, fields, "axis", kind, wanted=JOINT_SHAPES[kind].has_axis)
    _presence(cursor, fields, "axis2", kind, wanted=universal)
    axis = _direction(fields["axis"], catalogue) if "axis" in fields else _Z
    axis2 = _direction(fields["axis2"], catalogue) if "axis2" in fields else _Y
    if universal and cursor.log.count == before and sine_between(axis, axis2) <= _PARALLEL:
        fields["axis2"].problem("is parallel to axis; the two axes of a universal joint must differ in direction")
    return axis, axis2


def _presence(cursor: Cursor, fields: dict[str, Cursor], key: str, kind: JointType, *, wanted: bool) -> None:
    if wanted and key not in fields:
        cursor.problem(f"the key '{key}' is missing: a {kind.value} joint needs {key}: [x, y, z] in its joint frame")
    elif not wanted and key in fields:
        fields[key].problem(f"a {kind.value} joint has no {key}; remove the key")


def _direction(field: Cursor, catalogue: Catalogue) -> Vector3:
    """The unit vector along an axis; z with a fault noted when it has no direction."""
    before = field.log.count
    vector = vector3(field, catalogue)
    direction = unit_direction(vector) if field.log.count == before else _Z
    if direction is None:
        field.problem("the zero vector has no direction; give the axis, such as [0, 0, 1]")
        return _Z
    return direction


def _pitch(cursor: Cursor, field: Cursor | None, kind: JointType, catalogue: Catalogue) -> Scalar:
    if kind is JointType.SCREW:
        if field is None:
            cursor.problem("the key 'pitch' is missing: a screw joint needs its advance in metres per radian")
            return 0.0
        return scalar(field, catalogue)
    if field is not None:
        field.problem(f"a {kind.value} joint has no pitch; remove the key or write type: screw")
    return 0.0
