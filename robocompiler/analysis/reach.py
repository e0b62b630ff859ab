"""Where a mechanism can go: followed by arclength from the reference, one input after the other, through dead centres.

With all independents of the port chart but one held, what is left is a curve.  Its tangent t is the null vector of

    [ C; e_i for every held i ] t = 0,     |t| = 1,     t . t_before > 0        (scaled)

which exists wherever the rows are independent, so also where the moving input itself stands still: R_p of the port
chart is singular there, the curve is not.  A step is a move along t and a correction of least norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.numerics.gap import CLEAR
from robocompiler.numerics.gauss_newton import truncated_solve
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

STEP = 0.1  # scaled arclength: radians, or lengths over the length scale
SMALLEST = STEP / 64
STEPS = 240  # in each of the two directions: two full turns of a mechanism whose joints all turn alike
BEND = 0.95  # least cosine between tangents one step apart
CLOSED = 1e-9  # scaled residual of a pose on the curve
CORRECTIONS = 6


@dataclass(frozen=True)
class Path:
    """The poses met when one input moved in one direction (the reference left out), and why there are no more.

    end: 'closed' (back where it began), 'limit' (of a joint), 'rank' (the rank of C drops), 'long' or 'sharp'.
    """

    moved: str
    poses: tuple[Array, ...]
    end: str


def reachable(evaluator: ClosureEvaluator, reference: Array, independent: Sequence[int]) -> tuple[Path, ...]:
    """The curves through the reference along every input that moves a closure, both ways.

    Args:
        reference: an assembled configuration (nq,) at which the chart is regular.
        independent: velocity indices of the port chart's independents.
    """
    place = {int(index): k for k, index in enumerate(evaluator.active)}
    own = [place[index] for index in independent]
    touched = set(map(int, np.flatnonzero(np.any(evaluator.structure[:, evaluator.active], axis=0))))
    limits, names = _limits(evaluator), evaluator.program.topology.v_names
    found: list[Path] = []
    for column in own:
        if column not in touched:
            continue
        held = [other for other in own if other != column]
        curve = _Curve(evaluator, np.array(held, dtype=np.intp), limits)
        for sense in (1.0, -1.0):
            path = curve.follow(reference, column, sense, names[int(evaluator.active[column])])
            found.append(path)
            if path.end == "closed":  # the other direction meets the same poses
                break
    return tuple(found)


def rank_at(J: Array) -> int:
    """Rank of a scaled Jacobian, values up to CLEAR of the largest counted as zero."""
    values = np.linalg.svd(J, compute_uv=False) if min(J.shape) else np.zeros(0)
    return int(np.sum(values > CLEAR * max(float(values[0]), 1e-300))) if values.size else 0


class _Curve:
    """The motions with the columns `held` at rest."""

    def __init__(self, evaluator: ClosureEvaluator, held: Indices, limits: Sequence[tuple[int, float, float]]) -> None:
        self.evaluator, self.held, self.limits = evaluator, held, limits
        every = np.arange(evaluator.active.size)
        self.free = np.setdiff1d(every, held).astype(np.intp)
        self.turning = _turning(evaluator)
        self.sizes = _sizes(evaluator)

    def _tangent(self, q: Array, before: Array | None, column: int, sense: float) -> Array | None:
        """The unit tangent next to `before`; None where more than one motion is left (the rank of C drops)."""
        J = self.evaluator.jacobian(q)[:, self.free]
        _, values, Vt = np.linalg.svd(J)
        rank = int(np.sum(values > CLEAR * max(float(values[0]), 1e-300)))
        if rank != self.free.size - 1:
            return None
        t = np.zeros(self.evaluator.active.size)
        t[self.free] = Vt[-1]
        along = t @ before if before is not None else sense * t[column]
        return t if along > 0 else -t

    def follow(self, reference: Array, column: int, sense: float, name: str) -> Path:
        """The poses from the reference on."""
        poses: list[Array] = []
        q, t, h = reference, self._tangent(reference, None, column, sense), STEP
        start = t
        while len(poses) < STEPS:
            if t is None or start is None:
                return Path(name, tuple(poses), "rank")
            moved = self._closed(self.evaluator.retract(q, h * t))
            following = None if moved is None else self._tangent(moved, t, column, sense)
            if moved is None or following is None or following @ t < BEND or self._distance(q, moved) > 2 * h:
                if h / 2 < SMALLEST:
                    return Path(name, tuple(poses), "rank" if following is None else "sharp")
                h /= 2
                continue
            if any(not low <= moved[k] <= high for k, low, high in self.limits):
                return Path(name, tuple(poses), "limit")
            q, t = moved, following
            poses.append(q)
            if len(poses) > 3 and self._distance(q, reference) < 0.75 * STEP and t @ start > BEND:
                return Path(name, tuple(poses), "closed")
            h = min(STEP, 2 * h)
        return Path(name, tuple(poses), "long")

    def _closed(self, q: Array) -> Array | None:
        """q brought back onto the curve by a few Newton steps of least norm; None where that takes more."""
        for _ in range(CORRECTIONS):
            r = self.evaluator.rows(q)
            if float(np.abs(r).max(initial=0.0)) < CLOSED:
                return q
            step = np.zeros(self.evaluator.active.size)
            step[self.free] = -truncated_solve(self.evaluator.jacobian(q)[:, self.free], r)
            q = self.evaluator.retract(q, step)
        return None

    def _distance(self, a: Array, b: Array) -> float:
        """Scaled distance of coordinates, whole turns of revolute joints left out."""
        d = (b - a) / self.sizes
        d[self.turning] = (d[self.turning] + np.pi) % (2 * np.pi) - np.pi
        return float(np.linalg.norm(d))


def _sizes(evaluator: ClosureEvaluator) -> Array:
    """One unit of every coordinate; components of a quaternion change half as fast as its angle."""
    topology = evaluator.program.topology
    sizes = np.ones(topology.nq)
    for slot in topology.slots:
        shape = JOINT_SHAPES[topology.kind(slot.joint)]
        metres = [unit == "m" for unit in shape.coordinate_units]
        sizes[slot.q0 : slot.q0 + slot.nq][metres] = evaluator.length
    return sizes


def _turning(evaluator: ClosureEvaluator) -> Indices:
    """Coordinates that are angles of joints with one axis."""
    topology = evaluator.program.topology
    kinds = (JointType.REVOLUTE, JointType.CONTINUOUS)
    return np.array([slot.q0 for slot in topology.slots if topology.kind(slot.joint) in kinds], dtype=np.intp)


def _limits(evaluator: ClosureEvaluator) -> list[tuple[int, float, float]]:
    """(coordinate, lower, upper) of every declared position limit."""
    topology = evaluator.program.topology
    place = {name: k for k, name in enumerate(topology.q_names)}
    found = []
    for slot in topology.slots:
        joint = topology.joint(slot.joint)
        if JOINT_SHAPES[joint.type].nq != slot.nv or not joint.limits:
            continue
        for limit, name in zip(joint.limits, coordinate_names(joint.name, joint.type), strict=False):
            if limit.position is not None:
                found.append((place[name], *limit.position))
    return found
