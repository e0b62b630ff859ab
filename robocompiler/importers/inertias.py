"""Mass, centre of mass and inertia of a body as record data, with a look at their units."""

from __future__ import annotations

import math
from typing import Any

from robocompiler.importers.log import ASSUMED, ImportLog
from robocompiler.importers.transforms import Tensor, Transform, rotated_tensor
from robocompiler.records.model import ORIGIN

_LARGEST_GYRATION = 30.0  # m: beyond it, kg mm^2 (or kg cm^2) is the likelier reading
LARGEST_ANGLE = 10.0  # rad: nobody writes an orientation beyond it, but 45 and 90 degrees are


def solid(mass: float, pose: Transform, tensor: Tensor) -> dict[str, Any]:
    """Body data: `tensor` is about the centre of mass, in the axes of the inertial frame `pose` in the body."""
    data: dict[str, Any] = {"mass": mass}
    if pose.translation != ORIGIN:
        data["com"] = pose.translation
    if any(tensor):
        data["inertia"] = rotated_tensor(pose.rotation, tensor)
    return data


def look_at_units(mass: float, tensor: Tensor, record: str, line: int | None, log: ImportLog) -> None:
    """Note a radius of gyration that no robot has."""
    largest = max(tensor[:3], default=0.0)
    if mass > 0 and math.sqrt(max(largest, 0.0) / mass) > _LARGEST_GYRATION:
        log.note(
            ASSUMED,
            f"the inertia is in kg m^2, though its radius of gyration is {math.sqrt(largest / mass):.3g} m: if it was "
            "written in kg mm^2, multiply it by 1e-6",
            record,
            line,
        )


def degrees_fault(angles: tuple[float, ...]) -> str | None:
    """The fault of angles that can only be degrees, or None."""
    worst = max((abs(angle) for angle in angles), default=0.0)
    if worst <= LARGEST_ANGLE:
        return None
    shown = " ".join(f"{math.radians(angle):.10g}" for angle in angles)
    return f"angles are radians, and {worst:g} rad is more than a turn and a half: if degrees were meant, write {shown}"
