"""The choice of a loop's normal, and the arithmetic in 40 digits, alone."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares

from robocompiler.analysis.scales import length_scale
from robocompiler.check.random_mechanism import random_mechanism
from robocompiler.graph.build import derive_topology
from robocompiler.repair.digits import apply, many_digits, product, size, smallest_turn, transposed, unit, vector
from robocompiler.repair.normals import Witnesses, best_normal
from robocompiler.repair.planar_groups import planar_groups
from robocompiler.repair.spherical_groups import spherical_groups
from robocompiler.repair.straight_records import straight_records
from robocompiler.symbolic.exact_rotations import rounded

Array = NDArray[np.float64]
N = np.array([0.36, 0.48, 0.8])


def near(n: Array, count: int, tilt: float, seed: int = 0) -> Array:
    """Unit vectors off n by about `tilt`."""
    axes = n + tilt * np.random.default_rng(seed).normal(size=(count, 3))
    return np.asarray(axes / np.linalg.norm(axes, axis=1)[:, None])


def names(axes: Array) -> tuple[str, ...]:
    return tuple(f"j{k}" for k in range(len(axes)))


def around(n: Array, angle: float) -> Array:
    """Rot(n, angle) less the identity: what a loop's frames give."""
    x, y, z = n
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)


def test_frames_that_close_exactly_say_the_normal() -> None:
    axes = near(N, 4, 1e-5)
    found = Witnesses(axes, names(axes), np.zeros((0, 3)), around(N, 0.4))
    np.testing.assert_allclose(best_normal(found), N, atol=1e-14)


def test_frames_that_do_not_close_exactly_prove_nothing() -> None:
    axes = near(N, 4, 1e-5)
    bent = np.vstack((around(N, 0.4), [[0.0, 0.0, 1e-6]]))
    n = best_normal(Witnesses(axes, names(axes), np.zeros((0, 3)), bent))
    assert 1e-8 < np.linalg.norm(np.cross(n, N)) < 1e-5


def test_a_direction_that_two_hinges_agree_on_is_kept() -> None:
    axes = np.vstack((near(N, 2, 1e-5), N, N))
    found = Witnesses(axes, names(axes), np.zeros((0, 3)), np.zeros((0, 3)))
    np.testing.assert_array_equal(best_normal(found), N)


def test_two_views_of_one_closing_hinge_are_not_two_hinges() -> None:
    axes = np.vstack((near(N, 2, 1e-5), N, N))
    found = Witnesses(axes, ("j0", "j1", "j2", "j2"), np.zeros((0, 3)), np.zeros((0, 3)))
    assert np.linalg.norm(np.cross(best_normal(found), N)) > 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_otherwise_the_sum_of_squares_is_least(seed: int) -> None:
    """Against a general minimiser over the directions near N."""
    random = np.random.default_rng(seed)
    axes = near(N, 5, 1e-3, seed)
    across = np.cross(N, random.normal(size=(2, 3)))
    slides = across / np.linalg.norm(across, axis=1)[:, None] + 1e-3 * random.normal(size=(2, 3))
    found = Witnesses(axes, names(axes), slides, 1e-2 * random.normal(size=(1, 3)))
    e = np.linalg.svd(N[None])[2][1:]

    def off(x: Array) -> Array:
        n = (N + x @ e) / np.linalg.norm(N + x @ e)
        return np.concatenate((np.cross(axes, n).ravel(), slides @ n, found.frames @ n))

    best = N + least_squares(off, np.zeros(2), xtol=1e-15, ftol=1e-15, gtol=1e-15).x @ e
    assert np.linalg.norm(np.cross(best, N)) > 1e-4
    assert np.linalg.norm(np.cross(best_normal(found), best / np.linalg.norm(best))) < 1e-9


def test_the_smallest_turn_is_a_rotation_to_forty_digits() -> None:
    with many_digits():
        a, b = unit(vector([0.3, -0.4, 0.5])), unit(vector([0.3, -0.4000001, 0.50002]))
        S = smallest_turn(a, b)
        error = [x - y for x, y in zip(apply(S, a), b, strict=True)]
        assert max(map(abs, error)) < Decimal("1e-37")
        E = product(S, transposed(S))
        assert max(abs(E[i][j] - (i == j)) for i in range(3) for j in range(3)) < Decimal("1e-37")
        assert abs(size(b) - 1) < Decimal("1e-38")
    np.testing.assert_allclose(
        np.trace(rounded(S)), 1 + 2 * float(sum(x * y for x, y in zip(a, b, strict=True))), rtol=1e-15
    )


def test_exact_loops_of_random_mechanisms_are_found_and_left_alone() -> None:
    found = 0
    for seed in range(60):
        mechanism = random_mechanism(seed).mechanism
        topology = derive_topology(mechanism)
        length = length_scale(topology)
        straight = straight_records(mechanism, topology, length)
        assert straight.settled and straight.mechanism == mechanism, (seed, straight.changes)
        found += len(planar_groups(topology)) + len(spherical_groups(topology, length))
    assert found > 5
