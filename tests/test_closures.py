"""Closures of every joint type and role against the numpy oracle: residuals, Jacobians, sparsity, recovery."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from casadi_robot import CasadiRobot
from numpy.typing import NDArray
from oracle_kinematics import Oracle, basis, nv
from random_mechanisms import Sample, chord_case, random_mechanism, tree_case

from robocompiler.compiler import run_front_end
from robocompiler.graph.build import derive_topology
from robocompiler.records.expressions import Apply, Constant, Symbol
from robocompiler.records.joint_types import JointType, coordinate_names, velocity_names
from robocompiler.records.model import Mechanism, Parameter

Array = NDArray[np.float64]

KINDS = tuple(JointType)
# A chord is eliminated or kept.  A screw is always kept; a fixed joint has nothing to keep.
ROLES = [
    *((kind, role) for kind in KINDS for role in ("tree", "tree reversed")),
    *((kind, role) for kind in KINDS if kind is not JointType.SCREW for role in ("cut", "cut swapped")),
    *((kind, role) for kind in KINDS if kind is not JointType.FIXED for role in ("kept",)),
]
RANDOM = tuple(range(14))
CASES = [f"{kind.value}, {role}" for kind, role in ROLES] + [f"random {seed}" for seed in RANDOM]
H = 2e-3  # five-point differences: truncation H^4 and rounding 1e-15/H are both about 1e-12


def sample(case: str) -> Sample:
    if case.startswith("random"):
        return random_mechanism(int(case.split()[1]))
    name, role = case.split(", ")
    kind = JointType(name)
    if role.startswith("tree"):
        return tree_case(kind, reversed_="reversed" in role)
    return chord_case(kind, swapped="swapped" in role, kept=role.startswith("kept"))


@functools.cache
def robot(case: str) -> CasadiRobot:
    return CasadiRobot.of(sample(case).mechanism)


def rng(case: str) -> np.random.Generator:
    return np.random.default_rng(list(case.encode()))


def slope(f: Callable[[dict[str, float]], Array], r: CasadiRobot, q: Array, v: Array) -> Array:
    """Five-point difference of f along q (+) t v, moved by the oracle."""
    named = r.named(q)
    low2, low, high, high2 = (f(r.oracle.move(named, r.speeds(k * H * v))) for k in (-2, -1, 1, 2))
    return np.asarray((low2 - 8 * low + 8 * high - high2) / (12 * H))


def directions(random: np.random.Generator, nv: int) -> Array:
    """Random directions: they weigh all columns differently, so that any wrong entry shows in all of them."""
    return np.asarray(random.uniform(0.3, 1.0, (3, nv)) * random.choice([-1, 1], (3, nv)))


@pytest.mark.parametrize("case", CASES)
def test_roles_are_the_wanted_ones(case: str) -> None:
    chords = {chord.joint: chord.kept for chord in robot(case).topology.chords}
    edges = {edge.joint: edge.forward for edge in robot(case).topology.edges}
    if "tree" in case:
        assert edges["tested"] is ("reversed" not in case)
        assert chords == {"closing": False}
    elif "random" not in case:
        assert chords == {"tested": "kept" in case or "screw" in case}
    else:
        assert len(chords) == 2


@pytest.mark.parametrize("case", CASES)
def test_residual_is_that_of_the_oracle_off_the_manifold(case: str) -> None:
    r, random = robot(case), rng(case)
    for _ in range(3):
        q = r.off_manifold(random)
        expected = r.oracle_residual(r.named(q))
        assert np.abs(expected).max() > 1e-2 or not r.topology.nv
        np.testing.assert_allclose(r.residual(q), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(r.augmented(q)[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_reference_is_the_recorded_state_and_closed(case: str) -> None:
    made, r = sample(case), robot(case)
    np.testing.assert_allclose(r.reference, r.q(made.values), rtol=0, atol=1e-12)
    np.testing.assert_allclose(r.oracle_residual(r.named(r.reference)), 0, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_full_jacobian_is_the_slope_of_the_oracle_residual(case: str) -> None:
    """C is spread from its structural nonzeros: an entry missing in the structure would show as a wrong slope."""
    r, random = robot(case), rng(case)
    q = r.off_manifold(random)
    C = r.augmented(q)[1]
    for v in directions(random, r.topology.nv):
        np.testing.assert_allclose(C @ v, slope(r.oracle_residual, r, q, v), rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_condensed_jacobian_is_the_slope_of_the_rows(case: str) -> None:
    r, random = robot(case), rng(case)
    q = r.off_manifold(random)
    J = r.condensed(q)[1]
    assert not J[:, sorted(r.front.closures.eliminated)].any()
    for v in directions(random, r.topology.nv):
        rows = slope(lambda values: r.condensed(r.q(values))[0], r, q, v)
        np.testing.assert_allclose(J @ v, rows, rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_rows_vanish_where_the_oracle_says_closed(case: str) -> None:
    r, random = robot(case), rng(case)
    for _ in range(2):
        q = r.assembled_near(random)
        np.testing.assert_allclose(r.oracle_residual(r.named(q)), 0, atol=3e-12)
        np.testing.assert_allclose(r.condensed(q)[0], 0, atol=3e-12)


def smallest_defect(r: CasadiRobot, q: Array) -> float:
    """min |rho| over the eliminated coordinates (Gauss-Newton on the oracle residual and the oracle's own moves)."""
    names = [r.topology.v_names[i] for i in sorted(r.front.closures.eliminated)]
    values = r.named(q)
    for _ in range(6):
        rho = r.oracle_residual(values)
        if not names:
            break
        steps = np.eye(len(names)) * 1e-6
        moved = [r.oracle_residual(r.oracle.move(values, dict(zip(names, s, strict=True)))) for s in steps]
        J = (np.column_stack(moved) - rho[:, None]) / 1e-6
        step = -np.linalg.lstsq(J, rho, rcond=1e-9)[0]
        values = r.oracle.move(values, dict(zip(names, step, strict=True)))
    return float(np.linalg.norm(r.oracle_residual(values)))


@pytest.mark.parametrize("case", CASES)
def test_rows_do_not_vanish_where_the_oracle_says_open(case: str) -> None:
    r, random = robot(case), rng(case)
    for size in (1e-3, 1e-2):
        dv = np.zeros(r.topology.nv)
        dv[r.evaluator.active] = random.uniform(-size, size, r.evaluator.active.size)
        q = r.integrate(r.reference, dv)
        defect, rows = smallest_defect(r, q), float(np.linalg.norm(r.condensed(q)[0]))
        assert (rows > 1e-6) is (defect > 1e-6)
        assert rows <= 10 * defect + 1e-12
        assert defect <= 100 * rows + 1e-9


@pytest.mark.parametrize("case", CASES)
def test_condensed_rows_allow_the_motions_that_the_oracle_allows(case: str) -> None:
    """The row space of J is that of C with the eliminated speeds projected out: no freedom lost, none gained."""
    r = robot(case)
    q = r.reference
    C, J = r.augmented(q)[1], r.condensed(q)[1]
    own, active = sorted(r.front.closures.eliminated), r.evaluator.active
    U, s, _ = np.linalg.svd(C[:, own])
    outside = U[:, int(np.sum(s > 1e-9)) :]  # forces that do no work on the cut joints' own motions
    reduced = outside.T @ C[:, active]
    ranks = [np.linalg.matrix_rank(M, tol=1e-8) if M.size else 0 for M in (J[:, active], reduced)]
    both = np.vstack((J[:, active], reduced))
    assert ranks[0] == ranks[1] == (np.linalg.matrix_rank(both, tol=1e-8) if both.size else 0)


@pytest.mark.parametrize("case", CASES)
def test_recovery_gives_the_oracle_values_on_the_same_turn_and_sign(case: str) -> None:
    made, r, random = sample(case), robot(case), rng(case)
    q = r.q(made.values)
    start = q.copy()
    for chord in r.topology.chords:
        joint, slot = r.topology.joint(chord.joint), r.topology.slot(chord.joint)
        own = slice(slot.q0, slot.q0 + slot.nq)
        if chord.kept:
            continue
        step = dict(zip(velocity_names(joint.name, joint.type), random.uniform(-0.9, 0.9, slot.nv), strict=True))
        moved = r.oracle.move(made.values, step)
        start[own] = [moved[name] for name in coordinate_names(joint.name, joint.type)]
    np.testing.assert_allclose(r.recover(start), q, rtol=0, atol=2e-13)
    flipped = start.copy()
    for chord in r.topology.chords:
        slot = r.topology.slot(chord.joint)
        if not chord.kept and r.topology.kind(chord.joint) in (JointType.SPHERICAL, JointType.FREE):
            flipped[slot.q0 + slot.nq - 4 : slot.q0 + slot.nq] *= -1
            q[slot.q0 + slot.nq - 4 : slot.q0 + slot.nq] *= -1
    np.testing.assert_allclose(r.recover(flipped), q, rtol=0, atol=2e-13)


@pytest.mark.parametrize("turns", [-3, 0, 5])
@pytest.mark.parametrize("kind", [JointType.REVOLUTE, JointType.CONTINUOUS])
def test_turns_survive_recovery(kind: JointType, turns: int) -> None:
    r = robot(f"{kind.value}, cut")
    slot = r.topology.slot("tested")
    q = r.reference.copy()
    q[slot.q0] = r.reference[slot.q0] + 2 * np.pi * turns
    np.testing.assert_allclose(r.recover(q), q, rtol=0, atol=1e-13)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("chart", ["port", "inner"])
def test_lift_satisfies_all_augmented_rows(case: str, chart: str) -> None:
    r, random = robot(case), rng(case)
    for q in (r.reference, r.assembled_near(random)):
        E = r.lift(q, chart)
        C = r.augmented(q)[1]
        assert E.shape == (r.topology.nv, len(r.evaluator.active) - r.reduction.rank.rank)
        assert np.abs(C @ E).max(initial=0.0) < 1e-12 * max(
            1.0, float(np.abs(C).max(initial=0) * np.abs(E).max(initial=0))
        )


@pytest.mark.parametrize("case", [f"{kind.value}, {role}" for kind, role in ROLES if role.startswith("cut")])
def test_recovered_speeds_are_those_between_the_bodies(case: str) -> None:
    """G v equals the least-squares fit of the joint's own twists to the relative twist of its two bodies."""
    r, random = robot(case), rng(case)
    joint = r.topology.joint("tested")
    v = r.lift(r.reference) @ random.normal(size=r.lift(r.reference).shape[1])
    twists = {"world": np.zeros(6), **r.twists(r.reference, v)}
    poses = r.oracle.body_poses(r.named(r.reference), r.cut)
    expected, misfit = r.oracle.speeds_between(joint, r.named(r.reference), poses, twists)
    slot = r.topology.slot("tested")
    assert misfit < 1e-12
    assert basis(joint, np.zeros(slot.nq) + 0.1, {}).shape == (6, nv(joint))
    np.testing.assert_allclose(v[slot.v0 : slot.v0 + slot.nv], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", [JointType.REVOLUTE, JointType.FIXED, JointType.CYLINDRICAL, JointType.PRISMATIC])
def test_half_turn_is_seen_by_the_full_residual(kind: JointType) -> None:
    """One body turned by pi about its joint frame's x axis satisfies some condensed rows, never the full residual."""
    r = robot(f"{kind.value}, cut")
    joint = r.topology.joint("tested")
    values = r.named(r.reference)
    poses = r.oracle.body_poses(values, r.cut)
    frame = poses[joint.b.body][:3, :3] @ np.array(joint.b.rotation)
    sideways = np.cross(joint.axis, [0.3, 0.5, -0.2])
    w = poses[joint.b.body][:3, :3].T @ (frame @ (sideways / np.linalg.norm(sideways)))
    step = {f"fly_{joint.b.body}:w{axis}": float(np.pi * (1 - 1e-9) * x) for axis, x in zip("xyz", w, strict=True)}
    q = r.q(r.oracle.move(values, step))
    assert np.linalg.norm(r.residual(q)[:3]) == pytest.approx(np.pi, abs=1e-7)


def test_couplings_and_frames_follow_run_time_parameters() -> None:
    """Lengths and coefficients that are parameters: rows at other parameter values are those of the changed records."""
    made = random_mechanism(6)
    length = Apply("*", (Constant(0.5), Symbol("span")))
    joints = list(made.mechanism.joints)
    k = next(i for i, joint in enumerate(joints) if joint.name == "c0")
    joint = joints[k]
    x, y, _ = joint.a.translation
    z0 = float(joint.a.translation[2])  # type: ignore[arg-type]
    joints[k] = replace(joint, a=replace(joint.a, translation=(x, y, length)))
    coupling = made.mechanism.couplings[0]
    scaled = replace(coupling, expression=Apply("*", (Symbol("ratio"), coupling.expression)))

    def with_defaults(span: float, ratio: float) -> Mechanism:
        parameters = (Parameter("span", span), Parameter("ratio", ratio))
        return replace(made.mechanism, joints=tuple(joints), couplings=(scaled,), parameters=parameters)

    r = CasadiRobot(run_front_end(with_defaults(2 * z0, 1.0)))
    q = r.off_manifold(np.random.default_rng(1))
    before = r.residual(q)
    r.p = np.array([2 * z0 + 0.4, -1.5])
    r.oracle = Oracle(derive_topology(with_defaults(2 * z0 + 0.4, -1.5)).mechanism)
    expected = r.oracle_residual(r.named(q))
    assert np.abs(before - expected).max() > 0.05
    np.testing.assert_allclose(r.residual(q), expected, rtol=0, atol=1e-12)
