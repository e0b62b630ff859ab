"""Errors of forward dynamics at random states, ours and the peers', against the reference in 50 digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks.accuracy_draws import Draw
from benchmarks.accuracy_tree import Tree
from robocompiler.oracle.efforts import applied_forces
from robocompiler.oracle.maximal import Efforts
from robocompiler.oracle.maximal_mp import PreciseModel
from robocompiler.oracle.mujoco_adapter import MujocoModel
from robocompiler.oracle.pinocchio_adapter import PinocchioModel
from robocompiler.oracle.states import State
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]
OURS = "RoboCompiler"
Rates = Mapping[str, float]


class Comparison:
    """All solvers for one robot, built from the same records; wrenches act at `frame`.

    A held robot's records have its contacts as joints to the world, which the peers take into their trees: a weld is
    then exact for them.
    """

    def __init__(self, robot: rc.Robot, mechanism: Mechanism, frame: str) -> None:
        self.robot, self.model, self.frame = robot, PreciseModel(mechanism), frame
        self.pinocchio, self.mujoco = PinocchioModel(mechanism), MujocoModel(mechanism)
        # MuJoCo's adapter leaves out the damping of closures, which reaches it as efforts here; closures with armature,
        # which it leaves out as well, are what makes Pinocchio not closable
        lost = [
            note for note in self.mujoco.notes if not note.endswith("armature and damping of a closure are left out")
        ]
        if self.pinocchio.closable or self.pinocchio.notes or lost:
            raise ValueError(f"{robot.name}: the peers cannot represent every closure")
        self.chords = [chord.name for chord in self.pinocchio.spanning.chords]

    def reference(self, draw: Draw) -> tuple[State, Efforts]:
        """The state in 50 digits whose independents are the drawn ones, and what acts on it."""
        robot = self.robot
        near = self.model.pose(dict(zip(robot.coordinates, draw.q.tolist(), strict=True)))
        pose = self.model.project(near, robot.independent)
        u = dict(zip(robot.independent, draw.u.tolist(), strict=True))
        ports = {port.name: value for port, value in zip(robot.ports, draw.f.tolist(), strict=True)}
        wrenches = {self.frame: draw.wrench.tolist()}
        return self.model.state(pose, u, robot.independent), Efforts(ports=ports, wrenches=wrenches)

    def at(self, draw: Draw) -> dict[str, tuple[float, float, float]]:
        """(delta_a, delta_f, r_c) by solver.  Every solver gets the double rounding of the same exact state."""
        state, efforts = self.reference(draw)
        reference = self.model.accelerations(state, efforts)
        M, h = reference.reduced.M.astype(float), reference.reduced.h.astype(float)
        a_ref = reference.udot
        size = np.linalg.norm(a_ref.astype(float))
        force_size = np.linalg.norm(M @ a_ref.astype(float) + h)
        tree = Tree(self.model, state, self.chords)
        exact = [reference.joints[name] for name in tree.velocities]
        errors = {}
        for name, rates in self._answers(draw, state, efforts, tree).items():
            with self.model.arithmetic.context():
                error = np.array([
                    float(self.model.arithmetic.number(rates[n]) - x)
                    for n, x in zip(self.robot.independent, a_ref, strict=True)
                ])  # fmt: skip
            errors[name] = (
                float(np.linalg.norm(error) / max(1.0, size)),
                float(np.linalg.norm(M @ error) / max(1.0, force_size)),
                tree.residual([rates[name] for name in tree.velocities], exact, reference.vector),
            )
        return errors

    def _answers(self, draw: Draw, state: State, efforts: Efforts, tree: Tree) -> dict[str, Rates]:
        values = {name: float(x) for name, x in state.pose.values.items()}
        speeds = {name: float(x) for name, x in self.model.velocities(state).items()}
        tau = tree.efforts(self._forces(state, efforts))
        answers: dict[str, Rates] = {OURS: self._ours(draw, values)}
        engine = self.pinocchio
        q, v, push = engine.configuration(values), engine.velocity(values, speeds), engine.effort(values, tau)
        solvers: dict[str, Callable[[], Array]] = {
            "Pinocchio constraintDynamics, mu 1e-8": lambda: engine.constraint_dynamics(q, v, push, mu=1e-8),
            "Pinocchio constraintDynamics, mu 1e-6": lambda: engine.constraint_dynamics(q, v, push, mu=1e-6),
            "Pinocchio lcaba, mu 1e-6": lambda: engine.lcaba(q, v, push, mu=1e-6),
            "Pinocchio lcaba, mu 1e-4": lambda: engine.lcaba(q, v, push, mu=1e-4),
            "Pinocchio lcaba, mu 1e-2": lambda: engine.lcaba(q, v, push, mu=1e-2),
        }
        answers |= {name: self._complete(engine.named(values, solve())) for name, solve in solvers.items()}
        theirs = self.mujoco.configuration(values)
        found = self.mujoco.accelerations(theirs, self.mujoco.velocity(theirs, speeds), tau)
        answers["MuJoCo"] = self._complete(found)
        return answers

    def _complete(self, rates: Rates) -> Rates:
        missing = [name for name in self.robot.independent if name not in rates]
        if missing:
            raise ValueError(f"{self.robot.name}: {missing} are not in the peers' tree")
        return rates

    def _ours(self, draw: Draw, values: Rates) -> Rates:
        robot = self.robot
        q = np.array([values[name] for name in robot.coordinates])
        udot = robot.forward_dynamics(q, draw.u, draw.f, {self.frame: draw.wrench})
        rates: dict[str, Any] = dict(zip(robot.velocities, robot.acceleration(q, draw.u, udot).tolist(), strict=True))
        return rates

    def _forces(self, state: State, efforts: Efforts) -> list[Any]:
        """Forces on the bodies, with the damping of all joints, which the peers take as efforts."""
        with self.model.arithmetic.context():
            force = applied_forces(self.model, state, efforts)
            for joint in self.model.scene.joints:
                for name, damping in zip(joint.velocities, joint.damping, strict=False):
                    push = -damping * state.rates[name](state.V)
                    for column, entry in state.rates[name].entries.items():
                        force[column] += push * entry
            return force
