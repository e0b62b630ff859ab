"""The two ways in which a mechanism is refused numerically, each with the joints involved, sizes and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.axes import world_axes
from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.analysis.pins import nearly_redundant_pins
from robocompiler.analysis.scales import largest_length
from robocompiler.errors import AssemblyError, ModelError, Problem, RankError
from robocompiler.numerics.gap import CLEAR, NOISE, RankDecision
from robocompiler.numerics.gauss_newton import smallest_gap
from robocompiler.records.joint_types import JOINT_SHAPES
from robocompiler.repair.explain import causes_text
from robocompiler.repair.straight_records import straight_records

Array = NDArray[np.float64]

NEARLY_CLOSED = 1e-3  # scaled residual up to which rounded records may keep a loop open
FAR = 100.0  # a declared length scale so many times larger than the mechanism is named as the cause
PARALLEL = 1 - 5e-8  # cosine from which two axes count as meant to be parallel: 0.3 mrad


def closure_gaps(evaluator: ClosureEvaluator, q: Array) -> dict[str, tuple[float, float]]:
    """Gap of every closure at q as (metres, radians); a coupling's gap stands in the second place."""
    full = evaluator.full_residual(q)
    gaps, start = {}, 0
    for closure in evaluator.program.closures:
        if closure.kind == "coupling":
            gaps[closure.name] = (0.0, float(abs(full[start])))
            start += 1
        else:
            rho = full[start : start + 6]
            gaps[closure.name] = (float(np.linalg.norm(rho[3:])), float(np.linalg.norm(rho[:3])))
            start += 6
    return gaps


def refuse_open(evaluator: ClosureEvaluator, q: Array, residual: float) -> NoReturn:
    """Raise AssemblyError: the loops cannot be closed near the reference."""
    q = smallest_gap(evaluator, q, np.arange(evaluator.active.size))
    gaps = closure_gaps(evaluator, q)
    size = {name: gap[0] / evaluator.length + gap[1] for name, gap in gaps.items()}
    worst = sorted(size, key=lambda name: (-size[name], name))[:5]
    lines = [f"  {name}: {gaps[name][0]:.3g} m, {gaps[name][1]:.3g} rad" for name in worst if size[name] > NOISE]
    bent = _causes(evaluator, evaluator.jacobian(q)) if residual < NEARLY_CLOSED else ""
    raise AssemblyError(
        "the loops do not close near the reference pose; smallest gaps found:\n"
        + "\n".join(lines)
        + (
            "\n"
            + (
                bent
                or "Check the attachment frames of these joints, or give reference values nearer to an assembled pose."
            )
        ),
        residual=residual,
        gap=gaps,
        joint=worst[0] if worst else "",
        q=q,
    )


def refuse_unclear_rank(
    evaluator: ClosureEvaluator, q: Array, jacobians: Sequence[Array], rank: RankDecision
) -> NoReturn:
    """Raise RankError: singular values lie between rounding and mechanics, as rounded axes or points cause."""
    suspects = _suspects(evaluator, jacobians, q)
    topology = evaluator.program.topology
    listed = sorted(suspects.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"  {name}: {size:.2e}" for name, size in listed[:12]]
    more = f"\n  and {len(listed) - 12} more" if len(listed) > 12 else ""
    freedoms = evaluator.active.size - rank.rank
    report: dict[str, Any] = {
        "rank_above_gap": rank.rank,
        "freedoms_above_gap": freedoms,
        "between": rank.between,
        "singular_values": rank.singular_values,
        "suspects": dict(listed),
        "robot": topology.mechanism.name,
    }
    raise RankError(
        f"the rank of the closures is not clear: {len(rank.between)} singular value(s) lie between rounding "
        f"({NOISE:g}) and independent rows ({CLEAR:g}); the largest is {rank.between[0]:.2e}.\n"
        "Mostly this means loops that should be redundant (planar loops of 3-D hinges, say) with rounded axes or\n"
        "points; a mechanism close to a singular geometry looks the same.\n"
        f"Taken as redundant, rank is {rank.rank} and {freedoms} freedoms remain; taken as they stand, those rows lock "
        "freedoms.  Joints of these loops, and by how much their axes are off (radians):\n"
        + "\n".join(lines)
        + more
        + "\n"
        + (_causes(evaluator, jacobians[0]) or "Give these joints their exact axes and points."),
        report,
    )


def refuse_singular_reference(rank: RankDecision) -> NoReturn:
    """Raise RankError: rows that are independent elsewhere are dependent at the reference pose."""
    raise RankError(
        f"the reference is a singular pose: the closures have rank {rank.ranks[0]} there and {rank.rank} beside it (a "
        "flat parallelogram, a stretched leg); give reference values away from it",
        {"rank_at_reference": rank.ranks[0], "rank": rank.rank, "singular_values": rank.singular_values},
    )


def refuse_no_chart(
    evaluator: ClosureEvaluator, jacobians: Sequence[Array], rank: RankDecision, solvable: int
) -> NoReturn:
    """Raise RankError: the closures have a clear rank at every pose, but no set of unknowns serves at all of them."""
    sizes = {
        closure.name: max(float(np.abs(J[list(rows)]).max(initial=0.0)) for J in jacobians)
        for closure, rows in zip(evaluator.program.closures, evaluator.closure_rows, strict=True)
        if rows
    }
    weak = ", ".join(f"{name} {size:.2g}" for size, name in sorted((size, name) for name, size in sizes.items())[:5])
    raise RankError(
        f"the closures have rank {rank.rank}, but only {solvable} velocities can be solved for at all probed poses, "
        f"with scaled pivots above {CLEAR:g}.  Those that move least, by the most that a unit of any velocity (rad, or "
        f"length scale) moves them: {weak}.\n{_scale_mend(evaluator)}",
        {"rank": rank.rank, "solvable": solvable, "largest_entries": sizes, "singular_values": rank.singular_values},
    )


def _scale_mend(evaluator: ClosureEvaluator) -> str:
    """What to do about closures that hardly move."""
    topology = evaluator.program.topology
    declared, largest = topology.mechanism.length_scale, largest_length(topology)
    if declared is not None and largest > 0 and declared > FAR * largest:
        return (
            f"scales.length is {declared:g} m, {declared / largest:.2g} times the largest distance of two joints on a "
            f"body ({largest:.3g} m); give about that distance, or leave it out (lengths of the file are metres)."
        )
    return "Give a reference further from singular poses, and weights of couplings that are not nearly zero."


def refuse_reference_outside_limits(evaluator: ClosureEvaluator, q: Array) -> None:
    """Raise ModelError for every joint whose assembled reference value violates the joint's own limits."""
    topology = evaluator.program.topology
    problems = []
    for slot in topology.slots:
        joint = topology.joint(slot.joint)
        if JOINT_SHAPES[joint.type].nq != slot.nv:
            continue
        for k, limits in enumerate(joint.limits):
            value = float(q[slot.q0 + k])
            if limits.position and not limits.position[0] - 1e-9 <= value <= limits.position[1] + 1e-9:
                lower, upper = limits.position
                message = f"the assembled reference value {value:.6g} is outside [{lower:.6g}, {upper:.6g}]"
                source = joint.source
                problems.append(Problem(message, f"joints.{joint.name}.limits", source.file, source.line))
    if problems:
        raise ModelError(problems)


def _causes(evaluator: ClosureEvaluator, J: Array) -> str:
    """Bent planar loops and pins that are held too tightly, with the mend; '' when there are none."""
    topology = evaluator.program.topology
    found = straight_records(topology.mechanism, topology, evaluator.length)
    return causes_text(found, nearly_redundant_pins(evaluator, J)[0], evaluator.length)


def _suspects(evaluator: ClosureEvaluator, jacobians: Sequence[Array], q: Array) -> dict[str, float]:
    """Joints whose axes are slightly off the common direction of their loop, by how much (rad).

    Every loop's hinge and slide axes, the cut joint's too, are posed in the world; those nearly parallel to each other
    are compared with their median direction.  Where all axes are exactly parallel (a point is off, say), the joints
    that contribute most to the nearly vanishing combinations of rows are named instead.
    """
    axes = world_axes(evaluator.program, q)
    found: dict[str, float] = {}
    for chord in evaluator.program.topology.chords:
        members = [name for name in (*chord.branch_a, *chord.branch_b, chord.joint) if name in axes]
        for name in members:
            group = [axes[m] * np.sign(axes[m] @ axes[name]) for m in members if abs(axes[m] @ axes[name]) > PARALLEL]
            median = np.median(group, axis=0)
            off = float(np.linalg.norm(np.cross(axes[name], median / np.linalg.norm(median))))
            if len(group) > 2 and off > NOISE:
                found[name] = max(found.get(name, 0.0), off)
    return found or _contributions(evaluator, jacobians)


def _contributions(evaluator: ClosureEvaluator, jacobians: Sequence[Array]) -> dict[str, float]:
    """How much each joint contributes to the nearly vanishing combinations of rows: max over them of |sigma v_j|."""
    names = evaluator.program.topology.v_names
    result: dict[str, float] = {}
    for J in jacobians:
        _, values, Vt = np.linalg.svd(J, full_matrices=False)
        values = values / max(float(values[0]), 1e-300)
        for k in np.flatnonzero((values > NOISE) & (values <= CLEAR)):
            for column, entry in enumerate(np.abs(values[k] * Vt[k])):
                joint = names[evaluator.active[column]].partition(":")[0]
                if entry > NOISE:
                    result[joint] = max(result.get(joint, 0.0), float(entry))
    return result
