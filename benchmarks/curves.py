"""A small plot of growth on two logarithmic axes, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_LEFT, _TOP, _WIDTH, _HEIGHT, _LEGEND = 56, 30, 330, 260, 250
_COLOURS = ("#0b6e4f", "#c0392b", "#4a6fa5", "#8e6c8a", "#b8860b", "#2e86c1", "#444444")
Points = Sequence[tuple[float, float]]


def curves(title: str, axis: str, series: Mapping[str, Points]) -> str:
    """Series of (size, value), drawn over their first value, with a dashed line of linear growth.

    ValueError when no series has a point, or a size or value is not positive.
    """
    given = [point for points in series.values() for point in points]
    if not given or min(min(point) for point in given) <= 0:
        raise ValueError("nothing to draw, or a value that is not positive")
    grown = {name: [(x, y / points[0][1]) for x, y in points] for name, points in series.items() if points}
    every = [point for points in grown.values() for point in points]
    x0, x1 = min(x for x, _ in every), max(x for x, _ in every)
    y0, y1 = min(1.0, *(y for _, y in every)), max(x1 / x0, *(y for _, y in every))

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / x0) / max(math.log(x1 / x0), 1e-9)
        return _LEFT + _WIDTH * across, _TOP + _HEIGHT * (1 - math.log(y / y0) / max(math.log(y1 / y0), 1e-9))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + _LEGEND} {_TOP + _HEIGHT + 44}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>',
        f'<text x="{_LEFT + _WIDTH / 2}" y="{_TOP + _HEIGHT + 36}" text-anchor="middle">{escape(axis)}</text>',
    ]
    for x in sorted({x for x, _ in every}):
        px, py = place(x, y0)
        parts.append(f'<line x1="{px:.1f}" y1="{_TOP}" x2="{px:.1f}" y2="{py:.1f}" stroke="#eeeeee"/>')
        parts.append(f'<text x="{px:.1f}" y="{py + 18:.1f}" text-anchor="middle">{x:g}</text>')
    for power in range(math.ceil(math.log10(y0)), math.floor(math.log10(y1)) + 1):
        px, py = place(x0, 10.0**power)
        parts.append(f'<line x1="{px}" y1="{py:.1f}" x2="{_LEFT + _WIDTH}" y2="{py:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{py + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    parts.append(_line([place(x0, 1.0), place(x1, x1 / x0)], "#999999", ' stroke-dasharray="5 4"'))
    parts.append(_key(0, "linear", "#999999"))
    for k, (name, points) in enumerate(grown.items()):
        colour = _COLOURS[k % len(_COLOURS)]
        places = [place(x, y) for x, y in points]
        parts.append(_line(places, colour, ""))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(_key(k + 1, name, colour))
    return "\n".join([*parts, "</svg>", ""])


def _line(places: Points, colour: str, style: str) -> str:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="1.5"{style}/>'


def _key(row: int, name: str, colour: str) -> str:
    x, y = _LEFT + _WIDTH + 16, _TOP + 14 + 20 * row
    return (
        f'<rect x="{x}" y="{y - 9}" width="14" height="9" fill="{colour}"/>'
        f'<text x="{x + 20}" y="{y}">{escape(name)}</text>'
    )
