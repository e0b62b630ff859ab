"""The viewer's sliders move a robot along its branch; what they may not do is refused, and says why."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_models import built
from test_ports import MAKERS

import robocompiler as rc
from robocompiler.importers.read_model import read_model
from robocompiler.runtime.manifold import rotation
from robocompiler.viewer.commands import BASE, COORDINATE, PORT, choose_rows
from robocompiler.viewer.driving import DEAD, FINEST, LIMIT, Driver, Refusal, State
from robocompiler.viewer.measures import (
    AngleMeasure,
    Measure,
    PlaceMeasure,
    Since,
    Slopes,
    TurnMeasure,
    angle_rates,
    angles_of,
)
from robocompiler.viewer.status import Gauge
from robocompiler.viewer.sweep import BACK, LOWER, UPPER, Stop, sweep

MODELS = Path(__file__).resolve().parent.parent / "models"


def index_of(driver: Driver, name: str) -> int:
    return [command.name for command in driver.commands].index(name)


def residual(robot: rc.Robot, q: np.ndarray) -> float:
    return float(np.abs(robot.residual(q)).max(initial=0.0))


# --- against geometry ---


def test_a_crank_goes_all_the_way_round_and_the_piston_follows(compiled: Any) -> None:
    robot = compiled("slider_crank")
    driver = Driver(robot)
    state, turned = driver.start(), []
    for target in (2.0, 3.1, -3.1, 0.8):
        move = driver.move(state, 0, target)
        assert move.refusal is None
        state = move.state
        angle = robot.joint(state.q, "crank")
        stroke = 0.05 * math.cos(target) + math.sqrt(0.18**2 - (0.05 * math.sin(target) - 0.01) ** 2)
        assert angle == pytest.approx(target, abs=1e-12)
        assert robot.joint(state.q, "slide") == pytest.approx(stroke, abs=1e-12)
        assert residual(robot, state.q) < 1e-12
        turned.append(state.corrected)
    assert set(turned) == {("module_0",)}
    np.testing.assert_allclose(state.q, robot.reference, atol=1e-12)


def test_a_rocker_stops_at_its_dead_centres_where_crank_and_coupler_are_in_line(build_folder: Path) -> None:
    robot = built(build_folder, MAKERS["loop"]())
    driver = Driver(robot)
    start = driver.start()
    index = index_of(driver, "at_j_cg")
    stops = [found for found in sweep(driver, start, index) if isinstance(found, Stop)]
    assert [stop.leg for stop in stops] == [UPPER, LOWER, BACK]
    # ground 0.9, crank 0.3, coupler 1.0, rocker 0.6: the pins of the crank and of the rocker's end are 1.0 +- 0.3 apart
    turns = [math.acos((0.9**2 + 0.6**2 - reach**2) / (2 * 0.9 * 0.6)) for reach in (1.3, 0.7)]
    assert stops[0].value - stops[1].value == pytest.approx(turns[0] - turns[1], abs=4 * FINEST)
    for stop in stops[:2]:
        assert stop.refusal is not None
        assert stop.refusal.kind == DEAD
        assert "dead centre" in stop.message
    assert stops[2].refusal is None
    assert stops[2].value == pytest.approx(start.values[index], abs=1e-12)


def test_a_two_point_port_gets_the_length_it_asks_for(build_folder: Path) -> None:
    records = MAKERS["loop"]()
    robot = built(build_folder, records)
    driver = Driver(robot)
    start = driver.start()
    index = index_of(driver, "across")
    target = start.values[index] - 0.02
    move = driver.move(start, index, target)
    assert move.refusal is None
    ends = []
    for body, point in (("crank", [0.1, 0, 0]), ("rocker", [0.3, 0.1, 0])):
        R, p = robot.pose(body, move.state.q)
        ends.append(R @ point + p)
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(target, abs=1e-12)
    assert residual(robot, move.state.q) < 1e-12


def test_the_legs_of_a_platform_keep_their_lengths_but_for_the_one_that_moves(compiled: Any) -> None:
    robot, records = compiled("stewart"), read_model(MODELS / "stewart.yaml")
    driver = Driver(robot)
    state = driver.start()
    wanted = driver.start().values.copy()
    for index, target in ((0, 0.83), (3, 0.58), (0, 0.66)):
        move = driver.move(state, index, target)
        assert move.refusal is None
        state, wanted[index] = move.state, target
        lengths = []
        for leg in range(6):
            joint = records.joint(f"leg_{leg}_length")
            ends = []
            for side in (joint.a, joint.b):
                R, p = robot.pose(side.body, state.q)
                ends.append(R @ np.array(side.translation) + p)
            lengths.append(np.linalg.norm(ends[1] - ends[0]))
        np.testing.assert_allclose(lengths, wanted, atol=1e-12)
        assert residual(robot, state.q) < 1e-12


# --- sweeps, limits, refusals ---


@pytest.mark.parametrize("name", ["stewart", "five_bar", "crane", "excavator"])
def test_every_command_goes_through_its_range_and_comes_back(name: str, compiled: Any) -> None:
    robot = compiled(name)
    driver, gauge = Driver(robot), Gauge(robot)
    start = driver.start()
    tolerance = gauge(start.q).tolerance
    for index in range(0, len(driver.commands), max(1, len(driver.commands) // 3)):
        command = driver.commands[index]
        last, reached, count = start, [start.values[index]], 0
        for found in sweep(driver, start, index):
            if isinstance(found, State):
                last, count = found, count + 1
                reached.append(found.values[index])
                assert gauge(found.q).residual <= tolerance
                assert not [limit for limit in gauge.limits(found.q) if limit.beyond]
            else:
                assert found.refusal is None or found.refusal.message
        assert count > 20
        assert command.lower - 1e-9 <= min(reached) < start.values[index] < max(reached) <= command.upper + 1e-9
        np.testing.assert_allclose(last.values, start.values, atol=1e-9)
        for body in robot.frames:
            np.testing.assert_allclose(robot.pose(body, last.q)[1], robot.pose(body, start.q)[1], atol=1e-8)


def test_a_joint_limit_stops_the_port_and_a_refused_move_changes_nothing(compiled: Any) -> None:
    robot = compiled("kangaroo")
    driver = Driver(robot)
    start = driver.start()
    index = index_of(driver, "leg_left_length_force")
    move = driver.move(start, index, 0.15)
    assert move.state is start
    assert move.refusal is not None
    assert (move.refusal.kind, move.refusal.name) == (LIMIT, "leg_left_4_joint")
    *_, last, refusal = driver.walk(start, index, 0.15)
    assert isinstance(last, State)
    assert isinstance(refusal, Refusal)
    upper = read_model(MODELS / "kangaroo.yaml").joint("leg_left_4_joint").limits[0].position
    assert upper is not None
    assert abs(robot.joint(last.q, "leg_left_4_joint")) == pytest.approx(upper[1], abs=0.002)  # type: ignore[arg-type]
    assert abs(robot.joint(last.q, "leg_left_4_joint")) <= upper[1] + 1e-9  # type: ignore[arg-type]


def test_only_the_modules_that_a_port_feeds_are_corrected(compiled: Any) -> None:
    robot = compiled("kangaroo")
    driver = Driver(robot)
    start = driver.start()
    move = driver.move(start, index_of(driver, "leg_left_1_force"), 0.005)
    assert len(move.state.corrected) == 1
    (module,) = [module for module in robot.modules if module.name == move.state.corrected[0]]
    changed = {robot.coordinates[i] for i in np.flatnonzero(move.state.q != start.q)}
    touched = {joint.partition(":")[0] for joint in (*module.dependents, *module.closures, "leg_left_1_motor")}
    assert {name.partition(":")[0] for name in changed} <= touched
    assert residual(robot, move.state.q) < 1e-12


def test_a_free_root_moves_the_whole_robot_and_no_loop(compiled: Any) -> None:
    robot = compiled("kangaroo")
    driver = Driver(robot)
    start = state = driver.start()
    wanted = {"x": 0.1, "y": -0.2, "z": 1.0, "roll": 0.4, "pitch": -0.7, "yaw": 2.0}
    base = [k for k, command in enumerate(driver.commands) if command.kind == BASE]
    assert [driver.commands[k].name.partition(":")[2] for k in base] == list(wanted)
    for k, target in zip(base, wanted.values(), strict=True):
        move = driver.move(state, k, target)
        assert (move.refusal, move.state.corrected) == (None, ())
        state = move.state
    R, p = robot.pose("base_link", state.q)
    np.testing.assert_allclose(p, [0.1, -0.2, 1.0], atol=1e-12)
    np.testing.assert_allclose(angles_of(R), [0.4, -0.7, 2.0], atol=1e-12)
    R0, p0 = robot.pose("base_link", start.q)
    for body in robot.frames:
        (S0, r0), (S, r) = robot.pose(body, start.q), robot.pose(body, state.q)
        np.testing.assert_allclose(R.T @ (r - p), R0.T @ (r0 - p0), atol=1e-12)
        np.testing.assert_allclose(R.T @ S, R0.T @ S0, atol=1e-12)


def test_ports_that_move_together_show_together(compiled: Any) -> None:
    """The excavator has eight ports on seven freedoms, of which one belongs to no port."""
    robot = compiled("excavator")
    driver = Driver(robot)
    start = driver.start()
    kinds = [command.kind for command in driver.commands]
    assert (kinds.count(PORT), kinds.count(COORDINATE), len(robot.independent)) == (8, 1, 7)
    move = driver.move(start, index_of(driver, "drive_p3"), start.values[3] + 0.1)
    assert move.refusal is None
    moved = {driver.commands[k].name for k in np.flatnonzero(np.abs(move.state.values - start.values) > 1e-9)}
    assert {"drive_p3", "drive_p4"} <= moved
    np.testing.assert_allclose(move.state.values, robot_values(robot, driver, move.state), atol=1e-12)


def robot_values(robot: rc.Robot, driver: Driver, state: State) -> list[float]:
    ports = list(robot.port_displacement(state.q))
    return ports + [robot.joint(state.q, command.name) for command in driver.commands[len(ports) :]]  # type: ignore[misc]


def test_a_differential_port_and_the_freedom_it_leaves(compiled: Any) -> None:
    """Panda's gripper port drives the sum of two fingers that a coupling holds equal: no slider is left over."""
    robot = compiled("panda")
    driver = Driver(robot)
    assert [command.name for command in driver.commands] == [port.name for port in robot.ports]
    move = driver.move(driver.start(), index_of(driver, "gripper_force"), 0.05)
    assert move.refusal is None
    fingers = [robot.joint(move.state.q, f"finger_joint{k}") for k in (1, 2)]
    assert fingers == pytest.approx([0.025, 0.025], abs=1e-12)


def test_a_rod_between_two_balls_spins_by_itself_and_keeps_still_while_a_motor_turns(compiled: Any) -> None:
    """Delta: nobody drives the six rods' turns about themselves, so each is a slider, and holds at rest."""
    robot = compiled("delta")
    driver = Driver(robot)
    start = driver.start()
    spins = [k for k, command in enumerate(driver.commands) if command.kind == COORDINATE]
    assert len(spins) == len(robot.independent) - 3 == 6
    assert not start.values[spins].any()
    move = driver.move(start, spins[0], 1.5)
    assert move.refusal is None
    assert move.state.values[spins[0]] == pytest.approx(1.5, abs=1e-12)
    plates = [robot.pose("plate", state.q) for state in (start, move.state)]
    np.testing.assert_allclose(plates[0][0], plates[1][0], atol=1e-12)
    np.testing.assert_allclose(plates[0][1], plates[1][1], atol=1e-12)
    driven = driver.move(move.state, 0, 1.2)
    assert driven.refusal is None
    np.testing.assert_allclose(driven.state.values[spins], move.state.values[spins], atol=1e-12)
    assert residual(robot, driven.state.q) < 1e-12


def test_a_target_that_is_no_number_is_refused(compiled: Any) -> None:
    driver = Driver(compiled("slider_crank"))
    with pytest.raises(ValueError, match="motor: not a finite number"):
        driver.move(driver.start(), 0, math.nan)


def test_pivots_shrink_towards_a_dead_centre(build_folder: Path) -> None:
    robot = built(build_folder, MAKERS["loop"]())
    driver, gauge = Driver(robot), Gauge(robot)
    start = driver.start()
    assert [pivot.ratio for pivot in gauge.pivots(start.q)] == pytest.approx([1.0])
    status = gauge(start.q)
    assert (status.rank, status.freedoms) == (robot.rank_report.rank, 1)
    assert status.dropped is not None
    assert status.dropped < 1e-12
    assert status.kept > 1e-2
    *_, end = (found for found in driver.walk(start, index_of(driver, "at_j_cg"), 3.0) if isinstance(found, State))
    (pivot,) = gauge.pivots(end.q)
    assert math.sin(end.values[index_of(driver, "at_j_ab")]) == pytest.approx(0.0, abs=0.02)
    assert pivot.value > 0


# --- measures ---


def test_angles_and_their_rates_agree_with_differences() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        quaternion = rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        q = np.concatenate((rng.normal(size=3), quaternion))
        roll, pitch, _ = angles_of(rotation(quaternion))
        if abs(pitch) > 1.4:
            continue
        at = Slopes(q, np.eye(6), np.zeros(0), np.zeros((0, 6)))
        step = 1e-6
        since = Since(np.concatenate((q[:3], turned_by(quaternion, rng.normal(size=3) / 3))), 0.7)
        measures: list[Measure] = [kind(3, 0, axis) for kind in (AngleMeasure, TurnMeasure) for axis in range(3)]
        measures += [PlaceMeasure(0, 0, axis) for axis in range(3)]
        for k in range(6):
            v = np.eye(6)[k]
            values = [moved(q, sign * step * v) for sign in (1, -1)]
            for measure in measures:
                ends = [measure.value(Slopes(x, at.E, at.ports, at.L), since) for x in values]
                assert measure.row(at, since)[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)
        assert np.linalg.det(angle_rates(roll, pitch)) == pytest.approx(1 / math.cos(pitch))


def moved(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A free joint's numbers after the small increment v = (omega; v), both in the axes of frame b, to second order."""
    return np.concatenate((q[:3] + rotation(q[3:]) @ v[3:], turned_by(q[3:], v[:3])))


def turned_by(quaternion: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """quaternion * (1, turn / 2), made unit: for a small turn the rotation vector in the axes of frame b."""
    w, x, y, z = quaternion
    a, b, c = turn / 2
    product = np.array([w - a * x - b * y - c * z, x + a * w + c * y - b * z, y + b * w + a * z - c * x,
                        z + c * w + b * x - a * y])  # fmt: skip
    return np.asarray(product / np.linalg.norm(product))


def test_rows_are_chosen_in_order_and_only_when_they_are_new() -> None:
    rows = [np.array(r, dtype=float) for r in ([1, 1, 0], [2, 2, 0], [0, 0, 0], [1, -1, 1e-9], [0, 0, 3], [1, 0, 0])]
    assert choose_rows(rows, range(6), 3) == (0, 3, 4)
    assert choose_rows(rows, [5, 1, 0, 4], 3) == (5, 1, 4)
    assert choose_rows(rows[:3], range(3), 3) == (0,)
