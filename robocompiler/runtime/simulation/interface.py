"""Simulation as a method of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from robocompiler.runtime.drives import DriveInterface

if TYPE_CHECKING:
    from robocompiler.runtime.simulation.controllers import Controller, Law
    from robocompiler.runtime.simulation.events import Event
    from robocompiler.runtime.simulation.loads import Friction, Wrenches
    from robocompiler.runtime.simulation.result import Simulation
    from robocompiler.runtime.simulation.run import Progress


class SimulationInterface(DriveInterface):
    """The method `simulate`."""

    def simulate(
        self,
        duration: float,
        q: ArrayLike | None = None,
        u: ArrayLike | None = None,
        *,
        z: ArrayLike | None = None,
        controller: Law | Controller | None = None,
        wrenches: Wrenches | None = None,
        friction: Friction | None = None,
        method: str = "rk4",
        step: float = 1e-3,
        rtol: float = 1e-6,
        events: Sequence[Event] | None = None,
        every: int = 1,
        log: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Simulation:
        """The motion over `duration` seconds: M_r udot + h_r = L^T f + friction + sum J^T w, q closed at every step.

        In the port chart, or in another one where charts were compiled: that passes the port chart's singular poses.

        Args:
            duration: length of the motion, s; it begins at t = 0.
            q, u: start; q is assembled if it is not [the reference, at rest]; z: drive states [those of the file].
            controller: f = controller(t, q, u) (nf,) or `Commands`: a function (continuous: called at every stage),
                or a `Controller` with a sample time (zero-order hold).  None: no efforts.  Effort limits apply.
            wrenches: {frame: (moment about its origin; force)}, world axes; constant (6,) or a function of t.
            friction: `SmoothFriction(slip)` [slip 0.01 rad/s or m/s] or `NoFriction()`.
            method: 'euler' (semi-implicit), 'rk4', 'ros2' (for strong damping); with error control 'bs32' and 'dopri5'.
            step: the fixed step (s), or the largest one with error control.  Steps end at samples.
            rtol: error of a step with error control: tangent coordinates over their scales, speeds over their size.
            events: what to watch [limits of joints and port displacements, which end the motion]; () for nothing.  The
                end before a singular pose of the chart is always watched.
            every: every how many steps a row is recorded (events, the first and last state always are).
            log: a .npz or .parquet file, written while the simulation runs; else rows stay in memory.
            progress: called with (t, duration) some times a second.

        Returns:
            The `Simulation`.  Ctrl-C ends it early and returns what there is.

        Raises:
            ValueError: arguments of wrong size or range; a controller, wrench or event that gives no finite numbers.
            AssemblyError, RankError: the start cannot be assembled, or the chart is singular there.
            MissingPackageError: a .parquet log without pyarrow.
        """
        from robocompiler.runtime.simulation.loads import SmoothFriction
        from robocompiler.runtime.simulation.simulate import Settings, simulate

        settings = Settings(method, step, rtol, every, log)
        rubbing = SmoothFriction() if friction is None else friction
        return simulate(
            self,
            duration,
            (q, u, z),
            controller,
            {} if wrenches is None else wrenches,
            rubbing,
            events,
            settings,
            progress,
        )
