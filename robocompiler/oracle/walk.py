"""Body poses from joint values: a breadth-first walk over the joints, those whose values are given first."""

from __future__ import annotations

from collections.abc import Mapping

from robocompiler.errors import ModelError, Problem
from robocompiler.oracle.arithmetic import Number
from robocompiler.oracle.joint_values import joint_motion
from robocompiler.oracle.relative import Poses
from robocompiler.oracle.scene import GROUND, PlacedJoint, Scene
from robocompiler.oracle.vectors import Matrix, Vector, add, apply, identity, multiply, negative, transpose
from robocompiler.records.joint_types import JointType

Transform = tuple[Matrix, Vector]


def compose(first: Transform, second: Transform) -> Transform:
    """The transform first . second."""
    return multiply(first[0], second[0]), add(first[1], apply(first[0], second[1]))


def inverse(T: Transform) -> Transform:
    """The inverse transform."""
    R = transpose(T[0])
    return R, negative(apply(R, T[1]))


def walk(scene: Scene, given: Mapping[str, float]) -> tuple[Poses, dict[str, Number]]:
    """Poses of all bodies, and the coordinate values used: given ones, else the reference's, else the joint's zero.

    Joints whose values are all given (here or in the reference) carry bodies before the others.
    Raises ModelError for a name that is no coordinate.
    """
    number = scene.arithmetic.number
    known = {name for joint in scene.joints for name in joint.coordinates}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ModelError([Problem(f"no coordinate is called {name!r}") for name in unknown])
    seeds = {name: number(value) for name, value in _reference(scene).items()}
    seeds |= {name: number(value) for name, value in given.items()}
    values: dict[str, Number] = {}
    for joint in scene.joints:
        for name in joint.coordinates:
            values[name] = seeds.get(name, number(1.0 if name.endswith(":qw") else 0.0))
    placed: dict[int, Transform] = {GROUND: _still(scene)}
    waiting = list(scene.joints)
    while waiting:
        ready = [joint for joint in waiting if (joint.a.body in placed) != (joint.b.body in placed)]
        if not ready:
            break
        sure = [joint for joint in ready if all(name in seeds for name in joint.coordinates)]
        joint = (sure or ready)[0]
        waiting.remove(joint)
        _carry(scene, joint, values, placed)
    order = range(len(scene.solids))
    return Poses(tuple(placed[k][0] for k in order), tuple(placed[k][1] for k in order)), values


def _still(scene: Scene) -> Transform:
    zero = scene.arithmetic.number(0.0)
    return identity(scene.arithmetic), (zero, zero, zero)


def _carry(scene: Scene, joint: PlacedJoint, values: Mapping[str, Number], placed: dict[int, Transform]) -> None:
    """Place the body at the joint's other end: T_b = T_a A Q B^-1."""
    Q = joint_motion(joint, [values[name] for name in joint.coordinates], scene.arithmetic)
    X = compose(compose((joint.a.R, joint.a.p), Q), inverse((joint.b.R, joint.b.p)))
    if joint.a.body in placed:
        placed[joint.b.body] = compose(placed[joint.a.body], X)
    else:
        placed[joint.a.body] = compose(placed[joint.b.body], inverse(X))


def _reference(scene: Scene) -> dict[str, float]:
    """The reference's coordinates, with its base poses as coordinates of the free roots."""
    reference = scene.mechanism.reference
    result = dict(reference.coordinates)
    free = {joint.name: joint for joint in scene.joints if joint.kind is JointType.FREE}
    for base in reference.bases:
        body = base.body or (next(iter(scene.roots)) if len(scene.roots) == 1 else "")
        if body in scene.roots:
            values = (*base.translation, *base.quaternion)
            result |= dict(zip(free[scene.roots[body]].coordinates, values, strict=True))
    return result
