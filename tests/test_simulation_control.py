"""Controllers and loads: samples, compiled C, limits, tracking with feedforward, wrenches, friction, drives."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from case_models import built
from driven_mechanisms import MOTOR, WHEEL, bench
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline as ScipySpline
from scipy.linalg import expm
from simulation_yard import INERTIA, LEVEL, MASS, speeds, yard

import robocompiler as rc
from robocompiler.backend.toolchain import find_toolchain
from robocompiler.errors import AssemblyError, LoadError, RankError

Array = NDArray[np.float64]
sim = rc.simulation
FREE = sim.NoFriction()


@pytest.fixture(scope="module")
def robot(build_folder: Path) -> rc.Robot:
    return yard(build_folder)


@pytest.fixture(scope="module")
def stewart(compiled: Callable[[str], rc.Robot]) -> rc.Robot:
    return compiled("stewart")


def block(robot: rc.Robot) -> tuple[int, int]:
    return robot.coordinates.index("block"), robot.independent.index("block")


# --- samples ---


def test_a_sampled_controller_is_the_discrete_one(robot: rc.Robot) -> None:
    """PD on a mass behind a zero-order hold: x_{k+1} = A x_k exactly, whatever the steps between samples."""
    q_at, u_at = block(robot)
    kp, kd, period = 40.0, 9.0, 0.1
    seen = []

    def law(t: float, q: Array, u: Array) -> Array:
        seen.append(t)
        return np.array([-kp * q[q_at] - kd * u[u_at]])

    hold = np.array([[1 - kp / MASS * period**2 / 2, period - kd / MASS * period**2 / 2],
                     [-kp / MASS * period, 1 - kd / MASS * period]])  # fmt: skip
    wanted = np.linalg.matrix_power(hold, 10) @ [0.3, 0.0]
    for method, step in (("rk4", 0.03), ("dopri5", 1.0), ("rk4", 0.1)):
        seen.clear()
        motion = robot.simulate(
            1.0, robot.configuration({"block": 0.3}), controller=sim.Sampled(law, period), method=method, step=step,
            friction=FREE,
        )  # fmt: skip
        assert seen == [k * period for k in range(11)]
        assert (motion.q[-1, q_at], motion.u[-1, u_at]) == pytest.approx(tuple(wanted), abs=1e-12)
        assert motion.saturated == {}


def test_a_continuous_controller_is_evaluated_at_every_stage(robot: rc.Robot) -> None:
    """The damped oscillator's closed form, which a hold of the first stage would miss by far."""
    q_at, u_at = block(robot)
    kp, kd = 40.0, 9.0
    motion = robot.simulate(
        1.0, robot.configuration({"block": 0.3}), controller=lambda t, q, u: [-kp * q[q_at] - kd * u[u_at]], step=5e-3,
        friction=FREE,
    )  # fmt: skip
    wanted = expm(np.array([[0, 1], [-kp / MASS, -kd / MASS]])) @ [0.3, 0.0]
    assert (motion.q[-1, q_at], motion.u[-1, u_at]) == pytest.approx(tuple(wanted), abs=1e-8)


def test_efforts_are_limited_and_the_time_at_the_limit_is_told(robot: rc.Robot) -> None:
    _, u_at = block(robot)
    motion = robot.simulate(0.5, controller=lambda t, q, u: [1000.0 if t < 0.2 else 5.0], step=0.01, friction=FREE)
    assert motion.f.max() == 20.0
    assert motion.saturated == {"push": pytest.approx(0.2, abs=1e-9)}
    assert motion.u[-1, u_at] == pytest.approx((20 * 0.2 + 5 * 0.3) / MASS, abs=0.01 * 15 / MASS)


def test_what_a_controller_returns_is_checked(robot: rc.Robot) -> None:
    for law, words in (
        (lambda t, q, u: [1.0, 2.0], r"must return 1 finite efforts of yard \(push\)"),
        (lambda t, q, u: [math.nan], "must return 1 finite efforts"),
        (lambda t, q, u: sim.Commands([1.0]), "declares no drive"),
    ):
        with pytest.raises(ValueError, match=words):
            robot.simulate(0.1, controller=law)
    with pytest.raises(ValueError, match="the sample time must be a positive number"):
        sim.Sampled(lambda t, q, u: [0.0], 0.0)


# --- compiled C ---

SOURCE = """
#include <string.h>
struct memory { double sum; long calls; };
int step(double t, const double q[], const double u[], double f[], void *memory)
{
    struct memory m;
    (void)t;
    memcpy(&m, memory, sizeof m);
    m.sum += 0.1 * q[0];
    m.calls += 1;
    memcpy(memory, &m, sizeof m);
    f[0] = -40.0 * q[0] - 9.0 * u[6] - 5.0 * m.sum;
    return m.calls > 8 ? 7 : 0;
}
"""


def test_a_controller_in_c_is_its_twin_in_python(robot: rc.Robot, tmp_path: Path) -> None:
    (tmp_path / "control.c").write_text(SOURCE)
    library = tmp_path / "control.so"
    command = [*find_toolchain().command, "-shared", "-fPIC", "-O1", "control.c", "-o", str(library)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    total = [0.0]

    def law(t: float, q: Array, u: Array) -> Array:
        total[0] += 0.1 * q[0]
        return np.array([-40.0 * q[0] - 9.0 * u[6] - 5.0 * total[0]])

    assert block(robot) == (0, 6)
    q = robot.configuration({"block": 0.3})
    compiled = sim.CompiledController(library, 1, memory=16, sample_time=0.1)
    found = robot.simulate(0.65, q, controller=compiled, step=0.02)
    wanted = robot.simulate(0.65, q, controller=sim.Sampled(law, 0.1), step=0.02)
    assert np.array_equal(found.u, wanted.u)
    assert np.abs(found.f).max() > 1.0
    with pytest.raises(RuntimeError, match=r"control\.so:step returned status 7 at t = "):
        robot.simulate(2.0, q, controller=sim.CompiledController(library, 1, memory=16, sample_time=0.1), step=0.02)
    with pytest.raises(LoadError, match="no controller can be loaded"):
        sim.CompiledController(library, 1, name="stride")
    with pytest.raises(LoadError, match="no controller can be loaded"):
        sim.CompiledController(tmp_path / "absent.so", 1)
    with pytest.raises(ValueError, match="needs a sample time"):
        sim.CompiledController(library, 1, memory=16)


# --- references and tracking ---


def test_splines_are_those_of_scipy() -> None:
    random = np.random.default_rng(1)
    times = np.cumsum(random.uniform(0.1, 1.0, 9))
    values = random.standard_normal((9, 3))
    ours, other = sim.CubicSpline(times, values), ScipySpline(times, values, bc_type="clamped")
    for t in np.linspace(times[0] + 1e-9, times[-1] - 1e-9, 57):
        for order, found in enumerate(ours(t)):
            assert found == pytest.approx(other(t, order), abs=1e-11)
    for t, end in ((times[0] - 1, 0), (times[-1] + 1, -1)):
        value, first, second = ours(t)
        assert np.array_equal(value, values[end])
        assert not first.any()
        assert not second.any()
    for wrong in (([0.0], [[1.0]]), ([0.0, 0.0], [[1.0], [2.0]]), ([0.0, 1.0], [[1.0]]), ([0, 1], [[1.0], [math.nan]])):
        with pytest.raises(ValueError, match=r"spline|finite"):
            sim.CubicSpline(*wrong)


def waves(robot: rc.Robot, size: float, frequency: float) -> sim.Reference:
    """Every leg on a sine of its own, from rest at the reference: s0 + A (1 - cos(w_k t)) / 2."""
    start = robot.reference[[robot.coordinates.index(name) for name in robot.independent]]
    w = 2 * math.pi * frequency * (1 + 0.15 * np.arange(start.size))

    def path(t: float) -> tuple[Array, Array, Array]:
        return (
            start + size * (1 - np.cos(w * t)) / 2,
            size * w * np.sin(w * t) / 2,
            size * w * w * np.cos(w * t) / 2,
        )

    return sim.Reference(robot, path)


def test_inverse_dynamics_at_the_reference_needs_no_feedback(stewart: rc.Robot) -> None:
    """Continuous feedforward alone, from the reference's own state: the plant follows it to the integrator's error."""
    controller = sim.TrackingController(stewart, waves(stewart, 0.04, 1.0), 0.0, 0.0)
    reference = waves(stewart, 0.04, 1.0)
    motion = stewart.simulate(0.3, controller=controller, step=2e-3)
    assert motion.end.kind == "completed"
    wanted = np.array([reference.at(t).l for t in motion.t])
    assert np.abs(wanted - wanted[0]).max() > 0.02
    assert np.abs(motion.l - wanted).max() < 1e-9
    assert motion.saturated == {}


def test_feedforward_ablation(stewart: rc.Robot) -> None:
    """Sampled PD at 1 kHz: errors fall from no feedforward over gravity's to that of the whole dynamics."""
    worst = []
    for feedforward in (sim.NoFeedforward(), sim.GravityFeedforward(), sim.InverseDynamics()):
        controller = sim.TrackingController(
            stewart, waves(stewart, 0.04, 1.0), 2e4, 400.0, feedforward=feedforward, sample_time=1e-3
        )
        motion = stewart.simulate(0.25, controller=controller, step=1e-3)
        reference = waves(stewart, 0.04, 1.0)
        worst.append(np.abs(motion.l - [reference.at(t).l for t in motion.t]).max())
    assert worst[0] > 1.5 * worst[1]
    assert worst[1] > 10 * worst[2]
    assert worst[2] < 2e-5


def test_a_reference_is_a_motion_of_the_mechanism(stewart: rc.Robot) -> None:
    reference = waves(stewart, 0.04, 1.0)
    for t in (0.1, 0.37, 0.02):  # any order
        wanted = reference.at(t)
        assert np.abs(stewart.residual(wanted.q)).max() < 1e-12
        ahead, behind = (reference.at(t + s * 1e-5).l for s in (1, -1))
        assert wanted.ldot == pytest.approx((ahead - behind) / 2e-5, abs=1e-8)


def test_references_through_points(stewart: rc.Robot, robot: rc.Robot) -> None:
    times = [0.0, 0.5, 1.0]
    lengths = stewart.port_displacement(stewart.reference) + np.array([[0.0], [0.02], [-0.01]])
    by_ports = sim.through_ports(stewart, times, lengths)
    by_legs = sim.through_independents(stewart, times, lengths)
    for t in (0.0, 0.3, 0.5, 0.9):
        assert by_ports.at(t).l == pytest.approx(by_legs.at(t).l, abs=1e-10)
    assert by_ports.at(0.5).l == pytest.approx(lengths[1], abs=1e-10)
    with pytest.raises(AssemblyError, match=r"cannot be assembled|cannot be reached|limits"):
        sim.through_ports(stewart, times, lengths + np.array([[0.0], [3.0], [0.0]])).at(0.5)
    with pytest.raises(ValueError, match=r"top_free:wx, .* have no coordinate of their own"):
        sim.through_independents(robot, times, np.zeros((3, 9)))


def test_gains_are_checked(stewart: rc.Robot) -> None:
    for kp in (-1.0, [1.0, 2.0], math.inf):
        with pytest.raises(ValueError, match="kp must be one number that is not negative, or one per port"):
            sim.TrackingController(stewart, waves(stewart, 0.01, 1.0), kp, 1.0)


# --- loads ---


def test_a_wrench_is_in_world_axes_at_its_frame(robot: rc.Robot) -> None:
    """A force that turns in the world moves the top's centre as a point mass; a moment about z adds L_z = 0.3 t."""

    def wrench(t: float) -> Array:
        return np.array([0, 0, 0.3, math.cos(3 * t), math.sin(3 * t), 9.81])

    motion = robot.simulate(1.0, u=speeds(robot, top=[0.4, -0.2, 0.6]), wrenches={"top": wrench}, step=5e-3)
    q = dict(zip(robot.coordinates, motion.q[-1], strict=True))
    assert q["top_free:x"] == pytest.approx((1 - math.cos(3.0)) / 9, abs=1e-8)
    assert q["top_free:y"] == pytest.approx((3.0 - math.sin(3.0)) / 9, abs=1e-8)
    assert q["top_free:z"] == pytest.approx(0.0, abs=1e-8)
    R, _ = robot.pose("top", motion.q[-1])
    omega = [motion.u[-1, robot.independent.index(f"top_free:w{axis}")] for axis in "xyz"]
    momentum = R @ (np.array(INERTIA) * omega)
    assert momentum == pytest.approx(np.array(INERTIA) * [0.4, -0.2, 0.6] + [0, 0, 0.3], abs=1e-7)


def test_smooth_friction_stops_a_block(robot: rc.Robot) -> None:
    """m vdot = -level tanh(v / slip): sinh(v / slip) decays exponentially."""
    q_at, u_at = block(robot)
    slip = 0.05
    motion = robot.simulate(0.6, u=speeds(robot, block=0.8), friction=sim.SmoothFriction(slip), step=2e-3)
    wanted = slip * np.arcsinh(np.sinh(0.8 / slip) * np.exp(-LEVEL / MASS / slip * motion.t))
    assert motion.u[:, u_at] == pytest.approx(wanted, abs=1e-6)
    default = robot.simulate(0.6, u=speeds(robot, block=0.8), step=1e-3)
    assert abs(default.u[-1, u_at]) < 1e-6
    assert default.q[-1, q_at] == pytest.approx(0.8**2 * MASS / (2 * LEVEL), abs=2e-3)
    free = robot.simulate(0.6, u=speeds(robot, block=0.8), friction=FREE)
    assert free.u[-1, u_at] == 0.8
    with pytest.raises(ValueError, match="slip must be a positive number"):
        sim.SmoothFriction(0.0)


def test_strong_friction_is_for_the_linearly_implicit_method(robot: rc.Robot) -> None:
    """Pushed with a third of its level, a block creeps at slip artanh(1/3); the rate of decay is 50 over the step."""
    _, u_at = block(robot)
    slip, step = 1e-4, 5e-3
    settings = {"controller": lambda t, q, u: [LEVEL / 3], "friction": sim.SmoothFriction(slip), "step": step}
    assert LEVEL / MASS / slip * step > 50
    creeping = slip * math.atanh(1 / 3)
    implicit = robot.simulate(0.5, method="ros2", **settings)
    assert implicit.u[-20:, u_at] == pytest.approx(np.full(20, creeping), rel=1e-6)
    explicit = robot.simulate(0.5, method="rk4", **settings)
    assert np.abs(explicit.u[-20:, u_at] - creeping).max() > 5 * creeping


def test_levels_of_friction_are_those_of_the_records(compiled: Callable[[str], rc.Robot]) -> None:
    """Far above the slip speed, the smooth friction is `robot.friction`: checked in a loop, with the slide's 3 N."""
    robot = compiled("slider_crank")
    u = np.array([4.0])
    motion, plain = (
        robot.simulate(1e-3, u=u, step=1e-3, friction=friction) for friction in (sim.SmoothFriction(1e-6), FREE)
    )
    M = robot.mass_matrix(robot.reference)
    assert M @ (motion.udot[0] - plain.udot[0]) == pytest.approx(robot.friction(robot.reference, u), rel=1e-9)
    assert abs(robot.friction(robot.reference, u)[0]) > 0.05


# --- drives ---


@pytest.fixture(scope="module")
def driven(build_folder: Path) -> rc.Robot:
    return built(build_folder, bench())


def test_drive_states_move_with_the_robot(driven: rc.Robot) -> None:
    """The DC motor on the wheel is a linear system of its own: speed and current by the matrix exponential."""
    voltage = 6.0
    c = np.zeros(len(driven.commands))
    c[driven.commands.index("motor:voltage")] = voltage
    motion = driven.simulate(0.4, controller=lambda t, q, u: sim.Commands(c), method="dopri5", step=0.01, rtol=1e-9)
    assert motion.end.kind == "completed"
    A = np.array([
        [-WHEEL["damping"] / WHEEL["J"], MOTOR["kt"] / WHEEL["J"], 0],
        [-MOTOR["kt"] / MOTOR["L"], -MOTOR["R"] / MOTOR["L"], voltage / MOTOR["L"]],
        [0, 0, 0],
    ])  # fmt: skip
    wheel, current = driven.independent.index("wheel"), driven.drive_states.index("motor:current")
    wanted = expm(0.4 * A) @ [0.0, 0.5, 1.0]
    assert motion.u[-1, wheel] == pytest.approx(wanted[0], abs=1e-6)
    assert motion.z[-1, current] == pytest.approx(wanted[1], abs=1e-6)
    port = [p.name for p in driven.ports].index("wheel")
    assert motion.f[-1, port] == pytest.approx(MOTOR["kt"] * motion.z[-1, current], abs=1e-12)


def test_robots_with_drives_want_commands(driven: rc.Robot) -> None:
    with pytest.raises(ValueError, match=r"must return Commands\(c, f\), or Direct\(f\)"):
        driven.simulate(0.1, controller=lambda t, q, u: np.zeros(6))
    f = np.zeros(6)
    f[[p.name for p in driven.ports].index("wheel")] = 0.2
    wheel = driven.independent.index("wheel")
    motion = driven.simulate(0.1, controller=lambda t, q, u: sim.Direct(f), step=5e-3)
    decay = solve_ivp(lambda t, w: (0.2 - WHEEL["damping"] * w) / WHEEL["J"], (0, 0.1), [0.0], rtol=1e-10).y[0, -1]
    assert motion.u[-1, wheel] == pytest.approx(decay, abs=1e-8)
    assert np.array_equal(motion.z[-1], driven.initial_drive_states)


def test_ports_that_cannot_hold_the_robot_are_told(robot: rc.Robot, stewart: rc.Robot) -> None:
    wanted = waves(stewart, 0.01, 1.0).at(0.0)
    assert len(sim.GravityFeedforward().efforts(stewart, wanted)) == 6
    still = sim.Wanted(robot.reference, np.zeros(9), np.zeros(9), np.zeros(1), np.zeros(1))
    with pytest.raises(RankError, match="the ports cannot produce"):
        sim.InverseDynamics().efforts(robot, still)
