"""Derivatives of forward and inverse dynamics: against differences along the mechanism, 50 digits and Pinocchio."""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from casadi_derivatives import CasadiDerivatives, closed, quadratic_slope
from casadi_mechanics import Array, CasadiMechanics
from fronts import shipped_front
from mechanics_support import shipped
from random_mechanisms import chord_case, random_mechanism, tree_case
from test_dynamics_random import damped
from test_parameters_dynamics import LOADED, VALUES, _four_bar, opened

from robocompiler.oracle.maximal import Efforts
from robocompiler.oracle.maximal_mp import PreciseModel
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism


def of(mechanism: Mechanism) -> CasadiDerivatives:
    return CasadiDerivatives(CasadiMechanics.of(mechanism))


@cache
def model(name: str) -> CasadiDerivatives:
    return CasadiDerivatives(CasadiMechanics(shipped_front(name)))


def state(own: CasadiDerivatives, seed: int, size: float) -> tuple[Array, ...]:
    """q closed exactly as differences close it, u, udot, f and tau."""
    random = np.random.default_rng(seed)
    q = closed(own.robot, own.robot.assembled_near(random, size), own.independent)
    return (
        q,
        *(random.uniform(-1, 1, n) for n in (own.d, own.d)),
        20 * random.normal(size=own.nf),
        random.normal(size=own.d),
    )


def error(found: Array, wanted: Array) -> float:
    """Largest difference relative to the largest entry (at least 1)."""
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, float(np.abs(wanted).max(initial=0.0))))


def compare_inverse(own: CasadiDerivatives, q: Array, u: Array, udot: Array, tolerance: float) -> float:
    """Size of d tau/ds, after the comparison with differences."""
    by_s, by_u = own.inverse(q, u, udot)
    assert error(by_u, quadratic_slope(lambda x: own.mechanics.inverse(q, x, udot), u)) < 1e-11
    wanted = own.along(lambda x: own.mechanics.inverse(x, u, udot), q)
    assert error(by_s, wanted) < tolerance
    return float(np.abs(wanted).max(initial=0.0))


def compare_forward(own: CasadiDerivatives, q: Array, u: Array, f: Array, tau: Array, tolerance: float) -> None:
    mechanics = own.mechanics
    by_s, by_u, by_f = own.forward(q, u, f, tau)
    assert error(by_u, quadratic_slope(lambda x: mechanics.forward(q, x, f, tau), u)) < tolerance
    assert error(by_s, own.along(lambda x: mechanics.forward(x, u, f, tau), q)) < tolerance
    if own.nf:
        still = mechanics.forward(q, u, 0 * f, tau)
        assert error(by_f, np.array([mechanics.forward(q, u, e, tau) - still for e in np.eye(own.nf)]).T) < tolerance


@pytest.mark.parametrize(
    ("name", "size", "tolerance"),
    # the excavator's redundant rows disagree by 2e-13, which its conditioning and a step of 5e-4 make 1e-9
    [
        ("fourbar", 0.3, 1e-9),
        ("rssr", 0.1, 1e-9),
        ("crane", 0.1, 1e-9),
        ("stewart", 0.03, 1e-9),
        ("excavator", 0.03, 2e-8),
        ("parallel_ankle", 0.1, 1e-9),
        ("panda", 0.1, 1e-9),
        ("five_bar", 0.1, 1e-9),
        ("slider_crank", 0.1, 1e-9),
        ("stewart_free", 0.03, 1e-9),
    ],
)
def test_shipped_models_against_differences_along_the_mechanism(name: str, size: float, tolerance: float) -> None:
    own = model(name)
    q, u, udot, f, tau = state(own, 1, size)
    assert compare_inverse(own, q, u, udot, tolerance) > 0.01
    compare_forward(own, q, u, f, tau, tolerance)


def test_spinning_rods_turn_the_rows_that_do_not_feel_them() -> None:
    """The delta's rods spin about their own length: no row has that speed, and still the other columns turn with it."""
    own = model("delta")
    q, u, udot, f, tau = state(own, 1, 0.1)
    assert compare_inverse(own, q, u, udot, 1e-9) > 0.1
    acceleration = own.mechanics.forward(q, u, 0 * f, tau)  # differences of it drown: 2e-6 kg m^2 under a torque of 1
    for found, pushed in zip(own.forward(q, u, 0 * f, tau), own.inverse(q, u, acceleration), strict=False):
        assert error(own.mechanics.mass(q) @ found, -pushed) < 1e-10


@pytest.mark.parametrize("kind", [JointType.SPHERICAL, JointType.UNIVERSAL, JointType.PLANAR, JointType.SCREW])
@pytest.mark.parametrize("kept", [False, True])
def test_chords_between_flying_bodies(kind: JointType, kept: bool) -> None:
    sample = chord_case(kind, swapped=kept, kept=kept)
    own = of(damped(sample.mechanism, np.random.default_rng(7)))
    q, u, udot, f, tau = state(own, 2, 0.1)
    assert compare_inverse(own, q, u, udot, 1e-9) > 0.1
    compare_forward(own, q, u, f, tau, 1e-8)


@pytest.mark.parametrize("kind", [JointType.SPHERICAL, JointType.UNIVERSAL, JointType.REVOLUTE])
@pytest.mark.parametrize("turned", [False, True])
def test_joints_walked_both_ways(kind: JointType, turned: bool) -> None:
    own = of(damped(tree_case(kind, reversed_=turned).mechanism, np.random.default_rng(8)))
    q, u, udot, f, tau = state(own, 3, 0.1)
    assert compare_inverse(own, q, u, udot, 1e-9) > 0.1
    compare_forward(own, q, u, f, tau, 1e-8)


@pytest.mark.parametrize("seed", range(2, 8))
def test_random_mechanisms(seed: int) -> None:
    own = of(damped(random_mechanism(seed).mechanism, np.random.default_rng(seed)))
    q, u, udot, f, tau = state(own, seed, 0.05)
    assert compare_inverse(own, q, u, udot, 1e-9) > 1e-3
    compare_forward(own, q, u, f, tau, 1e-8)


def test_parameters_keep_their_place() -> None:
    own = of(opened("fourbar", _four_bar, LOADED, "loaded_derivatives"))
    assert own.program.slopes.inputs[-1].name == "p"
    slopes = []
    for values in (VALUES[0], VALUES[-1]):
        own.robot.p = np.array(list({**LOADED, **values}.values()))
        q, u, udot, f, tau = state(own, 4, 0.0)
        compare_inverse(own, q, u, udot, 1e-9)
        compare_forward(own, q, u, f, tau, 1e-9)
        slopes.append(own.inverse(q, u, udot)[0])
    assert error(*slopes) > 0.1


@pytest.mark.parametrize(("name", "tolerance"), [("fourbar", 1e-12), ("stewart", 1e-11)])
def test_fifty_digits(name: str, tolerance: float) -> None:
    """Central differences of the maximal-coordinate oracle in 50 digits: their own error is 1e-18."""
    own, oracle, step = model(name), PreciseModel(shipped(name)), 2.0**-30
    mechanics = own.mechanics
    q, u, _, f, _ = state(own, 5, 0.02)
    names, robot = mechanics.independent, own.robot
    efforts = Efforts(ports=dict(zip(mechanics.ports, f.tolist(), strict=True)))
    speeds = dict(zip(names, u.tolist(), strict=True))

    def acceleration(shift: dict[str, float], more: dict[str, float]) -> Array:
        values = robot.named(q)
        values |= {key: values[key] + h for key, h in shift.items()}
        pose = oracle.project(oracle.pose(values), names)
        now = oracle.state(pose, {key: speeds[key] + more.get(key, 0.0) for key in names}, names)
        return np.array(oracle.accelerations(now, efforts).udot)

    by_s, by_u, _ = own.forward(q, u, f)
    for k, key in enumerate(names):
        value = robot.named(q)[key]
        ahead, behind = (value + step) - value, value - (value - step)  # what the sums of doubles really move by
        difference = acceleration({key: ahead}, {}) - acceleration({key: -behind}, {})
        assert error(by_s[:, k], (difference / (ahead + behind)).astype(float)) < tolerance
        difference = acceleration({}, {key: 0.5}) - acceleration({}, {key: -0.5})
        assert error(by_u[:, k], difference.astype(float)) < tolerance


@pytest.mark.parametrize("name", ["go2", "panda"])
def test_open_trees_against_pinocchio(name: str) -> None:
    """Its derivatives of RNEA and ABA, carried to our order of speeds (a free root: angular first)."""
    pin = pytest.importorskip("pinocchio", reason="a package of the verify extra, not needed to compile")
    adapter = importlib.import_module("robocompiler.oracle.pinocchio_adapter")
    records = replace(shipped(name), couplings=())
    records = replace(
        records,
        joints=tuple(replace(joint, damping=(), friction=()) for joint in records.joints),
    )
    own, engine = of(records), adapter.PinocchioModel(records)
    random = np.random.default_rng(6)
    robot, names = own.robot, own.mechanics.independent
    q = robot.integrate(robot.reference, random.uniform(-0.3, 0.3, robot.topology.nv))
    u, udot = random.uniform(-1, 1, own.d), random.uniform(-3, 3, own.d)
    values = robot.named(q)
    theirs = engine.configuration(values)

    def carried(x: Array) -> Array:
        return np.asarray(engine.velocity(values, dict(zip(names, x.tolist(), strict=True))))

    T = np.array([carried(e) for e in np.eye(own.d)]).T
    assert np.allclose(np.sort(np.abs(T), axis=1)[:, -1], 1)
    wanted = pin.computeRNEADerivatives(engine.model, engine.data, theirs, T @ u, T @ udot)
    for found, reference in zip(own.inverse(q, u, udot), wanted[:2], strict=True):
        assert np.abs(reference).max() > 0.1
        assert error(found, T.T @ reference @ T) < 1e-12
    tau = own.mechanics.inverse(q, u, udot)
    wanted = pin.computeABADerivatives(engine.model, engine.data, theirs, T @ u, T @ tau)
    by_s, by_u, _ = own.forward(q, u, np.zeros(own.nf), tau)
    assert error(by_s, T.T @ np.array(wanted[0]) @ T) < 1e-11
    assert error(by_u, T.T @ np.array(wanted[1]) @ T) < 1e-11


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("fourbar", 2.8), ("slider_crank", 3.0), ("five_bar", 3.2), ("excavator", 4.0), ("crane", 4.1),
        ("parallel_ankle", 4.6), ("stewart", 4.9), ("rssr", 5.0), ("stewart_free", 5.1), ("delta", 6.0), ("panda", 6.5),
        ("go2", 7.7),
    ],
)  # fmt: skip
def test_they_cost_a_few_evaluations_of_the_dynamics(name: str, most: float) -> None:
    """Operations of forward dynamics with all its derivatives, per forward dynamics alone."""
    plain, complete = model(name).operations()
    assert plain < complete < most * plain
