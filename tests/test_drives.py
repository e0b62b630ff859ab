"""Compiled drives: their laws against maximal coordinates, closed forms and the balance of energy; what is refused."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from c_support import run_compiler
from casadi_robot import CasadiRobot
from case_models import built
from click.testing import CliRunner
from driven_mechanisms import MOTOR, WHEEL, bench, driven_four_bar, named
from mechanics_support import MODELS, difference, oracle_state, random_state, shipped
from numpy.typing import NDArray
from odd_mechanisms import truss
from scipy.linalg import expm

import robocompiler as rc
from robocompiler.backend.emit import emit
from robocompiler.backend.options import BuildOptions
from robocompiler.backend.toolchain import STRICT
from robocompiler.check.run import check_robot
from robocompiler.cli import robocompile
from robocompiler.compiler import compile_to_folder, run_front_end, support_front_end
from robocompiler.oracle.drives import drive_values
from robocompiler.oracle.efforts import port_displacement, port_row
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.symbolic.drives import state_names

Array = NDArray[np.float64]
Compiled = Callable[[str], rc.Robot]
FAST = BuildOptions(extra_flags=("-O0",))


@pytest.fixture(scope="module")
def robot(build_folder: Path) -> rc.Robot:
    return built(build_folder, bench())


@pytest.fixture(scope="module")
def linkage(build_folder: Path) -> rc.Robot:
    return built(build_folder, driven_four_bar())


# --- the laws ---


def test_names_and_orders(robot: rc.Robot) -> None:
    assert [(d.name, d.port) for d in robot.drives] == [
        ("servo 1", "arm"), ("motor", "wheel"), ("elastic", "cart"), ("oil/1-b", "cable"), ("slack", "tendon")
    ]  # fmt: skip
    assert robot.drive_states == ("servo 1:lag", "motor:current", "elastic:x", "elastic:X", "oil/1-b:p")
    assert robot.commands == (
        "servo 1:target", "servo 1:feedforward", "motor:voltage", "elastic:double", "oil/1-b:valve"
    )  # fmt: skip
    np.testing.assert_array_equal(robot.initial_drive_states, [0.1, 0.5, 0.05, -0.2, 2.0])
    assert robot.drives[1].units == {"motor:current": "A", "motor:voltage": "V"}
    assert robot.drives[2].units == {"elastic:X": "m/s"}
    assert robot.drives[4].states == robot.drives[4].commands == ()


@pytest.mark.parametrize("pulley", [0.3, 0.45])
def test_every_kind_of_drive_agrees_with_maximal_coordinates(robot: rc.Robot, pulley: float) -> None:
    robot = robot.with_parameters({"pulley": pulley})
    model = MaximalModel(bench(), robot.parameters)
    saturated = 0
    for seed in range(20):
        q, u, random = random_state(robot, seed)
        z, c = random.uniform(-1, 1, 5), random.uniform(-20, 20, 5)
        f = random.uniform(-5, 5, 6)
        state = oracle_state(model, robot, q, u)
        efforts, rates = drive_values(model, state, named(robot.drive_states, z), named(robot.commands, c))
        wanted = [efforts.get(port.name, x) for port, x in zip(robot.ports, f, strict=True)]
        found = robot.drive_efforts(q, u, z, c, f)
        assert difference(found, np.array(wanted)) < 1e-12
        assert difference(robot.drive_rates(q, u, z, c), np.array([rates[n] for n in robot.drive_states])) < 1e-12
        assert found[0] == f[0]  # the port without a drive
        assert robot.drive_efforts(q, u, z, c)[0] == 0.0
        saturated += efforts["arm"] in (25.0, -30.0)
    assert 3 < saturated < 17  # the clamp holds at some states, and at others it does not


@pytest.mark.parametrize("chart", ["port", "inner"])
def test_the_crane_agrees_with_its_laws_written_out(chart: str, compiled: Compiled) -> None:
    """Hydraulics and motor by hand, from the displacement and velocity that maximal coordinates give to the ports."""
    robot, model = compiled("crane").chart(chart), MaximalModel(shipped("crane"))
    for seed in range(4):
        q, u, random = random_state(robot, seed, speed=0.3)
        z, c = np.array([30.0, 6e6, 2e6]) * random.uniform(0.2, 2, 3), random.uniform(-1, 1, 2) * (48, 1)
        state = oracle_state(model, robot, q, u)
        x = float(port_displacement(model, state.pose, "lift"))
        slewing, lifting = (float(port_row(model, state, name)(state.V)) for name in ("slew", "lift"))
        bore, ring = np.pi * 0.025**2, np.pi * (0.025**2 - 0.0125**2)
        supply, tank, spool = 16e6, 1e5, c[1]
        into_bore = spool * np.sqrt(supply - z[1]) if spool > 0 else spool * np.sqrt(z[1] - tank)
        into_ring = -spool * np.sqrt(supply - z[2]) if spool < 0 else -spool * np.sqrt(z[2] - tank)
        leak = 1e-12 * (z[1] - z[2])
        rates = [
            (c[0] - 0.5 * z[0] - 100 * 0.1 * slewing) / 0.001,
            1e9 * (1.26e-7 * into_bore - leak - bore * lifting) / (2e-4 + bore * x),
            1e9 * (1.26e-7 * into_ring + leak + ring * lifting) / (2e-4 + ring * (0.9 - x)),
        ]
        np.testing.assert_allclose(robot.drive_rates(q, u, z, c), rates, rtol=1e-9)
        efforts = [100 * 0.1 * z[0], bore * z[1] - ring * z[2], 123.0]
        np.testing.assert_allclose(robot.drive_efforts(q, u, z, c, [9.0, 9.0, 123.0]), efforts, rtol=1e-13)


def test_charts_give_the_same_drives(compiled: Compiled) -> None:
    robot = compiled("crane")
    inner = robot.chart("inner")
    assert inner.independent != robot.independent
    q, u, random = random_state(robot, 5)
    z, c = robot.initial_drive_states, random.uniform(-1, 1, 2)
    own = inner.F_inverse(q) @ u
    assert difference(inner.drive_rates(q, own, z, c), robot.drive_rates(q, u, z, c)) < 1e-10
    assert difference(inner.drive_efforts(q, own, z, c), robot.drive_efforts(q, u, z, c)) < 1e-13
    with pytest.raises(AssertionError):  # u of another chart would be seen
        np.testing.assert_allclose(inner.drive_rates(q, u, z, c), robot.drive_rates(q, u, z, c), rtol=1e-3)


def test_the_crane_stands_still_at_its_start(compiled: Compiled) -> None:
    """The initial pressures hold the boom, as the model says."""
    robot = compiled("crane")
    q, rest = robot.assemble(robot.reference), np.zeros(3)
    hold = robot.port_efforts(q, robot.bias(q, rest))
    f = robot.drive_efforts(q, rest, robot.initial_drive_states, np.zeros(2), hold)
    assert np.abs(robot.forward_dynamics(q, rest, f)).max() < 1e-3


def test_laws_may_name_the_speed_of_a_cut_joint(linkage: rc.Robot) -> None:
    records = driven_four_bar()
    front = run_front_end(records)
    assert [chord.joint for chord in front.topology.chords if not chord.kept] == ["j_bc"]
    model = MaximalModel(records)
    for seed in range(4):
        q, u, _ = random_state(linkage, seed)
        state = oracle_state(model, linkage, q, u)
        efforts, _ = drive_values(model, state, {"motor:current": 1.0}, {"motor:voltage": 2.0})
        found = linkage.drive_efforts(q, u, [1.0], [2.0])
        assert difference(found, np.array([efforts["motor"], efforts["drag"]])) < 1e-12
        assert abs(found[1]) > 1e-3


def test_the_check_command_compares_drives(compiled: Compiled) -> None:
    """It passes, and names the quantity when the records have another law than the library."""
    robot, records = compiled("crane"), shipped("crane")
    report = check_robot(robot, records, states=2)
    assert report.passed
    rates = {"drive rate lift_cylinder:rod_pressure", "drive rate slew_motor:current", "drive effort lift"}
    assert {finding.quantity for finding in report.findings} > rates
    motor, cylinder = records.drives
    weaker = tuple((n, 0.0999999 if n == "torque_constant" else x) for n, x in motor.constants)
    report = check_robot(robot, replace(records, drives=(replace(motor, constants=weaker), cylinder)), states=2)
    failed = {finding.quantity for finding in report.findings if not finding.passed}
    assert failed == {"drive effort slew", "drive rate slew_motor:current"}
    undefined = replace(cylinder, effort=parse_expression("log(-1)*bore_pressure"))
    report = check_robot(robot, replace(records, drives=(motor, undefined)), states=1)
    assert {finding.quantity for finding in report.findings if not finding.passed} == {"drives refused"}


# --- closed forms ---


def runge_kutta(rate: Callable[[Array], Array], x: Array, step: float, count: int) -> Array:
    """x after `count` classical steps."""
    for _ in range(count):
        a = rate(x)
        b = rate(x + step / 2 * a)
        c = rate(x + step / 2 * b)
        x = x + step / 6 * (a + 2 * b + 2 * c + rate(x + step * c))
    return x


def test_step_response_of_the_first_order_lag(robot: rc.Robot) -> None:
    q, rest, c = robot.reference, np.zeros(5), np.array([0.7, 0, 0, 0, 0])
    lag = runge_kutta(lambda z: robot.drive_rates(q, rest, z, c), robot.initial_drive_states, 4e-4, 100)[0]
    assert lag == pytest.approx(0.7 + (0.1 - 0.7) * np.exp(-0.04 / 0.02), abs=1e-9)


def test_a_motor_on_a_wheel_runs_up_by_the_matrix_exponential(robot: rc.Robot) -> None:
    """J w' = kt i - b w,  L i' = V - R i - kt w: dynamics and drive together, up to the steady state."""
    kt, R, L, J, b = *MOTOR.values(), *WHEEL.values()
    A = np.array([[-b / J, kt / J], [-kt / L, -R / L]])
    volts, wheel, current = 12.0, robot.independent.index("wheel"), robot.drive_states.index("motor:current")
    port = [p.name for p in robot.ports].index("wheel")
    q, c = robot.reference, np.array([0, 0, volts, 0, 0])

    def rate(x: Array) -> Array:
        u, z = np.zeros(5), robot.initial_drive_states
        u[wheel], z[current] = x
        f = np.zeros(6)
        f[port] = robot.drive_efforts(q, u, z, c)[port]
        # the others are left at rest: only the wheel's own acceleration is read
        return np.array([robot.forward_dynamics(q, u, f)[wheel], robot.drive_rates(q, u, z, c)[current]])

    steady = -np.linalg.solve(A, [0, volts / L])
    assert steady[0] == pytest.approx(kt * volts / (R * b + kt**2))
    start = np.array([0.0, robot.initial_drive_states[current]])
    found = runge_kutta(rate, start, 2.5e-4, 200)
    np.testing.assert_allclose(found, steady + expm(0.05 * A) @ (start - steady), rtol=1e-8)
    np.testing.assert_allclose(rate(steady), 0.0, atol=1e-10)


def test_electrical_power_becomes_heat_field_and_motion(linkage: rc.Robot) -> None:
    """V i = R i^2 + d/dt (L i^2 / 2 + kinetic + potential) - f_drag ldot, along a motion of the closed loop."""
    _, R, L = MOTOR.values()
    c = np.array([20.0])

    def stored(x: Array) -> float:
        q, u, z = x[:4], x[4:5], x[5:6]
        return sum(linkage.energy(q, u)) + L * z[0] ** 2 / 2

    def rate(x: Array) -> Array:
        q, u, z = x[:4], x[4:5], x[5:6]
        f = linkage.drive_efforts(q, u, z, c)
        supplied = c[0] * z[0] - R * z[0] ** 2 + f[1] * u[0]
        udot, zdot = linkage.forward_dynamics(q, u, f), linkage.drive_rates(q, u, z, c)
        return np.concatenate((linkage.velocity(q, u), udot, zdot, [supplied]))

    start = np.concatenate((linkage.assemble(linkage.reference), [0.3], linkage.initial_drive_states, [0.0]))
    missing = []
    for steps in (10, 20):
        x = start
        for _ in range(20):
            x = runge_kutta(rate, x, 0.01 / steps, steps)
            x[:4] = linkage.assemble(x[:4])
        assert x[4] > 5  # the crank runs
        assert x[6] > 10
        missing.append(abs(stored(x) - stored(start) - x[6]))
    assert missing[1] < 5e-8
    assert missing[1] < missing[0] / 8  # what is missing is the integrator's, of fourth order


# --- refusals ---


def test_inputs_are_checked(robot: rc.Robot) -> None:
    q, u, z, c = robot.reference, np.zeros(5), np.zeros(5), np.zeros(5)
    for method in (robot.drive_efforts, robot.drive_rates):
        for k, name in enumerate("quzc"):
            arguments = [q, u, z, c]
            arguments[k] = arguments[k][:-1]
            with pytest.raises(ValueError, match=rf"{name} must have shape"):
                method(*arguments)
            arguments[k] = np.append(arguments[k], np.nan)
            with pytest.raises(ValueError, match=f"{name} has entries that are not finite"):
                method(*arguments)
    with pytest.raises(ValueError, match="f must have shape"):
        robot.drive_efforts(q, u, z, c, np.zeros(5))
    with pytest.raises(ValueError, match="f has entries"):
        robot.drive_efforts(q, u, z, c, np.full(6, np.inf))
    out = np.empty(6)
    assert robot.drive_efforts(q, u, z, c, out=out) is out
    with pytest.raises(ValueError, match="out must be"):
        robot.drive_rates(q, u, z, c, out=out)


def test_a_law_without_a_finite_value_is_refused_by_name(robot: rc.Robot) -> None:
    """0.4 + area displacement = 0 makes the oil's rate infinite."""
    q, u, z, c = robot.reference, np.zeros(5), np.zeros(5), np.ones(5)
    length = float(robot.port_displacement(q)[1])
    other = robot.with_parameters({"pulley": -0.8 / length})
    with pytest.raises(ValueError, match="the rate of 'oil/1-b:p' is not a finite number"):
        other.drive_rates(q, u, z, c)
    assert np.all(np.isfinite(other.drive_efforts(q, u, z, c)))


def test_laws_are_rounded_as_written(robot: rc.Robot) -> None:
    """Native builds fuse products and sums; in a law, zero from a difference of products must stay zero."""
    build = read_manifest(find_manifest(robot._library.folder))["build"]
    assert build["unit_flags"] == {"drives": ["-ffp-contract=off"]}


def test_the_library_itself_refuses_a_command_that_is_no_number(robot: rc.Robot) -> None:
    """clamp would pass over a NaN: C code that is given one must not answer with the bound."""
    library, nan = robot._library, np.array([np.nan, 0, 0, 0, 0])
    zeros, p, f = np.zeros(5), np.array(list(robot.parameters.values())), np.zeros(6)
    for z, c in ((zeros, nan), (nan, zeros)):
        inputs = [library.input(x) for x in (robot.reference, zeros, z, c, p)]
        assert library.function("drive_efforts")(*inputs, library.output(f)) == 16


def test_robots_without_drives_say_so(compiled: Compiled) -> None:
    robot = compiled("fourbar")
    assert robot.drives == robot.drive_states == robot.commands == ()
    assert robot.initial_drive_states.shape == (0,)
    for method in (robot.drive_efforts, robot.drive_rates):
        with pytest.raises(ValueError, match="declares no drive: the efforts of its ports are the input f"):
            method(robot.reference, [0.0], [], [])


def test_drives_of_a_rigid_structure_are_a_warning() -> None:
    data = {"robocompiler": 1, "name": "x", "bodies": {"left": {}}, "ports": {"m": {"joint": "foot"}},
            "joints": {"foot": {"type": "revolute", "a": "world", "b": "left", "axis": [0, 1, 0]}},
            "drives": {"d": {"port": "m", "effort": 3}}}  # fmt: skip
    given = mechanism_from_dict(data)
    program = run_front_end(replace(truss(), ports=given.ports, drives=given.drives)).program
    emission = emit(program)
    assert "nothing can move, so that the drives are not compiled" in emission.warnings
    assert not any("drive" in path for path in emission.files)


def test_a_law_that_is_nowhere_finite_is_a_warning() -> None:
    records = driven_four_bar()
    broken = replace(records.drives[1], effort=parse_expression("log(-1 - displacement**2)"))
    emission = emit(run_front_end(replace(records, drives=(broken,))).program)
    assert any("no finite value at the reference" in warning for warning in emission.warnings)
    assert "driven_drives.h" not in emission.files["selftest.c"]
    assert "driven_drives.c" in emission.files


# --- support modes, precision, recompiling, C ---


def hopper() -> Mechanism:
    """A floating body on an actuated leg, with one support mode."""
    mass = {"mass": 2.0, "inertia": [0.05, 0.06, 0.04]}
    return mechanism_from_dict({
        "robocompiler": 1, "name": "hopper", "bodies": {"trunk": mass, "foot": mass},
        "joints": {"hip": {"type": "revolute", "a": "trunk", "b": {"body": "foot", "xyz": [0, 0, 0.4]},
                           "axis": [0, 1, 0]}},
        "ports": {"hip": {"joint": "hip"}},
        "drives": {"servo": {"port": "hip", "commands": ["target"], "states": {"lag": 0.2},
                             "effort": "20*(lag - displacement) - velocity", "rates": {"lag": "(target - lag)/0.1"}}},
        "supports": {"stand": {"foot": "point"}},
        "reference": {"joints": {"hip": 0.3}},
    })  # fmt: skip


def test_support_modes_carry_the_drives() -> None:
    """Evaluated by CasADi: the port's displacement and rate are those of the held robot."""
    floating = run_front_end(hopper())
    fronts = (floating, support_front_end(floating, "stand"))
    freedoms = [len(front.reduction.chart("port").independent) for front in fronts]
    assert freedoms == [7, 4]
    for front in fronts:
        one, drives = CasadiRobot(front), front.program.drives
        assert drives is not None
        q = one.assembled_near(np.random.default_rng(2), 0.3)
        v = one.lift(q) @ np.linspace(-1, 1, len(front.reduction.chart("port").independent))
        angle, rate = one.named(q)["hip"], one.speeds(v)["hip"]
        assert abs(angle - 0.3) > 1e-3
        (effort,), (zdot,) = (
            one.call(kernel, q, v, np.array([0.5]), np.array([0.9])) for kernel in (drives.efforts, drives.rates)
        )
        np.testing.assert_allclose(effort, [20 * (0.5 - angle) - rate], rtol=1e-12)
        np.testing.assert_allclose(zdot, [4.0], rtol=1e-12)
        assert state_names(front.mechanism) == ("servo:lag",)


def changed(records: Mechanism, constant: float) -> Mechanism:
    motor, *others = records.drives
    constants = tuple((name, constant if name == "kt" else value) for name, value in motor.constants)
    return replace(records, drives=(replace(motor, constants=constants), *others))


def test_an_edited_drive_compiles_only_its_unit(tmp_path: Path) -> None:
    records = driven_four_bar()
    assert "drives" in compile_to_folder(records, tmp_path, options=FAST)[1].reasons
    edits = {
        "drives.motor.constants.kt changed": changed(records, 0.41),
        "drives.motor.rates.heat added": replace(records, drives=driven_four_bar(
            states={"current": 0, "heat": 20}, effort="kt*current",
            rates={"current": "(voltage - R*current - kt*velocity)/L", "heat": "0.1*current**2"}).drives),
        "headers: driven_drives.h": replace(records, drives=driven_four_bar(commands=["voltage", "brake"]).drives),
    }  # fmt: skip
    for reason, mechanism in edits.items():
        report = compile_to_folder(mechanism, tmp_path, options=FAST)[1]
        assert set(report.compiled) == {"drives", "identity"}
        assert reason in report.reasons["drives"]
    robot = rc.load(report.folder)
    assert robot.commands == ("motor:voltage", "motor:brake")


def self_test(folder: Path, library: str, program: Path) -> str:
    """What selftest.c prints when it is linked with the robot's library."""
    flags = (f"-I{folder}", f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l{library}", "-lm")
    run_compiler(("gcc",), *STRICT, "-O1", str(folder / "selftest.c"), *flags, "-o", str(program))
    return subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False).stdout.strip()


def test_single_precision(robot: rc.Robot, tmp_path: Path) -> None:
    single = rc.compile(bench(), output=tmp_path, real="float", extra_flags=FAST.extra_flags)
    assert "double" not in (tmp_path / "bench" / "bench_drives.c").read_text()
    for seed in range(3):
        q, u, random = random_state(robot, seed)
        z, c = random.uniform(-1, 1, 5), random.uniform(-9, 9, 5)
        assert difference(single.drive_efforts(q, u, z, c), robot.drive_efforts(q, u, z, c)) < 1e-5
        assert difference(single.drive_rates(q, u, z, c), robot.drive_rates(q, u, z, c)) < 1e-5
    assert self_test(tmp_path / "bench", "bench", tmp_path / "program") == "bench: 0 failures"


def test_the_self_tests_of_driven_robots_pass(compiled: Compiled, build_folder: Path, tmp_path: Path) -> None:
    compiled("crane")
    assert self_test(build_folder / "crane", "crane", tmp_path / "program") == "crane: 0 failures"


def test_the_self_test_sees_another_law_and_drives_need_no_state(tmp_path: Path) -> None:
    """One drive without state and command, as C and as C++; then with a number of its law changed."""
    records = driven_four_bar()
    spring = replace(records.drives[1], effort=parse_expression("-5*displacement"))
    only = compile_to_folder(replace(records, drives=(spring,)), tmp_path, options=BuildOptions(emit_only=True))[1]
    drives = only.folder / "driven_drives.c"
    cxx = ("-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only")
    run_compiler(("g++",), "-x", "c++", *cxx, f"-I{only.folder}", str(drives))
    others = [str(path) for path in only.folder.glob("*.c") if path != drives]
    objects = [str(tmp_path / Path(path).with_suffix(".o").name) for path in others]
    for source, target in zip(others, objects, strict=True):
        run_compiler(("gcc",), *STRICT, "-O0", f"-I{only.folder}", "-c", source, "-o", target)
    found = []
    text = drives.read_text()
    assert text.count("5.0") == 1
    for number in ("5.0", "5.00001"):
        drives.write_text(text.replace("5.0", number))
        program = tmp_path / number
        run_compiler(("gcc",), *STRICT, "-O0", f"-I{only.folder}", str(drives), *objects, "-lm", "-o", str(program))
        found.append(subprocess.run([str(program)], capture_output=True, text=True, check=False).stdout.strip())
    assert found == ["driven: 0 failures", "driven: 1 failures"]


def test_inspect_lists_the_drives() -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(robocompile, ["inspect", str(MODELS / "crane.yaml"), *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    data = json.loads(run("--json"))["mechanism"]["drives"]
    assert data[0] == {"name": "slew_motor", "port": "slew", "states": ["current"], "commands": ["voltage"]}
    text = " ".join(run("--quiet").split())
    assert "drives 2: slew_motor on slew (states current; commands voltage); lift_cylinder on lift" in text
    assert "command[1] is lift_cylinder:valve" in run("--quiet", "--ir", "drive_rates_kernel")


def test_the_example_of_the_embedding_page_follows_the_same_motion(
    compiled: Compiled, build_folder: Path, tmp_path: Path
) -> None:
    """Euler steps of 0.1 ms in C against Runge-Kutta steps of 1 ms in Python."""
    robot = compiled("crane")
    page = (MODELS.parent / "docs" / "embedding.md").read_text(encoding="utf-8")
    (example,) = [text for text in re.findall(r"^```c\n(.*?)^```", page, re.M | re.S) if "crane" in text]
    (tmp_path / "example.c").write_text(example)
    folder, program = build_folder / "crane", tmp_path / "example"
    flags = (f"-I{folder}", f"-L{folder}", f"-Wl,-rpath,{folder}", "-lcrane", "-lm")
    run_compiler(("gcc",), *STRICT, "-O1", str(tmp_path / "example.c"), *flags, "-o", str(program))
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=False).stdout
    status, *found = map(float, re.findall(r"-?\d+(?:\.\d+)?", printed))
    c, f = np.array([40.0, 0.2]), np.array([0, 0, 282.0])

    def rate(x: Array) -> Array:
        q, u, z = x[:6], x[6:9], x[9:]
        udot = robot.forward_dynamics(q, u, robot.drive_efforts(q, u, z, c, f))
        return np.concatenate((robot.velocity(q, u), udot, robot.drive_rates(q, u, z, c)))

    x = np.concatenate((robot.assemble(robot.reference), np.zeros(3), robot.initial_drive_states))
    for _ in range(100):
        x = runge_kutta(rate, x, 1e-3, 10)
        x[:6] = robot.assemble(x[:6])
    wanted = [robot.joint(x[:6], "slew"), x[9], robot.joint(x[:6], "hinge"), x[10] * 1e-5]
    assert status == 0
    np.testing.assert_allclose(found, wanted, rtol=2e-3)
    assert abs(found[0]) > 0.3  # it has turned
    assert found[2] - 0.5 > 0.03  # and lifted
