"""Tracking with and without feedforward, in our simulation and in MuJoCo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks.feedforward_mujoco import Softness, track
from benchmarks.feedforward_robots import Case, sinusoids
from robocompiler.runtime.simulation.reference import independent_coordinates
from robocompiler.runtime.simulation.tracking import Feedforward

Array = NDArray[np.float64]

SLIP = 1e-2  # rad/s or m/s: regularisation of dry friction in our simulation
FULL = "with the reduced dynamics"
PERIOD = 1e-3  # s between samples of the controller, everywhere
LAWS: dict[str, Feedforward] = {
    "feedback alone": rc.simulation.NoFeedforward(),
    "with gravity": rc.simulation.GravityFeedforward(),
    FULL: rc.simulation.InverseDynamics(),
}


@dataclass(frozen=True)
class Outcome:
    """One run: where and under which law; errors (N, nf) at times t (N,); largest closure error; why it ended early."""

    place: str
    law: str
    t: Array
    errors: Array
    gap: float
    largest_effort: float
    failure: str = ""

    @property
    def rms(self) -> float:
        """Over all ports and samples."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def worst(self) -> float:
        """Largest of any port at any sample."""
        return float(np.abs(self.errors).max())


def has_friction(case: Case) -> bool:
    """Whether the records have dry friction."""
    return any(any(joint.friction) for joint in case.records().joints)


def gains(robot: rc.Robot, case: Case) -> tuple[Array, Array]:
    """(K_p, K_d): w^2 m_k and 2 zeta w m_k, with m_k the inertia that port k feels at the reference, the others free to
    be driven: the diagonal of L^-T M_r L^-1.
    """
    q = robot.reference
    L = np.linalg.inv(robot.port_map(q))
    m = np.diag(L.T @ robot.mass_matrix(q) @ L)
    return case.bandwidth**2 * m, 2 * case.damping * case.bandwidth * m


def reference(robot: rc.Robot, case: Case) -> rc.simulation.Reference:
    """The sinusoids around the robot's own reference."""
    start = robot.reference[independent_coordinates(robot)]
    return rc.simulation.Reference(robot, sinusoids(start, case.size, case.frequency))


def ours(robot: rc.Robot, case: Case, duration: float) -> list[Outcome]:
    """Our simulation under each law; the last run is that of the reduced dynamics on a plant without dry friction."""
    outcomes = []
    kp, kd = gains(robot, case)
    frictionless = (f"{FULL}, no dry friction", LAWS[FULL], rc.simulation.NoFriction())
    runs = [(name, law, rc.simulation.SmoothFriction(SLIP)) for name, law in LAWS.items()]
    for name, feedforward, friction in (*runs, frictionless) if has_friction(case) else runs:
        controller = rc.simulation.TrackingController(
            robot, reference(robot, case), kp, kd, feedforward=feedforward, sample_time=PERIOD
        )
        motion = robot.simulate(
            duration,
            controller=controller,
            method=case.method,
            step=PERIOD / case.substeps,
            every=case.substeps,
            friction=friction,
        )
        failure = "" if motion.end.kind == "completed" else motion.end.message
        wanted = reference(robot, case)
        errors = np.array([wanted.at(t).l for t in motion.t]) - motion.l
        gap, effort = float(motion.residual.max()), float(np.abs(motion.f).max())
        outcomes.append(Outcome("RoboCompiler", name, motion.t, errors, gap, effort, failure))
    return outcomes


def theirs(robot: rc.Robot, case: Case, duration: float, softness: Softness, laws: Sequence[str]) -> list[Outcome]:
    """MuJoCo under the same law; the feedforward comes from our reduced dynamics along the reference."""
    outcomes = []
    kp, kd = gains(robot, case)
    text = rc.export.mjcf(case.records()).text
    limits = np.array([port.limits["effort"] or np.inf for port in robot.ports])
    for name in laws:
        wanted, feedforward = reference(robot, case), LAWS[name]
        largest = [0.0]

        def law(t: float, length: Array, rate: Array, wanted=wanted, feedforward=feedforward, largest=largest) -> Array:  # type: ignore[no-untyped-def]
            w = wanted.at(t)
            f = feedforward.efforts(robot, w) + kp * (w.l - length) + kd * (w.ldot - rate)
            largest[0] = max(largest[0], float(np.abs(np.clip(f, -limits, limits)).max()))
            return np.clip(f, -limits, limits)

        found = track(text, [port.name for port in robot.ports], law, duration, PERIOD, softness)
        again = reference(robot, case)
        errors = np.array([again.at(t).l for t in found.t]) - found.l
        outcomes.append(Outcome("MuJoCo", name, found.t, errors, found.gap, largest[0], found.failure))
    return outcomes
