"""Motions through poses at which a chart is singular: charts are switched, velocities stay; a lost rank is an event."""

from __future__ import annotations

import re
import shutil
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from switching_cases import (
    MODELS,
    boom,
    closed,
    crank_rocker,
    parallelogram,
    simulate,
    slider_driven,
    switching,
    triple_rocker,
)

import robocompiler as rc
from robocompiler import simulation as sim
from robocompiler.check.states import draw
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.oracle.tasks import motion_at, task_acceleration, task_jacobian
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict, read_mechanism
from robocompiler.runtime.motion.charts import Switch
from robocompiler.runtime.motion.passage import Returned
from robocompiler.runtime.motion.rank_watch import RankChange
from robocompiler.runtime.motion.reports import Cause, Stop

Array = NDArray[np.float64]
Made = Callable[[], Mechanism]

IN_LINE = float(np.arccos((1.3**2 + 0.9**2 - 0.6**2) / (2 * 1.3 * 0.9)))  # crank and coupler of the crank-rocker
DEAD_CENTRES: dict[Made, dict[str, float]] = {
    crank_rocker: {"j_ga": IN_LINE},
    slider_driven: {"crank": float(np.arcsin(0.01 / 0.23))},
    boom: {"pin": float(np.arctan2(-0.4, 0.5))},
}


def by_crank(records: Made, q: Array, v: Array, robot: rc.Robot) -> tuple[Array, Array]:
    """Port coordinate and speed by closed form from the angle and speed of crank or boom, and what the robot says."""
    at, speed = {name: q[..., robot.coordinates.index(name)] for name in robot.coordinates}, {}
    speed = {name: v[..., robot.velocities.index(name)] for name in robot.velocities}
    if records is slider_driven:
        angle, w, height = at["crank"], speed["crank"], 0.05 * np.sin(at["crank"]) - 0.01
        root = np.sqrt(0.18**2 - height**2)
        wanted = 0.05 * np.cos(angle) + root, w * (-0.05 * np.sin(angle) - height * 0.05 * np.cos(angle) / root)
        found = at["slide"], speed["slide"]
    elif records is boom:
        eye = 2.0 * np.stack([np.cos(at["pin"]), np.sin(at["pin"])], axis=-1) - [0.5, -0.4]
        length = np.hypot(eye[..., 0], eye[..., 1])
        turned = 2.0 * np.stack([-np.sin(at["pin"]), np.cos(at["pin"])], axis=-1)
        wanted = length, speed["pin"] * np.sum(eye * turned, axis=-1) / length
        found = at["cylinder"], speed["cylinder"]
    else:  # a sin(coupler - crank) / (c sin(coupler - rocker)), and the distance that the coupler spans
        a, b, c, d = (0.3, 1.0, 0.6, 0.9) if records is crank_rocker else (0.7, 0.8, 0.9, 1.2)
        crank, coupler, rocker = at["j_ga"], at["j_ga"] + at["j_ab"], -at["j_cg"]
        span = np.hypot(
            d + c * np.cos(rocker) - a * np.cos(crank), c * np.sin(rocker) - a * np.sin(crank)
        )  # from the crank's pin to the rocker's
        wanted = np.full(span.shape, b), a * speed["j_ga"] * np.sin(coupler - crank)
        found = span, c * -speed["j_cg"] * np.sin(coupler - rocker)
    return np.stack(wanted), np.stack(found)


@pytest.mark.parametrize(
    ("records", "speed", "duration", "steps", "least"),
    [(crank_rocker, -3.0, 1.6, 400, 4), (slider_driven, 0.6, 0.6, 300, 4), (boom, 1.5, 2.4, 250, 2)],
)
def test_free_motion_passes_dead_centres_with_continuous_velocities(
    records: Made, speed: float, duration: float, steps: int, least: int, build_folder: Path
) -> None:
    robot = switching(build_folder, records)
    (port,) = robot.independent
    drifts = []
    for refinement in (1, 2):
        switcher = robot.switcher()
        seen = simulate(switcher, robot.reference, np.array([speed]), duration, refinement * steps)
        v = np.array(seen.v)
        rate = v[:, robot.velocities.index(port)]
        assert np.sum(rate[1:] * rate[:-1] < 0) >= least  # dead centres: the port turns back, the mechanism does not
        assert switcher.events and all(isinstance(event, Switch) for event in switcher.events)
        for before, after in (*seen.sides, *seen.accelerations):
            np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)
        wanted, found = by_crank(records, np.array(seen.q), v, robot)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
        drifts.append(float(np.ptp(seen.energy)))
        jumps = np.abs(np.diff(v, axis=0)).max(axis=1)
        switched = [k for k in range(1, len(v)) if seen.charts[k] != seen.charts[k - 1]]
        assert all(jumps[k - 1] < 2 * np.median(jumps[max(0, k - 10) : k + 10]) for k in switched)
    assert drifts[1] < 0.35 * drifts[0]  # second order: a quarter
    scale = float(np.ptp([robot.chart("inner").energy(q, [0.0])[1] for q in seen.q]))
    assert drifts[1] < 0.01 * scale


def test_a_mechanism_that_needs_two_charts_goes_round_and_round(build_folder: Path) -> None:
    robot = switching(build_folder, triple_rocker)
    further = [name for name in robot.charts if name.startswith("chart_")]
    assert len(further) == 2
    drifts = []
    for steps in (500, 1000):
        switcher = robot.switcher()
        seen = simulate(switcher, robot.reference, np.array([8.0]), 0.9, steps)
        changes = [(event.source, event.target) for event in switcher.events if isinstance(event, Switch)]
        assert len(changes) >= 3
        assert {"chart_1", "chart_2"} <= {target for _, target in changes}
        assert [a for _, a in changes[:-1]] == [b for b, _ in changes[1:]]
        for before, after in (*seen.sides, *seen.accelerations):
            np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)
        wanted, found = by_crank(triple_rocker, np.array(seen.q), np.array(seen.v), robot)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
        drifts.append(float(np.ptp(seen.energy)))
    assert drifts[1] < 0.35 * drifts[0]


@pytest.mark.parametrize("records", list(DEAD_CENTRES))
def test_at_the_dead_centre_the_other_chart_agrees_with_maximal_coordinates(records: Made, build_folder: Path) -> None:
    """Mechanics at a pose where the port chart is singular: no step of them may lead through the port chart."""
    robot = switching(build_folder, records)
    q = robot.follow_through(robot.reference, DEAD_CENTRES[records]).q[-1]
    switcher = robot.switcher()
    assert switcher.quality(q, "port") < 1e-6
    inner = robot.chart("inner")
    assert switcher.quality(q, "inner") > 0.4
    model, random = MaximalModel(records()), np.random.default_rng(5)
    u, udot, f, wrench = (random.normal(size=n) for n in (1, 1, 1, 6))
    frame = robot.frames[-1]
    pose = model.project(model.pose(dict(zip(robot.coordinates, q.tolist(), strict=True))), inner.independent)
    state = model.state(pose, dict(zip(inner.independent, u.tolist(), strict=True)), inner.independent)
    efforts = Efforts(ports={robot.ports[0].name: float(f[0])}, wrenches={frame: wrench.tolist()})
    reduced, drift = model.reduced(state), model.curvature(state)
    E = np.asarray(model.lift(state, robot.velocities), dtype=float)
    motion = motion_at(model, state, udot.tolist())
    pairs = [
        (inner.lift(q), E),
        (inner.curvature(q, u), [drift[name] for name in robot.velocities]),
        (inner.acceleration(q, u, udot), np.array([drift[name] for name in robot.velocities]) + E @ udot),
        (inner.mass_matrix(q), reduced.M),
        (inner.bias(q, u), reduced.h),
        (inner.inverse_dynamics(q, u, udot), np.asarray(reduced.M) @ udot + reduced.h),
        (inner.forward_dynamics(q, u, f, {frame: wrench}), model.accelerations(state, efforts).udot),
        (inner.task_jacobian(frame, q), task_jacobian(model, state, frame)),
        (inner.task_acceleration(frame, q, u, udot), task_acceleration(model, state, frame, motion)),
        (inner.port_map(q), E[[robot.velocities.index(robot.independent[0])]]),
    ]  # fmt: skip
    for found, wanted in pairs:
        reference = np.asarray(wanted, dtype=float)
        scale = max(1.0, float(np.abs(reference).max()))
        np.testing.assert_allclose(found, reference, rtol=0, atol=1e-9 * scale)
    assert abs(inner.port_map(q)[0, 0]) < 1e-9  # the port stands still


@pytest.mark.parametrize("records", [crank_rocker, slider_driven, boom, triple_rocker])
def test_all_charts_give_the_same_accelerations(records: Made, build_folder: Path) -> None:
    robot = switching(build_folder, records)
    switcher, random = robot.switcher(), np.random.default_rng(8)
    path = robot.follow_through(robot.reference, DEAD_CENTRES.get(records, {"j_ga": 2.0}), step=0.03)
    compared = 0
    for q in path.q:
        switcher.start("inner" if switcher.quality(q, "inner") > 0.1 else "chart_1")
        here, u, f = switcher.robot, random.normal(size=1), random.normal(size=1)
        udot = here.forward_dynamics(q, u, f)
        v, a = here.velocity(q, u), here.acceleration(q, u, udot)
        energy, scale = here.energy(q, u), max(1.0, float(np.abs(a).max()))
        for name, other in switcher.robots.items():
            if name == switcher.chart or switcher.quality(q, name) < 0.1:
                continue
            moved, rate = switcher.transfer(q, u, name), switcher.transfer_acceleration(q, u, udot, name)
            np.testing.assert_allclose(other.velocity(q, moved), v, rtol=0, atol=1e-9 * scale)
            np.testing.assert_allclose(other.acceleration(q, moved, rate), a, rtol=0, atol=1e-9 * scale)
            np.testing.assert_allclose(other.forward_dynamics(q, moved, f), rate, rtol=0, atol=1e-8 * scale)
            np.testing.assert_allclose(other.energy(q, moved), energy, rtol=1e-10)
            compared += 1
    assert compared > 5


def test_the_simulation_runs_in_a_chart_without_dead_centres(build_folder: Path) -> None:
    """Turns of the crank under error control; in the port chart the same motion ends before the first dead centre.

    The robot has run-time parameters, which prepared calls must hand over where the header has them.
    """
    robot = switching(build_folder, slider_driven).with_parameters({"throw": 0.055})
    q = robot.assemble(robot.reference)
    inner = robot.chart("inner")
    speed = robot.switcher().transfer(q, [0.6], "inner")
    quiet: dict[str, Any] = {"friction": sim.NoFriction(), "events": ()}
    motion = inner.simulate(1.0, q, speed, method="dopri5", rtol=1e-10, step=0.01, **quiet)
    assert motion.end.kind == "completed"
    (port,) = robot.independent_indices
    rate = [inner.velocity(at, u)[port] for at, u in zip(motion.q, motion.u, strict=True)]
    assert np.sum(np.diff(np.sign(rate)) != 0) >= 4  # dead centres
    energy = motion.energy.sum(axis=1)
    assert np.ptp(energy) < 1e-7 * motion.energy[:, 0].max()
    short = robot.simulate(1.0, q, [0.6], method="dopri5", rtol=1e-8, step=0.01, **quiet)
    assert short.end.kind == "singular"
    assert "the port chart" in short.end.message


def test_balls_and_several_freedoms_have_mechanics_in_every_chart(build_folder: Path) -> None:
    """Covariance with the port chart, whose mechanics other tests compare with the references."""
    records = read_mechanism(MODELS / "rssr.yaml")
    robot = switching(build_folder, lambda: records)
    assert len(robot.charts) > 2
    for sample in draw(robot, records, 3, seed=4):
        q, frame = sample.q, sample.frame
        v, a = robot.velocity(q, sample.u), robot.acceleration(q, sample.u, sample.udot)
        udot = robot.forward_dynamics(q, sample.u, sample.f, {frame: sample.wrench})
        physical = robot.acceleration(q, sample.u, udot)
        tau = robot.inverse_dynamics(q, sample.u, sample.udot)
        for name in robot.charts:
            chart = robot.chart(name)
            if name == "port" or robot.switcher().quality(q, name) < 0.05:
                continue
            F, own = chart.F(q), chart.independent_indices
            u = v[own]
            pairs = [
                (chart.velocity(q, u), v),
                (chart.acceleration(q, u, a[own]), a),
                (chart.mass_matrix(q), F.T @ robot.mass_matrix(q) @ F),
                (chart.inverse_dynamics(q, u, a[own]), F.T @ tau),
                (chart.forward_dynamics(q, u, sample.f, {frame: sample.wrench}), physical[own]),
                (chart.port_map(q), robot.port_map(q) @ F),
                (chart.task_jacobian(frame, q), robot.task_jacobian(frame, q) @ F),
                (
                    chart.task_acceleration(frame, q, u, a[own]),
                    robot.task_acceleration(frame, q, sample.u, sample.udot),
                ),
                (chart.friction(q, u), F.T @ robot.friction(q, sample.u)),
                (chart.energy(q, u), robot.energy(q, sample.u)),
            ]
            for found, wanted in pairs:
                scale = max(1.0, float(np.abs(wanted).max()))
                np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * scale)


def test_run_time_parameters_reach_every_chart(build_folder: Path) -> None:
    robot = switching(build_folder, slider_driven).with_parameters({"throw": 0.06, "rod_mass": 0.8})
    inner, u, f = robot.chart("inner"), np.array([0.4]), np.array([3.0])
    q = robot.assemble(robot.reference)
    model = MaximalModel(slider_driven(), {"throw": 0.06, "rod_mass": 0.8})
    pose = model.project(model.pose(dict(zip(robot.coordinates, q.tolist(), strict=True))), inner.independent)
    state = model.state(pose, dict(zip(inner.independent, u.tolist(), strict=True)), inner.independent)
    wanted = model.accelerations(state, Efforts(ports={"motor": 3.0})).udot
    np.testing.assert_allclose(inner.forward_dynamics(q, u, f), np.asarray(wanted, dtype=float), rtol=1e-9)
    np.testing.assert_allclose(inner.mass_matrix(q), np.asarray(model.reduced(state).M, dtype=float), rtol=1e-9)
    switcher = robot.switcher()
    assert 0 < switcher.quality(q, "port") < 1
    moved = switcher.transfer(q, [0.1], "inner")
    np.testing.assert_allclose(inner.velocity(q, moved), robot.velocity(q, [0.1]), atol=1e-12)


def test_the_page_s_examples_run(build_folder: Path) -> None:
    page = (MODELS.parent / "docs" / "motion.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page[page.index("## Charts") :], re.MULTILINE | re.DOTALL)
    compiling, rest = blocks[0].split("\n", 1)
    assert 'charts="auto"' in compiling
    space: dict[str, Any] = {"robot": switching(build_folder, crank_rocker)}
    run_block = compile(rest + blocks[1].replace("2000", "200"), "motion.md", "exec")
    types.FunctionType(run_block, space)()
    assert space["path"].reached
    assert len(space["path"].events) == 1
    assert space["robot"].charts == {"port": ("j_cg",), "inner": ("j_ab",)}
    assert space["state"].ok


def test_what_was_searched_is_reported(build_folder: Path, compiled: Callable[[str], rc.Robot]) -> None:
    report = switching(build_folder, triple_rocker).chart_report
    assert report is not None
    assert [(moved, end) for moved, _, end in report.paths] == [("j_ga", "closed")]
    assert (report.uncovered, report.poses) == (0, report.paths[0][1] + 1)
    assert compiled("fourbar").chart_report is None


def test_a_path_leads_round_and_back_through_dead_centres(build_folder: Path) -> None:
    robot = switching(build_folder, crank_rocker)
    start = robot.joint(robot.reference, "j_ga")
    turn = robot.follow_through(robot.reference, {"j_ga": start + 2 * np.pi})
    assert turn.reached
    assert turn.fraction[-1] == 1.0
    rocker = turn.q[:, robot.coordinates.index("j_cg")]
    assert np.sum(np.diff(np.sign(np.diff(rocker))) != 0) == 2  # both ends of the rocker's swing
    np.testing.assert_allclose(rocker[-1], rocker[0], atol=1e-12)
    np.testing.assert_allclose(turn.q[-1][robot.coordinates.index("j_ga")], start + 2 * np.pi, atol=1e-12)
    assert max(robot.acceptance.residual(q) for q in turn.q) < 1e-12
    v = robot.chart(turn.chart).velocity(turn.q[-1], turn.u)
    moved = [*v[list(robot.evaluation.description.active)], v[robot.velocities.index("j_ga")] / (2 * np.pi)]
    np.testing.assert_allclose(np.linalg.norm(moved), 1.0, atol=1e-9)  # per unit of arclength of (q, s)
    nowhere = robot.follow_through(robot.reference, {"j_cg": -2.4})  # beyond the rocker's swing
    assert isinstance(nowhere.stop, Returned)
    assert "came back" in str(nowhere.stop)
    # farthest with the crank pointing away from the coupler: its pin 0.7 m from the crank's axis
    swing = -(np.pi - np.arccos((0.6**2 + 0.9**2 - 0.7**2) / (2 * 0.6 * 0.9)))
    reach = (swing - rocker[0]) / (-2.4 - rocker[0])
    np.testing.assert_allclose(nowhere.stop.fraction, reach, atol=2e-3)


def test_the_port_chart_is_not_trusted_where_the_inner_chart_is_singular(build_folder: Path) -> None:
    """Its mechanics are computed there; a further chart with the same independents has its own."""
    robot = switching(build_folder, triple_rocker)
    path = robot.follow_through(robot.reference, {"j_ga": 3.0})
    switcher = robot.switcher()
    singular = min(path.q, key=lambda q: min(switcher.qualities(q, "inner").values()))
    assert min(switcher.qualities(singular, "inner").values()) < 0.15
    good = [name for name in robot.charts if min(switcher.qualities(singular, name).values()) > 0.4]
    assert any(robot.charts[name] == robot.independent for name in good)
    assert switcher.quality(singular, "port") < 0.15
    chosen = max(robot.charts, key=lambda name: switcher.quality(singular, name))
    assert chosen.startswith("chart_")
    chart, u = robot.chart(chosen), np.array([0.7])
    model = MaximalModel(triple_rocker())
    pose = model.project(model.pose(dict(zip(robot.coordinates, singular.tolist(), strict=True))), chart.independent)
    state = model.state(pose, dict(zip(chart.independent, u.tolist(), strict=True)), chart.independent)
    wanted = np.asarray(model.accelerations(state, Efforts(ports={robot.ports[0].name: 2.0})).udot, dtype=float)
    np.testing.assert_allclose(chart.forward_dynamics(singular, u, [2.0]), wanted, rtol=1e-9)


def test_a_path_stops_at_a_joint_limit(build_folder: Path) -> None:
    robot = switching(build_folder, boom)
    path = robot.follow_through(robot.reference, {"pin": 2.3})
    assert isinstance(path.stop, Stop)
    assert (path.stop.cause, path.stop.joint, path.stop.side) == (Cause.LIMIT, "cylinder", "upper")
    lengths = path.q[:, robot.coordinates.index("cylinder")]
    assert 2.4 < lengths.max() <= 2.5
    back = robot.follow_through(robot.reference, {"pin": -1.2})  # past the dead centre, where the cylinder is shortest
    assert back.reached
    shortest = 2.0 - np.hypot(0.5, 0.4)
    assert shortest <= back.q[:, robot.coordinates.index("cylinder")].min() < shortest + 2e-3


def sway(robot: rc.Robot, low: float, high: float) -> list[Array]:
    """Poses between which the port chart's quality goes from `high` down to `low` on one side of a dead centre."""
    dead = DEAD_CENTRES[slider_driven]["crank"]
    path = robot.follow_through(robot.reference, {"crank": dead}, step=0.005)
    quality = robot.switcher().quality
    return [q for q in path.q if low <= quality(q, "port") <= high]


def test_hysteresis_switches_once_per_crossing_and_never_chatters(build_folder: Path) -> None:
    robot = switching(build_folder, slider_driven)
    inner = robot.chart("inner")
    limits = {"leave": 0.06, "enter": 0.12, "home": "port"}
    wide, narrow = sway(robot, 0.04, 0.137), sway(robot, 0.05, 0.07)
    assert min(len(wide), len(narrow)) > 5
    switcher = robot.switcher(**limits)
    counts = []
    for poses in (wide, narrow):
        switcher.start("port")
        for q in [*poses, *reversed(poses)] * 4:
            u = np.array([1.0]) if switcher.chart == "inner" else inner.lift(q)[list(robot.independent_indices), 0]
            switcher.check(q, u)
        counts.append(len(switcher.events))
    assert counts == [8, 1]  # away and home once in each of four sways; between the thresholds it stays away
    changes = [(event.source, event.target) for event in switcher.events if isinstance(event, Switch)]
    assert changes == [("port", "inner")]
    plain = robot.switcher(leave=0.06, enter=0.12)  # without a home: the other chart stays good
    plain.start("port")
    for q in [*wide, *reversed(wide)] * 4:
        u = np.array([1.0]) if plain.chart == "inner" else inner.lift(q)[list(robot.independent_indices), 0]
        plain.check(q, u)
    assert len(plain.events) == 1


def test_a_change_point_is_an_event_and_never_switched_over(build_folder: Path) -> None:
    robot = switching(build_folder, parallelogram)
    path = robot.follow_through(robot.reference, {"j_ga": -0.9})
    assert isinstance(path.stop, RankChange)
    assert path.events == (path.stop,)
    assert path.stop.crossed
    assert path.stop.rank == 2
    assert path.stop.value < 1e-9
    assert path.stop.next_value > 0.1
    assert set(path.stop.closures) <= set(robot.closures)
    flat = np.array([0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(path.stop.q, flat, atol=1e-8)  # all links in line
    assert path.q[-1][robot.coordinates.index("j_ga")] > 0  # the last accepted pose lies before it
    switcher = robot.switcher()
    there = switcher.check(flat, [1.0], at=2.5)
    assert isinstance(there.event, RankChange)
    assert not there.ok
    assert (there.event.at, there.event.crossed, switcher.chart) == (2.5, False, "port")
    with pytest.raises(rc.RankError, match=r"rank of the closures changed at 2\.5"):
        switcher.check(robot.reference, [1.0])
    switcher.start("port")
    assert switcher.check(robot.reference, [1.0]).ok


def test_a_simulation_stops_at_the_change_point(build_folder: Path) -> None:
    robot = switching(build_folder, parallelogram)
    switcher, q, u, h = robot.switcher(), robot.reference, np.array([-2.0]), 0.007
    for step in range(200):
        state = switcher.check(q, u, at=step * h)
        if not state.ok:
            break
        u = state.u
        q = closed(robot.chart("chart_1"), q, h * switcher.robot.velocity(q, u))
    assert isinstance(state.event, RankChange)
    assert state.event.crossed
    assert 0.8 / 2.0 - h < state.event.at < 0.8 / 2.0 + 2 * h  # the crank was 0.8 rad away
    assert state.event.value < 1e-6
    assert len(switcher.events) == 1


def test_what_cannot_be_is_refused(compiled: Callable[[str], rc.Robot], build_folder: Path) -> None:
    plain, robot = compiled("fourbar"), switching(build_folder, boom)
    with pytest.raises(rc.LoadError, match="charts='auto'"):
        plain.switcher()
    with pytest.raises(ValueError, match="leave < enter"):
        robot.switcher(leave=0.5, enter=0.4)
    with pytest.raises(ValueError, match="no chart is called 'outer'"):
        robot.switcher(home="outer")
    with pytest.raises(ValueError, match="no chart is called 'chart_9'"):
        robot.chart("chart_9")
    with pytest.raises(ValueError, match="1 coordinates are needed"):
        robot.follow_through(robot.reference, {"pin": 1.0, "cylinder": 2.0})
    with pytest.raises(ValueError, match="no joint or coordinate is called 'pim'"):
        robot.follow_through(robot.reference, {"pim": 1.0})
    with pytest.raises(rc.AssemblyError, match="assemble"):
        robot.follow_through(robot.configuration({"pin": 1.0}), {"pin": 0.5})


def test_an_edited_robot_keeps_its_charts(build_folder: Path, tmp_path: Path) -> None:
    running = switching(build_folder, boom)
    shutil.copytree(running.evaluation.library.folder, tmp_path / "boom")
    heavier = rc.edited(boom(), {"bodies": {"boom": {"mass": 950.0}}})
    old = rc.load(tmp_path / "boom").chart("inner")
    q, u = old.reference, np.array([0.2])
    found = rc.reload(old, heavier, q, u)
    assert "charts" not in found.rebuilt  # their text hangs on the geometry alone
    assert found.robot.chart("port").switcher().chart == "port"
    assert found.robot.charts == running.charts
    model = MaximalModel(heavier)
    inner = found.robot.chart("inner")
    pose = model.project(model.pose(dict(zip(inner.coordinates, q.tolist(), strict=True))), inner.independent)
    state = model.state(pose, {inner.independent[0]: 0.2}, inner.independent)
    np.testing.assert_allclose(inner.mass_matrix(q), np.asarray(model.reduced(state).M, dtype=float), rtol=1e-9)


def test_a_robot_without_loops_has_nothing_to_switch(build_folder: Path) -> None:
    records = mechanism_from_dict(
        {
            "robocompiler": 1,
            "name": "open_arm",
            "bodies": {"arm": {"mass": 1.0, "com": [0.5, 0, 0], "inertia": [0.1, 0.1, 0.1]}},
            "joints": {"hinge": {"type": "revolute", "b": {"body": "arm"}, "a": {"body": "world"}, "axis": [0, 0, 1]}},
        }
    )
    robot = switching(build_folder, lambda: records)
    switcher = robot.switcher(home="port")
    state = switcher.check(robot.reference, [1.0], [2.0])
    assert (state.chart, state.event, switcher.quality(robot.reference, "port")) == ("port", None, 1.0)
    path = robot.follow_through(robot.reference, {"hinge": 7.0})
    assert path.reached
    assert path.events == ()
    np.testing.assert_allclose(path.q[-1], [7.0], atol=1e-12)
