"""MJCF to records: equalities, tendons, actuators, keyframes; MuJoCo has the last word on residuals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from import_engines import tree_of
from import_support import at, messages, problems
from mjcf_text import RADIAN, body, engine, load, model, same_tree, world

from robocompiler.importers.import_model import Imported
from robocompiler.importers.options import ImportOptions
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import CoordinateSum, Distance

TWO_ROOTS = model(
    RADIAN,
    world(
        body("a", '<joint name="ja" axis="0 1 0"/>' + body("c", '<joint name="jc" axis="0 1 0"/>', 'pos="0.4 0 0"')),
        body("b", '<joint name="jb" axis="0 1 0"/>', 'pos="0.8 0 0"'),
    ),
    '<equality><connect name="tie" body1="c" body2="b" anchor="0.4 0 0"/></equality>',
)


def test_two_root_bodies_and_the_connect_between_them(tmp_path: Path) -> None:  # C55
    records = same_tree(tmp_path, TWO_ROOTS, "tie")
    assert [joint.name for joint in records.joints] == ["ja", "jc", "jb", "tie"]
    assert records.joint("jb").a.body == "world"
    tie = records.joint("tie")
    assert (tie.type, tie.a.body, tie.b.body) == (JointType.SPHERICAL, "c", "b")
    assert tie.b.translation == pytest.approx((0, 0, 0))


def test_the_second_anchor_of_a_connect_is_fixed_at_qpos0(tmp_path: Path) -> None:  # C14
    text = model(
        RADIAN,
        world(
            body("a", '<joint name="ja" axis="0 1 0" ref=".3"/>'),
            body("b", '<joint name="jb" axis="0 1 0" ref="-.5"/>', 'pos=".5 0 0"'),
        ),
        '<equality><connect name="tie" body1="a" body2="b" anchor=".4 0 .1"/></equality>',
    )
    records = same_tree(tmp_path, text, "tie")
    tie = records.joint("tie")
    assert tie.b.translation == pytest.approx((-0.1, 0, 0.1), abs=1e-15)
    assert dict(records.reference.coordinates) == {"ja": 0.3, "jb": -0.5}
    for values, gap in (({"ja": 0.3, "jb": -0.5}, [0, 0, 0]), ({}, [-0.1076017227, 0, 0.0780409215])):
        poses = MaximalModel(tree_of(records, "tie"))
        pose = poses.pose({"ja": 0.0, "jb": 0.0, **values})
        ends = []
        for side in (tie.a, tie.b):
            R, p = (np.array(part, float) for part in poses.frame_pose(side.body, pose))
            ends.append(p + R @ np.array(side.translation))
        assert ends[0] - ends[1] == pytest.approx(gap, abs=1e-9)


def test_the_site_form_of_connect_assumes_no_closure(tmp_path: Path) -> None:  # C14
    text = model(
        RADIAN,
        world(
            body("a", '<joint name="ja" axis="0 1 0"/><site name="sa" pos=".4 0 .1"/>'),
            body("b", '<joint name="jb" axis="0 1 0"/><site name="sb" pos="-.2 0 .25"/>', 'pos=".5 0 0"'),
        ),
        '<equality><connect name="tie" site1="sa" site2="sb"/></equality>',
    )
    records = same_tree(tmp_path, text, "tie")
    tie = records.joint("tie")
    assert (tie.a.translation, tie.b.translation) == ((0.4, 0, 0.1), (-0.2, 0, 0.25))
    oracle = MaximalModel(records)
    pose = oracle.project(oracle.pose({"ja": -0.4, "jb": 0.1}), [])
    assert [float(pose.values[name]) for name in ("ja", "jb")] == pytest.approx([-0.44689719, 0.06819342], abs=1e-7)
    assert [frame.name for frame in records.frames] == ["sa", "sb"]


CHAIN = world(
    body(
        "a",
        '<joint name="x" axis="0 1 0" ref=".2"/><site name="sa" pos="0 0 .3"/>'
        + body(
            "b",
            '<joint name="y" axis="0 1 0" ref="-.1"/>' + body("c", '<joint name="z" type="slide"/>', 'pos=".3 0 0"'),
            'pos=".4 0 0"',
        ),
    ),
    '<site name="ground" pos="0 0 -.5"/>',
)
TENDONS = (
    '<tendon><fixed name="t1"><joint joint="x" coef="2"/><joint joint="y" coef="-.5"/></fixed>'
    '<fixed name="t2"><joint joint="z" coef="3"/></fixed>'
    '<spatial name="cable"><site site="ground"/><site site="sa"/></spatial></tendon>'
)


@pytest.mark.parametrize(
    "equality",
    [
        '<joint name="e" joint1="x" joint2="y"/>',
        '<joint name="e" joint1="x" joint2="y" polycoef=".3 -1.5"/>',
        '<joint name="e" joint1="x" joint2="y" polycoef=".3 -1.5 .7 0 -.2"/>',
        '<joint name="e" joint1="x" polycoef=".25 1"/>',
        '<joint name="e" joint1="x" joint2="y" polycoef=".25"/>',
        '<tendon name="e" tendon1="t1" tendon2="t2" polycoef=".1 .5"/>',
        '<tendon name="e" tendon1="t1" tendon2="t2" polycoef=".1 .5 2"/>',
        '<tendon name="e" tendon1="t1"/>',
    ],
)
def test_equalities_between_coordinates_vanish_where_mujoco_says(tmp_path: Path, equality: str) -> None:
    text = model(RADIAN, CHAIN, TENDONS, f"<equality>{equality}</equality>")
    (coupling,) = load(tmp_path, text).mechanism.couplings
    mujoco, theirs = (
        pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile"),
        engine(tmp_path, text),
    )
    data = mujoco.MjData(theirs)
    for seed in range(4):
        q = np.random.default_rng(seed).uniform(-1, 1, 3)
        data.qpos[:] = q
        mujoco.mj_forward(theirs, data)
        assert data.efc_type[0] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        value = evaluate(coupling.expression, dict(zip("xyz", q.tolist(), strict=True)))
        assert value == pytest.approx(data.efc_pos[0], abs=1e-12)


def test_welds_close_at_qpos0_or_at_their_relpose(tmp_path: Path) -> None:
    bodies = world(
        body("a", '<joint name="ja" axis="0 1 0" pos="0 0 .1"/>', 'pos="1 0 0" quat="1 1 0 0"'),
        body("b", '<joint name="jb" axis="1 1 0"/>', 'pos="0 2 0" quat="1 0 0 -1"'),
    )
    for weld in (
        '<weld name="w" body1="a" body2="b"/>',
        '<weld name="w" body1="a" body2="b" relpose=".1 .2 .3 1 .2 0 0"/>',
        '<weld name="w" body1="a"/>',
    ):
        text = model(RADIAN, bodies, f"<equality>{weld}</equality>")
        records = load(tmp_path, text).mechanism
        joint = records.joint("w")
        assert joint.type is JointType.FIXED
        mujoco, theirs = (
            pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile"),
            engine(tmp_path, text),
        )
        data = mujoco.MjData(theirs)
        data.qpos[:] = (0.3, -0.2)
        mujoco.mj_forward(theirs, data)
        oracle = MaximalModel(tree_of(records, "w"))
        pose = oracle.pose({"ja": 0.3, "jb": -0.2})
        ends = []
        for side in (joint.a, joint.b):
            R, p = np.eye(3), np.zeros(3)
            if side.body != "world":
                R, p = (np.array(part, float) for part in oracle.frame_pose(side.body, pose))
            ends.append((R @ np.array(side.rotation), p + R @ np.array(side.translation, float)))
        gap = ends[0][1] - ends[1][1]
        assert np.linalg.norm(gap) == pytest.approx(np.linalg.norm(data.efc_pos[:3]), abs=1e-12)
        turn = ends[0][0].T @ ends[1][0]
        sine = math.sqrt(max(0.0, (3 - np.trace(turn)) / 4))  # of half the angle, which is what MuJoCo's rows hold
        assert sine == pytest.approx(np.linalg.norm(data.efc_pos[3:6]), abs=1e-9)


def test_three_connects_off_one_line_are_a_weld_and_one_point_twice_a_ball(tmp_path: Path) -> None:
    bodies = world(body("a", '<joint name="ja"/>'), body("b", '<joint name="jb"/>', 'pos="0 2 0" quat="1 0 0 -1"'))

    def kinds(*anchors: str) -> list[JointType]:
        ties = "".join(f'<connect name="t{k}" body1="a" body2="b" anchor="{p}"/>' for k, p in enumerate(anchors))
        found = load(tmp_path, model(bodies, f"<equality>{ties}</equality>")).mechanism
        return [joint.type for joint in found.joints[2:]]

    assert kinds("0 0 0", "1 0 0", "0 1 0") == [JointType.FIXED]
    assert kinds("0 0 0", "1 0 0", "2 0 0") == [JointType.REVOLUTE]
    assert kinds("0 0 0", "0 0 0") == [JointType.SPHERICAL]


def test_two_site_connects_whose_distances_differ_stay_two_balls_and_it_is_said(tmp_path: Path) -> None:
    def found(second: str) -> Imported:
        text = model(
            world(
                body("a", '<joint name="ja"/><site name="a1"/><site name="a2" pos="1 0 0"/>'),
                body("b", f'<freejoint/><site name="b1"/><site name="b2" pos="{second}"/>'),
            ),
            '<equality><connect name="p_1" site1="a1" site2="b1"/>'
            '<connect name="p_2" site1="a2" site2="b2"/></equality>',
        )
        return load(tmp_path, text)

    hinge = found("0 1 0").mechanism.joint("p")
    assert hinge.type is JointType.REVOLUTE
    assert np.array(hinge.b.rotation) @ hinge.axis == pytest.approx([0, 1, 0])
    apart = found("0 1.001 0")
    assert [joint.name for joint in apart.mechanism.joints] == ["ja", "p_1", "p_2"]
    assert any("0.001 m farther apart" in text for text in messages(apart, "assumed"))


def test_actuators_become_ports(tmp_path: Path) -> None:
    drives = """<actuator>
      <motor name="m" joint="x" gear="50" ctrlrange="-2 2"/>
      <motor name="n" joint="y" forcerange="-3 4" ctrlrange="-9 9"/>
      <position name="p" joint="z" kp="100" ctrlrange="-.1 .2" forcerange="-7 7"/>
      <velocity joint="z" kv="3" ctrlrange="-1 1"/>
      <motor name="both" tendon="t1" gear="2"/>
      <motor name="line" tendon="cable"/>
      <general name="g" joint="x" gainprm="4" ctrlrange="-1 1"/>
      <motor name="thrust" site="sa" gear="0 0 1 0 0 0"/>
    </actuator>"""
    found = load(tmp_path, model(RADIAN, CHAIN, TENDONS, drives))
    ports = {port.name: port for port in found.mechanism.ports}
    assert list(ports) == ["m", "n", "p", "z_velocity", "both", "line", "g"]
    assert ports["m"].measure == CoordinateSum((("x", 50.0),))
    assert ports["m"].limits.effort == 2
    assert ports["n"].limits.effort == 4
    assert (ports["p"].limits.position, ports["p"].limits.effort) == ((-0.1, 0.2), 7)
    assert ports["z_velocity"].limits.velocity == 1
    assert ports["both"].measure == CoordinateSum((("x", 4.0), ("y", -1.0)))
    assert ports["g"].limits.effort == 4
    line = ports["line"].measure
    assert isinstance(line, Distance)
    assert (line.a.body, line.a.position, line.b.body) == ("world", (0, 0, -0.5), "a")
    told = messages(found, "left out")
    assert any("servo gains" in text for text in told)
    assert any("actuators on a site" in text for text in told)


def test_a_keyframe_is_chosen_by_name_and_must_fit(tmp_path: Path) -> None:
    keys = '<keyframe><key name="k1" qpos=".1 .2 .3"/><key name="k2" qpos=".4 .5 .6"/></keyframe>'
    text = model(RADIAN, CHAIN, keys)
    assert dict(load(tmp_path, text).mechanism.reference.coordinates) == {"x": 0.1, "y": 0.2, "z": 0.3}
    second = load(tmp_path, text, ImportOptions(key="k2")).mechanism
    assert dict(second.reference.coordinates) == {"x": 0.4, "y": 0.5, "z": 0.6}
    (problem,) = problems(tmp_path, text, "robot.xml", ImportOptions(key="k3"))
    assert problem.message == "no keyframe is called 'k3' (the file has: 'k1', 'k2')"
    (problem,) = problems(tmp_path, text.replace(".1 .2 .3", ".1 .2"), "robot.xml")
    assert "needs 3 numbers, found 2" in problem.message
    assert problem.record == "key 'k1'"


def test_closing_joints_start_where_the_keyframe_has_the_bodies(tmp_path: Path) -> None:
    parts = TWO_ROOTS.replace("</mujoco>", '<keyframe><key qpos="-.3 .8 .1"/></keyframe></mujoco>')
    records = load(tmp_path, parts).mechanism
    values = dict(records.reference.coordinates)
    turn = 2 * math.atan2(values["tie:qy"], values["tie:qw"])
    assert turn == pytest.approx(0.1 - (-0.3 + 0.8))
    assert load(tmp_path, TWO_ROOTS).mechanism.reference.coordinates == ()


def test_a_hinge_of_two_connects_is_the_same_constraint_as_two_balls(tmp_path: Path) -> None:
    text = model(
        RADIAN,
        world(
            body("a", '<joint name="ja" axis="0 1 0"/>' + body("b", '<joint name="jb" axis="0 1 0"/>', 'pos="0 0 .3"')),
            body("c", '<joint name="jc" axis="0 1 0"/>', 'pos=".5 0 0"'),
        ),
        '<equality><connect name="p1" body1="b" body2="c" anchor=".45 -.1 .1"/>'
        '<connect name="p2" body1="b" body2="c" anchor=".45 .1 .1"/></equality>',
    )
    results = []
    for hinges in (True, False):
        records = load(tmp_path, text, ImportOptions(hinges=hinges)).mechanism
        assert len(records.joints) == (4 if hinges else 5)
        oracle, state = at(records, {"ja": 0.2}, {"ja": 0.9})
        reduced = oracle.reduced(state)
        results.append([float(reduced.M[0, 0]), float(reduced.h[0])])
    assert results[0] == pytest.approx(results[1], rel=1e-10)
