"""One mechanism in several representations gives the same poses and the same physical velocities (DESIGN: covariance).

A closed state and speeds of the original fix body poses and body twists.  The oracle turns those into the coordinates
and speeds of each other representation, which must be closed there, reproduced by its own lift, and give the twists.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from casadi_robot import CasadiRobot
from fronts import shipped_kinematics
from numpy.typing import NDArray
from random_mechanisms import random_mechanism
from representations import Variant, permuted, reframed, renamed, reversed_joints, with_reference

from robocompiler.records.joint_types import velocity_names
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"
CASES = ["fourbar", "parallel_ankle", "stewart", "excavator", *(f"random {seed}" for seed in range(40, 48))]
CHANGES: dict[str, Callable[[Mechanism, Mapping[str, float], int], Variant]] = {
    "permuted": permuted,
    "renamed": renamed,
    "reframed": reframed,
    "reversed": reversed_joints,
}


@functools.cache
def original(case: str) -> CasadiRobot:
    if case.startswith("random"):
        return CasadiRobot.of(random_mechanism(int(case.split()[1])).mechanism)
    return CasadiRobot(shipped_kinematics(case))


def poses_of(r: CasadiRobot, q: Array) -> dict[str, Array]:
    return r.oracle.body_poses(r.named(q), r.cut)


@functools.cache
def variant_of(case: str, change: str) -> tuple[Variant, CasadiRobot]:
    base = original(case)
    made = CHANGES[change](base.front.mechanism, base.named(base.reference), 7)
    if change != "permuted":  # there the reference stands as it is, signs of quaternions included
        made = with_reference(made, poses_of(base, base.reference))
    return made, CasadiRobot.of(made.mechanism)


def speeds_of(
    r: CasadiRobot, values: Mapping[str, float], poses: Mapping[str, Array], twists: Mapping[str, Array]
) -> Array:
    """v of a representation at given body poses and twists."""
    speeds: dict[str, float] = {}
    for joint in r.topology.mechanism.joints:
        own, misfit = r.oracle.speeds_between(joint, values, poses, twists)
        assert misfit < 1e-11, joint.name
        speeds.update(zip(velocity_names(joint.name, joint.type), own.tolist(), strict=True))
    return np.array([speeds[name] for name in r.topology.v_names])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("case", CASES)
def test_poses_and_physical_velocities_do_not_depend_on_the_representation(case: str, change: str) -> None:
    base, (variant, other) = original(case), variant_of(case, change)
    random = np.random.default_rng(9)
    assert other.reduction.rank.rank + len(base.evaluator.active) == base.reduction.rank.rank + len(
        other.evaluator.active
    )
    for q in (base.reference, base.assembled_near(random, 0.05)):
        poses = poses_of(base, q)
        values, expected = variant.values(poses), variant.poses(poses)
        own = other.q(values)
        assert np.abs(other.residual(own)).max(initial=0.0) < 1e-11
        found = other.poses(own)
        for body in variant.bodies.values():
            np.testing.assert_allclose(found[body], expected[body], rtol=0, atol=1e-11)
        before = base.poses(q)
        for frame in base.front.mechanism.frames:
            np.testing.assert_allclose(found[frame.name], before[frame.name], rtol=0, atol=1e-11)
        u = random.uniform(-1, 1, len(base.reduction.chart("port").independent))
        v = base.lift(q) @ u
        v /= max(1.0, float(np.abs(v).max(initial=0.0)))
        twists = {"world": np.zeros(6), **base.twists(q, v)}
        moved = {variant.bodies.get(name, name): twist for name, twist in twists.items()}
        w = speeds_of(other, values, expected, moved)
        for chart in other.reduction.charts:
            E = other.lift(own, chart.name)
            size = max(1.0, float(np.abs(E).max(initial=0.0)))
            np.testing.assert_allclose(E @ w[list(chart.independent)], w, rtol=0, atol=1e-11 * size)
        lifted = other.twists(own, w)
        for name in (*base.front.topology.mechanism.bodies, *base.front.mechanism.frames):
            new = variant.bodies.get(name.name, name.name)
            np.testing.assert_allclose(lifted[new], twists[name.name], rtol=0, atol=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_permuted_records_give_the_very_same_program(case: str) -> None:
    base, (_, other) = original(case), variant_of(case, "permuted")
    assert other.topology.edges == base.topology.edges
    assert other.topology.chords == base.topology.chords
    assert other.topology.q_names == base.topology.q_names
    assert [chart.dependent for chart in other.reduction.charts] == [chart.dependent for chart in base.reduction.charts]
    np.testing.assert_allclose(other.reference, base.reference, rtol=0, atol=1e-12)
