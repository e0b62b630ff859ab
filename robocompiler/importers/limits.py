"""Limits as record data: what is infinite is no limit, and what cannot be is a fault where it stands."""

from __future__ import annotations

from typing import Any

from robocompiler.importers.log import ASSUMED
from robocompiler.importers.values import Values

_UNLIMITED = 1e15  # SDF and some exporters write 1e16 for no limit


def clean_limits(
    interval: tuple[float, float] | None, velocity: float, effort: float, own: Values, position: str = "position"
) -> dict[str, Any]:
    """{position, velocity, effort} without what is unlimited."""
    data: dict[str, Any] = {}
    if interval is not None:
        lower, upper = interval
        if lower > upper:
            own.problem(f"the lower limit {lower:g} is above the upper limit {upper:g}; swap them")
        elif lower <= -_UNLIMITED and upper >= _UNLIMITED:
            pass
        elif lower <= -_UNLIMITED or upper >= _UNLIMITED:
            own.log.note(
                ASSUMED,
                f"limited on one side only ({lower:g}, {upper:g}), which the records cannot say: no position limits",
                own.record,
                own.line,
            )
        else:
            data[position] = (lower, upper)
    for key, value in (("velocity", velocity), ("effort", effort)):
        if value < 0 and value > -_UNLIMITED:
            own.problem(f"the {key} limit must not be negative, is {value:g}")
        elif 0 <= value < _UNLIMITED:
            data[key] = value
    return data


def middle(interval: tuple[float, float] | None) -> float:
    """0 where the interval has it, else its middle."""
    if interval is None or interval[0] <= 0 <= interval[1]:
        return 0.0
    return (interval[0] + interval[1]) / 2
