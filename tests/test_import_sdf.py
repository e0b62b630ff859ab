"""SDF to records: native loops, the frame graph, inner models, several models, screws, mimics, includes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from import_support import imported, messages, problems, written
from sdf_writer import sdf_text

from robocompiler.importers.import_model import Imported
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"
SOLID = "<inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.2</iyy><izz>.25</izz></inertia></inertial>"


def sdf(*parts: str, version: str = "1.9") -> str:
    return f'<sdf version="{version}">\n' + "\n".join(parts) + "\n</sdf>\n"


def model(name: str, *parts: str, attributes: str = "") -> str:
    return f'<model name="{name}" {attributes}>\n' + "\n".join(parts) + "\n</model>"


def link(name: str, inner: str = "", solid: str = SOLID) -> str:
    return f'<link name="{name}">{inner}{solid}</link>'


def joint(name: str, kind: str, parent: str, child: str, inner: str = "<axis><xyz>0 0 1</xyz></axis>") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inner}</joint>'


def load(folder: Path, text: str) -> Imported:
    return imported(folder, text, "robot.sdf")


def pose_of(found: Imported, frame: str, values: dict[str, float] | None = None) -> np.ndarray:
    oracle = MaximalModel(found.mechanism)
    R, p = oracle.frame_pose(frame, oracle.pose(values or {}))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.array(R, dtype=float), np.array(p, dtype=float)
    return T


@pytest.mark.parametrize("name", ["five_bar", "fourbar", "parallel_ankle", "rssr", "slider_crank", "delta"])
def test_a_model_drawn_at_its_reference_comes_back(name: str, tmp_path: Path) -> None:
    made = read_mechanism(MODELS / f"{name}.yaml")
    made = replace(made, joints=tuple(replace(j, armature=tuple(0.0 for _ in j.armature)) for j in made.joints))
    found = load(tmp_path, sdf_text(made, np.random.default_rng(5)))
    records = replace(found.mechanism, gravity=made.gravity)
    assert found.mechanism.name == name
    assert [(j.name, j.type) for j in records.joints] == [(j.name, j.type) for j in made.joints]
    first = MaximalModel(made)
    pose = first.project(first.pose())
    chosen = first.state(pose).independent
    ports = tuple(port.measure.terms[0][0] for port in made.ports)  # type: ignore[union-attr]
    independent = ports if len(ports) == len(chosen) else chosen  # the delta's rods may spin besides
    speeds = {velocity: 0.4 + 0.05 * k for k, velocity in enumerate(independent)}
    one = first.reduced(first.state(pose, speeds, independent))
    second = MaximalModel(records)
    again = second.project(second.pose(), independent)
    two = second.reduced(second.state(again, speeds, independent))
    size = float(np.abs(np.asarray(one.M, dtype=float)).max())
    np.testing.assert_allclose(np.asarray(two.M, float), np.asarray(one.M, float), rtol=1e-7, atol=1e-9 * size)
    np.testing.assert_allclose(np.asarray(two.h, float), np.asarray(one.h, float), rtol=1e-6, atol=1e-8)


def test_poses_are_relative_to_what_they_name(tmp_path: Path) -> None:
    text = sdf(
        model(
            "m",
            "<pose>1 0 0 0 0 1.5707963267948966</pose>",
            link("a", "<pose>0 1 0 0 0 0</pose>"),
            '<frame name="f" attached_to="a"><pose>0 0 1 0 0 1.5707963267948966</pose></frame>',
            '<frame name="g"><pose relative_to="f">1 0 0 0 0 0</pose></frame>',
            link("b", '<pose relative_to="g">0 0 0 0.3 0 0</pose>'),
            link("c", '<pose relative_to="j">0 0 .5 0 0 0</pose>'),
            joint("w", "fixed", "world", "a", ""),
            joint(
                "j",
                "revolute",
                "f",
                "b",
                '<pose>0.2 0 0 0 0 0</pose><axis><xyz expressed_in="__model__">1 0 0</xyz></axis>',
            ),
            joint("k", "prismatic", "b", "c"),
        )
    )
    found = load(tmp_path, text)
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = turn, (1, 0, 0)

    def shift(x: float, y: float, z: float, R: np.ndarray | None = None) -> np.ndarray:
        T = np.eye(4)
        T[:3, 3] = (x, y, z)
        T[:3, :3] = np.eye(3) if R is None else R
        return T

    tilt = np.array([[1, 0, 0], [0, math.cos(0.3), -math.sin(0.3)], [0, math.sin(0.3), math.cos(0.3)]])
    a = base @ shift(0, 1, 0)
    f = a @ shift(0, 0, 1, turn)
    b = f @ shift(1, 0, 0) @ shift(0, 0, 0, tilt)
    j = b @ shift(0.2, 0, 0)
    for name, wanted in (("a", a), ("f", f), ("g", f @ shift(1, 0, 0)), ("b", b), ("c", j @ shift(0, 0, 0.5))):
        np.testing.assert_allclose(pose_of(found, name), wanted, atol=1e-12, err_msg=name)
    assert found.mechanism.joint("j").a.body == "a"  # f is attached to a
    assert [frame.placement.body for frame in found.mechanism.frames] == ["a", "a"]  # g to the first link
    moved = pose_of(found, "b", {"j": 0.1})
    axis = base[:3, :3] @ [1, 0, 0]
    spin = moved[:3, :3] @ b[:3, :3].T
    assert spin @ axis == pytest.approx(axis, abs=1e-12)
    assert moved @ np.linalg.inv(b) @ j[:, 3] == pytest.approx(j[:, 3], abs=1e-12)  # about the joint's origin


def test_pose_formats(tmp_path: Path) -> None:
    half = math.sqrt(0.5)
    for text in (
        "<pose>0 0 0 0 0 1.5707963267948966</pose>",
        '<pose degrees="true">0 0 0 0 0 90</pose>',
        f'<pose rotation_format="quat_xyzw">0 0 0 0 0 {half} {half}</pose>',
    ):
        found = load(tmp_path, sdf(model("m", link("a", text), joint("w", "fixed", "world", "a", ""))))
        np.testing.assert_allclose(pose_of(found, "a")[:3, 0], [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize(
    ("version", "flag", "axis"),
    [
        ("1.4", "", "model"),
        ("1.6", "", "joint"),
        ("1.6", "<use_parent_model_frame>1</use_parent_model_frame>", "model"),
    ],
)
def test_axes_of_old_versions(tmp_path: Path, version: str, flag: str, axis: str) -> None:
    turned = link("a", "<pose>0 0 0 0 0 1.5707963267948966</pose>")
    hinge = joint("j", "revolute", "world", "a", f"<axis><xyz>1 0 0</xyz>{flag}</axis>")
    found = load(tmp_path, sdf(model("m", turned, hinge), version=version)).mechanism.joint("j")
    wanted = [0, -1, 0] if axis == "model" else [1, 0, 0]
    assert found.axis == pytest.approx(wanted, abs=1e-15)


def test_inner_models_are_named_by_their_path_and_placed_by_their_frames(tmp_path: Path) -> None:
    inner = model(
        "arm",
        "<pose>0 0 1 0 0 0</pose>",
        link("hand", "<pose>0 0 .5 0 0 0</pose>"),
        attributes='placement_frame="hand"',
    )
    text = sdf(
        model(
            "m",
            link("base"),
            inner,
            joint("j", "revolute", "base", "arm::hand"),
            joint("w", "fixed", "world", "base", ""),
        )
    )
    found = load(tmp_path, text)
    assert [body.name for body in found.mechanism.bodies] == ["base", "arm/hand"]
    np.testing.assert_allclose(pose_of(found, "arm/hand")[:3, 3], [0, 0, 1], atol=1e-15)
    assert found.mechanism.joint("j").b.body == "arm/hand"


def test_several_models_static_and_loose_ones(tmp_path: Path) -> None:
    world = (
        '<world name="lab"><gravity>0 0 -1.6</gravity>'
        + model("one", link("a"), "<pose>1 0 0 0 0 0</pose>")
        + model("two", link("a"), link("b", "<pose>0 0 1 0 0 0</pose>"), joint("j", "revolute", "a", "b"))
        + model("table", "<static>true</static>", link("top", "<pose>0 0 .7 0 0 0</pose>", ""))
        + "</world>"
    )
    found = load(tmp_path, sdf(world))
    records = found.mechanism
    assert [body.name for body in records.bodies] == ["one/a", "two/a", "two/b", "table/top"]
    assert [item.name for item in records.joints] == ["two/j", "table/top_mount"]
    assert [(base.body, base.translation) for base in records.reference.bases] == [
        ("one/a", (1, 0, 0)),
        ("two/a", (0, 0, 0)),
    ]
    assert records.gravity == (0, 0, -1.6)
    assert records.name == "lab"
    assert sum("floats" in text for text in messages(found, "assumed")) == 2


def test_screws_advance_by_their_lead_with_the_hand_of_the_thread(tmp_path: Path) -> None:
    def pitch(text: str) -> float:
        records = load(
            tmp_path, sdf(model("m", link("a"), joint("j", "screw", "world", "a", f"<axis/>{text}")))
        ).mechanism
        assert records.joint("j").type is JointType.SCREW
        return float(records.joint("j").pitch)  # type: ignore[arg-type]

    assert pitch("<screw_thread_pitch>.01</screw_thread_pitch>") == pytest.approx(0.01 / (2 * math.pi))
    assert pitch("<thread_pitch>-200</thread_pitch>") == pytest.approx(0.005)
    found = load(
        tmp_path,
        sdf(
            model(
                "m", link("a"), joint("j", "screw", "world", "a", "<axis/><screw_thread_pitch>.02</screw_thread_pitch>")
            )
        ),
    )
    moved = pose_of(found, "a", {"j": 2 * math.pi})
    assert moved[:3, 3] == pytest.approx([0, 0, 0.02])


def test_mimics_have_multiplier_offset_and_reference(tmp_path: Path) -> None:
    mimic = "<mimic joint='lead'><multiplier>2</multiplier><offset>.3</offset><reference>.1</reference></mimic>"
    text = sdf(
        model(
            "m", link("a"), link("b"), joint("lead", "revolute", "world", "a"),
            joint("follow", "revolute", "a", "b", f"<axis><xyz>0 1 0</xyz>{mimic}</axis>"),
        )
    )  # fmt: skip
    records = load(tmp_path, text).mechanism
    (coupling,) = records.couplings
    assert evaluate(coupling.expression, {"lead": 0.6, "follow": 2 * (0.6 - 0.1) + 0.3}) == pytest.approx(0, abs=1e-15)
    assert dict(records.reference.coordinates) == {"follow": pytest.approx(0.1)}


def test_universal_joints_keep_both_axes_and_their_limits(tmp_path: Path) -> None:
    inner = (
        "<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper><effort>-1</effort></limit></axis>"
        "<axis2><xyz>0 2 0</xyz><limit><lower>-inf</lower><upper>inf</upper></limit>"
        "<dynamics><damping>.2</damping><friction>.1</friction></dynamics></axis2>"
    )
    found = load(tmp_path, sdf(model("m", link("a"), joint("u", "universal", "world", "a", inner))))
    u = found.mechanism.joint("u")
    assert (u.axis, u.axis2) == ((1, 0, 0), (0, 1, 0))
    assert [limits.position for limits in u.limits] == [(-1, 1), None]
    assert (u.damping, u.friction) == ((0, 0.2), (0, 0.1))
    assert all(limits.effort is None for limits in u.limits)


def test_included_models_come_with_their_name_and_pose(tmp_path: Path) -> None:
    (tmp_path / "leg").mkdir()
    written(tmp_path, sdf(model("leg", link("shank"), "<pose>9 9 9 0 0 0</pose>")), "leg/model.sdf")
    includes = "".join(
        f"<include><uri>model://leg</uri><name>leg{k}</name><pose>{k} 0 0 0 0 0</pose></include>" for k in (1, 2)
    )
    ties = (
        joint("w", "fixed", "world", "base", ""),
        joint("j1", "revolute", "base", "leg1::shank"),
        joint("j2", "ball", "base", "leg2::shank", ""),
    )
    text = sdf(model("m", link("base"), includes, *ties))
    found = load(tmp_path, text)
    assert [body.name for body in found.mechanism.bodies] == ["base", "leg1/shank", "leg2/shank"]
    np.testing.assert_allclose(pose_of(found, "leg2/shank")[:3, 3], [2, 0, 0], atol=1e-15)
    source = found.mechanism.body("leg1/shank").source
    assert (Path(source.file).name, source.line) == ("model.sdf", 3)


def test_defaults_of_the_format_are_told(tmp_path: Path) -> None:
    world = '<world name="w">' + model("m", link("a", solid=""), joint("j", "revolute", "world", "a")) + "</world>"
    found = load(tmp_path, sdf(world))
    assert found.mechanism.body("a").mass == 1
    assert found.mechanism.gravity == (0, 0, -9.8)
    told = "\n".join(messages(found, "assumed"))
    assert "defaults of SDF" in told
    assert "-9.8" in told


def test_what_sdf_has_besides_is_listed(tmp_path: Path) -> None:
    spring = "<spring_stiffness>3</spring_stiffness>"
    text = sdf(
        model(
            "m", link("a", "<visual/><collision/><sensor/><gravity>false</gravity><battery/>"), link("b"),
            joint("j", "revolute", "world", "a", f"<axis><dynamics>{spring}</dynamics></axis><strange/>"),
            joint("k", "revolute", "world", "b"),
            joint("g", "gearbox", "a", "b", "<gearbox_ratio>2</gearbox_ratio>"), "<plugin/><self_collide/>",
        ),
        "<light/>",
    )  # fmt: skip
    told = "\n".join(messages(load(tmp_path, text), "left out"))
    for words in (
        "visual shapes", "collision shapes", "<sensor> in links", "weights act in full", "<battery>",
        "springs of joints", "<strange> in joints", "gearbox joints", "<plugin> in models",
        "settings of simulation", "<light>",
    ):  # fmt: skip
        assert words in told, words


def test_faults_name_the_element_and_the_mend(tmp_path: Path) -> None:
    def of(*parts: str) -> list[tuple[str, int | None, str]]:
        found = problems(tmp_path, sdf(model("m", *parts)), "robot.sdf")
        return [(problem.record, problem.line, problem.message) for problem in found]

    (fault,) = of(link("a"), joint("j", "revolute", "world", "aa"))
    assert fault[:2] == ("joint 'j'", 4)
    assert "no link, joint or frame is called 'aa'; did you mean 'a'" in fault[2]
    (fault,) = of(
        link("a", '<pose relative_to="b"/>'), link("b", '<pose relative_to="a"/>'), joint("j", "fixed", "a", "b", "")
    )
    assert "the frames form a cycle: 'a' -> 'b' -> 'a'" in fault[2] or "'b' -> 'a' -> 'b'" in fault[2]
    (fault,) = of(link("a", "<pose>0 0 0 0 0 90</pose>"), joint("j", "fixed", "world", "a", ""))
    assert 'degrees="true"' in fault[2]
    (fault,) = of(link("a"), joint("j", "revolut", "world", "a"))
    assert "did you mean 'revolute'" in fault[2]
    (fault,) = of(link("a"), link("a"), joint("j", "fixed", "world", "a", ""))
    assert "another link of this model has this name already (line 3)" in fault[2]
    (fault,) = of(link("a"), joint("j", "revolute", "world", "a", "<axis><xyz>0 0 0</xyz></axis>"))
    assert "zero vector" in fault[2]


def test_joints_of_the_world_tie_models_together(tmp_path: Path) -> None:
    world = (
        '<world name="lab"><gravity>0 0 -9.81</gravity>'
        + model("one", link("a"))
        + model("two", link("b"), "<pose>1 0 0 0 0 0</pose>")
        + joint("base", "fixed", "world", "one::a", "")
        + joint("tie", "revolute", "one::a", "two::b")
        + "</world>"
    )
    records = load(tmp_path, sdf(world)).mechanism
    assert [(item.name, item.a.body, item.b.body) for item in records.joints] == [
        ("base", "world", "one/a"),
        ("tie", "one/a", "two/b"),
    ]
    assert records.joint("tie").a.translation == (1, 0, 0)
    assert records.reference.bases == ()
