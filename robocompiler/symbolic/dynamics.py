"""Reduced dynamics in the inner chart, handed out in the port chart.

    v = E~ u~ (inner chart)          vdot = E~ u~dot + c,     c = E~dot u~ from  R_p c_dep = -Cdot v
    M~ = E~^T M_T E~                 h~ = E~^T (tau_NE(q, v, c) + D v)
    u = G u~,  G = E~ at the port chart's independents,      udot = G u~dot + c_port

so that in the port chart  M = G^-T M~ G^-1,  h = G^-T (h~ - M~ G^-1 c_port),  tau_u = G^-T tau_u~.
Armature adds to M_T and damping to the forces at their own joints, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as cs
import numpy as np

from robocompiler.numerics.pivots import PivotOrder, pivot_order
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.elimination import solve
from robocompiler.symbolic.inertia import Inertia
from robocompiler.symbolic.links import link_tree
from robocompiler.symbolic.recursion import kinetic_energy, newton_euler, potential_energy, reduced_mass
from robocompiler.symbolic.reduction import Reduction
from robocompiler.symbolic.regroup import regrouped
from robocompiler.symbolic.scalars import to_sx
from robocompiler.symbolic.turned_frames import turned_frames

SX = Any


@dataclass(frozen=True)
class ChartLift:
    """E (nv, d) sparse over the active velocities, and the pivots met while solving."""

    E: SX
    pivots: tuple[SX, ...]


@dataclass(frozen=True)
class TravellingLift:
    """The inner lift as later kernels take it.

    E (nv, d): its varying entries are `symbols` (ne,), its constants (the 1 of every independent) stay; values (ne,):
    what the kernel that makes them puts out.
    """

    E: SX
    symbols: SX
    values: SX


class Mechanics:
    """Symbolic mechanics of a robot: every quantity is built once, on demand, from the closure program."""

    def __init__(self, closures: ClosureProgram, reduction: Reduction) -> None:
        self.closures, self.reduction = closures, reduction
        self.topology = closures.topology
        self.symbols = closures.symbols
        self.inner, self.port = reduction.chart("inner"), reduction.chart("port")
        self.matter = link_tree(self.symbols)
        # The same forces, fewer operations.  Where loops are closed the links stay as the closures see them: frames
        # turned by rounded angles disagree with these by 1e-16 rad, which light parallel limbs amplify.
        self.tree = regrouped(self.matter if closures.closures else turned_frames(self.matter))
        self._names = {p.name: self.symbols.p[i] for i, p in enumerate(self.topology.mechanism.parameters)}
        self._rows = cs.vertcat(cs.SX(0, self.topology.nv), *[closure.jacobian for closure in closures.closures])

    # --- kinematics of the inner chart ---

    @cached_property
    def lift(self) -> ChartLift:
        """E~ of the inner chart, module by module with static pivots."""
        chart, nv = self.inner, self.topology.nv
        E = cs.SX(nv, len(chart.independent))
        column = {index: k for k, index in enumerate(chart.independent)}
        for index, k in column.items():
            E[index, k] = 1
        pivots: list[SX] = []
        for module in chart.modules:
            if not module.dependents:
                continue
            A = cs.sparsify(self._rows[list(module.rows), list(module.dependents)])
            B = cs.sparsify(self._rows[list(module.rows), list(module.independents)])
            X, met = solve(A, -B, module.pivots)
            pivots += met
            for i, j in zip(*X.sparsity().get_triplet(), strict=True):
                E[module.dependents[i], column[module.independents[j]]] = X[i, j]
        return ChartLift(E, tuple(pivots))

    @cached_property
    def travelling(self) -> TravellingLift:
        """E~ as it goes from kernel to kernel."""
        values = self.lift.E.nonzeros()
        # C has no empty arrays: where nothing varies, the first entry travels all the same
        varying = tuple(k for k, value in enumerate(values) if not value.is_constant()) or tuple(range(len(values)))[:1]
        symbols = cs.SX.sym("e", len(varying))
        entries = [*values]
        for place, k in enumerate(varying):
            entries[k] = symbols[place]
        column = cs.vertcat(cs.SX(0, 1), *entries)
        own = cs.vertcat(cs.SX(0, 1), *[values[k] for k in varying])
        return TravellingLift(cs.SX(self.lift.E.sparsity(), column), symbols, own)

    def bias(self, v: SX) -> SX:
        """c (nv,): accelerations of the active velocities at u~dot = 0, for velocities v."""
        curvature = self.row_curvatures(v)
        c = cs.SX(self.topology.nv, 1)
        for module in self.inner.modules:
            if module.dependents:
                A = cs.sparsify(self._rows[list(module.rows), list(module.dependents)])
                X, _ = solve(A, -curvature[list(module.rows)], module.pivots)
                for i, index in enumerate(module.dependents):
                    c[index] = X[i]
        return c

    def row_curvatures(self, v: SX) -> SX:
        """Cdot v of all condensed rows, for velocities v."""
        values = cs.vertcat(cs.SX(0, 1), *[closure.curvature for closure in self.closures.closures])
        inputs = [self.symbols.q, self.symbols.v, self.symbols.p]
        return cs.Function("curvature", inputs, [values])(self.symbols.q, v, self.symbols.p)

    def row_jacobian(self, rows: Sequence[int], columns: Sequence[int]) -> SX:
        """A block of the condensed rows' Jacobian C, sparse."""
        return cs.sparsify(self._rows[list(rows), list(columns)])

    # --- forces on the tree ---

    def joint_scalars(self, field: str) -> dict[int, SX]:
        """{velocity index: value} of a per-velocity record field (armature, damping) where it is not zero."""
        found = {}
        for slot in self.topology.slots:
            for k, value in enumerate(getattr(self.topology.joint(slot.joint), field)):
                scalar = to_sx(value, self._names)
                if not scalar.is_zero():
                    found[slot.v0 + k] = scalar
        return found

    def tree_forces(self, v: SX, a: SX, damped: bool = True) -> SX:
        """Forces (nv,) that velocities v and accelerations a of the tree take: Newton-Euler, armature, damping."""
        tau = cs.SX(self.topology.nv, 1)
        for index, value in newton_euler(self.tree, v, a, cs.SX(list(self.topology.mechanism.gravity))).items():
            tau[index] = value
        for index, armature in self.joint_scalars("armature").items():
            tau[index] += armature * a[index]
        if damped:
            for index, damping in self.joint_scalars("damping").items():
                tau[index] += damping * v[index]
        return tau

    # --- the inner chart's reduced dynamics ---

    def mass_of(self, E: SX) -> SX:
        """M~ = E^T M_T E with the armature of every joint (d, d), for any E of the inner lift's structure."""
        M = reduced_mass(self.tree, E)
        for index, armature in self.joint_scalars("armature").items():
            columns = [k for k in range(E.shape[1]) if E.has_nz(index, k)]
            for j in columns:
                for k in columns:
                    M[j, k] += armature * E[index, j] * E[index, k]
        return M

    @cached_property
    def inner_mass(self) -> SX:
        """Upper half of M~ (d, d) for the travelling lift."""
        return cs.triu(self.mass_of(self.travelling.E))

    # --- to and from the port chart ---

    def G_of(self, E: SX) -> SX:
        """G (d, d) sparse with u = G u~: the rows of E at the port chart's independents."""
        return cs.sparsify(E[list(self.port.independent), :])

    @cached_property
    def _G_order(self) -> PivotOrder:
        function = cs.Function("G", [self.symbols.q, self.symbols.p], [self.G_of(self.lift.E)])
        defaults = [parameter.default for parameter in self.topology.mechanism.parameters]
        samples = [function(list(q), defaults).full() for q in self.reduction.probes]
        structure = np.array(cs.DM(self.G_of(self.lift.E).sparsity(), 1).full(), dtype=bool)
        return pivot_order(samples, structure)

    def to_inner(self, u: SX, E: SX | None = None) -> SX:
        """G^-1 u (d, m); E is the inner lift where it comes from an earlier kernel."""
        if not self.charts_differ:
            return u
        return solve(self.G_of(self.lift.E if E is None else E), cs.sparsify(u), self._G_order)[0]

    def force_to_port(self, tau: SX, E: SX) -> SX:
        """G^-T tau (d, m)."""
        if not self.charts_differ:
            return tau
        return solve(cs.sparsify(self.G_of(E).T), cs.sparsify(tau), self._G_order.transposed())[0]

    @cached_property
    def chart_pivots(self) -> tuple[SX, ...]:
        """Pivots of G (none where the charts agree)."""
        if not self.charts_differ:
            return ()
        return tuple(solve(self.G_of(self.lift.E), cs.SX(len(self.port.independent), 1), self._G_order)[1])

    def energies(self, v: SX) -> tuple[SX, SX]:
        """Kinetic energy (armature included) and potential energy (zero with every centre of mass at the origin), J."""
        gravity = cs.SX(list(self.topology.mechanism.gravity))
        kinetic, potential = kinetic_energy(self.tree, v), potential_energy(self.matter, gravity)
        for body in self.topology.mechanism.bodies:
            seat = self.matter.seats[body.name]
            if seat.link < 0:  # fixed to the world: a constant, so that the zero is where the docstring says
                still = Inertia.of(body, self._names).moved(seat.pose)
                potential -= cs.dot(gravity, still.h)
        for index, armature in self.joint_scalars("armature").items():
            kinetic += armature * v[index] * v[index] / 2
        return kinetic, potential

    @property
    def charts_differ(self) -> bool:
        """Whether the two charts have different independents (or another order of them)."""
        return self.inner.independent != self.port.independent
