"""Changes of support: impulses by closed forms, momentum balance and an oracle; releases; schedules."""

from __future__ import annotations

import math
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_models import mechanism
from momentum import given, momenta, total
from numpy.typing import NDArray
from test_documents import BLOCK
from walker import built_walker, moved, walker

import robocompiler as rc
from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.errors import LoadError, RankError
from robocompiler.graph.build import derive_topology
from robocompiler.graph.supports import supported_mechanism
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism
from robocompiler.runtime.motion.impulse import admissible_speeds, contact_impulses
from robocompiler.runtime.motion.schedule import Schedule, Switch
from robocompiler.runtime.motion.stance import Impact, Stance, impact
from robocompiler.symbolic.closures import build_closures

Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"
MASS, LENGTH = 2.0, 1.2
PAGE = (MODELS.parent / "docs" / "motion.md").read_text(encoding="utf-8")


def rod() -> Mechanism:
    """A thin uniform bar of two halves, its origin in the middle of the near one, that may be held by its ends."""
    h = LENGTH / 2
    half = {"mass": MASS / 2, "inertia": [1e-3, MASS / 2 * h**2 / 12, MASS / 2 * h**2 / 12]}
    return mechanism(
        "rod",
        {
            "bodies": {"near": half, "far": half},
            "joints": {"middle": {"type": "fixed", "a": {"body": "near", "xyz": [h, 0, 0]}, "b": "far"}},
            "frames": {
                "tip": {"body": "far", "xyz": [h / 2, 0, 0]},
                "tail": {"body": "near", "xyz": [-h / 2, 0, 0]},
            },
            "supports": {
                "tip": {"tip": "point"},
                "both": {"tip": "point", "tail": "point"},
                "clamped": {"tip": "weld"},
            },
            "reference": {"base": {"body": "near", "xyz": [0, 0, 1], "quat": [1, 0, 0, 0]}},
        },
    )


@pytest.fixture(scope="module")
def bar(tmp_path_factory: pytest.TempPathFactory) -> rc.Robot:
    """The compiled rod and its modes."""
    output = tmp_path_factory.mktemp("rod")
    return rc.compile(rod(), output=output, supports="all", extra_flags=("-O0",))


@pytest.fixture(scope="module")
def robot(build_folder: Path) -> rc.Robot:
    """The floating walker."""
    return rc.load(built_walker(build_folder))


def falling(bar: rc.Robot, angle: float, speed: float) -> Stance:
    """The rod, its tip raised by `angle` (rad), falling straight down."""
    q = bar.configuration({"near_free": [0.2, -0.1, 1, np.cos(angle / 2), 0, -np.sin(angle / 2), 0]})
    u = np.zeros(6)
    u[3:] = bar.pose("near", q)[0].T @ [0, 0, -speed]
    return Stance.floats(bar, q, u)


def balances(floating: rc.Robot, records: Mechanism, q: Array, u: Array, met: Impact) -> None:
    """What the contacts give is what the bodies gain, and what inertia says of energy."""
    before, after = total(floating, records, q, u), total(floating, records, q, u + met.jump)
    size = max(1.0, float(np.abs(before).max()))
    np.testing.assert_allclose(after - before, given(floating, q, met.impulses), rtol=0, atol=1e-10 * size)
    assert met.after <= met.before * (1 + 1e-14)  # rounding, where nothing jumps
    assert met.before - met.after == pytest.approx(met.loss, rel=1e-9, abs=1e-11 * met.before)
    assert met.before == pytest.approx(floating.energy(q, u)[0], rel=1e-12)
    assert met.after == pytest.approx(floating.energy(q, u + met.jump)[0], rel=1e-9, abs=1e-12 * met.before)


# --- closed form ---


@pytest.mark.parametrize("angle", [0.0, 0.4, -1.1, 1.5])
def test_a_falling_rod_hits_by_its_end(bar: rc.Robot, angle: float) -> None:
    stance = falling(bar, angle, 3.0)
    found = stance.switched("tip")
    met = found.impact
    assert met is not None
    # momentum about the end: m v l/2 cos = m l^2/3 w; the middle then moves with w l/2 across the rod
    w = 3 * 3.0 * np.cos(angle) / (2 * LENGTH)
    force = MASS * np.array([w * LENGTH / 2 * np.sin(angle), 0, 3.0 - w * LENGTH / 2 * np.cos(angle)])
    np.testing.assert_allclose(met.impulses["tip"], [0, 0, 0, *force], atol=1e-12)
    assert met.undetermined == ()
    assert met.loss == pytest.approx(MASS * 3.0**2 / 2 * (1 - 0.75 * np.cos(angle) ** 2), rel=1e-12)
    held = found.stance.held
    spin = held.task_jacobian("near", found.stance.q)[:3] @ found.stance.u
    np.testing.assert_allclose(spin, [0, -w, 0], atol=1e-12)
    assert np.array_equal(found.stance.floating_q, stance.q)
    assert found.correction == 0.0
    balances(bar, rod(), stance.q, stance.u, met)


def test_redundant_contacts_share_an_impulse_and_say_so(bar: rc.Robot) -> None:
    found = falling(bar, 0.4, 3.0).switched("both")
    assert found.impact is not None
    # two points of one bar: how a pull along it is shared is open; least norm leaves none, and the rest is determined
    assert set(found.impact.undetermined) == {"tip", "tail"}
    for frame in ("tip", "tail"):
        np.testing.assert_allclose(found.impact.impulses[frame], [0, 0, 0, 0, 0, MASS * 3.0 / 2], atol=1e-12)
    assert found.impact.after == pytest.approx(0.0, abs=1e-24)
    assert found.impact.loss == pytest.approx(MASS * 3.0**2 / 2)


def test_a_clamped_end_takes_everything(bar: rc.Robot) -> None:
    falls = falling(bar, 0.4, 3.0)
    clamped = falls.switched("clamped")
    met = clamped.impact
    assert met is not None
    arm = np.array([LENGTH / 2 * np.cos(0.4), 0, LENGTH / 2 * np.sin(0.4)])
    wanted = np.cross(-arm, [0, 0, MASS * 3.0])  # what stops the middle's momentum, about the end
    np.testing.assert_allclose(met.impulses["tip"], [*wanted, 0, 0, MASS * 3.0], atol=1e-12)
    assert (clamped.stance.u.size, met.after) == (0, 0.0)
    # it stays, and a ball at the end lets it turn again; the other way the end is hit
    held = Schedule([Switch("tip", at=2e-3)]).run(clamped.stance, 4e-3)
    assert [phase.stance.mode for phase in held.phases] == ["clamped", "tip"]
    assert np.array_equal(held.phases[0].stance.q, clamped.stance.q)
    assert held.phases[0].simulation is None
    assert held.phases[1].switched is not None
    assert held.phases[1].switched.impact is None
    again = held.phases[1].stance.switched("clamped")
    assert again.impact is not None
    assert again.impact.loss == pytest.approx(again.impact.before, rel=1e-12)
    assert 0 < again.impact.before < MASS * 9.81 * LENGTH / 2


def test_a_second_impact_at_the_same_speeds_is_none(bar: rc.Robot) -> None:
    first = falling(bar, 0.4, 3.0).switched("tip").stance
    free = Stance.floats(bar, first.floating_q, first.floating_u)
    again = free.switched("tip")
    assert again.impact is not None
    assert np.abs(again.impact.impulses["tip"]).max() < 1e-12
    np.testing.assert_allclose(again.stance.u, first.u, atol=1e-13)


# --- a robot on two legs ---


def walking(robot: rc.Robot, seed: int) -> Stance:
    """The floating walker away from its reference, moving."""
    random = np.random.default_rng(seed)
    return Stance.floats(robot, moved(robot, seed), random.uniform(-1, 1, len(robot.independent)))


@pytest.mark.parametrize("chart", ["port", "inner"])
@pytest.mark.parametrize("mode", ["left", "both feet"])
def test_impacts_of_the_walker_balance(robot: rc.Robot, mode: str, chart: str) -> None:
    floating = robot.with_parameters({"payload": 1.0}).chart(chart)
    stance = walking(floating, 3)
    found = stance.switched(mode)
    met, after = found.impact, found.stance
    assert met is not None
    assert met.loss > 0.1
    balances(floating, walker(), stance.q, stance.u, met)
    assert (after.held.chart_name, after.held.parameters["payload"]) == (chart, 1.0)
    assert np.array_equal(after.floating_q, stance.q)
    assert np.abs(after.held.residual(after.q)).max() < 1e-12
    np.testing.assert_allclose(after.floating_u, stance.u + met.jump, atol=1e-12)
    for frame, kind in after.contacts.items():
        rate = floating.task_jacobian(frame, stance.q) @ after.floating_u
        assert np.abs(rate[0 if kind == "weld" else 3 :]).max() < 1e-12
    # the loose ball is not met
    still = [k for k, name in enumerate(floating.independent) if name.startswith("ball_free")]
    assert len(still) == 6
    assert np.abs(met.jump[still]).max() < 1e-12


@pytest.mark.parametrize("mode", ["left", "both feet"])
def test_impacts_equal_the_oracle(robot: rc.Robot, mode: str) -> None:
    """Momenta as forces on the bodies at rest: the accelerations of the constrained bodies are the speeds after."""
    stance = walking(robot, 5)
    after = stance.switched(mode).stance
    oracle = MaximalModel(walker(), support=mode)
    anchors = {frame: (np.eye(3) if R is None else R, p) for frame, (R, p) in after.held.anchors.items()}
    known = dict(zip(robot.coordinates, map(float, stance.q), strict=True))
    pose = oracle.pose(known, {frame: (R.tolist(), p.tolist()) for frame, (R, p) in anchors.items()})
    rest = oracle.state(pose, dict.fromkeys(after.held.independent, 0.0), after.held.independent)
    wrenches = {
        body: [*map(float, own), *map(float, linear)]
        for body, _, own, linear in momenta(robot, walker(), stance.q, stance.u)
    }
    speeds = dict(zip(robot.velocities, robot.velocity(stance.q, stance.u), strict=True))
    armatures = {joint.name: joint.armature[0] for joint in walker().joints if joint.armature}
    motors = {name: float(armature) * float(speeds[name]) for name, armature in armatures.items()}
    kicked = np.array(oracle.accelerations(rest, Efforts(ports=motors, wrenches=wrenches)).udot, dtype=float)
    alone = np.array(oracle.accelerations(rest, Efforts()).udot, dtype=float)
    np.testing.assert_allclose(after.u, kicked - alone, rtol=1e-9, atol=1e-9)


def test_letting_go_changes_no_speed(robot: rc.Robot) -> None:
    both = walking(robot, 7).switched("both feet").stance
    left = both.switched("left")
    assert left.impact is None
    assert left.correction == 0.0
    v = dict(zip(both.held.velocities, both.held.velocity(both.q, both.u), strict=True))
    assert left.stance.u.tolist() == [v[name] for name in left.stance.held.independent]
    after = dict(zip(left.stance.held.velocities, left.stance.held.velocity(left.stance.q, left.stance.u), strict=True))
    assert max(abs(after[name] - v[name]) for name in robot.velocities) < 1e-12
    # the foot that stays keeps its place bit for bit, and the one in the air is free
    for one, other in zip(left.stance.held.anchors["left_foot"], both.held.anchors["left_foot"], strict=True):
        assert np.array_equal(one, other)
    assert list(left.stance.held.anchors) == ["left_foot"]
    loose = left.stance.switched(None)
    assert loose.impact is None
    assert loose.stance.held is robot
    np.testing.assert_allclose(robot.velocity(loose.stance.q, loose.stance.u), [after[n] for n in robot.velocities],
                               atol=1e-12)  # fmt: skip
    assert np.array_equal(loose.stance.q, left.stance.floating_q)


def test_a_contact_may_be_put_elsewhere(robot: rc.Robot) -> None:
    stance = walking(robot, 1).switched("left").stance
    R, p = stance.held.anchors["left_foot"]
    higher = np.array([0.0, 0.0, 1e-3]) + p
    found = stance.switched("left", at={"left_foot": (R, higher)})
    np.testing.assert_allclose(found.stance.held.pose("left_foot", found.stance.q)[1], higher, atol=1e-12)
    assert 1e-5 < found.correction < 0.1
    assert found.impact is None


# --- shipped robots: the modes' closures, the floating robot's compiled inertia and Jacobians ---


class Standing:
    """A support mode by its closures alone: admissible speeds from the null space of their Jacobian, no C."""

    def __init__(self, robot: rc.Robot, records: Mechanism, mode: str, q: Array) -> None:
        contacts = next(support.contacts for support in records.supports if support.name == mode)
        poses: Any = {}
        for frame, _ in contacts:
            R, p = robot.pose(frame, q)
            poses[frame] = (tuple(map(tuple, R.tolist())), tuple(p.tolist()))
        named = dict(zip(robot.coordinates, map(float, q), strict=True))
        topology = derive_topology(supported_mechanism(derive_topology(records), mode, poses, named))
        self.evaluator = ClosureEvaluator(build_closures(topology))
        self.coordinates, self.velocities = tuple(topology.q_names), tuple(topology.v_names)
        self.q = self.evaluator.seed()

    def lift(self, q: Array) -> Array:
        """Columns: a basis of the admissible velocities (nv, d); rows of eliminated joints stay zero."""
        J = self.evaluator.jacobian(q)
        _, sizes, Vt = np.linalg.svd(J)
        E = np.zeros((len(self.velocities), J.shape[1] - int(np.sum(sizes > 1e-7 * sizes[0]))))
        active = self.evaluator.active
        E[active] = self.evaluator.column_scales[active, None] * Vt[J.shape[1] - E.shape[1] :].T
        return E


@pytest.mark.parametrize(
    ("name", "modes", "freedoms"),
    [
        ("go2", ("FL_FR_RL_RR", "FL_RR", "FL_FR_RL_RR"), (6, 12, 6)),
        ("kangaroo", ("left", "double", "right"), (12, 6, 12)),
    ],
)
def test_walking_robots_change_feet(
    compiled: Callable[[str], rc.Robot], name: str, modes: tuple[str, ...], freedoms: tuple[int, ...]
) -> None:
    robot, records = compiled(name), read_mechanism(MODELS / f"{name}.yaml")
    start = robot.reference
    step = robot.velocity(start, np.random.default_rng(2).uniform(-0.004, 0.004, len(robot.independent)))
    q = robot.assemble(robot.integrate(start, step))
    u = np.random.default_rng(9).uniform(-1, 1, len(robot.independent))
    before: dict[str, str] = {}
    for mode, d in zip(modes, freedoms, strict=True):
        standing: Any = Standing(robot, records, mode, q)
        K = standing.lift(standing.q)[[standing.velocities.index(v) for v in robot.independent]]
        assert K.shape[1] == d
        speeds, met = impact(Stance(robot, mode, standing, standing.q, np.zeros(d)), u)
        assert met.undetermined == ()
        balances(robot, records, q, u, met)
        contacts = robot.supports[mode]
        if before and contacts.items() <= before.items():  # feet are lifted: what moved on the others moves on
            assert np.abs(met.jump).max() < 1e-9
            assert met.loss < 1e-12
        else:
            assert met.loss > 1e-3
        for frame, kind in contacts.items():
            rate = robot.task_jacobian(frame, q) @ (u + met.jump)
            assert np.abs(rate[0 if kind == "weld" else 3 :]).max() < 1e-9
        u, before = K @ (speeds + np.random.default_rng(d).uniform(-0.5, 0.5, d)), contacts


# --- what is refused ---


def test_bad_changes_are_refused(bar: rc.Robot, robot: rc.Robot) -> None:
    stance = Stance.floats(rc.load(bar._library.folder))
    stance.floating._description.supports["clamped"]["folder"] = None  # as if it had been left out
    with pytest.raises(ValueError, match="no support mode is called 'tipp'; did you mean 'tip'"):
        stance.switched("tipp")
    with pytest.raises(LoadError, match="'clamped' was not compiled"):
        stance.switched("clamped")
    with pytest.raises(LoadError, match="'clamped' was not compiled"):
        stance.floating.open_supports(["clamped"])
    with pytest.raises(ValueError, match="no support mode is called 'x'"):
        bar.open_supports(["x"])
    with pytest.raises(ValueError, match="no contact to place"):
        stance.switched(None, at={"tip": [0, 0, 0]})
    with pytest.raises(ValueError, match="no held frame is called 'tail'"):
        stance.switched("tip", at={"tail": [0, 0, 0]})
    with pytest.raises(ValueError, match="give the floating robot"):
        Stance.floats(robot.support("left"))
    with pytest.raises(ValueError, match="u must have shape"):
        Stance.floats(bar, u=[1.0])


def test_contacts_that_cannot_cause_a_jump_are_refused() -> None:
    M, J = np.diag([2.0, 1.0]), np.array([[1.0, 0.0]])
    found = contact_impulses(M, J, np.array([1.0, 3.0]), np.array([0.0, 3.0]))
    assert found.values == pytest.approx(-2.0, rel=1e-14)
    assert not found.undetermined.any()
    with pytest.raises(RankError, match=r"of kinetic energy 4\.5 J unexplained"):
        contact_impulses(M, J, np.array([1.0, 3.0]), np.zeros(2))
    with pytest.raises(RankError, match="some motion moves no mass"):
        admissible_speeds(np.diag([1.0, -1.0]), np.eye(2), np.ones(2))
    with pytest.raises(RankError, match="depend on one another"):
        admissible_speeds(M, np.ones((2, 2)), np.ones(2))
    assert admissible_speeds(M, np.zeros((2, 0)), np.ones(2)).shape == (0,)


# --- reloading a robot with support modes ---


def test_a_reloaded_robot_floats_on_and_its_old_modes_live(bar: rc.Robot, tmp_path: Path) -> None:
    old = rc.load(shutil.copytree(bar._library.folder, tmp_path / "rod"))
    stance = falling(old, 0.4, 3.0)
    spinning = stance.u + np.array([0.3, -0.2, 0.5, 0.1, 0.2, 0.0])
    # the other half becomes the reference body, and the near one heavier
    changes = {
        "bodies": {"near": {"mass": 2.0}},
        "reference": {"base": {"body": "far", "xyz": [0.6, 0, 1]}},
    }
    found = rc.reload(old, rc.edited(rod(), changes), stance.q, spinning)
    new, carried = found.robot, found.carried
    assert carried is not None
    assert dict(carried.bases) == {"far": "far_free"}
    assert carried.joints.lost == {"near_free": "no joint of this name"}
    for body in ("near", "far"):
        for one, other in zip(old.pose(body, stance.q), new.pose(body, carried.q), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-15)
        twist = old.task_jacobian(body, stance.q) @ spinning
        np.testing.assert_allclose(new.task_jacobian(body, carried.q) @ carried.u, twist, atol=1e-14)
    # modes were compiled again, and both robots stand on their own
    assert any(unit.startswith("tip/") for unit in found.rebuilt)
    assert old.support("tip").mass_matrix(old.support("tip").reference).shape == (3, 3)
    heavy = Stance.floats(new, carried.q, carried.u).switched("tip")
    assert heavy.impact is not None
    balances(new, rc.edited(rod(), changes), carried.q, carried.u, heavy.impact)
    light = Stance.floats(old, stance.q, spinning).switched("tip")
    assert light.impact is not None
    assert light.impact.impulses["tip"][5] < heavy.impact.impulses["tip"][5]
    with pytest.raises(ValueError, match="reload the floating robot"):
        rc.reload(light.stance.held, rod())


def test_the_examples_of_the_page_run(bar: rc.Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE[PAGE.index("## Changing contacts") :]
    blocks = dict.fromkeys(("yaml", "python"), "")
    for kind, body in BLOCK.findall(text):
        blocks[kind] += body
    (tmp_path / "rod.yaml").write_text(blocks["yaml"])
    assert read_mechanism(tmp_path / "rod.yaml") == rod()
    shutil.copytree(bar._library.folder, tmp_path / "build" / "rod")
    compile_line = 'rc.compile("rod.yaml", output="build", supports="all")'
    assert blocks["python"].count(compile_line) == 1
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.py").write_text(blocks["python"].replace(compile_line, 'rc.load("build/rod")'))
    names = runpy.run_path(str(tmp_path / "page.py"))
    fall, turn, lie, loose = names["motion"].phases
    assert [phase.stance.mode for phase in (fall, turn, lie, loose)] == [None, "tip", "both", None]
    assert fall.end == pytest.approx(math.sqrt(2 * (1 - 0.9 * math.sin(0.4)) / 9.81), abs=1e-9)
    assert (lie.end, loose.end) == (0.8, 1.0)
    # the bar turns about its tip from an angle of 0.4: its energy at the ground is what it had less what impacts took
    first, second = turn.switched.impact, lie.switched.impact
    height = LENGTH / 2 * math.sin(0.4)
    assert first.after + MASS * 9.81 * height == pytest.approx(second.before, rel=1e-6)
    assert second.after == pytest.approx(0.0, abs=1e-12)
    assert loose.switched.impact is None
    assert names["found"].carried.held == "all"
    assert any("bodies.near.mass" in why for why in names["found"].rebuilt.values())


def test_modes_that_are_open_stay_open(bar: rc.Robot, tmp_path: Path) -> None:
    own = rc.load(shutil.copytree(bar._library.folder, tmp_path / "rod"))
    own.open_supports()
    shutil.rmtree(tmp_path / "rod")
    for mode in own.supports:
        assert own.support(mode).independent == bar.support(mode).independent
