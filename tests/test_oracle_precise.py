"""The oracle in 50 digits: against double, between number packages, between charts, and its own differences."""

from __future__ import annotations

from pathlib import Path

import mpmath
import numpy as np
import pytest
from case_models import case_mechanism, load_case
from random_mechanisms import chord_case, random_mechanism

from robocompiler.oracle.arithmetic import precise_arithmetic
from robocompiler.oracle.jets import differentiate
from robocompiler.oracle.maximal import Efforts, MaximalModel, Pose
from robocompiler.oracle.maximal_mp import PreciseModel
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"


def at_reference(model: MaximalModel, hold: tuple[str, ...] | None = None) -> Pose:
    return model.project(model.pose(), hold)


def both(records: Mechanism, support: str = "") -> tuple[np.ndarray, np.ndarray, float]:
    """udot in double and in 50 digits at one random state, and the residual of the latter."""
    double = MaximalModel(records, support=support)
    pose = at_reference(double)
    names = double.state(pose).independent
    u = dict(zip(names, np.random.default_rng(3).uniform(-0.5, 0.5, len(names)).tolist(), strict=True))
    found = double.accelerations(double.state(pose, u)).udot
    precise = PreciseModel(records, support=support)
    anchors = {name: tuple(pose.anchors[name]) for name in pose.anchors}
    seed = precise.pose({name: float(x) for name, x in pose.values.items()}, anchors)
    state = precise.state(precise.project(seed, names), u)
    reference = precise.accelerations(state)
    return np.array(found), reference.udot.astype(float), reference.residual


@pytest.mark.parametrize(
    ("name", "support", "tolerance"),
    # the excavator's records disagree among themselves by 2e-13, which its conditioning makes 1e-10 of acceleration
    [
        ("fourbar", "", 1e-12),
        ("stewart", "", 1e-12),
        ("delta", "", 1e-11),
        ("excavator", "", 1e-9),
        ("go2", "FL_FR", 1e-12),
    ],
)
def test_double_agrees_with_fifty_digits(name: str, support: str, tolerance: float) -> None:
    found, reference, residual = both(read_mechanism(MODELS / f"{name}.yaml"), support)
    assert np.linalg.norm(found - reference) <= tolerance * max(1.0, np.linalg.norm(reference))
    assert residual < 1e-12


def test_kangaroo_on_one_sole() -> None:
    found, reference, residual = both(read_mechanism(MODELS / "kangaroo.yaml"), "left")
    assert found.shape == (12,)
    assert np.linalg.norm(found - reference) <= 1e-11 * max(1.0, np.linalg.norm(reference))
    assert residual < 1e-12


def test_packages_give_the_same_digits() -> None:
    pytest.importorskip("gmpy2", reason="mpmath alone is enough for the oracle; the comparison needs both")
    records = case_mechanism(load_case("c01"))
    found = []
    for package in ("gmpy2", "mpmath"):
        model = PreciseModel(records, package=package)
        assert model.arithmetic.name == package
        state = model.state(at_reference(model, ("j_ga",)), {"j_ga": 2.0})
        found.append([*model.accelerations(state).udot, *model.energies(state)])
    with mpmath.workdps(60):
        for one, other in zip(*found, strict=True):
            # the redundant rows of this loop disagree by rounding, and are weighed in double
            assert abs(mpmath.mpf(f"{one:.55g}") - other) < mpmath.mpf(10) ** -28 * abs(other)


@pytest.mark.parametrize("seed", range(4))
def test_charts_agree_far_beyond_double(seed: int) -> None:
    records = random_mechanism(seed).mechanism
    model = PreciseModel(records)
    pose = at_reference(model)
    first = model.state(pose)
    u = dict(zip(first.independent, np.random.default_rng(seed).uniform(-1, 1, len(first.independent)), strict=True))
    first = model.state(pose, {name: float(x) for name, x in u.items()})
    one = model.accelerations(first, Efforts(joints={first.independent[0]: 2.0}))
    # another set of independent speeds: those that a pivoted choice takes when the first ones come last
    order = [name for name in first.rates if name not in first.independent] + list(first.independent)
    chosen: list[str] = []
    N = first.space.null
    for name in order:
        trial = np.array(
            [[float(first.rates[n].entries.get(k, 0)) for k in range(model.columns)] for n in [*chosen, name]]
        )
        if np.linalg.svd(trial @ N, compute_uv=False)[-1] > 1e-2 and len(chosen) < N.shape[1]:
            chosen.append(name)
    if len(chosen) < N.shape[1]:
        chosen = list(reversed(first.independent))
    speeds = model.velocities(first)
    second = model.state(pose, {name: speeds[name] for name in chosen})
    two = model.accelerations(second, Efforts(joints={first.independent[0]: 2.0}))
    scale = max(1.0, *(abs(float(x)) for x in one.joints.values()))
    assert max(abs(float(one.joints[name] - two.joints[name])) for name in one.joints) < 1e-24 * scale


@pytest.mark.parametrize("seed", range(6))
def test_accelerations_are_the_rates_of_velocities(seed: int) -> None:
    """In many digits a step of 1e-12 s shows the curvature of every row to 1e-20."""
    curvature, power = rate_errors(random_mechanism(seed, bodies=5).mechanism)
    assert curvature < 1e-15
    assert power < 1e-15


@pytest.mark.parametrize("kind", list(JointType))
def test_curvature_of_every_chord(kind: JointType) -> None:
    curvature, power = rate_errors(chord_case(kind, swapped=False, kept=True).mechanism)
    assert curvature < 1e-15
    assert power < 1e-15


def rate_errors(records: Mechanism) -> tuple[float, float]:
    """Relative errors of joint accelerations and of the power balance against central differences along the motion."""
    model = PreciseModel(records)
    pose = at_reference(model)
    names = model.state(pose).independent
    u = dict(zip(names, np.random.default_rng(5).uniform(-1, 1, len(names)).tolist(), strict=True))
    state = model.state(pose, u)
    found = model.accelerations(state)
    udot = dict(zip(names, found.udot, strict=True))
    ends, energies = [], []
    for sign in (-1, 1):
        with model.arithmetic.context():
            t = sign * model.arithmetic.number(2.0) ** -40
            step = [v * t + a * t * t / 2 for v, a in zip(state.V, found.vector, strict=True)]
            later = {name: state.u[k] + udot[name] * t for k, name in enumerate(names)}
        # the bodies' Taylor step is good to t^3; the projection only removes what is off the constraints
        near = model.state(model.project(model.moved(state.pose, step)), later)
        ends.append(model.velocities(near))
        with model.arithmetic.context():
            energies.append(sum(model.energies(near)))
    with model.arithmetic.context():
        width = 2 * model.arithmetic.number(2.0) ** -40
        rates = {name: (ends[1][name] - ends[0][name]) / width for name in ends[0]}
        power = (energies[1] - energies[0]) / width
        lost = -sum(
            float(damping) * model.velocities(state)[name] ** 2
            for joint in model.scene.joints
            for name, damping in zip(joint.velocities, joint.damping, strict=False)
        )
        scale = max(1.0, *(abs(float(x)) for x in found.joints.values()))
        worst = max(abs(float(rates[name] - found.joints[name])) for name in rates)
        return worst / scale, abs(float(power - lost)) / (scale * max(1.0, abs(float(energies[0]))))


FUNCTIONS = [
    "sin(x)*cos(y)", "tan(x)/y", "asin(x/3) + acos(y/4)", "atan(x*y)", "atan2(y, x)", "sqrt(x + y)",
    "exp(-x*y)", "log(x + y)", "sign(x)*y",
    "tanh(x) + sinh(y) - cosh(x*y)", "abs(-x)*y", "min(x, y)**2", "max(x, y)**3", "hypot(x, y)", "x**y",
    "(x - y)**2",
]  # fmt: skip


@pytest.mark.parametrize("text", FUNCTIONS)
def test_derivatives_of_expressions(text: str) -> None:
    expression = parse_expression(text)
    arithmetic = precise_arithmetic("mpmath")
    with arithmetic.context():
        x, y, dx, dy = (mpmath.mpf(v) for v in ("0.7", "1.3", "0.4", "-0.9"))

        def value(t: object) -> object:
            at = {"x": x + dx * t, "y": y + dy * t}
            return differentiate(expression, at, {}, {}, arithmetic).value

        found = differentiate(expression, {"x": x, "y": y}, {"x": dx, "y": dy}, {}, arithmetic)
        h = mpmath.mpf(10) ** -12
        first = (value(h) - value(-h)) / (2 * h)
        second = (value(h) - 2 * value(0) + value(-h)) / h**2
        slope = found.gradient["x"] * dx + found.gradient["y"] * dy
        assert abs(first - slope) < 1e-20
        assert abs(second - found.bend) < 1e-20
