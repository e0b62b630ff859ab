"""How far each port can be driven from the reference, alone, by continuation with the compiled corrector.

At an assembled q the port of row k of ldot = L u is driven at unit speed by the least u (per sizes of the speeds) with
L_k u = 1 and L_j u = 0 for the ports that are held; q moves by a tangent step E u dl, is assembled again, and u is
corrected until all these displacements are what they should be.  Steps are measured by the joint that moves most, so
that they shrink where the port's leverage dl/dx vanishes: there it has a dead centre, which is the end of the walk.
Needs numpy and the public interface of `Robot` only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import AssemblyError, RankError
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]
Edges = dict[tuple[str, int], float]

STEP = 0.1  # motion of the fastest joint in one step: rad, or sizes of its speed
SMALLEST = 1e-6  # the same of a step that is no longer halved
FLAT = 1e-4  # leverage, relative to the best on the way, at which a dead centre counts as reached
AT_LIMIT = 1e-9  # distance of a coordinate, in its own unit, at which its limit counts as reached
TURN = 2 * math.pi  # how far a port in radians is driven where nothing ends its motion
FAR = 3.0  # the same of a port in metres, in length scales
_CORRECTIONS = 8
_PRECISE = 1e-10  # displacements, in their sizes
_STILL = 1e-9  # rates, in sizes, that count as none


class Cause(StrEnum):
    """What ends a port's motion."""

    PORT_LIMIT = "limit of the port"
    JOINT_LIMIT = "joint limit"
    DEAD_CENTRE = "dead centre"
    SINGULAR = "singular pose of the port chart"
    SEARCHED = "no end found"
    LOCKED = "does not move at the reference"


@dataclass(frozen=True)
class Sizes:
    """One unit of every velocity (nv,) and of every port displacement (nf,): 1 rad, or a length in metres."""

    velocities: Array
    ports: Array
    turning: tuple[bool, ...]  # whether a port's displacement is an angle


@dataclass(frozen=True)
class End:
    """The last displacement that was assembled on one side, what ends the motion there, and the joint that does.

    q (nq,): the assembled configuration with that displacement.
    """

    displacement: float
    cause: Cause
    joint: str
    q: Array = field(repr=False, compare=False)


@dataclass(frozen=True)
class PortRange:
    """The range of one port's displacement (rad or m) through the reference, with all other ports held.

    carried: ports that are not held, because they cannot move apart from it (redundant actuation); steps: how many
    configurations were assembled on the way.
    """

    port: str
    reference: float
    lower: End
    upper: End
    carried: tuple[str, ...]
    steps: int


def port_ranges(robot: Robot, sizes: Sizes) -> tuple[PortRange, ...]:
    """The range of every port of a robot in its port chart, in port order.

    Args:
        sizes: see `Sizes`.

    Freedoms without a port move as little as they can: those that are independent speeds of their own, such as a
    floating base, not at all.  Limits of all joints count.  Deterministic.
    """
    return tuple(port_range(robot, index, sizes) for index in range(len(robot.ports)))


def port_range(robot: Robot, port: int, sizes: Sizes) -> PortRange:
    """The range of the port with this index; see `port_ranges`."""
    start = robot.assemble(robot.reference)  # run-time parameters may have opened it
    names = [entry.name for entry in robot.ports]
    here = float(robot.port_displacement(start)[port])
    weights = sizes.velocities[[robot.velocities.index(name) for name in robot.independent]]
    L = robot.port_map(start) * weights / sizes.ports[:, None]
    if np.abs(L[port]).max(initial=0.0) < _STILL:
        end = End(here, Cause.LOCKED, "", start)
        return PortRange(names[port], here, end, end, (), 0)
    walk = _Walk(robot, port, sizes, _held(L, port))
    carried = tuple(names[k] for k in walk.carried(start))
    lower, upper = walk.to_end(start, -1), walk.to_end(start, 1)
    return PortRange(names[port], here, lower, upper, carried, walk.steps)


def _held(L: Array, port: int) -> tuple[int, ...]:
    """The other ports that can be held while this one moves: rows of L (nf, d) independent of it and of one another."""
    kept, rank = [port], 1
    for other in range(L.shape[0]):
        if other != port and np.linalg.matrix_rank(L[[*kept, other]], tol=_STILL * np.abs(L).max()) > rank:
            kept, rank = [*kept, other], rank + 1
    return tuple(kept[1:])


@dataclass
class _Stride:
    """The step to be tried: motion of the fastest joint, and how the leverage changed over the last one."""

    size: float = STEP
    leverage: float = 0.0
    best: float = 0.0
    moved: float = 0.0

    def next(self, leverage: float) -> float:
        """The size of a step from here; near a dead centre 3/8 of the way to it, which halves that way."""
        falling = self.leverage - leverage
        left = leverage * self.moved / falling if falling > 0 else math.inf
        self.leverage, self.best = leverage, max(self.best, leverage)
        return min(self.size, 0.375 * left)

    def halve(self, size: float) -> None:
        """A step of this size failed."""
        self.size, self.moved = min(size, self.size) / 2, 0.0


class _Walk:
    """Drives one port of a robot with others held."""

    def __init__(self, robot: Robot, port: int, sizes: Sizes, held: Sequence[int]) -> None:
        self.robot, self.port, self.held, self.sizes = robot, port, tuple(held), sizes
        self.steps = 0
        self._rows = [port, *held]
        place = [robot.velocities.index(name) for name in robot.independent]
        self._weights = sizes.velocities[place]

    def to_end(self, q: Array, sign: int) -> End:
        """Drive the port upwards (1) or downwards (-1) until its motion ends."""
        unit = float(self.sizes.ports[self.port])
        targets = self.robot.port_displacement(q)[self._rows]
        place = float(targets[0])
        bound, reason = self._bound(place, sign)
        stride = _Stride()
        while sign * (bound - place) > 0:
            try:
                v, leverage = self._tangent(q)
            except RankError:
                return End(place, Cause.SINGULAR, "", q)
            size = stride.next(leverage)
            if leverage < FLAT * stride.best:
                return End(place, Cause.DEAD_CENTRE, self._fastest(v), q)
            ahead = sign * min(size * leverage * unit, sign * (bound - place))
            step = _Step(self, q, targets, place, ahead, v * ahead)
            try:
                q, joint = step.taken()
            except (AssemblyError, RankError):
                stride.halve(size)
                if stride.size < SMALLEST:
                    return End(place, Cause.SINGULAR, "", q)
                continue
            last, place = place, float(self.robot.port_displacement(q)[self.port])
            self.steps += 1
            if joint:
                return End(place, Cause.JOINT_LIMIT, joint, q)
            stride.moved = abs(place - last) / unit / leverage
            stride.size = min(STEP, 2 * stride.size)
        return End(place, reason, "", q)

    def carried(self, q: Array) -> tuple[int, ...]:
        """Ports that are not held and move with this one at q."""
        rates = self.robot.port_map(q) @ self._speeds(q, np.eye(len(self._rows))[0])
        still = _STILL * self.sizes.ports / float(self.sizes.ports[self.port])
        return tuple(k for k, rate in enumerate(rates) if k not in self._rows and abs(rate) > still[k])

    def _bound(self, place: float, sign: int) -> tuple[float, Cause]:
        """Where the walk is to end at the latest: at the port's own limit, or else far away."""
        limits = self.robot.ports[self.port].limits.get("displacement")
        if limits is not None:
            return float(limits[1 if sign > 0 else 0]), Cause.PORT_LIMIT
        far = TURN if self.sizes.turning[self.port] else FAR * float(self.sizes.ports[self.port])
        return place + sign * far, Cause.SEARCHED

    def _tangent(self, q: Array) -> tuple[Array, float]:
        """v (nv,) per unit of the port's displacement, and its leverage: port motion over that of the fastest joint."""
        v = np.asarray(self.robot.lift(q) @ self._speeds(q, np.eye(len(self._rows))[0]))
        fastest = float(np.abs(v / self.sizes.velocities).max()) * float(self.sizes.ports[self.port])
        return v, 1.0 / fastest

    def _speeds(self, q: Array, change: Array) -> Array:
        """The least u (d,), in sizes of the speeds, that gives the driven and the held ports these rates."""
        L = self.robot.port_map(q)[self._rows] * self._weights
        scale = self.sizes.ports[self._rows]
        y, _, rank, _ = np.linalg.lstsq(L / scale[:, None], change / scale, rcond=1e-12)
        if rank < len(self._rows):
            raise RankError(f"{self.robot.name}: the ports lose a direction of motion here", {"rank": int(rank)})
        return np.asarray(self._weights * y)

    def _fastest(self, v: Array) -> str:
        return self.robot.velocities[int(np.abs(v / self.sizes.velocities).argmax())].partition(":")[0]

    def assembled(self, q: Array, wanted: Array, dv: Array) -> Array:
        """q moved by dv, assembled, and corrected until the driven and held ports stand at `wanted`.

        AssemblyError where that does not succeed, or ends somewhere else than where the tangent leads.
        """
        predicted = self.robot.integrate(q, dv)
        found = self.robot.assemble(predicted)
        for _ in range(_CORRECTIONS):
            miss = wanted - self.robot.port_displacement(found)[self._rows]
            if np.abs(miss / self.sizes.ports[self._rows]).max() < _PRECISE:
                break
            step = self.robot.lift(found) @ self._speeds(found, miss)
            found = self.robot.assemble(self.robot.integrate(found, step))
        else:
            raise AssemblyError(f"{self.robot.name}: the ports do not come to their displacements")
        if np.abs(found - predicted).max() > 0.5 * np.abs(predicted - q).max() + 1e-9:
            raise AssemblyError(f"{self.robot.name}: the step leads somewhere else than its tangent")
        return found


@dataclass(frozen=True)
class _Step:
    """One step of a walk: from q, where the port stands at `place`, by `ahead` along dv."""

    walk: _Walk
    q: Array
    targets: Array
    place: float
    ahead: float
    dv: Array

    def taken(self) -> tuple[Array, str]:
        """The configuration after the step and '', or the one where a joint meets its limit and that joint's name.

        AssemblyError or RankError where there is neither.
        """
        try:
            return self._at(1.0), ""
        except AssemblyError as error:
            if not _beyond_limits(error):
                raise
            return self._to_limit(error)

    def _at(self, fraction: float) -> Array:
        targets = self.targets.copy()
        targets[0] = self.place + fraction * self.ahead
        return self.walk.assembled(self.q, targets, fraction * self.dv)

    def _to_limit(self, error: AssemblyError) -> tuple[Array, str]:
        """Regula falsi (Illinois) on how far coordinates are beyond their limits, between the start and the full step.

        Limits become known as steps violate them.
        """
        known = _edges(error)
        low, high, inside = 0.0, 1.0, self.q
        below, _ = self._excess(inside, known)
        above, joint = self._excess(error.q, known)
        side = 0
        while below < -AT_LIMIT and high - low > 1e-13:
            fraction = (low * above - high * below) / (above - below)
            try:
                inside = self._at(fraction)
            except AssemblyError as found:
                if not _beyond_limits(found):
                    raise
                if not _edges(found).keys() <= known.keys():
                    known |= _edges(found)
                    below, _ = self._excess(inside, known)
                high, (above, joint) = fraction, self._excess(found.q, known)
                below /= 2 if side > 0 else 1
                side = 1
            else:
                low, (below, _) = fraction, self._excess(inside, known)
                above /= 2 if side < 0 else 1
                side = -1
        return inside, joint.partition(":")[0]

    def _excess(self, q: Array, edges: Edges) -> tuple[float, str]:
        """How far the worst coordinate is beyond its edge (negative: inside), and which one it is."""
        robot = self.walk.robot
        beyond = {(name, side): side * (float(robot.joint(q, name)) - edge) for (name, side), edge in edges.items()}
        worst = max(beyond, key=lambda place: (beyond[place], place))
        return beyond[worst], worst[0]


def _edges(error: AssemblyError) -> Edges:
    """The limits that were violated, by coordinate and side (-1: the lower one)."""
    found = {}
    for name, (value, lower, upper) in error.limits.items():
        side = -1 if value < lower else 1
        found[name, side] = upper if side > 0 else lower
    return found


def _beyond_limits(error: AssemblyError) -> bool:
    """Whether a configuration was assembled but for its joint limits."""
    return error.eta == 1.0 and bool(error.limits) and error.q is not None
