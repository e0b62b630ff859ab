"""The mechanical interface of a compiled robot: accelerations, ports, reduced dynamics, reactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import mapping
from robocompiler.errors import ArgumentError, RankError
from robocompiler.runtime.arrays import put, vector
from robocompiler.runtime.kinematics import KinematicInterface

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reactions:
    """Closure reactions lambda (rows of the residual): M_T a + h_T = forces + C^T lambda.

    Rows as in `Robot.residual`: per chord a moment (N m) and a force (N) in the axes of its body a about that body's
    origin, acting on body b's side; couplings in their own unit.  Where redundancy leaves entries undetermined the
    minimum-norm values stand, and `undetermined` is True.
    """

    values: Array
    undetermined: NDArray[np.bool_]


class MechanicalInterface(KinematicInterface):
    """Methods that need inertias, forces and accelerations.  Everything is in the robot's chart.

    A chart with compiled dynamics of its own needs no other.  One without goes through the port chart, so that it has
    none where the port chart is singular:  u_port = F u,  udot_port = F (udot - k),  k = the port chart's curvature at
    our independents.
    """

    def _port_speeds(self, q: Array, u: Array) -> Array:
        return u if self._chart == "port" else np.asarray(self.F(q) @ u)

    def _speeds(self, q: Array, u: Array) -> Array:
        return u if self._own else self._port_speeds(q, u)

    def _shift(self, q: Array, u_port: Array) -> Array:
        """k (d,): accelerations of this chart's independents when those of the port chart have none."""
        return np.asarray(self._checked("curvature", q, u_port, size=len(self.velocities))[self._independent])

    def _to_port(self, q: Array, u_port: Array, udot: Array) -> Array:
        if self._own:
            return udot
        return np.asarray(self.F(q) @ (udot - self._shift(q, u_port)))

    def _from_port(self, q: Array, u_port: Array, udot: Array) -> Array:
        if self._own:
            return udot
        return np.asarray(self.F_inverse(q) @ udot + self._shift(q, u_port))

    def _force(self, q: Array, tau: Array) -> Array:
        """Generalised force of the port chart in this chart: F^T tau."""
        return tau if self._own else np.asarray(self.F(q).T @ tau)

    # --- accelerations ---

    def curvature(self, q: ArrayLike, u: ArrayLike, *, out: Array | None = None) -> Array:
        """Edot u (nv,): the accelerations of all velocities, cut joints included, when udot = 0."""
        return self.acceleration(q, u, np.zeros(self._independent.size), out=out)

    def acceleration(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, *, out: Array | None = None) -> Array:
        """a = E udot + Edot u (nv,)."""
        q, own, rate = self._q(q), self._u(u), self._u(udot, "udot")
        speeds = self._speeds(q, own)
        value = self._checked("acceleration", q, speeds, self._to_port(q, speeds, rate), size=len(self.velocities))
        return put(value, out)

    def task_acceleration(
        self, frame: str, q: ArrayLike, u: ArrayLike, udot: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """(6,) classical acceleration of a frame in world axes: (omega_dot; d/dt of the origin's velocity)."""
        index = self._description.frame_index(frame)
        q, own, rate = self._q(q), self._u(u), self._u(udot, "udot")
        speeds = self._speeds(q, own)
        return put(
            self._checked("frame_acceleration", q, speeds, self._to_port(q, speeds, rate), size=6, first=index), out
        )

    # --- ports ---

    def port_displacement(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """l (nf,): port displacements, in port order."""
        return put(self._evaluation.get("port_displacement", (self._q(q),), (len(self.ports),))[0], out)

    def port_map(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """L (nf, d) with ldot = L u; virtual work gives tau_u = L^T f."""
        q = self._q(q)
        L = self._checked("port_map", q, size=(len(self.ports), self._independent.size))
        return put(L if self._own else L @ self.F(q), out)

    def port_efforts(self, q: ArrayLike, tau_u: ArrayLike, weights: ArrayLike | None = None) -> Array:
        """f (nf,) with L^T f = tau_u of least sum(weights f^2) (weights 1 by default; mixed units deserve explicit
        ones).

        Raises RankError when the ports cannot produce tau_u (an underactuated direction), naming the largest miss.
        """
        L, wanted = self.port_map(q), self._u(tau_u, "tau_u")
        scale = np.ones(len(self.ports)) if weights is None else vector(weights, len(self.ports), "weights")
        if np.any(scale <= 0):
            raise ArgumentError("weights must be positive")
        root = 1 / np.sqrt(scale)
        g, *_ = np.linalg.lstsq(L.T * root, wanted, rcond=None)
        f = np.asarray(root * g)
        miss = L.T @ f - wanted
        if np.abs(miss).max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(wanted).max(initial=0.0))):
            worst = int(np.argmax(np.abs(miss)))
            raise RankError(
                f"{self.name}: the ports cannot produce this generalised force; {self.independent[worst]} misses "
                f"{abs(miss[worst]):.4g}",
                {"miss": miss.tolist(), "independent": self.independent},
            )
        return f

    def effort_null_space(self, q: ArrayLike) -> Array:
        """Orthonormal basis (nf, k) of the efforts that do no work: L^T f = 0 (redundant actuation)."""
        L = self.port_map(q)
        if not L.size:
            return np.eye(len(self.ports))
        _, values, Vt = np.linalg.svd(L.T)
        rank = int(np.sum(values > 1e-10 * values[0])) if values.size else 0
        return np.asarray(Vt[rank:].T)

    # --- reduced dynamics ---

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M_r = E^T M_T E (d, d), symmetric."""
        q = self._q(q)
        d = self._independent.size
        M = self._checked("mass_matrix", q, size=(d, d))
        if not self._own:
            F = self.F(q)
            M = F.T @ M @ F
        return put(M, out)

    def bias(self, q: ArrayLike, u: ArrayLike, *, out: Array | None = None) -> Array:
        """h_r (d,): Coriolis and centrifugal forces, gravity and damping, so that M_r udot + h_r = tau_u."""
        return self.inverse_dynamics(q, u, np.zeros(self._independent.size), out=out)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        u: ArrayLike,
        udot: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """tau_u = M_r udot + h_r - sum J^T w (d,); wrenches {frame: (moment about its origin; force)} in world axes."""
        q, own, rate = self._q(q), self._u(u), self._u(udot, "udot")
        speeds = self._speeds(q, own)
        tau = self._checked("inverse_dynamics", q, speeds, self._to_port(q, speeds, rate), size=self._independent.size)
        tau = self._force(q, tau)
        return put(tau if wrenches is None else tau - self._external(q, wrenches), out)

    def forward_dynamics(
        self,
        q: ArrayLike,
        u: ArrayLike,
        f: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """udot (d,) with M_r udot + h_r = L^T f + sum J^T w.  Dry friction is left out; see `friction`.

        Raises RankError where the chart is singular or the reduced inertia is not positive definite.
        """
        q, own = self._q(q), self._u(u)
        efforts = vector(f, len(self.ports), "f")
        speeds = self._speeds(q, own)
        tau = np.zeros(self._independent.size)
        if wrenches is not None:
            tau = self._external(q, wrenches)
            tau = tau if self._own else self.F_inverse(q).T @ tau
        try:
            udot = self._checked("forward_dynamics_with", q, speeds, efforts, tau, size=self._independent.size)
        except RankError as error:
            raise self._singular_inertia(q, error) from None
        return put(self._from_port(q, speeds, udot), out)

    def _singular_inertia(self, q: Array, error: RankError) -> RankError:
        """`error` with the direction that moves no inertia, where that is why forward dynamics is refused."""
        M = self.mass_matrix(q)  # raises the plain RankError where the chart itself is singular
        diagonal = np.diag(M)
        scale = np.sqrt(np.maximum(diagonal, max(1e-12 * float(diagonal.max()), np.finfo(float).tiny)))
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        if values[0] > 1e-9:
            return error
        direction = vectors[:, 0] / scale
        direction /= direction[np.argmax(np.abs(direction))]
        named = {n: float(x) for n, x in zip(self.independent, direction, strict=True) if abs(x) > 1e-6}
        text = ", ".join(f"{n}: {x:.4g}" for n, x in named.items())
        return RankError(
            f"{self.name}: the reduced inertia is not positive definite: moving along ({text}) takes no force; "
            "give the bodies that move there an inertia",
            {**error.report, "direction": named},
        )

    def friction(self, q: ArrayLike, u: ArrayLike, *, out: Array | None = None) -> Array:
        """Generalised force (d,) of dry friction at the speeds u: -E^T (level sign v)."""
        q = self._q(q)
        return put(
            self._force(q, self._checked("friction", q, self._speeds(q, self._u(u)), size=self._independent.size)), out
        )

    def energy(self, q: ArrayLike, u: ArrayLike) -> tuple[float, float]:
        """(kinetic, potential) energy in J; armature counts as kinetic, mass at the world's origin has no potential."""
        q = self._q(q)
        kinetic, potential = self._checked("energy", q, self._speeds(q, self._u(u)), size=2)
        return float(kinetic), float(potential)

    def _external(self, q: Array, wrenches: Mapping[str, ArrayLike]) -> Array:
        """sum J^T w (d,)."""
        total = np.zeros(self._independent.size)
        for frame, wrench in _by_frame(wrenches).items():
            total += self.task_jacobian(frame, q).T @ vector(wrench, 6, f"wrench on {frame}")
        return total

    # --- reactions ---

    def reactions(
        self,
        q: ArrayLike,
        u: ArrayLike,
        f: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Reactions:
        """Closure reactions under port efforts f and external wrenches; minimum-norm where redundancy leaves some."""
        q, own = self._q(q), self._u(u)
        udot = self.forward_dynamics(q, own, f, wrenches)
        v, a = self.velocity(q, own), self.acceleration(q, own, udot)
        nv = len(self.velocities)
        needed = self._evaluation.get("tree_forces", (q, v, a), (nv,))[0]
        if self.ports:
            needed = needed - self._evaluation.get("port_forces", (q, vector(f, len(self.ports), "f")), (nv,))[0]
        for frame, wrench in ({} if wrenches is None else _by_frame(wrenches)).items():
            needed = needed - self._evaluation.tree_jacobian(self._description.frame_index(frame), q).T @ vector(
                wrench, 6, f"wrench on {frame}"
            )
        C = self.closure_jacobian(q)
        if not C.shape[0]:
            return Reactions(np.zeros(0), np.zeros(0, dtype=bool))
        U, values, Vt = np.linalg.svd(C.T, full_matrices=True)
        rank = int(np.sum(values > 1e-9 * values[0]))
        determined = Vt[:rank]
        lam = determined.T @ ((U[:, :rank].T @ needed) / values[:rank])
        free = Vt[rank:]
        return Reactions(np.asarray(lam), np.abs(free).max(axis=0, initial=0.0) > 1e-9)


def _by_frame(wrenches: object) -> Mapping[str, ArrayLike]:
    return mapping(wrenches, "wrenches", "{frame: (moment; force)}")
