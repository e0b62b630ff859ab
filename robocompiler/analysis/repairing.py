"""Repair of a mechanism whose loops are nearly redundant: loops made exact, the rank decided anew, and a report.

The cause is repaired and not its numbers: a singular value that is fitted to zero at one pose comes back at the next,
while axes that are parallel stay so wherever the mechanism moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.axes import body_rotations
from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.analysis.pins import nearly_redundant_pins
from robocompiler.analysis.reduce import reduce_closures
from robocompiler.analysis.refusals import NEARLY_CLOSED
from robocompiler.errors import AssemblyError, RankError
from robocompiler.graph.build import derive_topology
from robocompiler.numerics.gap import RankDecision, decide_rank
from robocompiler.numerics.gauss_newton import correct
from robocompiler.records.model import Mechanism
from robocompiler.repair.changes import JointChange
from robocompiler.repair.crosses import Cross, freed
from robocompiler.repair.explain import limits_text, loop_lines
from robocompiler.repair.straight_records import Loop, Straightened, straight_records
from robocompiler.symbolic.closures import build_closures

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Repair:
    """A mechanism with a clear rank, and what that took.

    Attributes:
        mechanism: the repaired records; those given, when nothing was to repair.
        loops: the planar and spherical groups that were bent.
        changes: every joint whose frames or axis changed, largest angle first.
        freed: pins that are universal joints now, since no frame makes their fifth row redundant (`repair.crosses`).
        length: the length scale (m).
        freedoms: independent speeds d.
        before, after: the rank decisions of the records given and repaired; at the same configurations unless joints
            were freed, else `before` is at the reference only.
        needed: the singular value of the rows of the bent loops that had to vanish, the worst over those
            configurations: by Eckart and Young no smaller change (spectral norm) of their Jacobian makes the rows
            redundant.
        made: by how much the repair changes that Jacobian.
    """

    mechanism: Mechanism
    loops: tuple[Loop, ...]
    changes: tuple[JointChange, ...]
    freed: tuple[Cross, ...]
    length: float
    freedoms: int
    before: RankDecision
    after: RankDecision
    needed: float
    made: float

    @property
    def size(self) -> float:
        """Root of the sum of squares of all changes of records, rad and lengths over the length scale."""
        return math.hypot(*(change.scaled(self.length) for change in self.changes))


def repair_mechanism(mechanism: Mechanism) -> Repair:
    """The repaired mechanism; the same records, and no change, when its rank is clear and its loops close.

    Raises:
        ModelError: the records are wrong.
        AssemblyError: the loops are open by more than rounding.
        RankError: no such loop explains the unclear rank, the changes are beyond rounding or undo one another, or
            the rank is still not clear after them; the message says which.
    """
    topology = derive_topology(mechanism)
    closures = build_closures(topology)
    given = ClosureEvaluator(closures)
    try:
        reduction = reduce_closures(closures)
    except (RankError, AssemblyError) as refusal:
        if not _is_near_redundancy(refusal):
            raise
        return _repaired(mechanism, given, refusal)
    freedoms = len(given.active) - reduction.rank.rank
    return Repair(mechanism, (), (), (), given.length, freedoms, reduction.rank, reduction.rank, 0.0, 0.0)


def _repaired(mechanism: Mechanism, given: ClosureEvaluator, refusal: RankError | AssemblyError) -> Repair:
    found = straight_records(mechanism, given.program.topology, given.length)
    if not found.loops and isinstance(refusal, AssemblyError):
        raise refusal
    _refuse_unfit(found, given.length, refusal)
    straight = ClosureEvaluator(build_closures(derive_topology(found.mechanism)))
    pins: tuple[Cross, ...] = ()
    final, records = straight, found.mechanism
    try:
        reduction = reduce_closures(straight.program)
    except (RankError, AssemblyError) as still:
        records, pins = _free_pins(found.mechanism, straight)
        if not pins:
            raise _not_enough(found, pins, still) from refusal
        final = ClosureEvaluator(build_closures(derive_topology(records)))
        try:
            reduction = reduce_closures(final.program)
        except (RankError, AssemblyError) as last:
            raise _not_enough(found, pins, last) from refusal
    poses = [_assembled(straight)] if pins else [np.array(q) for q in reduction.probes]
    needed, made = _sizes(given, straight, found.loops, poses)
    before = decide_rank([given.jacobian(q) for q in poses])
    freedoms = len(final.active) - reduction.rank.rank
    told = tuple(f"repaired: {change}" for change in (*found.changes, *pins))
    records = replace(records, warnings=(*records.warnings, *told))
    return Repair(
        records, found.loops, found.changes, pins, given.length, freedoms, before, reduction.rank, needed, made
    )


def _is_near_redundancy(refusal: RankError | AssemblyError) -> bool:
    """An unclear rank, or loops that rounding keeps open; not a singular reference or a wrong geometry."""
    if isinstance(refusal, RankError):
        return "between" in refusal.report
    return refusal.residual < NEARLY_CLOSED


def _refuse_unfit(found: Straightened, length: float, refusal: Exception) -> None:
    """RankError when the changes are too large or contradict one another."""
    beyond = found.beyond(length)
    if beyond:
        lines = "\n".join(f"  {change}" for change in beyond[:12])
        raise RankError(
            f"nothing was repaired: to make its loops exact the mechanism would have to change by more than "
            f"{limits_text(length)}, which is no rounding:\n{lines}\nCorrect these records.",
            {"changes": {change.joint: change.scaled(length) for change in beyond}},
        ) from refusal
    if found.parametric:
        raise RankError(
            f"nothing was repaired: the anchors of {', '.join(found.parametric)} are expressions over parameters; "
            "correct them so that the loops close for every value"
        ) from refusal
    if not found.settled:
        raise RankError(
            "nothing was repaired: loops in several planes share joints, and what one needs the other undoes; correct "
            f"the axes of {', '.join(change.joint for change in found.changes[:12])}"
        ) from refusal


def _not_enough(found: Straightened, pins: Sequence[Cross], still: Exception) -> RankError:
    loops = [line for loop in found.loops for line in loop_lines(loop)] + [f"  {pin}" for pin in pins]
    made = "making these loops exact is not enough" if loops else "every planar or spherical loop is exact already"
    return RankError(
        f"nothing was repaired: {made}\n" + "".join(f"{line}\n" for line in loops) + f"since {still}",
        getattr(still, "report", None),
    )


def _assembled(evaluator: ClosureEvaluator) -> Array:
    return correct(evaluator, evaluator.recover(evaluator.seed()), np.arange(evaluator.active.size)).q


def _free_pins(mechanism: Mechanism, evaluator: ClosureEvaluator) -> tuple[Mechanism, tuple[Cross, ...]]:
    """The mechanism with those pins of crosses freed that hold the nearly redundant rows; none when others do too."""
    q = _assembled(evaluator)
    found, complete = nearly_redundant_pins(evaluator, evaluator.jacobian(q))
    if not complete:
        return mechanism, ()
    turned = body_rotations(evaluator.program, q)
    for cross in found:
        mechanism = freed(mechanism, cross, turned[cross.body].T @ turned[cross.rod])
    return mechanism, found


def _sizes(
    given: ClosureEvaluator, straight: ClosureEvaluator, loops: Sequence[Loop], poses: Sequence[Array]
) -> tuple[float, float]:
    """(needed, made) of `Repair`, for the rows that the bent loops close."""
    chords = {chord for loop in loops for chord in loop.chords}
    names = [closure.name for closure in given.program.closures]
    blocks = [list(own) for name, own in zip(names, given.closure_rows, strict=True) if name in chords]
    rows = [row for block in blocks for row in block]
    needed, made = [0.0], [0.0]
    for q in poses if rows else ():
        J, K = given.jacobian(q), straight.jacobian(q)
        rank = decide_rank([K[rows]]).rank
        values = np.linalg.svd(J[rows], compute_uv=False)
        needed.append(float(values[rank]) if values.size > rank else 0.0)
        made.append(_change(J, K, blocks))
    return max(needed), max(made)


def _change(J: Array, K: Array, closures: Sequence[Sequence[int]]) -> float:
    """|J - K| (spectral norm), each closure's rows of K in the axes that fit J best: its frames may have turned."""
    difference = np.zeros_like(J)
    for rows in map(list, closures):
        U, _, Vt = np.linalg.svd(J[rows] @ K[rows].T)
        difference[rows] = J[rows] - U @ Vt @ K[rows]
    return float(np.linalg.norm(difference, 2))
