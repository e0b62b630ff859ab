"""Reference vectors for the self test: values computed by CasADi and numpy, never by the generated code itself."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as cs
import numpy as np
from numpy.typing import NDArray

from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.program import RobotProgram

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Vectors:
    """Expected values at the assembled reference: lift E (nv, d), v = E u for a fixed u, and the frames' poses (12
    each).

    `started` is the reference with the port chart's dependents moved a little: the corrector must bring it back.
    """

    q: Array
    u: Array
    E: Array
    v: Array
    poses: Array
    started: Array
    f: Array
    udot: Array


def _lift(program: RobotProgram, q: Array, p: Array) -> Array:
    closures, reduction = program.closures, program.reduction
    nv = closures.topology.nv
    symbols = [closures.symbols.q, closures.symbols.p]
    jacobian = cs.vertcat(cs.SX(0, nv), *[closure.jacobian for closure in closures.closures])
    speeds = cs.vertcat(cs.SX(0, nv), *[closure.recovered_jacobian for closure in closures.closures])
    J, G = (np.array(cs.Function("f", symbols, [m])(q, p).full()).reshape(-1, nv) for m in (jacobian, speeds))
    chart = reduction.chart("port")
    rows = [row for module in chart.modules for row in module.rows]
    E = np.zeros((nv, len(chart.independent)))
    E[list(chart.independent), range(len(chart.independent))] = 1.0
    if rows:
        block = J[rows]
        E[list(chart.dependent)] = -np.linalg.solve(block[:, chart.dependent], block[:, chart.independent])
    recovered = [index for closure in closures.closures for index in closure.recovered_v]
    E[recovered] = G @ E
    return E


def reference_vectors(program: RobotProgram, dynamics: bool) -> Vectors:
    """Vectors at the reference with u = (1, -1/2, 1/3, ...); udot stays empty without `dynamics`."""
    closures, reduction = program.closures, program.reduction
    q = np.array(reduction.reference)
    p = np.array([parameter.default for parameter in closures.topology.mechanism.parameters])
    E = _lift(program, q, p)
    u = np.array([(-1.0) ** k / (k + 1) for k in range(E.shape[1])])
    inputs = [q, p] if p.size else [q]
    poses = np.array(program.poses.function(*inputs).full()).ravel()
    started = q.copy()
    names = closures.topology.q_names
    for index in reduction.chart("port").dependent:  # scalar dependents: their coordinate has the velocity's name
        name = closures.topology.v_names[index]
        if name in names:
            started[names.index(name)] += 1e-3 * reduction.column_scales[index]
    f, udot = _accelerations(program, q, p, E, u) if dynamics else (np.zeros(0), np.zeros(0))
    return Vectors(q, u, E, E @ u, poses, started, f, udot)


def _accelerations(program: RobotProgram, q: Array, p: Array, E: Array, u: Array) -> tuple[Array, Array]:
    """Port efforts f, and udot by dense algebra with this E (not by the kernels of forward dynamics)."""
    mechanics, topology = program.mechanics, program.closures.topology
    assert mechanics is not None
    last = [p] if p.size else []

    def call(kernel: Kernel, *inputs: Array) -> list[Array]:
        outputs = kernel.function(q, *inputs, *last)
        return [np.array(o.full()).ravel() for o in (outputs if isinstance(outputs, tuple) else (outputs,))]

    f = np.array([(-1.0) ** k for k in range(len(topology.mechanism.ports))])
    still = np.zeros(topology.nv)
    weight = call(mechanics.tree, still, still)[0]
    M = np.array([E.T @ (call(mechanics.tree, still, column)[0] - weight) for column in E.T])
    e, v, c = call(mechanics.motion, u)[:3]
    curvature = call(mechanics.raising, e, c, np.zeros(u.size))[0]
    applied = call(mechanics.port_forces, f)[0] if f.size else still
    return f, np.linalg.solve(M, E.T @ (applied - call(mechanics.tree, v, curvature)[0]))
