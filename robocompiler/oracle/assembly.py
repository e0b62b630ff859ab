"""Poses: from joint values by walking the joints, then onto the constraints by Newton steps in any number type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from robocompiler.errors import AssemblyError, ModelError, Problem
from robocompiler.oracle.arithmetic import Arithmetic, Number
from robocompiler.oracle.jets import differentiate
from robocompiler.oracle.joint_rows import closure_gaps, constraint_rows, held_gap, opposite, velocity_rows
from robocompiler.oracle.joint_values import joint_values
from robocompiler.oracle.relative import Poses, Relative, Row, relative
from robocompiler.oracle.scene import GROUND, Frame, PlacedJoint, Scene
from robocompiler.oracle.spaces import Space, dense, independent_rows
from robocompiler.oracle.states import Pose
from robocompiler.oracle.vectors import Matrix, Vector, about, add, apply, dot, multiply, orthonormal, scale
from robocompiler.oracle.walk import walk
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism

_ROUNDS = 40
_NEAR = 1e-7  # rad or m: gaps from which Newton needs no care
_APPROACHED = 1e-5  # rad or m: a larger gap that Gauss-Newton leaves is there to stay
_RIDGE = 1e-12  # keeps the normal equations regular in folded poses
_LARGEST_STEP = 0.3  # rad or m, of any body in one Newton step
Linearisation = tuple[list[Row], list[tuple[str, int]], dict[str, Row]]


class Assembly(ABC):
    """The part of the oracle that finds and linearises poses."""

    def __init__(
        self, mechanism: Mechanism, parameters: Mapping[str, float] | None, support: str, arithmetic: Arithmetic
    ) -> None:
        self.arithmetic = arithmetic
        with arithmetic.context():
            self.scene = Scene(mechanism, parameters, arithmetic)
        self.columns = 6 * len(self.scene.solids)
        self.contacts = self._contacts(support)
        self.velocity_names = tuple(name for joint in self.scene.joints for name in joint.velocities)
        self.coordinate_names = tuple(name for joint in self.scene.joints for name in joint.coordinates)

    @abstractmethod
    def _space(self, rows: Sequence[Row]) -> Space:
        """The solver of these rows; the number type decides which."""

    def _contacts(self, support: str) -> tuple[tuple[str, str], ...]:
        if not support:
            return ()
        for record in self.scene.mechanism.supports:
            if record.name == support:
                return record.contacts
        raise ModelError([Problem(f"no support mode is called {support!r}")])

    def pose(
        self, values: Mapping[str, float] | None = None, anchors: Mapping[str, tuple[Matrix, Vector]] | None = None
    ) -> Pose:
        """The pose at given coordinates, not yet assembled; what is left out comes from the reference, else is zero.

        Joints with given values carry bodies before joints without.  Supported frames are held at `anchors`, (R, p) by
        frame, by default where this pose has them.
        """
        with self.arithmetic.context():
            poses, found = walk(self.scene, values or {})
            pose = Pose(poses, found)
            held = dict(anchors or {})
            for frame, _ in self.contacts:
                held.setdefault(frame, self._world_frame(frame, pose))
            return self._measured(replace(pose, anchors=held))

    def frame_pose(self, frame: str, pose: Pose) -> tuple[Matrix, Vector]:
        """World rotation and origin of a named frame or body."""
        with self.arithmetic.context():
            return self._world_frame(frame, pose)

    def _world_frame(self, name: str, pose: Pose) -> tuple[Matrix, Vector]:
        frame = self.scene.named_frame(name)
        body = pose.poses.motion(frame.body, None, self.arithmetic)
        return multiply(body.R, frame.R), add(body.p, apply(body.R, frame.p))

    def _measured(self, pose: Pose) -> Pose:
        """The pose with its coordinates read off the bodies (turns as in the values before)."""
        values: dict[str, Number] = {}
        for joint in self.scene.joints:
            motion = relative(joint.a, joint.b, pose.poses, None, self.arithmetic)
            values |= joint_values(joint, motion, pose.values, self.arithmetic)
        return replace(pose, values=values)

    def constrained(self, pose: Pose) -> list[PlacedJoint]:
        """All joints, and the supports as fixed or spherical joints between the world and their frames."""
        kinds = {"weld": JointType.FIXED, "point": JointType.SPHERICAL}
        n, e1, e2 = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        supports = [
            PlacedJoint(
                f"support {frame}", kinds[contact], Frame(GROUND, *pose.anchors[frame]),
                self.scene.named_frame(frame), n, e1, e1, e2, 0,
            )
            for frame, contact in self.contacts
        ]  # fmt: skip
        return [*self.scene.joints, *supports]

    def linearise(self, pose: Pose, V: Sequence[Number] | None) -> Linearisation:
        """Constraint rows with (joint or coupling, number) of each, and joint velocities as rows, at twists V."""
        rows: list[Row] = []
        names: list[tuple[str, int]] = []
        rates: dict[str, Row] = {}
        scene_joints = {joint.name for joint in self.scene.joints}
        for joint in self.constrained(pose):
            motion = relative(joint.a, joint.b, pose.poses, V, self.arithmetic)
            own = constraint_rows(joint, motion, self.arithmetic)
            rows += own
            names += [(joint.name, k) for k in range(len(own))]
            if joint.name in scene_joints:
                rates |= zip(joint.velocities, velocity_rows(joint, motion, self.arithmetic), strict=True)
        for coupling in self.scene.mechanism.couplings:
            values = {name: pose.values[name] for name in coupling.coordinates}
            zero = self.arithmetic.number(0.0)
            speeds = {name: zero if V is None else rates[name](V) for name in coupling.coordinates}
            slope = differentiate(coupling.expression, values, speeds, self.scene.parameters, self.arithmetic)
            row = Row({}, slope.bend)
            for name, factor in slope.gradient.items():
                row = row + rates[name].times(factor)
            rows.append(row)
            names.append((coupling.name, 0))
        return rows, names, rates

    def gaps(self, pose: Pose) -> list[Number]:
        """Deviation of every constraint row, rad or m (couplings in their own unit), in the order of `linearise`."""
        with self.arithmetic.context():
            return self._gaps(pose)

    def _gaps(self, pose: Pose) -> list[Number]:
        result: list[Number] = []
        values = dict(pose.values)
        for joint in self.constrained(pose):
            motion = relative(joint.a, joint.b, pose.poses, None, self.arithmetic)
            result += closure_gaps(joint, motion, values)
        for coupling in self.scene.mechanism.couplings:
            own = {name: values[name] for name in coupling.coordinates}
            result.append(differentiate(coupling.expression, own, {}, self.scene.parameters, self.arithmetic).value)
        return result

    def project(self, pose: Pose, hold: Sequence[str] | None = None, tolerance: float | None = None) -> Pose:
        """The nearby pose on the constraints with the coordinates of the velocities `hold` kept.

        Gauss-Newton from afar, then Newton on the poses of all bodies until steps are rounding.  `hold` defaults to a
        well-conditioned set.  Redundant rows that disagree in the records keep their disagreement: `tolerance` bounds
        every gap at the end (default 1e-9).

        Raises:
            AssemblyError: no convergence, a gap is left, or a joint would be off by half a turn.
            RankError: `hold` does not fix the pose.
        """
        with self.arithmetic.context():
            rows, _, rates = self.linearise(pose, None)
            held = tuple(hold) if hold is not None else self.choose(rates, self._space(rows))
            self._known(held, rates)
            target = pose
            if max((abs(float(gap)) for gap in self._gaps(pose)), default=0.0) > _NEAR:
                pose = self._approached(pose, held)
                self._accept(pose, 0.0, _APPROACHED)
            pose, size = self._polished(pose, target, held)
            self._accept(pose, size, 1e-9 if tolerance is None else tolerance)
            return pose

    def choose(self, rates: Mapping[str, Row], space: Space) -> tuple[str, ...]:
        """Joint velocities that parametrise the free twists well."""
        names = tuple(rates)
        return tuple(names[k] for k in independent_rows(list(rates.values()), space.null))

    def _approached(self, pose: Pose, held: Sequence[str]) -> Pose:
        """Gauss-Newton on all rows: those redundant at the end are not while bodies are out of place."""
        target = pose
        for _ in range(_ROUNDS):
            rows, _, rates = self.linearise(pose, None)
            lost = self._lost(pose, target, held)
            matrix = dense([*rows, *(rates[name] for name in held)], self.columns)
            right = [-float(gap) for gap in self._gaps(pose)] + [-float(lost[name]) for name in held]
            # normal equations: quick, and the polish that follows does not inherit their rounding
            normal = matrix.T @ matrix + _RIDGE * np.eye(self.columns)
            step = np.linalg.solve(normal, matrix.T @ np.array(right))
            size = float(np.max(np.abs(step), initial=0.0))
            factor = min(1.0, _LARGEST_STEP / size) if size else 1.0
            pose = self.moved(pose, [self.arithmetic.number(float(x)) for x in factor * step])
            if size < _NEAR:
                break
        return pose

    def _polished(self, pose: Pose, target: Pose, held: Sequence[str]) -> tuple[Pose, float]:
        """Newton with one linearisation as long as it gains four digits a step; also the size of the last step."""
        before, space, size = float("inf"), pose.space, 0.0
        rates: dict[str, Row] = {}
        for _ in range(_ROUNDS):
            if space is None or not rates:
                rows, _, rates = self.linearise(pose, None)
                space = self._space(rows) if space is None else space.renewed(rows)
            lost = self._lost(pose, target, held)
            right = ([-gap for gap in self._gaps(pose)], [-lost[name] for name in held])
            (step,) = space.solve([rates[name] for name in held], [right])
            size = max((abs(float(x)) for x in step), default=0.0)
            pose = self.moved(pose, step)
            if size <= 1e4 * self.arithmetic.epsilon or (size < 1e-12 and size > 0.1 * before):
                break
            if size > 1e-4 * before:
                space = None
            before = size
        return replace(pose, space=space), size

    def _known(self, names: Sequence[str], rates: Mapping[str, Row]) -> None:
        unknown = [name for name in names if name not in rates]
        if unknown:
            raise ModelError([Problem(f"no joint velocity is called {name!r}") for name in unknown])

    def _lost(self, pose: Pose, target: Pose, held: Sequence[str]) -> dict[str, Number]:
        """How far each held velocity's coordinate has moved from the target pose."""
        wanted = set(held)
        lost: dict[str, Number] = {}
        for joint in self.scene.joints:
            if wanted.isdisjoint(joint.velocities):
                continue
            now, then = (relative(joint.a, joint.b, p.poses, None, self.arithmetic) for p in (pose, target))
            moved = held_gap(joint, now, then, {n: pose.values[n] - target.values[n] for n in joint.coordinates})
            lost |= dict(zip(joint.velocities, moved, strict=True))
        return lost

    def moved(self, pose: Pose, step: Sequence[Number]) -> Pose:
        """Bodies turned and shifted by a step of 6 numbers each (world axes); coordinates are measured anew."""
        with self.arithmetic.context():
            rotations, origins = [], []
            for k, (R, p) in enumerate(zip(pose.poses.R, pose.poses.p, strict=True)):
                a, b, c, x, y, z = step[6 * k : 6 * k + 6]
                angle = self.arithmetic.sqrt(dot((a, b, c), (a, b, c)))
                turn = about(scale(1 / angle, (a, b, c)), angle, self.arithmetic) if angle > 0 else None
                rotations.append(R if turn is None else orthonormal(multiply(turn, R), 1))
                origins.append(add(p, (x, y, z)))
            return self._measured(replace(pose, poses=Poses(tuple(rotations), tuple(origins))))

    def _accept(self, pose: Pose, size: float, tolerance: float) -> None:
        gaps = [abs(float(gap)) for gap in self._gaps(pose)]
        worst = max(gaps, default=0.0)
        if size > 1e-8 or worst > tolerance:
            _, names, _ = self.linearise(pose, None)
            joint = names[gaps.index(worst)][0] if gaps else ""
            raise AssemblyError(
                f"the oracle finds no assembled pose: last step {size:.2g}, largest gap {worst:.2g} at {joint}",
                residual=worst,
                joint=joint,
            )
        for record in self.constrained(pose):
            if opposite(record, self.relative_motion(record, pose)):
                raise AssemblyError(f"joint {record.name} is off by half a turn", joint=record.name, residual=worst)

    def relative_motion(self, joint: PlacedJoint, pose: Pose, V: Sequence[Number] | None = None) -> Relative:
        """Relative motion of a joint's frames."""
        return relative(joint.a, joint.b, pose.poses, V, self.arithmetic)
