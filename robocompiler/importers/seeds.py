"""Seeds of joints whose limits exclude 0: the middle of the limits, and the report says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robocompiler.importers.draft import Draft
from robocompiler.importers.limits import middle
from robocompiler.importers.log import ASSUMED
from robocompiler.records.names import shown


def import_seeds(draft: Draft) -> None:
    """Fill the reference of the draft."""
    for name, record in draft.groups["joints"].items():
        for coordinate, limits in _by_coordinate(name, record.data.get("limits", {})).items():
            interval = limits.get("position")
            value = middle(interval)
            if value and interval is not None:
                draft.reference[coordinate] = value
                draft.log.note(
                    ASSUMED,
                    f"0 is outside the limits {interval[0]:g} .. {interval[1]:g}, so the reference is {value:.6g}",
                    f"joint {shown(coordinate)}",
                    record.line,
                )


def _by_coordinate(name: str, limits: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Limits by full coordinate name: a joint of several freedoms has them by suffix."""
    inner = {key: value for key, value in limits.items() if isinstance(value, Mapping)}
    return {f"{name}:{suffix}": value for suffix, value in inner.items()} if inner else {name: limits}
