"""numerics/se3.py against scipy's matrix functions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_kinematics import adjoint, hat, rigid, twist_matrix
from scipy.linalg import expm
from test_spatial import ANGLES, left_jacobian_by_integration, twist

from robocompiler.numerics import se3

Array = NDArray[np.float64]


def split(T: Array) -> tuple[Array, Array]:
    return T[:3, :3], T[:3, 3]


@pytest.mark.parametrize("angle", [*ANGLES, 3.5, 6.0])
@pytest.mark.parametrize("seed", range(3))
def test_exp(angle: float, seed: int) -> None:
    rho = twist(angle, seed)
    np.testing.assert_allclose(rigid(*se3.exp(rho)), expm(twist_matrix(rho)), atol=4e-15 * (1 + angle))


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("seed", range(3))
def test_log_inverts_exp(angle: float, seed: int) -> None:
    rho = twist(angle, seed)
    tolerance = 5e-14 if angle < 2.5 else 5e-12  # near a half turn the axis comes from small differences
    np.testing.assert_allclose(se3.log(*split(expm(twist_matrix(rho)))), rho, rtol=0, atol=tolerance)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, 0.8), (0, -0.6, 0.8), (0.48, 0.6, 0.64)])
def test_exact_half_turn_is_pi(axis: tuple[float, float, float]) -> None:
    n = np.array(axis, dtype=float)
    rho = se3.log(2 * np.outer(n, n) - np.eye(3), np.array([0.1, 0.2, 0.3]))
    assert abs(n @ rho[:3]) == pytest.approx(np.pi, abs=1e-14)
    np.testing.assert_allclose(expm(twist_matrix(rho))[:3, 3], [0.1, 0.2, 0.3], atol=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("seed", range(3))
def test_left_jacobian(angle: float, seed: int) -> None:
    rho = twist(angle, seed)
    np.testing.assert_allclose(se3.left_jacobian(rho), left_jacobian_by_integration(rho), atol=4e-15 * (1 + angle))


@pytest.mark.parametrize("seed", range(3))
def test_adjoint_and_skew(seed: int) -> None:
    T = expm(twist_matrix(twist(1.2, seed)))
    np.testing.assert_allclose(se3.adjoint(*split(T)), adjoint(T), atol=1e-14)
    w = twist(1.0, seed)[:3]
    np.testing.assert_array_equal(se3.skew(w), hat(w))
