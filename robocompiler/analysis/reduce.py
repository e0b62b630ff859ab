"""ClosureProgram to Reduction: assemble the reference, decide the rank, choose the charts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.charts import inner_dependents, port_dependents
from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.analysis.further import Standing, further_charts
from robocompiler.analysis.modules import Samples, Touch, make_chart
from robocompiler.analysis.probes import probe
from robocompiler.analysis.refusals import (
    NEARLY_CLOSED,
    closure_gaps,
    refuse_no_chart,
    refuse_open,
    refuse_reference_outside_limits,
    refuse_singular_reference,
    refuse_unclear_rank,
)
from robocompiler.errors import ModelError, Problem
from robocompiler.numerics.gap import RankDecision, decide_rank
from robocompiler.numerics.gauss_newton import correct
from robocompiler.records.model import CoordinateSum, Mechanism
from robocompiler.symbolic.closures import Closure, ClosureProgram
from robocompiler.symbolic.reduction import Chart, Reduction

Array = NDArray[np.float64]

TURNED = 1.0  # rotation residual (rad) of a closure whose condensed rows vanish: zero, or half a turn
OPEN = 1e-9  # scaled residual above which a reference counts as open: exact records close to rounding


def reduce_closures(program: ClosureProgram, independent: Sequence[str] = (), charts: int = 0) -> Reduction:
    """All numeric decisions for a closure program.

    Args:
        independent: names of velocities or joints that the user would rather have independent.
        charts: most further charts, chosen so that one is good wherever the mechanism goes; 0: none, and no search.

    Raises:
        ModelError: an unknown name in `independent`, or an assembled reference outside its own limits.
        AssemblyError: the loops do not close near the reference; carries the gaps.
        RankError: the reference is a singular pose, or the rank is not clear (near-redundant loops); carries the
        singular values and the joints.
    """
    evaluator = ClosureEvaluator(program)
    preferred = _preferred(program, independent)
    reference = _assemble(evaluator)
    probes = probe(evaluator, reference)
    jacobians = [evaluator.jacobian(q) for q in probes]
    rank = decide_rank(jacobians)
    if not rank.clear:
        refuse_unclear_rank(evaluator, reference, jacobians, rank)
    if rank.ranks[0] < rank.rank:
        refuse_singular_reference(rank)
    regular = [k for k, found in enumerate(rank.ranks) if found == rank.rank]
    probes, jacobians = [probes[k] for k in regular], [jacobians[k] for k in regular]
    standing = _charts(evaluator, jacobians, rank, preferred)
    reference = _hold_independents(evaluator, reference, standing.charts[0])
    refuse_reference_outside_limits(evaluator, reference)
    floor = max(float(np.abs(evaluator.rows(q)).max(initial=0.0)) for q in (reference, *probes[1:]))
    more = further_charts(evaluator, reference, standing, rank.rank, charts) if charts else ((), None)
    return Reduction(
        reference=tuple(map(float, reference)),
        probes=tuple(tuple(map(float, q)) for q in probes),
        length=evaluator.length,
        row_scales=tuple(map(float, evaluator.row_scales)),
        column_scales=tuple(map(float, evaluator.column_scales)),
        rank=rank,
        floor=floor,
        charts=(*standing.charts, *more[0]),
        reach=more[1],
    )


def _preferred(program: ClosureProgram, independent: Sequence[str]) -> frozenset[int]:
    topology = program.topology
    names = topology.v_names
    found: set[int] = set()
    problems = []
    for name in independent:
        matches = [i for i, own in enumerate(names) if name in (own, own.partition(":")[0])]
        if not matches:
            problems.append(Problem(f"no velocity or joint is called '{name}'", "--independent"))
        found.update(matches)
    if problems:
        raise ModelError(problems)
    return frozenset(found)


def _assemble(evaluator: ClosureEvaluator) -> Array:
    """The assembled configuration nearest to the seed (minimum-norm Gauss-Newton)."""
    seed = evaluator.seed()
    every = np.arange(evaluator.active.size)
    result = correct(evaluator, evaluator.recover(seed), every)
    if result.residual > OPEN:
        rank = decide_rank([evaluator.jacobian(result.q)])
        if result.residual < NEARLY_CLOSED and not rank.clear:
            refuse_unclear_rank(evaluator, result.q, [evaluator.jacobian(result.q)], rank)
        refuse_open(evaluator, result.q, result.residual)
    if _turned(evaluator, result.q):
        refuse_open(evaluator, result.q, float("inf"))
    return result.q


def _turned(evaluator: ClosureEvaluator, q: Array) -> bool:
    """Whether a closure is half a turn off although its condensed rows vanish: the complete residual tells."""
    return max((radians for _, radians in closure_gaps(evaluator, q).values()), default=0.0) > TURNED


def port_velocities(mechanism: Mechanism) -> tuple[str, ...]:
    """Velocity names that carry a port, in port order (two-point ports name none)."""
    ordered: dict[str, None] = {}
    for port in mechanism.ports:
        if isinstance(port.measure, CoordinateSum):
            ordered.update(dict.fromkeys(name for name, _ in port.measure.terms))
    return tuple(ordered)


def _touched(closure: Closure, structure: Array, active: Sequence[int]) -> frozenset[int]:
    """Columns that occur in a closure's rows; without a row (a free joint that closes a loop) in what it recovers."""
    if len(structure):
        return frozenset(map(int, np.flatnonzero(structure[:, active].any(axis=0))))
    seen = set(closure.recovered_jacobian.sparsity().get_triplet()[1])
    return frozenset(column for column, index in enumerate(active) if index in seen)


def _charts(
    evaluator: ClosureEvaluator, jacobians: Sequence[Array], rank: RankDecision, preferred: frozenset[int]
) -> Standing:
    program = evaluator.program
    topology = program.topology
    names = topology.v_names
    ported = {name: i for i, name in enumerate(port_velocities(topology.mechanism))}
    free = {component.free_joint for component in topology.components if component.free_joint}
    active = [int(index) for index in evaluator.active]

    def level(column: int) -> int:
        index = active[column]
        if index in preferred:
            return 3
        if names[index].partition(":")[0] in free:
            return 2
        return 1 if names[index] in ported else 0

    structure = evaluator.structure
    samples = Samples(
        jacobians=tuple(jacobians),
        closure_rows=tuple(evaluator.closure_rows),
        touched=tuple(
            Touch(closure.name, _touched(closure, structure[list(rows)], active))
            for closure, rows in zip(program.closures, evaluator.closure_rows, strict=True)
        ),
        active=tuple(active),
    )
    port = sorted(port_dependents(jacobians, level, rank.rank))
    if len(port) < rank.rank:
        refuse_no_chart(evaluator, jacobians, rank, len(port))
    inner = inner_dependents(samples, port, rank.rank)

    def order(column: int) -> tuple[int, int, int]:  # free roots, then ports in file order, then the rest
        place = ported.get(names[active[column]], len(ported))
        group = 0 if names[active[column]].partition(":")[0] in free else 1 if level(column) else 2
        return group, place, column

    def chart(name: str, dependents: list[int], prefix: str) -> Chart:
        rest = sorted(set(range(len(active))) - set(dependents), key=order)
        return make_chart(name, [active[column] for column in rest], dependents, samples, prefix)

    return Standing((chart("port", port, ""), chart("inner", inner, "inner_")), samples, order)


def _hold_independents(evaluator: ClosureEvaluator, assembled: Array, chart: Chart) -> Array:
    """The seed assembled again with the chart's independents held at their reference values, where that works.

    Users expect the port values that they wrote; the nearest assembled state may have moved them by a little.  When the
    held assembly fails (values that are only roughly right, say) the nearest one stands.
    """
    held = set(chart.independent)
    free = np.array([k for k, index in enumerate(evaluator.active) if int(index) not in held], dtype=np.intp)
    start = evaluator.recover(evaluator.seed())
    result = correct(evaluator, start, free)
    far = np.abs(result.q - start).max(initial=0.0) > 1.0
    if result.residual > OPEN or far or _turned(evaluator, result.q):
        return assembled
    return result.q
