"""The section on ports: how far each reaches beside what its records allow, in words and as a bar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robocompiler.records.model import CoordinateSum, Mechanism, Port
from robocompiler.report.port_ranges import FAR, Cause, End, PortRange, Sizes
from robocompiler.report.svg import add, drawing, text_of, write

Interval = tuple[float, float]

MET = 1e-6  # of a declared interval's size: how near an end must come to count as reached
_WIDTH, _HEIGHT, _EDGE = 420.0, 34.0, 12.0


@dataclass(frozen=True)
class Reach:
    """One port's row: what was found, what is declared (of the port or of its joint) and the verdict on that."""

    found: PortRange
    unit: str
    declared: Interval | None
    verdict: str
    svg: str

    @property
    def ends(self) -> tuple[str, str]:
        """What ends the motion below and above."""
        return end_text(self.found.lower, self.unit), end_text(self.found.upper, self.unit)

    @property
    def span(self) -> float:
        """Size of the range that was found."""
        return self.found.upper.displacement - self.found.lower.displacement


def port_sizes(mechanism: Mechanism, manifest: Mapping[str, Any]) -> Sizes:
    """One unit of every speed and of every port of a compiled robot."""
    units = {port.name: port_unit(port, manifest) for port in mechanism.ports}
    turning = tuple(units[port["name"]] == "rad" for port in manifest["ports"])
    return Sizes(
        np.array([entry["scale"] for entry in manifest["velocities"]]),
        np.array([1.0 if turns else float(manifest["length"]) for turns in turning]),
        turning,
    )


def port_unit(port: Port, manifest: Mapping[str, Any]) -> str:
    """'rad' or 'm': the unit of the first coordinate that a port measures, metres of a two-point port."""
    if not isinstance(port.measure, CoordinateSum):
        return "m"
    names = [name for name, _ in port.measure.terms]
    known = {entry["name"]: entry["unit"] for entry in manifest["coordinates"]}
    velocities = {entry["name"]: entry["unit"].removesuffix("/s") for entry in manifest["velocities"]}
    return str({**velocities, **known}[names[0]])


def declared_interval(port: Port, manifest: Mapping[str, Any]) -> Interval | None:
    """The displacements that the records allow: limits of the port and, where it measures one coordinate, its joint."""
    bounds = [port.limits.position] if port.limits.position is not None else []
    if isinstance(port.measure, CoordinateSum) and len(port.measure.terms) == 1:
        ((name, weight),) = port.measure.terms
        limits = {entry["name"]: entry["limits"] for entry in manifest["coordinates"]}.get(name)
        if limits is not None:
            ends = sorted(weight * edge for edge in limits)
            bounds.append((ends[0], ends[1]))
    if not bounds:
        return None
    return max(lower for lower, _ in bounds), min(upper for _, upper in bounds)


def reach_of(found: PortRange, port: Port, manifest: Mapping[str, Any]) -> Reach:
    """The row of one port."""
    unit, declared = port_unit(port, manifest), declared_interval(port, manifest)
    return Reach(found, unit, declared, _verdict(found, declared), _bar(found, declared))


def end_text(end: End, unit: str) -> str:
    """What ends the motion: 'joint limit of hinge'."""
    if end.cause is Cause.SEARCHED:
        return "no end within one turn" if unit == "rad" else f"no end within {FAR:g} length scales"
    if end.cause is Cause.DEAD_CENTRE:
        return f"dead centre: {end.joint} moves and the port does not"
    return f"{end.cause.value} of {end.joint}" if end.joint else str(end.cause.value)


def _verdict(found: PortRange, declared: Interval | None) -> str:
    if found.lower.cause is Cause.LOCKED:
        return "held by the loops, or at a dead centre of its own"
    if declared is None:
        return "no limits declared"
    slack = MET * max(declared[1] - declared[0], 1e-9)
    missed = [
        side
        for side, edge, end in (("lower", declared[0], found.lower), ("upper", declared[1], found.upper))
        if abs(edge - end.displacement) > slack
    ]
    return f"{' and '.join(missed)} limit not reached" if missed else "both limits reached"


def _bar(found: PortRange, declared: Interval | None) -> str:
    """The range found as a bar, the reference as a stroke in it, declared limits as brackets around it."""
    low, high = found.lower.displacement, found.upper.displacement
    ends: list[float] = [low, high, *(declared or ())]
    first, size = min(ends), max(max(ends) - min(ends), 1e-300)

    def place(value: float) -> float:
        return float(_EDGE + (_WIDTH - 2 * _EDGE) * (value - first) / size)

    svg = drawing(_WIDTH, _HEIGHT, f"range of {found.port}")
    add(svg, "line", "grid", x1=_EDGE, x2=_WIDTH - _EDGE, y1=10, y2=10)
    title = f"{found.port}: from {low:.9g} to {high:.9g}"
    add(svg, "rect", "range", title, x=place(low), y=4, width=max(place(high) - place(low), 1.5), height=12)
    for edge in declared or ():
        add(svg, "line", "declared", f"declared limit {edge:.9g}", x1=place(edge), x2=place(edge), y1=0, y2=20)
    here = place(found.reference)
    add(svg, "line", "here", f"reference {found.reference:.9g}", x1=here, x2=here, y1=2, y2=18)
    write(svg, place(low), 31, f"{low:.4g}", "start" if place(low) < _WIDTH / 2 else "end")
    if high - low > 1e-12 * size:
        write(svg, place(high), 31, f"{high:.4g}", "end" if place(high) > _WIDTH / 2 else "start")
    return text_of(svg)
