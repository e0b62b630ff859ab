"""Integration methods: their orders against closed forms; closed loops against a quadrature of the oracle's energy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mechanics_support import oracle_state, shipped
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline as Interpolant
from simulation_yard import G, pendulum_angle, speeds, tumbling, yard

import robocompiler as rc
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.runtime.simulation.groups import Tangent
from robocompiler.runtime.simulation.methods import METHODS, Method
from robocompiler.runtime.simulation.steps import take

Array = NDArray[np.float64]
SPIN = np.array([0.3, 2.0, 0.2])  # near the unstable middle axis: the top tumbles
DURATION = 0.8


@pytest.fixture(scope="module")
def robot(build_folder: Path) -> rc.Robot:
    return yard(build_folder)


def errors(robot: rc.Robot, method: str, **settings: float) -> Array:
    """Errors of pendulum, top (rotation) and weight after DURATION, in rad, rad and m."""
    motion = robot.simulate(
        DURATION, robot.configuration({"pendulum": 1.2}), speeds(robot, top=SPIN.tolist()), method=method, events=(),
        every=10**6, **settings,
    )  # fmt: skip
    q = dict(zip(robot.coordinates, motion.q[-1], strict=True))
    quaternion, _ = tumbling(SPIN, DURATION)
    found = np.array([q[f"top_free:q{axis}"] for axis in "wxyz"])
    turned = 2 * np.linalg.norm(found - quaternion * np.sign(found @ quaternion))
    fallen = q["weight"] + G * DURATION**2 / 2
    return np.array([abs(q["pendulum"] - pendulum_angle(DURATION, 1.2)), turned, abs(fallen)])


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("ros2", 2), ("rk4", 4)])
def test_fixed_steps_have_their_order(robot: rc.Robot, method: str, order: int) -> None:
    coarse, fine = (errors(robot, method, step=step)[:2] for step in (0.02, 0.01))
    assert coarse.max() < {1: 0.05, 2: 2e-3, 4: 1e-5}[order]
    assert np.all(np.abs(np.log2(coarse / fine) - order) < 0.25)


@pytest.mark.parametrize(("method", "order"), [("bs32", 3), ("dopri5", 5)])
def test_embedded_pairs_have_their_order(robot: rc.Robot, method: str, order: int) -> None:
    """At fixed steps, without their control: on the rotation of the top and on the pendulum."""
    coarse, fine = (errors_at_fixed_steps(robot, method, steps)[:2] for steps in (20, 40))
    assert np.all(np.log2(coarse / fine) > order - 0.35)
    assert coarse.max() < 1e-3


def errors_at_fixed_steps(robot: rc.Robot, method: str, steps: int) -> Array:
    """The same as `errors`, by equal steps of a method whose error is not looked at."""
    embedded = METHODS[method]
    assert isinstance(embedded, Method)
    METHODS["plain"] = Method("plain", embedded.order, embedded.a, embedded.b, embedded.c)
    try:
        return errors(robot, "plain", step=DURATION / steps)
    finally:
        del METHODS["plain"]


@pytest.mark.parametrize("method", ["bs32", "dopri5"])
def test_error_control_follows_its_tolerance(robot: rc.Robot, method: str) -> None:
    loose, tight = (errors(robot, method, step=1.0, rtol=rtol).max() for rtol in (1e-5, 1e-8))
    assert loose < 2e-4
    assert tight < 4e-7
    assert tight < loose / 30


def test_the_tableaus_are_consistent() -> None:
    """Weights sum to one, and the order conditions up to three hold, of the embedded weights too (one order less)."""
    for method in METHODS.values():
        if not isinstance(method, Method):
            continue
        weights = [(method.b, method.order)]
        if method.error is not None:
            weights.append((method.b - method.error, method.order - 1))
        for b, order in weights:
            conditions = [
                (b.sum(), 1),
                (b @ method.c, 1 / 2),
                (b @ method.c**2, 1 / 3),
                (b @ method.a @ method.c, 1 / 6),
            ]
            for found, wanted in conditions[: min(order, 2) + 2 * (order > 2)]:
                assert found == pytest.approx(wanted, abs=1e-14)


def test_tangent_rates_are_the_derivative_of_the_group(robot: rc.Robot) -> None:
    """q (+) theta(t) with thetadot = dexp^-1(theta) v moves at the body velocity v: by differences."""
    random = np.random.default_rng(3)
    tangent = Tangent(robot._description.joints)
    theta, v = 0.1 * random.standard_normal((2, len(robot.velocities)))
    q = robot.reference
    moved = robot.integrate(q, theta)
    h = 1e-6
    rate = tangent.rate(theta, v)
    ahead, behind = (robot.integrate(q, theta + s * h * rate) for s in (1, -1))
    wanted = robot.coordinate_rates(moved, v)
    assert np.abs((ahead - behind) / (2 * h) - wanted).max() < 2e-8  # the series is cut at ad^4: 0.1^6 / 30240


@pytest.fixture(scope="module")
def fourbar(compiled: Callable[[str], rc.Robot]) -> rc.Robot:
    return compiled("fourbar")


def test_four_bar_keeps_energy_and_closure_with_order_four(fourbar: rc.Robot) -> None:
    drifts = []
    for step in (4e-3, 2e-3):
        motion = fourbar.simulate(1.0, u=[9.0], step=step)
        energy = motion.energy.sum(axis=1)
        drifts.append(np.abs(energy - energy[0]).max())
        assert motion.residual.max() < 1e-12
    assert drifts[0] < 1e-5 * abs(motion.energy[0]).max()
    assert np.log2(drifts[0] / drifts[1]) > 3.5


def test_four_bar_arrives_when_the_oracles_energy_says(fourbar: rc.Robot) -> None:
    """t = integral of sqrt(m / (2 (E - V))) over the crank's angle, with m and V from maximal coordinates."""
    records = shipped("fourbar")
    model = MaximalModel(records)
    motion = fourbar.simulate(0.5, u=[9.0], step=1e-3, friction=rc.simulation.NoFriction())
    crank = fourbar.coordinates.index("j_ga")
    first, last = motion.q[0, crank], motion.q[-1, crank]
    assert last - first > 1.5  # radians: the integrand varies a lot on the way

    def mass_and_potential(angle: float) -> tuple[float, float]:
        q = fourbar.assemble(fourbar.configuration({"j_ga": angle}))
        kinetic, potential = model.energies(oracle_state(model, fourbar, q, [1.0]))
        return 2 * float(kinetic), float(potential)

    m, V = mass_and_potential(first)
    E = m * 9.0**2 / 2 + V
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = (last - first) / 2
    total = 0.0
    for x, weight in zip(nodes, weights, strict=True):
        m, V = mass_and_potential(first + half * (1 + x))
        total += weight * half * np.sqrt(m / (2 * (E - V)))
    assert total == pytest.approx(0.5, abs=1e-8)


def test_stewart_in_free_motion(compiled: Callable[[str], rc.Robot]) -> None:
    """Energy, closure, and udot as the derivative of u and u as that of the leg lengths, along one motion."""
    robot = compiled("stewart")
    motion = robot.simulate(0.15, u=[0.3, -0.2, 0.1, 0.2, -0.3, 0.25], step=1e-3)
    assert motion.end.kind == "completed"
    assert motion.t[-1] == 0.15
    energy = motion.energy.sum(axis=1)
    assert np.abs(energy - energy[0]).max() < 1e-9 * np.abs(motion.energy).max()
    assert motion.residual.max() < 1e-12
    places = [robot.coordinates.index(name) for name in robot.independent]
    assert np.abs(Interpolant(motion.t, motion.q[:, places])(motion.t, 1) - motion.u)[5:-5].max() < 1e-8
    assert np.abs(Interpolant(motion.t, motion.u)(motion.t, 1) - motion.udot)[5:-5].max() < 1e-5
    assert np.abs(motion.l - motion.q[:, places]).max() == 0.0


def test_adaptive_and_fixed_steps_meet_on_stewart(compiled: Callable[[str], rc.Robot]) -> None:
    robot = compiled("stewart")
    u = [0.3, -0.2, 0.1, 0.2, -0.3, 0.25]
    fixed = robot.simulate(0.15, u=u, step=1e-3, every=1000)
    free = robot.simulate(0.15, u=u, method="dopri5", step=0.1, rtol=1e-9, every=1000)
    assert free.statistics.steps < 60
    assert np.abs(fixed.q[-1] - free.q[-1]).max() < 1e-8
    assert np.abs(fixed.u[-1] - free.u[-1]).max() < 1e-7


def test_a_step_that_is_too_long_for_the_loops_is_told(fourbar: rc.Robot) -> None:
    motion = fourbar.simulate(1.0, u=[-60.0], step=0.1)
    assert motion.end.kind == "closure"
    assert "the loops cannot be closed" in motion.end.message
    assert motion.t[-1] == motion.end.t < 1.0


def test_wrong_arguments_are_refused(fourbar: rc.Robot) -> None:
    for wrong, words in (
        ({"method": "rk5"}, "no integration method is called 'rk5'"),
        ({"step": 0.0}, "step must be a positive number"),
        ({"rtol": -1.0}, "rtol must be a positive number"),
        ({"every": 0}, "every must be a whole number from 1"),
        ({"u": [1.0, 2.0]}, "u must have shape"),
        ({"wrenches": {"nowhere": np.zeros(6)}}, "no frame is called 'nowhere'"),
        ({"wrenches": {"crank": np.zeros(3)}}, "six finite numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            fourbar.simulate(1.0, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the duration must be a positive number"):
        fourbar.simulate(0.0)
    with pytest.raises(ValueError, match="simulation is in the port chart"):
        fourbar.chart("inner").simulate(1.0)


def test_take_is_what_events_repeat(fourbar: rc.Robot) -> None:
    """Half a step and another half are the state of two half steps: what the search of events relies on."""
    from robocompiler.runtime.simulation.controllers import Actuation
    from robocompiler.runtime.simulation.loads import NoFriction
    from robocompiler.runtime.simulation.plant import Plant
    from robocompiler.runtime.simulation.state import State

    plant = Plant(fourbar, NoFriction(), {})
    source = Actuation(fourbar, None)
    state = State(0.0, fourbar.reference, np.array([3.0]), np.zeros(0))
    for _ in range(2):
        state = take(plant, METHODS["rk4"], state, plant.rate(state, source), 5e-4, source, 1e-6).state
    motion = fourbar.simulate(1e-3, u=[3.0], step=5e-4, friction=NoFriction())
    assert np.array_equal(motion.q[-1], state.q)
    assert np.array_equal(motion.u[-1], state.u)
