"""The report of a repair, for people and as plain data."""

from __future__ import annotations

from typing import Any

from robocompiler.analysis.repairing import Repair
from robocompiler.numerics.gap import RankDecision


def repair_text(repair: Repair) -> str:
    """Each change with its size, why it is the smallest, and the rank gap before and after; ends with a newline."""
    name, rank = repair.mechanism.name, repair.after
    if not repair.changes and not repair.freed:
        return f"{name}: nothing to repair; the rank is clear: {rank.rank}, {_speeds(repair)}, gap {_gap(rank)}\n"
    lines = [f"{name}: {_count(len(repair.changes), 'joint')} changed, {_count(len(repair.loops), 'loop')} made exact"]
    lines += [f"  {change}" for change in repair.changes]
    if repair.freed:
        lines.append("no frame makes these redundant, so that one row of each was given up:")
        lines += [f"  {pin}" for pin in repair.freed]
    lines.append(f"rank {rank.rank}, {_speeds(repair)}")
    lines.append(f"gap before {_gap(repair.before)}; after {_gap(rank)}")
    if repair.needed > 0:
        lines += [
            f"size {repair.size:.3g} (root of squares; radians, and lengths over {repair.length:g} m)",
            f"the closure Jacobian of those loops changes by {repair.made:.3g}; "
            f"below {repair.needed:.3g} no change makes them redundant",
        ]
    return "\n".join(lines) + "\n"


def repair_data(repair: Repair) -> dict[str, Any]:
    """The same as plain data, angles in rad and distances in m."""
    return {
        "robot": repair.mechanism.name,
        "rank": repair.after.rank,
        "freedoms": repair.freedoms,
        "length_scale": repair.length,
        "changes": [
            {
                "joint": c.joint, "axis": c.axis, "frame_a": c.frame_a, "frame_b": c.frame_b, "anchor_a": c.anchor_a,
                "anchor_b": c.anchor_b,
            }
            for c in repair.changes
        ],
        "loops": [{"chords": list(loop.chords), "joints": list(loop.joints)} for loop in repair.loops],
        "freed": [{"joints": list(pin.joints), "body": pin.body, "rod": pin.rod} for pin in repair.freed],
        "size": repair.size,
        "before": _decision(repair.before),
        "after": _decision(repair.after),
        "jacobian_change_needed": repair.needed,
        "jacobian_change_made": repair.made,
    }  # fmt: skip


def _decision(rank: RankDecision) -> dict[str, Any]:
    return {
        "rank": rank.rank,
        "clear": rank.clear,
        "smallest_kept": rank.smallest_kept,
        "largest_dropped": rank.largest_dropped,
        "between": list(rank.between),
    }


def _gap(rank: RankDecision) -> str:
    return f"{rank.smallest_kept:.3g} to {rank.largest_dropped:.3g}"


def _speeds(repair: Repair) -> str:
    return f"{repair.freedoms} independent speeds"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
