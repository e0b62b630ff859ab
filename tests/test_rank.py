"""Rank decisions of the shipped robots, refusals of rounded records, and the gap finder and column selection alone."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from case_models import mechanism
from numpy.typing import NDArray

from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.analysis.probes import null_space, probe
from robocompiler.analysis.reduce import reduce_closures
from robocompiler.analysis.selection import select_columns
from robocompiler.errors import RankError
from robocompiler.graph.build import derive_topology
from robocompiler.numerics.gap import CLEAR, NOISE, decide_rank
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism
from robocompiler.symbolic.closures import ClosureProgram, build_closures
from robocompiler.symbolic.reduction import Reduction

Array = NDArray[np.float64]
ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def reduced(name: str) -> tuple[ClosureProgram, Reduction]:
    program = build_closures(derive_topology(read_mechanism(ROOT / "models" / f"{name}.yaml")))
    return program, reduce_closures(program)


@pytest.mark.parametrize(
    ("name", "columns", "rank", "chords", "kept"),
    [
        ("stewart", 21, 15, 5, 0),
        ("stewart_free", 24, 18, 6, 0),
        ("excavator", 23, 16, 9, 0),
        ("panda", 9, 1, 0, 0),
        ("go2", 18, 0, 0, 0),
        ("fourbar", 3, 2, 1, 0),
        ("parallel_ankle", 8, 6, 2, 0),
    ],
)
def test_ranks_of_the_shipped_models(name: str, columns: int, rank: int, chords: int, kept: int) -> None:
    program, reduction = reduced(name)
    assert len(program.topology.chords) == chords
    assert sum(chord.kept for chord in program.topology.chords) == kept
    assert (len(program.active), reduction.rank.rank) == (columns, rank)
    assert all(len(chart.independent) == columns - rank for chart in reduction.charts)
    assert reduction.rank.clear
    assert set(reduction.rank.ranks) == {rank}
    assert rank == 0 or reduction.rank.smallest_kept > 1e-3
    assert reduction.rank.largest_dropped < NOISE / 10


def test_the_free_platform_has_eighteen_rows_of_rank_eighteen() -> None:
    """stewart_free is stewart and a free joint: six balls cut, no redundant row, and the pose as an inner chart."""
    free, shipped = (read_mechanism(ROOT / "models" / f"{name}.yaml") for name in ("stewart_free", "stewart"))
    added = [joint for joint in free.joints if joint not in shipped.joints]
    assert [(joint.name, joint.type) for joint in added] == [("platform_pose", JointType.FREE)]
    assert (free.bodies, free.ports, free.gravity) == (shipped.bodies, shipped.ports, shipped.gravity)
    program, reduction = reduced("stewart_free")
    assert {chord.joint for chord in program.topology.chords} == {f"leg_{k}_ball" for k in range(6)}
    evaluator = ClosureEvaluator(program)
    J = evaluator.jacobian(np.array(reduction.reference))
    values = np.linalg.svd(J, compute_uv=False)
    assert J.shape == (18, 24)
    assert values[17] > 0.3 * values[0]  # eighteen rows, eighteen clear singular values: nothing is dropped
    assert reduction.rank.largest_dropped == 0.0
    names = program.topology.v_names
    port, inner = reduction.chart("port"), reduction.chart("inner")
    assert [names[i] for i in port.independent] == [f"leg_{k}_length" for k in range(6)]
    assert {names[i].partition(":")[0] for i in inner.independent} == {"platform_pose"}
    assert [len(module.dependents) for module in inner.modules] == [3] * 6


def test_kangaroo() -> None:
    program, reduction = reduced("kangaroo")
    assert len(program.topology.chords) == 24
    assert reduction.rank.rank == 64
    port = reduction.chart("port")
    assert len(port.independent) == 18
    assert len([module for module in port.modules if module.dependents]) == 6
    assert sum(len(module.dependents) for module in port.modules) == 64


def test_kangaroo_as_published_is_refused_with_suspects() -> None:
    program = build_closures(derive_topology(read_mechanism(ROOT / "tests" / "data" / "kangaroo_published.yaml")))
    with pytest.raises(RankError, match="rank of the closures is not clear") as caught:
        reduce_closures(program)
    report = caught.value.report
    assert report["freedoms_above_gap"] == 18
    assert report["between"]
    assert all(NOISE < value <= CLEAR for value in report["between"])
    assert report["suspects"]
    assert set(report["suspects"]) <= {joint.name for joint in program.topology.mechanism.joints}
    assert all(size > NOISE for size in report["suspects"].values())
    assert next(iter(report["suspects"])) in str(caught.value)


def rounded(mechanism: Mechanism, decimals: int) -> Mechanism:
    """All axes rounded and normalised again, as exporters write them, after a turn that makes them irrational."""

    def axis(vector: tuple[float, float, float], k: int) -> tuple[float, float, float]:
        tilt = np.array(vector) + 10.0**-decimals * np.array([0.4 * (-1) ** k, 0.3, 0.3 * (-1) ** (k // 2)])
        x, y, z = (tilt / np.linalg.norm(tilt)).tolist()
        return x, y, z

    joints = tuple(replace(joint, axis=axis(joint.axis, k)) for k, joint in enumerate(mechanism.joints))
    return replace(mechanism, joints=joints)


@pytest.mark.parametrize("decimals", [5, 6])
def test_excavator_with_rounded_axes_is_refused(decimals: int) -> None:
    mechanism = rounded(read_mechanism(ROOT / "models" / "excavator.yaml"), decimals)
    with pytest.raises(RankError) as caught:
        reduce_closures(build_closures(derive_topology(mechanism)))
    report = caught.value.report
    assert report["freedoms_above_gap"] == 7
    assert report["rank_above_gap"] == 16
    assert max(report["between"]) < 10.0 ** -(decimals - 1)
    assert report["suspects"]


def spectrum(values: list[float], rows: int = 6, columns: int = 5, seed: int = 0) -> Array:
    """A matrix with given singular values."""
    random = np.random.default_rng(seed)
    U, _ = np.linalg.qr(random.normal(size=(rows, rows)))
    V, _ = np.linalg.qr(random.normal(size=(columns, columns)))
    S = np.zeros((rows, columns))
    S[range(len(values)), range(len(values))] = values
    return np.asarray(U @ S @ V)


@pytest.mark.parametrize(
    ("values", "rank", "clear"),
    [
        ([1.0, 0.5, 0.1], 3, True),
        ([1.0, 0.5, 2e-4, 1e-12], 3, True),
        ([1.0, 0.5, 1e-6, 1e-13], 2, False),
        ([1.0, 0.5, 5e-5], 2, False),
        ([1.0, 1e-8], 1, False),
        ([1e5, 1e5, 1.0], 2, False),  # relative to the largest
        ([1.0, 1.0, 1e-10], 2, True),
        ([], 0, True),
    ],
)
def test_gap(values: list[float], rank: int, clear: bool) -> None:
    decision = decide_rank([spectrum(values)])
    assert (decision.rank, decision.clear) == (rank, clear)
    assert bool(decision.between) is not clear
    top = max(values, default=1.0)
    for expected, found in zip(values, decision.singular_values, strict=False):
        assert found == pytest.approx(expected / top, abs=1e-14)


def test_gap_takes_the_worst_of_the_probes_and_ignores_singular_poses() -> None:
    probes = [spectrum([1, 0.5, 0.3, 1e-14]), spectrum([1, 0.5, 0.01, 1e-12], seed=1), spectrum([1, 0.5], seed=2)]
    decision = decide_rank(probes)
    assert decision.rank == 3
    assert decision.ranks == (3, 3, 2)
    assert decision.smallest_kept == pytest.approx(0.01, rel=1e-9)
    assert decision.largest_dropped == pytest.approx(1e-12, rel=1e-2)
    assert decision.clear
    assert decision.gap == pytest.approx(1e10, rel=1e-2)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (3, 3)])
def test_gap_of_nothing(shape: tuple[int, int]) -> None:
    decision = decide_rank([np.zeros(shape)])
    assert (decision.rank, decision.clear) == (0, True)


def test_near_redundancy_of_a_later_probe_is_seen() -> None:
    decision = decide_rank([spectrum([1, 0.5]), spectrum([1, 0.5, 1e-7], seed=1)])
    assert not decision.clear
    assert decision.between == pytest.approx((1e-7,), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_selection_is_a_basis_that_prefers_early_classes(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(8, 4)) @ random.normal(size=(4, 9))
    matrix[:, 3] = 2 * matrix[:, 0]  # dependent within the first class
    first, second = [0, 3, 5], [1, 2, 4, 6, 7, 8]
    chosen = select_columns([matrix], [first, second], 4, 1e-6)
    assert len(chosen) == 4
    assert np.linalg.matrix_rank(matrix[:, chosen]) == 4
    assert len({0, 3} & set(chosen)) == 1
    assert 5 in chosen
    assert set(chosen[:2]) <= set(first)


def test_selection_needs_independence_in_every_matrix() -> None:
    first, second = np.eye(3), np.eye(3)
    second[:, 2] = second[:, 1]
    assert sorted(select_columns([first, second], [range(3)], 3, 1e-6)) in ([0, 1], [0, 2])
    assert sorted(select_columns([first], [range(3)], 3, 1e-6)) == [0, 1, 2]


def test_probes_are_closed_admissible_and_the_same_every_time() -> None:
    program, reduction = reduced("stewart")
    evaluator = ClosureEvaluator(program)
    reference = np.array(reduction.reference)
    probes = probe(evaluator, reference)
    assert len(probes) >= 4
    for q in probes:
        assert np.abs(evaluator.rows(q)).max() < 1e-8
    assert min(np.abs(a - b).max() for k, a in enumerate(probes) for b in probes[:k]) > 1e-3
    for a, b in zip(probes, probe(evaluator, reference), strict=True):
        np.testing.assert_array_equal(a, b)


def test_null_space() -> None:
    J = spectrum([1.0, 0.5, 1e-13])
    basis = null_space(J)
    assert basis.shape == (5, 3)
    np.testing.assert_allclose(J @ basis, 0, atol=1e-12)
    np.testing.assert_array_equal(null_space(np.zeros((0, 3))), np.eye(3))


# --- closures that hardly move ---


def four_bar(scale: float) -> Mechanism:
    """A four-bar linkage of half a metre whose length scale is declared."""
    link = {"mass": 1.0, "inertia": [1, 1, 1]}
    hinge = {"type": "revolute", "axis": [0, 0, 1]}
    return mechanism(
        "bars",
        {
            "scales": {"length": scale},
            "bodies": dict.fromkeys(("crank", "coupler", "rocker"), link),
            "joints": {
                "a": {**hinge, "a": "world", "b": "crank"},
                "b": {**hinge, "a": {"body": "crank", "xyz": [0.3, 0, 0]}, "b": "coupler"},
                "c": {**hinge, "a": {"body": "world", "xyz": [0.5, 0, 0]}, "b": "rocker"},
                "d": {
                    **hinge, "a": {"body": "coupler", "xyz": [0.5, 0, 0]}, "b": {"body": "rocker", "xyz": [0.4, 0, 0]},
                },
            },
            "reference": {"joints": {"a": 1.0}},
        },
    )  # fmt: skip


def test_closures_that_all_nearly_vanish_are_refused_with_their_sizes_and_the_mend() -> None:
    """Lengths over a scale of 100 km are noise beside radians, whose ratios alone would still show a clear rank."""
    assert reduce_closures(build_closures(derive_topology(four_bar(2.0)))).rank.rank == 2
    with pytest.raises(RankError, match=r"scales.length is 100000 m, 2e\+05 times the largest distance") as caught:
        reduce_closures(build_closures(derive_topology(four_bar(1e5))))
    assert (caught.value.report["rank"], caught.value.report["solvable"]) == (2, 0)
    (size,) = caught.value.report["largest_entries"].values()
    assert 1e-6 < size < 1e-5  # 0.5 m over 1e5 m


def test_weights_of_a_coupling_that_vanish_are_named() -> None:
    link = {"mass": 1.0, "inertia": [1, 1, 1]}
    hinges = {name: {"type": "revolute", "axis": [0, 0, 1], "a": "world", "b": f"{name}_link"} for name in ("a", "b")}
    tiny = mechanism(
        "tiny",
        {
            "bodies": dict.fromkeys(("a_link", "b_link"), link),
            "joints": hinges,
            "couplings": {"gear": {"terms": {"a": 1e-300, "b": 1e-300}}},
        },
    )
    with pytest.raises(RankError, match=r"(?s)gear .*weights of couplings that are not nearly zero"):
        reduce_closures(build_closures(derive_topology(tiny)))


def test_a_decision_on_no_pose_at_all_is_rank_zero() -> None:
    assert decide_rank([]).rank == decide_rank([np.zeros((3, 2))]).rank == decide_rank([np.zeros((0, 4))]).rank == 0
