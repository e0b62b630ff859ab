"""The neutral tree between a file format and the record parsers: scalars as their text, lists, mappings, with lines.

Scalars keep their raw text: YAML 1.1 would turn the body name `on` into True and leave the number `1e-8` a string.
What a scalar means is decided where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from robocompiler.records.names import shown
from robocompiler.records.number_text import NUMBER

MAXIMUM_DEPTH = 32
MAXIMUM_NODES = 200_000

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUTH = frozenset(
    word for base in ("true", "false", "yes", "no", "on", "off") for word in (base, base.title(), base.upper())
)


@dataclass(frozen=True)
class ScalarNode:
    """A scalar.  `plain` is False for quoted text, which is never null or a truth value."""

    text: str
    plain: bool = True
    line: int | None = None

    @property
    def is_null(self) -> bool:
        """Whether the value is left empty."""
        return self.plain and self.text in _NULL

    @property
    def is_truth_value(self) -> bool:
        """Whether YAML reads the value as true or false."""
        return self.plain and self.text in _TRUTH


@dataclass(frozen=True)
class ListNode:
    """A list."""

    items: tuple[Node, ...]
    line: int | None = None


@dataclass(frozen=True)
class Entry:
    """One key of a mapping with its value; `line` is the key's."""

    key: str
    value: Node
    line: int | None = None


@dataclass(frozen=True)
class MappingNode:
    """A mapping; its keys are distinct."""

    entries: tuple[Entry, ...]
    line: int | None = None


@dataclass(frozen=True)
class BrokenNode:
    """A value whose fault has been reported already; parsers pass over it in silence."""

    line: int | None = None


Node = Union[ScalarNode, ListNode, MappingNode, BrokenNode]


def describe(node: Node) -> str:
    """What stands here, in words for "expected ..., found ..."."""
    if isinstance(node, ListNode):
        return f"a list of {len(node.items)}"
    if isinstance(node, MappingNode):
        return f"a mapping of {len(node.entries)} keys"
    if isinstance(node, BrokenNode):
        return "a value that could not be read"
    if node.is_null:
        return "nothing (null)"
    if node.is_truth_value:
        return f"the truth value {node.text}"
    return f"the number {node.text}" if NUMBER.fullmatch(node.text) else f"the text {shown(node.text)}"
