"""SE(3) in CasADi against scipy: logarithm, inverse left Jacobian, quaternions, small angles and half turns."""

from __future__ import annotations

from typing import Any

import casadi as cs
import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_kinematics import adjoint as oracle_adjoint
from oracle_kinematics import by_quaternion, hat, rigid, twist_matrix, twist_vector
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation

from robocompiler.symbolic import spatial
from robocompiler.symbolic.spatial import Pose

Array = NDArray[np.float64]

ANGLES = [0.0, 1e-12, 1e-9, 1e-8, 5e-5, 9e-5, 1.1e-4, 1e-3, 0.1, 0.24, 0.245, 0.5, 0.99, 1.01, 2.0, 3.0, np.pi - 1e-3]


def evaluate(expression: Any, *pairs: tuple[Any, Array]) -> Array:
    function = cs.Function("f", [symbol for symbol, _ in pairs], [expression])
    return np.asarray(function(*[value for _, value in pairs]).full(), dtype=np.float64)


def symbolic_pose() -> tuple[Pose, Any, Any]:
    R, p = cs.SX.sym("R", 3, 3), cs.SX.sym("p", 3)
    return Pose(R, p), R, p


def log_of(T: Array) -> Array:
    pose, R, p = symbolic_pose()
    return evaluate(spatial.log_pose(pose), (R, T[:3, :3]), (p, T[:3, 3])).ravel()


def inverse_jacobian_of(rho: Array) -> Array:
    x = cs.SX.sym("x", 6)
    return evaluate(spatial.inverse_left_jacobian(x), (x, rho))


def left_jacobian_by_integration(rho: Array) -> Array:
    """J_l = int_0^1 exp(s ad) ds, out of one block exponential."""
    ad = np.zeros((6, 6))
    ad[:3, :3] = ad[3:, 3:] = hat(rho[:3])
    ad[3:, :3] = hat(rho[3:])
    block = np.zeros((12, 12))
    block[:6, :6], block[:6, 6:] = ad, np.eye(6)
    return expm(block)[:6, 6:]


def twist(angle: float, seed: int) -> Array:
    random = np.random.default_rng(seed)
    axis = random.normal(size=3)
    return np.concatenate((angle * axis / np.linalg.norm(axis), random.normal(size=3)))


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("seed", range(4))
def test_log_inverts_the_exponential(angle: float, seed: int) -> None:
    rho = twist(angle, seed)
    tolerance = 1e-14 if angle < 2.5 else 1e-12  # R moves by eps where the axis is read from small numbers near pi
    np.testing.assert_allclose(log_of(expm(twist_matrix(rho))), rho, rtol=0, atol=5 * tolerance)


@pytest.mark.parametrize("seed", range(4))
def test_small_rotations_keep_their_relative_accuracy(seed: int) -> None:
    rho = twist(1e-9, seed)
    found = log_of(rigid(np.eye(3) + hat(rho[:3]), rho[3:]))  # exact to 1e-18
    np.testing.assert_allclose(found[:3], rho[:3], rtol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_log_agrees_with_matrix_logarithm(seed: int) -> None:
    T = expm(twist_matrix(twist(1.7, seed)))
    np.testing.assert_allclose(log_of(T), twist_vector(np.real(logm(T))), atol=1e-12)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0), (0, -0.6, 0.8), (0.48, 0.6, 0.64)])
def test_exact_half_turn_is_pi_and_not_zero(axis: tuple[float, float, float]) -> None:
    n = np.array(axis, dtype=float)
    rho = log_of(rigid(2 * np.outer(n, n) - np.eye(3), np.array([0.3, -0.2, 0.5])))
    assert np.linalg.norm(rho[:3]) == pytest.approx(np.pi, abs=1e-14)
    assert abs(abs(n @ rho[:3]) - np.pi) < 1e-14
    np.testing.assert_allclose(expm(twist_matrix(rho))[:3, 3], [0.3, -0.2, 0.5], atol=1e-13)


@pytest.mark.parametrize("miss", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("side", [-1, 1])
def test_log_near_half_turns_is_on_the_principal_branch(miss: float, side: int) -> None:
    n = np.array([0.36, -0.48, 0.8])
    rho = log_of(expm(twist_matrix(np.concatenate(((np.pi + side * miss) * n, np.zeros(3))))))
    expected = -(np.pi - miss) * n if side > 0 else (np.pi - miss) * n
    np.testing.assert_allclose(rho[:3], expected, atol=1e-12)


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("seed", range(3))
def test_inverse_left_jacobian_inverts_the_integral(angle: float, seed: int) -> None:
    rho = twist(angle, seed)
    product = inverse_jacobian_of(rho) @ left_jacobian_by_integration(rho)
    np.testing.assert_allclose(product, np.eye(6), atol=2e-14)


@pytest.mark.parametrize("seed", range(3))
def test_left_jacobian_is_the_differential_of_the_logarithm(seed: int) -> None:
    rho, V = twist(1.3, seed), twist(0.7, seed + 50)
    T = expm(twist_matrix(rho))
    h = 1e-3
    samples = [log_of(expm(k * h * twist_matrix(V)) @ T) for k in (-2, -1, 1, 2)]
    slope = (samples[0] - 8 * samples[1] + 8 * samples[2] - samples[3]) / (12 * h)
    np.testing.assert_allclose(inverse_jacobian_of(rho) @ V, slope, atol=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_quaternion_of_any_rotation(seed: int) -> None:
    R = Rotation.random(random_state=seed).as_matrix()
    symbol = cs.SX.sym("R", 3, 3)
    q = evaluate(spatial.quaternion_of_rotation(symbol), (symbol, R)).ravel()
    assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)
    assert q[np.argmax(np.abs(q))] > 0
    np.testing.assert_allclose(by_quaternion(q)[:3, :3], R, atol=1e-15)


@pytest.mark.parametrize("k", range(3))
def test_quaternion_of_the_three_half_turns(k: int) -> None:
    symbol = cs.SX.sym("R", 3, 3)
    R = 2 * np.outer(np.eye(3)[k], np.eye(3)[k]) - np.eye(3)
    q = evaluate(spatial.quaternion_of_rotation(symbol), (symbol, R)).ravel()
    np.testing.assert_array_equal(q, np.eye(4)[k + 1])


@pytest.mark.parametrize("seed", range(3))
def test_adjoint_moves_twists(seed: int) -> None:
    T = expm(twist_matrix(twist(1.1, seed)))
    pose, R, p = symbolic_pose()
    found = evaluate(spatial.adjoint(pose), (R, T[:3, :3]), (p, T[:3, 3]))
    np.testing.assert_allclose(found, oracle_adjoint(T), atol=1e-14)


def test_elementary_rotations_and_products() -> None:
    a, b, x = cs.SX.sym("a", 4), cs.SX.sym("b", 4), cs.SX.sym("x")
    p, q = np.array([0.5, -0.5, 0.5, 0.5]), np.array([0.8, 0.0, -0.6, 0.0])
    product = evaluate(spatial.quaternion_product(a, b), (a, p), (b, q)).ravel()
    np.testing.assert_allclose(by_quaternion(product), by_quaternion(p) @ by_quaternion(q), atol=1e-15)
    turned = evaluate(spatial.rotation_quaternion(a), (a, p))
    np.testing.assert_allclose(turned, by_quaternion(p)[:3, :3], atol=1e-15)
    z = evaluate(spatial.rotation_z(x), (x, np.array([0.4])))
    np.testing.assert_allclose(z, expm(0.4 * hat(np.array([0, 0, 1.0]))), atol=1e-15)
