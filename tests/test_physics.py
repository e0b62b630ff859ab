"""Inertia triage: refuse the indefinite, warn where the triangle inequality fails, accept thin rods."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocompiler.records.physics import judge_inertia
from robocompiler.records.reader import mechanism_from_dict

INDEFINITE = (0.01, 0.01, 0.015, 0.02, 0.0, 0.0)
TRIANGLE = (4.1e-3, 1.3e-3, 1.9e-3, 6e-4, 0.0, 2e-4)
THIN_ROD = (0.1, 0.1, 0.2, 0.1, 0.0, 0.0)


def test_indefinite_tensor():
    verdict = judge_inertia(INDEFINITE)
    assert verdict.indefinite
    assert verdict.eigenvalues[0] == pytest.approx(-0.01, rel=1e-12)


def test_definite_tensor_that_violates_the_triangle_inequality():
    verdict = judge_inertia(TRIANGLE)
    assert not verdict.indefinite
    assert verdict.eigenvalues == pytest.approx((0.0011271478, 0.0019489979, 0.0042238543), rel=1e-7)
    assert verdict.triangle_deficit == pytest.approx(0.0011477086, rel=1e-7)


@pytest.mark.parametrize(
    "inertia", [THIN_ROD, (0.0,) * 6, (0.0, 1.0, 1.0, 0.0, 0.0, 0.0), (1.0, 2.0, 3.0, 0.0, 0.0, 0.0)]
)
def test_limiting_tensors_are_accepted(inertia):
    verdict = judge_inertia(inertia)
    assert not verdict.indefinite
    assert verdict.triangle_deficit == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_the_verdict_does_not_depend_on_the_unit(scale):
    assert judge_inertia(tuple(scale * x for x in INDEFINITE)).indefinite
    assert not judge_inertia(tuple(scale * x for x in THIN_ROD)).indefinite
    assert judge_inertia(tuple(scale * x for x in TRIANGLE)).triangle_deficit > 0


def test_a_slightly_negative_moment_is_refused_and_rounding_is_not():
    assert judge_inertia((-1e-10, 1.0, 1.0, 0.0, 0.0, 0.0)).indefinite
    assert not judge_inertia((-1e-14, 1.0, 1.0, 0.0, 0.0, 0.0)).indefinite


@given(
    st.lists(
        st.tuples(st.floats(0.01, 5), st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=6
    )
)
def test_point_masses_always_pass(points):
    """The tensor of any positive mass distribution about its centre of mass is admissible."""
    masses = np.array([point[0] for point in points])
    positions = np.array([point[1:] for point in points])
    positions = positions - masses @ positions / masses.sum()
    tensor = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, positions, strict=True))
    largest = np.abs(tensor).max()
    if largest < 1e-12:  # all points in one: nothing but rounding is left
        return
    entries = (tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2])
    verdict = judge_inertia(tuple(float(x) for x in entries))
    assert not verdict.indefinite
    assert verdict.triangle_deficit == 0


def _read(inertia):
    return mechanism_from_dict(
        {
            "robocompiler": 1,
            "name": "one",
            "bodies": {"arm": {"mass": 1, "inertia": list(inertia)}},
            "joints": {"j": {"type": "revolute", "a": "world", "b": "arm", "axis": [0, 0, 1]}},
        }
    )


def test_the_reader_warns_about_the_triangle_inequality():
    mechanism = _read(TRIANGLE)
    assert mechanism.bodies[0].inertia == TRIANGLE
    (warning,) = mechanism.warnings
    assert "bodies.arm.inertia" in warning
    assert "0.00114770857" in warning
    assert _read(THIN_ROD).warnings == ()
