"""Metrics |u|_W: what counts as little motion.  W~ = F^T W F in another chart: the minimiser is the same motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import duck, mapping, named, number, one_of
from robocompiler.errors import ArgumentError, RankError
from robocompiler.runtime.mechanics import MechanicalInterface
from robocompiler.runtime.redundancy.rows import matrix

Array = NDArray[np.float64]


class Metric(Protocol):
    """Anything that gives W (d, d), symmetric positive definite, in the robot's chart."""

    def matrix(self, robot: MechanicalInterface, q: Array) -> Array:
        """W at q (nq,)."""


@dataclass(frozen=True)
class Kinetic:
    """W = M_r: least kinetic energy (J)."""

    def matrix(self, robot: MechanicalInterface, q: Array) -> Array:
        """See `Metric.matrix`."""
        return robot.mass_matrix(q)


@dataclass(frozen=True)
class Ports:
    """W = L^T D L: least sum of weighted squares of port speeds; weights by port name, 1 where none is given.

    Singular where the ports cannot feel a motion (a floating base, a passive joint): refused then.
    """

    weights: Mapping[str, float] | None = None

    def matrix(self, robot: MechanicalInterface, q: Array) -> Array:
        """See `Metric.matrix`."""
        D = _weights(self.weights, tuple(port.name for port in robot.ports), "port")
        L = robot.port_map(q)
        return np.asarray(L.T @ (D[:, None] * L))


@dataclass(frozen=True)
class Joints:
    """W = E^T D E: least weighted sum of squares of all joint speeds; weights by velocity name, 1 where not given."""

    weights: Mapping[str, float] | None = None

    def matrix(self, robot: MechanicalInterface, q: Array) -> Array:
        """See `Metric.matrix`."""
        D = _weights(self.weights, robot.velocities, "velocity")
        E = robot.lift(q)
        return np.asarray(E.T @ (D[:, None] * E))


@dataclass(frozen=True)
class UserMetric:
    """A matrix of the caller's own: (d, d) over the port chart's speeds, or (nv, nv) over all 'velocities'."""

    W: ArrayLike
    over: Literal["port", "velocities"] = "port"

    def matrix(self, robot: MechanicalInterface, q: Array) -> Array:
        """See `Metric.matrix`."""
        one_of(self.over, ("port", "velocities"), "over")
        size = len(robot.independent if self.over == "port" else robot.velocities)
        W = matrix(self.W, (size, size), "W")
        if np.abs(W - W.T).max(initial=0.0) > 1e-9 * np.abs(W).max(initial=0.0):
            raise ArgumentError("W must be symmetric")
        F = robot.lift(q) if self.over == "velocities" else robot.F(q)
        return np.asarray(F.T @ W @ F)


NAMED: dict[str, Metric] = {"kinetic": Kinetic(), "port": Ports(), "joint": Joints()}


def metric_of(metric: str | Metric) -> Metric:
    """A metric, given as itself or by name."""
    if not isinstance(metric, str):
        return cast(Metric, duck(metric, ("matrix",), "metric", f"{', '.join(map(repr, NAMED))}, or a Metric"))
    if metric not in NAMED:
        raise ArgumentError(f"no metric is called {metric!r}; there are {', '.join(NAMED)}, or give a Metric")
    return NAMED[metric]


def checked_root(robot: MechanicalInterface, W: Array) -> Array:
    """L (d, d) lower triangular with W = L L^T.  RankError, with the motion that W does not feel, if there is none."""
    scale = np.sqrt(np.maximum(np.diag(W), np.finfo(np.float64).tiny))
    values, vectors = np.linalg.eigh((W + W.T) / 2 / np.outer(scale, scale)) if W.size else (np.ones(1), np.eye(1))
    if values[0] <= 1e-13:
        direction = vectors[:, 0] / scale
        direction = direction / direction[np.argmax(np.abs(direction))]
        named = {n: float(x) for n, x in zip(robot.independent, direction, strict=True) if abs(x) > 1e-6}
        text = ", ".join(f"{n}: {x:.4g}" for n, x in named.items())
        raise RankError(
            f"{robot.name}: the metric is not positive definite here: moving along ({text}) costs nothing; "
            "choose another metric, or give weights to all joints",
            {"direction": named},
        )
    return np.asarray(np.linalg.cholesky((W + W.T) / 2))


def _weights(given: Mapping[str, float] | None, names: tuple[str, ...], kind: str) -> Array:
    values = dict.fromkeys(names, 1.0)
    for name, value in ({} if given is None else mapping(given, "weights", f"{{{kind}: weight}}")).items():
        values[named(kind, name, names)] = number(value, f"the weight of {kind} {name!r}", least=0.0)
    return np.array(list(values.values()))
