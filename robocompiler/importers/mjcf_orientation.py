"""Poses of MJCF elements: pos and one of quat, axisangle, euler, xyaxes, zaxis."""

from __future__ import annotations

from robocompiler.importers.inertias import degrees_fault
from robocompiler.importers.mjcf_settings import Settings
from robocompiler.importers.transforms import (
    AXES,
    Transform,
    added,
    cross,
    product,
    rotation_about,
    scaled,
    shortest_rotation,
    transposed,
    unit_quaternion_of,
)
from robocompiler.importers.values import Values
from robocompiler.records.model import IDENTITY, Matrix3, Vector3
from robocompiler.records.rotations import rotation_of_quaternion, unit_direction

KEYS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
_Z = AXES["z"]


def pose_of(own: Values, settings: Settings) -> Transform:
    """The pose of an element in its parent."""
    return Transform(orientation(own, settings), own.vector("pos"))


def orientation(own: Values, settings: Settings) -> Matrix3:
    """The rotation of an element; identity when none is given.  Quaternions and axes need not be unit."""
    given = [key for key in KEYS if key in own]
    if len(given) > 1:
        own.problem(f"the rotation is given {len(given)} times ({', '.join(given)}); keep one")
    if not given:
        return IDENTITY
    before = own.log.count
    rotation = _READERS[given[0]](own, settings)
    if rotation is None:
        if own.log.count == before:
            own.problem(f"'{given[0]}' has no direction")
        return IDENTITY
    return rotation


def _quat(own: Values, _: Settings) -> Matrix3 | None:
    unit = unit_quaternion_of(own.numbers("quat", (4,), (1.0, 0.0, 0.0, 0.0)))
    return None if unit is None else rotation_of_quaternion(unit)


def _axisangle(own: Values, settings: Settings) -> Matrix3 | None:
    x, y, z, angle = own.numbers("axisangle", (4,), (0.0, 0.0, 1.0, 0.0))
    axis = unit_direction((x, y, z))
    return None if axis is None else rotation_about(axis, settings.angle(angle))


def _euler(own: Values, settings: Settings) -> Matrix3:
    angles = tuple(settings.angle(value) for value in own.vector("euler"))
    fault = None if settings.degrees else degrees_fault(angles)
    if fault:
        own.problem(f"'euler': {fault}, or <compiler angle=\"degree\"/>")
    rotation = IDENTITY
    for letter, angle in zip(settings.sequence, angles, strict=True):
        turn = rotation_about(AXES[letter.lower()], angle)
        rotation = product(rotation, turn) if letter.islower() else product(turn, rotation)
    return rotation


def _xyaxes(own: Values, _: Settings) -> Matrix3 | None:
    values = own.numbers("xyaxes", (6,), (1.0, 0.0, 0.0, 0.0, 1.0, 0.0))
    x = unit_direction((values[0], values[1], values[2]))
    raw: Vector3 = (values[3], values[4], values[5])
    if x is None:
        return None
    along = sum(a * b for a, b in zip(x, raw, strict=True))
    y = unit_direction(added(raw, scaled(x, -along)))
    return None if y is None else transposed((x, y, cross(x, y)))


def _zaxis(own: Values, _: Settings) -> Matrix3 | None:
    axis = unit_direction(own.vector("zaxis", _Z))
    return None if axis is None else shortest_rotation(_Z, axis)


_READERS = {"quat": _quat, "axisangle": _axisangle, "euler": _euler, "xyaxes": _xyaxes, "zaxis": _zaxis}
