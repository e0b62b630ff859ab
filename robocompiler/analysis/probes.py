"""The configurations at which rank and pivots are judged: the reference and others reached along the mechanism."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.numerics.gap import CLEAR
from robocompiler.numerics.gauss_newton import correct
from robocompiler.records.joint_types import JOINT_SHAPES, coordinate_names, velocity_names

Array = NDArray[np.float64]

COUNT = 6
STEP = 0.15  # scaled units: radians, or lengths over the length scale
CLOSED = 1e-8


def null_space(J: Array) -> Array:
    """Orthonormal basis (n, d) of the motions that a scaled Jacobian allows (values up to CLEAR count as zero)."""
    if not min(J.shape):
        return np.eye(J.shape[1])
    _, values, Vt = np.linalg.svd(J)
    rank = int(np.sum(values > CLEAR * max(float(values[0]), 1e-300)))
    return np.asarray(Vt[rank:].T)


def room(evaluator: ClosureEvaluator, q: Array) -> Array:
    """How far each active scaled velocity may move before its position limit, at most STEP (n,)."""
    topology = evaluator.program.topology
    place = {name: i for i, name in enumerate(topology.q_names)}
    result = np.full(topology.nv, STEP)
    for slot in topology.slots:
        joint = topology.joint(slot.joint)
        if JOINT_SHAPES[joint.type].nq != slot.nv or not joint.limits:
            continue
        for k, (name, _) in enumerate(
            zip(coordinate_names(joint.name, joint.type), velocity_names(joint.name, joint.type), strict=True)
        ):
            interval = joint.limits[k].position
            if interval is not None:
                margin = min(q[place[name]] - interval[0], interval[1] - q[place[name]])
                scaled = max(margin, 0.02 * (interval[1] - interval[0])) / evaluator.column_scales[slot.v0 + k]
                result[slot.v0 + k] = min(STEP, scaled)
    return np.asarray(result[evaluator.active])


def probe(evaluator: ClosureEvaluator, reference: Array, count: int = COUNT) -> list[Array]:
    """`reference` and up to `count` more assembled configurations, each one random admissible move away from it.

    Deterministic (fixed seed).  A move that cannot be closed again is halved a few times, then dropped.
    """
    random = np.random.default_rng(20260935717)
    basis = null_space(evaluator.jacobian(reference))
    limits = room(evaluator, reference)
    every = np.arange(evaluator.active.size)
    found = [reference]
    for _ in range(count if basis.shape[1] else 0):
        # projected, since the basis itself turns with every rounding where singular values coincide
        direction = basis @ (basis.T @ random.normal(size=every.size))
        with np.errstate(divide="ignore"):
            reach = float(np.min(limits / np.maximum(np.abs(direction), 1e-12)))
        for shrink in (1.0, 0.5, 0.25):
            result = correct(evaluator, evaluator.retract(reference, shrink * reach * direction), every)
            if result.residual < CLOSED:
                found.append(result.q)
                break
    return found
