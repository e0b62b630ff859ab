"""Places the bodies of a tree in layers below the world: compact, without overlap, deterministic.

Subtrees are packed from left to right by their contours (Reingold and Tilford): per layer, the next subtree begins
behind the right-most box so far.  All boxes of a layer share one height, so that comparing layers is comparing boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robocompiler.graph.draw_style import CHARACTER, LINE

WRAP = 17  # characters of a line
SEPARATORS = "_-./ "
COLUMN_GAP = 14.0
LAYER_GAP = 42.0
PADDING = 7.0


@dataclass(frozen=True)
class Rect:
    """An axis-aligned rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: Rect) -> float:
        """The area shared with `other`."""
        w = (self.width + other.width) / 2 - abs(self.x - other.x)
        h = (self.height + other.height) / 2 - abs(self.y - other.y)
        return max(w, 0.0) * max(h, 0.0)

    @property
    def top(self) -> float:
        """The smaller y of the rectangle."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """The larger y of the rectangle."""
        return self.y + self.height / 2


def wrap(text: str, width: int = WRAP) -> tuple[str, ...]:
    """Break a name behind its separators (or hard, where it has none) into lines of at most `width` characters."""
    pieces, piece = [], ""
    for character in text:
        piece += character
        if character in SEPARATORS or len(piece) == width:
            pieces.append(piece)
            piece = ""
    lines = [""]
    for part in [*pieces, piece] if piece else pieces:
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return tuple(lines)


def text_width(lines: Sequence[str]) -> float:
    """Width of the longest line in pixels."""
    return CHARACTER * max((len(line) for line in lines), default=0)


@dataclass(frozen=True)
class Item:
    """A body to place: the lines in its box and the lines of the joint label above it."""

    lines: tuple[str, ...]
    label: tuple[str, ...]

    @property
    def box_width(self) -> float:
        """Width of the box."""
        return max(text_width(self.lines), 30.0) + 2 * PADDING

    @property
    def column(self) -> float:
        """Width that the box and its label (with a type badge on the left) need."""
        return max(self.box_width, text_width(self.label) + 24.0)


def place(root: str, children: Mapping[str, Sequence[str]], items: Mapping[str, Item]) -> tuple[dict[str, Rect], ...]:
    """Boxes and label areas by body; x starts at 0 and y at 0."""
    order = _preorder(root, children)
    layer = {root: 0}
    for body in order:
        layer.update(dict.fromkeys(children.get(body, ()), layer[body] + 1))
    x = _columns(order, children, {name: item.column for name, item in items.items()})
    shift = min(x[name] - items[name].column / 2 for name in order)

    depth = max(layer.values()) + 1
    heights = [LINE * max(len(items[n].lines) for n in order if layer[n] == k) + 2 * PADDING for k in range(depth)]
    labels = [LINE * max(len(items[n].label) for n in order if layer[n] == k) for k in range(depth)]
    boxes, areas, y = {}, {}, 0.0
    for k in range(depth):
        y += labels[k]
        for name in (n for n in order if layer[n] == k):
            item = items[name]
            high = LINE * len(item.label)
            areas[name] = Rect(x[name] - shift, y - 4 - high / 2, item.column, high)
            boxes[name] = Rect(x[name] - shift, y + heights[k] / 2, item.box_width, heights[k])
        y += heights[k] + LAYER_GAP
    return boxes, areas


def _preorder(root: str, children: Mapping[str, Sequence[str]]) -> list[str]:
    order, stack = [], [root]
    while stack:
        body = stack.pop()
        order.append(body)
        stack += reversed(children.get(body, ()))
    return order


def _columns(
    order: Sequence[str], children: Mapping[str, Sequence[str]], width: Mapping[str, float]
) -> dict[str, float]:
    """Centres of the columns, the root at 0."""
    offset: dict[str, float] = {}  # of a child from its parent
    contours: dict[str, tuple[list[float], list[float]]] = {}  # left and right edges per layer, from the subtree's root
    for body in reversed(order):
        left: list[float] = []
        right: list[float] = []
        for child in children.get(body, ()):
            child_left, child_right = contours.pop(child)
            shift = max((r - c for r, c in zip(right, child_left, strict=False)), default=0.0)
            shift += COLUMN_GAP if right else 0.0
            offset[child] = shift
            left += [shift + edge for edge in child_left[len(left) :]]
            right[: len(child_right)] = [shift + edge for edge in child_right]
        placed = children.get(body, ())
        middle = (offset[placed[0]] + offset[placed[-1]]) / 2 if placed else 0.0
        for child in placed:
            offset[child] -= middle
        half = width[body] / 2
        contours[body] = ([-half, *(e - middle for e in left)], [half, *(e - middle for e in right)])
    x = {order[0]: 0.0}
    for body in order:
        for child in children.get(body, ()):
            x[child] = x[body] + offset[child]
    return x
