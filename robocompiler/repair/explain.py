"""Why a mechanism with nearly redundant loops was refused, loop by loop, and what `--repair` would do about it."""

from __future__ import annotations

from collections.abc import Sequence

from robocompiler.repair.crosses import Cross
from robocompiler.repair.straight_records import LARGEST, Loop, Straightened

_LOOPS, _JOINTS = 8, 8  # told of each


def causes_text(found: Straightened, pins: Sequence[Cross], length: float) -> str:
    """The bent loops with chords, joints and sizes, the pins held too tightly, and the mend; '' when there is none."""
    if not found.loops and not pins:
        return ""
    lines = []
    if found.loops:
        lines.append("Loops that are almost planar or spherical, and the smallest changes that make them so:")
        lines += [line for loop in found.loops[:_LOOPS] for line in loop_lines(loop)]
        lines += [f"  and {len(found.loops) - _LOOPS} loops more"] if len(found.loops) > _LOOPS else []
    if pins:
        lines.append("Pins of two-pin links that are held against turning where next to nothing turns them:")
        lines += [f"  {pin.held}" for pin in pins[:_LOOPS]]
        lines += [f"  and {len(pins) - _LOOPS} more"] if len(pins) > _LOOPS else []
    return "\n".join([*lines, _mend(found, length)])


def loop_lines(loop: Loop) -> list[str]:
    """One loop: its chords, then its changed joints."""
    head = f"  closed by {', '.join(loop.chords[:3])}"
    head += f" and {len(loop.chords) - 3} more" if len(loop.chords) > 3 else ""
    lines = [f"{head} ({len(loop.joints)} joints):", *(f"    {change}" for change in loop.changes[:_JOINTS])]
    if len(loop.changes) > _JOINTS:
        lines.append(f"    and {len(loop.changes) - _JOINTS} joints more, by less or as much")
    return lines


def limits_text(length: float) -> str:
    """The largest changes that are ever made, in words."""
    return f"{1e6 * LARGEST:g} microradians or {1e6 * LARGEST * length:g} micrometres ({LARGEST:g} of the length scale)"


def _mend(found: Straightened, length: float) -> str:
    if found.beyond(length):
        return (
            f"Some are beyond {limits_text(length)}, more than rounding explains, so that `--repair` leaves the model "
            "alone: correct these records."
        )
    if found.parametric:
        return (
            f"The anchors of {', '.join(found.parametric)} are expressions over parameters, which `--repair` leaves "
            "alone: correct them so that the loops close for every value."
        )
    return (
        "`robocompile MODEL --repair` (in Python: repair=True) compiles with these changes, and `robocompile repair "
        "MODEL -o FIXED.yaml` writes the changed records (docs/repair.md)."
    )
