"""The kinematic interface of a compiled robot: configurations, assembly, closures, lift, frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocompiler.arguments import texts
from robocompiler.runtime.arrays import put
from robocompiler.runtime.base import RobotBase

Array = NDArray[np.float64]


class KinematicInterface(RobotBase):
    """Methods that need positions and velocities only."""

    # --- configurations ---

    def configuration(
        self, values: Mapping[str, float | Sequence[float] | Array], base: ArrayLike | None = None
    ) -> Array:
        """q with joints or coordinates set by name over `base` (default: the reference); not yet assembled."""
        return self._description.configuration(values, self.reference if base is None else self._q(base))

    def assemble(self, q: ArrayLike, hold: Iterable[str] | None = None) -> Array:
        """Close the loops, moving only what is not held (default: the independents are held).

        Args:
            q: a configuration (nq,), closed or not.
            hold: names of joints or coordinates to keep instead of the chart's independents.

        Returns:
            The assembled q (nq,); a configuration that is closed already comes back bit for bit.

        Raises:
            AssemblyError: no admissible configuration: loops that do not close (with the smallest gap), another branch,
                or limits violated (with the assembled configuration that was wanted).
        """
        start = self._q(q)
        if hold is None:
            return self._assembler.assemble(start, None)
        held = sorted({index for name in texts(hold, "hold") for index in self._description.velocity_indices(name)})
        return self._assembler.assemble(start, np.array(held, dtype=np.intp))

    def joint(self, q: ArrayLike, name: str) -> float | Array:
        """A joint's coordinate (or one coordinate by name); an array for a joint with several."""
        part = self._q(q)[self._description.coordinate_slice(name)]
        return float(part[0]) if part.size == 1 else part.copy()

    def integrate(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """q (+) v (nq,): q moved by the increment v (nv,) on each joint's Lie group."""
        return put(self._evaluation.integrate(self._q(q), self._v(v)), out)

    def coordinate_rates(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """qdot = N(q) v (nq,)."""
        return put(self._evaluation.rates(self._q(q), self._v(v)), out)

    # --- closures ---

    def residual(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """rho (6 per chord, 1 per coupling): log(T_e X_e^-1)^vee in the axes of the chord's body a, rad then m."""
        return put(self._evaluation.residual(self._q(q)), out)

    def closure_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """C (rows of rho, nv): the derivative of rho, also away from closure."""
        return put(self._evaluation.augmented(self._q(q))[1], out)

    def lift(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """E (nv, d) with v = E u at an assembled q.  RankError where this chart is singular."""
        E, status = self._evaluation.lift(self._q(q))
        self._check(status)
        return put(E, out)

    def velocity(self, q: ArrayLike, u: ArrayLike, *, out: Array | None = None) -> Array:
        """v = E u (nv,)."""
        return put(self.lift(q) @ self._u(u), out)

    def F(self, q: ArrayLike) -> Array:
        """F (d, d) with u_port = F u: from this chart's independent speeds to those of the port chart."""
        E, status = self._evaluation.lift(self._q(q))
        self._check(status)
        return np.asarray(E[self._description.independent("port")])

    def F_inverse(self, q: ArrayLike) -> Array:
        """F^-1 (d, d) with u = F^-1 u_port, taken from the port chart's own lift."""
        E, status = self._evaluation.lift(self._q(q), "port")
        self._check(status)
        return np.asarray(E[self._independent])

    # --- frames ---

    def pose(self, frame: str, q: ArrayLike) -> tuple[Array, Array]:
        """(R (3, 3), p (3,)) of a frame: x_world = R x + p.  Every body is a frame of its own name."""
        return self._evaluation.pose(self._description.frame_index(frame), self._q(q))

    def task_jacobian(self, frame: str, q: ArrayLike, *, out: Array | None = None) -> Array:
        """J (6, d): (omega; velocity of the frame's origin) in world axes = J u."""
        J, status = self._evaluation.task_jacobian(self._description.frame_index(frame), self._q(q))
        self._check(status)
        return put(J, out)
