"""The coordinate layout: which entries of q and v belong to which joint."""

from __future__ import annotations

from collections.abc import Iterable

from robocompiler.graph.topology import Slot
from robocompiler.records.joint_types import JOINT_SHAPES
from robocompiler.records.model import Mechanism


def slots(mechanism: Mechanism, order: Iterable[str]) -> tuple[Slot, ...]:
    """Consecutive slots for the joints named by `order`; a fixed joint's slot is empty."""
    kinds = {joint.name: joint.type for joint in mechanism.joints}
    q0 = v0 = 0
    placed = []
    for name in order:
        shape = JOINT_SHAPES[kinds[name]]
        placed.append(Slot(name, q0, shape.nq, v0, shape.nv))
        q0, v0 = q0 + shape.nq, v0 + shape.nv
    return tuple(placed)
