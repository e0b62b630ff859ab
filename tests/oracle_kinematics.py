"""An independent numpy evaluator of X = A Q(q) B^-1 straight from the records; it shares no code with the compiler.

Everything is a 4x4 homogeneous matrix.  Rotations come from scipy and integrals from quadrature, so that no formula is
the compiler's.  Values are given by coordinate name.  Nothing here knows forests or closures: `body_poses` walks the
records breadth first through any joints that are not listed as cut.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robocompiler.records.expressions import Scalar, evaluate
from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names, velocity_names
from robocompiler.records.model import WORLD, Joint, Mechanism, Placement

Array = NDArray[np.float64]
Values = Mapping[str, float]
QUATERNION_KINDS = (JointType.SPHERICAL, JointType.FREE)


def hat(w: Array) -> Array:
    """The matrix of the cross product w x."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0.0]])


def twist_matrix(V: Array) -> Array:
    """4x4 matrix of a twist, angular first."""
    result = np.zeros((4, 4))
    result[:3, :3], result[:3, 3] = hat(V[:3]), V[3:]
    return result


def twist_vector(M: Array) -> Array:
    """The twist of a 4x4 matrix, angular first (antisymmetric part of the rotation block)."""
    W = (M[:3, :3] - M[:3, :3].T) / 2
    return np.array([W[2, 1], W[0, 2], W[1, 0], *M[:3, 3]])


def rigid(R: Array, p: Array) -> Array:
    """4x4 of a rotation and a translation."""
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = R, p
    return result


def inverse(T: Array) -> Array:
    """T^-1."""
    return rigid(T[:3, :3].T, -T[:3, :3].T @ T[:3, 3])


def adjoint(T: Array) -> Array:
    """6x6 map of twists, by its definition: column k is the twist of T E_k T^-1."""
    return np.column_stack([twist_vector(T @ twist_matrix(e) @ inverse(T)) for e in np.eye(6)])


def turned(phi: Array) -> Array:
    """3x3 rotation by a rotation vector."""
    return np.asarray(Rotation.from_rotvec(phi).as_matrix())


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def mean_rotation(phi: Array) -> Array:
    """int_0^1 turned(s phi) ds by 16 Gauss points (exact to rounding up to a full turn): exp's translation per unit."""
    samples = Rotation.from_rotvec(np.outer((_NODES + 1) / 2, phi)).as_matrix()
    return np.asarray(np.tensordot(_WEIGHTS / 2, samples, 1))


def log(T: Array) -> Array:
    """Principal logarithm (phi; y): T is the motion of one unit of time at the constant twist."""
    phi = Rotation.from_matrix(T[:3, :3]).as_rotvec()
    return np.concatenate((phi, np.linalg.solve(mean_rotation(phi), T[:3, 3])))


def exp(V: Array) -> Array:
    """The 4x4 that a constant twist reaches in one unit of time."""
    return rigid(turned(V[:3]), mean_rotation(V[:3]) @ V[3:])


def about(axis: Array, angle: float) -> Array:
    """4x4 rotation about a unit axis through the origin."""
    return rigid(turned(angle * axis), np.zeros(3))


def along(vector: Array) -> Array:
    """4x4 translation."""
    return rigid(np.eye(3), vector)


def by_quaternion(q: Array) -> Array:
    """4x4 rotation of a quaternion (w, x, y, z)."""
    return rigid(Rotation.from_quat([q[1], q[2], q[3], q[0]]).as_matrix(), np.zeros(3))


def quaternion_of(R: Array) -> Array:
    """(w, x, y, z) of a rotation, w >= 0."""
    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z]) * (-1.0 if w < 0 else 1.0)


def plane_axes(n: Array) -> tuple[Array, Array]:
    """e1, e2 of a planar joint: x, y carried by the shortest rotation z -> n, after half a turn about x if n_z < 0."""
    half = np.diag([1.0, -1.0, -1.0]) if n[2] < 0 else np.eye(3)
    m = half @ n
    sine = np.cross([0.0, 0.0, 1.0], m)
    size = float(np.linalg.norm(sine))
    turn = turned(sine / size * np.arctan2(size, m[2])) if size > 0 else np.eye(3)
    R = half @ turn
    return R[:, 0], R[:, 1]


def placement(record: Placement, parameters: Values) -> Array:
    """Frame to body."""
    p = np.array([evaluate(x, parameters) for x in record.translation])
    return rigid(np.array(record.rotation), p)


def motion(joint: Joint, values: Array, parameters: Values) -> Array:
    """Q(q) of `records/joint_types.py`."""
    n, m, kind = np.array(joint.axis), np.array(joint.axis2), joint.type
    if kind is JointType.FIXED:
        return np.eye(4)
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return about(n, values[0])
    if kind is JointType.PRISMATIC:
        return along(n * values[0])
    if kind is JointType.SCREW:
        return about(n, values[0]) @ along(n * evaluate(joint.pitch, parameters) * values[0])
    if kind is JointType.CYLINDRICAL:
        return about(n, values[0]) @ along(n * values[1])
    if kind is JointType.UNIVERSAL:
        return about(n, values[0]) @ about(m, values[1])
    if kind is JointType.SPHERICAL:
        return by_quaternion(values)
    if kind is JointType.PLANAR:
        e1, e2 = plane_axes(n)
        return along(e1 * values[0] + e2 * values[1]) @ about(n, values[2])
    assert kind is JointType.FREE
    return along(values[:3]) @ by_quaternion(values[3:])


def basis(joint: Joint, values: Array, parameters: Values) -> Array:
    """Twist of b relative to a per unit of each velocity (6, nv), at b's joint frame and in its axes: (Q^-1 dQ)^vee."""
    n, m, kind = np.array(joint.axis), np.array(joint.axis2), joint.type
    spin, slide, zero = np.concatenate((n, np.zeros(3))), np.concatenate((np.zeros(3), n)), np.zeros(3)
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        columns = [spin]
    elif kind is JointType.PRISMATIC:
        columns = [slide]
    elif kind is JointType.SCREW:
        columns = [spin + evaluate(joint.pitch, parameters) * slide]
    elif kind is JointType.CYLINDRICAL:
        columns = [spin, slide]
    elif kind is JointType.UNIVERSAL:
        columns = [np.concatenate((turned(-values[1] * m) @ n, zero)), np.concatenate((m, zero))]
    elif kind is JointType.SPHERICAL:
        columns = list(np.eye(6)[:3])
    elif kind is JointType.PLANAR:
        back = turned(-values[2] * n)
        columns = [np.concatenate((zero, back @ e)) for e in plane_axes(n)] + [spin]
    elif kind is JointType.FREE:
        columns = list(np.eye(6))
    else:
        return np.zeros((6, 0))
    return np.column_stack(columns)


@dataclass(frozen=True)
class Oracle:
    """Kinematics of a mechanism whose every component hangs on the world (free joints appended)."""

    mechanism: Mechanism

    @property
    def parameters(self) -> dict[str, float]:
        """Defaults of the run-time parameters."""
        return self.mechanism.defaults

    def values(self, joint: Joint, values: Values) -> Array:
        """The joint's own coordinates."""
        return np.array([values[name] for name in coordinate_names(joint.name, joint.type)])

    def transform(self, joint: Joint, values: Values) -> Array:
        """X, coordinates of b's body to a's body."""
        A, B = placement(joint.a, self.parameters), placement(joint.b, self.parameters)
        return A @ motion(joint, self.values(joint, values), self.parameters) @ inverse(B)

    def body_poses(self, values: Values, cut: Collection[str] = ()) -> dict[str, Array]:
        """World poses of all bodies, propagated through the joints that are not cut; those must form a forest."""
        links = [joint for joint in self.mechanism.joints if joint.name not in cut]
        poses = {WORLD: np.eye(4)}
        while len(poses) <= len(self.mechanism.bodies):
            before = len(poses)
            for joint in links:
                a, b = joint.a.body, joint.b.body
                if a in poses and b not in poses:
                    poses[b] = poses[a] @ self.transform(joint, values)
                elif b in poses and a not in poses:
                    poses[a] = poses[b] @ inverse(self.transform(joint, values))
            assert len(poses) > before, "the joints left do not reach every body"
        return poses

    def frame_pose(self, name: str, poses: Mapping[str, Array]) -> Array:
        """World pose of a body or a named frame."""
        if name in poses:
            return poses[name]
        frame = next(frame for frame in self.mechanism.frames if frame.name == name)
        return poses[frame.placement.body] @ placement(frame.placement, self.parameters)

    def defect(self, joint: Joint, values: Values, poses: Mapping[str, Array]) -> Array:
        """rho = log(T X^-1) with T = pose_a^-1 pose_b."""
        T = inverse(poses[joint.a.body]) @ poses[joint.b.body]
        return log(T @ inverse(self.transform(joint, values)))

    def coupling(self, name: str, values: Values) -> float:
        """gamma of one coupling."""
        record = next(coupling for coupling in self.mechanism.couplings if coupling.name == name)
        expression: Scalar = record.expression
        return evaluate(expression, {**self.parameters, **{key: values[key] for key in record.coordinates}})

    def move(self, values: Values, increment: Values) -> dict[str, float]:
        """q (+) dv by velocity name: balls turn by dv in the axes of frame b, free joints by exp of their twist."""
        result = dict(values)
        for joint in self.mechanism.joints:
            step = np.array([increment.get(name, 0.0) for name in velocity_names(joint.name, joint.type)])
            own = self.values(joint, values)
            if joint.type is JointType.SPHERICAL:
                moved = by_quaternion(own)[:3, :3] @ turned(step)
                own = near(quaternion_of(moved), own)
            elif joint.type is JointType.FREE:
                T = along(own[:3]) @ by_quaternion(own[3:]) @ exp(step)
                own = np.concatenate((T[:3, 3], near(quaternion_of(T[:3, :3]), own[3:])))
            else:
                own = own + step
            result.update(zip(coordinate_names(joint.name, joint.type), own.tolist(), strict=True))
        return result

    def coordinates_between(self, joint: Joint, poses: Mapping[str, Array]) -> Array:
        """The coordinates that a closed joint has at given body poses (angles in (-pi, pi], screws on their turn)."""
        T = inverse(poses[joint.a.body]) @ poses[joint.b.body]
        Q = inverse(placement(joint.a, self.parameters)) @ T @ placement(joint.b, self.parameters)
        R, p, n, m = Q[:3, :3], Q[:3, 3], np.array(joint.axis), np.array(joint.axis2)
        turn = float(n @ Rotation.from_matrix(R).as_rotvec())
        kind = joint.type
        if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
            return np.array([turn])
        if kind is JointType.PRISMATIC:
            return np.array([n @ p])
        if kind is JointType.SCREW:
            return np.array([n @ p / evaluate(joint.pitch, self.parameters)])
        if kind is JointType.CYLINDRICAL:
            return np.array([turn, n @ p])
        if kind is JointType.UNIVERSAL:
            return _universal(R, n, m)
        if kind is JointType.SPHERICAL:
            return quaternion_of(R)
        if kind is JointType.PLANAR:
            e1, e2 = plane_axes(n)
            return np.array([e1 @ p, e2 @ p, turn])
        if kind is JointType.FREE:
            return np.concatenate((p, quaternion_of(R)))
        return np.zeros(0)

    def speeds_between(
        self, joint: Joint, values: Values, poses: Mapping[str, Array], twists: Mapping[str, Array]
    ) -> tuple[Array, float]:
        """A closed joint's speeds at given body twists (world axes, at the world's origin), and the misfit."""
        to_frame = adjoint(inverse(poses[joint.b.body] @ placement(joint.b, self.parameters)))
        relative = to_frame @ (twists[joint.b.body] - twists[joint.a.body])
        S = basis(joint, self.values(joint, values), self.parameters)
        speeds = np.linalg.lstsq(S, relative, rcond=None)[0] if S.shape[1] else np.zeros(0)
        return speeds, float(np.abs(S @ speeds - relative).max())


def near(quaternion: Array, previous: Array) -> Array:
    """The sign of a quaternion next to a previous one."""
    return -quaternion if quaternion @ previous < 0 else quaternion


def _universal(R: Array, n: Array, m: Array) -> Array:
    """(first, second) of R = Rot(n, first) Rot(m, second): m turns about n into R m, and n turns about m by R^T n."""

    def angle(axis: Array, start: Array, end: Array) -> float:
        u, v = np.cross(axis, start), np.cross(axis, end)
        return float(np.arctan2(axis @ np.cross(u, v), u @ v))

    return np.array([angle(n, m, R @ m), -angle(m, n, R.T @ n)])


def is_quaternion(name: str) -> bool:
    """Whether a coordinate name is a component of a quaternion."""
    return name.rpartition(":")[2] in ("qw", "qx", "qy", "qz")


def nv(joint: Joint) -> int:
    """Number of the joint's velocities."""
    return JOINT_SHAPES[joint.type].nv
