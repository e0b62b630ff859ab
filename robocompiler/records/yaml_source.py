"""YAML text to nodes, safely: nothing is constructed or expanded, and size, nesting and node count are bounded.

Works on parser events rather than on PyYAML's composer, so that a bomb is refused before it costs anything.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from robocompiler.errors import ModelError, Problem
from robocompiler.records.diagnostics import Diagnostics
from robocompiler.records.names import check_name, shown
from robocompiler.records.nodes import (
    MAXIMUM_DEPTH,
    MAXIMUM_NODES,
    BrokenNode,
    Entry,
    ListNode,
    MappingNode,
    Node,
    ScalarNode,
)

MAXIMUM_BYTES = 10_000_000
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TOO_LARGE = f"is larger than {MAXIMUM_BYTES // 1_000_000} MB, the most that a mechanism file may have"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_text(path: Path) -> str:
    """The text of a mechanism file; ModelError when it is missing, not a regular file, over 10 MB or not UTF-8."""

    def refuse(message: str, line: int | None = None) -> ModelError:
        return ModelError([Problem(message, "", str(path), line)])

    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise refuse("is not a regular file")
        if status.st_size > MAXIMUM_BYTES:
            raise refuse(_TOO_LARGE)
        with path.open("rb") as stream:
            data = stream.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the path
        raise refuse(f"is not a usable path: {error}") from error
    if len(data) > MAXIMUM_BYTES:  # it grew meanwhile
        raise refuse(_TOO_LARGE)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refuse(f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8", line) from error


def parse_yaml(text: str, log: Diagnostics) -> Node:
    """The single document in `text`.  Faults that hide the rest raise ModelError; the others are noted in `log`."""
    if len(text) > MAXIMUM_BYTES:
        log.problem("the text " + _TOO_LARGE)
        log.finish()
    odd = _UNPRINTABLE.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        log.problem(f"the character {odd.group()!a} is not allowed in a text file", "", line)
        log.finish()
    builder = _Builder(log)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        _syntax_error(error, text, log)
    except yaml.YAMLError as error:  # reader faults carry no mark
        log.problem(f"not valid YAML: {' '.join(str(error).split())}")
        log.finish()
    if builder.root is None:
        log.problem("the file is empty; start with 'robocompiler: 1'", "", 1)
        log.finish()
        raise AssertionError("finish raises when a problem is noted")
    return builder.root


def _syntax_error(error: yaml.MarkedYAMLError, text: str, log: Diagnostics) -> None:
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    message = f"not valid YAML: {error.problem or error.context}"
    if error.context and error.problem:
        message += f" ({error.context})"
    lines = text.splitlines()
    if line is not None and line <= len(lines) and "\t" in lines[line - 1]:
        message += "; the line holds a tab: indent with spaces"
    log.problem(message, "", line)
    log.finish()


@dataclass
class _Frame:
    """A list or mapping whose end has not been seen."""

    mapping: bool
    line: int
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: ScalarNode | BrokenNode | None = None


class _Builder:
    """Turns the event stream into nodes, with an explicit stack instead of recursion."""

    def __init__(self, log: Diagnostics) -> None:
        self.root: Node | None = None
        self._log = log
        self._stack: list[_Frame] = []
        self._nodes = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        """Digest one parser event."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._log.problem("a file holds one document; remove this '---'", "", line)
                self._log.finish()
        elif isinstance(event, yaml.AliasEvent):
            self._count(line)
            self._log.problem(
                f"YAML aliases are not part of the language; write the value of *{event.anchor} out", "", line
            )
            self._complete(BrokenNode(line))
        elif isinstance(event, yaml.ScalarEvent):
            self._count(line)
            self._decoration(event, line)
            self._complete(ScalarNode(event.value, not event.style, line))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._count(line)
            self._decoration(event, line)
            self._open(isinstance(event, yaml.MappingStartEvent), line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()

    def _open(self, mapping: bool, line: int) -> None:
        if len(self._stack) >= MAXIMUM_DEPTH:
            self._log.problem(f"nested deeper than {MAXIMUM_DEPTH} levels", "", line)
            self._log.finish()
        self._stack.append(_Frame(mapping, line))

    def _close(self) -> None:
        frame = self._stack.pop()
        if frame.mapping:
            self._complete(MappingNode(tuple(frame.entries.values()), frame.line))
        else:
            self._complete(ListNode(tuple(frame.items), frame.line))

    def _complete(self, node: Node) -> None:
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        if not frame.mapping:
            frame.items.append(node)
        elif frame.key is None:
            frame.key = self._key(frame, node)
        else:
            if isinstance(frame.key, ScalarNode):
                frame.entries[frame.key.text] = Entry(frame.key.text, node, frame.key.line)
            frame.key = None

    def _key(self, frame: _Frame, node: Node) -> ScalarNode | BrokenNode:
        """The key if it is fresh text; a broken one makes the value fall away."""
        if isinstance(node, ScalarNode):
            first = frame.entries.get(node.text)
            if first is None:
                return node
            self._log.problem(
                f"the key {shown(node.text)} stands here and on line {first.line}; keep one",
                self._path(node.text),
                node.line,
            )
        elif not isinstance(node, BrokenNode):
            self._log.problem("a key must be plain text, not a list or mapping", "", node.line)
        return BrokenNode(node.line)

    def _path(self, key: str) -> str:
        """The record path of `key` in the innermost open mapping."""
        above = [frame.key.text for frame in self._stack[:-1] if isinstance(frame.key, ScalarNode)]
        return ".".join(word if check_name(word) is None else shown(word) for word in (*above, key))

    def _count(self, line: int) -> None:
        self._nodes += 1
        if self._nodes > MAXIMUM_NODES:
            self._log.problem(f"holds more than {MAXIMUM_NODES} values and keys, the most that are read", "", line)
            self._log.finish()

    def _decoration(self, event: Any, line: int) -> None:
        if event.anchor is not None:
            self._log.problem(f"YAML anchors are not part of the language; remove '&{event.anchor}'", "", line)
        if event.tag is not None:
            self._log.problem(f"YAML tags are not part of the language; remove {shown(event.tag)}", "", line)
