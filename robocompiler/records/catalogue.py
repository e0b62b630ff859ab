"""The names that a file declares, collected before its records are read, so that records may stand in any order."""

from __future__ import annotations

from dataclasses import dataclass, field

from robocompiler.records.cursor import Cursor
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names
from robocompiler.records.model import WORLD
from robocompiler.records.names import shown

QUATERNION_SUFFIXES = ("qw", "qx", "qy", "qz")


@dataclass(frozen=True)
class Catalogue:
    """Declared names.  A joint whose type could not be read has type None: what refers to it is not judged.

    `parameters` maps names to defaults; `scalars` maps the coordinates that are single numbers to their joint.
    """

    bodies: frozenset[str] = frozenset()
    joints: dict[str, JointType | None] = field(default_factory=dict)
    parameters: dict[str, float] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)

    def body(self, cursor: Cursor, *, world: bool = True) -> str:
        """The body that `cursor` names; '' with a fault noted when there is none."""
        name = cursor.text("the name of a body")
        if name is None:
            return ""
        if name in self.bodies or (world and name == WORLD):
            return name
        if name == WORLD:
            cursor.problem("the world cannot stand here; name a body")
        else:
            cursor.problem(f"no body is called {shown(name)}{cursor.log.suggest(name, self.bodies, (WORLD,))}")
        return ""

    def coordinate(self, name: str, cursor: Cursor) -> str | None:
        """The scalar coordinate called `name`, or None, with a fault noted unless its joint's type is unknown."""
        if name in self.scalars:
            return name
        joint, _, suffix = name.partition(":")
        if joint in self.joints:
            kind = self.joints[joint]
            if kind is not None:
                cursor.problem(_not_scalar(name, joint, suffix, kind))
        else:
            cursor.problem(f"no coordinate is called {shown(name)}{cursor.log.suggest(name, self.scalars)}")
        return None


def scalar_coordinates(joints: dict[str, JointType | None]) -> dict[str, str]:
    """Names of all coordinates that are single numbers (angles and displacements), with their joint."""
    result: dict[str, str] = {}
    for joint, kind in joints.items():
        if kind is None or kind in (JointType.SPHERICAL, JointType.FREE):
            continue
        result.update(dict.fromkeys(coordinate_names(joint, kind), joint))
    return result


def _not_scalar(name: str, joint: str, suffix: str, kind: JointType) -> str:
    shape = JOINT_SHAPES[kind]
    if kind in (JointType.SPHERICAL, JointType.FREE):
        return f"{shown(name)}: a {kind.value} joint holds a quaternion; its coordinates cannot be used one by one"
    if shape.nq == 0:
        return f"{shown(name)}: a fixed joint has no coordinate"
    if shape.nq == 1:
        return f"{shown(name)}: the only coordinate of this joint is called {shown(joint)}"
    offered = ", ".join(shown(coordinate) for coordinate in coordinate_names(joint, kind))
    reason = f"has no coordinate {shown(suffix)}" if suffix else f"has {shape.nq} coordinates"
    return f"{shown(name)}: the {kind.value} joint {reason}; name one of {offered}"
