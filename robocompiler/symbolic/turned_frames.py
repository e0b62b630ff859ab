"""Link frames turned about their own axes, so that a constant rotation between links costs one plane turn, or nothing.

The frame of a hinged link may stand at any angle about its hinge, and that of a sliding link about its axis.  Every
constant seat is Rz(gamma) Rx(alpha) Rz(delta): delta joins the link's own turn (or its frame), and gamma can be the
angle at which the parent's frame stands, for one child of each link.  The choice is the cheapest by a count of
products; links whose seats are signed permutations already stay as they are.  (The idea of Denavit and Hartenberg's
frames, without moving origins.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atan2, cos, hypot, pi, sin
from typing import Any

import casadi as cs
import numpy as np
from numpy.typing import NDArray

from robocompiler.symbolic.frames import clear_noise, clear_symbolic_noise
from robocompiler.symbolic.inertia import Inertia
from robocompiler.symbolic.links import Link, LinkTree, Seat
from robocompiler.symbolic.spatial import Pose

SX = Any
Array = NDArray[np.float64]
_VECTORS = 8  # vectors that a seat turns in one evaluation of the dynamics (a second moment counts for three)
_OFFSET = 12  # operations of a constant angle beside a joint's own, in two kernels


@dataclass(frozen=True)
class _Angles:
    """R = Rz(gamma) Rx(alpha) Rz(delta)."""

    gamma: float
    alpha: float
    delta: float


def turned_frames(tree: LinkTree) -> LinkTree:
    """The same tree with link frames at cheaper angles."""
    children: list[list[int]] = [[] for _ in tree.links]
    for i, link in enumerate(tree.links):
        if link.parent >= 0:
            children[link.parent].append(i)
    turns: list[float] = []  # of each link's frame about its own z axis
    links: list[Link] = []
    for i, link in enumerate(tree.links):
        seat = link.seat if link.parent < 0 else _turned_back(link.seat, turns[link.parent])
        angles = _angles(seat.R) if _movable(link) else None
        joins = angles is not None and not _plain(seat.R)
        delta = angles.delta if joins and angles is not None else 0.0
        below = [tree.links[j] for j in children[i]]
        best = _best_turn(link, below, delta) if link.turns_about_z else -delta
        turns.append(best)
        if joins and angles is not None:
            seat = Pose(_constant(_plane(2, angles.gamma) @ _plane(0, angles.alpha)), seat.p)
        links.append(_placed(link, seat, delta, best))
    return LinkTree(tuple(links), {name: _reseated(body, turns) for name, body in tree.seats.items()})


def _placed(link: Link, seat: Pose, delta: float, turn: float) -> Link:
    """The link on its new seat: Rz(delta) before its own motion, its frame turned by `turn` after it."""
    motion = link.motion
    if link.turns_about_z and (delta or turn):
        motion = Pose(cs.mtimes(motion.R, _constant(_plane(2, delta + turn))), motion.p)
    return replace(link, seat=seat, motion=motion, inertia=_matter(link.inertia, turn))


def _matter(inertia: Inertia, turn: float) -> Inertia:
    return inertia.turned_about_z(cs.SX(cos(turn)), cs.SX(-sin(turn))) if turn else inertia


def _reseated(seat: Seat, turns: Sequence[float]) -> Seat:
    return seat if seat.link < 0 else Seat(seat.link, _turned_back(seat.pose, turns[seat.link]))


def _movable(link: Link) -> bool:
    """Whether a turn of the link's frame about z leaves its axis alone (planar joints slide along x and y too)."""
    return link.turns_about_z or (link.slides and bool(link.axes[0].linear[:2].is_zero()))


def _turned_back(pose: Pose, turn: float) -> Pose:
    """Rz(turn)^-1 pose."""
    if not turn:
        return pose
    back = _constant(_plane(2, -turn))
    R = cs.mtimes(back, pose.R)
    p = clear_symbolic_noise(cs.mtimes(back, pose.p))
    return Pose(_constant(cs.DM(R).full()) if R.is_constant() else R, p)


def _best_turn(link: Link, below: Sequence[Link], delta: float) -> float:
    """The cheapest angle of a hinged link's frame: its own, or one that makes the seat of a link on it a plane turn."""
    candidates = [0.0, -delta]
    for child in below:
        angles = _angles(child.seat.R)
        if angles is not None and _movable(child) and not _plain(child.seat.R):
            candidates.append(angles.gamma)
    different = tuple(dict.fromkeys(candidates))  # mostly one, whose cost then does not matter
    if len(different) == 1:
        return different[0]
    return min(different, key=lambda turn: (_cost(link, below, delta, turn), different.index(turn)))


def _cost(link: Link, below: Sequence[Link], delta: float, turn: float) -> int:
    total = 0 if _right(delta + turn) else _OFFSET
    matter = _matter(link.inertia, turn)
    total += 2 * sum(not entry.is_zero() for part in (matter.h, matter.J) for entry in cs.vec(part).nonzeros())
    for child in below:
        seat = _turned_back(child.seat, turn)
        angles = _angles(seat.R)
        if angles is None:
            total += _VECTORS * 15
            continue
        R = np.asarray(cs.DM(seat.R).full())
        if _movable(child) and not _plain(seat.R):
            R = clear_noise(_plane(2, angles.gamma) @ _plane(0, angles.alpha))
        nonzero = R != 0
        total += _VECTORS * int(nonzero.sum() - 3 + (nonzero & (np.abs(R) != 1)).sum())
        total += 4 * sum(not seat.p[k].is_zero() for k in range(3))
    return total


def _angles(R: SX) -> _Angles | None:
    """The angles of a constant rotation, None of one with parameters in it."""
    if not R.is_constant():
        return None
    M = np.asarray(cs.DM(R).full())
    slant = hypot(M[0, 2], M[1, 2])
    if slant == 0.0:
        return _Angles(0.0, 0.0 if M[2, 2] > 0 else pi, atan2(M[1, 0] * M[2, 2], M[0, 0]))
    return _Angles(atan2(M[0, 2], -M[1, 2]), atan2(slant, M[2, 2]), atan2(M[2, 0], M[2, 1]))


def _plain(R: SX) -> bool:
    """Whether a constant rotation is a signed permutation."""
    return R.is_constant() and int((cs.DM(R).full() != 0).sum()) == 3


def _right(angle: float) -> bool:
    """Whether an angle is a whole number of right angles."""
    return bool(np.count_nonzero(clear_noise(_plane(2, angle))) == 3)


def _constant(R: Array) -> SX:
    return cs.SX(clear_noise(R))


def _plane(axis: int, angle: float) -> Array:
    """Turn about x (0) or z (2)."""
    c, s = cos(angle), sin(angle)
    if axis == 2:
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
