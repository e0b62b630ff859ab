"""The derivative kernels evaluated by CasADi, chained as the generated C chains them, and differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from casadi_mechanics import Array, CasadiMechanics
from casadi_robot import CasadiRobot

from robocompiler.symbolic.derivatives import build_derivatives
from robocompiler.symbolic.kernel import Kernel


class CasadiDerivatives:
    """Derivatives of the port chart's dynamics beside the dynamics themselves."""

    def __init__(self, mechanics: CasadiMechanics) -> None:
        self.mechanics, self.robot = mechanics, mechanics.robot
        front = mechanics.robot.front
        self.program = build_derivatives(front.closures, front.reduction)
        self.independent = front.reduction.chart("port").independent
        self.d, self.nf = len(mechanics.independent), len(mechanics.ports)

    def inverse(self, q: Array, u: Array, udot: Array) -> tuple[Array, Array]:
        """d tau/ds, d tau/du."""
        given = self._slopes(q, u, udot, np.zeros(self.nf), self.mechanics.inverse(q, u, udot))
        by_s, by_u = self._run(self.program.inverse, given)
        return by_s.reshape(self.d, self.d), by_u.reshape(self.d, self.d)

    def forward(self, q: Array, u: Array, f: Array, tau: Array | None = None) -> tuple[Array, Array, Array]:
        """d udot/ds, d udot/du, d udot/df."""
        tau = np.zeros(self.d) if tau is None else tau
        given = self._slopes(q, u, self.mechanics.forward(q, u, f, tau), f, tau)
        by_s, by_u, *by_f = self._run(self.program.forward, given)
        ports = by_f[0].reshape(self.d, self.nf) if by_f else np.zeros((self.d, 0))
        return by_s.reshape(self.d, self.d), by_u.reshape(self.d, self.d), ports

    def _run(self, kernel: Kernel, given: dict[str, Array]) -> list[Array]:
        return self.robot.call(kernel, *(given[argument.name] for argument in kernel.inputs if argument.name != "p"))

    def _slopes(self, q: Array, u: Array, udot: Array, f: Array, tau: Array) -> dict[str, Array]:
        program, more = self.mechanics.program, self.program
        e, v, c = self.mechanics.motion(q, u)
        given = {"q": q, "e": e, "v": v, "c": c, "udot": udot, "f": f, "tau": tau}
        (given["a"],) = self._run(program.raising, given)
        (given["m"],) = self._run(program.inner_mass, given)
        found = self._run(more.slopes, given)
        given |= {output.name: value for output, value in zip(more.slopes.outputs, found, strict=True)}
        return given

    def operations(self) -> tuple[int, int]:
        """Operations of forward dynamics, and of forward dynamics with its derivatives."""
        own, m = self.program, self.mechanics.program
        plain = sum(k.operations for k in (m.motion, m.tree, m.inner_mass, m.finish))
        return plain, plain + sum(k.operations for k in (m.raising, own.slopes, own.forward))

    def along(self, function: Callable[[Array], Array], q: Array, step: float = 5e-4) -> Array:
        """d function(q)/ds (.., d): a sixth-order central difference along the motions of the port chart."""
        weights = ((1, 45), (2, -9), (3, 1))
        columns = [
            sum(w * (function(self.moved(q, k, n * step)) - function(self.moved(q, k, -n * step))) for n, w in weights)
            for k in range(self.d)
        ]
        return np.array(columns).T / (60 * step)

    def moved(self, q: Array, k: int, h: float) -> Array:
        """q moved by h along column k of E, then closed with the independents held."""
        return closed(self.robot, self.robot.integrate(q, self.robot.lift(q)[:, k] * h), self.independent)


def closed(robot: CasadiRobot, q: Array, held: Sequence[int]) -> Array:
    """q after Newton steps of the velocities that are not held (least norm over redundant rows)."""
    free = [i for i in robot.front.closures.active if i not in held]
    for _ in range(8):
        rows, J = robot.condensed(q)
        if not rows.size or not free:
            return robot.recover(q)
        step = np.zeros(robot.topology.nv)
        step[free] = -np.linalg.lstsq(J[:, free], rows, rcond=1e-9)[0]
        q = robot.recover(robot.integrate(q, step))
        if np.abs(step).max() < 1e-14:
            break
    return q


def quadratic_slope(function: Callable[[Array], Array], u: Array) -> Array:
    """d function/du (.., d), exact for a function that is quadratic in u."""
    return np.array([function(u + e) - function(u - e) for e in np.eye(u.size) / 2]).T
