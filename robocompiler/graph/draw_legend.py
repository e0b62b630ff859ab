"""The legend below the drawing: joint types, marks, modules with their chords, couplings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from robocompiler.graph.draw_layout import Rect
from robocompiler.graph.draw_style import CHARACTER, FAINT, INK, JOINT_STYLES, LINE, PORT_COLOUR, ChordStyle
from robocompiler.graph.draw_text import add_badge, add_line, add_rect, add_swatch, add_text
from robocompiler.records.joint_types import JointType

ROW = 20.0
SWATCH = 44.0
MARKS = {
    "fixed": "fixed joint (moves as one lump)",
    "free": "free root",
    "port": "actuator port",
}


@dataclass(frozen=True)
class Legend:
    """What the legend explains.  `groups` are (title, members, style) of modules; `notes` are plain rows."""

    types: tuple[JointType, ...]
    marks: tuple[str, ...]
    groups: tuple[tuple[str, tuple[str, ...], ChordStyle], ...]
    notes: tuple[tuple[str, tuple[str, ...]], ...]


def draw_legend(parent: Element, legend: Legend, x: float, y: float, width: float) -> float:
    """Draw the legend with its first row at y; returns the y below its last row."""
    y = _flow(parent, legend, x, y, width)
    for title, members, style in legend.groups:
        add_swatch(parent, x, y, style.colour, style.dash)
        y = _row(parent, title, members, (x + SWATCH, y), width - SWATCH)
    for title, members in legend.notes:
        y = _row(parent, title, members, (x, y), width)
    return y


def _flow(parent: Element, legend: Legend, x: float, y: float, width: float) -> float:
    """Badges and marks one after the other, going to a new row where the width ends."""
    entries = [(kind.value, kind) for kind in legend.types]
    left, row = x, y
    for text, kind in [*entries, *((MARKS[mark], mark) for mark in legend.marks)]:
        advance = 30.0 + CHARACTER * len(text) + 18.0
        if left > x and left + advance > x + width:
            left, row = x, row + ROW
        if isinstance(kind, JointType):
            add_badge(parent, left + 10.0, row, JOINT_STYLES[kind])
        else:
            _mark(parent, kind, left + 10.0, row)
        add_text(parent, left + 25.0, row + 4.0, text, fill=INK)
        left += advance
    return row + ROW if entries or legend.marks else row


def _mark(parent: Element, mark: str, x: float, y: float) -> None:
    if mark == "fixed":
        add_line(parent, [(x - 9.0, y), (x + 9.0, y)], stroke=FAINT, stroke_width="6")
    elif mark == "free":
        add_rect(parent, Rect(x, y, 18.0, 12.0), rx="4", fill="#fff7e0", stroke=INK, stroke_width="2.5")
    else:
        add_text(parent, x - 4.0, y + 4.0, "▶", fill=PORT_COLOUR)


def _row(parent: Element, title: str, members: Sequence[str], corner: tuple[float, float], width: float) -> float:
    """A bold title and its members, wrapped."""
    x, y = corner
    add_text(parent, x, y + 4.0, title, fill=INK, font_weight="bold")
    indent = CHARACTER * 1.1 * len(title) + 12.0
    line = ""
    for index, member in enumerate(members):
        word = member + (", " if index + 1 < len(members) else "")
        if line and CHARACTER * len(line + word) > width - indent:
            add_text(parent, x + indent, y + 4.0, line.rstrip(), fill=INK)
            line, y = "", y + LINE
        line += word
    add_text(parent, x + indent, y + 4.0, line, fill=INK)
    return y + ROW
