"""What a joint has per freedom: limits, armature, damping and friction, written once or by coordinate suffix."""

from __future__ import annotations

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.expressions import Scalar
from robocompiler.records.fields import bound, interval, non_negative
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.keys import JOINT_LIMIT_KEYS, PORT_LIMIT_KEYS
from robocompiler.records.model import Limits
from robocompiler.records.nodes import MappingNode

_NO_POSITION = {
    JointType.CONTINUOUS: "a continuous joint has no position limits; remove them or write type: revolute",
    JointType.SPHERICAL: "a spherical joint's position is a quaternion and has no limit per freedom; remove it",
    JointType.FREE: "a free joint's position has no limit per freedom; remove it",
}


def parse_joint_limits(cursor: Cursor | None, kind: JointType, catalogue: Catalogue) -> tuple[Limits, ...]:
    """One Limits per freedom; {position, velocity, effort}, below a suffix when the joint has several freedoms."""
    suffixes = JOINT_SHAPES[kind].velocities
    if cursor is None or _refused(cursor, kind):
        return (Limits(),) * len(suffixes)
    if len(suffixes) == 1:
        return (_limits(cursor, kind, catalogue),)
    fields = cursor.fields(suffixes, may_be_empty=True)
    return tuple(_limits(fields[s], kind, catalogue) if s in fields else Limits() for s in suffixes)


def parse_port_limits(cursor: Cursor | None, catalogue: Catalogue) -> Limits:
    """{displacement, velocity, effort} of a port."""
    if cursor is None:
        return Limits()
    fields = cursor.fields(PORT_LIMIT_KEYS, may_be_empty=True)
    return Limits(
        position=interval(fields["displacement"], catalogue) if "displacement" in fields else None,
        velocity=bound(fields["velocity"], catalogue) if "velocity" in fields else None,
        effort=bound(fields["effort"], catalogue) if "effort" in fields else None,
    )


def parse_per_freedom(cursor: Cursor | None, kind: JointType, catalogue: Catalogue) -> tuple[Scalar, ...]:
    """One non-negative scalar per freedom, 0 where none is written.

    One number serves a joint of one freedom, and a spherical joint, whose freedoms are alike; others name the freedom.
    """
    suffixes = JOINT_SHAPES[kind].velocities
    nothing = (0.0,) * len(suffixes)
    if cursor is None or _refused(cursor, kind):
        return nothing
    if len(suffixes) == 1:
        return (non_negative(cursor, catalogue),)
    if isinstance(cursor.node, MappingNode):
        fields = cursor.fields(suffixes)
        return tuple(non_negative(fields[s], catalogue) if s in fields else 0.0 for s in suffixes)
    if kind is JointType.SPHERICAL:
        return (non_negative(cursor, catalogue),) * 3
    cursor.expected(
        f"a mapping with keys {', '.join(suffixes)}, since a {kind.value} joint has {len(suffixes)} freedoms"
    )
    return nothing


def _limits(cursor: Cursor, kind: JointType, catalogue: Catalogue) -> Limits:
    fields = cursor.fields(JOINT_LIMIT_KEYS, may_be_empty=True)
    position = fields.get("position")
    if position is not None and kind in _NO_POSITION:
        position.problem(_NO_POSITION[kind])
        position = None
    return Limits(
        position=None if position is None else interval(position, catalogue),
        velocity=bound(fields["velocity"], catalogue) if "velocity" in fields else None,
        effort=bound(fields["effort"], catalogue) if "effort" in fields else None,
    )


def _refused(cursor: Cursor, kind: JointType) -> bool:
    if kind is JointType.FIXED:
        cursor.problem("a fixed joint has no freedom; remove the key")
    return kind is JointType.FIXED
