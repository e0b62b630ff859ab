"""A mechanism to YAML text that the reader reads back to equal records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from robocompiler.records.model import Mechanism
from robocompiler.records.number_text import number_text
from robocompiler.records.plain_data import mechanism_data

_WIDTH = 120
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[-.][A-Za-z0-9_]+)*")
_OTHER_TYPES = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))  # in YAML 1.1


def mechanism_yaml(mechanism: Mechanism) -> str:
    """The YAML text of a mechanism: `read_mechanism_text` of it gives equal records.

    See `mechanism_data` for what counts as records that the reader makes.
    Raises ValueError for what no file can say, such as a number that is not finite.
    """
    return data_yaml(mechanism_data(mechanism))


def data_yaml(data: Mapping[str, Any]) -> str:
    """The YAML text of nested data as `mechanism_data` makes it, whole or in part."""
    return "\n".join(_block(data, 0)) + "\n"


def _block(data: Mapping[str, Any], depth: int) -> Iterator[str]:
    """One line per entry where it fits, else an indented block."""
    indent = "  " * depth
    for key, value in data.items():
        line = f"{indent}{_word(key)}: {_flow(value)}"
        inner = isinstance(value, Mapping) and value
        if inner and (depth == 0 or len(line) > _WIDTH):
            yield f"{indent}{_word(key)}:"
            yield from _block(value, depth + 1)
        else:
            yield line


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_word(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        return _word(value)
    return str(value) if isinstance(value, int) else number_text(value)


def _word(text: str) -> str:
    """Plain where nothing else could be meant, else in double quotes."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _OTHER_TYPES
    return text if plain else json.dumps(text)
