"""The input language as a JSON Schema (draft 2020-12), for editors that complete and check while one types.

A schema sees shapes, not meanings: it accepts every valid model, and leaves to the reader what hangs on other records
(names that exist, physical inertias, parameters in expressions).  Generated from the same key lists as the reader.
"""

from __future__ import annotations

from typing import Any

from robocompiler.records import keys
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.names import IDENTIFIER_PATTERN, NAME_PATTERN, UNIT_PATTERN

Schema = dict[str, Any]

_COORDINATE_PATTERN = NAME_PATTERN.removesuffix("$") + "(:[a-z]+)?$"


def json_schema() -> Schema:
    """The schema of a mechanism file, as plain data."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "RoboCompiler mechanism",
        "description": "Physical records of a mechanism; SI units.  The structure is derived by the compiler.",
        **_record(_top_level(), required=("robocompiler", "name", "bodies", "joints")),
        "$defs": _definitions(),
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _record(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def _optional(schema: Schema) -> Schema:
    """A record that may be left empty (null)."""
    return {**schema, "type": ["object", "null"]}


def _named(value: Schema, pattern: str = NAME_PATTERN) -> Schema:
    return {"type": "object", "patternProperties": {pattern: value}, "additionalProperties": False}


def _list(item: Schema, count: int) -> Schema:
    return {"type": "array", "items": item, "minItems": count, "maxItems": count}


def _described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def _top_level() -> dict[str, Schema]:
    name = {"type": ["string", "number", "boolean"]}  # YAML turns a name such as 12 or on into another type
    properties: dict[str, Schema] = {
        "robocompiler": {"const": 1, "description": "format version"},
        "name": _described(name, "name of the mechanism"),
        "gravity": _described(
            _ref("vector"), "acceleration of free fall in world axes, m/s^2; [0, 0, -9.81] if absent"
        ),
        "bodies": {**_named(_ref("body")), "minProperties": 1},
        "joints": {**_named(_ref("joint")), "minProperties": 1},
        "couplings": _optional(_named(_ref("coupling"))),
        "ports": _optional(_named(_ref("port"))),
        "drives": _optional(_named(_ref("drive"))),
        "frames": _optional(_named(_ref("frame"))),
        "supports": _optional(_named(_ref("support"))),
        "parameters": _optional(_named(_ref("parameter"), IDENTIFIER_PATTERN)),
        "reference": _ref("reference"),
        "scales": _optional(_record({"length": _described(_ref("number"), "m")})),
    }
    return properties


def _definitions() -> dict[str, Schema]:
    number = {"type": ["number", "string"], "description": "a number, or an expression over parameters and pi"}
    rotation: dict[str, Schema] = {
        "rpy": _described(_ref("vector"), "fixed-axis roll, pitch, yaw in rad: R = Rz(y) Ry(p) Rx(r)"),
        "quat": _described(_ref("quaternion"), "unit quaternion [w, x, y, z]"),
        "matrix": _list(_ref("vector"), 3),
    }
    at_most_one = {
        "not": {"anyOf": [{"required": pair} for pair in (["rpy", "quat"], ["rpy", "matrix"], ["quat", "matrix"])]}
    }
    placement = {"body": _ref("name"), "xyz": _described(_ref("vector"), "m"), **rotation}
    pose = {key: (rotation | {"xyz": _ref("vector"), "body": _ref("name")})[key] for key in keys.BASE_KEYS}
    frame = {**_record(placement, ("body",)), **at_most_one}
    return {
        "number": number,
        "name": {"type": ["string", "number", "boolean"]},
        "vector": _list(_ref("number"), 3),
        "quaternion": _list(_ref("number"), 4),
        "interval": _list(_ref("number"), 2),
        "body": _body(),
        "frame": frame,
        "attachment": {"anyOf": [_ref("name"), _ref("frame")]},
        "point": _record({"body": _ref("name"), "xyz": _ref("vector")}, ("body",)),
        "limits": _optional(_record(_limits("position"))),
        "joint": _joint(),
        "terms": {**_named(_ref("number"), _COORDINATE_PATTERN), "minProperties": 1},
        "coupling": {
            "oneOf": [
                _record({"terms": _ref("terms"), "constant": _ref("number")}, ("terms",)),
                _record({"expression": _ref("number")}, ("expression",)),
            ]
        },
        "port": _port(),
        "drive": _drive(),
        "support": {**_named({"enum": list(keys.CONTACTS)}), "minProperties": 1},
        "parameter": {"anyOf": [_ref("number"), _record({"default": _ref("number")}, ("default",))]},
        "pose": _record(pose),
        "reference": _reference(),
    }


def _body() -> Schema:
    inertia = {"type": "array", "items": _ref("number"), "anyOf": [_length(3), _length(6)]}
    properties = {
        "mass": _described(_ref("number"), "kg, 0 if absent"),
        "com": _described(_ref("vector"), "centre of mass in body axes, m"),
        "inertia": _described(
            inertia, "about the centre of mass, body axes, kg m^2: [xx, yy, zz] or [xx, yy, zz, xy, xz, yz]"
        ),
    }
    return _optional(_record(properties))


def _length(count: int) -> Schema:
    return {"minItems": count, "maxItems": count}


def _limits(position: str) -> dict[str, Schema]:
    return {position: _ref("interval"), "velocity": _ref("number"), "effort": _ref("number")}


def _joint() -> Schema:
    """One branch per joint type, so that an editor offers only the keys that the type has."""
    return {
        "type": "object",
        "required": ["type", "a", "b"],
        "properties": {"type": {"enum": [kind.value for kind in JointType]}},
        "oneOf": [_joint_of(kind) for kind in JointType],
    }


def _joint_of(kind: JointType) -> Schema:
    shape = JOINT_SHAPES[kind]
    properties: dict[str, Schema] = {
        "type": {"const": kind.value},
        "a": _described(_ref("attachment"), "frame on the first body; X = A Q(q) B^-1 maps b's body to a's"),
        "b": _described(_ref("attachment"), "frame on the second body"),
    }
    required = ["type", "a", "b"]
    axes = {JointType.UNIVERSAL: ("axis", "axis2"), JointType.SCREW: ("axis", "pitch")}
    for key in axes.get(kind, ("axis",) if shape.has_axis else ()):
        properties[key] = _ref("number" if key == "pitch" else "vector")
        required.append(key)
    if shape.nv == 1:
        properties |= {"limits": _ref("limits")} | {key: _ref("number") for key in ("armature", "damping", "friction")}
    elif shape.nv > 1:
        properties["limits"] = _optional(_record(dict.fromkeys(shape.velocities, _ref("limits"))))
        one = [_ref("number")] if kind is JointType.SPHERICAL else []
        each = {"anyOf": [_record(dict.fromkeys(shape.velocities, _ref("number"))), *one]}
        properties |= dict.fromkeys(("armature", "damping", "friction"), each)
    return _record(properties, tuple(required))


def _port() -> Schema:
    kinds: dict[str, Schema] = {
        "joint": _ref("name"),
        "terms": _ref("terms"),
        "distance": _list(_ref("point"), 2),
    }
    limits = _optional(_record(_limits("displacement")))
    return {"oneOf": [_record({kind: schema, "limits": limits}, (kind,)) for kind, schema in kinds.items()]}


def _drive() -> Schema:
    law = {"type": ["number", "string"], "description": "a number, or an expression over the names of the drive"}
    unit = {"type": ["string", "number"], "pattern": UNIT_PATTERN, "description": "shown with the value, no factor"}
    state = {"anyOf": [_ref("number"), _record({"initial": _ref("number"), "unit": unit}, ("initial",))]}
    names = {"type": "array", "items": {"type": ["string", "boolean"]}, "uniqueItems": True}
    units = _optional(_named(_optional(_record({"unit": unit})), IDENTIFIER_PATTERN))
    properties: dict[str, Schema] = {
        "port": _described(_ref("name"), "the port that this drive acts on; a port has at most one drive"),
        "commands": {"anyOf": [names, units]},
        "states": _optional(_named(state, IDENTIFIER_PATTERN)),
        "constants": _optional(_named(_ref("number"), IDENTIFIER_PATTERN)),
        "effort": _described(law, "f of the port"),
        "rates": _optional(_named(law, IDENTIFIER_PATTERN)),
    }
    return _record(properties, ("port", "effort"))


def _reference() -> Schema:
    value = {"anyOf": [_ref("number"), {"type": "array", "items": _ref("number")}]}
    by_body = {**_named(_ref("pose")), "minProperties": 1}
    return _optional(
        _record(
            {
                "joints": _optional(_named(value, _COORDINATE_PATTERN)),
                "base": {"anyOf": [_ref("pose"), by_body]},
            }
        )
    )
