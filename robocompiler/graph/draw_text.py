"""The few SVG elements that the drawing uses.  Text goes through ElementTree, which escapes it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from robocompiler.graph.draw_layout import Rect
from robocompiler.graph.draw_style import INK, LINE, PAPER, JointStyle


def number(value: float) -> str:
    """A coordinate with one decimal and no negative zero: the same bytes on every machine."""
    return f"{round(value, 1) + 0.0:.1f}"


def add_rect(parent: Element, rect: Rect, **style: str) -> Element:
    """A rectangle."""
    left, top = rect.x - rect.width / 2, rect.y - rect.height / 2
    place = {"x": number(left), "y": number(top), "width": number(rect.width), "height": number(rect.height)}
    return SubElement(parent, "rect", place | _attributes(style))


def add_text(parent: Element, x: float, y: float, text: str, **style: str) -> Element:
    """One line of text whose baseline starts (or is centred, by `text_anchor`) at x, y."""
    element = SubElement(parent, "text", {"x": number(x), "y": number(y)} | _attributes(style))
    element.text = text
    return element


def add_centred(parent: Element, x: float, y: float, lines: Sequence[str], **style: str) -> None:
    """Lines of text centred at x, y."""
    top = y - LINE * (len(lines) - 1) / 2 + 4.0
    for row, line in enumerate(lines):
        add_text(parent, x, top + LINE * row, line, **({"text_anchor": "middle"} | style))


def add_line(parent: Element, points: Sequence[tuple[float, float]], **style: str) -> Element:
    """A polyline."""
    path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return SubElement(parent, "polyline", {"points": path, "fill": "none"} | _attributes(style))


def add_badge(parent: Element, x: float, y: float, style: JointStyle) -> None:
    """The letter of a joint type, white on its colour, centred at x, y."""
    add_rect(parent, Rect(x, y, 17.0, 13.0), rx="3", fill=style.colour)
    look = {"text_anchor": "middle", "fill": PAPER, "font_size": "10", "font_weight": "bold"}
    add_text(parent, x, y + 3.7, style.letter, **look)


def add_halo(parent: Element, rect: Rect) -> None:
    """A nearly opaque patch of paper that keeps text legible over lines."""
    add_rect(parent, rect, rx="3", fill=PAPER, fill_opacity="0.88")


def add_swatch(parent: Element, x: float, y: float, colour: str, dash: str) -> None:
    """A short sample of a dashed line, starting at x."""
    add_line(parent, [(x, y), (x + 34.0, y)], stroke=colour or INK, stroke_width="2", stroke_dasharray=dash)


def _attributes(style: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in style.items()}
