"""Numeric evaluation of the symbolic closures at compile time, as the scaled problem of `numerics`."""

from __future__ import annotations

from typing import Any

import casadi as cs
import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.scales import length_scale, row_scales, velocity_scales
from robocompiler.records.joint_types import JointType
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.manifold import integrate

Array = NDArray[np.float64]


class ClosureEvaluator:
    """Rows, Jacobians, recovery and retraction of a closure program at the parameters' default values.

    Implements `numerics.problem.ClosureProblem`.  Row scales: the length scale for metres, 1 for radians; a coupling is
    divided by its largest scaled coefficient at the seed, so that its unit does not matter.
    """

    def __init__(self, program: ClosureProgram) -> None:
        self.program = program
        topology = program.topology
        self.length = length_scale(topology)
        self.active: NDArray[np.intp] = np.array(program.active, dtype=np.intp)
        self.column_scales = velocity_scales(topology, self.length)
        self.parameters = np.array([parameter.default for parameter in topology.mechanism.parameters])
        q, p = program.symbols.q, program.symbols.p
        closures = program.closures
        rows = cs.vertcat(cs.SX(0, 1), *[closure.rows for closure in closures])
        jacobian = cs.vertcat(cs.SX(0, topology.nv), *[closure.jacobian for closure in closures])
        self.structure = np.array(cs.DM(jacobian.sparsity(), 1).full(), dtype=bool)
        recovered = cs.vertcat(cs.SX(0, 1), *[closure.recovered for closure in closures])
        self._recovered_q = np.array([i for closure in closures for i in closure.recovered_q], dtype=int)
        full = cs.vertcat(cs.SX(0, 1), *[closure.full for closure in closures])
        dv = cs.SX.sym("dv", topology.nv)
        self._rows = cs.Function("rows", [q, p], [rows])
        self._jacobian = cs.Function("jacobian", [q, p], [jacobian])
        self._recover = cs.Function("recover", [q, p], [recovered])
        self._full = cs.Function("full", [q, p], [full])
        self._integrate = cs.Function("integrate", [q, dv], [integrate(topology, q, dv)])
        self.row_scales = row_scales(tuple(unit for closure in closures for unit in closure.row_units), self.length)
        self._normalise_couplings(self.neutral())

    def _call(self, function: Any, *arguments: Array) -> Array:
        return np.asarray(function(*arguments).full(), dtype=np.float64)

    def _normalise_couplings(self, q: Array) -> None:
        J = np.abs(self._call(self._jacobian, q, self.parameters)) * self.column_scales
        row = 0
        for closure in self.program.closures:
            if closure.kind == "coupling":
                self.row_scales[row] = max(float(J[row].max(initial=0.0)), 1e-12)
            row += len(closure.row_units)

    @property
    def closure_rows(self) -> list[tuple[int, ...]]:
        """Row indices of every closure."""
        result, start = [], 0
        for closure in self.program.closures:
            result.append(tuple(range(start, start + len(closure.row_units))))
            start += len(closure.row_units)
        return result

    def neutral(self) -> Array:
        """All coordinates zero, quaternions the identity."""
        topology = self.program.topology
        q = np.zeros(topology.nq)
        for slot in topology.slots:
            if topology.kind(slot.joint) in (JointType.SPHERICAL, JointType.FREE):
                q[slot.q0 + slot.nq - 4] = 1.0
        return q

    def seed(self) -> Array:
        """The reference values of the records over the neutral configuration."""
        topology = self.program.topology
        q = self.neutral()
        place = {name: i for i, name in enumerate(topology.q_names)}
        for name, value in topology.mechanism.reference.coordinates:
            q[place[name]] = value
        floating = {component.root: component for component in topology.components if component.free_joint}
        for base in topology.mechanism.reference.bases:
            component = floating[base.body] if base.body else next(iter(floating.values()))
            slot = topology.slot(component.free_joint)
            q[slot.q0 : slot.q0 + 7] = (*base.translation, *base.quaternion)
        for slot in topology.slots:
            if topology.kind(slot.joint) in (JointType.SPHERICAL, JointType.FREE):
                quaternion = q[slot.q0 + slot.nq - 4 : slot.q0 + slot.nq]
                quaternion /= np.linalg.norm(quaternion)
        return q

    def rows(self, q: Array) -> Array:
        """Scaled condensed residual (m,)."""
        return self._call(self._rows, q, self.parameters).ravel() / self.row_scales

    def jacobian(self, q: Array) -> Array:
        """Scaled condensed Jacobian (m, active)."""
        J = self._call(self._jacobian, q, self.parameters) * self.column_scales / self.row_scales[:, None]
        return np.asarray(J[:, self.active])

    def full_residual(self, q: Array) -> Array:
        """The augmented residual (6 per chord, 1 per coupling), unscaled."""
        return self._call(self._full, q, self.parameters).ravel()

    def recover(self, q: Array) -> Array:
        """q with the eliminated coordinates set from the others."""
        q = q.copy()
        q[self._recovered_q] = self._call(self._recover, q, self.parameters).ravel()
        return q

    def retract(self, q: Array, step: Array) -> Array:
        """q moved by scaled active increments (active,)."""
        dv = np.zeros(self.program.topology.nv)
        dv[self.active] = step * self.column_scales[self.active]
        return self.recover(self._call(self._integrate, q, dv).ravel())
