"""Derivatives of reduced inverse and forward dynamics in the port chart, as kernels.

s are tangent coordinates of the port chart: q moves by q (+) E ds.  With the tree's motion v = E u and
a = E udot + Edot u, the forces w = tau_T(q, v, a) - L_T^T f that it takes, and C^T lambda = w less tau_u at the
independents,

    d tau_u = E^T [ d w - d(C^T lambda) ],   lambda fixed:

the derivative of E drops out, since E^T C^T = 0.  All directions are columns of the inner lift E~.  With the inner
independents' speeds and accelerations held they give

    Q_s = E~^T [ dw - d(C^T lambda) ] along dq = E~        Q_u the same along dv = E~

and with c_v, c_a (along dq) and c_u (along dv) the changes at the port chart's independents, which are undone,

    d udot/du = (c_u - G M~^-1 Q_u) G^-1        d udot/ds = (c_a - G M~^-1 Q_s - (d udot/du) c_v) G^-1
    d tau/du  = (G^-T Q_u - M c_u) G^-1         d tau/ds  = (G^-T Q_s - (d tau/du) c_v - M c_a) G^-1
    d udot/df = G M~^-1 E~^T L_T^T              M = G^-T M~ G^-1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.closure_slopes import ClosureSlopes, closure_slopes, multipliers
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.dynamics import Mechanics
from robocompiler.symbolic.elimination import solve_symmetric
from robocompiler.symbolic.held_speeds import parent_held, unheld
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.kernels import Output, make_kernel, nonzeros
from robocompiler.symbolic.manifold import coordinate_rates
from robocompiler.symbolic.mechanics_program import row_major
from robocompiler.symbolic.ports import build_ports
from robocompiler.symbolic.reduced_slopes import Motion, open_forces, reduced_slopes
from robocompiler.symbolic.reduction import Reduction
from robocompiler.symbolic.tree_slopes import Directions

SX = Any
Input = tuple[str, str, SX]
Three = tuple[SX, SX, SX]


@dataclass(frozen=True)
class DerivativesProgram:
    """The kernels, in the order of a call; sizes of what travels between them.

    slopes       q, e, v, a, f, tau               -> g, s, r: changes at the port chart's independents, Q_s and Q_u
    inverse      q, e, m, g, s, r                 -> d tau/ds, d tau/du
    forward      q, e, m, g, s, r                 -> d udot/ds, d udot/du, d udot/df

    a, f and tau must belong to the state: a = E udot + Edot u under f and tau.  An argument without an entry is left
    out of its kernel.  sizes: of g, s and r; needs_mass: whether `inverse` needs m.
    """

    slopes: Kernel
    inverse: Kernel
    forward: Kernel
    sizes: Mapping[str, int]
    needs_mass: bool

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels."""
        return (self.slopes, self.inverse, self.forward)


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
        gravity = cs.SX(list(self.topology.mechanism.gravity))
        self.motion = Motion(self.v[2], self.a[2], gravity, parent_held(self.topology))

    def _kernel(self, name: str, summary: str, outputs: list[Output], *inputs: Input) -> Kernel:
        """Arguments without an entry are left out (one empty output stays where there is nothing else)."""
        written = [entry for entry in outputs if entry[2].numel()] or outputs[:1]
        return make_kernel(self.symbols, name, summary, written, *(entry for entry in inputs if entry[2].numel()))

    def program(self) -> DerivativesProgram:
        changes = closure_slopes(self.mechanics, self.E, self.v[2], self.a[2], self._multipliers())
        parts = (*self._at_port(changes), *self._reduced(changes))
        symbols = [cs.SX.sym("x", part.nnz()) for part in parts]
        c_v, c_a, c_u, Q_s, Q_u = (cs.SX(part.sparsity(), x) for part, x in zip(parts, symbols, strict=True))
        outputs = [
            ("g", "changes at the port chart's independents", cs.vertcat(cs.SX(0, 1), *map(nonzeros, parts[:3]))),
            ("s", "nonzeros of Q_s", nonzeros(parts[3])),
            ("r", "nonzeros of Q_u", nonzeros(parts[4])),
        ]
        g = cs.vertcat(cs.SX(0, 1), *symbols[:3])
        travelling = [(*output[:2], x) for output, x in zip(outputs, (g, *symbols[3:]), strict=True)]
        slopes = self._kernel(
            "slopes_kernel",
            "Along the inner lift: what the generalised forces change with configuration (s) and speeds (r).",
            outputs,
            self.e, self.v, self.a, self.f, self.tau,
        )  # fmt: skip
        at_port = (c_v, c_a, c_u)
        needs_mass = bool(c_a.nnz() or c_u.nnz())
        return DerivativesProgram(
            slopes=slopes,
            inverse=self._inverse(Q_s, Q_u, at_port, needs_mass, travelling),
            forward=self._forward(Q_s, Q_u, at_port, travelling),
            sizes={output[0]: int(output[2].numel()) for output in outputs},
            needs_mass=needs_mass,
        )

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

    def _multipliers(self) -> SX:
        """lambda (rows,): R_p^T lambda = forces - L_T^T f - tau at the inner chart's dependents."""
        forces = open_forces(self.mechanics.tree, self.motion) - cs.mtimes(self.ports.tree_map.T, self.f[2])
        for field, rate in (("damping", self.v[2]), ("armature", self.a[2])):
            for index, value in self.mechanics.joint_scalars(field).items():
                forces[index] += value * rate[index]
        for k, index in enumerate(self.independent):
            forces[index] -= self.tau[2][k]
        return multipliers(self.mechanics, forces)

    def _reduced(self, changes: ClosureSlopes) -> tuple[SX, SX]:
        """Q_s and Q_u (d, d), inner independents held."""
        E = self.E
        sets = (Directions(E, changes.speed, changes.acceleration), Directions(cs.SX(*E.shape), E, changes.drift))
        H = self._force_turning(changes.turning)
        results = reduced_slopes(self.mechanics.tree, self.motion, E, sets, H)
        more_v, more_a = self._unheld(changes.speed)
        along_q = (changes.speed + more_v, changes.acceleration + more_a)
        Q_s, Q_u = (
            cs.sparsify(result + cs.mtimes(E.T, self._joint_forces(*own)))
            for result, own in zip(results, (along_q, (E, changes.drift + more_v)), strict=True)
        )
        return Q_s, Q_u

    def _joint_forces(self, y: SX, z: SX) -> SX:
        """Changes (nv, d) of the forces of damping and armature with changes of the joints' own speeds."""
        forces = cs.SX(*self.E.shape)
        for field, change in (("damping", y), ("armature", z)):
            for index, value in self.mechanics.joint_scalars(field).items():
                forces[index, :] += value * change[index, :]
        return cs.sparsify(forces)

    def _at_port(self, changes: ClosureSlopes) -> tuple[SX, SX, SX]:
        """c_v, c_a, c_u (d, d): what the port chart's own speeds and accelerations change by, to be undone."""
        more_v, more_a = self._unheld(changes.speed)
        held = ((changes.speed, more_v), (changes.acceleration, more_a), (changes.drift, more_v))
        c_v, c_a, c_u = (cs.sparsify((part + more)[self.independent, :]) for part, more in held)
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

    def _inverse(self, Q_s: SX, Q_u: SX, at_port: Three, needs_mass: bool, travelling: list[Input]) -> Kernel:
        c_v, c_a, c_u = at_port
        pushed = self._to_port_columns(self.mechanics.force_to_port(self.M, self.E)) if needs_mass else self.M
        forced = [self.mechanics.force_to_port(Q, self.E) for Q in (Q_s, Q_u)]
        by_u = self._to_port_columns(forced[1] - cs.mtimes(pushed, c_u))
        by_s = self._to_port_columns(forced[0] - cs.mtimes(by_u, c_v) - cs.mtimes(pushed, c_a))
        outputs = [("tau_s", "row by row", row_major(by_s)), ("tau_u", "row by row", row_major(by_u))]
        return self._kernel(
            "inverse_slopes_kernel", "d tau/ds and d tau/du of inverse dynamics, port chart.", outputs,
            self.e, *((self.m,) if needs_mass else ()), *travelling,
        )  # fmt: skip

    def _forward(self, Q_s: SX, Q_u: SX, at_port: Three, travelling: list[Input]) -> Kernel:
        """G M~^-1 as a matrix of its own, or M~^-1 and then G column by column: whichever takes fewer operations."""
        G = self.mechanics.G_of(self.E)
        H = solve_symmetric(self.M, cs.sparsify(G.T))[0].T

        def solved(X: SX) -> SX:
            return cs.mtimes(G, solve_symmetric(self.M, cs.sparsify(X))[0])

        ways = (solved, lambda X: cs.mtimes(H, X))
        kernels = [self._forward_by(Q_s, Q_u, at_port, apply, travelling) for apply in ways]
        return min(kernels, key=lambda kernel: kernel.operations)

    def _forward_by(
        self, Q_s: SX, Q_u: SX, at_port: Three, apply: Callable[[SX], SX], travelling: list[Input]
    ) -> Kernel:
        """The kernel, where apply(X) is G M~^-1 X."""
        d = len(self.independent)
        c_v, c_a, c_u = at_port
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
            self.e, self.m, *travelling,
        )  # fmt: skip
