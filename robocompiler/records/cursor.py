"""A node together with its place in the record tree, so that every fault names file, line and record."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from robocompiler.records.diagnostics import Diagnostics
from robocompiler.records.keys import structure_message
from robocompiler.records.model import Source
from robocompiler.records.names import check_name, shown
from robocompiler.records.nodes import BrokenNode, ListNode, MappingNode, Node, ScalarNode, describe


@dataclass(frozen=True)
class Cursor:
    """One value of the file.  `record` is its path, such as 'bodies.coupler.inertia'."""

    node: Node
    record: str
    line: int | None
    log: Diagnostics

    @property
    def source(self) -> Source:
        """Where the value stands."""
        return Source(*self.log.place(self.line))

    def problem(self, message: str) -> None:
        """Note a fault of this value."""
        self.log.problem(message, self.record, self.line)

    def expected(self, what: str) -> None:
        """Note that `what` should stand here; silent when the value's fault is known already."""
        if not isinstance(self.node, BrokenNode):
            self.problem(f"expected {what}, found {describe(self.node)}")

    def children(self, what: str, *, may_be_empty: bool = True) -> dict[str, Cursor]:
        """The entries of a mapping by key; null counts as an empty mapping when `may_be_empty`."""
        if isinstance(self.node, MappingNode):
            return {
                entry.key: Cursor(entry.value, self._path(entry.key), entry.line, self.log)
                for entry in self.node.entries
            }
        if not (may_be_empty and isinstance(self.node, ScalarNode) and self.node.is_null):
            self.expected(what)
        return {}

    def named(self, what: str) -> dict[str, Cursor]:
        """The entries of a group of named records; the names are checked."""
        children = self.children(f"a mapping from names to {what}")
        for name, child in children.items():
            fault = check_name(name)
            if fault:
                child.problem(fault)
        return children

    def fields(
        self, allowed: Sequence[str], required: Collection[str] = (), *, may_be_empty: bool = False
    ) -> dict[str, Cursor]:
        """The fields of a record: unknown keys are refused with the nearest one, missing ones are named."""
        children = self.children(f"a mapping with keys {', '.join(allowed)}", may_be_empty=may_be_empty)
        for key, child in children.items():
            if key not in allowed:
                child.problem(structure_message(key) or self._unknown(key, allowed))
        if isinstance(self.node, MappingNode):
            for key in required:
                if key not in children:
                    self.problem(f"the key '{key}' is missing")
        return {key: child for key, child in children.items() if key in allowed}

    def items(self, counts: Collection[int], what: str) -> tuple[Cursor, ...] | None:
        """The items of a list whose length is one of `counts`, or None with a fault noted."""
        if isinstance(self.node, ListNode) and len(self.node.items) in counts:
            return tuple(
                Cursor(item, f"{self.record}[{k}]", item.line or self.line, self.log)
                for k, item in enumerate(self.node.items)
            )
        self.expected(what)
        return None

    def text(self, what: str) -> str | None:
        """A name or word as it is written, or None with a fault noted."""
        if isinstance(self.node, ScalarNode) and not self.node.is_null:
            return self.node.text
        self.expected(what)
        return None

    def choice(self, options: Collection[str], what: str) -> str | None:
        """A word out of `options`, or None with a fault noted."""
        word = self.text(f"{what} ({', '.join(options)})")
        if word is None or word in options:
            return word
        hint = self.log.suggest(word, options)
        self.problem(f"unknown {what} {shown(word)}{hint} (allowed: {', '.join(options)})")
        return None

    def _path(self, key: str) -> str:
        plain = check_name(key.replace(":", "_")) is None
        return ".".join(part for part in (self.record, key if plain else shown(key)) if part)

    def _unknown(self, key: str, allowed: Sequence[str]) -> str:
        return f"unknown key {shown(key)}{self.log.suggest(key, allowed)} (allowed: {', '.join(allowed)})"
