"""A simulation's log as SVG: panels of curves over time, one below the other.  The same log gives the same text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import ArgumentError
from robocompiler.runtime.simulation.log import Log

Array = NDArray[np.float64]

_LEFT, _TOP, _WIDTH, _HEIGHT, _LEGEND, _GAP = 76, 34, 560, 120, 230, 46
_COLOURS = (
    "#0b6e4f",
    "#c0392b",
    "#4a6fa5",
    "#b8860b",
    "#8e6c8a",
    "#2e86c1",
    "#444444",
    "#d35400",
    "#7f8c8d",
    "#27ae60",
)
_LISTED = 9  # names in the legend of a panel; more are counted
_POINTS = 600  # of a curve; longer ones keep the extremes of each piece
_TITLES = {"l": "port displacement", "f": "port effort", "u": "speed", "energy": "energy"}


@dataclass(frozen=True)
class Panel:
    """A panel: its title and axis unit, and curves by name, all over the same times (N,)."""

    title: str
    unit: str
    curves: dict[str, Array]


def plot_svg(log: Log, name: str) -> str:
    """Panels of port displacements, port efforts, speeds of the independents, and energies."""
    panels = []
    for group, title in _TITLES.items():
        columns = [column for column in log.columns if column.group == group]
        for unit in dict.fromkeys(column.unit for column in columns):
            curves = {c.name: log.column(c.title) for c in columns if c.unit == unit}
            if group == "energy":
                curves["total"] = np.sum(list(curves.values()), axis=0)
            panels.append(Panel(title, unit, curves))
    return panels_svg(name, log.group("t"), panels)


def panels_svg(title: str, t: Array, panels: Sequence[Panel]) -> str:
    """Any panels over times t (N,), s.  ValueError when there is no row."""
    if not t.size:
        raise ArgumentError("nothing to draw: the log has no rows")
    height = _TOP + len(panels) * (_HEIGHT + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + _LEGEND} {height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="18" font-size="13" font-weight="bold">{escape(title)}</text>',
    ]
    for k, panel in enumerate(panels):
        parts += _panel(panel, t, _TOP + k * (_HEIGHT + _GAP))
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, t: Array, top: int) -> list[str]:
    values = np.concatenate([curve[np.isfinite(curve)] for curve in panel.curves.values()] or [np.zeros(1)])
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - room, high + room
    begin, end = float(t[0]), float(t[-1]) if t[-1] > t[0] else float(t[0]) + 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + _WIDTH * (x - begin) / (end - begin), top + _HEIGHT * (high - y) / (high - low)

    unit = f" [{panel.unit}]" if panel.unit else ""
    parts = [
        f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#999999"/>',
        f'<text x="{_LEFT}" y="{top - 5}">{escape(panel.title + unit)}</text>',
    ]
    for y in _ticks(low, high, 4):
        py = place(begin, y)[1]
        parts.append(f'<line x1="{_LEFT}" y1="{py:.1f}" x2="{_LEFT + _WIDTH}" y2="{py:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{py + 4:.1f}" text-anchor="end">{y:.6g}</text>')
    for x in _ticks(begin, end, 8):
        px = place(x, low)[0]
        parts.append(f'<text x="{px:.1f}" y="{top + _HEIGHT + 14}" text-anchor="middle">{x:.6g}</text>')
    for k, (name, curve) in enumerate(panel.curves.items()):
        colour = _COLOURS[k % len(_COLOURS)]
        points = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in _thinned(t, curve))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>')
        if k < _LISTED:
            parts += _key(name, colour, top + 10 + 13 * k)
    if len(panel.curves) > _LISTED:
        parts += _key(f"and {len(panel.curves) - _LISTED} more", "#ffffff", top + 10 + 13 * _LISTED)
    return parts


def _key(name: str, colour: str, y: int) -> list[str]:
    x = _LEFT + _WIDTH + 12
    return [
        f'<rect x="{x}" y="{y - 8}" width="12" height="8" fill="{colour}"/>',
        f'<text x="{x + 17}" y="{y}">{escape(name)}</text>',
    ]


def _ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers between two ends."""
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(m for m in (1, 2, 5, 10) if raw <= m * power * (1 + 1e-9))
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _thinned(t: Array, curve: Array) -> list[tuple[float, float]]:
    """Points of a curve; of a long one the smallest and the largest value of each piece, in order of time."""
    finite = np.flatnonzero(np.isfinite(curve))
    if finite.size > _POINTS:
        kept = {int(finite[0]), int(finite[-1])}
        for piece in np.array_split(finite, _POINTS // 2):
            kept |= {int(piece[np.argmin(curve[piece])]), int(piece[np.argmax(curve[piece])])}
        finite = np.array(sorted(kept), dtype=np.intp)
    return [(float(t[i]), float(curve[i])) for i in finite]
