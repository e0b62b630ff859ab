"""The robot as a system of differential equations: rates at a state, moves on the manifold, measures of a state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import instance, mapping
from robocompiler.errors import ArgumentError
from robocompiler.runtime.assembly import ITERATIONS, SOLVED
from robocompiler.runtime.drives import NOT_FINITE, DriveInterface
from robocompiler.runtime.prepared import Prepared
from robocompiler.runtime.simulation.groups import Tangent
from robocompiler.runtime.simulation.loads import (
    Friction,
    NoFriction,
    SmoothFriction,
    Wrenches,
    friction_forces,
    wrench_at,
)
from robocompiler.runtime.simulation.state import Applied, Rate, Refused, State

Array = NDArray[np.float64]
Source = Callable[[State], Applied]


class Plant:
    """M_r udot + h_r = L^T f + friction + sum J^T w, v = E u, by prepared calls.  Serves one thread."""

    def __init__(self, robot: DriveInterface, friction: Friction, wrenches: Wrenches) -> None:
        """ValueError: nothing can move, a chart without dynamics of its own, an unknown frame, a bad wrench."""
        if not robot.evaluation.own:
            raise ArgumentError(
                f"simulation is in the port chart, not in {robot.chart_name!r}; use robot.chart('port'), or compile "
                "with charts='auto', which gives every chart its own dynamics"
            )
        if not robot.independent:
            raise ArgumentError(f"{robot.name}: nothing can move, so that there is nothing to simulate")
        instance(friction, (SmoothFriction, NoFriction), "friction", "SmoothFriction(slip=...) or NoFriction()")
        mapping(wrenches, "wrenches", "{frame: (moment; force), or a function of t}")
        self.robot, self.friction = robot, friction
        self.description, self.evaluation = robot._description, robot._evaluation
        self.acceptance = robot._assembler.acceptance
        self.tangent = Tangent(self.description.joints)
        self._wrenches = [(name, self.description.frame_index(name), wrench) for name, wrench in wrenches.items()]
        for name, _, wrench in self._wrenches:
            wrench_at(name, wrench, 0.0)
        self._tolerance = SOLVED[self.evaluation.library.real]
        self._chart = robot.chart_name
        own = self.evaluation.prefix
        self._forward, self._velocity = self._prepared("forward_dynamics_with", own), self._prepared("velocity", own)
        self._lift, self._move = self._prepared("lift", own), self._prepared("integrate")
        self._energy = self._prepared("energy", own)
        self._displacement = self._prepared("port_displacement") if robot.ports else None
        self._levels = self._friction_levels()
        self._needs_lift = bool(self._wrenches) or bool(self._levels.any())
        limits = [port.limits.get("effort") for port in robot.ports]
        self.effort_limits = np.array([np.inf if limit is None else limit for limit in limits], dtype=np.float64)
        self._scales = self.description.column_scales
        self.speed_scales = self._scales[robot._independent]
        self.evaluations = 0

    def _prepared(self, name: str, prefix: str = "") -> Prepared:
        robot = self.robot
        sizes = {
            "q": len(robot.coordinates), "u": len(robot.independent), "f": len(robot.ports),
            "v": len(robot.velocities),
        }  # fmt: skip
        library = self.evaluation.library
        parameters = np.array(list(robot.parameters.values()), dtype=library.real)
        return Prepared(library, name, sizes, parameters, prefix)

    def _friction_levels(self) -> Array:
        """Levels (nv,) at the robot's parameters: the forces at unit speed, sign changed."""
        if not isinstance(self.friction, SmoothFriction):
            return np.zeros(len(self.robot.velocities))
        call = self._prepared("joint_friction")
        call.inputs["q"][:] = self.robot.reference
        call.inputs["v"][:] = 1.0
        call()
        return -call.output.astype(np.float64)

    # --- rates ---

    def rate(self, state: State, source: Source) -> Rate:
        """The motion at a state.  Raises Refused where the chart is singular or a number is not finite."""
        self.evaluations += 1
        applied = source(state)
        f, zdot = applied.f, np.zeros(state.z.size)
        if applied.c is not None:
            f = self.robot.drive_efforts(state.q, state.u, state.z, applied.c, f)
            zdot = self.robot.drive_rates(state.q, state.u, state.z, applied.c)
        saturated = np.abs(f) > self.effort_limits
        if saturated.any():
            f = np.clip(f, -self.effort_limits, self.effort_limits)
        v, tau = self._speeds(state)
        call = self._forward
        inputs = call.inputs
        inputs["q"][:], inputs["u"][:], inputs["f"][:], inputs["tau"][:] = state.q, state.u, f, tau
        self._check(call(), state.t)
        return Rate(v, call.output.astype(np.float64), zdot, f, saturated)

    def velocity(self, q: Array, u: Array, t: float) -> Array:
        """v = E u (nv,).  Raises Refused where the chart is singular."""
        call = self._velocity
        call.inputs["q"][:], call.inputs["u"][:] = q, u
        self._check(call(), t)
        return call.output.astype(np.float64)

    def _speeds(self, state: State) -> tuple[Array, Array | float]:
        """v = E u, and the generalised force of friction and wrenches."""
        if not self._needs_lift:
            return self.velocity(state.q, state.u, state.t), 0.0
        self._lift.inputs["q"][:] = state.q
        self._check(self._lift(), state.t)
        E = self._lift.output
        v = np.asarray(E @ state.u, dtype=np.float64)
        tau = np.zeros(state.u.size)
        if isinstance(self.friction, SmoothFriction):
            tau += E.T @ friction_forces(self.friction, self._levels, v)
        for name, index, wrench in self._wrenches:
            J, status = self.evaluation.task_jacobian(index, state.q)
            self._check(status, state.t)
            tau += J.T @ wrench_at(name, wrench, state.t)
        return v, tau

    def _check(self, status: int, t: float) -> None:
        if status & NOT_FINITE:
            raise Refused("not finite", f"a number is not finite near t = {t:.9g} s: the motion runs away")
        if status:
            raise Refused(
                "singular",
                f"a pivot vanishes near t = {t:.9g} s: the {self._chart} chart is singular there, or the reduced "
                "inertia is not positive definite; choose other independents (compile with independent=...)",
            )

    # --- moves ---

    def move(self, q: Array, theta: Array) -> Array:
        """q (+) theta (nq,)."""
        call = self._move
        call.inputs["q"][:], call.inputs["v"][:] = q, theta
        call()
        return call.output.astype(np.float64)

    def close(self, q: Array, t: float) -> Array:
        """The loops closed with the independents held, eliminated joints recovered.  Raises Refused."""
        if not np.all(np.isfinite(q)):
            raise Refused("not finite", f"a number is not finite near t = {t:.9g} s: the motion runs away")
        closed, status, residual = self.evaluation.correct(q, self._tolerance, ITERATIONS)
        if status:
            raise Refused(
                "closure",
                f"the loops cannot be closed behind the step to t = {t:.9g} s (scaled residual {residual:.3g}): the "
                "step is too long, or a singular pose lies there",
            )
        return self.evaluation.recover(closed)

    # --- measures ---

    def residual(self, q: Array) -> float:
        """Largest scaled augmented residual."""
        return self.acceptance.residual(q)

    def energy(self, q: Array, u: Array) -> Array:
        """(kinetic, potential) energy (2,), J."""
        call = self._energy
        call.inputs["q"][:], call.inputs["u"][:] = q, u
        call()
        return call.output.astype(np.float64)

    def displacement(self, q: Array) -> Array:
        """l (nf,)."""
        if self._displacement is None:
            return np.zeros(0)
        self._displacement.inputs["q"][:] = q
        self._displacement()
        return self._displacement.output.astype(np.float64)

    def size(self, method_error: Array, u_error: Array, z_error: Array, new: State, rtol: float) -> float:
        """Root mean square of a step's error over its tolerance: 1 is just accepted.

        Tangent coordinates of the tree are measured in their scales (rad, or the length scale), speeds and drive states
        in the larger of their size and one scale per second.
        """
        active = self.description.active
        theta = method_error[active] / self._scales[active]
        speed = u_error / np.maximum(np.abs(new.u), self.speed_scales)
        drive = z_error / np.maximum(np.abs(new.z), 1.0)
        parts = np.concatenate((theta, speed, drive)) / rtol
        return float(np.sqrt(np.mean(parts * parts))) if np.all(np.isfinite(parts)) else float("inf")
