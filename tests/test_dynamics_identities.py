"""Identities that the compiled dynamics of every shipped robot must satisfy at states along its motion.

No reference values: differences along the mechanism, energy and power, and the change between charts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from case_models import built, mechanism, rate_of
from mechanics_support import damping_power, difference, random_state, shipped

import robocompiler as rc

SMALL = ("fourbar", "slider_crank", "five_bar", "rssr", "parallel_ankle")
ROBOTS = (*SMALL, "stewart", "excavator", "panda", "go2")
Compiled = Callable[[str], rc.Robot]


def each(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", names)


@each(*ROBOTS, "delta", "kangaroo")
def test_forward_and_inverse_dynamics_undo_each_other(name: str, compiled: Compiled) -> None:
    robot = compiled(name)
    for seed in range(2):
        q, u, random = random_state(robot, seed)
        f = random.uniform(-10, 10, len(robot.ports))
        frame = robot.frames[-1]
        wrench = {frame: random.uniform(-5, 5, 6)}
        udot = robot.forward_dynamics(q, u, f, wrench)
        tau = robot.inverse_dynamics(q, u, udot, wrench)
        wanted = robot.port_map(q).T @ f
        M, h = robot.mass_matrix(q), robot.bias(q, u)
        scale = max(1.0, np.abs(M).max() * np.abs(udot).max(), np.abs(h).max())
        assert np.abs(tau - wanted).max() < 1e-11 * scale
        pushed = robot.task_jacobian(frame, q).T @ wrench[frame]
        np.testing.assert_allclose(M @ udot + h, wanted + pushed, rtol=0, atol=1e-11 * scale)


@each(*ROBOTS, "delta", "kangaroo")
def test_the_mass_matrix_is_definite_and_is_what_inverse_dynamics_uses(name: str, compiled: Compiled) -> None:
    robot = compiled(name)
    q, u, _ = random_state(robot, 3)
    M, h = robot.mass_matrix(q), robot.bias(q, u)
    np.testing.assert_array_equal(M, M.T)
    scale = np.sqrt(np.diag(M))
    assert np.linalg.eigvalsh(M / np.outer(scale, scale)).min() > 1e-8
    columns = np.column_stack([robot.inverse_dynamics(q, u, unit) - h for unit in np.eye(len(u))])
    np.testing.assert_allclose(columns, M, rtol=0, atol=1e-11 * max(np.abs(M).max(), np.abs(h).max()))
    kinetic, _ = robot.energy(q, u)
    assert kinetic == pytest.approx(u @ M @ u / 2, rel=1e-11)


@each(*ROBOTS)
def test_power_balance(name: str, compiled: Compiled) -> None:
    """dE/dt at constant u, by differences along the exact motion, is u.tau less what damping takes."""
    robot, records = compiled(name), shipped(name)
    q, u, _ = random_state(robot, 4, speed=0.5)
    tau = robot.inverse_dynamics(q, u, np.zeros_like(u))
    lost = damping_power(records, dict(zip(robot.velocities, robot.velocity(q, u), strict=True)))
    rate = rate_of(lambda x: np.array(robot.energy(x, u)), robot, q, u)
    assert rate.sum() == pytest.approx(u @ tau - lost, rel=1e-7, abs=1e-7 * max(1.0, float(np.abs(rate).max())))


@each(*ROBOTS, "delta")
def test_curvature_is_the_rate_of_the_velocities(name: str, compiled: Compiled) -> None:
    robot = compiled(name)
    q, u, random = random_state(robot, 5, speed=0.5)
    rate = rate_of(lambda x: robot.velocity(x, u), robot, q, u)
    found = robot.curvature(q, u)
    assert difference(found, rate) < 1e-7
    assert np.abs(found[[robot.velocities.index(n) for n in robot.independent]]).max() < 1e-12 * max(
        1, abs(found).max()
    )
    udot = random.uniform(-2, 2, u.size)
    assert difference(robot.acceleration(q, u, udot), found + robot.lift(q) @ udot) < 1e-12
    # in C v = 0 both terms of the rate balance
    drift = rate_of(lambda x: robot.closure_jacobian(x) @ robot.velocity(q, u), robot, q, u)
    assert difference(robot.closure_jacobian(q) @ found, -drift) < 1e-6 * max(1.0, float(np.abs(found).max()))


@each(*ROBOTS, "delta")
def test_frame_accelerations_are_the_rates_of_frame_velocities(name: str, compiled: Compiled) -> None:
    robot = compiled(name)
    q, u, random = random_state(robot, 6, speed=0.5)
    udot = random.uniform(-2, 2, u.size)
    for frame in (robot.frames[0], robot.frames[len(robot.frames) // 2], robot.frames[-1]):
        rate = rate_of(lambda x, frame=frame: robot.task_jacobian(frame, x) @ u, robot, q, u)
        wanted = rate + robot.task_jacobian(frame, q) @ udot
        assert difference(robot.task_acceleration(frame, q, u, udot), wanted) < 1e-7, frame


@each(*ROBOTS, "delta", "kangaroo")
def test_ports_move_as_their_map_says(name: str, compiled: Compiled) -> None:
    robot = compiled(name)
    q, u, random = random_state(robot, 7, speed=0.5)
    L, f = robot.port_map(q), random.uniform(-10, 10, len(robot.ports))
    assert L.shape == (len(robot.ports), u.size)
    if name != "kangaroo":  # one difference along its motion takes seconds
        rate = rate_of(robot.port_displacement, robot, q, u)
        np.testing.assert_allclose(rate, L @ u, rtol=0, atol=1e-9)
    tau = robot.inverse_dynamics(q, u, robot.forward_dynamics(q, u, f))
    size = np.abs(robot.mass_matrix(q)).max() * max(1.0, float(np.abs(robot.forward_dynamics(q, u, f)).max()))
    assert abs(tau @ u - f @ (L @ u)) < 1e-12 * max(1.0, float(np.abs(f) @ np.abs(L @ u)), 10 * float(size))


@each("fourbar", "rssr", "parallel_ankle", "stewart", "excavator", "delta", "kangaroo")
def test_dynamics_covary_with_the_chart(name: str, compiled: Compiled) -> None:
    """u = F u~: M~ = F^T M F, h~ = F^T (h + M Fdot u~), L~ = L F, and one motion whichever chart computes it."""
    robot = compiled(name)
    inner = robot.chart("inner")
    q, u, random = random_state(robot, 8, speed=0.3)
    F = inner.F(q)
    own = inner.F_inverse(q) @ u
    M, h, L = robot.mass_matrix(q), robot.bias(q, u), robot.port_map(q)
    np.testing.assert_allclose(inner.lift(q), robot.lift(q) @ F, rtol=0, atol=1e-10 * max(1, np.abs(F).max()))
    np.testing.assert_allclose(inner.port_map(q), L @ F, rtol=0, atol=1e-10 * max(1, np.abs(F).max()))
    mass = F.T @ M @ F
    np.testing.assert_allclose(inner.mass_matrix(q), mass, rtol=0, atol=1e-10 * np.abs(mass).max())
    f = random.uniform(-10, 10, len(robot.ports))
    wrench = {robot.frames[-1]: random.uniform(-5, 5, 6)}
    one, other = robot.forward_dynamics(q, u, f, wrench), inner.forward_dynamics(q, own, f, wrench)
    a = robot.acceleration(q, u, one)
    assert difference(inner.acceleration(q, own, other), a) < 1e-10
    assert difference(other, a[[robot.velocities.index(n) for n in inner.independent]]) < 1e-10
    assert difference(inner.inverse_dynamics(q, own, other), F.T @ robot.inverse_dynamics(q, u, one)) < 1e-10
    if name != "kangaroo":
        rate = rate_of(lambda x: inner.F(x) @ own, inner, q, own)
        wanted = F.T @ (h + M @ rate)
        scale = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(inner.bias(q, own), wanted, rtol=0, atol=1e-7 * scale)


LOSSES = {
    "bodies": {"one": {"mass": 1.0, "com": [0.2, 0, 0], "inertia": [0.01, 0.02, 0.02]}, "two": {"mass": 0.5}},
    "joints": {
        "hinge": {"type": "revolute", "a": "world", "b": "one", "axis": [0, 1, 0], "friction": 0.4, "damping": 0.7},
        "slide": {"type": "prismatic", "a": "one", "b": "two", "axis": [1, 0, 0], "friction": 2.0, "damping": 0.3},
    },
}


def test_friction_opposes_motion_and_stays_out_of_forward_dynamics(build_folder) -> None:
    robot = built(build_folder, mechanism("losses", LOSSES))
    assert robot.independent == ("hinge", "slide")
    q = robot.configuration({"hinge": 0.3, "slide": 0.2})
    for signs in ((1, 1), (-1, 1), (1, -1)):
        u = np.array([0.5, 1.5]) * signs
        np.testing.assert_allclose(robot.friction(q, u), -np.array([0.4, 2.0]) * signs, rtol=1e-15)
    np.testing.assert_array_equal(robot.friction(q, [0.0, 0.0]), 0)
    u = np.array([0.5, -1.5])
    udot = robot.forward_dynamics(q, u, np.zeros(0))
    np.testing.assert_allclose(robot.inverse_dynamics(q, u, udot), 0, rtol=0, atol=1e-13)  # no friction in either
    smooth = {"joints": {k: {n: x for n, x in j.items() if n in ("type", "a", "b", "axis")}
                         for k, j in LOSSES["joints"].items()}}  # fmt: skip
    free = built(build_folder, mechanism("lossless", {**LOSSES, **smooth}))
    np.testing.assert_allclose(robot.bias(q, u) - free.bias(q, u), [0.7 * 0.5, -0.3 * 1.5], rtol=1e-12)
