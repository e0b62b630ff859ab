"""The Stewart platform in twelve variants and six trees: covariant to 1e-12 and equal to maximal coordinates.

Here six trees of one variant, and some other variants with one tree each; `python -m benchmarks.stewart_variants` does
all 72 (docs/covariance.md).
"""

from __future__ import annotations

import numpy as np
import pytest
from covariance_support import Side, change, differences
from mechanics_support import shipped
from representations import identity
from stewart_variants import NAMES, Study, against_oracle, cuts

TOLERANCE = 1e-12
CHANGED = ("irregular", "payload centre", "driven legs", "frames", "order", "reference")


@pytest.fixture(scope="module")
def study() -> Study:
    return Study()


def within(*groups: dict[str, float]) -> None:
    assert all(groups)
    assert all(value < TOLERANCE for group in groups for value in group.values()), groups


def test_six_trees_of_one_variant(study: Study) -> None:
    """The platform with full inertia tensors: every choice of the ball that stays in the tree."""
    one = study.sixfold("asymmetric inertia")
    sides = [Side.of(one.variant.mechanism, (), cuts(kept)) for kept in range(6)]
    for kept, side in enumerate(sides):
        assert {chord.joint for chord in side.mechanics.robot.topology.chords} == set(cuts(kept))
        within(*study.compared(one, sides[0], side))


@pytest.mark.parametrize("name", CHANGED)
def test_another_variant_with_one_tree(name: str, study: Study) -> None:
    """Against the oracle of its records; where they stand for the shipped mechanism, covariant with that as well."""
    one, kept = study.sixfold(name), 1 + NAMES.index(name) % 5
    there = Side.of(one.variant.mechanism, (), cuts(kept))
    covariance, oracle = study.compared(one, study.nominal if one.represents_the_shipped else there, there)
    assert covariance and oracle and max(*covariance.values(), *oracle.values()) < TOLERANCE


def test_the_free_platform_form_has_the_same_dynamics(study: Study) -> None:
    """24 tree coordinates and rank 18 instead of 21 and 15: covariant, with every speed of the one in the other."""
    free = shipped("stewart_free")
    there = Side.of(free)
    assert there.mechanics.robot.topology.tree_nv == 24
    base, random = study.nominal, np.random.default_rng(17)
    variant = identity(free, {})
    q = base.mechanics.robot.named(base.mechanics.robot.assembled_near(random, 0.05))
    u, f = random.uniform(-0.25, 0.25, 6), random.uniform(-400, 400, 6)
    at = change(base, variant, there, q, u)
    within(differences(base, variant, there, at, f), against_oracle(there, at.own, at.own_u, f))
    # and on the chart of the platform's pose, where F is far from the identity
    posed = Side.of(free, ("platform_pose",))
    assert {name.partition(":")[0] for name in posed.mechanics.independent} == {"platform_pose"}
    at = change(base, variant, posed, q, u)
    assert np.linalg.cond(at.F) > 2
    within(differences(base, variant, posed, at, f), against_oracle(posed, at.own, at.own_u, f))


def test_the_variants_are_twelve_different_mechanisms_or_records(study: Study) -> None:
    records = [study.sixfold(name).variant.mechanism for name in NAMES]
    assert len(records) == 12
    assert all(a != b for k, a in enumerate(records) for b in records[:k])
    representing = [name for name in NAMES if study.sixfold(name).represents_the_shipped]
    assert representing == ["nominal", "frames", "order", "reference"]
