"""A mechanism in the making: what an importer found, with names made legal, as the neutral tree that the reader checks.

Every number goes through its shortest text, which reads back to the same double.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robocompiler.importers.log import RENAMED, ImportLog
from robocompiler.importers.transforms import Transform
from robocompiler.importers.visuals import VisualTable
from robocompiler.records.model import IDENTITY, ORIGIN, WORLD
from robocompiler.records.names import MAXIMUM_NAME_LENGTH, check_name, shown
from robocompiler.records.nodes import Entry, ListNode, MappingNode, Node, ScalarNode

GROUPS = ("bodies", "joints", "couplings", "ports", "frames")
_FOREIGN = re.compile(r"[^A-Za-z0-9_.\-/ ]")


@dataclass(frozen=True)
class Record:
    """One record: its plain data and the line of its element."""

    data: Mapping[str, Any]
    line: int | None


@dataclass
class Draft:
    """Records by group and legal name.

    Attributes:
        legal: legal name by (group, name in the file).
        reference: values of joints (a number or a list) by legal name; bases: base poses by legal body name.
        guessed_ports: whether the ports are a guess of the importer, which a side file replaces.
        visuals: shapes on the bodies, which are no records.
    """

    name: str
    log: ImportLog
    line: int | None = 1
    gravity: tuple[float, float, float] | None = None
    groups: dict[str, dict[str, Record]] = field(default_factory=lambda: {group: {} for group in GROUPS})
    legal: dict[tuple[str, str], str] = field(default_factory=dict)
    reference: dict[str, float | list[float]] = field(default_factory=dict)
    bases: dict[str, Transform] = field(default_factory=dict)
    guessed_ports: bool = False
    visuals: VisualTable = field(init=False)
    _lines: dict[tuple[str, str], int | None] = field(default_factory=dict)
    _taken: dict[str, set[str]] = field(default_factory=dict)
    _counters: dict[tuple[str, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.visuals = VisualTable(self.log)

    def declare(self, group: str, name: str, line: int | None, what: str) -> str:
        """The legal name of a record called `name` in the file; a fault is noted when it stands there twice."""
        known = self.legal.get((group, name))
        if known is not None:
            first = self.log.place(self._lines.get((group, name)))[1]
            where = f" (line {first})" if first is not None else ""
            self.log.problem(f"another {what} has this name already{where}; rename one", f"{what} {shown(name)}", line)
            return known
        self._lines[(group, name)] = line
        chosen = self.fresh(group, name)
        self.legal[(group, name)] = chosen
        if chosen != name:
            self.log.note(RENAMED, f"to {shown(chosen)}: {self._reason(name)}", f"{what} {shown(name)}", line)
        return chosen

    def fresh(self, group: str, wish: str) -> str:
        """A legal name like `wish` that is free in the group (bodies and frames share their names); it is taken now."""
        name = _FOREIGN.sub("_", wish.replace("::", "/")).strip() or "unnamed"
        name = name[:MAXIMUM_NAME_LENGTH].strip()
        space = "bodies" if group == "frames" else group
        taken = self._taken.setdefault(space, {WORLD} if space == "bodies" else set())
        candidate = name
        while candidate in taken:
            k = self._counters[(space, name)] = self._counters.get((space, name), 1) + 1
            suffix = f"_{k}"
            candidate = name[: MAXIMUM_NAME_LENGTH - len(suffix)] + suffix
        taken.add(candidate)
        return candidate

    def put(self, group: str, name: str, data: Mapping[str, Any], line: int | None) -> None:
        """Record `data` under a legal name."""
        self.groups[group].setdefault(name, Record(data, line))

    def body(self, name: str) -> str:
        """The legal name of a body of the file, known to be there."""
        return self.legal.get(("bodies", name), name)

    def joint(self, name: str) -> str:
        """The legal name of a joint of the file, known to be there."""
        return self.legal.get(("joints", name), name)

    def _reason(self, name: str) -> str:
        return check_name(name) or "the name is taken"

    def node(self) -> MappingNode:
        """The neutral tree of the whole mechanism."""
        top: dict[str, Any] = {"robocompiler": 1, "name": self.name}
        if self.gravity is not None:
            top["gravity"] = self.gravity
        entries = [Entry(key, to_node(value, self.line), self.line) for key, value in top.items()]
        for group, records in self.groups.items():
            if records:
                inner = tuple(Entry(name, to_node(r.data, r.line), r.line) for name, r in records.items())
                entries.append(Entry(group, MappingNode(inner, self.line), self.line))
        reference: dict[str, Any] = {}
        if self.reference:
            reference["joints"] = self.reference
        if self.bases:
            reference["base"] = {
                body: {"xyz": pose.translation, "quat": pose.quaternion} for body, pose in self.bases.items()
            }
        if reference:
            entries.append(Entry("reference", to_node(reference, self.line), self.line))
        return MappingNode(tuple(entries), self.line)


def placement(body: str, pose: Transform | None = None) -> dict[str, Any]:
    """The data of a frame on a body; identity parts are left out."""
    data: dict[str, Any] = {"body": body}
    if pose is not None and pose.translation != ORIGIN:
        data["xyz"] = pose.translation
    if pose is not None and pose.rotation != IDENTITY:
        data["matrix"] = pose.rotation
    return data


def to_node(value: Any, line: int | None) -> Node:
    """The neutral node of nested mappings, sequences, words and numbers."""
    if isinstance(value, Mapping):
        return MappingNode(tuple(Entry(key, to_node(item, line), line) for key, item in value.items()), line)
    if isinstance(value, str):
        return ScalarNode(value, plain=False, line=line)
    if isinstance(value, Sequence):
        return ListNode(tuple(to_node(item, line) for item in value), line)
    return ScalarNode(repr(value) if isinstance(value, int) else repr(float(value)), plain=True, line=line)
