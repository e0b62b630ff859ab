"""What the tests of the exporters share: the reduced dynamics of a mechanism and of what came back from a file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from casadi_mechanics import CasadiMechanics
from numpy.typing import NDArray

from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.numerics.gauss_newton import correct
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]


def same_dynamics(
    original: Mechanism, again: Mechanism, names: Mapping[str, str] | None = None, states: int = 3, size: float = 0.1
) -> tuple[float, float]:
    """Largest relative differences of (M_r, h_r) between two mechanisms at random states on the manifold.

    names: coordinate in `again` by coordinate of `original`, where they differ.  The independent speeds of `again` are
    those of `original`, in any order.
    """
    names = names or {}
    first = CasadiMechanics.of(original)
    wanted = [names.get(name, name) for name in first.independent]
    second = CasadiMechanics.of(again, independent=wanted)
    assert sorted(second.independent) == sorted(wanted)
    order = [second.independent.index(name) for name in wanted]
    random = np.random.default_rng(7)
    worst_M = worst_h = 0.0
    for _ in range(states):
        q = first.robot.assembled_near(random, size)
        u = random.uniform(-1.0, 1.0, len(wanted))
        twin = _carried(first, second, q, names)
        v = np.zeros(len(wanted))
        v[order] = u
        zero = np.zeros(len(wanted))
        M, N = first.mass(q), second.mass(twin)[np.ix_(order, order)]
        h, k = first.inverse(q, u, zero), second.inverse(twin, v, zero)[order]
        worst_M = max(worst_M, float(np.abs(M - N).max() / np.abs(M).max()))
        worst_h = max(worst_h, float(np.abs(h - k).max() / np.abs(h).max()))
    return worst_M, worst_h


def _carried(first: CasadiMechanics, second: CasadiMechanics, q: Array, names: Mapping[str, str]) -> Array:
    """The state q in the coordinates of `second`: shared ones are copied, the others are solved for."""
    shared = {names.get(name, name): value for name, value in first.robot.named(q).items()}
    robot = second.robot
    start, held = robot.reference.copy(), np.zeros(robot.topology.nv, dtype=bool)
    for slot in robot.topology.slots:
        own = robot.topology.q_names[slot.q0 : slot.q0 + slot.nq]
        if all(name in shared for name in own) and slot.joint not in robot.cut:
            start[slot.q0 : slot.q0 + slot.nq] = [shared[name] for name in own]
            held[slot.v0 : slot.v0 + slot.nv] = True
    evaluator: ClosureEvaluator = robot.evaluator
    free = np.array([k for k, index in enumerate(evaluator.active) if not held[index]], dtype=int)
    if not free.size and not robot.cut:
        return start
    found = correct(evaluator, robot.recover(start), free)
    assert found.residual < 1e-12, found
    return robot.recover(found.q)


def oracle_difference(
    original: Mechanism,
    again: Mechanism,
    reference: Mapping[str, float],
    names: Mapping[str, str],
    *,
    seed: int = 1,
    size: float = 0.05,
) -> tuple[float, float]:
    """As `same_dynamics`, by the maximal oracle, at one random state near the assembled `reference` of `original`."""
    first, second = MaximalModel(original), MaximalModel(again)
    random = np.random.default_rng(seed)
    start = first.state(first.pose(reference))
    chosen = start.independent
    moved = dict(reference)
    for name in set(chosen) & set(moved):
        moved[name] += size * random.uniform(-1.0, 1.0)
    held = chosen if all(name in moved for name in chosen) else None  # speeds of balls are no coordinates
    pose = first.project(first.pose(moved), held)
    u = dict(zip(chosen, random.uniform(-1.0, 1.0, len(chosen)), strict=True))
    there = {names.get(name, name): value for name, value in u.items()}
    rest = second.pose().values  # a closing joint may come back with another zero; what agrees here is the same
    shared = {names.get(name, name): name for name in first.coordinate_names}
    values = {
        new: float(pose.values[old])
        for new, old in shared.items()
        if new in rest and abs(float(rest[new]) - reference[old]) < 1e-9
    }
    twin = second.project(second.pose(values))
    r = first.reduced(first.state(pose, u, chosen))
    s = second.reduced(second.state(twin, there, list(there)))
    size_M = float(np.abs(r.M).max(initial=0.0))
    size_h = max(float(np.abs(r.h).max(initial=0.0)), size_M)  # bias forces may all be zero
    return (
        float(np.abs(r.M - s.M).max(initial=0.0)) / size_M,
        float(np.abs(r.h - s.h).max(initial=0.0)) / size_h,
    )


def scalar_independents(mechanism: Mechanism, reference: Mapping[str, float]) -> bool:
    """Whether the oracle's choice of independent speeds has coordinate rates only.

    Speeds of balls are in the axes of a joint's frame b, which a file may turn: they cannot be compared by name.
    """
    model = MaximalModel(mechanism)
    chosen = model.state(model.pose(reference)).independent
    return bool(chosen) and all(name in reference for name in chosen)
