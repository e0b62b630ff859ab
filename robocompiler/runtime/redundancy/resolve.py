"""Redundancy resolution: the motion of least metric that does the tasks and keeps the bounds.

min over u of  1/2 |u|_W^2 + k_phi g^T u   subject to   J u = w,  A u <= b
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import duck, number, several
from robocompiler.errors import ArgumentError, AssemblyError, InfeasibleTaskError, RankError
from robocompiler.runtime.mechanics import MechanicalInterface
from robocompiler.runtime.redundancy.bounds import Bound
from robocompiler.runtime.redundancy.conflicts import Conflict
from robocompiler.runtime.redundancy.metrics import Metric, checked_root, metric_of
from robocompiler.runtime.redundancy.preferences import Preference
from robocompiler.runtime.redundancy.problem import KktResiduals, Problem
from robocompiler.runtime.redundancy.relaxation import Relaxation, Relaxed
from robocompiler.runtime.redundancy.rows import BoundRows, TaskRows, stack_bounds, stack_tasks
from robocompiler.runtime.redundancy.solver import solve
from robocompiler.runtime.redundancy.tasks import Task

Array = NDArray[np.float64]

DEPENDENT = 1e-8  # of a task row's own size: what the rows before it leave of a dependent one


@dataclass(frozen=True)
class TaskRank:
    """How well the task rows are told apart.

    kept: for each row, the part of it that the rows before it do not give, over its size (1: orthogonal); smallest: the
    least of them; dependent: {row: {earlier row: share}} of those that are sums of earlier ones, or vanish.
    """

    kept: Mapping[str, float]
    dependent: Mapping[str, Mapping[str, float]]

    @property
    def smallest(self) -> float:
        """The least kept part; 1 without rows."""
        return min(self.kept.values(), default=1.0)


@dataclass(frozen=True)
class Resolution:
    """The resolved motion and what decided it.

    u: (d,) independent speeds of the robot's chart.  active: the bounds that hold with equality and push; multipliers
    of them (>= 0, cost per unit of the bound), and of the task rows; W u + k_phi g + J^T mu + A^T lambda = 0.
    phi, phi_rate: the preference and g^T u (None without one).  method: 'closed form' or 'active-set QP'.
    scale, slack, conflict: what a relaxation did: the task's scale, {row: J u - w or A u - b} of the rows missed, and
    the rows that made it necessary; 1, {} and () where nothing gave way.
    """

    u: Array
    active: tuple[str, ...]
    multipliers: Mapping[str, float]
    task_multipliers: Mapping[str, float]
    phi: float | None
    phi_rate: float | None
    method: str
    kkt: KktResiduals
    rank: TaskRank
    scale: float = 1.0
    slack: Mapping[str, float] = field(default_factory=dict)
    conflict: tuple[str, ...] = ()


def resolve(
    robot: MechanicalInterface,
    q: Array,
    tasks: Sequence[Task],
    *,
    bounds: Sequence[Bound] = (),
    metric: str | Metric = "kinetic",
    preference: Preference | None = None,
    relax: Relaxation | None = None,
) -> Resolution:
    """See `ResolutionInterface.resolve`."""
    d = len(robot.independent)
    if not d:
        raise ArgumentError(f"{robot.name} has no freedom, so that there is nothing to resolve")
    _refuse_open(robot, q)
    task = stack_tasks([one.rows(robot, q) for one in _parts(tasks, "tasks", "FramePosition(...)")], d)
    bound = stack_bounds([one.rows(robot, q) for one in _parts(bounds, "bounds", "JointSpeeds()")], d)
    L = checked_root(robot, metric_of(metric).matrix(robot, q))
    if preference is not None:
        duck(preference, ("value", "gradient"), "preference", "StrokeInterior(), JointInterior() or another Preference")
    if relax is not None:
        duck(relax, ("relaxed",), "relax", "ScaleTask(), Slack(...) or another Relaxation")
    rank = task_rank(task, L)
    if rank.dependent:
        raise _dependent(robot, rank)
    g = np.zeros(d) if preference is None else preference.gradient(robot, q)
    gain = 0.0 if preference is None else number(preference.gain, "the gain of a preference", least=0.0)
    problem = Problem(L, gain * g, task.J, task.w, bound.A, bound.b)
    answer, first = solve(problem), None
    if isinstance(answer, Conflict):
        first = answer
        if relax is None:
            raise infeasible(robot, first, task, bound)
        relaxed = relax.relaxed(problem, first, task.names, bound.names)
        if isinstance(relaxed, Conflict):
            raise infeasible(robot, relaxed, task, bound)
    else:
        relaxed = Relaxed(answer, 1.0, np.zeros(len(task.w)), np.zeros(len(bound.b)))
    phi = None if preference is None else preference.value(robot, q)
    rate = None if preference is None else float(g @ relaxed.solution.u)
    return _reported(relaxed, first, task, bound, rank, (phi, rate))


def _parts(given: object, name: str, example: str) -> tuple[Any, ...]:
    """Tasks or bounds as given, each with its `rows`."""
    mend = "write [one] for a single one" if hasattr(given, "rows") else ""
    found = several(given, name, f"{name} such as {example}", mend)
    return tuple(
        duck(one, ("rows",), f"every entry of {name}", f"an object with rows(robot, q), as {example}") for one in found
    )


def _refuse_open(robot: MechanicalInterface, q: Array) -> None:
    """AssemblyError where q is not assembled: lift and Jacobians mean nothing there."""
    acceptance = robot.acceptance
    if acceptance.closed(q):
        return
    gap, residual = acceptance.gaps(q), acceptance.residual(q)
    worst = max(gap, key=lambda name: gap[name])
    metres, radians = gap[worst]
    raise AssemblyError(
        f"{robot.name}: a motion is resolved at an assembled configuration, and the loops of this one are open by a "
        f"scaled residual of {residual:.3g} (allowed {acceptance.tolerance:.3g}), {worst} by {metres:.3g} m and "
        f"{radians:.3g} rad; assemble(q) first",
        residual=residual, gap=gap, joint=worst, q=q,
    )  # fmt: skip


def _reported(
    relaxed: Relaxed,
    first: Conflict | None,
    task: TaskRows,
    bound: BoundRows,
    rank: TaskRank,
    preference: tuple[float | None, float | None],
) -> Resolution:
    """The result by names."""
    solution = relaxed.solution
    lam = {name: float(x) for name, x, on in zip(bound.names, solution.lam, solution.active, strict=True) if on}
    missed = zip((*task.names, *bound.names), (*relaxed.task_slack, *relaxed.bound_slack), strict=True)
    return Resolution(
        u=solution.u,
        active=tuple(lam),
        multipliers=lam,
        task_multipliers=dict(zip(task.names, map(float, solution.mu), strict=True)),
        phi=preference[0],
        phi_rate=preference[1],
        method=solution.method,
        kkt=solution.kkt,
        rank=rank,
        scale=relaxed.scale,
        slack={name: float(miss) for name, miss in missed if miss != 0},
        conflict=() if first is None else tuple(_weights(first, task, bound)),
    )


def task_rank(task: TaskRows, L: Array) -> TaskRank:
    """Row by row, what the rows before it leave of it, in the metric of L (the same in every chart).

    A row counts as vanishing by the size of the largest row, units of length taken out.
    """
    K = np.linalg.solve(L, task.J.T).T / task.units[:, None]
    sizes = np.linalg.norm(K, axis=1)
    largest = float(sizes.max(initial=0.0))
    kept: dict[str, float] = {}
    dependent: dict[str, dict[str, float]] = {}
    basis, rows = np.zeros((K.shape[1], 0)), list[int]()
    for i, (name, row, size) in enumerate(zip(task.names, K, sizes, strict=True)):
        if size <= DEPENDENT * largest:
            kept[name], dependent[name] = 0.0, {}
            continue
        rest = row - basis @ (basis.T @ row)
        rest = rest - basis @ (basis.T @ rest)
        part = float(np.linalg.norm(rest))
        kept[name] = part / size
        if part <= DEPENDENT * size:
            shares = np.linalg.lstsq(task.J[rows].T, task.J[i], rcond=None)[0]
            named = zip(rows, shares, strict=True)
            dependent[name] = {task.names[k]: float(x) for k, x in named if abs(x) > 1e-6 * np.abs(shares).max()}
            continue
        basis, rows = np.column_stack((basis, rest / part)), [*rows, i]
    return TaskRank(kept, dependent)


def _dependent(robot: MechanicalInterface, rank: TaskRank) -> RankError:
    parts = [
        f"{name!r} is fixed by {', '.join(repr(other) for other in others)}" if others else f"nothing moves {name!r}"
        for name, others in rank.dependent.items()
    ]
    return RankError(
        f"{robot.name}: the rows of the task are not independent here: {'; '.join(parts)}; leave those rows out, or "
        "move away from the singular pose",
        {"dependent": {name: dict(others) for name, others in rank.dependent.items()}, "smallest": rank.smallest},
    )


def _weights(found: Conflict, task: TaskRows, bound: BoundRows) -> dict[str, float]:
    named = zip((*task.names, *bound.names), (*found.mu, *found.lam), strict=True)
    return {name: float(weight) for name, weight in named if weight != 0}


def infeasible(robot: MechanicalInterface, found: Conflict, task: TaskRows, bound: BoundRows) -> InfeasibleTaskError:
    """The error that names the rows of a conflict."""
    weights = _weights(found, task, bound)
    text = ", ".join(repr(name) for name in weights)
    if len(weights) == 1:
        text = f"{text} cannot hold: no motion meets it"
    else:
        text = f"these rows contradict each other: {text}; any one of them could be left out"
    return InfeasibleTaskError(
        f"{robot.name}: task and bounds cannot be met together here: {text}; slow the task down, move a limit, or "
        "declare what may give way (relax=ScaleTask() or Slack(...))",
        weights=weights,
        gap=found.gap,
    )
