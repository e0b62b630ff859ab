"""Curves that join boxes across the tree, routed around the other boxes, and free places for their labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import dist

import numpy as np

from robocompiler.graph.draw_layout import Rect

XY = tuple[float, float]
ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82, 0.1, 0.9)
ASIDE = ((0.0, 0.0), (0.0, -0.6), (0.0, 0.6), (-0.55, 0.0), (0.55, 0.0), (0.0, -1.2), (0.0, 1.2))  # in label sizes
SAMPLES = 24
HIDDEN = 120.0  # price, in pixels of length, of one sample behind a box: a detour is better than a hidden curve


@dataclass(frozen=True)
class Curve:
    """A cubic Bezier curve."""

    start: XY
    control_1: XY
    control_2: XY
    end: XY

    def at(self, t: float) -> XY:
        """The point at parameter t in [0, 1]."""
        s = 1.0 - t
        weights = (s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t)
        points = (self.start, self.control_1, self.control_2, self.end)
        return (
            sum(w * p[0] for w, p in zip(weights, points, strict=True)),
            sum(w * p[1] for w, p in zip(weights, points, strict=True)),
        )


@dataclass(frozen=True)
class Obstacles:
    """Rectangles in arrays, each with the price of hiding one sample of a curve."""

    centres: np.ndarray
    halves: np.ndarray
    prices: np.ndarray

    @staticmethod
    def of(boxes: Sequence[Rect], labels: Sequence[Rect]) -> Obstacles:
        """Boxes cost HIDDEN, labels a tenth of it (a curve may pass behind their patch of paper)."""
        rects = [*boxes, *labels]
        return Obstacles(
            np.array([(rect.x, rect.y) for rect in rects]),
            # A margin inside lets the curves of a box start on its border.
            np.array([(rect.width / 2 - 1.0, rect.height / 2 - 1.0) for rect in rects]),
            np.array([HIDDEN] * len(boxes) + [HIDDEN / 10] * len(labels)),
        )

    def price(self, points: np.ndarray) -> np.ndarray:
        """Total price of each of several curves, given by their points (curves, samples, 2)."""
        inside = (np.abs(points[:, :, None, :] - self.centres) < self.halves).all(axis=3)
        total: np.ndarray = (inside * self.prices).sum(axis=(1, 2))
        return total


def route(a: Rect, b: Rect, lanes: tuple[float, float], lift: float, obstacles: Obstacles) -> Curve:
    """The cheapest curve from box a to box b: short, and rarely behind other boxes.

    `lanes`, each in (-1, 1), spread the curves that end at one box; `lift` moves parallel curves apart.
    """
    t = np.linspace(0.0, 1.0, SAMPLES)[:, None]
    s = 1.0 - t
    basis = np.hstack((s**3, 3 * s * s * t, 3 * s * t * t, t**3))
    curves = list(_candidates(a, b, lanes, lift))
    points = basis @ np.array([(curve.start, curve.control_1, curve.control_2, curve.end) for curve in curves])
    lengths = np.linalg.norm(np.diff(points, axis=1), axis=2).sum(axis=1)
    # Rounded, so that equal routes stay equal (the first one wins) whatever their last bits are.
    costs = np.round(lengths + obstacles.price(points[:, 1:-1]), 3)
    return curves[int(np.argmin(costs))]


def _candidates(a: Rect, b: Rect, lanes: tuple[float, float], lift: float) -> Iterator[Curve]:
    for (start, out_a), (end, out_b) in product(_anchors(a, lanes[0]), _anchors(b, lanes[1])):
        far = dist(start, end)
        for reach_a, reach_b in product((26.0 + 0.1 * far, 0.35 * far, 0.7 * far), repeat=2):
            reach = (reach_a + lift, reach_b + lift)
            yield Curve(start, _along(start, out_a, reach[0]), _along(end, out_b, reach[1]), end)


def _anchors(box: Rect, lane: float) -> tuple[tuple[XY, XY], ...]:
    """Points on the bottom, left and right of a box with their outward directions (the top is the tree joint's)."""
    x, y = box.x + 0.4 * lane * box.width, box.y + 0.3 * lane * box.height
    half = box.width / 2
    return ((x, box.bottom), (0.0, 1.0)), ((box.x - half, y), (-1.0, 0.0)), ((box.x + half, y), (1.0, 0.0))


def _along(point: XY, direction: XY, length: float) -> XY:
    return point[0] + length * direction[0], point[1] + length * direction[1]


def label_place(curve: Curve, width: float, height: float, taken: Sequence[tuple[Rect, float]]) -> Rect:
    """Where a label of the given size lies on (or beside) the curve at the least price.

    `taken` are (rectangle, price of covering one square pixel of it).
    """
    best, least = Rect(*curve.at(0.5), width, height), float("inf")
    for aside in ASIDE:
        for t in ALONG:
            x, y = curve.at(t)
            rect = Rect(x + aside[0] * width, y + aside[1] * height, width, height)
            cost = round(sum(price * rect.overlap(other) for other, price in taken), 3)
            if cost == 0.0:
                return rect
            if cost < least:
                best, least = rect, cost
    return best
