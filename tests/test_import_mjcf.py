"""MJCF to records: bodies, joints, settings, files; where MuJoCo reads the same file it has the last word."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from import_support import at, mass, messages, problems, written
from mjcf_text import RADIAN, body, engine, load, model, same_tree, world


def test_the_order_of_fullinertia_is_that_of_mujoco(tmp_path: Path) -> None:  # C16
    solid = '<inertial pos="0 0 0" mass="1" fullinertia="0.05 0.06 0.07 0.011 -0.007 0.004"/>'
    text = model(world(body("b", '<joint name="j" axis=".3 .4 .8660254"/>', solid=solid)))
    assert mass(same_tree(tmp_path, text))[0, 0] == pytest.approx(0.06837397459621558, rel=1e-9)


def test_an_absent_axis_is_z_and_a_zero_axis_is_refused(tmp_path: Path) -> None:  # C18
    text = model(world(body("b", '<joint name="j" type="slide"/>')))
    records = load(tmp_path, text).mechanism
    oracle, state = at(records, {"j": 0.1})
    assert np.array(oracle.frame_pose("b", state.pose)[1], float) == pytest.approx([0, 0, 0.1])
    (problem,) = problems(tmp_path, text.replace('type="slide"', 'axis="0 0 0"'), "robot.xml")
    assert (problem.record, problem.line) == ("joint 'j'", 3)
    assert "zero vector" in problem.message


def test_several_joints_of_one_body_each_at_its_own_place(tmp_path: Path) -> None:
    joints = (
        '<joint name="h1" axis="0 1 0.2" pos=".1 0 .05" ref="20" armature=".02"/>'
        '<joint name="s" type="slide" axis="1 0 1" pos=".3 .3 .3" ref=".07"/>'
        '<joint name="h2" axis="1 0 0" pos="0 -.1 0"/>'
    )
    tip = body("tip", '<joint name="ball" type="ball" pos="0 0 .05"/>', 'pos=".2 0 .1" euler="10 20 30"')
    records = same_tree(tmp_path, model(world(body("b", joints + tip, 'pos="0 0 1" quat="2 1 0 0"'))))
    assert [item.name for item in records.bodies] == ["b", "tip", "b_h1", "b_s"]
    assert [float(item.mass) for item in records.bodies] == [1.5, 1.5, 0, 0]
    assert dict(records.reference.coordinates) == pytest.approx({"h1": math.radians(20), "s": 0.07})


@pytest.mark.parametrize("sequence", ["xyz", "XYZ", "zyx", "ZXZ", "xYz", "yzX"])
@pytest.mark.parametrize("angle", ["degree", "radian"])
def test_euler_sequences(tmp_path: Path, sequence: str, angle: str) -> None:
    values = "0.3 -0.7 1.1" if angle == "radian" else "20 -40 65"
    records = same_tree(
        tmp_path,
        model(
            f'<compiler angle="{angle}" eulerseq="{sequence}"/>',
            world(body("b", '<joint name="j"/>', f'euler="{values}"')),
        ),
    )
    assert [joint.name for joint in records.joints] == ["j"]


@pytest.mark.parametrize(
    "turn",
    [
        'quat="1 -1 2 0.5"',
        'axisangle="1 2 -1 50"',
        'xyaxes="1 0.2 0 0.3 1 0.1"',
        'zaxis="0.2 -1 0.4"',
        'zaxis="0 0 -3"',
        'zaxis="0 0 2"',
    ],
)
def test_orientations(tmp_path: Path, turn: str) -> None:
    site = f'<site name="s" {turn} pos="1 2 3"/><site name="t" type="capsule" size=".1" fromto="0 .1 .2 1 -.3 .5"/>'
    text = model(world(body("b", f'<joint name="j" axis="1 2 3"/>{site}', turn)))
    records = same_tree(tmp_path, text)
    theirs = engine(tmp_path, text)
    data = importlib.import_module("mujoco").MjData(theirs)
    data.qpos[:] = 0.4
    importlib.import_module("mujoco").mj_kinematics(theirs, data)
    oracle, state = at(records, {"j": 0.4})
    for name in ("s", "t"):
        R, p = (np.array(part, float) for part in oracle.frame_pose(name, state.pose))
        np.testing.assert_allclose(R, data.site(name).xmat.reshape(3, 3), atol=1e-12)
        np.testing.assert_allclose(p, data.site(name).xpos, atol=1e-12)


def test_frames_classes_and_childclasses(tmp_path: Path) -> None:
    text = model(
        RADIAN,
        """<default>
          <joint damping=".1" range="-1 1"/>
          <default class="arm"><joint axis="0 1 0" armature=".3"/><site pos="0 0 .2"/>
            <default class="wrist"><joint range="-2 .5" damping=".7"/></default></default>
          <default class="other"><joint axis="1 0 0"/></default>
        </default>""",
        world(
            body(
                "a",
                '<joint name="j1"/><frame pos=".1 0 0" euler=".3 0 0" childclass="other">'
                + body("b", '<joint name="j2"/>', 'pos="0 0 .5"')
                + '<site name="s"/></frame>'
                + body("c", '<joint name="j3" class="wrist"/><site name="t"/>', 'pos="0 .5 0"'),
                'childclass="arm"',
            )
        ),
    )
    records = same_tree(tmp_path, text)
    assert [records.joint(name).axis for name in ("j1", "j2", "j3")] == [(0, 1, 0), (1, 0, 0), (0, 1, 0)]
    assert [records.joint(name).damping[0] for name in ("j1", "j2", "j3")] == [0.1, 0.1, 0.7]
    assert [records.joint(name).armature[0] for name in ("j1", "j2", "j3")] == [0.3, 0, 0.3]
    assert records.joint("j3").limits[0].position == (-2, 0.5)
    assert [frame.placement.translation for frame in records.frames] == [(0.1, 0, 0), (0, 0, 0.2)]


def test_an_inertial_may_stand_in_a_frame(tmp_path: Path) -> None:
    inertials = ('diaginertia="1 2 2.5" euler="10 0 0"', 'fullinertia="1 2 2.5 .1 0 .2"')
    bodies = [
        f'<body name="b{k}"><frame pos="1 0 0" euler="0 30 90"><joint name="j{k}" axis="1 2 3"/>'
        f'<inertial pos=".5 0 0" mass="1" {inertia}/></frame></body>'
        for k, inertia in enumerate(inertials)
    ]
    records = same_tree(tmp_path, model(world(*bodies)))
    assert records.body("b0").com == pytest.approx((1, 0.5, 0), abs=1e-15)


def test_limits_follow_autolimits_flags_and_degrees(tmp_path: Path) -> None:
    inner = (
        '<joint name="a" range="-90 30"/><joint name="b" range="-90 30" limited="false"/>'
        '<joint name="c" type="slide" range="-90 30" limited="true"/><joint name="d"/>'
    )
    records = load(tmp_path, model(world(body("x", inner)))).mechanism
    found = [records.joint(name).limits[0].position for name in "abcd"]
    assert found == [pytest.approx((-math.pi / 2, math.pi / 6)), None, (-90, 30), None]
    off = load(tmp_path, model('<compiler autolimits="false"/>', world(body("x", inner)))).mechanism
    assert [off.joint(name).limits[0].position for name in "abcd"] == [None, None, (-90, 30), None]
    (problem,) = problems(tmp_path, model(world(body("x", '<joint name="j" limited="true"/>'))), "robot.xml")
    assert "'limited' is true, but there is no 'range'" in problem.message


def test_radians_in_a_file_of_degrees_are_noticed(tmp_path: Path) -> None:
    slip = model(world(body("x", '<joint name="j" range="-1.57 1.57"/>')))
    assert any("angles are degrees" in text for text in messages(load(tmp_path, slip), "assumed"))
    stated = model('<compiler angle="degree"/>', world(body("x", '<joint name="j" range="-1.57 1.57"/>')))
    assert not any("angles are degrees" in text for text in messages(load(tmp_path, stated), "assumed"))


def test_a_free_body_floats_and_a_damped_one_gets_its_joint(tmp_path: Path) -> None:
    text = model(
        "<default><joint damping='.5'/></default>",
        world(
            body("a", "<freejoint/>", 'pos="1 2 3" quat="0 1 0 0"'),
            body("b", '<joint name="fly" type="free"/>', 'pos="0 0 1"'),
        ),
        '<keyframe><key name="k" qpos="0 0 4 1 0 0 0  0 0 5 0 0 2 0"/></keyframe>',
    )
    records = same_tree(tmp_path, text)
    assert [joint.name for joint in records.joints] == ["fly"]
    assert set(records.joint("fly").damping) == {0.5}
    (base,) = records.reference.bases
    assert (base.body, base.translation, base.quaternion) == ("a", (0, 0, 4), (1, 0, 0, 0))
    assert dict(records.reference.coordinates)["fly:qy"] == 1.0
    nested = model(world(body("a", body("b", "<freejoint/>"))))
    assert "directly below the world" in problems(tmp_path, nested, "robot.xml")[0].message


GEOMS = model(
    world(
        body("box", '<joint name="j"/><geom type="box" size=".1 .2 .3" pos=".1 0 0" euler="0 30 0"/>', solid=""),
        body("given", '<joint name="k"/><geom type="sphere" size="1"/>', 'pos="1 0 0"'),
    )
)


def test_inertias_from_geoms_are_mujocos(tmp_path: Path) -> None:
    records = same_tree(tmp_path, GEOMS)
    assert float(records.body("box").mass) == pytest.approx(1000 * 8 * 0.1 * 0.2 * 0.3)
    assert float(records.body("given").mass) == 1.5
    found = load(tmp_path, GEOMS)
    assert any("1 bodies have no <inertial>" in text for text in messages(found, "recognised"))


def test_without_mujoco_inertias_from_geoms_are_refused_with_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def missing(name: str, *rest: Any) -> Any:
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    (problem,) = problems(tmp_path, GEOMS, "robot.xml")
    assert "MuJoCo does and is not installed: pip install 'robocompiler[mjcf]'" in problem.message
    assert problem.record == "body 'box'"
    weightless = GEOMS.replace('type="box"', 'type="box" mass="0"')
    assert load(tmp_path, weightless).mechanism.body("box").mass == 0


def test_settings_that_change_masses_are_left_to_mujoco(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where MuJoCo writes its log of warnings
    text = model('<compiler settotalmass="6"/>', world(body("a", '<joint name="j"/>'), body("b", '<joint name="k"/>')))
    records = same_tree(tmp_path, text)
    assert [float(item.mass) for item in records.bodies] == [3, 3]


def test_includes_join_the_model_with_their_own_lines(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    written(tmp_path, '<mujocoinclude>\n<default><joint axis="0 1 0"/></default>\n</mujocoinclude>', "parts/common.xml")
    arm = body("arm", '<joint name="j"/>')
    written(tmp_path, f"<mujoco>\n\n{arm}\n</mujoco>", "parts/arm.xml")
    text = model('<include file="parts/common.xml"/>', "<worldbody><include file='parts/arm.xml'/></worldbody>")
    records = same_tree(tmp_path, text)
    assert records.joint("j").axis == (0, 1, 0)
    source = records.body("arm").source
    assert (Path(source.file).name, source.line) == ("arm.xml", 3)


def test_everything_else_is_listed(tmp_path: Path) -> None:
    text = model(
        '<option wind="1 0 0" density="1.2"/><option gravity="0 0 -1"><flag gravity="disable"/></option>',
        "<asset/><contact/><sensor/><visual/><custom/><strange/>",
        world(
            body("a", '<joint name="j" stiffness="3" novelty="1"/><camera name="c"/><site/><site name="s"/>'),
            body("b", '<joint name="ball" type="ball" range="0 1"/>', 'gravcomp="1" mocap="false"'),
            '<geom type="plane" size="1 1 1"/>',
        ),
        '<equality><connect body1="a" body2="b" anchor="0 0 0" active="false"/><flex flex="f"/></equality>',
    )
    found = load(tmp_path, text)
    told = "\n".join(messages(found, "left out"))
    for words in (
        "<option wind>", "<option density>", "assets", "contacts", "sensors", "settings of simulation", "custom data",
        "<strange>", "springs of joints", "attribute 'novelty' of joints", "cameras", "sites without names",
        "range limits of ball joints", "gravcomp", "geoms of the world", "inactive <connect>", "<flex> equalities",
    ):  # fmt: skip
        assert words in told, words
    assert found.mechanism.gravity == (0, 0, 0)


@pytest.mark.parametrize("tag", ["replicate", "attach", "composite"])
def test_elements_that_make_bodies_are_refused(tmp_path: Path, tag: str) -> None:
    found = problems(tmp_path, model(world(body("a", f'<joint name="j"/>\n<{tag}/>'))), "robot.xml")
    assert [(problem.record, problem.line) for problem in found] == [(tag, 4)]
    assert "mj_saveLastXML" in found[0].message
