"""Read a mechanism from a file, from text or from Python data; every fault of the input is reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from robocompiler.records.catalogue import Catalogue, scalar_coordinates
from robocompiler.records.cursor import Cursor
from robocompiler.records.diagnostics import Diagnostics
from robocompiler.records.dict_source import nodes_from_object
from robocompiler.records.keys import TOP_KEYS
from robocompiler.records.model import Mechanism
from robocompiler.records.nodes import MappingNode, Node, ScalarNode
from robocompiler.records.parse_bodies import parse_bodies
from robocompiler.records.parse_couplings import parse_couplings
from robocompiler.records.parse_drives import parse_drives
from robocompiler.records.parse_frames import parse_frames, parse_supports
from robocompiler.records.parse_header import (
    check_parameter_names,
    check_version,
    parse_gravity,
    parse_name,
    parse_parameters,
    parse_scales,
)
from robocompiler.records.parse_joints import declared_types, parse_joints
from robocompiler.records.parse_ports import parse_ports
from robocompiler.records.parse_reference import parse_reference
from robocompiler.records.yaml_source import parse_yaml, read_text


def read_mechanism(path: str | Path) -> Mechanism:
    """The mechanism in a YAML file (language: docs/input-language.md).

    Raises ModelError whose `problems` list every fault with file, line and record.
    """
    return read_mechanism_text(read_text(Path(path)), str(path))


def read_mechanism_text(text: str, file: str = "<text>") -> Mechanism:
    """The mechanism in YAML text; `file` is the name used in messages.  Raises ModelError."""
    log = Diagnostics(file)
    return mechanism_from_nodes(parse_yaml(text, log), log)


def mechanism_from_dict(data: Mapping[str, object], file: str = "<dict>") -> Mechanism:
    """The mechanism in nested Python data shaped like a file; same checks, no line numbers.  Raises ModelError."""
    log = Diagnostics(file)
    return mechanism_from_nodes(nodes_from_object(data, log), log)


def mechanism_from_nodes(root: Node, log: Diagnostics) -> Mechanism:
    """The mechanism of a neutral tree, whichever format it came from; faults join those that `log` holds already.

    Raises ModelError with all of them.
    """
    if not isinstance(root, MappingNode):
        top = Cursor(root, "", root.line, log)
        top.expected("a mapping with keys robocompiler, name, bodies, joints, ...")
        log.finish()
    fields = Cursor(root, "", root.line, log).fields(TOP_KEYS, ("robocompiler", "name"))
    if "robocompiler" in fields:
        check_version(fields["robocompiler"])
    for group, what in (("bodies", "body"), ("joints", "joint")):
        _need_some(group, what, fields.get(group), log, root.line)
    name = parse_name(fields["name"]) if "name" in fields else ""
    parameters = parse_parameters(fields.get("parameters"))
    types = declared_types(fields.get("joints"))
    catalogue = Catalogue(
        bodies=frozenset(_keys(fields.get("bodies"))),
        joints=types,
        parameters={parameter.name: parameter.default for parameter in parameters},
        scalars=scalar_coordinates(types),
    )
    if parameters:
        check_parameter_names(fields["parameters"].children("parameters"), catalogue)
    frames = parse_frames(fields.get("frames"), catalogue)
    mechanism = Mechanism(
        name=name,
        gravity=parse_gravity(fields.get("gravity"), catalogue),
        bodies=parse_bodies(fields.get("bodies"), catalogue),
        joints=parse_joints(fields.get("joints"), catalogue),
        couplings=parse_couplings(fields.get("couplings"), catalogue),
        ports=parse_ports(fields.get("ports"), catalogue),
        drives=parse_drives(fields.get("drives"), frozenset(_keys(fields.get("ports"))), catalogue),
        frames=frames,
        supports=parse_supports(fields.get("supports"), frames, catalogue),
        parameters=parameters,
        reference=parse_reference(fields.get("reference"), catalogue),
        length_scale=parse_scales(fields.get("scales"), catalogue),
        warnings=tuple(log.warnings),  # the last argument: all records are read by now
        source=Cursor(root, "", root.line, log).source,
    )
    log.finish()
    return mechanism


def _keys(cursor: Cursor | None) -> tuple[str, ...]:
    if cursor is None or not isinstance(cursor.node, MappingNode):
        return ()
    return tuple(entry.key for entry in cursor.node.entries)


def _need_some(group: str, what: str, cursor: Cursor | None, log: Diagnostics, line: int | None) -> None:
    """A mechanism has at least one body and one joint."""
    empty = cursor is None
    if cursor is not None:
        line = cursor.line
        null = isinstance(cursor.node, ScalarNode) and cursor.node.is_null
        empty = null or (isinstance(cursor.node, MappingNode) and not cursor.node.entries)
    if empty:
        log.problem(f"the mechanism has no {what}; give at least one", group, line)
