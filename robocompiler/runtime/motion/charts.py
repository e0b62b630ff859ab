"""`ChartSwitcher`: keeps a moving robot in a chart that is good where it is; tells a singular chart from a lost rank.

A chart can be singular at a pose where the mechanism is not: R_p loses rank, C does not.  There another chart goes on
with the same motion, by exact transfer,

    u_new = F u,                   F = rows of E at the new independents
    udot_new = F udot + Fdot u = rows of E udot + Edot u

Where C itself loses rank the mechanism changes its freedoms, no chart helps, and nothing is switched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import instance, named, number
from robocompiler.errors import ArgumentError, LoadError, RankError
from robocompiler.numerics.gap import CLEAR
from robocompiler.runtime.arrays import vector
from robocompiler.runtime.motion.rank_watch import RankChange, RankWatch

if TYPE_CHECKING:
    from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SwitchLimits:
    """When to change charts.

    A chart is left when the quality of a module falls below `leave`, and entered at `enter` or above: the two differ so
    that nothing is changed to and fro.  rank: relative singular value of the scaled condensed Jacobian below which its
    rank counts as lost; home: a chart to return to whenever it is as good as `enter`, if any.
    """

    leave: float = 0.2
    enter: float = 0.4
    rank: float = CLEAR
    home: str | None = None

    def __post_init__(self) -> None:
        """ValueError for thresholds in no order."""
        for name in ("leave", "enter", "rank"):
            number(getattr(self, name), name, above=0.0)
        if self.home is not None:
            instance(self.home, str, "home", "the name of a chart, or None")
        if not 0 < self.leave < self.enter <= 1:
            raise ArgumentError(f"0 < leave < enter <= 1 is needed, not leave={self.leave}, enter={self.enter}")


@dataclass(frozen=True)
class Switch:
    """One change of chart: when, from which to which, the module that made it, and the qualities of both charts."""

    at: float
    source: str
    target: str
    module: str
    before: float
    after: float


@dataclass(frozen=True)
class ChartState:
    """The motion in the active chart: u (d,), and udot (d,) where it was given; `event` is what this check changed."""

    chart: str
    u: Array
    udot: Array | None
    event: Switch | RankChange | None

    @property
    def ok(self) -> bool:
        """Whether the motion may go on."""
        return not isinstance(self.event, RankChange)


class ChartSwitcher:
    """Watches the charts of one robot along a motion.  For one motion at a time; `start` begins a new one."""

    def __init__(self, robot: Robot, limits: SwitchLimits) -> None:
        """LoadError for a robot compiled without `charts`; ValueError for a home that is no chart."""
        evaluation = robot.evaluation
        if not evaluation.library.has("quality") and robot.modules:
            raise LoadError(
                f"{robot.name}: compiled without charts to switch between; compile(..., charts='auto') or "
                "robocompile MODEL --charts auto compiles them"
            )
        self.limits = limits
        self.robots: dict[str, Robot] = {name: robot.chart(name) for name in robot.charts}
        if limits.home is not None:
            named("chart", limits.home, self.robots)
        self._chart = robot.chart_name
        self._watch = RankWatch(evaluation, limits.rank)
        self._events: list[Switch | RankChange] = []

    @property
    def chart(self) -> str:
        """Name of the active chart."""
        return self._chart

    @property
    def robot(self) -> Robot:
        """The robot in the active chart."""
        return self.robots[self._chart]

    @property
    def events(self) -> tuple[Switch | RankChange, ...]:
        """Everything that happened since `start`, in order."""
        return tuple(self._events)

    def start(self, chart: str) -> None:
        """Begin a motion in a chart; the events of before are forgotten."""
        self._chart = named("chart", chart, self.robots)
        self._watch.reset()
        self._events.clear()

    # --- charts ---

    def qualities(self, q: ArrayLike, chart: str) -> Mapping[str, float]:
        """Quality of every module of a chart at an assembled q: 1 is best, 0 is singular; see the generated header."""
        robot = self.robots[named("chart", chart, self.robots)]
        names = [module.name for module in robot.modules]
        evaluation = robot.evaluation
        values, _ = evaluation.get(f"{evaluation.prefix}quality", (robot.checked(q),), (len(names),))
        return dict(zip(names, map(float, values), strict=True))

    def quality(self, q: ArrayLike, chart: str) -> float:
        """That of the chart's worst module; 0 off the assembly branch that the port and the inner chart hold.

        The mechanics of the port chart are computed in the inner chart, so that it is no better than that one.
        """
        named("chart", chart, self.robots)
        if self.robots[chart].acceptance.off_branch(self.robots[chart].checked(q)):
            return 0.0
        own = min(self.qualities(q, chart).values(), default=1.0)
        return min((own, *self.qualities(q, "inner").values())) if chart == "port" and own else own

    def transfer(self, q: ArrayLike, u: ArrayLike, target: str) -> Array:
        """u (d,) of the active chart in another one: u_new = F u.  RankError where the active chart is singular."""
        wanted = self.robots[named("chart", target, self.robots)]
        return np.asarray(self.robot.velocity(q, u)[wanted.independent_indices])

    def transfer_acceleration(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, target: str) -> Array:
        """udot (d,) of the active chart in another one: F udot + Fdot u, from the accelerations of all velocities."""
        wanted = self.robots[named("chart", target, self.robots)]
        return np.asarray(self.robot.acceleration(q, u, udot)[wanted.independent_indices])

    # --- along a motion ---

    def check(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike | None = None, at: float = 0.0) -> ChartState:
        """Judge the pose reached, and change the chart if that is due.

        Args:
            q (nq,): assembled; u, udot (d,): in the active chart.
            at: time or parameter of the motion, for the events.

        Returns:
            The state in the chart that is active now.  After a change of rank `ok` is False: q lies at a singular pose
            of the mechanism (or beyond one, if `crossed`), the chart stays, and further checks raise RankError.

        Raises:
            RankError: the motion went on after a change of rank.
        """
        robot = self.robot
        value, d, at = robot.checked(q), len(robot.independent), number(at, "at")
        speeds, rate = vector(u, d, "u").copy(), None if udot is None else vector(udot, d, "udot").copy()
        if self._events and isinstance(self._events[-1], RankChange):
            raise RankError(
                f"{robot.name}: the rank of the closures changed at {self._events[-1].at:g}; no chart leads on from "
                "there, start a new motion",
                {"event": self._events[-1]},
            )
        lost = self._watch.look(value, robot.acceptance, at)
        if lost is not None:
            self._events.append(lost)
            return ChartState(self._chart, speeds, rate, lost)
        target = self._wanted(value)
        if target is None:
            return ChartState(self._chart, speeds, rate, None)
        own = self.qualities(value, self._chart)
        weakest = min(
            own, key=lambda name: own[name], default=""
        )  # without loops every chart is good, and none is left
        event = Switch(at, self._chart, target, weakest, own.get(weakest, 1.0), self.quality(value, target))
        moved = self.transfer(value, speeds, target)
        moved_rate = None if rate is None else self.transfer_acceleration(value, speeds, rate, target)
        self._chart = target
        self._watch.enter(value, self.robot.acceptance)
        self._events.append(event)
        return ChartState(target, moved, moved_rate, event)

    def rank_change(self, q: ArrayLike, at: float) -> RankChange | None:
        """The change of rank at q, recorded as an event; None where the rank is what it was at compile time."""
        lost = self._watch.change_at(self.robot.checked(q), number(at, "at"), crossed=False)
        if lost is not None:
            self._events.append(lost)
        return lost

    def _wanted(self, q: Array) -> str | None:
        """The chart to change to, None to stay."""
        home, own = self.limits.home, self.quality(q, self._chart)
        if home is not None and home != self._chart and self.quality(q, home) >= self.limits.enter:
            return home
        if own >= self.limits.leave:
            return None
        others = {name: self.quality(q, name) for name in self.robots if name != self._chart}
        best = max(others, key=lambda name: others[name], default=None)
        return best if best is not None and others[best] >= self.limits.enter else None
