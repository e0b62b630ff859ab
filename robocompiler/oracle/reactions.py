"""Constraint wrenches of joints from the multipliers, and which of their components redundant rows leave open."""

from __future__ import annotations

from collections.abc import Sequence

from robocompiler.oracle.arithmetic import Number
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.scene import GROUND, PlacedJoint
from robocompiler.oracle.states import Accelerations, Reaction, State
from robocompiler.oracle.vectors import Vector, apply_transposed, cross, negative, subtract

_OPEN = 1e-9  # share of a unit null multiplier in a wrench component that makes it undetermined


def joint_reactions(model: MaximalModel, state: State, accelerations: Accelerations) -> dict[str, Reaction]:
    """What each joint's constraints exert on its b body: (moment about frame b's origin; force) in axes of frame a.

    Efforts along the joint's velocities and armature are not part of it.  Fixed joints and supports are included.
    """
    with model.arithmetic.context():
        result = {}
        for joint in model.constrained(state.pose):
            rows = [k for k, (name, _) in enumerate(state.row_names) if name == joint.name]
            wrench = _wrench(model, state, joint, rows, accelerations.multipliers)
            size = [0.0] * 6
            for column in state.space.left_null.T:
                idle = _wrench(model, state, joint, rows, column.tolist())
                size = [max(old, abs(float(new))) for old, new in zip(size, idle, strict=True)]
            result[joint.name] = Reaction(tuple(wrench), tuple(value > _OPEN for value in size))
        return result


def coupling_reactions(
    model: MaximalModel, state: State, accelerations: Accelerations
) -> dict[str, tuple[Number, bool]]:
    """Multiplier of each coupling (dual to its residual) and whether it is undetermined."""
    names = {coupling.name for coupling in model.scene.mechanism.couplings}
    return {
        name: (accelerations.multipliers[k], bool(abs(state.space.left_null[k]).max(initial=0.0) > _OPEN))
        for k, (name, _) in enumerate(state.row_names)
        if name in names
    }


def _wrench(
    model: MaximalModel, state: State, joint: PlacedJoint, rows: Sequence[int], multipliers: Sequence[Number]
) -> list[Number]:
    """The rows' forces on b's body, moved to frame b's origin; on the world, the opposite of those on a's body."""
    side = joint.b.body if joint.b.body != GROUND else joint.a.body
    six = [model.arithmetic.number(0.0)] * 6
    for k in rows:
        for column, entry in state.rows[k].entries.items():
            if column // 6 == side:
                six[column % 6] += entry * multipliers[k]
    moment: Vector = (six[0], six[1], six[2])
    force: Vector = (six[3], six[4], six[5])
    motion = model.relative_motion(joint, state.pose)
    arm = motion.arm_b if side == joint.b.body else motion.arm_a
    moment = subtract(moment, cross(arm, force))
    if side != joint.b.body:
        moment, force = negative(moment), negative(force)
    return [*apply_transposed(motion.R_a, moment), *apply_transposed(motion.R_a, force)]
