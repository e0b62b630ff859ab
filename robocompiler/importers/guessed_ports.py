"""Ports where a file names no actuators: every joint of one freedom with an effort limit may be driven."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from robocompiler.importers.draft import Draft
from robocompiler.importers.log import ASSUMED

_SCALAR = ("revolute", "continuous", "prismatic", "screw")


def joint_port(legal: str, draft: Draft) -> dict[str, Any]:
    """A port on a joint with the joint's limits."""
    limits = dict(draft.groups["joints"][legal].data.get("limits", {}))
    if "position" in limits:
        limits = {"displacement": limits.pop("position"), **limits}
    return {"joint": legal, **({"limits": limits} if limits else {})}


def guess_ports(draft: Draft, passive: Collection[str] = ()) -> None:
    """A port for each joint with an effort limit that is not in `passive`; the report says so."""
    names = [
        name
        for name, record in draft.groups["joints"].items()
        if record.data.get("type") in _SCALAR and "effort" in record.data.get("limits", {}) and name not in passive
    ]
    draft.guessed_ports = True
    for name in names:
        port = draft.fresh("ports", f"{name}_motor")
        draft.put("ports", port, joint_port(name, draft), draft.groups["joints"][name].line)
    what = (
        "each of the {n} joints with an effort limit has a port"
        if names
        else "and no joint has an effort limit: no ports"
    )
    draft.log.note(
        ASSUMED,
        "the file names no actuators, " + what.format(n=len(names)) + " (`ports` in a side file replaces this)",
        "",
        draft.line,
    )
