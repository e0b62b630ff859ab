"""A compiled robot against the maximal-coordinate oracle, quantity by quantity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from robocompiler.check.drives import compare_drives
from robocompiler.check.ledger import Ledger
from robocompiler.check.states import Sample
from robocompiler.errors import AssemblyError
from robocompiler.oracle.efforts import port_displacement
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.oracle.states import Pose, State, Table
from robocompiler.oracle.tasks import motion_at, port_map, task_acceleration, task_jacobian
from robocompiler.records.joint_types import velocity_names
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]
_AXES = ("wx", "wy", "wz", "x", "y", "z")


@dataclass(frozen=True)
class Tolerances:
    """What passes: closure gaps in rad or m, all else relative.  Conditioning costs up to six digits of a double."""

    closure: float
    relative: float
    floor: float = 1e-3  # size (SI) below which a quantity is as good as zero

    @staticmethod
    def of(double: bool) -> Tolerances:
        """For a library in double, or in float."""
        return Tolerances(1e-10, 1e-9) if double else Tolerances(1e-4, 2e-3)


class MaximalCheck:
    """Comparisons with one oracle, at one state at a time."""

    def __init__(self, robot: Robot, model: MaximalModel, tolerances: Tolerances, reference: str) -> None:
        self.robot, self.model, self.tolerances, self.reference = robot, model, tolerances, reference
        friction = {
            name: float(model.scene.scalar(level))
            for joint in model.scene.mechanism.joints
            for name, level in zip(velocity_names(joint.name, joint.type), joint.friction, strict=False)
        }
        self.levels = tuple(friction.get(name, 0.0) for name in robot.velocities)

    def at(self, sample: Sample, ledger: Ledger) -> State | None:
        """Compare everything at a sample; the oracle's state, or None when its loops are open and nothing else counts.

        Raises AssemblyError when the oracle cannot polish a pose whose gaps are within tolerance.
        """
        robot = self.robot
        values = dict(zip(robot.coordinates, sample.q.tolist(), strict=True))
        near = self.model.pose(values)
        gap = self._closure(near, ledger)
        try:
            pose = self.model.project(near, robot.independent)
        except AssemblyError:
            if gap <= self.tolerances.closure:
                raise
            return None
        state = self.model.state(pose, dict(zip(robot.independent, sample.u.tolist(), strict=True)), robot.independent)
        self._positions(sample, pose, ledger)
        self._velocities(sample, state, ledger)
        if not robot.independent:  # nothing can move, and the library has no dynamics
            return state
        self._accelerations(sample, state, ledger)
        self._ports(sample, state, ledger)
        compare_drives(robot, self.model, state, sample, partial(self._compare, ledger))
        self._dynamics(robot, sample, state, sample.u, ledger)
        self._other_chart(sample, state, ledger)
        return state

    def _compare(self, ledger: Ledger, quantity: str, found: Array, wanted: Table, names: tuple[str, ...]) -> None:
        ledger.compare(
            quantity, found, np.asarray(wanted, dtype=float), names,
            reference=self.reference, tolerance=self.tolerances.relative, floor=self.tolerances.floor,
        )  # fmt: skip

    def _closure(self, pose: Pose, ledger: Ledger) -> float:
        """The gaps that the robot's coordinates leave, by the oracle's own walk over all joints."""
        gaps = [abs(float(gap)) for gap in self.model.gaps(pose)]
        worst = max(gaps, default=0.0)
        _, names, _ = self.model.linearise(pose, None)
        where = names[gaps.index(worst)][0] if gaps else ""
        ledger.note("closure gaps", worst, where, reference=self.reference, tolerance=self.tolerances.closure)
        return worst

    def _positions(self, sample: Sample, pose: Pose, ledger: Ledger) -> None:
        robot = self.robot
        wanted = np.array([float(pose.values[name]) for name in robot.coordinates])
        signs = np.ones(len(wanted))
        for k, name in enumerate(robot.coordinates):  # a quaternion and its negative are the same rotation
            if name.endswith(":qw"):
                signs[k : k + 4] = np.sign(wanted[k : k + 4] @ sample.q[k : k + 4])
        self._compare(ledger, "joint coordinates", sample.q, signs * wanted, robot.coordinates)
        for frame in robot.frames:
            R, p = robot.pose(frame, sample.q)
            R_ref, p_ref = (np.array(part, dtype=float) for part in self.model.frame_pose(frame, pose))
            self._compare(ledger, "frame rotations", R, R_ref, (frame,) * 3)
            self._compare(ledger, "frame origins", p, p_ref, (frame,) * 3)

    def _velocities(self, sample: Sample, state: State, ledger: Ledger) -> None:
        robot = self.robot
        self._compare(
            ledger, "lift E", robot.lift(sample.q), self.model.lift(state, robot.velocities), robot.velocities
        )
        for frame in robot.frames:
            names = tuple(f"{frame} {axis}" for axis in _AXES)
            wanted = task_jacobian(self.model, state, frame)
            self._compare(ledger, "frame Jacobians", robot.task_jacobian(frame, sample.q), wanted, names)

    def _accelerations(self, sample: Sample, state: State, ledger: Ledger) -> None:
        robot = self.robot
        curvature = self.model.curvature(state)
        wanted = np.array([float(curvature[name]) for name in robot.velocities])
        self._compare(ledger, "curvature", robot.curvature(sample.q, sample.u), wanted, robot.velocities)
        motion = motion_at(self.model, state, sample.udot.tolist())
        for frame in robot.frames:
            names = tuple(f"{frame} {axis}" for axis in _AXES)
            found = robot.task_acceleration(frame, sample.q, sample.u, sample.udot)
            self._compare(
                ledger, "frame accelerations", found, task_acceleration(self.model, state, frame, motion), names
            )

    def _ports(self, sample: Sample, state: State, ledger: Ledger) -> None:
        if not self.robot.ports:
            return
        names = tuple(port.name for port in self.robot.ports)
        wanted = np.array([float(port_displacement(self.model, state.pose, name)) for name in names])
        self._compare(ledger, "port displacements", self.robot.port_displacement(sample.q), wanted, names)
        self._compare(ledger, "port map L", self.robot.port_map(sample.q), port_map(self.model, state, names), names)

    def _efforts(self, sample: Sample, *, wrench: bool) -> Efforts:
        ports = {port.name: float(value) for port, value in zip(self.robot.ports, sample.f, strict=True)}
        return Efforts(ports=ports, wrenches={sample.frame: sample.wrench.tolist()} if wrench else {})

    def _dynamics(self, robot: Robot, sample: Sample, state: State, u: Array, ledger: Ledger) -> None:
        """Reduced dynamics in the chart of `robot`; `state` has the same independents."""
        prefix = "" if robot.chart_name == "port" else f"{robot.chart_name} chart: "
        names, q, wrench = robot.independent, sample.q, {sample.frame: sample.wrench}
        reduced = self.model.reduced(state)
        M, h = np.asarray(reduced.M, dtype=float), np.asarray(reduced.h, dtype=float)
        self._compare(ledger, f"{prefix}mass matrix", robot.mass_matrix(q), M, names)
        self._compare(ledger, f"{prefix}bias", robot.bias(q, u), h, names)
        push = np.asarray(self.model.applied(state, self._efforts(sample, wrench=True)), dtype=float)
        only_ports = np.asarray(self.model.applied(state, self._efforts(sample, wrench=False)), dtype=float)
        found = robot.inverse_dynamics(q, u, sample.udot, wrench)
        wanted = M @ sample.udot + h - (push - only_ports)
        self._compare(ledger, f"{prefix}inverse dynamics under a wrench", found, wanted, names)
        for label, given in (("forward dynamics", False), ("forward dynamics under a wrench", True)):
            found = robot.forward_dynamics(q, u, sample.f, wrench if given else None)
            reference = self.model.accelerations(state, self._efforts(sample, wrench=given)).udot
            self._compare(ledger, prefix + label, found, reference, names)
        if robot.chart_name == "port":
            energies = np.array([float(energy) for energy in self.model.energies(state)])
            self._compare(ledger, "energies", np.array(robot.energy(q, u)), energies, ("kinetic", "potential"))
        if any(self.levels):
            E = np.asarray(self.model.lift(state, robot.velocities), dtype=float)
            dry = -E.T @ (np.array(self.levels) * np.sign(E @ u))
            self._compare(ledger, f"{prefix}dry friction", robot.friction(q, u), dry, names)

    def _other_chart(self, sample: Sample, state: State, ledger: Ledger) -> None:
        robot = self.robot.chart("inner")
        if set(robot.independent) == set(self.robot.independent):
            return
        velocities = self.model.velocities(state)
        u = np.array([float(velocities[name]) for name in robot.independent])
        again = self.model.state(
            state.pose, dict(zip(robot.independent, u.tolist(), strict=True)), robot.independent
        )  # fmt: skip
        self._compare(
            ledger, "inner chart: lift E", robot.lift(sample.q), self.model.lift(again, robot.velocities),
            robot.velocities,
        )  # fmt: skip
        self._dynamics(robot, sample, again, u, ledger)
