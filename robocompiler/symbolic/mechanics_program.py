"""The mechanical interface as a chain of kernels, each one equation of docs/mathematics.md and printed once.

E~ travels between kernels by its varying nonzeros e; u, udot and tau_u are those of the port chart, M~ that of the
inner chart.

    lift        q            -> e                      motion   q, u         -> e, v = E u, c = E~dot u~
    tree        q, v, a      -> tau_T                  raise    e, c, udot   -> a = E udot + Edot u (tree)
    inner_mass  q, e         -> M~                     project  e, tau_T     -> tau_u = E^T tau_T
    port_mass   e, M~        -> M_r                    finish   q, e, c, M~, tau_T, f, tau -> udot
    cut_drift   q, v, a      -> accelerations of cut joints
    ports       q            -> l                      port_map q, e         -> L          port_forces q, f -> L_T^T f
    energies    q, v         -> kinetic, potential     frames   q, v, a      -> acceleration of every frame

so that  forward = motion, tree(v, c), inner_mass, finish;  inverse = motion, raise, tree, project;  bias is inverse at
udot = 0;  curvature = motion, raise(0), cut_drift;  mass = lift, inner_mass, port_mass.
Kernels that divide also put out their pivots, which the caller compares with reference values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.symbolic.aside import Aside, at_once
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.dynamics import Mechanics
from robocompiler.symbolic.elimination import solve_symmetric
from robocompiler.symbolic.frame_motion import frame_accelerations
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.kernels import Output, make_kernel, nonzeros
from robocompiler.symbolic.kinematics import TreeKinematics
from robocompiler.symbolic.manifold import coordinate_rates
from robocompiler.symbolic.ports import build_ports
from robocompiler.symbolic.reduction import Reduction

SX = Any
Input = tuple[str, str, SX]
_WORTH = 12  # joints of the tree below which the kernels are there before anything beside could begin


@dataclass(frozen=True)
class MechanicsProgram:
    """All mechanical kernels, and the sizes of what travels between them.

    ne: varying nonzeros of E~; nm: nonzeros of the upper half of M~, at the places mass_pattern; cut: velocity indices
    of the rows of cut_drift.
    """

    lift: Kernel
    motion: Kernel
    tree: Kernel
    raising: Kernel
    inner_mass: Kernel
    project: Kernel
    port_mass: Kernel
    finish: Kernel
    cut_drift: Kernel
    ports: Kernel
    port_map: Kernel
    port_forces: Kernel
    friction: Kernel
    energies: Kernel
    frames: Kernel
    ne: int
    nm: int
    mass_pattern: tuple[tuple[int, int], ...]
    cut: tuple[int, ...]

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels, in the order of the fields."""
        values = (getattr(self, name) for name in self.__dataclass_fields__)
        return tuple(value for value in values if isinstance(value, Kernel))


def build_mechanics(
    closures: ClosureProgram, reduction: Reduction, kinematics: TreeKinematics, aside: Aside = at_once
) -> MechanicsProgram:
    """All mechanical kernels of a robot; those that need no lift are made `aside` where it pays."""
    mechanics = Mechanics(closures, reduction)
    begin = aside if len(closures.topology.edges) >= _WORTH else at_once
    task = begin(lambda: _TreeStages(mechanics, kinematics).kernels())
    try:
        stages = _LiftStages(mechanics)
        return stages.program(task.result)
    finally:
        task.stop()


def row_major(matrix: SX) -> SX:
    """A matrix as one dense column, row by row."""
    return cs.reshape(cs.densify(matrix).T, matrix.numel(), 1)


class _Stage:
    """What both halves of the kernels begin with."""

    def __init__(self, mechanics: Mechanics) -> None:
        self.mechanics, self.closures = mechanics, mechanics.closures
        self.topology, self.symbols = mechanics.topology, mechanics.symbols
        self.port_program = build_ports(self.symbols)
        nv, nf = self.topology.nv, len(self.topology.mechanism.ports)
        self.f = ("f", "port efforts", cs.SX.sym("f", nf))
        self.v = ("v", "velocities", self.symbols.v)
        self.a = ("a", "accelerations of the velocities", cs.SX.sym("a", nv))

    def _kernel(self, name: str, summary: str, outputs: list[Output], *inputs: Input) -> Kernel:
        return make_kernel(self.symbols, name, summary, outputs, *inputs)


class _TreeStages(_Stage):
    """The kernels of tree and ports, which take no lift."""

    def __init__(self, mechanics: Mechanics, kinematics: TreeKinematics) -> None:
        super().__init__(mechanics)
        self.kinematics = kinematics

    def kernels(self) -> dict[str, Kernel]:
        """{field of MechanicsProgram: kernel}."""
        return {
            "tree": self._tree(),
            "cut_drift": self._cut_drift(),
            "ports": self._kernel(
                "ports_kernel", "Port displacements l.", [("l", "m, rad", self.port_program.displacement)]
            ),
            "port_forces": self._port_forces(),
            "friction": self._friction(),
            "energies": self._energies(),
            "frames": self._frames(),
        }

    def _tree(self) -> Kernel:
        forces = self.mechanics.tree_forces(self.v[2], self.a[2])
        return self._kernel(
            "tree_kernel",
            "Forces that the tree's motion takes: inertia, gravity, armature, damping.",
            [("forces", "N m or N", cs.densify(forces))],
            self.v,
            self.a,
        )

    def _cut_drift(self) -> Kernel:
        # the speeds of a cut joint are G v with v those of the tree: their rate is G a + (d(G v)/dq) N v
        symbols, parts = self.symbols, []
        rates = coordinate_rates(self.topology, symbols.q, symbols.v)
        for closure in self.closures.closures:
            if closure.recovered_v:
                speeds = cs.mtimes(closure.recovered_jacobian, symbols.v)
                drift = cs.jtimes(speeds, symbols.q, rates)
                parts.append(cs.densify(cs.mtimes(closure.recovered_jacobian, self.a[2]) + drift))
        outputs = [("a_cut", "accelerations", cs.vertcat(cs.SX(0, 1), *parts))]
        return self._kernel("cut_drift_kernel", "Accelerations of the cut joints.", outputs, self.v, self.a)

    def _port_forces(self) -> Kernel:
        forces = cs.mtimes(self.port_program.tree_map.T, self.f[2])
        outputs = [("forces", "N m or N", cs.densify(forces))]
        return self._kernel(
            "port_forces_kernel", "Forces L_T^T f of port efforts on the tree's velocities.", outputs, self.f
        )

    def _friction(self) -> Kernel:
        forces = cs.SX(self.topology.nv, 1)
        for index, level in self.mechanics.joint_scalars("friction").items():
            forces[index] = -level * cs.sign(self.v[2][index])
        outputs = [("forces", "N m or N", cs.densify(forces))]
        return self._kernel("friction_kernel", "Dry friction at its joints.", outputs, self.v)

    def _energies(self) -> Kernel:
        kinetic, potential = self.mechanics.energies(self.v[2])
        outputs = [("energy", "kinetic, potential, J", cs.vertcat(kinetic, potential))]
        return self._kernel("energy_kernel", "Kinetic and potential energy.", outputs, self.v)

    def _frames(self) -> Kernel:
        acceleration = frame_accelerations(self.kinematics, self.v[2], self.a[2])
        return self._kernel(
            "frame_accelerations",
            "Classical acceleration of every frame in world axes: omegadot, then that of the origin.",
            [("acceleration", "6 numbers per frame", acceleration)],
            self.v,
            self.a,
        )


class _LiftStages(_Stage):
    """The kernels that make the inner lift, or take it."""

    def __init__(self, mechanics: Mechanics) -> None:
        super().__init__(mechanics)
        self.independent = list(mechanics.port.independent)
        d, nv = len(self.independent), self.topology.nv
        e, self.E = mechanics.travelling.symbols, mechanics.travelling.E
        mass = mechanics.inner_mass.sparsity()
        m = cs.SX.sym("m", mass.nnz())
        self.M = cs.triu2symm(cs.SX(mass, m))
        self.u = ("u", "independent speeds", cs.SX.sym("u", d))
        self.udot = ("udot", "independent accelerations", cs.SX.sym("udot", d))
        self.tau = ("tau", "generalised forces on u", cs.SX.sym("tau", d))
        self.forces = ("forces", "forces on the velocities", cs.SX.sym("forces", nv))
        self.c = ("c", "accelerations at u~dot = 0", cs.SX.sym("c", nv))
        self.e = ("e", "varying nonzeros of the inner lift", e)
        self.m = ("m", "upper half of the inner mass matrix", m)

    def program(self, others: Callable[[], Mapping[str, Kernel]]) -> MechanicsProgram:
        """All kernels; `others` gives those of the tree."""
        own = {
            "lift": self._lift(),
            "motion": self._motion(),
            "raising": self._raise(),
            "inner_mass": self._inner_mass(),
            "project": self._project(),
            "port_mass": self._port_mass(),
            "finish": self._finish(),
            "port_map": self._port_map(),
        }
        return MechanicsProgram(
            **own,
            **others(),
            ne=int(self.e[2].numel()),
            nm=int(self.m[2].numel()),
            mass_pattern=tuple(zip(*self.mechanics.inner_mass.sparsity().get_triplet(), strict=True)),
            cut=tuple(index for closure in self.closures.closures for index in closure.recovered_v),
        )

    def _pivots(self) -> Output:
        pivots = cs.vertcat(cs.SX(0, 1), *self.mechanics.lift.pivots, *self.mechanics.chart_pivots)
        return ("pivot", "pivots of R_p and G", pivots)

    def _lift(self) -> Kernel:
        outputs = [("e", "varying nonzeros of E~", self.mechanics.travelling.values), self._pivots()]
        return self._kernel("lift_kernel", "Inner lift E~ by its varying nonzeros.", outputs)

    def _motion(self) -> Kernel:
        mechanics = self.mechanics
        v = cs.mtimes(mechanics.lift.E, mechanics.to_inner(self.u[2]))
        outputs: list[Output] = [
            ("e", "varying nonzeros of E~", mechanics.travelling.values),
            ("v", "tree velocities", cs.densify(v)),
            ("c", "tree accelerations at u~dot = 0", cs.densify(mechanics.bias(v))),
            self._pivots(),
        ]
        return self._kernel("motion_kernel", "Lift, velocities and their accelerations at u~dot = 0.", outputs, self.u)

    def _raise(self) -> Kernel:
        inner = self.mechanics.to_inner(self.udot[2] - self.c[2][self.independent], self.E)
        a = cs.densify(cs.mtimes(self.E, inner) + self.c[2])
        return self._kernel(
            "raise_kernel",
            "Tree accelerations E udot + Edot u.",
            [("a", "accelerations", a)],
            self.e,
            self.c,
            self.udot,
        )

    def _inner_mass(self) -> Kernel:
        outputs = [("m", "upper half", nonzeros(self.mechanics.inner_mass))]
        return self._kernel("inner_mass_kernel", "M~ = E~^T M_T E~.", outputs, self.e)

    def _project(self) -> Kernel:
        tau = self.mechanics.force_to_port(cs.mtimes(self.E.T, self.forces[2]), self.E)
        outputs = [("tau", "N m or N", cs.densify(tau))]
        return self._kernel("project_kernel", "tau_u = E^T tau_T.", outputs, self.e, self.forces)

    def _port_mass(self) -> Kernel:
        half = self.mechanics.force_to_port(self.M, self.E)  # G^-T M~
        M = self.mechanics.force_to_port(half.T, self.E) if self.mechanics.charts_differ else half
        symmetric = cs.triu(M) + cs.triu(M, False).T
        outputs = [("M", "kg m^2, kg m or kg", row_major(symmetric))]
        return self._kernel("port_mass_kernel", "M_r = G^-T M~ G^-1, row by row.", outputs, self.e, self.m)

    def _finish(self) -> Kernel:
        applied = cs.mtimes(self.port_program.tree_map.T, self.f[2]) - self.forces[2]
        G = self.mechanics.G_of(self.E)
        force = cs.mtimes(self.E.T, applied) + cs.mtimes(G.T, self.tau[2])
        w, pivots = solve_symmetric(self.M, cs.densify(force))
        udot = cs.mtimes(G, w) + self.c[2][self.independent]
        outputs = [
            ("udot", "rad/s^2 or m/s^2", cs.densify(udot)),
            ("mass_pivot", "pivots of M~", cs.vertcat(cs.SX(0, 1), *pivots)),
        ]
        inputs = (self.e, self.c, self.m, self.forces, self.f, self.tau)
        return self._kernel(
            "finish_kernel", "M~ u~dot = E~^T (L_T^T f - tau_T) + G^T tau, then udot.", outputs, *inputs
        )

    def _port_map(self) -> Kernel:
        inner = cs.mtimes(self.port_program.tree_map, self.E)  # (nf, d) over u~
        L = self.mechanics.force_to_port(inner.T, self.E).T if self.mechanics.charts_differ else inner
        return self._kernel("port_map_kernel", "L with ldot = L u.", [("L", "row by row", row_major(L))], self.e)
