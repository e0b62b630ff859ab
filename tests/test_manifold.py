"""q (+) dv and N(q) against the oracle: conventions of spherical and free joints, small steps, long integrations."""

from __future__ import annotations

import functools

import casadi as cs
import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_kinematics import Oracle, basis, inverse, motion, twist_vector
from random_mechanisms import Maker, finish

from robocompiler.graph.build import derive_topology
from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JointType, coordinate_names, velocity_names
from robocompiler.records.model import WORLD
from robocompiler.symbolic.manifold import coordinate_rates, integrate

Array = NDArray[np.float64]
KINDS = tuple(JointType)


class Joints:
    """One joint of every type, each between the world and a body of its own (no closures)."""

    def __init__(self) -> None:
        maker = Maker(np.random.default_rng(5))
        joints = [
            maker.joint(kind.value, kind, *((WORLD, f"b{k}") if k % 2 else (f"b{k}", WORLD)))
            for k, kind in enumerate(KINDS)
        ]
        made = finish("joints", maker, [f"b{k}" for k in range(len(KINDS))], joints)
        self.topology: Topology = derive_topology(made.mechanism)
        self.oracle, self.values = Oracle(self.topology.mechanism), made.values
        q, v = cs.SX.sym("q", self.topology.nq), cs.SX.sym("v", self.topology.nv)
        self._integrate = cs.Function("integrate", [q, v], [integrate(self.topology, q, v)])
        self._rates = cs.Function("rates", [q, v], [coordinate_rates(self.topology, q, v)])

    @property
    def q(self) -> Array:
        return np.array([self.values[name] for name in self.topology.q_names])

    def integrate(self, q: Array, v: Array) -> Array:
        return np.asarray(self._integrate(q, v).full()).ravel()

    def rates(self, q: Array, v: Array) -> Array:
        return np.asarray(self._rates(q, v).full()).ravel()

    def named(self, q: Array) -> dict[str, float]:
        return dict(zip(self.topology.q_names, map(float, q), strict=True))

    def speeds(self, v: Array) -> dict[str, float]:
        return dict(zip(self.topology.v_names, map(float, v), strict=True))


@functools.cache
def joints() -> Joints:
    return Joints()


@pytest.mark.parametrize(
    "size", [0.0, 1e-9, 1e-4, 0.08, 0.0816, 0.1, 1.0, 1.7]
)  # below half a turn: the sign of a quaternion is then unique
@pytest.mark.parametrize("seed", range(3))
def test_integrate_is_the_oracle_move(size: float, seed: int) -> None:
    j = joints()
    v = np.random.default_rng(seed).uniform(-1, 1, j.topology.nv) * size
    expected = j.oracle.move(j.values, j.speeds(v))
    found = j.named(j.integrate(j.q, v))
    np.testing.assert_allclose([found[n] for n in expected], list(expected.values()), rtol=0, atol=4e-15 * (1 + size))


def test_zero_increment_changes_nothing_but_rounding() -> None:
    j = joints()
    np.testing.assert_allclose(j.integrate(j.q, np.zeros(j.topology.nv)), j.q, rtol=0, atol=2e-16)


@pytest.mark.parametrize("seed", range(3))
def test_rates_are_the_slope_of_integrate(seed: int) -> None:
    j, h = joints(), 1e-3
    v = np.random.default_rng(seed).uniform(-1, 1, j.topology.nv)
    low2, low, high, high2 = (j.integrate(j.q, k * h * v) for k in (-2, -1, 1, 2))
    np.testing.assert_allclose(j.rates(j.q, v), (low2 - 8 * low + 8 * high - high2) / (12 * h), atol=2e-12)


def test_rates_map_has_full_column_rank_and_keeps_quaternions_unit() -> None:
    j = joints()
    N = np.column_stack([j.rates(j.q, e) for e in np.eye(j.topology.nv)])
    assert np.linalg.matrix_rank(N) == j.topology.nv
    for kind in (JointType.SPHERICAL, JointType.FREE):
        slot = j.topology.slot(kind.value)
        own = slice(slot.q0 + slot.nq - 4, slot.q0 + slot.nq)
        np.testing.assert_allclose(j.q[own] @ N[own], 0, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_velocities_are_the_twist_of_b_relative_to_a_in_axes_of_b(kind: JointType) -> None:
    """(X^-1 dX)^vee carried to frame b: for balls and free joints it is v itself, angular first."""
    j, h = joints(), 1e-3
    joint, slot = j.topology.joint(kind.value), j.topology.slot(kind.value)
    v = np.zeros(j.topology.nv)
    v[slot.v0 : slot.v0 + slot.nv] = np.random.default_rng(2).uniform(-1, 1, slot.nv)

    def pose(t: float) -> Array:
        own = j.integrate(j.q, t * v)[slot.q0 : slot.q0 + slot.nq]
        return motion(joint, own, {})

    slope = (pose(-2 * h) - 8 * pose(-h) + 8 * pose(h) - pose(2 * h)) / (12 * h)
    twist = twist_vector(inverse(pose(0)) @ slope)
    own = v[slot.v0 : slot.v0 + slot.nv]
    if kind is JointType.SPHERICAL:
        expected = np.concatenate((own, np.zeros(3)))
    elif kind is JointType.FREE:
        expected = own
    else:
        expected = basis(joint, j.q[slot.q0 : slot.q0 + slot.nq], {}) @ own
    np.testing.assert_allclose(twist, expected, rtol=0, atol=1e-11)


def test_names_of_free_and_spherical_velocities_are_angular_first() -> None:
    assert velocity_names("j", JointType.FREE) == ("j:wx", "j:wy", "j:wz", "j:vx", "j:vy", "j:vz")
    assert velocity_names("j", JointType.SPHERICAL) == ("j:wx", "j:wy", "j:wz")
    assert coordinate_names("j", JointType.FREE) == ("j:x", "j:y", "j:z", "j:qw", "j:qx", "j:qy", "j:qz")


def test_quaternions_stay_unit_over_a_long_integration() -> None:
    j = joints()
    q, v = j.q, np.random.default_rng(0).uniform(-0.3, 0.3, j.topology.nv)
    for _ in range(2000):
        q = j.integrate(q, v)
    for kind in (JointType.SPHERICAL, JointType.FREE):
        slot = j.topology.slot(kind.value)
        assert np.linalg.norm(q[slot.q0 + slot.nq - 4 : slot.q0 + slot.nq]) == pytest.approx(1.0, abs=4e-16)


def test_constant_spin_is_one_rotation_however_it_is_cut() -> None:
    """Equal increments of a ball and of a free joint commute: n steps are one step of n times the size."""
    j = joints()
    v = np.zeros(j.topology.nv)
    for kind in (JointType.SPHERICAL, JointType.FREE):
        slot = j.topology.slot(kind.value)
        v[slot.v0 : slot.v0 + slot.nv] = np.random.default_rng(3).uniform(-0.1, 0.1, slot.nv)
    q = j.q
    for _ in range(10):
        q = j.integrate(q, v)
    np.testing.assert_allclose(q, j.integrate(j.q, 10 * v), rtol=0, atol=1e-14)
