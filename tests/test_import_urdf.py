"""URDF to records: inertial frames, lumps, axes, joint types, mimics, roots, ports, names and what is left out."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from import_support import DATA, at, imported, mass, messages, problems

from robocompiler.importers.options import FLOATING, ImportOptions
from robocompiler.oracle.maximal import Efforts
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType

BOX = '<inertia ixx=".02" iyy=".03" izz=".04" ixy="0" ixz="0" iyz="0"/>'


def link(name: str, inner: str = "") -> str:
    return f'<link name="{name}">{inner}</link>\n'


def solid(name: str, mass_value: float = 1.0, origin: str = "", inertia: str = BOX) -> str:
    return link(name, f'<inertial>{origin}<mass value="{mass_value}"/>{inertia}</inertial>')


def joint(name: str, kind: str, parent: str, child: str, inner: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inner}</joint>\n'


def robot(*parts: str, name: str = "r") -> str:
    return f'<robot name="{name}">\n{"".join(parts)}</robot>\n'


@pytest.mark.parametrize(
    ("axis", "expected"),
    [("1 0 0", 0.057357898929303625), ("0 1 0", 0.06801079865889259), ("0 0 1", 0.058631302411803816)],
)
def test_the_inertial_frame_turns_the_whole_tensor(tmp_path: Path, axis: str, expected: float) -> None:  # C04
    tensor = '<inertia ixx=".03" iyy=".05" izz=".065" ixy=".004" ixz="-.002" iyz=".006"/>'
    body = solid("l", 2.5, '<origin xyz=".05 -.02 .07" rpy=".4 -.7 1.1"/>', tensor)
    text = robot(link("w"), body, joint("j", "continuous", "w", "l", f'<axis xyz="{axis}"/>'))
    assert mass(imported(tmp_path, text).mechanism)[0, 0] == pytest.approx(expected, rel=1e-12)


def test_a_fixed_child_moves_as_one_lump_with_its_parent(tmp_path: Path) -> None:  # C05
    parent = solid("p", 3, '<origin xyz=".1 0 .02"/>')
    child = solid(
        "c",
        1.2,
        '<origin xyz=".03 .06 -.04" rpy="0 .6 0"/>',
        '<inertia ixx=".004" iyy=".006" izz=".008" ixy="0" ixz="0" iyz="0"/>',
    )
    fixed = joint("f", "fixed", "p", "c", '<origin xyz=".2 -.1 .15" rpy=".3 .2 -.5"/>')
    hinge = joint("h", "continuous", "w", "p", '<axis xyz="0 1 0"/>')
    records = imported(tmp_path, robot(link("w"), parent, child, hinge, fixed)).mechanism
    assert mass(records)[0, 0] == pytest.approx(0.16444619713041655, rel=1e-12)
    model, state = at(records, {})
    parts = []
    for body in records.bodies:
        R, p = (np.array(part, dtype=float) for part in model.frame_pose(body.name, state.pose))
        xx, yy, zz, xy, xz, yz = (float(value) for value in body.inertia)
        tensor = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        parts.append((float(body.mass), p + R @ np.array(body.com, dtype=float), tensor))
    total = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / total
    assert total == pytest.approx(4.2)
    assert com == pytest.approx([0.1443941675, -0.0147052168, 0.0497045583], abs=1e-9)
    lump = sum(own + m * (d @ d * np.eye(3) - np.outer(d, d)) for m, c, own in parts for d in [c - com])
    wanted = [0.0370794663, 0.0665012785, 0.0688776274, 0.0065577544, -0.0122138079, 0.0035908234]
    assert lump[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] == pytest.approx(wanted, abs=1e-9)


MIMIC = robot(
    link("w"),
    solid("p", 1.2, '<origin xyz="0.15 0 0"/>', '<inertia ixx=".001" iyy=".012" izz=".012" ixy="0" ixz="0" iyz="0"/>'),
    solid(
        "f", 0.7, '<origin xyz="0.1 0 0.02"/>', '<inertia ixx=".0005" iyy=".004" izz=".004" ixy="0" ixz="0" iyz="0"/>'
    ),
    joint("j1", "revolute", "w", "p", '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="9" velocity="9"/>'),
    joint(
        "j2",
        "revolute",
        "p",
        "f",
        '<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/><limit lower="-4" upper="4" effort="9" velocity="9"/>'
        '<mimic joint="j1" multiplier="-1.5" offset="0.25"/>',
    ),
)


def test_a_mimic_keeps_multiplier_and_offset(tmp_path: Path) -> None:  # C07
    records = imported(tmp_path, MIMIC).mechanism
    (coupling,) = records.couplings
    assert evaluate(coupling.expression, {"j1": 0.4, "j2": -0.35}) == pytest.approx(0, abs=1e-15)
    assert dict(records.reference.coordinates) == {"j2": 0.25}  # the seed satisfies the coupling
    assert [port.name for port in records.ports] == ["j1_motor"]  # a follower is no actuator
    model, still = at(records, {"j1": 0.4, "j2": -0.35}, {"j1": 0.0})
    assert float(model.reduced(still).M[0, 0]) == pytest.approx(0.08653334382151794, rel=1e-12)
    assert float(model.reduced(still).h[0]) == pytest.approx(-3.1775342854952084, rel=1e-12)
    _, moving = at(records, {"j1": 0.4, "j2": -0.35}, {"j1": 1.3})
    reduced = model.reduced(moving)
    assert float(reduced.M[0, 0] * -0.4 + reduced.h[0]) == pytest.approx(-3.198019789997027, rel=1e-12)
    udot = model.accelerations(moving, Efforts()).udot[0]
    assert float(udot) == pytest.approx(36.5570809212366, rel=1e-12)


def chained(*laws: str) -> str:
    """Hinges j0, j1, ... in a row; law k stands in joint k + 1."""
    links = [solid(f"l{k}") for k in range(len(laws) + 1)]
    hinges = [
        joint(
            f"j{k}", "continuous", "w" if k == 0 else f"l{k - 1}", f"l{k}", "" if k == 0 else f"<mimic {laws[k - 1]}/>"
        )
        for k in range(len(laws) + 1)
    ]
    return robot(link("w"), *links, *hinges)


def test_mimics_chain_through_followers(tmp_path: Path) -> None:
    text = chained('joint="j0" multiplier="2" offset=".1"', 'joint="j1" multiplier="-3" offset=".5"')
    records = imported(tmp_path, text).mechanism
    assert dict(records.reference.coordinates) == pytest.approx({"j1": 0.1, "j2": 0.2})
    model, state = at(records, {"j0": 0.3, "j1": 0.7, "j2": -1.6}, {"j0": 1.0})
    lift = model.lift(state, ["j0", "j1", "j2"])
    assert np.asarray(lift, dtype=float).ravel() == pytest.approx([1, 2, -6])


def test_continuous_joints_with_a_ratio_are_never_wrapped(tmp_path: Path) -> None:  # C32
    records = imported(tmp_path, chained('joint="j0" multiplier="2.5"')).mechanism
    assert {joint.type for joint in records.joints} == {JointType.CONTINUOUS, JointType.FIXED}
    (coupling,) = records.couplings
    assert evaluate(coupling.expression, {"j0": 2 * math.pi, "j1": 5 * math.pi}) == pytest.approx(0, abs=1e-12)
    assert abs(evaluate(coupling.expression, {"j0": 2 * math.pi, "j1": 0.0})) == pytest.approx(5 * math.pi)


def test_indefinite_tensors_are_refused_and_the_others_used(tmp_path: Path) -> None:  # C17
    def tensor(xx: float, yy: float, zz: float, xy: float, yz: float = 0.0) -> str:
        inertia = f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="0" iyz="{yz}"/>'
        return robot(link("w"), "\n" + solid("l", 1, "", inertia), joint("j", "continuous", "w", "l"))

    (problem,) = problems(tmp_path, tensor(0.01, 0.01, 0.015, 0.02))
    assert (problem.record, problem.line) == ("bodies.l.inertia", 4)
    assert "not positive definite, smallest eigenvalue -0.01 at line 4" in problem.message
    found = imported(tmp_path, tensor(4.1e-3, 1.3e-3, 1.9e-3, 6e-4, 2e-4)).mechanism
    (warning,) = [text for text in found.warnings if "triangle inequality" in text]
    assert "by 0.00114770857" in warning
    rod = imported(tmp_path, tensor(0.1, 0.1, 0.2, 0.1)).mechanism
    assert rod.body("l").inertia == (0.1, 0.1, 0.2, 0.1, 0.0, 0.0)
    assert not [text for text in rod.warnings if "triangle" in text]


def test_an_axis_is_a_direction_x_when_absent_and_never_zero(tmp_path: Path) -> None:  # C18
    def slider(axis: str, kind: str = "prismatic") -> str:
        return robot(link("w"), "\n", solid("l", 2), joint("j", kind, "w", "l", axis))

    records = imported(tmp_path, slider('<axis xyz="0 3 4"/>')).mechanism
    model, state = at(records, {"j": 0.1})
    assert np.array(model.frame_pose("l", state.pose)[1], dtype=float) == pytest.approx([0, 0.06, 0.08], abs=1e-15)
    assert mass(records)[0, 0] == pytest.approx(2.0)
    model, state = at(imported(tmp_path, slider("")).mechanism, {"j": 0.1})
    assert np.array(model.frame_pose("l", state.pose)[1], dtype=float) == pytest.approx([0.1, 0, 0], abs=1e-15)
    (problem,) = problems(tmp_path, slider('<axis xyz="0 0 0"/>'))
    assert (problem.record, problem.line) == ("joint 'j': axis", 5)
    assert "the zero vector has no direction" in problem.message
    fixed = imported(tmp_path, slider('<axis xyz="0 0 0"/>', "fixed")).mechanism
    assert fixed.joint("j").type is JointType.FIXED


def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis(tmp_path: Path) -> None:  # C31
    text = robot(link("w"), solid("l"), joint("j", "planar", "w", "l", '<axis xyz="0 1 0"/>'))
    model, state = at(imported(tmp_path, text).mechanism, {"j:x": 0.2, "j:y": 0.3, "j:angle": 0.4})
    R, p = (np.array(part, dtype=float) for part in model.frame_pose("l", state.pose))
    assert p == pytest.approx([0.2, 0, -0.3])  # e1 = x, e2 = -z
    assert pytest.approx([0, 1, 0], abs=1e-15) == R @ [0, 1, 0]
    assert R[0, 2] == pytest.approx(math.sin(0.4))


def test_a_floating_joint_and_a_floating_base(tmp_path: Path) -> None:
    text = robot(solid("base"), solid("l"), joint("j", "floating", "base", "l", '<origin xyz="1 0 0"/>'))
    records = imported(tmp_path, text).mechanism
    assert records.joint("j").type is JointType.FREE
    assert records.joint("base_mount").type is JointType.FIXED
    free = imported(tmp_path, text, options=ImportOptions(base=FLOATING)).mechanism
    assert [joint.name for joint in free.joints] == ["j"]
    assert [base.body for base in free.reference.bases] == ["base"]


def test_the_root_is_fixed_and_the_report_says_so(tmp_path: Path) -> None:
    found = imported(tmp_path, robot(solid("base"), solid("l"), joint("j", "continuous", "base", "l")))
    assert any("'base': the root link is fixed" in text for text in messages(found, "assumed"))
    assert any("the root link is fixed" in warning for warning in found.mechanism.warnings)


def test_several_roots_and_none_are_refused(tmp_path: Path) -> None:
    lone = robot(solid("a"), solid("b"), solid("c"), joint("j", "continuous", "a", "b"))
    (problem,) = problems(tmp_path, lone)
    assert "2 links are the child of no joint ('a', 'c')" in problem.message
    cycle = robot(solid("a"), solid("b"), joint("j", "continuous", "a", "b"), joint("k", "continuous", "b", "a"))
    (problem,) = problems(tmp_path, cycle)
    assert "every link is the child of a joint" in problem.message


def test_a_second_parent_closes_a_loop_and_is_told(tmp_path: Path) -> None:
    ends = [joint(f"up{k}", "continuous", "w", f"l{k}", f'<origin xyz="{k} 0 0"/><axis xyz="0 1 0"/>') for k in (0, 1)]
    tips = [
        joint(f"tip{k}", "continuous", f"l{k}", "bar", f'<origin xyz="{-k} 0 1"/><axis xyz="0 1 0"/>') for k in (0, 1)
    ]
    text = robot(link("w"), solid("l0"), solid("l1"), solid("bar"), *ends, *tips)
    found = imported(tmp_path, text)
    assert any("'tip1'" in note and "closes a loop" in note for note in messages(found, "recognised"))
    _, state = at(found.mechanism, {})
    assert len(state.independent) == 1


def test_ports_come_from_transmissions_and_command_interfaces(tmp_path: Path) -> None:
    limits = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
    hinges = [joint(f"j{k}", "revolute", "w" if k == 0 else f"l{k - 1}", f"l{k}", limits) for k in range(3)]
    drives = (
        '<transmission name="t"><joint name="j0"/><actuator name="motor 0">'
        "<mechanicalReduction>50</mechanicalReduction></actuator></transmission>"
        '<ros2_control name="c" type="system"><joint name="j2"><command_interface name="effort"/></joint>'
        '<joint name="j1"><state_interface name="position"/></joint></ros2_control>'
    )
    found = imported(tmp_path, robot(link("w"), *(solid(f"l{k}") for k in range(3)), *hinges, drives))
    assert [port.name for port in found.mechanism.ports] == ["motor 0", "j2_motor"]
    assert found.mechanism.ports[0].limits.position == (-1, 1)
    assert found.mechanism.ports[0].limits.effort == 5
    assert any("the reduction '50' is left out" in text for text in messages(found, "assumed"))
    bare = imported(tmp_path, robot(link("w"), *(solid(f"l{k}") for k in range(3)), *hinges))
    assert [port.name for port in bare.mechanism.ports] == ["j0_motor", "j1_motor", "j2_motor"]
    assert any("names no actuators" in text for text in messages(bare, "assumed"))


def test_limits_that_exclude_zero_move_the_seed_and_infinite_ones_fall_away(tmp_path: Path) -> None:
    text = robot(
        link("w"), solid("l"), solid("m"),
        joint("j", "revolute", "w", "l", '<limit lower="-3" upper="-1" effort="0" velocity="inf"/>'),
        joint("k", "prismatic", "l", "m", '<limit lower="-1e16" upper="1e16" effort="3" velocity="1"/>'),
    )  # fmt: skip
    records = imported(tmp_path, text).mechanism
    assert dict(records.reference.coordinates) == {"j": -2.0}
    (first,) = records.joint("j").limits
    assert (first.position, first.velocity, first.effort) == ((-3, -1), None, None)
    (second,) = records.joint("k").limits
    assert (second.position, second.velocity, second.effort) == (None, 1, 3)


def test_names_become_legal_and_stay_apart(tmp_path: Path) -> None:
    text = robot(
        link("w"), solid("left:arm"), solid("left_arm"), solid("hänger"),
        joint("a:1", "continuous", "w", "left:arm"), joint("b", "continuous", "left:arm", "left_arm"),
        joint("c", "fixed", "left_arm", "hänger"), name="my robot!",
    )  # fmt: skip
    found = imported(tmp_path, text)
    assert [body.name for body in found.mechanism.bodies] == ["w", "left_arm", "left_arm_2", "h_nger"]
    assert found.mechanism.joint("b").a.body == "left_arm"
    assert found.mechanism.joint("b").b.body == "left_arm_2"
    assert found.mechanism.name == "my robot_"
    assert len(messages(found, "renamed")) == 5


def test_shapes_and_strangers_are_listed_not_dropped(tmp_path: Path) -> None:
    shape = '<geometry><mesh filename="package://x/y.stl"/></geometry>'
    body = link("l", f"<visual>{shape}</visual><visual>{shape}</visual><collision>{shape}</collision><self_collide/>")
    text = robot(
        link("w"), body, joint("j", "fixed", "w", "l", "<safety_controller/>"),
        '<gazebo reference="l"><mu1>1</mu1></gazebo><material name="m"/><sensor name="s"/><strange/>',
    )  # fmt: skip
    found = imported(tmp_path, text)
    counts = {note.message.split(":", maxsplit=1)[0]: note.count for note in found.notes if note.kind == "left out"}
    assert counts == {
        "visual shapes of links": 2, "collision shapes of links": 1, "<self_collide> in links": 1,
        "<safety_controller> in joints": 1, "<mu1> in <gazebo>": 1, "materials": 1, "sensors": 1,
        "<strange>": 1,
    }  # fmt: skip
    assert sum("left out" in warning for warning in found.mechanism.warnings) == 8


def test_a_coupling_of_urdf_plus_relates_the_joints_from_the_common_ancestor(tmp_path: Path) -> None:
    text = robot(
        link("w"), solid("a"), solid("b"), solid("c"),
        joint("ja", "continuous", "w", "a"), joint("jb", "continuous", "a", "b"),
        joint("jc", "continuous", "a", "c").replace("<joint ", '<joint independent="true" '),
        '<coupling name="belt"><predecessor link="b"/><successor link="c"/><ratio value="3"/></coupling>',
    )  # fmt: skip
    found = imported(tmp_path, text)
    (coupling,) = found.mechanism.couplings
    assert (coupling.name, set(coupling.coordinates)) == ("belt", {"jb", "jc"})
    assert any("--independent" in told for told in messages(found, "left out"))
    assert evaluate(coupling.expression, {"jb": 0.2, "jc": 0.6}) == pytest.approx(0)


def test_source_lines_of_the_records_are_those_of_the_file() -> None:
    from robocompiler.importers.import_model import import_model

    records = import_model(DATA / "fourbar_leg.urdf").mechanism
    text = (DATA / "fourbar_leg.urdf").read_text().splitlines()
    assert 'link name="thigh"' in text[(records.body("thigh").source.line or 0) - 1]
    pin = records.joint("pin").source
    assert Path(pin.file).name == "fourbar_leg.loops.yaml"
    assert (DATA / "fourbar_leg.loops.yaml").read_text().splitlines()[(pin.line or 0) - 1].strip().startswith("pin:")


def test_a_joint_inside_a_gazebo_element_closes_the_loop(tmp_path: Path) -> None:
    ends = [joint(f"up{k}", "continuous", "w", f"l{k}", f'<origin xyz="{k} 0 0"/><axis xyz="0 1 0"/>') for k in (0, 1)]
    top = joint("top", "continuous", "l0", "bar", '<origin xyz="0 0 1" rpy="0 .3 0"/><axis xyz="0 1 0"/>')
    tip = (
        '<gazebo><joint name="tip" type="revolute"><parent>l1</parent><child>bar</child>'
        "<pose>0.9553364891256060 0 0.2955202066613396 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint></gazebo>"
    )
    found = imported(tmp_path, robot(link("w"), solid("l0"), solid("l1"), solid("bar"), *ends, top, tip))
    closing = found.mechanism.joint("tip")
    assert (closing.type, closing.a.body, closing.b.body) == (JointType.REVOLUTE, "l1", "bar")
    assert closing.a.translation == pytest.approx((0, 0, 1), abs=1e-15)  # (1, 0, 1) in the world, as the bar's end
    assert any("inside <gazebo>" in text for text in messages(found, "recognised"))
    _, state = at(found.mechanism, {"up0": 0.2})
    assert len(state.independent) == 1
    (fault,) = problems(tmp_path, robot(link("w"), solid("l0"), ends[0], tip.replace("bar", "l0")))
    assert (fault.line, fault.record) == (5, "gazebo: joint 'tip'")
    assert fault.message == "no link is called 'l1'"


def test_a_quaternion_may_stand_in_an_origin(tmp_path: Path) -> None:
    def turn(attributes: str) -> tuple[tuple[float, ...], ...]:
        hinge = joint("j", "continuous", "w", "l", f"<origin {attributes}/>")
        return imported(tmp_path, robot(link("w"), solid("l"), hinge)).mechanism.joint("j").a.rotation

    half = math.sqrt(0.5)
    np.testing.assert_allclose(turn(f'quat_xyzw="0 0 {half} {half}"'), turn(f'rpy="0 0 {math.pi / 2}"'), atol=1e-15)
    hinge = joint("j", "continuous", "w", "l", '<origin quat_xyzw="0 0 0 1" rpy="0 0 1"/>')
    (fault,) = problems(tmp_path, robot(link("w"), solid("l"), hinge))
    assert "given 2 times" in fault.message
