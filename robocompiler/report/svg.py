"""Small helpers for the drawings of the page: elements with classes, whose colours the page's style sheet gives."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring


def drawing(width: float, height: float, label: str) -> Element:
    """An empty drawing of this size in px, described by `label` for readers who cannot see it."""
    size = {"viewBox": f"0 0 {number(width)} {number(height)}", "width": number(width), "height": number(height)}
    return Element("svg", {**size, "role": "img", "aria-label": label})


def add(parent: Element, tag: str, style: str, title: str = "", **places: float | str) -> Element:
    """A child of class `style`; numbers are rounded, `title` is shown under the pointer."""
    given = {name.replace("_", "-"): number(v) if isinstance(v, float | int) else v for name, v in places.items()}
    child = SubElement(parent, tag, {"class": style, **given})
    if title:
        SubElement(child, "title").text = title
    return child


def write(parent: Element, x: float, y: float, text: str, anchor: str = "start", style: str = "label") -> None:
    """A text with its baseline at (x, y)."""
    add(parent, "text", style, x=x, y=y, text_anchor=anchor).text = text


def number(value: float) -> str:
    """A coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text


def text_of(svg: Element) -> str:
    """The drawing as text, for inline use in HTML (no namespace is needed there)."""
    return tostring(svg, encoding="unicode")
