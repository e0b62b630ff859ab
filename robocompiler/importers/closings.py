"""Point coincidences between bodies as closing joints; several between the same bodies are one hinge or one weld.

Two points of one body that stay on two points of another leave the turn about their line: a hinge.  The constraint is
the same, one of its six rows falls away because it repeats another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robocompiler.importers.transforms import Transform, added, cross, scaled, shortest_rotation, transposed
from robocompiler.records.model import Matrix3, Vector3
from robocompiler.records.rotations import unit_direction

_SAME = 1e-9  # m: points closer than this are one point


@dataclass(frozen=True)
class PointPair:
    """A point on body a that coincides with a point on body b.

    turn: rotation of a's axes in b where the file says that the pair is closed (the joint's zero), else None.
    """

    name: str
    a: str
    b: str
    p: Vector3
    q: Vector3
    turn: Matrix3 | None
    line: int | None


@dataclass(frozen=True)
class Closing:
    """A joint of type spherical, revolute or fixed between frames on two bodies; what it was made of."""

    name: str
    type: str
    a: str
    b: str
    frame_a: Transform
    frame_b: Transform
    axis: Vector3 | None
    parts: tuple[PointPair, ...]
    remark: str = ""


def closings(pairs: Sequence[PointPair], *, merge: bool) -> list[Closing]:
    """Closing joints in the order of their first pair."""
    groups: dict[frozenset[str], list[PointPair]] = {}
    for pair in pairs:
        groups.setdefault(frozenset((pair.a, pair.b)), []).append(pair)
    result: list[Closing] = []
    for group in groups.values():
        aligned = [pair if pair.a == group[0].a else _swapped(pair) for pair in group]
        result += _merged(aligned) if merge and len(group) > 1 else [_ball(pair) for pair in aligned]
    order = {pair.name: k for k, pair in enumerate(pairs)}
    return sorted(result, key=lambda closing: min(order[pair.name] for pair in closing.parts))


def _swapped(pair: PointPair) -> PointPair:
    turn = None if pair.turn is None else transposed(pair.turn)
    return PointPair(pair.name, pair.b, pair.a, pair.q, pair.p, turn, pair.line)


def _ball(pair: PointPair, remark: str = "") -> Closing:
    turn = pair.turn or ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return Closing(
        pair.name, "spherical", pair.a, pair.b, Transform(translation=pair.p), Transform(turn, pair.q), None, (pair,),
        remark,
    )  # fmt: skip


def _merged(pairs: Sequence[PointPair]) -> list[Closing]:
    """One joint for all pairs, or the balls themselves with a remark why not."""
    first = pairs[0]
    spans = [(_between(first.p, pair.p), _between(first.q, pair.q)) for pair in pairs]
    worst = max(abs(math.hypot(*u) - math.hypot(*v)) for u, v in spans)
    if worst > _SAME:
        remark = f"the points of {_names(pairs)} are {worst:.3g} m farther apart on one body than on the other"
        return [_ball(pair, remark) for pair in pairs]
    k = max(range(len(pairs)), key=lambda index: math.hypot(*spans[index][0]))
    axis, image = (unit_direction(span) if math.hypot(*span) > _SAME else None for span in spans[k])
    if axis is None or image is None:
        return [_named(_ball(first), pairs, "their points are one point: a ball joint")]
    flat = all(math.hypot(*cross(axis, u)) <= _SAME for u, _ in spans)
    turn = first.turn or shortest_rotation(axis, image)
    if not flat and first.turn is None:
        return [_ball(pair, f"{_names(pairs)} are not on one line") for pair in pairs]
    middle_a = scaled(added(first.p, pairs[k].p), 0.5)
    middle_b = scaled(added(first.q, pairs[k].q), 0.5)
    kind, words = ("revolute", "lie on one line: a hinge") if flat else ("fixed", "do not lie on one line: a weld")
    closing = Closing(
        first.name, kind, first.a, first.b, Transform(translation=middle_a), Transform(turn, middle_b),
        axis if flat else None, (first,),
    )  # fmt: skip
    return [_named(closing, pairs, f"their points {words}")]


def _named(closing: Closing, pairs: Sequence[PointPair], words: str) -> Closing:
    """With the name that the pairs share, if they share one, and the remark."""
    names = [pair.name for pair in pairs]
    common = names[0]
    for name in names[1:]:
        while not name.startswith(common):
            common = common[:-1]
    common = common.rstrip("_-. /")
    return Closing(
        common or names[0], closing.type, closing.a, closing.b, closing.frame_a, closing.frame_b, closing.axis,
        tuple(pairs), f"the connects {_names(pairs)} tie the same bodies and {words}",
    )  # fmt: skip


def _names(pairs: Sequence[PointPair]) -> str:
    return ", ".join(pair.name for pair in pairs)


def _between(start: Vector3, end: Vector3) -> Vector3:
    return added(end, scaled(start, -1.0))
