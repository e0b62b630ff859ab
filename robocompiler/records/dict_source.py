"""Python mappings to nodes, for mechanisms that a program builds."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence

import numpy as np

from robocompiler.records.diagnostics import Diagnostics
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


def nodes_from_object(value: object, log: Diagnostics) -> Node:
    """Nodes of nested mappings, sequences, arrays, numbers, strings, truth values and None, without line numbers."""
    return _Converter(log).convert(value, "", 0)


class _Converter:
    def __init__(self, log: Diagnostics) -> None:
        self._log = log
        self._nodes = 0

    def convert(self, value: object, record: str, depth: int) -> Node:
        """The node of `value`; `record` is its path, `depth` its nesting (bounded, since an object may hold itself)."""
        self._nodes += 1
        if self._nodes > MAXIMUM_NODES:
            self._log.problem(f"holds more than {MAXIMUM_NODES} values and keys, the most that are read", record)
            self._log.finish()
        if isinstance(value, str):
            return ScalarNode(value, plain=False)
        if value is None or isinstance(value, (bool, np.bool_)):
            return ScalarNode("null" if value is None else str(bool(value)).lower())
        if isinstance(value, numbers.Real):
            return ScalarNode(_number_text(value))
        if depth >= MAXIMUM_DEPTH:
            self._log.problem(f"nested deeper than {MAXIMUM_DEPTH} levels", record)
            self._log.finish()
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, Mapping):
            return self._mapping(value, record, depth)
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            return ListNode(tuple(self.convert(item, f"{record}[{k}]", depth + 1) for k, item in enumerate(value)))
        self._log.problem(f"a value of Python type {type(value).__name__} has no meaning here", record)
        return BrokenNode()

    def _mapping(self, value: Mapping[object, object], record: str, depth: int) -> MappingNode:
        entries = []
        for key, item in value.items():
            if isinstance(key, str):
                child = f"{record}.{key}" if record else key
                entries.append(Entry(str(key), self.convert(item, child, depth + 1)))
            else:
                self._log.problem(f"a key must be a string, not a {type(key).__name__}", record)
        return MappingNode(tuple(entries))


def _number_text(value: numbers.Real) -> str:
    try:
        return repr(float(value))
    except OverflowError:  # an integer beyond double range: the field's own check refuses the text
        return "1e999"
