"""Supports with other footholds: the anchors of contacts are run-time parameters of the compiled modes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from walker import built_walker, equals_the_oracle, moved, reduced, walker

import robocompiler as rc
from robocompiler.analysis.standing import standing_mechanism
from robocompiler.errors import AssemblyError
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.pinocchio_adapter import PinocchioModel
from robocompiler.records.reader import read_mechanism
from robocompiler.records.rotations import rotation_of_rpy

Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"
FOOTHOLDS = (np.array([0.16, 0.2, 0.04]), np.array([0.1, 0.2, 0.0]))


@pytest.fixture(scope="module")
def robot(build_folder: Path) -> rc.Robot:
    """The floating walker."""
    return rc.load(built_walker(build_folder))


def footholds(robot: rc.Robot) -> tuple[tuple[Array, Array], Array]:
    """Left foot (R, p) and right foot p: the reference's, turned and carried away together, then 5 cm further apart."""
    R, shift = np.array(rotation_of_rpy((0.1, -0.2, 0.5))), np.array([0.35, 0.15, 0.1])
    (turn, left), (_, right) = (robot.pose(f"{side}_foot", robot.reference) for side in ("left", "right"))
    return (R @ turn, R @ left + shift), R @ right + shift + np.array([0.03, -0.03, 0.02])


def test_anchors_start_where_the_frames_stand(robot: rc.Robot) -> None:
    anchors = robot.support("both feet").anchors
    assert list(anchors) == ["left_foot", "right_foot"]
    R, p = robot.pose("left_foot", robot.reference)
    np.testing.assert_allclose(anchors["left_foot"][0], R, atol=1e-15)
    np.testing.assert_allclose(anchors["left_foot"][1], p, atol=1e-15)
    assert anchors["right_foot"][0] is None
    np.testing.assert_allclose(anchors["right_foot"][1], robot.pose("right_foot", robot.reference)[1], atol=1e-15)
    assert robot.anchors == {}


@pytest.mark.parametrize("chart", ["port", "inner"])
def test_feet_stand_where_they_are_put(robot: rc.Robot, chart: str) -> None:
    there = robot.with_parameters({"payload": 1.0}).support("both feet").chart(chart)
    left, right = footholds(robot)
    held = there.at({"left_foot": left, "right_foot": right})
    assert (held.chart_name, held.parameters["payload"]) == (chart, 1.0)
    q = held.assemble(held.reference)
    assert np.abs(held.residual(q)).max() < 1e-12
    np.testing.assert_allclose(held.pose("left_foot", q)[0], left[0], atol=1e-12)
    np.testing.assert_allclose(held.pose("left_foot", q)[1], left[1], atol=1e-12)
    np.testing.assert_allclose(held.pose("right_foot", q)[1], right, atol=1e-12)
    assert np.abs(held.task_jacobian("left_foot", q)).max() < 1e-12
    assert np.abs(held.task_jacobian("right_foot", q)[3:]).max() < 1e-12
    assert np.abs(there.residual(q)).max() > 0.1  # the same configuration is open at the old footholds
    # frames left out stay; a pose serves a point; what comes out goes in
    again = held.at({"right_foot": robot.pose("right_foot", robot.reference)})
    np.testing.assert_allclose(again.anchors["left_foot"][0], left[0], atol=1e-15)
    np.testing.assert_allclose(again.anchors["right_foot"][1], there.anchors["right_foot"][1], atol=1e-15)


def test_dynamics_at_other_footholds_equal_the_oracles(robot: rc.Robot) -> None:
    left, right = footholds(robot)
    held = robot.support("both feet").at({"left_foot": left, "right_foot": right})
    q = held.assemble(held.reference)
    step = held.velocity(q, np.random.default_rng(4).uniform(-0.1, 0.1, len(held.independent)))
    anchors = {"left_foot": (left[0].tolist(), left[1].tolist()), "right_foot": (np.eye(3).tolist(), right.tolist())}
    q = held.assemble(held.integrate(q, step))
    equals_the_oracle(held, MaximalModel(walker(), support="both feet"), q, 4, anchors)
    # the records of the mode with the same parameters are the same mechanism
    program, reduction = reduced(walker())
    records = standing_mechanism(program, reduction, "both feet")
    assert records.defaults.keys() == held.parameters.keys()
    oracle = MaximalModel(records, held.parameters)
    pose = oracle.pose(dict(zip(held.coordinates, map(float, q), strict=True)))
    assert max(abs(float(gap)) for gap in oracle.gaps(pose)) < 1e-12
    engine = PinocchioModel(records, held.parameters)
    poses = engine.body_poses(engine.configuration(dict(zip(held.coordinates, map(float, q), strict=True))))
    np.testing.assert_allclose(poses["trunk"][0], held.pose("trunk", q)[0], atol=1e-12)
    np.testing.assert_allclose(poses["trunk"][1], held.pose("trunk", q)[1], atol=1e-12)


def test_bad_footholds_are_refused(robot: rc.Robot) -> None:
    held = robot.support("both feet")
    left, _ = footholds(robot)
    with pytest.raises(ValueError, match="held by no support mode"):
        robot.at({"left_foot": left})
    with pytest.raises(ValueError, match="no held frame is called 'left_fot'; did you mean 'left_foot'"):
        held.at({"left_fot": left})
    with pytest.raises(ValueError, match=r"the anchor of the weld 'left_foot' must be \(R, p\)"):
        held.at({"left_foot": left[1]})
    with pytest.raises(ValueError, match="'right_foot' must be p"):
        held.at({"right_foot": [0.0, np.nan, 0.0]})
    with pytest.raises(ValueError, match="'left_foot' has no rotation matrix"):
        held.at({"left_foot": (np.diag([1.0, 1.0, -1.0]), left[1])})
    with pytest.raises(ValueError, match=r"'left_foot' must be a finite \(3, 3\) matrix"):
        held.at({"left_foot": (np.eye(2), left[1])})
    with pytest.raises(ValueError, match="quaternion of the anchor of 'left_foot' has norm"):
        held.with_parameters({"anchor:left_foot:qw": 2.0})
    far = held.at({"left_foot": left, "right_foot": np.array([3.0, 0.0, 0.0])})
    with pytest.raises(AssemblyError):
        far.assemble(far.reference)


def test_go2_feet_stay_put(compiled: Callable[[str], rc.Robot], tmp_path: Path) -> None:
    records = read_mechanism(MODELS / "go2.yaml")
    held = rc.compile(standing_mechanism(*reduced(records), "FL_RR"), output=tmp_path, extra_flags=("-O0",))
    free = compiled("go2")
    assert set(free.coordinates) < set(held.coordinates)
    assert held.closures == ("FL_contact_support", "RR_contact_support")
    for seed in range(2):
        q = moved(held, seed)
        for frame in ("FL_contact", "RR_contact"):
            assert np.abs(held.task_jacobian(frame, q)[3:]).max() < 1e-12
            np.testing.assert_allclose(held.pose(frame, q)[1], free.pose(frame, free.reference)[1], atol=1e-12)
        assert np.abs(held.task_jacobian("FR_contact", q)[3:]).max() > 0.1
        assert np.abs(held.closure_jacobian(q) @ held.lift(q)).max() < 1e-11
    # a step to the side, longer by 6 cm, and up a stair
    places = {name: p + shift for (name, (_, p)), shift in zip(held.anchors.items(), FOOTHOLDS, strict=True)}
    stepped = held.at(places)
    q = stepped.assemble(stepped.reference)
    for frame, p in places.items():
        np.testing.assert_allclose(stepped.pose(frame, q)[1], p, atol=1e-12)
    anchors = {frame: (np.eye(3).tolist(), p.tolist()) for frame, p in places.items()}
    equals_the_oracle(stepped, MaximalModel(records, support="FL_RR"), q, 1, anchors)
