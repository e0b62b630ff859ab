"""Following wanted coordinates through dead centres: continuation by arclength, with the charts switched on the way.

The coordinates y of the target go along a straight line, y(q) = y_0 + s (y_1 - y_0).  Together with the closures that
is a curve in (q, s), whose tangent (t, s') is the null vector of

    [ C    0           ]
    [ P   -(y_1 - y_0) ]        P: the rows of y among the velocities     (scaled)

It exists also where s turns back, at a dead centre of y itself, so that no set of inputs is needed that is good all the
way.  Each point is closed by Newton steps of least norm, accepted like any assembled pose, and shown to the switcher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import mapping, number
from robocompiler.errors import ArgumentError, AssemblyError
from robocompiler.numerics.gauss_newton import truncated_solve
from robocompiler.runtime.manifold import difference
from robocompiler.runtime.motion.charts import ChartSwitcher, Switch
from robocompiler.runtime.motion.rank_watch import RankChange
from robocompiler.runtime.motion.reports import Cause, Stop

Array = NDArray[np.float64]

CLOSED = 1e-13
CORRECTIONS = 8
BEND = 0.96  # least cosine between the tangents of neighbouring points
SMALLEST = 1.0 / 256  # of the first step


@dataclass(frozen=True)
class Returned:
    """The path came back to where it began, so that it leads nowhere else; fraction: of the way that it reached."""

    fraction: float

    def __str__(self) -> str:
        return f"the path came back to where it began; {self.fraction:.6g} of the way was possible"


@dataclass(frozen=True)
class Passage:
    """The points of a path through dead centres.

    q (n, nq): accepted points, the first where it began; fraction (n,): s at each; length (n,): scaled arclength, the
    parameter `at` of the events; u (d,): speeds per unit of arclength at the last point, in the chart named `chart`;
    stop: why it ended before s = 1, None where it arrived.
    """

    q: Array
    fraction: Array
    length: Array
    u: Array
    chart: str
    events: tuple[Switch | RankChange, ...]
    stop: Stop | Returned | RankChange | None

    @property
    def reached(self) -> bool:
        """Whether it arrived."""
        return self.stop is None


def pass_through(
    switcher: ChartSwitcher,
    q: ArrayLike,
    target: Mapping[str, float],
    *,
    step: float = 0.1,
    longest: float = 50.0,
) -> Passage:
    """Follow a path on which d coordinates go to target values, wherever it leads.

    Args:
        q (nq,): an assembled configuration.
        target: values of as many scalar coordinates as there are freedoms; others than the chart's inputs will do.
        step, longest: scaled arclength (rad, lengths over the length scale) of one step and of the whole path.

    Raises:
        AssemblyError: q is not assembled.
        ValueError: the wrong number of coordinates, or a name that is no scalar coordinate.
    """
    step, longest = number(step, "step", above=0.0), number(longest, "longest", above=0.0)
    wanted = mapping(target, "target", "{coordinate: value}")
    path = _Path(switcher, switcher.robot.checked(q), wanted)
    switcher.start(switcher.chart)
    return path.run(step, longest)


class _Path:
    def __init__(self, switcher: ChartSwitcher, q: Array, target: Mapping[str, float]) -> None:
        robot = switcher.robot
        self.switcher, self.evaluation = switcher, robot.evaluation
        self.description = self.evaluation.description
        if not robot.acceptance.closed(q):
            raise AssemblyError(
                f"{robot.name}: a path begins at an assembled configuration; assemble(q) first",
                residual=robot.acceptance.residual(q), joint="", eta=0.0, limits={}, q=q,
            )  # fmt: skip
        if len(target) != len(robot.independent):
            raise ArgumentError(
                f"{len(robot.independent)} coordinates are needed, as many as freedoms, not {len(target)}"
            )
        places = [self._place(name, value) for name, value in target.items()]
        self.coordinates = np.array([k for k, _ in places], dtype=np.intp)
        columns = np.array([k for _, k in places], dtype=np.intp)
        active = {int(index): k for k, index in enumerate(self.description.active)}
        self.n = self.description.active.size
        self.units = self.description.column_scales[columns]
        self.rows = np.zeros((len(places), self.n))
        self.rows[range(len(places)), [active[int(index)] for index in columns]] = 1.0
        self.start, self.q0 = q[self.coordinates], q
        self.way = np.array([float(value) for value in target.values()]) - self.start
        self.moving = [joint for joint in self.description.joints if joint["role"] != "cut"]
        turning = [joint["v"][0] for joint in self.moving if joint["type"] in ("revolute", "continuous")]
        self.turning = np.array(turning, dtype=np.intp)

    def _place(self, name: str, value: float) -> tuple[int, int]:
        """(coordinate, velocity) of a scalar coordinate."""
        place = self.description.coordinate_slice(name)
        joint = next(j for j in self.description.joints if j["q"][0] <= place.start < sum(j["q"]))
        velocity = joint["v"][0] + place.start - joint["q"][0]
        if place.stop - place.start != 1 or joint["q"][1] != joint["v"][1]:
            raise ArgumentError(
                f"{name!r} is no scalar coordinate; only joints with one coordinate per speed can be followed"
            )
        if velocity not in self.description.active:
            raise ArgumentError(
                f"{name!r} belongs to a joint that closes a loop and is eliminated; follow another coordinate"
            )
        number(value, repr(name))
        return place.start, velocity

    # --- the curve ---

    def _matrix(self, q: Array) -> Array:
        C = self.evaluation.jacobian(q)
        top = np.hstack((C, np.zeros((C.shape[0], 1))))
        return np.vstack((top, np.hstack((self.rows, -(self.way / self.units)[:, None]))))

    def _residual(self, q: Array, s: float) -> Array:
        off = (q[self.coordinates] - self.start - s * self.way) / self.units
        return np.concatenate((self.evaluation.rows(q), off))

    def _tangent(self, q: Array, before: Array | None) -> Array | None:
        """Unit tangent (n + 1,) next to `before` (s growing at the start); None where there is no single one."""
        _, values, Vt = np.linalg.svd(self._matrix(q))
        wanted = self.n  # rank of the matrix along a regular curve
        if values.size < wanted or values[wanted - 1] < self.switcher.limits.rank * values[0]:
            return None
        t = np.asarray(Vt[-1])
        along = t[-1] if before is None else t @ before
        return t if along > 0 else -t

    def _closed(self, q: Array, s: float, fixed: bool) -> tuple[Array, float] | None:
        """(q, s) on the curve by Newton steps of least norm, s held where it is `fixed`; None where that fails."""
        free = slice(0, self.n if fixed else self.n + 1)
        for _ in range(CORRECTIONS):
            r = self._residual(q, s)
            error = float(np.abs(r).max(initial=0.0))
            if not np.isfinite(error):
                return None
            if error < CLOSED:
                return q, s
            move = np.zeros(self.n + 1)
            move[free] = -truncated_solve(self._matrix(q)[:, free], r)
            q, s = self.evaluation.retract(q, move[: self.n]), s + float(move[-1])
        return (q, s) if error < 100 * CLOSED else None

    # --- along it ---

    def _speeds(self, q: Array, t: Array) -> Array:
        """u (d,) of the active chart for a unit of arclength."""
        v = np.zeros(len(self.description.velocities))
        v[self.description.active] = t[: self.n] * self.description.column_scales[self.description.active]
        return np.asarray(v[self.switcher.robot.independent_indices])

    def _returned(self, q: Array, s: float, t: Array, first: Array, step: float) -> bool:
        """Whether the path is where it began, whole turns of joints left out, and goes the same way."""
        if abs(s) * float(np.abs(self.way / self.units).max()) > step or t @ first < BEND:
            return False
        dv = difference(self.moving, self.q0, q, len(self.description.velocities))
        dv[self.turning] = (dv[self.turning] + np.pi) % (2 * np.pi) - np.pi
        scaled = (dv / self.description.column_scales)[self.description.active]
        return float(np.linalg.norm(scaled)) < 0.75 * step

    def run(self, step: float, longest: float) -> Passage:
        """The whole path."""
        q, s, length, h = self.q0, 0.0, 0.0, step
        points, fractions, lengths = [q], [s], [length]
        t = first = self._tangent(q, None) if np.any(self.way) else None
        u = np.zeros(len(self.switcher.robot.independent)) if t is None else self._speeds(q, t)
        if t is not None:
            u = self.switcher.check(q, u, at=0.0).u
        stop: Stop | Returned | RankChange | None = None
        while s < 1.0:
            if t is None:
                stop = self._end(Cause.SMALL_PIVOT, s) if np.any(self.way) else None
                break
            last = t[-1] > 0 and s + h * t[-1] >= 1.0
            reach = (1.0 - s) / t[-1] if last else h
            found = self._closed(self.evaluation.retract(q, reach * t[: self.n]), s + reach * t[-1], last)
            following = None if found is None else self._tangent(found[0], t)
            if found is None or following is None or following @ t < BEND:
                if reach / 2 < SMALLEST * step:
                    lost = self.switcher.rank_change(q if found is None else found[0], at=length)
                    stop = lost or self._end(Cause.NOT_CONVERGED, s)
                    break
                h = reach / 2
                continue
            refused = self._refused(found[0], found[1])
            if refused is not None:
                stop = refused
                break
            state = self.switcher.check(found[0], self._speeds(found[0], following), at=length + reach)
            if isinstance(state.event, RankChange):
                stop = state.event
                break
            (q, s), t, u, length = found, following, state.u, length + reach
            s = 1.0 if last else s
            points.append(q)
            fractions.append(s)
            lengths.append(length)
            if length > longest:
                stop = self._end(Cause.WORK, s)
                break
            if first is not None and len(points) > 4 and self._returned(q, s, t, first, step):
                stop = Returned(max(fractions))
                break
            h = min(step, 2 * reach)
        events = self.switcher.events
        places = np.array(points), np.array(fractions), np.array(lengths)
        return Passage(*places, u, self.switcher.chart, events, stop)

    def _refused(self, q: Array, s: float) -> Stop | None:
        """Why a point of the curve is not accepted."""
        for name, (value, lower, _) in self.description.violated_limits(q).items():
            return self._end(Cause.LIMIT, s, name, "lower" if value < lower else "upper")
        return None if self.switcher.robot.acceptance.closed(q) else self._end(Cause.OPEN, s)

    def _end(self, cause: Cause, s: float, joint: str | None = None, side: str | None = None) -> Stop:
        return Stop(cause, joint, side, None, None, None, s)
