"""Assembly of whole robots: perturbed dependents come back, to the same branch, with the independents untouched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.reader import read_mechanism

Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"
ROBOTS = ("stewart", "excavator", "go2", "panda", "kangaroo")
TEACHING = ("fourbar", "slider_crank", "five_bar", "parallel_ankle")
SPINNING = {"rssr": ("cr", "ro"), "delta": ("arm0", "arm1", "arm2", "plate")}  # idle rods: these bodies do not spin
RADIANS, METRES = 0.2, 0.02


def spans(robot: rc.Robot, model: str) -> Array:
    """The largest perturbation of every velocity (nv,): RADIANS or METRES by its unit."""
    mechanism = read_mechanism(MODELS / f"{model}.yaml")
    kinds = {joint.name: joint.type for joint in mechanism.joints}
    sizes = []
    for name in robot.velocities:
        joint, _, suffix = name.partition(":")
        shape = JOINT_SHAPES[kinds.get(joint, JointType.FREE)]
        unit = shape.velocity_units[shape.velocities.index(suffix)]
        sizes.append(METRES if unit == "m/s" else RADIANS)
    return np.array(sizes)


def perturbed(robot: rc.Robot, q: Array, span: Array, random: np.random.Generator) -> Array:
    """q with all dependents moved at random within `span`, independents untouched."""
    dv = random.uniform(-1, 1, span.size) * span
    dv[[robot.velocities.index(name) for name in robot.independent]] = 0.0
    start = robot.integrate(q, dv)
    for k in held_coordinates(robot):  # integration renormalises quaternions: keep the held ones to the last bit
        start[k] = q[k]
    return start


def held_coordinates(robot: rc.Robot) -> list[int]:
    """Coordinates that the independents fix: their own, and all of a free root whose six speeds are independent."""
    names = set(robot.independent)
    found = [k for k, name in enumerate(robot.coordinates) if name in names]
    for joint in {name.partition(":")[0] for name in names if ":" in name}:
        own = [name for name in robot.velocities if name.partition(":")[0] == joint]
        if set(own) <= names:
            found += [k for k, name in enumerate(robot.coordinates) if name.partition(":")[0] == joint]
    return sorted(set(found))


def closed_bound(robot: rc.Robot) -> float:
    """1e-12, or what the redundant rows of the records disagree by at the reference."""
    return max(1e-12, 4 * float(np.abs(robot.residual(robot.reference)).max(initial=0.0)))


def check_return(robot: rc.Robot, start: Array, wanted: Array) -> Array:
    """Assemble `start`; closed, the held coordinates bit for bit, the input untouched, the result a fixed point."""
    kept = start.copy()
    found = robot.assemble(start)
    np.testing.assert_array_equal(start, kept)
    held = held_coordinates(robot)
    np.testing.assert_array_equal(found[held], start[held])
    assert np.abs(robot.residual(found)).max(initial=0.0) <= closed_bound(robot)
    np.testing.assert_array_equal(robot.assemble(found), found)
    assert found.shape == wanted.shape
    return found


def moved(robot: rc.Robot, q: Array, span: Array, random: np.random.Generator) -> Array:
    """An assembled configuration some way along the mechanism, inside the joint limits."""
    speeds = [robot.velocities.index(name) for name in robot.independent]
    for shrink in 2.0 ** -np.arange(8):
        for _ in range(4):  # other directions too: next to a limit, half of them lead out of it
            du = random.uniform(-1, 1, len(speeds)) * span[speeds] * shrink
            try:
                return robot.assemble(robot.integrate(q, robot.velocity(q, du)))
            except rc.AssemblyError:  # a joint limit or the end of the workspace: elsewhere, or less far
                continue
    raise AssertionError("no motion is possible from here")


@pytest.mark.parametrize("model", [*ROBOTS, *TEACHING])
def test_perturbed_dependents_come_back(model: str, compiled) -> None:
    robot, random = compiled(model), np.random.default_rng(2)
    span, reference = spans(robot, model), robot.reference
    for _ in range(100):
        start = perturbed(robot, reference, span, random)
        found = check_return(robot, start, reference)
        np.testing.assert_allclose(found, reference, rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", list(SPINNING))
def test_perturbed_dependents_come_back_except_for_idle_spins(model: str, compiled) -> None:
    robot, random = compiled(model), np.random.default_rng(3)
    span, reference = spans(robot, model), robot.reference
    for _ in range(50):
        found = check_return(robot, perturbed(robot, reference, span, random), reference)
        for body in SPINNING[model]:
            for mine, theirs in zip(robot.pose(body, found), robot.pose(body, reference), strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9, err_msg=body)


@pytest.mark.parametrize("model", ["stewart", "excavator", "panda", *TEACHING])
def test_perturbed_dependents_come_back_elsewhere_on_the_mechanism(model: str, compiled) -> None:
    """A walk along the mechanism inside its limits, one perturbation per station."""
    robot, random = compiled(model), np.random.default_rng(4)
    span, q = spans(robot, model), robot.reference
    travelled = 0.0
    for _ in range(15):
        ahead = moved(robot, q, span, random)
        travelled += float(np.abs(ahead - q).max())
        q = ahead
        found = check_return(robot, perturbed(robot, q, span, random), q)
        np.testing.assert_allclose(found, q, rtol=0, atol=1e-9)
    assert travelled > 0.1  # the walk has left the reference


@pytest.mark.parametrize("model", [*ROBOTS, *TEACHING, *SPINNING])
def test_assembled_states_come_back_bit_for_bit(model: str, compiled) -> None:
    robot, random = compiled(model), np.random.default_rng(5)
    span, q = spans(robot, model), robot.reference
    for _ in range(4):
        again = robot.assemble(q)
        np.testing.assert_array_equal(again, q)
        assert again is not q
        q = moved(robot, q, span, random)


@pytest.mark.parametrize("model", ["stewart", "excavator", "parallel_ankle", "five_bar"])
def test_the_inner_chart_assembles_to_the_same_mechanism(model: str, compiled) -> None:
    """Held there are other coordinates; the result is closed, on the same branch, and keeps those."""
    robot = compiled(model).chart("inner")
    random, span, reference = np.random.default_rng(6), spans(robot, model), robot.reference
    for _ in range(25):
        found = check_return(robot, perturbed(robot, reference, span, random), reference)
        np.testing.assert_allclose(found, reference, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "hold"),
    [
        ("stewart", ["leg_0_u_x", "leg_0_u_y", "leg_0_length"]),
        ("excavator", ["q0"]),
        ("fourbar", ["j_cg"]),
        ("five_bar", []),
        ("panda", ["finger_joint2"]),
    ],
)
def test_held_joints_stay_and_the_others_close(model: str, hold: list[str], compiled) -> None:
    robot, random = compiled(model), np.random.default_rng(7)
    span, reference = spans(robot, model), robot.reference
    own = [robot.coordinates.index(name) for name in hold]
    for _ in range(10):
        dv = random.uniform(-0.2, 0.2, span.size) * span
        dv[[robot.velocities.index(name) for name in hold]] = 0.0
        start = robot.integrate(reference, dv)
        found = robot.assemble(start, hold=hold)
        np.testing.assert_array_equal(found[own], start[own])
        assert np.abs(robot.residual(found)).max() <= closed_bound(robot)
        assert np.abs(found - reference).max() < 1.0  # near: the smallest correction, not another assembly


def test_holding_the_independents_by_name_is_the_default(compiled) -> None:
    robot, random = compiled("five_bar"), np.random.default_rng(8)
    start = perturbed(robot, robot.reference, spans(robot, "five_bar"), random)
    np.testing.assert_allclose(
        robot.assemble(start, hold=list(robot.independent)), robot.assemble(start), rtol=0, atol=1e-11
    )
