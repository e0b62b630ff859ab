"""The reference: a seed near one assembled configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from robocompiler.records.catalogue import QUATERNION_SUFFIXES, Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.fields import constant, vector3
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names
from robocompiler.records.keys import BASE_KEYS, REFERENCE_KEYS
from robocompiler.records.model import ORIGIN, WORLD, BasePose, Reference
from robocompiler.records.names import shown
from robocompiler.records.nodes import MappingNode
from robocompiler.records.parse_placement import checked_quaternion, parse_quaternion
from robocompiler.records.rotations import quaternion_of_rpy


def parse_reference(cursor: Cursor | None, catalogue: Catalogue) -> Reference:
    """{joints: {joint or coordinate: value or list}, base: pose, or poses by body}."""
    fields = {} if cursor is None else cursor.fields(REFERENCE_KEYS, may_be_empty=True)
    coordinates = _coordinates(fields["joints"], catalogue) if "joints" in fields else ()
    return Reference(coordinates, _bases(fields["base"], catalogue) if "base" in fields else ())


@dataclass
class _Seed:
    """Values by coordinate name and where each stands."""

    catalogue: Catalogue
    values: dict[str, float] = field(default_factory=dict)
    places: dict[str, Cursor] = field(default_factory=dict)

    def put(self, coordinate: str, value: float, cursor: Cursor) -> None:
        if coordinate in self.values:
            cursor.problem(f"the coordinate {shown(coordinate)} is given twice; keep one")
        self.values[coordinate] = value
        self.places[coordinate] = cursor


def _coordinates(cursor: Cursor, catalogue: Catalogue) -> tuple[tuple[str, float], ...]:
    before = cursor.log.count
    seed = _Seed(catalogue)
    for name, child in cursor.children("a mapping from joints to values").items():
        _seed_one(name, child, seed)
    if cursor.log.count == before:
        for joint, kind in catalogue.joints.items():
            if kind in (JointType.SPHERICAL, JointType.FREE):
                _normalise(joint, seed)
    return tuple(seed.values.items())


def _seed_one(name: str, cursor: Cursor, seed: _Seed) -> None:
    joint, _, suffix = name.partition(":")
    if joint not in seed.catalogue.joints:
        cursor.problem(f"no joint is called {shown(joint)}{cursor.log.suggest(joint, seed.catalogue.joints)}")
        return
    kind = seed.catalogue.joints[joint]
    if kind is None:
        return
    coordinates = coordinate_names(joint, kind)
    if not coordinates:
        cursor.problem("a fixed joint has no coordinate; remove the entry")
    elif name in coordinates:
        seed.put(name, constant(cursor, seed.catalogue), cursor)
    elif suffix or ":" in name:
        cursor.problem(f"this {kind.value} joint has no coordinate {shown(suffix)} (it has: {', '.join(coordinates)})")
    else:
        suffixes = JOINT_SHAPES[kind].coordinates
        items = cursor.items((len(suffixes),), f"a list of {len(suffixes)} numbers [{', '.join(suffixes)}]")
        for coordinate, item in zip(coordinates, items or (), strict=False):
            seed.put(coordinate, constant(item, seed.catalogue), item)


def _normalise(joint: str, seed: _Seed) -> None:
    """Make a quaternion unit; it must be given whole or not at all."""
    w, x, y, z = (f"{joint}:{suffix}" for suffix in QUATERNION_SUFFIXES)
    given = [name for name in (w, x, y, z) if name in seed.values]
    if not given:
        return
    place = seed.places[given[0]]
    if len(given) < 4:
        place.problem(f"the quaternion of {shown(joint)} is incomplete; give qw, qx, qy and qz")
        return
    unit = checked_quaternion((seed.values[w], seed.values[x], seed.values[y], seed.values[z]), place)
    seed.values.update(zip((w, x, y, z), unit, strict=True))


def _bases(cursor: Cursor, catalogue: Catalogue) -> tuple[BasePose, ...]:
    """One pose, or a mapping from bodies to poses (then every value is a mapping)."""
    node = cursor.node
    by_body = (
        isinstance(node, MappingNode) and node.entries and all(isinstance(e.value, MappingNode) for e in node.entries)
    )
    if not by_body:
        return (_base(cursor, None, catalogue),)
    poses = []
    for name, child in cursor.children("a mapping").items():
        if name not in catalogue.bodies:
            reason = "the world has no pose" if name == WORLD else f"no body is called {shown(name)}"
            child.problem(reason + child.log.suggest(name, catalogue.bodies))
        poses.append(_base(child, name, catalogue))
    return tuple(poses)


def _base(cursor: Cursor, body: str | None, catalogue: Catalogue) -> BasePose:
    allowed = BASE_KEYS if body is None else BASE_KEYS[1:]
    fields = cursor.fields(allowed)
    quaternion = (1.0, 0.0, 0.0, 0.0)
    if "quat" in fields and "rpy" in fields:
        cursor.problem("the rotation is given 2 times (quat, rpy); keep one")
    elif "quat" in fields:
        quaternion = parse_quaternion(fields["quat"], catalogue)
    elif "rpy" in fields:
        quaternion = quaternion_of_rpy(vector3(fields["rpy"], catalogue))
    if "body" in fields:
        body = catalogue.body(fields["body"], world=False)
    translation = vector3(fields["xyz"], catalogue) if "xyz" in fields else ORIGIN
    return BasePose(body or "", translation, quaternion)
