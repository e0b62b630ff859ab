"""Constant rotations rounded once, against an own formula in 60 digits; and probes that rounding does not turn."""

from __future__ import annotations

from pathlib import Path

import gmpy2
import numpy as np
import pytest

from robocompiler.analysis import probes
from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.analysis.reduce import reduce_closures
from robocompiler.graph.build import derive_topology
from robocompiler.oracle.arithmetic import precise_arithmetic
from robocompiler.oracle.vectors import orthonormal
from robocompiler.records.model import IDENTITY, Matrix3
from robocompiler.records.reader import read_mechanism
from robocompiler.records.rotations import quaternion_of_rotation, rotation_of_quaternion, rotation_of_rpy
from robocompiler.symbolic.closures import build_closures
from robocompiler.symbolic.exact_rotations import between, from_z, rounded, turned, unturned
from robocompiler.symbolic.frames import NOISE, align

MODELS = Path(__file__).resolve().parent.parent / "models"
ARITHMETIC = precise_arithmetic()


def exact_turn(axis: tuple[float, float, float]) -> list[list[gmpy2.mpfr]]:
    """R_n = I + [w] + [w]^2 / (1 + n_z) with w = z x n, after half a turn about x where n_z < 0; in the context."""
    n = [gmpy2.mpfr(x) for x in axis]
    size = gmpy2.sqrt(sum(x * x for x in n))
    flip = -1 if n[2] < 0 else 1
    x, y, z = n[0] / size, flip * n[1] / size, flip * n[2] / size
    W = [[0, 0, x], [0, 0, y], [-x, -y, 0]]  # the cross product with w = (-y, x, 0)
    square = [[sum(W[i][k] * W[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    R = [[(i == j) + W[i][j] + square[i][j] / (1 + z) for j in range(3)] for i in range(3)]
    return [[entry * (flip if i else 1) for entry in row] for i, row in enumerate(R)]


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1)])
def test_coordinate_directions_are_signed_permutations(axis: tuple[float, float, float]) -> None:
    R = rounded(from_z(axis))
    assert set(np.abs(R).ravel()) == {0.0, 1.0}
    assert np.linalg.det(R) == 1.0
    np.testing.assert_array_equal(R[:, 2], axis)


def test_every_entry_is_the_nearest_double() -> None:
    random = np.random.default_rng(8)
    for _ in range(50):
        axis = tuple(random.normal(size=3).tolist())
        record: Matrix3 = rotation_of_rpy(tuple(random.uniform(-3, 3, 3)))
        with ARITHMETIC.context():
            turn = exact_turn(axis)
            R = orthonormal(tuple(tuple(gmpy2.mpfr(x) for x in row) for row in record))
            wanted = [[float(sum(R[i][k] * turn[k][j] for k in range(3))) for j in range(3)] for i in range(3)]
        np.testing.assert_array_equal(rounded(turned(record, from_z(axis))), wanted)
        np.testing.assert_array_equal(
            rounded(between(unturned(), from_z(axis))), rounded(turned(IDENTITY, from_z(axis)))
        )


def test_frames_of_a_robot_are_right_to_the_last_place() -> None:
    """Products in double are off by up to 4e-15 here, and cost Kangaroo's constraints a factor of ten."""
    for joint in read_mechanism(MODELS / "kangaroo.yaml").joints:
        aligned = align(joint, {})
        with ARITHMETIC.context():
            R = orthonormal(tuple(tuple(gmpy2.mpfr(x) for x in row) for row in joint.a.rotation))
            turn = exact_turn(joint.axis) if joint.type.value != "spherical" else None
            exact = (
                R
                if turn is None
                else [[sum(R[i][k] * turn[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
            )
            for i in range(3):
                for j in range(3):
                    found = float(aligned.A.R[i, j])
                    error = float(abs(gmpy2.mpfr(found) - exact[i][j]))
                    assert error <= 2.0**-54 or (error < NOISE and found in (-1.0, 0.0, 1.0)), joint.name


def test_quaternions_of_rotations_come_back() -> None:
    random = np.random.default_rng(9)
    halves = [(0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0)]
    drawn = [tuple((x / np.linalg.norm(x)).tolist()) for x in random.normal(size=(40, 4))]
    for quaternion in [*halves, *drawn]:
        found = np.array(quaternion_of_rotation(rotation_of_quaternion(quaternion)))
        sign = -1 if quaternion[0] < 0 else 1
        np.testing.assert_allclose(found, sign * np.array(quaternion), atol=4e-16)


def test_probes_do_not_depend_on_the_basis_of_the_null_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where singular values coincide, the basis is any; probes, and with them charts and pivots, must not follow it."""
    program = build_closures(derive_topology(read_mechanism(MODELS / "delta.yaml")))
    reduction = reduce_closures(program)
    evaluator, reference = ClosureEvaluator(program), np.array(reduction.reference)
    plain = probes.probe(evaluator, reference)
    original = probes.null_space

    def turned_basis(J: np.ndarray) -> np.ndarray:
        basis = original(J)
        return basis @ np.linalg.qr(np.random.default_rng(3).normal(size=(basis.shape[1],) * 2))[0]

    monkeypatch.setattr(probes, "null_space", turned_basis)
    again = probes.probe(evaluator, reference)
    assert len(plain) == len(again) > 3
    for q, other in zip(plain, again, strict=True):
        np.testing.assert_allclose(q, other, atol=1e-12)
    assert np.abs(plain[1] - plain[0]).max() > 1e-3
