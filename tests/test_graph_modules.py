"""Dependency modules and complexity figures."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from builders import damped, fourbar, joint, mechanism, robot
from hypothesis import given
from hypothesis import strategies as st

from robocompiler.graph.build import derive_topology
from robocompiler.graph.complexity import CONDENSED_ROWS, complexity
from robocompiler.graph.modules import dependency_modules
from robocompiler.records.expressions import Symbol
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import WORLD, Coupling


@dataclass(frozen=True)
class Closure:
    name: str
    variables: frozenset[int]


def closures(*blocks: set[int]) -> list[Closure]:
    return [Closure(f"c{index}", frozenset(block)) for index, block in enumerate(blocks)]


def test_closures_that_share_a_dependent_block_belong_together() -> None:
    assert dependency_modules(closures({1, 9}, {2, 9}, {1, 3}, {4}), {1, 2, 3, 4}) == ((0, 2), (1,), (3,))


def test_sharing_an_independent_block_couples_nothing() -> None:
    assert dependency_modules(closures({9}, {9}, {9, 1}), {1}) == ((0,), (1,), (2,))


def test_chain_of_shared_blocks_is_one_module_and_empty_input_is_none() -> None:
    assert dependency_modules(closures({5, 6}, {1, 2}, {4, 5}, {2, 3}, {3, 4}), range(7)) == ((0, 1, 2, 3, 4),)
    assert dependency_modules([], {1}) == ()


@given(st.lists(st.frozensets(st.integers(0, 12), max_size=4), max_size=10), st.frozensets(st.integers(0, 12)))
def test_modules_are_the_transitive_closure_of_sharing(
    blocks: list[frozenset[int]], dependents: frozenset[int]
) -> None:
    found = dependency_modules(closures(*map(set, blocks)), dependents)
    count = len(blocks)
    near = [[bool(a & b & dependents) or i == k for k, b in enumerate(blocks)] for i, a in enumerate(blocks)]
    for middle in range(count):  # Warshall
        near = [[near[i][k] or (near[i][middle] and near[middle][k]) for k in range(count)] for i in range(count)]
    expected = sorted({tuple(k for k in range(count) if near[i][k]) for i in range(count)})
    assert list(found) == expected


def test_figures_of_the_fourbar() -> None:
    figures = complexity(derive_topology(fourbar()))
    assert (figures.bodies, figures.joints, figures.moving_joints, figures.components) == (3, 4, 4, 1)
    assert (figures.chords, figures.full_rows, figures.condensed_rows) == (1, 6, 5)
    assert (figures.path_min, figures.path_mean, figures.path_max, figures.depth) == (3, 3.0, 3, 2)
    assert (figures.local_factors, figures.global_factors) == (3, 3)


@pytest.mark.parametrize(
    ("name", "full", "condensed"), [("stewart", 30, 15), ("excavator", 54, 45), ("kangaroo_full", 144, 80)]
)
def test_rows_of_published_robots(name: str, full: int, condensed: int) -> None:
    figures = complexity(derive_topology(robot(name)))
    assert (figures.full_rows, figures.condensed_rows) == (full, condensed)
    assert figures.local_factors < figures.global_factors


def test_kept_chords_and_couplings_count_their_rows() -> None:
    model = mechanism(
        damped("a", "revolute", WORLD, "p"),
        damped("b", "revolute", WORLD, "p"),
        joint("c", "spherical", WORLD, "p"),
        joint("w", "fixed", "p", "q"),
        bodies={"brick": 2.0},
        couplings=(Coupling("k", Symbol("a"), ("a",)),),
    )
    figures = complexity(derive_topology(model))
    assert (figures.chords, figures.kept_chords, figures.couplings) == (2, 1, 1)
    assert (figures.full_rows, figures.condensed_rows) == (13, 6 + 3 + 1)
    assert (figures.components, figures.floating_components, figures.moving_joints) == (2, 1, 4)
    assert figures.depth == 1


def test_figures_without_loops_are_zero() -> None:
    figures = complexity(derive_topology(mechanism(joint("j", "revolute", WORLD, "p"))))
    assert (figures.chords, figures.path_min, figures.path_mean, figures.path_max, figures.global_factors) == (
        0,
        0,
        0,
        0,
        0,
    )


def test_condensed_rows_and_freedoms_make_six() -> None:
    for kind in JointType:
        if kind is not JointType.SCREW:  # a screw's one freedom stays an unknown beside all six rows
            assert CONDENSED_ROWS[kind] + JOINT_SHAPES[kind].nv == 6
    assert CONDENSED_ROWS[JointType.SCREW] == 6
