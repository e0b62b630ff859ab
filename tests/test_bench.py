"""`robocompile bench`: every row computes what it claims, peers agree, and what cannot be measured is told.

No test asserts a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from c_support import host_toolchain, native_toolchain
from click.testing import CliRunner, Result
from fronts import shipped_front

import robocompiler as rc
from robocompiler.backend.options import BuildOptions
from robocompiler.backend.toolchain import find_toolchain
from robocompiler.bench import mujoco_rows, pinocchio_rows
from robocompiler.bench import states as states_module
from robocompiler.bench.casadi_c import whole_function
from robocompiler.bench.driver import Driver
from robocompiler.bench.run import BenchOptions, BenchReport, bench
from robocompiler.bench.states import References, references, worst
from robocompiler.bench.timing import FORWARD, INVERSE, NetLoop, PythonLoop, Sample, Timed, measure_rounds
from robocompiler.check.states import draw
from robocompiler.cli import robocompile
from robocompiler.cli.bench import bench_data, bench_text
from robocompiler.compiler import FrontEnd, run_front_end
from robocompiler.errors import AssemblyError, CompileError, MissingPackageError, ModelError
from robocompiler.records.reader import mechanism_from_dict, read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"
Compiled = Callable[[str], rc.Robot]
STILL = {
    "robocompiler": 1,
    "name": "still",
    "bodies": {"block": {"mass": 1.0, "com": [0, 0, 0], "inertia": [1, 1, 1, 0, 0, 0]}},
    "joints": {"weld": {"type": "fixed", "a": {"body": "world"}, "b": {"body": "block"}}},
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(robocompile, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return shipped_front("fourbar")


@pytest.fixture(scope="module")
def report(front: FrontEnd, tmp_path_factory: pytest.TempPathFactory) -> BenchReport:
    """The four-bar with everything."""
    options = BenchOptions(rounds=2, states=3, portable=True, build=BuildOptions(extra_flags=("-O0",)))
    return bench(front.mechanism, front.program, tmp_path_factory.mktemp("bench"), options)


def rows(report: BenchReport, quantity: str) -> dict[str, Any]:
    return {row.solver: row for row in report.rows if row.quantity == quantity}


def test_all_ways_of_calling_are_measured(report: BenchReport) -> None:
    for quantity, name in ((FORWARD, "forward_dynamics"), (INVERSE, "inverse_dynamics")):
        found = rows(report, quantity)
        ours = [solver for solver, row in found.items() if row.ours]
        assert ours[:2] == ["C, one call", "C, batch, 1 thread"]
        assert ours[2:5] == [f"Python, robot.{name}", "Python, prepared call", "Python, robot.batch, 1 thread"]
        assert ours[-1] == "C, one call, portable"
        assert {"CasADi's C", "CasADi's C, portable"} <= set(found) and not found["CasADi's C"].ours
    assert report.skipped == ()
    forward = " ".join(rows(report, FORWARD))
    assert all(peer in forward for peer in ("constraintDynamics", "lcaba", "aba of the open tree", "mj_forward"))
    assert "Pinocchio, rnea of the open tree" in rows(report, INVERSE)


def test_what_was_timed_is_right(report: BenchReport) -> None:
    for row in report.rows:
        assert row.error is not None
        bound = 1e-12
        if "lcaba" in row.solver:
            bound = 1e-4
        elif "constraintDynamics" in row.solver:
            bound = 1e-9
        elif "mj_forward" in row.solver:  # soft closures, without their curvature
            bound = 1e-2
        assert row.error < bound, (row.solver, row.quantity, row.error)


def test_ratios_are_to_the_first_row_of_the_quantity(report: BenchReport) -> None:
    for quantity in (FORWARD, INVERSE):
        base = rows(report, quantity)["C, one call"]
        assert (base.ratio.minimum, base.ratio.median, base.ratio.upper) == (1.0, 1.0, 1.0)
    assert all(row.seconds.samples == row.ratio.samples == 2 for row in report.rows)
    assert all(row.overhead.minimum > 0 for row in report.rows if "Pinocchio" in row.solver or "MuJoCo" in row.solver)
    assert all(row.overhead.median == 0 for row in report.rows if row.ours or "CasADi" in row.solver)


def test_the_report_tells_machine_flags_and_versions(report: BenchReport) -> None:
    data = json.loads(json.dumps(bench_data(report)))
    assert {"processor", "compiler", "flags", "Pinocchio", "MuJoCo", "CasADi"} <= set(data["machine"])
    for name, toolchain in (("flags", native_toolchain()), ("flags, portable", host_toolchain())):
        kept = [flag for flag in toolchain.flags if not flag.startswith("-W")]
        assert data["machine"][name] == f"{' '.join(kept)} -O0 (and strict warnings)"
    for folder, toolchain in (
        (report.folder, native_toolchain()),
        (report.folder.parent / "portable" / "fourbar", host_toolchain()),
    ):
        manifest = json.loads((folder / "fourbar.manifest.json").read_text())
        assert manifest["build"]["flags"] == [*toolchain.flags, "-O0"]
    assert data["sizes"] == {"coordinates": 4, "velocities": 4, "freedoms": 1, "ports": 1}
    assert (data["rounds"], data["states"], data["reference"]) == (2, 3, "maximal coordinates, double")
    assert {"minimum", "lower", "median", "upper", "samples"} == set(data["rows"][0]["seconds"])
    text = bench_text(report)
    assert text.count("C, one call ") >= 2 and text.count("C, one call, portable") == 2
    assert "less aba of a model without joints" in " ".join(text.split())


def test_rows_of_a_wrong_library_show_it(front: FrontEnd, report: BenchReport) -> None:
    """The error column is of the measured code: a heavier coupler in the records makes it large."""
    bodies = tuple(replace(b, mass=1.01 * float(b.mass)) if b.name == "coupler" else b for b in front.mechanism.bodies)
    states = references(rc.load(report.folder), replace(front.mechanism, bodies=bodies), 2)
    found = [rc.load(report.folder).forward_dynamics(s.q, s.u, s.f) for s in states.each]
    assert 1e-5 < states.forward_error(np.array(found)) < 1.0


def test_open_trees_and_free_roots_have_their_peers(compiled: Compiled) -> None:
    """Go2 floats and has no closure; its adapters change the velocities of a free joint."""
    mechanism = read_mechanism(MODELS / "go2.yaml")
    robot = compiled("go2")
    states = references(robot, mechanism, 2)
    measured, skipped = pinocchio_rows.pinocchio_rows(robot, mechanism, states)
    assert [row.quantity for row in measured] == [FORWARD, INVERSE]
    assert all(row.error is not None and row.error < 1e-9 for row in measured)
    assert [one.reason for one in skipped] == ["there is no closure: aba is its forward dynamics"]
    (row,), none = mujoco_rows.mujoco_rows(mechanism, states)
    assert none == [] and row.error is not None and row.error < 1e-9


def test_couplings_are_skipped_with_the_reason(compiled: Compiled) -> None:
    mechanism = read_mechanism(MODELS / "panda.yaml")
    robot = compiled("panda")
    measured, skipped = pinocchio_rows.pinocchio_rows(robot, mechanism, references(robot, mechanism, 1))
    assert [row.solver for row in measured] == ["Pinocchio, aba of the open tree", "Pinocchio, rnea of the open tree"]
    assert [one.reason for one in skipped] == ["couplings have no counterpart in Pinocchio"]
    (row,), _ = mujoco_rows.mujoco_rows(mechanism, references(robot, mechanism, 1))
    assert row.error is None and row.note.endswith("couplings are left out, so that it solves another problem")


def test_a_solver_that_is_far_off_is_not_timed(
    front: FrontEnd, report: BenchReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinocchio_rows, "SETTINGS", (pinocchio_rows.Setting("lcaba", 10.0, 1e-12, 1),))
    robot = rc.load(report.folder)
    _, skipped = pinocchio_rows.pinocchio_rows(robot, front.mechanism, references(robot, front.mechanism, 1))
    assert len(skipped) == 1 and "not usable here: its accelerations are off by" in skipped[0].reason


@pytest.mark.parametrize("module", [pinocchio_rows, mujoco_rows], ids=["Pinocchio", "MuJoCo"])
def test_a_peer_that_is_not_installed_is_skipped(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MissingPackageError("not installed; pip install 'robocompiler[verify]'")

    name = "PinocchioModel" if module is pinocchio_rows else "MujocoModel"
    monkeypatch.setattr(module, name, missing)
    arguments = (None, None, None) if module is pinocchio_rows else (None, None)
    call = module.pinocchio_rows if module is pinocchio_rows else module.mujoco_rows
    measured, skipped = call(*arguments)
    assert measured == []
    assert [one.reason for one in skipped] == ["not installed; pip install 'robocompiler[verify]'"]


def test_a_mechanism_that_cannot_move_is_refused(tmp_path: Path) -> None:
    still = mechanism_from_dict(STILL)
    with pytest.raises(ModelError, match="still: nothing can move, so that there are no dynamics to measure"):
        bench(still, run_front_end(still).program, tmp_path)
    with pytest.raises(ValueError, match="nothing can move"):
        whole_function(run_front_end(still).program, FORWARD)


def test_wrong_use_is_refused(tmp_path: Path) -> None:
    assert run("bench").exit_code == 2
    assert run("bench", "fourbar", "--rounds", 0).exit_code == 2
    result = run("bench", tmp_path / "none.yaml", "--json")
    assert result.exit_code == 3
    assert "error" in json.loads(result.stdout)
    failing = run("bench", MODELS / "fourbar.yaml", "-o", tmp_path, "--cc", "false")
    assert failing.exit_code == 6


def test_run_time_parameters_reach_every_row(tmp_path: Path) -> None:
    data = pendulum()
    mechanism = mechanism_from_dict(data)
    options = BenchOptions(rounds=1, states=2, build=BuildOptions(extra_flags=("-O0",)))
    found = bench(mechanism, run_front_end(mechanism).program, tmp_path, options)
    assert {"C, one call", "C, batch, 1 thread", "Python, prepared call", "CasADi's C"} <= set(rows(found, FORWARD))
    for row in found.rows:
        bound = 1e-9 if "MuJoCo" in row.solver else 1e-12  # MuJoCo's bodies on carriers of 1e-12 kg
        assert row.error is not None and row.error < bound, row.solver


def pendulum() -> dict[str, Any]:
    """One body on one hinge, without ports; its mass is a run-time parameter."""
    return {
        "robocompiler": 1,
        "name": "pendulum",
        "bodies": {"rod": {"mass": "m", "com": [0.3, 0, 0.02], "inertia": [0.01, 0.02, 0.02, 0, 0, 0]}},
        "joints": {"hinge": {"type": "revolute", "a": {"body": "world"}, "b": {"body": "rod"}, "axis": [0, 1, 0]}},
        "parameters": {"m": {"default": 0.7}},
    }


def test_a_walk_into_a_corner_of_the_limits_is_drawn_again(
    front: FrontEnd, report: BenchReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def stuck(robot: rc.Robot, mechanism: Any, count: int, seed: int) -> Any:
        asked.append(seed)
        if seed % 2 or seed >= 100:
            raise AssemblyError("outside its limits")
        return draw(robot, mechanism, count, seed)

    monkeypatch.setattr(states_module, "draw", stuck)
    robot = rc.load(report.folder)
    found = states_module.samples(robot, front.mechanism, 3, 10)
    assert asked == [10, 11, 12, 13, 14] and len(found) == 3
    asked.clear()
    with pytest.raises(AssemblyError, match="outside its limits"):
        states_module.samples(robot, front.mechanism, 2, 100)
    assert asked == [100, 101, 102]


# --- the measuring itself ---


def test_rounds_sample_everything_once_and_form_ratios_within_a_round() -> None:
    taken: list[str] = []

    def sampler(name: str, values: Iterator[float]) -> Callable[[], Sample]:
        def sample() -> Sample:
            taken.append(name)
            return Sample(next(values), 0.5)

        return sample

    a = Timed(FORWARD, "a", True, sampler("a", iter((9.0, 1.0, 2.0, 4.0))), 0.0)
    b = Timed(FORWARD, "b", False, sampler("b", iter((9.0, 3.0, 10.0, 8.0))), None, "note")
    first, second = measure_rounds([a, b], 3)
    assert taken == ["a", "b"] * 4  # one round goes before
    assert (first.seconds.minimum, first.seconds.median) == (1.0, 2.0)
    assert (second.ratio.minimum, second.ratio.median) == (2.0, 3.0)  # 8/4; 3, 5, 2
    assert (second.overhead.median, second.note, second.error) == (0.5, "note", None)


def test_an_empty_work_call_is_subtracted() -> None:
    clock = SimpleNamespace(now=0.0)

    def call(cost: float) -> None:
        clock.now += cost

    def loop(cost: float) -> PythonLoop:
        return PythonLoop(call, [(cost,)] * 2, lambda: clock.now)

    found = NetLoop(loop(5e-4), loop(2e-4)).sample()
    assert found.seconds == pytest.approx(3e-4, rel=1e-9)
    assert found.overhead == pytest.approx(2e-4, rel=1e-9)


def test_a_failing_function_is_no_measurement(tmp_path: Path, report: BenchReport) -> None:
    """Statuses are collected: a state that is not finite makes the sample fail."""
    driver = Driver(tmp_path, find_toolchain())
    library = rc.load(report.folder)._library
    q = np.array([[0.7, np.nan, 0.0, 0.0]])
    one = np.zeros((1, 1))
    loop = driver.loop("single", library.function("forward_dynamics"), library, [q, one, one], [], 1)
    with pytest.raises(CompileError, match="a timed function reports status"):
        loop.seconds()
    with pytest.raises(ValueError, match="at most 6 inputs, not of 7"):
        driver.loop("single", None, None, [one] * 6, [np.zeros(1)], 1)


def test_errors_are_relative_and_never_hide_what_is_not_a_number() -> None:
    assert worst([np.array([3.0, 4.0])], [np.array([3.0, 4.5])]) == pytest.approx(0.5 / np.hypot(3.0, 4.5))
    assert worst([np.array([0.1])], [np.array([0.2])]) == pytest.approx(0.1)
    assert np.isnan(worst([np.zeros(1), np.array([np.nan])], [np.zeros(1), np.zeros(1)]))


def test_precise_references_agree_with_double(front: FrontEnd, report: BenchReport) -> None:
    robot = rc.load(report.folder)
    double, precise = (references(robot, front.mechanism, 2, precise=p) for p in (False, True))
    assert isinstance(precise, References)
    for a, b in zip(double.each, precise.each, strict=True):
        np.testing.assert_allclose(a.udot_forward, b.udot_forward, rtol=1e-11)
        np.testing.assert_allclose(a.tau, b.tau, rtol=1e-11)
        mine, theirs = a.tree_efforts(["j_bc"], ports=True), b.tree_efforts(["j_bc"], ports=True)
        assert mine.keys() == theirs.keys() == {"j_ga", "j_ab", "j_cg"}
        np.testing.assert_allclose([mine[n] for n in theirs], list(theirs.values()), atol=1e-11)
        assert theirs["j_ga"] == pytest.approx(b.f[0])  # the motor's torque, and no damping elsewhere
