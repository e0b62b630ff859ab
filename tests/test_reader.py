"""What a valid file means, number by number."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from robocompiler.errors import ModelError
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.expressions import Constant, Symbol, evaluate
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import BasePose, CoordinateSum, Distance, Limits, Point
from robocompiler.records.reader import mechanism_from_dict, read_mechanism, read_mechanism_text

DATA = Path(__file__).parent / "data" / "reader"
EVERYTHING = DATA / "everything.yaml"


@pytest.fixture(scope="module")
def everything():
    return read_mechanism(EVERYTHING)


def test_header(everything):
    assert everything.name == "Every key once"
    assert everything.gravity == (0.0, 0.0, -1.62)
    assert everything.length_scale == 0.5
    assert everything.defaults == {"payload": 8.0, "link_length": 0.5}
    assert everything.warnings == ()
    assert everything.source.file == str(EVERYTHING)


def test_bodies(everything):
    crank, coupler = everything.bodies[:2]
    assert (crank.mass, crank.com) == (0.8, (0.12, 0.0, 0.01))
    assert crank.inertia == (0.002, 0.009, 0.0085, 0.0003, -0.0005, 0.0002)
    assert crank.source.line == 5
    assert evaluate(coupler.mass, {"payload": 3.0}) == 1.5
    assert evaluate(coupler.com[0], {"link_length": 3.0}) == 1.5
    assert coupler.inertia == (0.01, 0.13, 0.125, 0.0, 0.0, 0.0)
    for name in ("hub", "ball/1"):
        assert (everything.body(name).mass, everything.body(name).inertia) == (0.0, (0.0,) * 6)


def test_one_freedom_joint(everything):
    joint = everything.joint("j_ga")
    assert (joint.type, joint.a.body, joint.b.body, joint.axis) == (JointType.REVOLUTE, "world", "crank", (0, -1, 0))
    np.testing.assert_allclose(joint.a.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-16)
    assert joint.limits == (Limits((-math.pi, math.pi), 2.0, 50.0),)
    assert (joint.armature, joint.friction) == ((0.01,), (0.2,))
    assert evaluate(joint.damping[0], everything.defaults) == 0.8
    assert joint.source.line == 18


def test_joints_of_several_freedoms(everything):
    joint = everything.joint("cyl")
    assert joint.axis == (0.0, 0.6, 0.8)
    assert joint.a.translation == (Symbol("link_length"), 0.0, 0.0)
    assert joint.limits == (Limits(), Limits((-1.0, 1.0), None, 3.0))
    assert joint.damping == (0.5, 0.0)
    np.testing.assert_allclose(joint.b.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert everything.joint("ball").friction == (0.5, 0.5, 0.5)
    assert everything.joint("ball").a.rotation == ((0, -1, 0), (1, 0, 0), (0, 0, 1))
    assert everything.joint("uni").axis2 == (0.0, 1.0, 0.0)
    assert everything.joint("uni").limits[1].velocity == 1.0
    assert everything.joint("floor").damping == (1.0, 0.0, 2.0)
    assert everything.joint("lead").pitch == 0.01 / (2 * math.pi)
    assert everything.joint("fly").damping == (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    for each in everything.joints:
        freedoms = JOINT_SHAPES[each.type].nv
        assert {len(each.limits), len(each.armature), len(each.damping), len(each.friction)} == {freedoms}


def test_couplings(everything):
    linear, cam = everything.couplings
    assert linear.coordinates == ("j_ga", "cyl:angle")  # a term of weight zero takes no part
    at = {"j_ga": 2.0, "cyl:angle": 0.5, "payload": 3.0}
    assert evaluate(linear.expression, at) == 2.0 - 3.0 * 0.5 + 0.3
    assert set(cam.coordinates) == {"rail", "cyl:angle"}
    assert cam.expression == parse_expression("rail - 0.3*`cyl:angle`**2")


def test_long_sums_stay_shallow():
    names = [f"j{k}" for k in range(300)]
    data = _chain(names)
    data["couplings"] = {"all": {"terms": dict.fromkeys(names, 0.5), "constant": 1}}
    (coupling,) = mechanism_from_dict(data).couplings
    assert evaluate(coupling.expression, dict.fromkeys(names, 2.0)) == 301.0
    assert coupling.coordinates == tuple(names)


def _chain(names):
    bodies = ["world", *(f"b{k}" for k in range(len(names)))]
    return {
        "robocompiler": 1,
        "name": "chain",
        "bodies": dict.fromkeys(bodies[1:]),
        "joints": {
            name: {"type": "revolute", "a": a, "b": b, "axis": [0, 0, 1]}
            for name, a, b in zip(names, bodies, bodies[1:], strict=False)
        },
    }


def test_ports(everything):
    motor, tendon, cylinder = everything.ports
    assert motor.measure == CoordinateSum((("j_ga", 1.0),))
    assert motor.limits == Limits((-1.0, 1.0), 3.0, 4.0)
    assert tendon.measure == CoordinateSum((("rail", 1.0), ("cyl:displacement", 0.5)))
    assert cylinder.measure == Distance(
        Point("crank", (0.0, 0.0, Symbol("link_length"))), Point("world", (0.0, 0.0, 0.0))
    )


def test_drives(everything):
    servo, relief = everything.drives
    assert (servo.port, relief.port) == ("motor", "cylinder")
    assert [(c.name, c.unit) for c in servo.commands] == [("target", "rad"), ("feedforward", "")]
    assert [(s.name, s.initial, s.unit) for s in servo.states] == [("lag", -0.5, "rad"), ("slip", 2.0, "")]
    constants = {name: evaluate(value, everything.defaults) for name, value in servo.constants}
    assert constants == {"kp": 640.0, "kd": 2.0}
    at = {**constants, "lag": 0.0, "displacement": 0.001, "velocity": 0.5, "feedforward": 3.0}
    assert evaluate(servo.effort, at) == -0.64 - 1.0 + 3.0
    assert evaluate(servo.effort, {**at, "velocity": 50.0}) == -1.0
    assert evaluate(relief.effort, {"opening": 0.5, "velocity": -2.0}) == 0.0


def test_frames_and_supports(everything):
    (tool,) = everything.frames
    assert (tool.name, tool.placement.body, tool.placement.translation) == ("tool", "slider", (0.0, 0.0, 0.1034))
    np.testing.assert_allclose(tool.placement.rotation, np.diag([1, -1, -1]), atol=1e-15)
    assert everything.supports[0].contacts == (("tool", "weld"), ("plate", "point"))


def test_reference(everything):
    values = dict(everything.reference.coordinates)
    assert values == {
        "j_ga": 0.7, "cyl:angle": 0.1, "cyl:displacement": 2.0, "floor:angle": 0.25,
        "ball:qw": 1.0, "ball:qx": 0.0, "ball:qy": 0.0, "ball:qz": 0.0,
    }  # fmt: skip
    crank, hub = everything.reference.bases
    assert (crank.body, crank.translation) == ("crank", (0.0, 0.0, 1.0))
    assert crank.quaternion == pytest.approx((math.sqrt(0.5), 0, 0, math.sqrt(0.5)))
    assert hub == BasePose("hub", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0))


def test_python_data_gives_the_same_mechanism(everything):
    data = yaml.safe_load(EVERYTHING.read_text(encoding="utf-8"))
    assert mechanism_from_dict(data) == everything


def test_python_numbers_arrays_and_faults():
    data = _chain(["a"])
    data["bodies"]["b0"] = {"mass": np.float32(0.5), "com": np.array([1, 2, 3]), "inertia": (np.int64(1), 1, 1)}
    body = mechanism_from_dict(data).bodies[0]
    assert (body.mass, body.com, body.inertia[:3]) == (0.5, (1.0, 2.0, 3.0), (1.0, 1.0, 1.0))
    data["bodies"]["b0"] = {"mass": math.nan, "com": [True, 10**400, None], "inertia": b"abc"}
    data["gravity"] = {1: 2}
    with pytest.raises(ModelError) as caught:
        mechanism_from_dict(data, "made by hand")
    assert all(problem.line is None and problem.file == "made by hand" for problem in caught.value.problems)
    found = {problem.record: problem.message for problem in caught.value.problems}
    assert "finite" in found["bodies.b0.mass"]
    assert "truth value" in found["bodies.b0.com[0]"]
    assert "too large" in found["bodies.b0.com[1]"]
    assert "null" in found["bodies.b0.com[2]"]
    assert "bytes" in found["bodies.b0.inertia"]
    assert "list of 3" in found["gravity"]


def test_python_data_that_holds_itself_is_refused():
    data = _chain(["a"])
    data["bodies"]["b0"] = data
    with pytest.raises(ModelError, match="nested deeper"):
        mechanism_from_dict(data)


def test_all_faults_of_a_file_are_reported_at_once_in_line_order():
    with pytest.raises(ModelError) as caught:
        read_mechanism(DATA / "many_faults.yaml")
    problems = caught.value.problems
    assert [problem.line for problem in problems] == sorted(problem.line for problem in problems)
    assert [(problem.record, problem.line) for problem in problems] == [
        ("robocompiler", 1), ("name", 2), ("bodies.crank.inertai", 4), ("bodies.crank.mass", 4),
        ("bodies.crank.com[1]", 4),
        ("bodies.crank.com[2]", 4), ("bodies.world", 5), ("bodies.x.parent", 6), ("bodies.x.inertia", 6),
        ("joints.j.a", 8), ("joints.j.type", 8), ("joints.k", 9), ("joints.k.axis", 9), ("joints.u.axis2", 10),
        ("joints.u.damping", 10), ("joints.dup.a.quat", 11), ("joints.dup.b.matrix", 11), ("joints.dup.axis", 11),
        ("joints.dup", 12), ("joints.cc.limits.position", 13), ("joints.cc.limits.effort", 13),
        ("couplings.b.terms.kk", 16), ("couplings.b.terms.u", 16), ("couplings.c.expression", 17),
        ("couplings.d.expression", 18), ("ports.p", 20), ("frames.crank", 22), ("tree", 23),
    ]  # fmt: skip
    assert str(caught.value).startswith(f"{len(problems)} problems:\n")


def _joint(fields: str) -> str:
    return (
        "robocompiler: 1\nname: t\nbodies: {p: {mass: 1}}\njoints:\n"
        f"  j: {{type: prismatic, a: world, b: {{body: p}}, {fields}}}\n"
    )


@pytest.mark.parametrize(
    ("axis", "unit"),
    [
        ("[0, 3, 4]", (0.0, 0.6, 0.8)), ("[0, 0, 1e-300]", (0.0, 0.0, 1.0)), ("[0, -1e300, 0]", (0.0, -1.0, 0.0)),
        ("[0.6, 0.8, 0]", (0.6, 0.8, 0.0)),
        ("[4e-6, 0, -1]", (4e-6 / math.hypot(4e-6, 1), 0.0, -1 / math.hypot(4e-6, 1))),
    ],
)  # fmt: skip
def test_an_axis_is_a_direction(axis, unit):
    found = read_mechanism_text(_joint(f"axis: {axis}")).joint("j").axis
    assert found == pytest.approx(unit, rel=1e-15, abs=0)
    written_again = read_mechanism_text(_joint(f"axis: [{', '.join(map(repr, found))}]")).joint("j").axis
    assert written_again == found


def test_rpy_turns_about_fixed_axes():
    text = _joint("axis: [1, 0, 0]").replace("{body: p}", "{body: p, rpy: [0.3, -0.4, 1.1]}")

    def turn(axis, angle):
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        matrix = np.eye(3)
        matrix[i, i] = matrix[j, j] = math.cos(angle)
        matrix[i, j], matrix[j, i] = -math.sin(angle), math.sin(angle)
        return matrix

    expected = turn(2, 1.1) @ turn(1, -0.4) @ turn(0, 0.3)
    found = read_mechanism_text(text).joint("j").b.rotation
    np.testing.assert_allclose(found, expected, atol=1e-15)
    base = "reference: {base: {rpy: [0.3, -0.4, 1.1]}}"
    w, *xyz = read_mechanism_text(text + base).reference.bases[0].quaternion
    quat = text.replace("rpy: [0.3, -0.4, 1.1]", f"quat: [{w!r}, {', '.join(map(repr, xyz))}]")
    np.testing.assert_allclose(read_mechanism_text(quat).joint("j").b.rotation, expected, atol=1e-15)


def test_matrices_are_kept_to_the_digit_or_repaired_with_a_warning():
    exact = "[[0.6, -0.8, 0], [0.8, 0.6000000001, 0], [0, 0, 1]]"
    rough = "[[0.6, -0.8, 0], [0.8, 0.6000003, 0], [0, 0, 1]]"
    read = {
        m: read_mechanism_text(_joint("axis: [1, 0, 0]").replace("{body: p}", f"{{body: p, matrix: {m}}}"))
        for m in (exact, rough)
    }
    assert read[exact].joint("j").b.rotation == ((0.6, -0.8, 0.0), (0.8, 0.6000000001, 0.0), (0.0, 0.0, 1.0))
    assert read[exact].warnings == ()
    repaired = np.array(read[rough].joint("j").b.rotation)
    np.testing.assert_allclose(repaired.T @ repaired, np.eye(3), atol=1e-15)
    assert "joints.j.b.matrix" in read[rough].warnings[0]


def test_quaternions_are_normalised_within_a_millionth():
    text = _joint("axis: [1, 0, 0]").replace("{body: p}", "{body: p, quat: [0.7071068, 0.7071068, 0, 0]}")
    rotation = np.array(read_mechanism_text(text).joint("j").b.rotation)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-15)


@pytest.mark.parametrize(
    "name", ["on", "off", "yes", "NO", "12", "1.50", "010", "0x1F", "1:30", "2024-01-01", "y", "true"]
)
def test_names_are_what_is_written_whatever_yaml_takes_them_for(name):
    if ":" in name:
        with pytest.raises(ModelError, match="not allowed in a name"):
            read_mechanism_text(_joint("axis: [1, 0, 0]").replace("p:", f"{name}:").replace("body: p", f"body: {name}"))
        return
    text = _joint("axis: [1, 0, 0]").replace("p:", f"{name}:").replace("body: p", f"body: {name}")
    mechanism = read_mechanism_text(text)
    assert mechanism.bodies[0].name == name
    assert mechanism.joint("j").b.body == name


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e-8", 1e-8),
        ("1E5", 1e5),
        ("+2", 2.0),
        ("010", 10.0),
        (".5", 0.5),
        ("'3'", 3.0),
        ("pi*2", 2 * math.pi),
        ("-0.0", 0.0),
    ],
)
def test_numbers_are_plain_decimals(written, value):
    text = _joint("axis: [1, 0, 0]").replace("{mass: 1}", f"{{mass: {written}}}")
    assert read_mechanism_text(text).bodies[0].mass == value


def test_parameters_may_be_declared_after_their_use_and_constants_fold():
    text = (
        _joint("axis: [1, 0, 0], armature: 2*3*load").replace("{mass: 1}", "{mass: load - load}")
        + "parameters: {load: 2}\n"
    )
    mechanism = read_mechanism_text(text)
    assert mechanism.joint("j").armature[0].arguments[0] == Constant(6.0)
    assert mechanism.parameters[0].default == 2.0


def test_massless_bodies_with_inertia_are_legal():
    text = _joint("axis: [1, 0, 0]").replace("{mass: 1}", "{inertia: [1, 1, 1], com: [9, 9, 9]}")
    assert read_mechanism_text(text).bodies[0].inertia[:3] == (1.0, 1.0, 1.0)


def test_a_single_base_pose():
    text = _joint("axis: [1, 0, 0]") + "reference: {base: {body: p, xyz: [1, 2, 3]}}\n"
    assert read_mechanism_text(text).reference.bases == (BasePose("p", (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0)),)
    text = _joint("axis: [1, 0, 0]") + "reference: {base: {}}\n"
    assert read_mechanism_text(text).reference.bases[0].body == ""


def test_a_quaternion_may_be_given_by_its_coordinates():
    text = _joint("axis: [1, 0, 0]").replace("prismatic", "spherical").replace(", axis: [1, 0, 0]", "")
    seed = "reference: {joints: {j:qw: 0.6, j:qx: 0, j:qz: 0.8000001, j:qy: 0}}\n"
    values = dict(read_mechanism_text(text + seed).reference.coordinates)
    assert math.hypot(*values.values()) == pytest.approx(1, abs=1e-15)
    assert values["j:qz"] == pytest.approx(0.8, abs=1e-7)


def test_empty_groups_are_legal():
    groups = "couplings:\nports:\nframes:\nsupports:\nparameters:\nreference:\nscales:\n"
    mechanism = read_mechanism_text(_joint("axis: [1, 0, 0]") + groups)
    assert (mechanism.couplings, mechanism.ports, mechanism.frames, mechanism.supports) == ((), (), (), ())
    assert mechanism.length_scale is None
