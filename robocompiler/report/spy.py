"""Where a matrix is not zero: one square per entry, in groups of rows and columns with their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from robocompiler.report.svg import add, drawing, text_of, write

_CELL = (5.0, 16.0)  # px of a square, at least and at most
_SIDE = 620.0  # px that the longer side of the matrix takes, where its squares allow it
_NARROW = 9.0  # px of a group that still gets its name


@dataclass(frozen=True)
class Group:
    """Some neighbouring rows or columns: what they belong to, and how many they are."""

    name: str
    size: int


@dataclass(frozen=True)
class Entry:
    """A nonzero: its place, a text for the pointer, and whether its value vanishes at the reference."""

    row: int
    column: int
    title: str
    vanishes: bool = False


@dataclass(frozen=True)
class Pattern:
    """A matrix as the page shows it; sizes of the groups add up to its rows and columns."""

    label: str
    rows: tuple[Group, ...]
    columns: tuple[Group, ...]
    entries: tuple[Entry, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return sum(g.size for g in self.rows), sum(g.size for g in self.columns)


def spy_svg(pattern: Pattern) -> str:
    """The drawing; '' for a matrix without rows or columns."""
    rows, columns = pattern.shape
    if not rows or not columns:
        return ""
    cell = min(max(_SIDE / max(rows, columns), _CELL[0]), _CELL[1])
    left = 16.0 + 6.2 * max(len(group.name) for group in pattern.rows)
    top = 16.0 + 5.2 * max(len(group.name) for group in pattern.columns)
    lean = 4.5 * len(pattern.columns[-1].name)  # names of columns lean to the right
    svg = drawing(left + cell * columns + max(24.0, lean), top + cell * rows + 10, pattern.label)
    add(svg, "rect", "sheet", x=left, y=top, width=cell * columns, height=cell * rows)
    for entry in pattern.entries:
        add(
            svg, "rect", "zero" if entry.vanishes else "entry", entry.title, x=left + cell * entry.column + 0.5,
            y=top + cell * entry.row + 0.5, width=cell - 1, height=cell - 1,
        )  # fmt: skip
    _groups(svg, pattern.rows, (left, top), (cell, cell * columns), False)
    _groups(svg, pattern.columns, (left, top), (cell, cell * rows), True)
    return text_of(svg)


def _groups(
    svg: Element, groups: Sequence[Group], corner: tuple[float, float], size: tuple[float, float], across: bool
) -> None:
    """Lines between groups, and their names before them where there is room."""
    (left, top), (cell, length) = corner, size
    at = top if not across else left
    for group in groups:
        middle, at = at + cell * group.size / 2, at + cell * group.size
        if across:
            add(svg, "line", "border", x1=at, x2=at, y1=top, y2=top + length)
        else:
            add(svg, "line", "border", x1=left, x2=left + length, y1=at, y2=at)
        if cell * group.size < _NARROW:
            continue
        if across:
            turn = f"rotate(-50 {middle:.2f} {top - 6:.2f})"
            add(svg, "text", "label", x=middle, y=top - 6, transform=turn).text = group.name
        else:
            write(svg, left - 8, middle + 4, group.name, "end")
