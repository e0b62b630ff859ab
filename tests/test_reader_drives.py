"""Drives in the input language: what a valid one means, and every rule broken once with record, line and mend."""

import pytest

from robocompiler.errors import ModelError
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.expressions import Symbol, evaluate, names
from robocompiler.records.reader import mechanism_from_dict, read_mechanism_text

HEAD = """robocompiler: 1
name: t
bodies: {a: {mass: 1}, b: {mass: 1}, c: {mass: 1}}
joints:
  j: {type: revolute, a: world, b: a, axis: [0, 0, 1]}
  knee-2: {type: cylindrical, a: a, b: b, axis: [1, 0, 0]}
  ball: {type: spherical, a: b, b: c}
ports: {m: {joint: j}, n: {joint: "knee-2:displacement"}}
parameters: {stiffness: 3}
drives:
"""
FIRST = HEAD.count("\n") + 1  # the line of the first drive

SERVO = """  servo:
    port: n
    commands: [target]
    states: {lag: 0.25}
    constants: {kp: 80*stiffness}
    effort: kp*(lag - displacement) - 2*velocity + `knee-2:angle` + speed(j) + speed(`ball:wy`)
    rates: {lag: (target - lag)/0.02 + 0.1*effort}
"""


def test_a_drive_as_it_is_read():
    mechanism = read_mechanism_text(HEAD + SERVO)
    (drive,) = mechanism.drives
    assert (drive.name, drive.port, drive.source.line) == ("servo", "n", FIRST)
    assert [(s.name, s.initial, s.unit) for s in drive.states] == [("lag", 0.25, "")]
    assert [(c.name, c.unit) for c in drive.commands] == [("target", "")]
    wanted = {"kp", "lag", "displacement", "velocity", "knee-2:angle", "speed(j)", "speed(ball:wy)"}
    assert names(drive.effort) == wanted
    assert names(drive.states[0].rate) == {"target", "lag", "effort"}
    known = dict.fromkeys(wanted, 0.0) | {"kp": 240.0, "lag": 0.5, "velocity": 3.0, "speed(j)": 0.25}
    assert evaluate(drive.effort, known) == 240 * 0.5 - 6 + 0.25
    assert mechanism.warnings == ()


def test_python_data_gives_the_same_drive():
    data = {
        "port": "n",
        "commands": ["target"],
        "states": {"lag": {"initial": 0.25, "unit": "m"}},
        "constants": {"kp": "80*stiffness"},
        "effort": "kp*(lag - displacement) - 2*velocity + `knee-2:angle` + speed(j) + speed(`ball:wy`)",
        "rates": {"lag": "(target - lag)/0.02 + 0.1*effort"},
    }
    import yaml

    whole = yaml.safe_load(HEAD.replace("drives:\n", ""))
    text = HEAD + SERVO.replace("{lag: 0.25}", "{lag: {initial: 0.25, unit: m}}")
    assert mechanism_from_dict({**whole, "drives": {"servo": data}}) == read_mechanism_text(text)


def test_a_drive_needs_no_state_and_no_command():
    (drive,) = read_mechanism_text(HEAD + "  spring: {port: m, effort: -5*displacement}\n").drives
    assert (drive.states, drive.commands, drive.constants) == ((), (), ())
    assert read_mechanism_text(HEAD + "  off: {port: m, effort: 0}\n").drives[0].port == "m"
    assert read_mechanism_text(HEAD).drives == ()


def test_clamp_is_min_of_max():
    assert parse_expression("clamp(x, -1, y)") == parse_expression("min(max(x, -1), y)")
    tree = parse_expression("clamp(x, -2*3, 5)")
    assert [evaluate(tree, {"x": x}) for x in (-7.0, 0.5, 9.0)] == [-6.0, 0.5, 5.0]


def test_speed_is_a_function_of_names_only_where_it_is_allowed():
    assert parse_expression("speed(`a:b`)", ("speed",)) == Symbol("speed(a:b)")
    with pytest.raises(ModelError, match="unknown function 'speed'"):
        parse_expression("speed(a)")


def problems_of(drives: str) -> list[tuple[str, int | None, str]]:
    with pytest.raises(ModelError) as caught:
        read_mechanism_text(HEAD + drives, "m.yaml")
    assert all(problem.file == "m.yaml" for problem in caught.value.problems)
    return [(problem.record, problem.line, problem.message) for problem in caught.value.problems]


def drive(fields: str) -> str:
    return f"  d: {{port: m, {fields}}}\n"


# drives, record, line after the first drive's, fragments of the message
CASES = [
    ("  d: 3\n", "drives.d", 0, ["mapping with keys port"]),
    ("  d: {effort: 1}\n", "drives.d", 0, ["'port' is missing"]),
    ("  d: {port: m}\n", "drives.d", 0, ["'effort' is missing"]),
    ("  d: {port: mm, effort: 1}\n", "drives.d.port", 0, ["no port is called 'mm'", "did you mean 'm'"]),
    ("  d: {port: , effort: 1}\n", "drives.d.port", 0, ["expected the name of a port"]),
    ("  d: {port: m, effort: 1}\n  e: {port: m, effort: 2}\n", "drives.e.port", 1, ["'d' already", "merge"]),
    (drive("effort: 1, gain: 2"), "drives.d.gain", 0, ["unknown key", "allowed: port, commands"]),
    ("  'd;': {port: m, effort: 1}\n", "drives.'d;'", 0, ["not allowed in a name"]),
    # laws
    (drive("effort: "), "drives.d.effort", 0, ["nothing (null)"]),
    (drive("effort: displacment"), "drives.d.effort", 0, ["'displacment'", "did you mean 'displacement'", "declare"]),
    (drive("effort: effort"), "drives.d.effort", 0, ["own law", "only rates"]),
    (drive("effort: 1/0"), "drives.d.effort", 0, ["no finite real value"]),
    (drive("effort: 1e400"), "drives.d.effort", 0, ["too large"]),
    (drive("effort: .nan"), "drives.d.effort", 0, ["not a finite number"]),
    (drive("effort: j^2"), "drives.d.effort", 0, ["write **"]),
    (drive("effort: knee-2"), "drives.d.effort", 0, ["'knee'", "no state, command"]),
    (drive("effort: '`knee-2`'"), "drives.d.effort", 0, ["2 coordinates", "'knee-2:angle'"]),
    (drive("effort: '`ball:qw`'"), "drives.d.effort", 0, ["quaternion"]),
    (drive("effort: speed(k)"), "drives.d.effort", 0, ["no joint velocity is called 'k'"]),
    (drive("effort: speed(`knee-2`)"), "drives.d.effort", 0, ["no velocity", "'knee-2:angle', 'knee-2:displacement'"]),
    (drive("effort: speed(2)"), "drives.d.effort", 0, ["speed takes a name", "'2'"]),
    (drive("effort: speed"), "drives.d.effort", 0, ["speed is a function"]),
    (drive("effort: 'clamp(j, 2, 1)'"), "drives.d.effort", 0, ["lower bound 2", "swap"]),
    (drive("effort: 'clamp(j, 2)'"), "drives.d.effort", 0, ["3 arguments"]),
    (drive("effort: foo(j)"), "drives.d.effort", 0, ["unknown function", "clamp, speed"]),
    (drive("effort: (j"), "drives.d.effort", 0, ["ends inside parentheses", "in quotes"]),
    # states and rates
    (drive("states: {x: 0}, effort: x"), "drives.d.states.x", 0, ["has no rate", "rates: {x: ...}"]),
    (drive("rates: {x: 0}, effort: 1"), "drives.d.rates.x", 0, ["no state", "declare it under states"]),
    (drive("states: {x: 0}, rates: {x: y}, effort: x"), "drives.d.rates.x", 0, ["no state, command", "'y'"]),
    (drive("states: {x: .inf}, rates: {x: 1}, effort: x"), "drives.d.states.x", 0, ["finite"]),
    (drive("states: {x: stiffness}, rates: {x: 1}, effort: x"), "drives.d.states.x", 0, ["initial value is a number"]),
    (drive("states: {x: {unit: A}}, rates: {x: 1}, effort: x"), "drives.d.states.x", 0, ["'initial' is missing"]),
    (drive("states: {x: {initial: 0, unit: a*/b}}, rates: {x: 1}, effort: x"), "drives.d.states.x.unit", 0, ["unit"]),
    (drive("states: [x], effort: 1"), "drives.d.states", 0, ["mapping from names to initial values"]),
    (drive("states: {x: 0}, rates: x, effort: 1"), "drives.d.rates", 0, ["mapping from states to rates"]),
    # names of a drive's own
    (drive("commands: [x, x], effort: x"), "drives.d.commands[1]", 0, ["a command 'x' already", "rename"]),
    (drive("commands: [x], states: {x: 0}, rates: {x: 1}, effort: x"), "drives.d.states.x", 0, ["command 'x'"]),
    (drive("commands: [stiffness], effort: 1"), "drives.d.commands[0]", 0, ["run-time parameter", "rename"]),
    (drive("commands: [j], effort: j"), "drives.d.commands[0]", 0, ["joint coordinate", "rename the command"]),
    (drive("commands: [velocity], effort: 1"), "drives.d.commands[0]", 0, ["meaning in drive laws"]),
    (drive("commands: [speed], effort: 1"), "drives.d.commands[0]", 0, ["meaning in drive laws"]),
    (drive("constants: {sin: 1}, effort: 1"), "drives.d.constants.sin", 0, ["meaning in drive laws"]),
    (drive("constants: {a-b: 1}, effort: 1"), "drives.d.constants.a-b", 0, ["constant's name is an identifier"]),
    (drive("constants: {x: j}, effort: x"), "drives.d.constants.x", 0, ["'j' is a joint coordinate"]),
    (drive("commands: x, effort: x"), "drives.d.commands", 0, ["a list of names, or a mapping"]),
    (drive("commands: [[x]], effort: 1"), "drives.d.commands[0]", 0, ["expected the name of a command"]),
    (drive("commands: {x: {units: V}}, effort: x"), "drives.d.commands.x.units", 0, ["did you mean 'unit'"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("drives", "record", "line", "fragments"), CASES, ids=[f"{k}-{c[1]}" for k, c in enumerate(CASES)]
)
def test_fault(drives, record, line, fragments):
    found = problems_of(drives)
    matching = [problem for problem in found if problem[:2] == (record, FIRST + line)]
    assert any(all(fragment in message for fragment in fragments) for _, _, message in matching), found


@pytest.mark.parametrize("drives", [case[0] for case in CASES])
def test_a_single_fault_is_reported_once(drives):
    lost_declaration = "rates: x," in drives or "commands: x," in drives  # what it declares is missed elsewhere
    assert len(problems_of(drives)) == (2 if lost_declaration else 1)


def test_all_faults_of_a_drive_are_reported_at_once():
    text = drive("commands: [x, j], states: {y: 1/0}, constants: {k: oops}, effort: w, gain: 1").replace("m,", "q,")
    records = {record for record, _, _ in problems_of(text)}
    assert records == {
        "drives.d.port", "drives.d.commands[1]", "drives.d.states.y", "drives.d.constants.k", "drives.d.effort",
        "drives.d.gain",
    }  # fmt: skip


def test_the_ports_own_names_must_not_be_coordinates_too():
    text = HEAD.replace("  j:", "  velocity: {type: revolute, a: c, b: b, axis: [1, 0, 0]}\n  j:") + drive(
        "effort: velocity"
    )
    with pytest.raises(ModelError, match="that of the drive's port here, but a joint coordinate is called so too"):
        read_mechanism_text(text)


def test_what_no_law_uses_is_a_warning():
    text = HEAD + drive("commands: [x], constants: {k: 1}, states: {y: 0}, rates: {y: 1}, effort: 1")
    first, second = read_mechanism_text(text, "m.yaml").warnings
    assert first == f"m.yaml:{FIRST}: drives.d.commands[0]: no law of this drive uses this command"
    assert second.endswith("drives.d.constants.k: no law of this drive uses this constant")


def test_a_port_that_could_not_be_read_causes_no_further_noise():
    text = HEAD.replace("{joint: j}", "{joint: jj}") + drive("effort: 1")
    with pytest.raises(ModelError) as caught:
        read_mechanism_text(text)
    assert [problem.record for problem in caught.value.problems] == ["ports.m.joint"]


def test_a_joint_of_unknown_type_causes_no_further_noise():
    text = HEAD.replace("type: spherical", "type: round") + drive("effort: speed(`ball:wx`)")
    with pytest.raises(ModelError) as caught:
        read_mechanism_text(text)
    assert [problem.record for problem in caught.value.problems] == ["joints.ball.type"]
