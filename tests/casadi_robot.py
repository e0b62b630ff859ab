"""A robot evaluated by CasADi from its kernels alone (no C), as the tests of the symbolic passes need it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import casadi as cs
import numpy as np
from fronts import kinematic_front
from numpy.typing import NDArray
from oracle_kinematics import Oracle

from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.compiler import FrontEnd
from robocompiler.numerics.gauss_newton import correct
from robocompiler.records.model import Mechanism
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.program import Pattern

Array = NDArray[np.float64]


class CasadiRobot:
    """The kinematic quantities of one front end; arrays in the compiler's order, dictionaries by name."""

    def __init__(self, front: FrontEnd) -> None:
        self.front = front
        self.program, self.topology, self.reduction = front.program, front.topology, front.reduction
        self.evaluator = ClosureEvaluator(front.closures)
        self.p = self.evaluator.parameters
        self.oracle = Oracle(self.topology.mechanism)
        self.reference = np.array(front.reduction.reference)
        self.cut = {chord.joint for chord in self.topology.chords}

    @staticmethod
    def of(mechanism: Mechanism) -> CasadiRobot:
        """Of the passes that kinematics need."""
        return CasadiRobot(kinematic_front(mechanism))

    def named(self, q: Array) -> dict[str, float]:
        """Coordinates by name."""
        return dict(zip(self.topology.q_names, map(float, q), strict=True))

    def q(self, values: Mapping[str, float]) -> Array:
        """Coordinates in order."""
        return np.array([values[name] for name in self.topology.q_names])

    def speeds(self, v: Array) -> dict[str, float]:
        """Velocities by name."""
        return dict(zip(self.topology.v_names, map(float, v), strict=True))

    def call(self, kernel: Kernel, *arguments: Array) -> list[Array]:
        """All outputs of a kernel at given inputs (parameters appended where it takes them)."""
        extra = [self.p] if len(kernel.inputs) > len(arguments) else []
        results = kernel.function.call([cs.DM(x) for x in (*arguments, *extra)])
        return [np.asarray(r.full(), dtype=np.float64).ravel() for r in results]

    def residual(self, q: Array) -> Array:
        """Augmented residual of all closures."""
        return self.augmented(q)[0]

    def augmented(self, q: Array) -> tuple[Array, Array]:
        """rho and C, the latter from its expressions written out: generated code makes it by a loop over chords."""
        rho, C = self._written_out(q, self.p)
        return np.array(rho).ravel(), np.array(C).reshape(-1, self.topology.nv)

    @cached_property
    def _written_out(self) -> Any:
        closures, symbols = self.front.closures.closures, self.front.closures.symbols
        rho = cs.vertcat(cs.SX(0, 1), *[closure.full for closure in closures])
        C = cs.vertcat(cs.SX(0, self.topology.nv), *[closure.full_jacobian for closure in closures])
        return cs.Function("augmented", [symbols.q, symbols.p], cs.cse([rho, C]))

    def condensed(self, q: Array) -> tuple[Array, Array]:
        """Condensed rows and their Jacobian (all velocities)."""
        r = np.zeros(sum(len(b.condensed) for b in self.program.blocks))
        J = np.zeros((r.size, self.topology.nv))
        for block in self.program.blocks:
            r[list(block.condensed)], values = self.call(block.closure, q)
            J[list(block.condensed)] = spread(block.closure_pattern, values)
        return r, J

    def recover(self, q: Array) -> Array:
        """q with cut joints recovered."""
        result = q.copy()
        for block in self.program.blocks:
            result[list(block.recovered_q)] = self.call(block.recover, q)[0]
        return result

    def integrate(self, q: Array, v: Array) -> Array:
        """q (+) v."""
        return self.call(self.program.integrate, q, v)[0]

    def lift(self, q: Array, chart: str = "port") -> Array:
        """E of a chart from its modules' systems and the recovered speeds."""
        program = next(c for c in self.program.charts if c.chart.name == chart)
        independent = list(program.chart.independent)
        E = np.zeros((self.topology.nv, len(independent)))
        E[independent] = np.eye(len(independent))
        for part in program.modules:
            module = part.module
            if module.dependents:
                S = spread(part.pattern, self.call(part.system, q)[1])
                k = len(module.dependents)
                E[list(module.dependents)] = -np.linalg.solve(S[:, :k], S[:, k:] @ E[list(module.independents)])
        for block in self.program.blocks:
            G = spread(block.speeds_pattern, self.call(block.speeds, q)[0])
            E[list(block.recovered_v)] = G @ E
        return E

    def poses(self, q: Array) -> dict[str, Array]:
        """4x4 world poses of all frames."""
        numbers = self.call(self.program.poses, q)[0].reshape(-1, 12)
        result = {}
        for frame, row in zip(self.program.kinematics.frames, numbers, strict=True):
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = row[:9].reshape(3, 3), row[9:]
            result[frame.name] = T
        return result

    def twists(self, q: Array, v: Array) -> dict[str, Array]:
        """World twists (at the world's origin) of all frames for velocities v."""
        columns = self.call(self.program.motions, q)[0].reshape(-1, 6)
        places = {motion.index: k for k, motion in enumerate(self.program.kinematics.motions)}
        return {
            frame.name: sum((columns[places[i]] * v[i] for i in frame.movers), np.zeros(6))
            for frame in self.program.kinematics.frames
        }

    def scaled(self, v: Array) -> Array:
        """Velocities in scaled units."""
        return np.asarray(v / self.evaluator.column_scales)

    def assembled_near(self, random: Any, size: float = 0.1) -> Array:
        """A closed configuration near the reference, reached by a random admissible move and correction."""
        J = self.evaluator.jacobian(self.reference)
        basis = np.eye(J.shape[1]) if not J.size else _null_space(J)
        step = basis @ random.normal(size=basis.shape[1])
        step *= size / max(float(np.abs(step).max(initial=0.0)), 1e-12)
        start = self.evaluator.retract(self.reference, step)
        result = correct(self.evaluator, start, np.arange(self.evaluator.active.size))
        assert result.residual < 1e-12, result
        return result.q

    def off_manifold(self, random: Any, size: float = 0.3) -> Array:
        """A configuration that is not closed, cut joints displaced too, well inside the logarithm's domain."""
        for _ in range(50):
            dv = random.uniform(-size, size, self.topology.nv) * np.minimum(self.evaluator.column_scales, 1.0)
            values = self.oracle.move(self.named(self.reference), self.speeds(dv))
            poses = self.oracle.body_poses(values, self.cut)
            defects = [self.oracle.defect(self.topology.joint(name), values, poses) for name in self.cut]
            if all(np.linalg.norm(rho[:3]) < 2.6 for rho in defects):
                return self.q(values)
            size *= 0.8
        raise AssertionError("no state inside the domain of the logarithm")

    def oracle_residual(self, values: Mapping[str, float]) -> Array:
        """rho of all closures by the oracle, in the compiler's order."""
        poses = self.oracle.body_poses(values, self.cut)
        parts: list[Array] = []
        for closure in self.front.closures.closures:
            if closure.kind == "coupling":
                parts.append(np.array([self.oracle.coupling(closure.name, values)]))
            else:
                parts.append(self.oracle.defect(self.topology.joint(closure.name), values, poses))
        return np.concatenate(parts) if parts else np.zeros(0)


def _null_space(J: Array) -> Array:
    _, values, Vt = np.linalg.svd(J)
    return np.asarray(Vt[int(np.sum(values > 1e-7 * values[0])) :].T)


def spread(pattern: Pattern, values: Array) -> Array:
    """Dense matrix of a pattern."""
    result = np.zeros(pattern.shape)
    result[list(pattern.rows), list(pattern.columns)] = values
    return result
