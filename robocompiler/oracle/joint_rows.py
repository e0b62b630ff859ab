"""Constraint rows, joint velocities and closure gaps of every joint type, as functionals of relative motion."""

from __future__ import annotations

from robocompiler.oracle.arithmetic import Arithmetic, Number
from robocompiler.oracle.relative import Relative, Row, combination, normal
from robocompiler.oracle.scene import PlacedJoint
from robocompiler.oracle.vectors import Vector, apply, dot, identity, skew_part, subtract
from robocompiler.records.joint_types import JointType

_PIVOTS = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.UNIVERSAL, JointType.SPHERICAL, JointType.FIXED)
_HINGES = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.CYLINDRICAL, JointType.PLANAR, JointType.SCREW)
_SLIDES = (JointType.PRISMATIC, JointType.CYLINDRICAL, JointType.SCREW)


def _held_directions(joint: PlacedJoint) -> tuple[Vector, ...]:
    """Directions of frame a along which frame b's origin cannot move."""
    if joint.kind in _SLIDES:
        return (joint.e1, joint.e2)
    return (joint.n,) if joint.kind is JointType.PLANAR else ()


def constraint_rows(joint: PlacedJoint, motion: Relative, arithmetic: Arithmetic) -> list[Row]:
    """The functionals that the joint keeps at zero, rotations first."""
    rows: list[Row] = []
    if joint.kind in _HINGES:
        rows += [motion.angular(motion.in_a(e)) for e in (joint.e1, joint.e2)]
    elif joint.kind in (JointType.FIXED, JointType.PRISMATIC):
        rows += [motion.angular(motion.in_a(e)) for e in identity(arithmetic)]
    elif joint.kind is JointType.UNIVERSAL:
        rows.append(motion.angular(normal(motion.in_a(joint.n), motion.in_b(joint.m))))
    if joint.kind in _PIVOTS:
        rows += [motion.linear(motion.in_a(e)) for e in identity(arithmetic)]
    rows += [motion.linear(motion.in_a(e)) for e in _held_directions(joint)]
    if joint.kind is JointType.SCREW:
        n = motion.in_a(joint.n)
        rows.append(motion.linear(n) + motion.angular(n).times(-joint.pitch))
    return rows


def closure_gaps(joint: PlacedJoint, motion: Relative, values: dict[str, Number]) -> list[Number]:
    """Deviations whose derivatives are `constraint_rows` where the constraints hold; zero exactly where they hold.

    `values` must have the angle of a screw joint, turns included.
    """
    R, s = motion.rotation, motion.position
    gaps: list[Number] = []
    if joint.kind in _HINGES:
        turned = apply(R, joint.n)  # moves by w x n, so that e1 feels w . e2 and e2 feels -w . e1
        gaps += [-dot(joint.e2, turned), dot(joint.e1, turned)]
    elif joint.kind in (JointType.FIXED, JointType.PRISMATIC):
        gaps += skew_part(R)
    elif joint.kind is JointType.UNIVERSAL:
        gaps.append(dot(joint.n, joint.m) - dot(joint.n, apply(R, joint.m)))
    if joint.kind in _PIVOTS:
        gaps += s
    gaps += [dot(e, s) for e in _held_directions(joint)]
    if joint.kind is JointType.SCREW:
        gaps.append(dot(joint.n, s) - joint.pitch * values[joint.name])
    return gaps


def opposite(joint: PlacedJoint, motion: Relative) -> bool:
    """Whether the gaps vanish, or would, at a rotation off by half a turn: sines alone cannot tell."""
    if joint.kind in _HINGES:
        return bool(dot(joint.n, apply(motion.rotation, joint.n)) < 0)
    if joint.kind in (JointType.FIXED, JointType.PRISMATIC):
        R = motion.rotation
        return bool(min(R[0][0], R[1][1], R[2][2]) < 0)
    return False


def velocity_rows(joint: PlacedJoint, motion: Relative, arithmetic: Arithmetic) -> list[Row]:
    """The joint's velocities in the order of its type, as functionals of the relative motion."""
    if joint.kind is JointType.FIXED:
        return []
    base = identity(arithmetic)
    if joint.kind in (JointType.SPHERICAL, JointType.FREE):
        own = [motion.in_b(e) for e in base]
        turns = [motion.angular(axis) for axis in own]
        return turns if joint.kind is JointType.SPHERICAL else turns + [motion.linear(axis) for axis in own]
    n = motion.in_a(joint.n)
    if joint.kind is JointType.UNIVERSAL:
        # Omega = first n + second m in the plane of n and m; the angle between them is constant
        m, cosine = motion.in_b(joint.m), dot(joint.n, joint.m)
        k = 1 / (1 - cosine * cosine)
        return [motion.angular(combination(k, x, -k * cosine, y)) for x, y in ((n, m), (m, n))]
    if joint.kind is JointType.PRISMATIC:
        return [motion.linear(n)]
    if joint.kind is JointType.CYLINDRICAL:
        return [motion.angular(n), motion.linear(n)]
    if joint.kind is JointType.PLANAR:
        return [motion.linear(motion.in_a(e)) for e in (joint.e1, joint.e2)] + [motion.angular(n)]
    return [motion.angular(n)]


def held_gap(joint: PlacedJoint, now: Relative, target: Relative, values: dict[str, Number]) -> list[Number]:
    """What the joint's motion must lose to be at `target` again, per velocity; derivatives are `velocity_rows` there.

    `values` are deviations of the scalar coordinates, which carry turns.
    """
    if joint.kind not in (JointType.SPHERICAL, JointType.FREE):
        return [values[name] for name in joint.coordinates]
    R, T = now.rotation, target.rotation
    columns = list(zip(*R, strict=True))
    product = tuple(tuple(dot(t, r) for r in columns) for t in zip(*T, strict=True))  # T^T R
    turn = list(skew_part(product))  # type: ignore[arg-type]
    if joint.kind is JointType.SPHERICAL:
        return turn
    shift = subtract(now.position, target.position)
    return turn + [dot(column, shift) for column in columns]
