"""One spherical group made exactly spherical: anchors moved until all axes pass through one centre."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from robocompiler.numerics.gap import NOISE
from robocompiler.records.model import Joint, Placement
from robocompiler.repair.digits import (
    Vector,
    apply,
    dot,
    doubles,
    many_digits,
    nearest,
    plus,
    size,
    transposed,
    unit,
    vector,
)
from robocompiler.repair.loop_group import LoopGroup
from robocompiler.repair.zero_pose import ZeroPose, at_default, zero_pose

Array = NDArray[np.float64]

ROUNDING = Decimal("1e-12")  # of the length scale: what is off by less stays as it is


@dataclass(frozen=True)
class _Line:
    """An axis in the axes of the group's root: a point and a unit direction, as one body of `joint` has it."""

    joint: str
    point: Vector
    axis: Vector


def concentrated(
    group: LoopGroup, joints: Mapping[str, Joint], values: Mapping[str, float], length: float
) -> dict[str, Joint]:
    """The joints of a group that have to change, changed; empty where the group is exactly spherical.

    With c the centre: a tree joint's two anchors move together, square to its axis, until it passes through c; no body
    moves at zero.  A closing joint's anchors move each on its body, and anchor a along the axis as well, until c is the
    same point of the joint from either body.
    """
    with many_digits():
        pose = zero_pose(group, joints, values)
        lines = {name: _lines(joints[name], pose, values) for name in group.joints}
        c = vector(_centre(lines, group, length).tolist())
        changed = {}
        for name in group.joints:
            old, (a, b) = joints[name], lines[name]
            moves = [_to_axis(c, line, length) for line in (a, b if name in group.closing else a)]
            if name in group.closing:
                excess = dot(a.axis, plus(c, a.point, -1)) - dot(b.axis, plus(c, b.point, -1))
                if abs(excess) > ROUNDING * Decimal(length):
                    moves[0] = plus(moves[0], a.axis, excess)
            new = replace(old, a=_moved(old.a, moves[0], pose, values), b=_moved(old.b, moves[1], pose, values))
            if new != old:
                changed[name] = new
        return changed


def _lines(joint: Joint, pose: ZeroPose, values: Mapping[str, float]) -> tuple[_Line, _Line]:
    found = []
    for side in (joint.a, joint.b):
        R, p = pose.frame(side, values)
        found.append(_Line(joint.name, p, apply(R, unit(vector(joint.axis)))))
    return found[0], found[1]


def _centre(lines: Mapping[str, tuple[_Line, _Line]], group: LoopGroup, length: float) -> Array:
    """Where two axes meet to rounding and the fewest others miss, if any do; else nearest to all (least squares)."""
    seen = {
        name: [_rows(line) for line in (pair if name in group.closing else pair[:1])] for name, pair in lines.items()
    }
    every = [rows for own in seen.values() for rows in own]
    for name in group.closing:
        a, b = lines[name]
        along = doubles(plus(a.axis, b.axis, -1))[None, :]
        every.append((along, np.array([float(dot(a.axis, a.point) - dot(b.axis, b.point))])))
    best = _least(every)
    agreed = []
    for first, second in combinations(sorted(seen), 2):
        pair = seen[first] + seen[second]
        point = _least(pair)
        if max(_misfits(pair, point)) < NOISE * length:
            off = np.array(_misfits(every, point))
            agreed.append((int(np.sum(off > NOISE * length)), float(off @ off), tuple(point)))
    return np.array(min(agreed)[2]) if agreed else best


Rows = tuple[Array, Array]


def _rows(line: _Line) -> Rows:
    """(A, b): A c - b is the vector from an axis to c."""
    n = doubles(line.axis)
    A = np.eye(3) - np.outer(n, n)
    return A, A @ doubles(line.point)


def _least(rows: list[Rows]) -> Array:
    A, b = np.vstack([r[0] for r in rows]), np.concatenate([r[1] for r in rows])
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])


def _misfits(rows: list[Rows], c: Array) -> list[float]:
    return [float(np.linalg.norm(A @ c - b)) for A, b in rows]


def _to_axis(c: Vector, line: _Line, length: float) -> Vector:
    """What an axis must move to pass through c; zero below rounding."""
    arm = plus(c, line.point, -1)
    move = plus(arm, line.axis, -dot(arm, line.axis))
    return move if size(move) > ROUNDING * Decimal(length) else vector((0, 0, 0))


def _moved(side: Placement, move: Vector, pose: ZeroPose, values: Mapping[str, float]) -> Placement:
    if not any(move):
        return side
    point = plus(at_default(side, values), apply(transposed(pose.rotation[side.body]), move))
    return replace(side, translation=nearest(point))
