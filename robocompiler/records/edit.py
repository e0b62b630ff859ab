"""Edited records: a mechanism with some records changed, added or removed, checked as a file is."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from robocompiler.errors import ModelError, Problem
from robocompiler.records.model import Mechanism
from robocompiler.records.plain_data import mechanism_data
from robocompiler.records.reader import mechanism_from_dict

Changes = Mapping[str, Any]


def edited_records(mechanism: Mechanism, changes: Changes) -> Mechanism:
    """The mechanism with `changes` merged into its records, every check of the reader made again.

    edited_records(m, {"bodies": {"crank": {"mass": 2.0}}, "joints": {"spare": None}})

    Mappings are merged key by key, whatever else stands there is replaced, and None removes what is there.  Records are
    spelled as in a file (docs/input-language.md); rotations of records stand under `matrix`.

    Raises:
        ModelError: None for what is not there; whatever the reader refuses, such as a joint to a body that was removed.
        ValueError: records that no file can say (those of a support mode).
    """
    problems: list[Problem] = []
    source = mechanism.source.file
    data = _merged(mechanism_data(mechanism), changes, "", problems, source)
    if problems:
        raise ModelError(problems)
    return mechanism_from_dict(data, f"{source} edited" if source else "<edited>")


def _merged(
    data: Mapping[str, Any], changes: Changes, record: str, problems: list[Problem], file: str
) -> dict[str, Any]:
    result = dict(data)
    for key, change in changes.items():
        path = f"{record}.{key}" if record else str(key)
        if change is None:
            if key in result:
                del result[key]
            else:
                problems.append(Problem(_nothing(str(key), result), path, file))
        elif isinstance(change, Mapping):
            inner = result.get(key)
            result[key] = _merged(inner if isinstance(inner, Mapping) else {}, change, path, problems, file)
        else:
            result[key] = change
    return result


def _nothing(key: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, known, 3)
    hint = f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    return f"nothing is called '{key}' here, so that it cannot be removed{hint}"
