"""A plot of dots on a logarithmic axis, one row a group, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_ROW, _LEFT, _WIDTH, _TOP = 22, 300, 560, 26
_COLOURS = ("#0b6e4f", "#4a6fa5")  # the first row of a group of rows is ours


def dots(title: str, groups: Mapping[str, Sequence[float]], low: float = 1e-17) -> str:
    """One row per group with a dot per value (below `low`, zero included, at `low`) and a bar at the median."""
    top = max(max(values) for values in groups.values())
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(max(top, 10 * low)))

    def place(value: float) -> float:
        return _LEFT + _WIDTH * (math.log10(max(value, low)) - first) / (last - first)

    height = _TOP + _ROW * len(groups) + 30
    base = _TOP + _ROW * len(groups)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 30} {height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="16" font-weight="bold">{escape(title)}</text>',
    ]
    for power in range(first, last + 1, 2):
        x = place(10.0**power)
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{base}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle">1e{power}</text>')
    for k, (name, values) in enumerate(groups.items()):
        y = _TOP + _ROW * k + _ROW / 2
        colour = _COLOURS[min(k, 1)]
        parts.append(f'<text x="8" y="{y + 4:.1f}">{escape(name)}</text>')
        parts += [f'<circle cx="{place(x):.1f}" cy="{y:.1f}" r="2" fill="{colour}" opacity="0.4"/>' for x in values]
        middle = place(sorted(values)[len(values) // 2])
        parts.append(
            f'<line x1="{middle:.1f}" y1="{y - 8:.1f}" x2="{middle:.1f}" y2="{y + 8:.1f}" stroke="black" '
            'stroke-width="2"/>'
        )
    return "\n".join([*parts, "</svg>", ""])
