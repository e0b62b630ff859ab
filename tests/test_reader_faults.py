"""Every rule of the input language, broken once: the problem must name the record, the line and the mend."""

import pytest

from robocompiler.errors import ModelError
from robocompiler.records.reader import read_mechanism_text

BODIES = "bodies: {p: {mass: 1}, q: {mass: 2}, w: {mass: 3}, x: }"
JOINTS = (
    "joints: {r: {type: revolute, a: world, b: p, axis: [0, 0, 1]}, "
    "c: {type: cylindrical, a: p, b: q, axis: [0, 0, 1]}, s: {type: spherical, a: q, b: w}, "
    "weld-1: {type: fixed, a: w, b: x}}"
)
SNIPPET_LINE = 6  # the snippet of each case starts here, whatever it replaces


def text_of(snippet: str) -> str:
    group = snippet.split(":", maxsplit=1)[0]
    parameters = "parameters: {load: 2, len: {default: 0.5}}"
    lines = [
        "# empty" if line.startswith(group + ":") else line
        for line in ("robocompiler: 1", "name: t", BODIES, JOINTS, parameters)
    ]
    return "\n".join([*lines, snippet, ""])


def problems_of(text: str) -> list[tuple[str, int | None, str]]:
    with pytest.raises(ModelError) as caught:
        read_mechanism_text(text, "m.yaml")
    assert all(problem.file == "m.yaml" for problem in caught.value.problems)
    return [(problem.record, problem.line, problem.message) for problem in caught.value.problems]


def test_the_unbroken_frame_of_all_cases_is_valid():
    assert read_mechanism_text(text_of("scales: {length: 1}")).length_scale == 1


def joint(fields: str, kind: str = "revolute", axis: str = ", axis: [0, 0, 1]") -> str:
    return f"joints:\n  j: {{type: {kind}, a: world, b: p{axis}{fields}}}"


def placed(fields: str) -> str:
    return f"joints:\n  j: {{type: fixed, a: world, b: {{body: p, {fields}}}}}"


def body(fields: str) -> str:
    return "bodies:\n  p: {" + fields + "}\n  q: {}\n  w:\n  x:"


# snippet, record, line after the snippet's first, fragments of the message
CASES = [
    # top level
    ("robocompiler: 2", "robocompiler", 0, ["format version 1", "'2'"]),
    ("robocompiler: [1]", "robocompiler", 0, ["format version 1"]),
    ("name: a;b", "name", 0, ["';'", "ASCII letters"]),
    ("name: ", "name", 0, ["expected a name", "nothing"]),
    ("gravity: [0, 0]", "gravity", 0, ["list of 3 numbers", "a list of 2"]),
    ("gravity: down", "gravity", 0, ["list of 3 numbers", "'down'"]),
    ("gravity: [0, 0, load]", "gravity[2]", 0, ["parameter cannot stand here", "give a number"]),
    ("boddies: {}", "boddies", 0, ["unknown key", "did you mean 'bodies'", "allowed: robocompiler"]),
    ("scales: {length: 0}", "scales.length", 0, ["greater than 0"]),
    ("scales: {mass: 1}", "scales.mass", 0, ["unknown key", "length"]),
    ("bodies: {}", "bodies", 0, ["no body"]),
    ("joints:", "joints", 0, ["no joint"]),
    ("joints: [1]", "joints", 0, ["mapping from names to joints", "a list of 1"]),
    # structure belongs to the compiler
    ("tree: {}", "tree", 0, ["compiler derives", "remove the key"]),
    ("independent: [r]", "independent", 0, ["--independent"]),
    (body("mass: 1, parent: q"), "bodies.p.parent", 1, ["compiler derives"]),
    (joint(", cut: true"), "joints.j.cut", 1, ["compiler derives"]),
    ("reference: {spanning_tree: 1}", "reference.spanning_tree", 0, ["compiler derives"]),
    # names
    ("bodies:\n  world: {}\n  p:\n  q:\n  w:\n  x:", "bodies.world", 1, ["implicit", "rename"]),
    ('bodies:\n  "a:b": {}\n  p:\n  q:\n  w:\n  x:', "bodies.a:b", 1, ["':'", "not allowed"]),
    ('bodies:\n  "": {}\n  p:\n  q:\n  w:\n  x:', "bodies.''", 1, ["empty"]),
    ("frames:\n  ' t': {body: p}", "frames.' t'", 1, ["start or end with a space"]),
    (f"frames:\n  {'n' * 65}: {{body: p}}", f"frames.'{'n' * 48}'...", 1, ["at most 64"]),
    ("frames:\n  té: {body: p}", "frames.'t\\xe9'", 1, ["ASCII"]),
    # bodies
    (body("mass: -1"), "bodies.p.mass", 1, ["must not be negative", "-1"]),
    (body("mass: -load"), "bodies.p.mass", 1, ["must not be negative", "default parameters"]),
    (body("mass: true"), "bodies.p.mass", 1, ["expected a number", "truth value true"]),
    (body("mass: yes"), "bodies.p.mass", 1, ["truth value yes"]),
    (body("mass: "), "bodies.p.mass", 1, ["nothing (null)"]),
    (body("mass: [1]"), "bodies.p.mass", 1, ["expected a number", "a list of 1"]),
    (body("mass: {a: 1}"), "bodies.p.mass", 1, ["expected a number", "a mapping of 1"]),
    (body("mass: .nan"), "bodies.p.mass", 1, ["finite"]),
    (body("mass: -.INF"), "bodies.p.mass", 1, ["finite"]),
    (body("mass: 1e400"), "bodies.p.mass", 1, ["too large"]),
    (body("mass: 1:30"), "bodies.p.mass", 1, ["base 60"]),
    (body("mass: 0x10"), "bodies.p.mass", 1, ["plain decimal"]),
    (body("mass: 1_000"), "bodies.p.mass", 1, ["plain decimal"]),
    (body("mass: '0,5'"), "bodies.p.mass", 1, ["decimal point"]),
    (body("mass: 10 mm"), "bodies.p.mass", 1, ["plain SI numbers", "10*0.001"]),
    (body("mass: 30deg"), "bodies.p.mass", 1, ["plain SI numbers", "30*pi/180"]),
    (body("mass: 3 kg"), "bodies.p.mass", 1, ["plain SI numbers"]),
    (body("mass: 2pi"), "bodies.p.mass", 1, ["write 2*pi"]),
    (body("mass: 2 load"), "bodies.p.mass", 1, ["write 2*load"]),
    (body("mass: 2*laod"), "bodies.p.mass", 1, ["no parameter is called 'laod'", "'load'"]),
    (body("mass: 2*r"), "bodies.p.mass", 1, ["'r' is a joint coordinate"]),
    (body("mass: 1/(load - 2)"), "bodies.p.mass", 1, ["default parameters", "no finite real value"]),
    (body("mass: 1/0"), "bodies.p.mass", 1, ["no finite real value"]),
    (body("mass: abs((-load)**0.5)"), "bodies.p.mass", 1, ["no finite real value"]),
    (body("com: 3"), "bodies.p.com", 1, ["list of 3", "the number 3"]),
    (body("com: [1, 2, x y]"), "bodies.p.com[2]", 1, ["expected a number or an expression"]),
    (body("inertia: [1, 2]"), "bodies.p.inertia", 1, ["6 numbers", "of 3", "a list of 2"]),
    (body("inertia: [1, 2, off]"), "bodies.p.inertia[2]", 1, ["truth value off"]),
    (body("inertia: [-load, 2, 2]"), "bodies.p.inertia", 1, ["not positive definite", "default parameters"]),
    (body("inertai: [1, 1, 1]"), "bodies.p.inertai", 1, ["did you mean 'inertia'"]),
    ("bodies: {p: 3, q: , w: , x: }", "bodies.p", 0, ["mapping with keys mass, com, inertia"]),
    # joints
    ("joints: {j: }", "joints.j", 0, ["mapping with keys type"]),
    ("joints: {j: {a: world, b: p}}", "joints.j", 0, ["'type' is missing"]),
    ("joints: {j: {type: fixed, b: p}}", "joints.j", 0, ["'a' is missing"]),
    ("joints: {j: {type: hinge, a: world, b: p}}", "joints.j.type", 0, ["unknown joint type", "allowed: fixed"]),
    ("joints: {j: {type: Revolut, a: world, b: p}}", "joints.j.type", 0, ["did you mean 'revolute'"]),
    ("joints: {j: {type: fixed, a: world, b: pp}}", "joints.j.b", 0, ["no body is called 'pp'", "'p'"]),
    ("joints: {j: {type: fixed, a: world, b: {xyz: [0, 0, 0]}}}", "joints.j.b", 0, ["'body' is missing"]),
    ("joints: {j: {type: fixed, a: p, b: {body: p}}}", "joints.j", 0, ["connects 'p' with itself"]),
    ("joints: {j: {type: fixed, a: world, b: world}}", "joints.j", 0, ["connects 'world' with itself"]),
    (joint("", axis=""), "joints.j", 1, ["'axis' is missing", "revolute"]),
    (joint("", "planar", ""), "joints.j", 1, ["'axis' is missing"]),
    (joint("", "spherical"), "joints.j.axis", 1, ["has no axis", "remove"]),
    (joint("", "fixed"), "joints.j.axis", 1, ["has no axis"]),
    (joint("", "free"), "joints.j.axis", 1, ["has no axis"]),
    (joint(", axis2: [1, 0, 0]"), "joints.j.axis2", 1, ["has no axis2"]),
    (joint("", "universal"), "joints.j", 1, ["'axis2' is missing"]),
    (joint(", axis2: [0, 1e-7, -3]", "universal"), "joints.j.axis2", 1, ["parallel"]),
    (joint("", axis=", axis: [0, 0, 0]"), "joints.j.axis", 1, ["no direction"]),
    (joint("", axis=", axis: [0, 0, len]"), "joints.j.axis[2]", 1, ["parameter cannot stand here"]),
    (joint(", pitch: 0.1"), "joints.j.pitch", 1, ["has no pitch", "screw"]),
    (joint("", "screw"), "joints.j", 1, ["'pitch' is missing", "metres per radian"]),
    (joint(", limits: {position: [1, -1]}"), "joints.j.limits.position", 1, ["above the upper bound", "swap"]),
    (joint(", limits: {position: [1, load]}"), "joints.j.limits.position[1]", 1, ["parameter cannot stand here"]),
    (joint(", limits: {position: 3}"), "joints.j.limits.position", 1, ["list of 2"]),
    (joint(", limits: {velocity: -1}"), "joints.j.limits.velocity", 1, ["negative"]),
    (joint(", limits: {effort: .inf}"), "joints.j.limits.effort", 1, ["finite"]),
    (joint(", limits: {torque: 1}"), "joints.j.limits.torque", 1, ["unknown key", "effort"]),
    (joint(", limits: {position: [0, 1]}", "continuous"), "joints.j.limits.position", 1, ["no position limits"]),
    (joint(", limits: {position: [0, 1]}", "cylindrical"), "joints.j.limits.position", 1, ["angle, displacement"]),
    (joint(", limits: {wx: {position: [0, 1]}}", "spherical", ""), "joints.j.limits.wx.position", 1, ["quaternion"]),
    (joint(", limits: {vx: {position: [0, 1]}}", "free", ""), "joints.j.limits.vx.position", 1, ["free joint"]),
    (joint(", limits: {velocity: 1}", "fixed", ""), "joints.j.limits", 1, ["no freedom"]),
    (joint(", armature: -0.1"), "joints.j.armature", 1, ["negative"]),
    (joint(", damping: -load"), "joints.j.damping", 1, ["negative", "default parameters"]),
    (joint(", friction: {angle: -1}", "cylindrical"), "joints.j.friction.angle", 1, ["negative"]),
    (joint(", friction: 1", "cylindrical"), "joints.j.friction", 1, ["angle, displacement", "2 freedoms"]),
    (joint(", damping: 1", "free", ""), "joints.j.damping", 1, ["wx, wy, wz, vx, vy, vz"]),
    (joint(", damping: {qx: 1}", "spherical", ""), "joints.j.damping.qx", 1, ["unknown key", "wx"]),
    (joint(", armature: 1", "fixed", ""), "joints.j.armature", 1, ["no freedom"]),
    # placements
    (placed("rpy: [0, 0, 0], quat: [1, 0, 0, 0]"), "joints.j.b", 1, ["2 times", "keep one"]),
    (placed("rpy: [0, 0, 90deg]"), "joints.j.b.rpy[2]", 1, ["plain SI", "90*pi/180"]),
    (placed("quat: [1, 0, 0]"), "joints.j.b.quat", 1, ["[w, x, y, z]", "a list of 3"]),
    (placed("quat: [1, 0, 0, 0.01]"), "joints.j.b.quat", 1, ["norm 1.00005"]),
    (placed("matrix: [1, 0, 0, 0, 1, 0, 0, 0, 1]"), "joints.j.b.matrix", 1, ["3 rows"]),
    (placed("matrix: [[1, 0, 0], [0, 1, 0], [0, 0, -1]]"), "joints.j.b.matrix", 1, ["determinant -1"]),
    (placed("matrix: [[1, 0, 0], [0, 1, 0.001], [0, 0, 1]]"), "joints.j.b.matrix", 1, ["0.001", "more digits"]),
    (placed("matrix: [[1e200, 0, 0], [0, 1, 0], [0, 0, 1]]"), "joints.j.b.matrix", 1, ["not a rotation matrix"]),
    (placed("xzy: [0, 0, 0]"), "joints.j.b.xzy", 1, ["did you mean 'xyz'"]),
    # couplings
    ("couplings: [{terms: {r: 1}}]", "couplings", 0, ["mapping from names to couplings", "a list of 1"]),
    ("couplings: {k: {}}", "couplings.k", 0, ["terms", "expression"]),
    ("couplings: {k: {terms: {}}}", "couplings.k.terms", 0, ["no coordinate"]),
    ("couplings: {k: {terms: {r: 0}}}", "couplings.k.terms", 0, ["other than 0"]),
    ("couplings: {k: {terms: {rr: 1}}}", "couplings.k.terms.rr", 0, ["no coordinate is called 'rr'", "'r'"]),
    ("couplings: {k: {terms: {c: 1}}}", "couplings.k.terms.c", 0, ["'c:angle', 'c:displacement'"]),
    ("couplings: {k: {terms: {c:x: 1}}}", "couplings.k.terms.c:x", 0, ["no coordinate 'x'"]),
    ("couplings: {k: {terms: {r:x: 1}}}", "couplings.k.terms.r:x", 0, ["is called 'r'"]),
    ("couplings: {k: {terms: {s:qw: 1}}}", "couplings.k.terms.s:qw", 0, ["quaternion"]),
    ("couplings: {k: {terms: {weld-1: 1}}}", "couplings.k.terms.weld-1", 0, ["no coordinate"]),
    ("couplings: {k: {terms: {r: one}}}", "couplings.k.terms.r", 0, ["no parameter is called 'one'"]),
    ("couplings: {k: {terms: {r: 1}, expression: r}}", "couplings.k", 0, ["both"]),
    ("couplings: {k: {expression: load}}", "couplings.k.expression", 0, ["no coordinate"]),
    ("couplings: {k: {expression: r + rx}}", "couplings.k.expression", 0, ["'rx'", "'r'"]),
    ("couplings: {k: {expression: r^2}}", "couplings.k.expression", 0, ["**"]),
    ("couplings: {k: {expression: foo(r)}}", "couplings.k.expression", 0, ["unknown function", "sin, cos"]),
    ("couplings: {k: {expression: c:angle}}", "couplings.k.expression", 0, ["backticks"]),
    ("couplings: {k: {expression: [r]}}", "couplings.k.expression", 0, ["expected a number"]),
    # ports
    ("ports: {m: {}}", "ports.m", 0, ["exactly one of joint, terms, distance", "none"]),
    ("ports: {m: {joint: r, terms: {r: 1}}}", "ports.m", 0, ["joint and terms"]),
    ("ports: {m: {joint: rr}}", "ports.m.joint", 0, ["no coordinate is called 'rr'"]),
    ("ports: {m: {joint: c}}", "ports.m.joint", 0, ["'c:angle'"]),
    ("ports: {m: {joint: s}}", "ports.m.joint", 0, ["quaternion"]),
    ("ports: {m: {joint: }}", "ports.m.joint", 0, ["nothing"]),
    ("ports: {m: {distance: [{body: p}]}}", "ports.m.distance", 0, ["2 points", "a list of 1"]),
    ("ports: {m: {distance: [{body: p}, {body: p, xyz: [1, 0, 0]}]}}", "ports.m.distance", 0, ["both points"]),
    ("ports: {m: {distance: [{body: p}, {xyz: [1, 0, 0]}]}}", "ports.m.distance[1]", 0, ["'body' is missing"]),
    ("ports: {m: {joint: r, limits: {position: [0, 1]}}}", "ports.m.limits.position", 0, ["displacement"]),
    ("ports: {m: {joint: r, limits: {displacement: [1, 0]}}}", "ports.m.limits.displacement", 0, ["swap"]),
    # frames and supports
    ("frames: {p: {body: q}}", "frames.p", 0, ["every body is a frame"]),
    ("frames: {world: {body: q}}", "frames.world", 0, ["taken by the world"]),
    ("frames: {t: p}", "frames.t", 0, ["mapping with keys body"]),
    ("frames: {t: {body: z}}", "frames.t.body", 0, ["no body is called 'z'"]),
    ("supports: {l: {pp: weld}}", "supports.l.pp", 0, ["no frame or body", "'p'"]),
    ("supports: {l: {p: glue}}", "supports.l.p", 0, ["kind of contact", "weld, point"]),
    ("supports: {l: {world: weld}}", "supports.l.world", 0, ["fixed to the world already"]),
    ("supports: {l: {}}", "supports.l", 0, ["holds nothing"]),
    # parameters
    ("parameters: {a-b: 1}", "parameters.a-b", 0, ["identifier"]),
    ("parameters: {pi: 1}", "parameters.pi", 0, ["meaning"]),
    ("parameters: {sin: 1}", "parameters.sin", 0, ["meaning"]),
    ("parameters: {r: 1}", "parameters.r", 0, ["joint coordinate"]),
    ("parameters: {l: {}}", "parameters.l", 0, ["'default' is missing"]),
    ("parameters: {l: {default: high}}", "parameters.l.default", 0, ["declares no parameters"]),
    ("parameters: [l]", "parameters", 0, ["mapping", "a list of 1"]),
    # reference
    ("reference: {joints: {rr: 1}}", "reference.joints.rr", 0, ["no joint is called 'rr'"]),
    ("reference: {joints: {c: 1}}", "reference.joints.c", 0, ["list of 2 numbers [angle, displacement]"]),
    ("reference: {joints: {c: [1, 2, 3]}}", "reference.joints.c", 0, ["list of 2", "a list of 3"]),
    ("reference: {joints: {c:y: 1}}", "reference.joints.c:y", 0, ["no coordinate 'y'"]),
    ("reference: {joints: {weld-1: 1}}", "reference.joints.weld-1", 0, ["no coordinate"]),
    ("reference: {joints: {c: [1, 2], c:angle: 1}}", "reference.joints.c:angle", 0, ["twice"]),
    ("reference: {joints: {s: [1, 1, 0, 0]}}", "reference.joints.s[0]", 0, ["norm 1.414"]),
    ("reference: {joints: {s:qw: 1}}", "reference.joints.s:qw", 0, ["incomplete"]),
    ("reference: {joints: {r: load}}", "reference.joints.r", 0, ["parameter cannot stand here"]),
    ("reference: {base: {pos: 1}}", "reference.base.pos", 0, ["unknown key"]),
    ("reference: {base: {quat: [1, 0, 0, 0], rpy: [0, 0, 0]}}", "reference.base", 0, ["keep one"]),
    ("reference: {base: {body: world}}", "reference.base.body", 0, ["world cannot stand here"]),
    ("reference: {base: {pp: {xyz: [0, 0, 0]}}}", "reference.base.pp", 0, ["no body is called 'pp'", "'p'"]),
    ("reference: {base: {p: {body: p}}}", "reference.base.p.body", 0, ["unknown key"]),
    # YAML itself
    ("frames:\n  a: {body: p}\n  a: {body: q}", "frames.a", 2, ["line 7", "keep one"]),
    ("gravity: [0, 0, 1]\ngravity: [0, 0, 2]", "gravity", 1, ["line 6"]),
    ("frames: {[a]: {body: p}}", "", 0, ["a key must be plain text"]),
    ("frames: &f {}", "", 0, ["anchors"]),
    ("frames: !!map {}", "", 0, ["tags"]),
    ("frames: !!python/object/apply:os.system ['true']", "", 0, ["tags"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("snippet", "record", "line", "fragments"), CASES, ids=[f"{k}-{c[1]}" for k, c in enumerate(CASES)]
)
def test_fault(snippet, record, line, fragments):
    found = problems_of(text_of(snippet))
    matching = [problem for problem in found if problem[0] == record and problem[1] == SNIPPET_LINE + line]
    assert any(all(fragment in message for fragment in fragments) for _, _, message in matching), found


@pytest.mark.parametrize(
    "snippet", [case[0] for case in CASES if not case[0].startswith(("bodies", "joints", "parameters", "frames"))]
)
def test_a_single_fault_is_reported_once(snippet):
    assert len(problems_of(text_of(snippet))) == 1


def test_indefinite_inertia_reads_as_promised():
    text = (
        "robocompiler: 1\nname: t\nbodies:\n  coupler:\n    mass: 1\n    inertia: [.01, .01, .015, .02, 0, 0]\n"
        + JOINTS
    )
    message = next(str(p) for p in _model_error(text).problems if p.record == "bodies.coupler.inertia")
    assert message.startswith(
        "m.yaml:6: bodies.coupler.inertia: not positive definite, smallest eigenvalue -0.01 at line 6"
    )


def _model_error(text: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read_mechanism_text(text, "m.yaml")
    return caught.value


def test_a_joint_of_unknown_type_causes_no_further_noise():
    joints = "joints: {r: {type: hinge, a: world, b: p}}\n"
    users = "couplings: {k: {terms: {r: 1}}}\nports: {m: {joint: r}}\nreference: {joints: {r: 1}}"
    text = text_of(joints + users)
    assert [problem[0] for problem in problems_of(text)] == ["joints.r.type"]


def test_missing_top_level_keys():
    assert {message for _, _, message in problems_of("gravity: [0, 0, 0]")} >= {
        "the key 'robocompiler' is missing",
        "the key 'name' is missing",
    }
    assert {record for record, _, _ in problems_of("gravity: [0, 0, 0]")} == {"", "bodies", "joints"}
