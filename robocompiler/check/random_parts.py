"""Random records that are consistent with each other: joints at random values, chords that close where they stand.

A chord gets a random type, random values and a random frame a; its frame b is what closes it: X = A Q B^-1 = T, the
pose of its body b in its body a, so B = T^-1 A Q.  Poses and Q are those of the maximal-coordinate oracle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robocompiler.oracle.arithmetic import double_arithmetic
from robocompiler.oracle.joint_values import joint_motion
from robocompiler.oracle.scene import Frame, Scene
from robocompiler.oracle.walk import walk
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names
from robocompiler.records.model import WORLD, BasePose, Body, Joint, Mechanism, Placement, Vector3

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RandomMechanism:
    """A closed mechanism and its coordinate values by name, those of free roots included."""

    mechanism: Mechanism
    values: Mapping[str, float]


@dataclass
class Maker:
    """Random records from one generator; the values of every joint that it made are noted in `values`."""

    random: np.random.Generator
    values: dict[str, float] = field(default_factory=dict)

    def vector(self, size: float) -> Vector3:
        """Three numbers up to `size`."""
        x, y, z = self.random.uniform(-size, size, 3).tolist()
        return x, y, z

    def direction(self) -> Vector3:
        """A unit vector."""
        v = self.random.normal(size=3)
        x, y, z = (v / np.linalg.norm(v)).tolist()
        return x, y, z

    def frame(self, body: str) -> Placement:
        """A frame anywhere within 0.5 m along each axis."""
        R = Rotation.random(random_state=int(self.random.integers(2**31))).as_matrix()
        return place(body, rigid(R, np.array(self.vector(0.5))))

    def joint_values(self, kind: JointType, turns: int = 0) -> list[float]:
        """Coordinates of moderate size; `turns` whole turns more on the angle of a continuous joint."""
        shape = JOINT_SHAPES[kind]
        values = [
            float(self.random.uniform(-1.2, 1.2) if unit == "rad" else self.random.uniform(-0.4, 0.4))
            for unit in shape.coordinate_units
        ]
        if kind is JointType.CONTINUOUS:
            values[0] += 2 * np.pi * turns
        if "qw" in shape.coordinates:
            q = self.random.normal(size=4)
            values[-4:] = (q / np.linalg.norm(q)).tolist()
        return values

    def joint(self, name: str, kind: JointType, a: str, b: str, *, armature: bool = False, turns: int = 0) -> Joint:
        """A joint with random frames and axes at random values."""
        axis = self.direction()
        axis2 = self.direction()
        while abs(np.dot(axis, axis2)) > 0.7:
            axis2 = self.direction()
        pitch = float(self.random.choice([-1, 1]) * self.random.uniform(0.05, 0.3)) if kind is JointType.SCREW else 0.0
        inertia = (0.01,) * JOINT_SHAPES[kind].nv if armature else ()
        names = coordinate_names(name, kind)
        self.values.update(zip(names, self.joint_values(kind, turns), strict=True))
        return Joint(name, kind, self.frame(a), self.frame(b), axis, axis2, pitch, armature=inertia)

    def base(self, body: str) -> BasePose:
        """A free root's pose, noted as the values of `<body>_free`."""
        T = self.frame(body)
        x, y, z, w = (float(part) for part in Rotation.from_matrix(np.array(T.rotation)).as_quat())
        p, q, r = (float(part) for part in np.array(T.translation, dtype=float))
        pose = BasePose(body, (p, q, r), (w, x, y, z))
        names = coordinate_names(f"{body}_free", JointType.FREE)
        self.values.update(zip(names, (*pose.translation, *pose.quaternion), strict=True))
        return pose

    def closed(self, joint: Joint, poses: Mapping[str, Array]) -> Joint:
        """`joint` with frame b moved to where it closes at its value and the given 4x4 poses."""
        T = inverse(poses[joint.a.body]) @ poses[joint.b.body]
        ends = tuple(Body(name) for name in (joint.a.body, joint.b.body) if name != WORLD)
        scene = Scene(Mechanism("pair", bodies=ends, joints=(joint,)), {}, double_arithmetic())
        placed = scene.joints[0]
        own = [self.values[name] for name in placed.coordinates]
        Q = rigid(*map(np.array, joint_motion(placed, own, scene.arithmetic)))
        return replace(joint, b=place(joint.b.body, inverse(T) @ frame_matrix(placed.a) @ Q))


def body_poses(bodies: Sequence[str], joints: Sequence[Joint], values: Mapping[str, float]) -> dict[str, Array]:
    """4x4 world poses of the bodies of a tree whose every component hangs on the world."""
    tree = Mechanism("tree", bodies=tuple(Body(name) for name in bodies), joints=tuple(joints))
    scene = Scene(tree, {}, double_arithmetic())
    own = {name: values[name] for joint in scene.joints for name in joint.coordinates}
    poses, _ = walk(scene, own)
    found = {name: rigid(np.array(R), np.array(p)) for name, R, p in zip(bodies, poses.R, poses.p, strict=True)}
    return {WORLD: np.eye(4), **found}


def rigid(R: Array, p: Array) -> Array:
    """4x4 of a rotation and a translation."""
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = R, p
    return result


def inverse(T: Array) -> Array:
    """T^-1 of a 4x4."""
    return rigid(T[:3, :3].T, -T[:3, :3].T @ T[:3, 3])


def frame_matrix(frame: Frame) -> Array:
    """4x4 of an oracle's frame."""
    return rigid(np.array(frame.R), np.array(frame.p))


def place(body: str, T: Array) -> Placement:
    """The record of a frame given as a 4x4."""
    rows = T[:3, :3].tolist()
    x, y, z = T[:3, 3].tolist()
    return Placement(body, (tuple(rows[0]), tuple(rows[1]), tuple(rows[2])), (x, y, z))
