"""The side file of a model: closing joints, ports and whatever else its format cannot say, in the input language.

It has the groups of a mechanism file.  A frame of one of its joints may be the bare name of a body or of a named frame,
of the model or of the side file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from robocompiler.importers.log import LEFT_OUT, RECOGNISED, ImportLog
from robocompiler.records.diagnostics import Diagnostics
from robocompiler.records.keys import TOP_KEYS
from robocompiler.records.model import WORLD
from robocompiler.records.names import shown
from robocompiler.records.nodes import BrokenNode, Entry, ListNode, MappingNode, Node, ScalarNode
from robocompiler.records.yaml_source import parse_yaml, read_text

_EXTRAS = ("limits", "armature", "damping", "friction")
_REPLACED = ("name", "gravity", "scales", "robocompiler")


def side_file_of(model: Path) -> Path | None:
    """STEM.loops.yaml beside a model, if it is there."""
    path = model.with_name(f"{model.stem}.loops.yaml")
    return path if path.is_file() else None


def read_side_file(path: Path, log: ImportLog) -> MappingNode:
    """The groups of a side file, with lines that join those of `log`.  ModelError when it cannot be read at all."""
    text = read_text(path)
    offset = log.add_file(str(path), text)
    own = Diagnostics(str(path))
    node = parse_yaml(text, own)
    log.problems += own.problems
    if not isinstance(node, MappingNode):
        log.problem("expected a mapping with keys joints, ports, couplings, ...", "", offset + 1)
        return MappingNode(())
    shifted = _shifted(node, offset)
    assert isinstance(shifted, MappingNode)
    for entry in shifted.entries:
        if entry.key not in TOP_KEYS:
            hint = log.suggest(entry.key, TOP_KEYS)
            mend = "; closing joints stand under 'joints'" if entry.key in ("loops", "loop") else hint
            log.problem(f"unknown key {shown(entry.key)}{mend} (known: {', '.join(TOP_KEYS)})", entry.key, entry.line)
    return replace(shifted, entries=tuple(entry for entry in shifted.entries if entry.key in TOP_KEYS))


@dataclass(frozen=True)
class Merge:
    """How the side file joins the model: `guessed_ports` says that its ports, if any, replace the model's."""

    log: ImportLog
    guessed_ports: bool

    def merged(self, model: MappingNode, side: MappingNode) -> MappingNode:
        """One tree of both."""
        groups = {entry.key: entry for entry in model.entries}
        extra = {entry.key: entry for entry in side.entries}
        frames = _frames(groups, extra)
        for key, entry in extra.items():
            value = _with_frames(entry.value, frames) if key == "joints" else entry.value
            if key in _REPLACED or key not in groups:
                groups[key] = replace(entry, value=value)
            elif key == "reference":
                groups[key] = replace(groups[key], value=_overridden(groups[key].value, value))
            elif key == "ports" and self.guessed_ports:
                groups[key] = entry
                self.log.note(LEFT_OUT, "the guessed ports, since the side file has ports of its own")
            else:
                groups[key] = replace(groups[key], value=self._joined(key, groups[key].value, value))
            if key == "joints" and isinstance(value, MappingNode):
                self._tell(value)
        return MappingNode(tuple(groups.values()), model.line)

    def _tell(self, joints: MappingNode) -> None:
        for entry in joints.entries:
            what = "more about a joint of the model" if _only_extras(entry.value) else "a joint of the side file"
            self.log.note(RECOGNISED, what, f"joints.{entry.key}", entry.line)

    def _joined(self, group: str, model: Node, side: Node) -> Node:
        """The records of both; a group that is left empty adds nothing."""
        if isinstance(side, ScalarNode) and side.is_null:
            return model
        if not isinstance(model, MappingNode) or not isinstance(side, MappingNode):
            return side if isinstance(model, MappingNode) else model
        known = {entry.key: entry for entry in model.entries}
        for entry in side.entries:
            if entry.key in known and group == "joints" and _only_extras(entry.value):
                known[entry.key] = replace(known[entry.key], value=_with_extras(known[entry.key].value, entry.value))
            elif entry.key in known:
                file, line = self.log.place(known[entry.key].line)
                self.log.problem(
                    f"the model has this name already ({file}:{line}); rename this one",
                    f"{group}.{entry.key}",
                    entry.line,
                )
        return MappingNode((*known.values(), *(e for e in side.entries if e.key not in known)), model.line)


def _only_extras(joint: Node) -> bool:
    """Whether a joint of the side file only tells more about one of the model."""
    return isinstance(joint, MappingNode) and bool(joint.entries) and all(e.key in _EXTRAS for e in joint.entries)


def _with_extras(model: Node, extras: Node) -> Node:
    """A joint of the model with what the side file tells of it, in place of its own where it has that too."""
    if not isinstance(model, MappingNode) or not isinstance(extras, MappingNode):
        return model
    told = {entry.key for entry in extras.entries}
    return MappingNode((*(e for e in model.entries if e.key not in told), *extras.entries), model.line)


def _frames(*groups: Mapping[str, Entry]) -> dict[str, Node]:
    """Named frames of the model and the side file, unless a body has the name."""
    bodies: set[str] = {WORLD}
    frames: dict[str, Node] = {}
    for group in groups:
        for key, target in (("bodies", None), ("frames", frames)):
            node = group[key].value if key in group else None
            for entry in node.entries if isinstance(node, MappingNode) else ():
                if target is None:
                    bodies.add(entry.key)
                else:
                    target[entry.key] = entry.value
    return {name: node for name, node in frames.items() if name not in bodies}


def _with_frames(joints: Node, frames: Mapping[str, Node]) -> Node:
    """Joints whose a and b, where they name a frame, are that frame's placement."""
    if not isinstance(joints, MappingNode):
        return joints

    def side(entry: Entry) -> Entry:
        known = frames.get(entry.value.text) if isinstance(entry.value, ScalarNode) else None
        return entry if known is None or entry.key not in ("a", "b") else replace(entry, value=known)

    def joint(node: Node) -> Node:
        return MappingNode(tuple(map(side, node.entries)), node.line) if isinstance(node, MappingNode) else node

    return MappingNode(tuple(replace(e, value=joint(e.value)) for e in joints.entries), joints.line)


def _overridden(model: Node, side: Node) -> Node:
    """The reference of the model with the values of the side file in place of its own."""
    if not isinstance(model, MappingNode) or not isinstance(side, MappingNode):
        return side
    values = {entry.key: entry for entry in model.entries}
    for entry in side.entries:
        old = values[entry.key].value if entry.key in values else None
        if entry.key == "joints" and isinstance(old, MappingNode) and isinstance(entry.value, MappingNode):
            own = {inner.key: inner for inner in old.entries}
            own |= {inner.key: inner for inner in entry.value.entries}
            values["joints"] = replace(entry, value=MappingNode(tuple(own.values()), old.line))
        else:
            values[entry.key] = entry
    return MappingNode(tuple(values.values()), model.line)


def _shifted(node: Node, offset: int) -> Node:
    """The node with `offset` added to its lines."""
    line = None if node.line is None else node.line + offset
    if isinstance(node, MappingNode):
        entries = tuple(
            Entry(e.key, _shifted(e.value, offset), None if e.line is None else e.line + offset) for e in node.entries
        )
        return MappingNode(entries, line)
    if isinstance(node, ListNode):
        return ListNode(tuple(_shifted(item, offset) for item in node.items), line)
    return BrokenNode(line) if isinstance(node, BrokenNode) else replace(node, line=line)
