"""The mechanics of a front end evaluated by CasADi, chained as the generated C chains them (no C compiler)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from casadi_robot import CasadiRobot
from numpy.typing import NDArray

from robocompiler.compiler import FrontEnd, run_front_end
from robocompiler.records.model import Mechanism
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.mechanics_program import build_mechanics

Array = NDArray[np.float64]


class CasadiMechanics:
    """Port-chart dynamics of one front end."""

    def __init__(self, front: FrontEnd) -> None:
        self.robot = CasadiRobot(front)
        self.program = front.program.mechanics or build_mechanics(
            front.closures, front.reduction, front.program.kinematics
        )
        topology = front.topology
        independent = front.reduction.chart("port").independent
        self.independent = tuple(topology.v_names[i] for i in independent)
        self.velocities = tuple(topology.v_names)
        self.ports = tuple(port.name for port in topology.mechanism.ports)

    @staticmethod
    def of(mechanism: Mechanism, independent: Sequence[str] = (), cut_first: Collection[str] = ()) -> CasadiMechanics:
        """Run the front end."""
        return CasadiMechanics(run_front_end(mechanism, independent=independent, cut_first=cut_first))

    def _run(self, kernel: Kernel, **given: Array) -> list[Array]:
        """Outputs of a kernel whose inputs are found by name."""
        arguments = [given[argument.name] for argument in kernel.inputs if argument.name != "p"]
        return self.robot.call(kernel, *arguments)

    def motion(self, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """(e, v, c)."""
        e, v, c, _ = self._run(self.program.motion, q=q, u=u)
        return e, v, c

    def mass(self, q: Array) -> Array:
        """M_r."""
        e = self._run(self.program.lift, q=q)[0]
        m = self._run(self.program.inner_mass, q=q, e=e)[0]
        d = len(self.independent)
        return self._run(self.program.port_mass, q=q, e=e, m=m)[0].reshape(d, d)

    def inverse(self, q: Array, u: Array, udot: Array) -> Array:
        """tau_u."""
        e, v, c = self.motion(q, u)
        (a,) = self._run(self.program.raising, q=q, e=e, c=c, udot=udot)
        (forces,) = self._run(self.program.tree, q=q, v=v, a=a)
        return self._run(self.program.project, q=q, e=e, forces=forces)[0]

    def forward(self, q: Array, u: Array, f: Array, tau: Array | None = None) -> Array:
        """udot under port efforts f and a generalised force tau."""
        e, v, c = self.motion(q, u)
        (forces,) = self._run(self.program.tree, q=q, v=v, a=c)
        (m,) = self._run(self.program.inner_mass, q=q, e=e)
        tau = np.zeros(len(self.independent)) if tau is None else tau
        return self._run(self.program.finish, q=q, e=e, c=c, m=m, forces=forces, f=f, tau=tau)[0]

    def acceleration(self, q: Array, u: Array, udot: Array) -> Array:
        """a of all velocities, cut joints included."""
        e, v, c = self.motion(q, u)
        (a,) = self._run(self.program.raising, q=q, e=e, c=c, udot=udot)
        if self.program.cut:
            a[list(self.program.cut)] = self._run(self.program.cut_drift, q=q, v=v, a=a)[0]
        return a

    def energy(self, q: Array, u: Array) -> Array:
        """(kinetic, potential)."""
        return self._run(self.program.energies, q=q, v=self.motion(q, u)[1])[0]

    def frame_accelerations(self, q: Array, u: Array, udot: Array) -> dict[str, Array]:
        """Classical acceleration (alpha; d/dt of the origin's velocity), world axes, of every body and named frame."""
        e, v, c = self.motion(q, u)
        (a,) = self._run(self.program.raising, q=q, e=e, c=c, udot=udot)
        rows = self._run(self.program.frames, q=q, v=v, a=a)[0].reshape(-1, 6)
        frames = self.robot.program.kinematics.frames
        return {frame.name: row for frame, row in zip(frames, rows, strict=True)}

    def port_map(self, q: Array) -> Array:
        """L (nf, d)."""
        e = self._run(self.program.lift, q=q)[0]
        return self._run(self.program.port_map, q=q, e=e)[0].reshape(len(self.ports), len(self.independent))
