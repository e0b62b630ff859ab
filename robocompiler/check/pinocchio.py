"""A compiled robot against Pinocchio: poses, tree dynamics reduced by the lift, and constrained accelerations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.check.ledger import Ledger
from robocompiler.check.states import Sample
from robocompiler.errors import MissingPackageError, ModelError
from robocompiler.oracle.pinocchio_adapter import PinocchioModel
from robocompiler.records.model import Mechanism
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]
REFERENCE = "Pinocchio"
_PROXIMAL = 1e-6  # its constrained dynamics are iterated with a regularisation, and lose digits on redundant rows


_SINGULAR = (
    f"{REFERENCE} constrained accelerations: the open tree has a motion without inertia, which only the loops make "
    f"heavy, and {REFERENCE} divides by the tree's inertia"
)


def _singular(inertia: Array) -> bool:
    """Whether a tree's inertia, scaled to a unit diagonal, has no inverse to speak of."""
    diagonal = np.diag(inertia)
    if np.any(diagonal <= 0):
        return True
    size = np.sqrt(diagonal)
    return bool(np.linalg.eigvalsh(inertia / np.outer(size, size))[0] < 1e-12)


class PinocchioCheck:
    """Comparisons with Pinocchio where it can represent the mechanism; `skipped` says what is left out, and why."""

    def __init__(self, robot: Robot, mechanism: Mechanism, tolerance: float, floor: float) -> None:
        self.robot, self.tolerance, self.floor = robot, tolerance, floor
        self.engine: PinocchioModel | None = None
        self.skipped: list[str] = []
        try:
            self.engine = PinocchioModel(mechanism, robot.parameters)
        except (MissingPackageError, ModelError) as error:
            self.skipped.append(f"{REFERENCE}: {error}")
            return
        if self.engine.closable:
            self.skipped.append(f"{REFERENCE} dynamics: {self.engine.closable}")
        elif self.engine.notes:
            self.skipped.append(f"{REFERENCE} constrained accelerations: {'; '.join(self.engine.notes)}")

    def _compare(
        self, ledger: Ledger, quantity: str, found: Array, wanted: Array, names: tuple[str, ...], tolerance: float
    ) -> None:
        ledger.compare(
            quantity, found, wanted, names, reference=REFERENCE, tolerance=tolerance, floor=self.floor
        )  # fmt: skip

    def at(self, sample: Sample, ledger: Ledger) -> None:
        """Compare at a sample."""
        engine, robot, q = self.engine, self.robot, sample.q
        if engine is None:
            return
        values = dict(zip(robot.coordinates, q.tolist(), strict=True))
        own = engine.configuration(values)
        for body, (R, p) in engine.body_poses(own).items():
            found = np.vstack([robot.pose(body, q)[0], robot.pose(body, q)[1]])
            self._compare(ledger, "body poses", found, np.vstack([R, p]), (body,) * 4, self.tolerance)
        if engine.closable:
            return
        E = np.column_stack([self._tree(engine, values, column) for column in robot.lift(q).T])
        names = robot.independent
        inertia = engine.mass_matrix(own)
        wanted = E.T @ inertia @ E
        self._compare(ledger, "mass matrix", robot.mass_matrix(q), wanted, names, self.tolerance)
        v = E @ sample.u
        drift = self._tree(engine, values, robot.curvature(q, sample.u))
        damping = engine.damping_effort(values, own, v)
        wanted = E.T @ (engine.rnea(own, v, drift) - damping)
        self._compare(ledger, "bias", robot.bias(q, sample.u), wanted, names, self.tolerance)
        if engine.notes:
            return
        if _singular(inertia):
            if _SINGULAR not in self.skipped:
                self.skipped.append(_SINGULAR)
            return
        theirs = engine.named(values, engine.constraint_dynamics(own, v, damping))
        udot = robot.forward_dynamics(q, sample.u, np.zeros(len(robot.ports)))
        ours = dict(zip(robot.velocities, robot.acceleration(q, sample.u, udot), strict=True))
        found = np.array([ours[name] for name in theirs])
        self._compare(
            ledger, "constrained accelerations", found, np.array(list(theirs.values())), tuple(theirs),
            max(_PROXIMAL, self.tolerance),
        )  # fmt: skip

    def _tree(self, engine: PinocchioModel, values: dict[str, float], v: Array) -> Array:
        return engine.velocity(values, dict(zip(self.robot.velocities, v.tolist(), strict=True)))
