"""The ready controller: proportional and derivative action at the ports, with inverse dynamics as feedforward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import duck, number
from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import floats
from robocompiler.runtime.drives import DriveInterface
from robocompiler.runtime.simulation.reference import Reference, Wanted

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoFeedforward:
    """The feedback alone."""

    def efforts(self, robot: DriveInterface, wanted: Wanted) -> Array:
        """Zeros (nf,)."""
        return np.zeros(len(robot.ports))


@dataclass(frozen=True)
class GravityFeedforward:
    """The efforts that hold the reference configuration still: f with L^T f = h_r(q_ref, 0)."""

    def efforts(self, robot: DriveInterface, wanted: Wanted) -> Array:
        """f (nf,) of least norm; RankError when the ports cannot produce the force."""
        return robot.port_efforts(wanted.q, robot.bias(wanted.q, np.zeros(wanted.u.size)))


@dataclass(frozen=True)
class InverseDynamics:
    """The efforts of the reference motion: f with L^T f = M_r(q_ref) udot_ref + h_r(q_ref, u_ref)."""

    def efforts(self, robot: DriveInterface, wanted: Wanted) -> Array:
        """f (nf,) of least norm; RankError when the ports cannot produce the force."""
        return robot.port_efforts(wanted.q, robot.inverse_dynamics(wanted.q, wanted.u, wanted.udot))


Feedforward = NoFeedforward | GravityFeedforward | InverseDynamics


class TrackingController:
    """f = f_ff + K_p (l_ref - l) + K_d (ldot_ref - ldot), with diagonal gains, at the ports.

    Efforts are not limited here: the simulation limits them, and counts.
    """

    def __init__(
        self,
        robot: DriveInterface,
        reference: Reference,
        kp: ArrayLike,
        kd: ArrayLike,
        *,
        feedforward: Feedforward | None = None,
        sample_time: float | None = None,
    ) -> None:
        """kp (N/m or N m/rad), kd (N s/m or N m s/rad): one number, or one per port.  feedforward: None is
        InverseDynamics().  ValueError for gains that are negative or not finite.
        """
        duck(robot, ("port_map", "port_displacement"), "robot", "a Robot")
        duck(
            reference,
            ("at",),
            "reference",
            "a Reference",
        )
        if feedforward is not None:
            duck(feedforward, ("efforts",), "feedforward", "NoFeedforward(), GravityFeedforward() or InverseDynamics()")
        if sample_time is not None:
            number(sample_time, "sample_time", above=0.0, unit="seconds")
        self._robot, self._reference = robot, reference
        self._kp, self._kd = (_gains(robot, gain, name) for gain, name in ((kp, "kp"), (kd, "kd")))
        self.feedforward: Feedforward = InverseDynamics() if feedforward is None else feedforward
        self.sample_time = sample_time

    def __call__(self, t: float, q: Array, u: Array) -> Array:
        """f (nf,)."""
        wanted = self._reference.at(t)
        error = wanted.l - self._robot.port_displacement(q)
        rate = wanted.ldot - self._robot.port_map(q) @ u
        return np.asarray(self.feedforward.efforts(self._robot, wanted) + self._kp * error + self._kd * rate)


def _gains(robot: DriveInterface, gain: ArrayLike, name: str) -> Array:
    value = floats(gain, name, f"one number, or one per port ({len(robot.ports)})")
    if value.shape not in ((), (len(robot.ports),)) or not np.all(np.isfinite(value)) or np.any(value < 0):
        raise ArgumentError(f"{name} must be one number that is not negative, or one per port ({len(robot.ports)})")
    return np.broadcast_to(value, (len(robot.ports),)).copy()
