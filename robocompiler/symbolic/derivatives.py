"""Derivatives of reduced inverse and forward dynamics in the port chart, as kernels.

s are tangent coordinates of the port chart: q moves by q (+) E ds.  With the tree's motion v = E u and
a = E udot + Edot u, the forces w = tau_T(q, v, a) - L_T^T f that it takes, and C^T lambda = w less tau_u at the
independents,

    d tau_u = E^T [ d w - d(C^T lambda) ],   lambda fixed:

the derivative of E drops out, since E^T C^T = 0.  All directions are columns of the inner lift E~.  With the inner
independents' speeds and accelerations held they give

    Q_s = E~^T [ dw - d(C^T lambda) ] along dq = E~        Q_u the same along dv = E~

and holding those of the port chart instead, by Y = -G^-1 (changes at the port chart's independents),

    Q_u <- Q_u + M~ Y_u      Q_s <- Q_s + Q_u Y_v + M~ Y_a
    d tau = G^-T Q G^-1      d udot = -G M~^-1 Q G^-1      d udot/df = G M~^-1 E~^T L_T^T
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.closure_slopes import closure_slopes, multiplier_count, multipliers
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.dynamics import Mechanics
from robocompiler.symbolic.elimination import solve_symmetric
from robocompiler.symbolic.held_speeds import parent_held, unheld
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.kernels import Output, make_kernel, nonzeros
from robocompiler.symbolic.manifold import coordinate_rates
from robocompiler.symbolic.mechanics_program import row_major
from robocompiler.symbolic.ports import build_ports
from robocompiler.symbolic.reduced_slopes import Motion, reduced_slopes
from robocompiler.symbolic.reduction import Reduction
from robocompiler.symbolic.tree_slopes import Directions

SX = Any
Input = tuple[str, str, SX]


@dataclass(frozen=True)
class DerivativesProgram:
    """The kernels, in the order of a call; sizes of what travels between them.

    multipliers  q, forces, f, tau                -> lam
    turning      q, e, v, a, lam, f               -> g: changes of dependents, and of closure and port forces
    slopes       q, e, v, a, g                    -> s, r: Q_s and Q_u, inner independents held
    inverse      q, e, m, g, s, r                 -> d tau/ds, d tau/du
    forward      q, e, m, g, s, r                 -> d udot/ds, d udot/du, d udot/df

    a must belong to the state: a = E udot + Edot u.  An argument without an entry is left out of its kernel; a kernel
    whose output is empty computes nothing.  sizes: of lam, g, s and r; needs_mass: whether `inverse` needs m.
    """

    multipliers: Kernel
    turning: Kernel
    slopes: Kernel
    inverse: Kernel
    forward: Kernel
    sizes: Mapping[str, int]
    needs_mass: bool

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels."""
        return (self.multipliers, self.turning, self.slopes, self.inverse, self.forward)


def build_derivatives(closures: ClosureProgram, reduction: Reduction) -> DerivativesProgram:
    """The derivative kernels of a robot that can move."""
    return _Stages(closures, reduction).program()


class _Stages:
    def __init__(self, closures: ClosureProgram, reduction: Reduction) -> None:
        self.mechanics = Mechanics(closures, reduction)
        self.symbols, self.topology = closures.symbols, closures.topology
        self.ports = build_ports(closures.symbols)
        self.independent = list(reduction.chart("port").independent)
        nv, nf, d = self.topology.nv, len(self.topology.mechanism.ports), len(self.independent)
        e, self.E = self.mechanics.travelling.symbols, self.mechanics.travelling.E
        mass = self.mechanics.inner_mass.sparsity()
        m = cs.SX.sym("m", mass.nnz())
        self.M = cs.triu2symm(cs.SX(mass, m))
        self.e = ("e", "varying nonzeros of the inner lift", e)
        self.m = ("m", "upper half of the inner mass matrix", m)
        self.v = ("v", "velocities", self.symbols.v)
        self.a = ("a", "accelerations", cs.SX.sym("a", nv))
        self.f = ("f", "port efforts", cs.SX.sym("f", nf))
        self.tau = ("tau", "generalised forces on u", cs.SX.sym("tau", d))
        self.forces = ("forces", "forces on the velocities", cs.SX.sym("forces", nv))
        self.lam = ("lam", "multipliers of the selected rows", cs.SX.sym("lam", multiplier_count(self.mechanics)))
        changes = closure_slopes(self.mechanics, self.E, self.v[2], self.a[2], self.lam[2])
        unheld_v, unheld_a = self._unheld(changes.speed)
        self.parts = (
            changes.speed, changes.acceleration, changes.drift, self._force_turning(changes.turning),
            unheld_v[self.independent, :], unheld_a[self.independent, :],
        )  # fmt: skip
        g = cs.SX.sym("g", sum(part.nnz() for part in self.parts))
        self.g = ("g", "changes of dependents and of closure and port forces", g)
        ends = [0]
        for part in self.parts:
            ends.append(ends[-1] + part.nnz())
        self.speed, self.acceleration, self.drift, self.turned, *self.ports_turned = (
            cs.SX(part.sparsity(), g[start:end])
            for part, start, end in zip(self.parts, ends[:-1], ends[1:], strict=True)
        )

    def _kernel(self, name: str, summary: str, outputs: list[Output], *inputs: Input) -> Kernel:
        """Arguments without an entry are left out (one empty output stays where there is nothing else)."""
        written = [entry for entry in outputs if entry[2].numel()] or outputs[:1]
        return make_kernel(self.symbols, name, summary, written, *(entry for entry in inputs if entry[2].numel()))

    def program(self) -> DerivativesProgram:
        slopes, s, r = self._slopes()
        return DerivativesProgram(
            multipliers=self._multipliers(),
            turning=self._kernel(
                "turning_kernel",
                "Along the inner lift: changes of dependent speeds and accelerations, and of closure and port forces.",
                [("g", "nonzeros", cs.vertcat(cs.SX(0, 1), *[nonzeros(part) for part in self.parts]))],
                self.e, self.v, self.a, self.lam, self.f,
            ),
            slopes=slopes,
            inverse=self._inverse(s, r),
            forward=self._forward(s, r),
            sizes={entry[0]: int(entry[2].numel()) for entry in (self.lam, self.g, self.s, self.r)},
            needs_mass=self.needs_mass,
        )  # fmt: skip

    def _force_turning(self, closure: SX) -> SX:
        """H of the closure and port forces together (nv, nv), at fixed lambda and f."""
        forces = cs.sparsify(cs.mtimes(self.ports.tree_map.T, self.f[2]))
        rows = sorted(set(forces.sparsity().get_triplet()[0]))
        total = cs.SX(closure)
        if rows:
            felt = cs.densify(forces[rows])
            seen = set(cs.sparsify(cs.DM(cs.jacobian_sparsity(felt, self.symbols.q), 1)).sparsity().get_triplet()[1])
            for k in range(self.topology.tree_nv):
                if seen & set(self.topology.moved_coordinates(k)):
                    unit = cs.SX(self.topology.nv, 1)
                    unit[k] = 1
                    rates = coordinate_rates(self.topology, self.symbols.q, unit)
                    total[rows, k] += cs.jtimes(felt, self.symbols.q, rates)
        return cs.sparsify(total)

    def _multipliers(self) -> Kernel:
        forces = self.forces[2] - cs.mtimes(self.ports.tree_map.T, self.f[2])
        needed = cs.SX(forces)
        for k, index in enumerate(self.independent):
            needed[index] -= self.tau[2][k]
        return self._kernel(
            "multipliers_kernel",
            "Multipliers of the selected closure rows: R_p^T lambda = (forces - L_T^T f - tau at the independents).",
            [("lam", "N, N m", multipliers(self.mechanics, needed))],
            self.forces, self.f, self.tau,
        )  # fmt: skip

    def _slopes(self) -> tuple[Kernel, SX, SX]:
        """The kernel, and Q_s and Q_u as symbols."""
        E, mechanics = self.E, self.mechanics
        sets = (Directions(E, self.speed, self.acceleration), Directions(cs.SX(*E.shape), E, self.drift))
        gravity = cs.SX(list(self.topology.mechanism.gravity))
        motion = Motion(self.v[2], self.a[2], gravity, parent_held(self.topology))
        results = reduced_slopes(mechanics.tree, motion, E, sets, self.turned)
        more_v, more_a = self._unheld(self.speed)
        along_q = (self.speed + more_v, self.acceleration + more_a)
        Q_s, Q_u = (
            cs.sparsify(result + cs.mtimes(E.T, self._joint_forces(*changes)))
            for result, changes in zip(results, (along_q, (E, self.drift + more_v)), strict=True)
        )
        outputs = [("s", "nonzeros of Q_s", nonzeros(Q_s)), ("r", "nonzeros of Q_u", nonzeros(Q_u))]
        kernel = self._kernel(
            "slopes_kernel",
            "Along the inner lift: what the generalised forces change with configuration (s) and speeds (r).",
            outputs,
            self.e, self.v, self.a, self.g,
        )  # fmt: skip
        self.s = ("s", "nonzeros of Q_s", cs.SX.sym("s", Q_s.nnz()))
        self.r = ("r", "nonzeros of Q_u", cs.SX.sym("r", Q_u.nnz()))
        return kernel, cs.SX(Q_s.sparsity(), self.s[2]), cs.SX(Q_u.sparsity(), self.r[2])

    def _joint_forces(self, y: SX, z: SX) -> SX:
        """Changes (nv, d) of the forces of damping and armature with changes of the joints' own speeds."""
        forces = cs.SX(*self.E.shape)
        for field, change in (("damping", y), ("armature", z)):
            for index, value in self.mechanics.joint_scalars(field).items():
                forces[index, :] += value * change[index, :]
        return cs.sparsify(forces)

    @property
    def needs_mass(self) -> bool:
        """Whether inverse dynamics undoes accelerations of the port chart, which takes the mass matrix."""
        return any(part.nnz() for part in self._at_port()[1:])

    def _at_port(self) -> tuple[SX, SX, SX]:
        """c_v, c_a, c_u (d, d): what the port chart's own speeds and accelerations change by, to be undone."""
        rows = self.independent
        c_v, c_a, c_u = (
            cs.sparsify(part[rows, :] + more)
            for part, more in zip(
                (self.speed, self.acceleration, self.drift), (*self.ports_turned, self.ports_turned[0]), strict=True
            )
        )
        return c_v, c_a, c_u

    def _unheld(self, y: SX) -> tuple[SX, SX]:
        """What the joints' own speeds and accelerations change by besides y and z (nv, d), along dq = E~."""
        e_v, e_a, y_v = (
            unheld(self.topology, x, w) for x, w in ((self.E, self.v[2]), (self.E, self.a[2]), (y, self.v[2]))
        )
        return e_v, cs.sparsify(e_a + y_v)

    def _to_port_columns(self, X: SX) -> SX:
        """X G^-1."""
        return self.mechanics.force_to_port(X.T, self.E).T if self.mechanics.charts_differ else X

    def _inverse(self, Q_s: SX, Q_u: SX) -> Kernel:
        c_v, c_a, c_u = self._at_port()
        pushed = self._to_port_columns(self.mechanics.force_to_port(self.M, self.E)) if self.needs_mass else self.M
        forced = [self.mechanics.force_to_port(Q, self.E) for Q in (Q_s, Q_u)]
        by_u = self._to_port_columns(forced[1] - cs.mtimes(pushed, c_u))
        by_s = self._to_port_columns(forced[0] - cs.mtimes(by_u, c_v) - cs.mtimes(pushed, c_a))
        outputs = [("tau_s", "row by row", row_major(by_s)), ("tau_u", "row by row", row_major(by_u))]
        return self._kernel(
            "inverse_slopes_kernel", "d tau/ds and d tau/du of inverse dynamics, port chart.", outputs,
            self.e, *((self.m,) if self.needs_mass else ()), self.g, self.s, self.r,
        )  # fmt: skip

    def _forward(self, Q_s: SX, Q_u: SX) -> Kernel:
        """G M~^-1 as a matrix of its own, or M~^-1 and then G column by column: whichever takes fewer operations."""
        G = self.mechanics.G_of(self.E)
        H = solve_symmetric(self.M, cs.sparsify(G.T))[0].T

        def solved(X: SX) -> SX:
            return cs.mtimes(G, solve_symmetric(self.M, cs.sparsify(X))[0])

        kernels = [self._forward_by(Q_s, Q_u, apply) for apply in (solved, lambda X: cs.mtimes(H, X))]
        return min(kernels, key=lambda kernel: kernel.operations)

    def _forward_by(self, Q_s: SX, Q_u: SX, apply: Callable[[SX], SX]) -> Kernel:
        """The kernel, where apply(X) is G M~^-1 X."""
        d = len(self.independent)
        c_v, c_a, c_u = self._at_port()
        columns = apply(cs.horzcat(Q_s, Q_u, cs.mtimes(self.E.T, self.ports.tree_map.T)))
        along_u = self._to_port_columns(c_u - columns[:, d : 2 * d])
        along_s = self._to_port_columns(c_a - columns[:, :d] - cs.mtimes(along_u, c_v))
        outputs = [
            ("udot_s", "row by row", row_major(along_s)),
            ("udot_u", "row by row", row_major(along_u)),
            ("udot_f", "row by row", row_major(columns[:, 2 * d :])),
        ]
        return self._kernel(
            "forward_slopes_kernel", "d udot/ds, d udot/du and d udot/df of forward dynamics, port chart.", outputs,
            self.e, self.m, self.g, self.s, self.r,
        )  # fmt: skip
