"""How far ports can be driven: against triangles, circles and the limits that were written down."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import robocompiler as rc
from robocompiler.check.random_mechanism import random_mechanism
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism
from robocompiler.report.port_ranges import Cause, PortRange, port_range, port_ranges
from robocompiler.report.reach import declared_interval, port_sizes, reach_of
from robocompiler.runtime.manifest import find_manifest, read_manifest

MODELS = Path(__file__).resolve().parent.parent / "models"
GET = Callable[[str], rc.Robot]


def ranges(robot: rc.Robot, folder: Path, mechanism: Mechanism) -> dict[str, PortRange]:
    sizes = port_sizes(mechanism, read_manifest(find_manifest(folder)))
    return {found.port: found for found in port_ranges(robot, sizes)}


def shipped(compiled: GET, build_folder: Path, name: str) -> tuple[rc.Robot, dict[str, PortRange]]:
    robot = compiled(name)
    return robot, ranges(robot, build_folder / name, read_mechanism(MODELS / f"{name}.yaml"))


def fourbar(folder: Path, name: str, lengths: tuple[float, float, float, float], port: str, crank: float) -> rc.Robot:
    """A four-bar with crank, coupler, rocker and ground of these lengths, driven at `port`."""
    a, b, c, d = lengths
    text = (MODELS / "fourbar.yaml").read_text()
    for old, new in (
        ("name: fourbar", f"name: {name}"),
        ("xyz: [0.3, 0.0, 0.0]", f"xyz: [{a}, 0.0, 0.0]"),
        ("xyz: [1.0, 0.0, 0.0]", f"xyz: [{b}, 0.0, 0.0]"),
        ("xyz: [0.6, 0.0, 0.0]", f"xyz: [{c}, 0.0, 0.0]"),
        ("xyz: [0.9, 0.0, 0.0]", f"xyz: [{d}, 0.0, 0.0]"),
        ("motor: {joint: j_ga,", f"motor: {{joint: {port},"),
    ):
        assert old in text
        text = text.replace(old, new)
    head, _, _ = text.partition("reference:")
    rest = f"reference: {{joints: {{j_ga: {crank}, j_ab: -0.3, j_bc: 0.8, j_cg: -1.1}}}}\n"
    (folder / f"{name}.yaml").write_text(head + rest)
    return rc.compile(folder / f"{name}.yaml", output=folder, extra_flags=("-O0",))


def test_the_crank_of_a_grashof_fourbar_turns_fully(compiled: GET, build_folder: Path) -> None:
    robot, found = shipped(compiled, build_folder, "fourbar")
    motor = found["motor"]
    assert 0.3 + 1.0 < 0.9 + 0.6  # Grashof's condition, with the crank shortest
    assert (motor.lower.cause, motor.upper.cause) == (Cause.SEARCHED, Cause.SEARCHED)
    assert motor.upper.displacement - motor.reference == pytest.approx(2 * math.pi, abs=1e-12)
    assert motor.reference - motor.lower.displacement == pytest.approx(2 * math.pi, abs=1e-12)
    turned = motor.upper.q - robot.reference  # the whole linkage is back where it was
    assert np.sin(turned / 2) == pytest.approx(np.zeros(4), abs=1e-9)


def test_the_crank_of_another_fourbar_ends_where_coupler_and_rocker_are_in_line(tmp_path: Path) -> None:
    a, b, c, d = 0.5, 0.6, 0.6, 0.9
    robot = fourbar(tmp_path, "rocking", (a, b, c, d), "j_ga", 0.7)
    found = ranges(robot, tmp_path / "rocking", read_mechanism(tmp_path / "rocking.yaml"))["motor"]
    extreme = math.acos((a**2 + d**2 - (b + c) ** 2) / (2 * a * d))  # the triangle of crank, ground and b + c
    assert found.lower.displacement == pytest.approx(-extreme, abs=1e-6)
    assert found.upper.displacement == pytest.approx(extreme, abs=1e-6)
    assert {found.lower.cause, found.upper.cause} == {Cause.DEAD_CENTRE}
    for end in (found.lower, found.upper):
        assert abs(robot.residual(end.q)).max() < 1e-10
        assert end.joint in ("j_ab", "j_cg", "j_bc")


def test_a_driven_rocker_ends_where_crank_and_coupler_are_in_line(tmp_path: Path) -> None:
    a, b, c, d = 0.3, 1.0, 0.6, 0.9
    robot = fourbar(tmp_path, "driven", (a, b, c, d), "j_cg", 0.7)
    found = ranges(robot, tmp_path / "driven", read_mechanism(tmp_path / "driven.yaml"))["motor"]

    def rocker(reach: float) -> float:
        """The angle at the rocker's pivot between ground and rocker when its tip is this far from the crank's pivot."""
        return math.acos((d**2 + c**2 - reach**2) / (2 * d * c))

    turn, pivot = robot.pose("rocker", robot.reference)
    now = rocker(float(np.linalg.norm(pivot + turn @ [c, 0.0, 0.0])))
    outer, inner = rocker(a + b), rocker(b - a)
    both = sorted(abs(end.displacement - found.reference) for end in (found.lower, found.upper))
    assert both == pytest.approx(sorted([outer - now, now - inner]), abs=1e-6)
    assert {found.lower.cause, found.upper.cause} == {Cause.DEAD_CENTRE}


def test_the_legs_of_the_platform_reach_their_limits(compiled: GET, build_folder: Path) -> None:
    robot, found = shipped(compiled, build_folder, "stewart")
    assert len(found) == 6
    for k, leg in enumerate(found.values()):
        assert (leg.lower.displacement, leg.upper.displacement) == pytest.approx((0.5, 0.91), abs=1e-8)
        assert {leg.lower.cause, leg.upper.cause} == {Cause.JOINT_LIMIT}
        assert leg.lower.joint == leg.upper.joint == f"leg_{k}_length"
        others = [i for i in range(6) if i != k]
        for end in (leg.lower, leg.upper):  # the other five stand still, and the loops are closed
            held = robot.port_displacement(end.q)[others]
            assert held == pytest.approx(robot.port_displacement(robot.reference)[others], abs=1e-12)
            assert abs(robot.residual(end.q)).max() < 1e-10


def test_a_crane_is_stopped_by_the_limit_of_another_joint_and_by_its_own(compiled: GET, build_folder: Path) -> None:
    _, found = shipped(compiled, build_folder, "crane")
    lift = found["lift"]

    def stroke(hinge: float) -> float:
        """Two points of tower and boom, less the parts of the cylinder that do not move."""
        x, z = 1.2 * math.cos(hinge) + 0.1 * math.sin(hinge), 1.2 * math.sin(hinge) - 0.1 * math.cos(hinge)
        return math.hypot(0.2 + x - 0.35, 1.5 + z - 0.6) - 0.1 - 0.95

    assert lift.reference == pytest.approx(stroke(0.5), abs=1e-9)
    assert lift.lower.displacement == pytest.approx(stroke(-0.2), abs=1e-8)
    assert (lift.lower.cause, lift.lower.joint) == (Cause.JOINT_LIMIT, "hinge")
    assert lift.upper.displacement == 0.9 < stroke(1.2)
    assert lift.upper.cause is Cause.PORT_LIMIT
    assert (found["slew"].lower.cause, found["slew"].upper.cause) == (Cause.SEARCHED, Cause.SEARCHED)


def test_a_gripper_starts_at_its_limit_and_closes(compiled: GET, build_folder: Path) -> None:
    _, found = shipped(compiled, build_folder, "panda")
    gripper = found["gripper_force"]  # the opening, two fingers of 0.04 m
    assert (gripper.lower.displacement, gripper.upper.displacement) == pytest.approx((0.0, 0.08), abs=1e-8)
    assert found["joint4_torque"].lower.displacement == pytest.approx(-3.0718, abs=1e-8)
    assert found["joint4_torque"].upper.displacement == pytest.approx(-0.0698, abs=1e-8)


def test_ports_that_cannot_move_apart_are_carried(tmp_path: Path) -> None:
    text = (MODELS / "fourbar.yaml").read_text().replace("name: fourbar", "name: twin")
    text = text.replace("ports:\n", "ports:\n  helper: {joint: j_cg}\n  locked: {terms: {j_ga: 1.0, j_sum: 1.0}}\n")
    text = text.replace(
        "ports:\n", "couplings: {tied: {terms: {j_ga: 1.0, j_sum: 1.0}, constant: -0.7}}\n\nports:\n", 1
    ).replace(
        "joints:\n", "joints:\n  j_sum: {type: revolute, a: {body: world}, b: {body: drum}, axis: [0, 1, 0]}\n", 1
    )
    text = text.replace(
        "bodies:\n", "bodies:\n  drum: {mass: 0.1, com: [0, 0, 0], inertia: [0.001, 0.001, 0.001, 0, 0, 0]}\n", 1
    )
    (tmp_path / "twin.yaml").write_text(text)
    mechanism = read_mechanism(tmp_path / "twin.yaml")
    robot = rc.compile(mechanism, output=tmp_path, extra_flags=("-O0",))
    manifest = read_manifest(find_manifest(tmp_path / "twin"))
    sizes = port_sizes(mechanism, manifest)
    names = [port.name for port in robot.ports]
    motor = port_range(robot, names.index("motor"), sizes)
    assert motor.carried == ("helper",)
    assert motor.upper.cause is Cause.SEARCHED
    locked = port_range(robot, names.index("locked"), sizes)
    assert locked.lower == locked.upper and locked.upper.cause is Cause.LOCKED
    port = next(port for port in mechanism.ports if port.name == "locked")
    assert reach_of(locked, port, manifest).verdict.startswith("held by the loops")


@pytest.mark.parametrize("seed", [1, 6, 12])
def test_ends_of_random_mechanisms_are_closed_within_limits_and_hold_the_other_ports(seed: int, tmp_path: Path) -> None:
    records = random_mechanism(seed).mechanism
    robot = rc.compile(records, output=tmp_path, extra_flags=("-O0",))
    names = [port.name for port in robot.ports]
    found = ranges(robot, tmp_path / robot.name, records)
    assert set(found) == set(names)
    bounds = {j.name: entry.position for j in records.joints for entry in j.limits if len(j.limits) == 1}
    start = robot.port_displacement(robot.reference)
    for port, reach in found.items():
        held = [k for k, name in enumerate(names) if name != port and name not in reach.carried]
        for end in (reach.lower, reach.upper):
            assert abs(robot.residual(end.q)).max(initial=0.0) < 1e-9
            now = robot.port_displacement(end.q)
            assert now[names.index(port)] == pytest.approx(end.displacement, abs=1e-12)
            assert now[held] == pytest.approx(start[held], abs=1e-8)
            for joint, interval in bounds.items():
                if interval is not None:
                    assert interval[0] - 2e-9 <= robot.joint(end.q, joint) <= interval[1] + 2e-9
        assert reach.lower.displacement <= reach.reference <= reach.upper.displacement


def test_declared_limits_are_compared_with_what_is_reached(compiled: GET, build_folder: Path) -> None:
    _, found = shipped(compiled, build_folder, "crane")
    mechanism, manifest = read_mechanism(MODELS / "crane.yaml"), read_manifest(find_manifest(build_folder / "crane"))
    ports = {port.name: port for port in mechanism.ports}
    assert declared_interval(ports["lift"], manifest) == (0.0, 0.9)
    assert declared_interval(ports["slew"], manifest) is None
    lift, slew = (reach_of(found[name], ports[name], manifest) for name in ("lift", "slew"))
    assert lift.verdict == "lower limit not reached"
    assert lift.ends == ("joint limit of hinge", "limit of the port")
    assert slew.verdict == "no limits declared"
    assert slew.ends == ("no end within one turn",) * 2
    assert reach_of(found["extension"], ports["extension"], manifest).verdict == "both limits reached"
