"""`robocompile check`: a right library passes, a wrong one is caught with the quantity named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import robocompiler as rc
from robocompiler.check.ledger import Ledger
from robocompiler.check.run import CheckReport, check_robot
from robocompiler.check.states import draw, length_of
from robocompiler.cli import robocompile
from robocompiler.errors import LoadError
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"
KINEMATIC = {
    "closure gaps", "joint coordinates", "frame rotations", "frame origins", "lift E", "frame Jacobians", "curvature",
    "frame accelerations", "port displacements", "port map L",
}  # fmt: skip
DYNAMIC = {
    "mass matrix", "bias", "inverse dynamics under a wrench", "forward dynamics", "forward dynamics under a wrench",
    "energies",
}  # fmt: skip

Compiled = Callable[[str], rc.Robot]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(robocompile, [str(argument) for argument in arguments])


def failed(report: CheckReport) -> set[str]:
    return {finding.quantity for finding in report.findings if not finding.passed}


def edited(text: str, old: str, new: str, folder: Path) -> Path:
    assert text.count(old) == 1
    path = folder / "edited.yaml"
    path.write_text(text.replace(old, new))
    return path


@pytest.fixture
def fourbar(compiled: Compiled, build_folder: Path) -> Path:
    compiled("fourbar")
    return build_folder / "fourbar"


def test_the_fourbar_passes(fourbar: Path) -> None:
    result = run("check", MODELS / "fourbar.yaml", "--library", fourbar, "--states", 3)
    assert result.exit_code == 0, result.output
    assert "passed: all" in result.stdout
    assert "FAIL" not in result.stdout
    assert "3 random states (seed 0)" in result.stdout


def test_the_report_as_json_covers_every_quantity_of_both_charts(fourbar: Path) -> None:
    result = run("check", MODELS / "fourbar.yaml", "--library", fourbar, "--states", 2, "--seed", 5, "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert (data["robot"], data["states"], data["seed"], data["passed"]) == ("fourbar", 2, 5, True)
    names = {row["quantity"] for row in data["quantities"] if row["reference"] == "maximal coordinates"}
    assert names >= KINEMATIC | DYNAMIC | {f"inner chart: {name}" for name in DYNAMIC - {"energies"}}
    assert all(row["discrepancy"] < 1e-12 for row in data["quantities"] if row["reference"] == "maximal coordinates")


def test_a_wrong_mass_fails_with_code_8_and_names_what_is_wrong(fourbar: Path, tmp_path: Path) -> None:
    text = (MODELS / "fourbar.yaml").read_text()
    wrong = edited(text, "rocker: {mass: 1.1,", "rocker: {mass: 1.10001,", tmp_path)
    result = run("check", wrong, "--library", fourbar, "--states", 2, "--json")
    assert result.exit_code == 8
    rows = json.loads(result.stdout)["quantities"]
    bad = {row["quantity"] for row in rows if not row["passed"] and row["reference"] == "maximal coordinates"}
    assert bad >= DYNAMIC - {"inverse dynamics under a wrench"}
    assert not bad & KINEMATIC
    table = run("check", wrong, "--library", fourbar, "--states", 1)
    assert table.exit_code == 8
    assert "FAILED: " in table.stdout
    assert "mass matrix" in table.stdout.rpartition("FAILED: ")[2]


def test_wrong_geometry_is_an_open_loop(compiled: Compiled) -> None:
    records = read_mechanism(MODELS / "fourbar.yaml")
    report = check_robot(compiled("fourbar"), longer(records, 1e-6), states=1)
    assert {"closure gaps", "joint coordinates"} <= failed(report)
    far = check_robot(compiled("fourbar"), longer(records, 100.0), states=1)
    assert failed(far) == {"closure gaps"}
    assert any("the loops are open" in reason for reason in far.skipped)


def longer(records: Mechanism, by: float) -> Mechanism:
    """The fourbar with its last joint moved along x."""
    joint = records.joints[-1]
    x, y, z = joint.a.translation
    moved = replace(joint, a=replace(joint.a, translation=(float(x) + by, y, z)))  # type: ignore[arg-type]
    return replace(records, joints=(*records.joints[:-1], moved))


def test_other_records_are_refused(compiled: Compiled, build_folder: Path) -> None:
    compiled("slider_crank")
    result = run("check", MODELS / "fourbar.yaml", "--library", build_folder / "slider_crank")
    assert result.exit_code == 7
    assert "compiled from other records" in result.stderr
    with pytest.raises(LoadError, match="their ports differ"):
        check_robot(compiled("slider_crank"), replace(read_mechanism(MODELS / "slider_crank.yaml"), ports=()))


@pytest.mark.parametrize("name", ["stewart", "go2"])
def test_larger_robots_pass(name: str, compiled: Compiled) -> None:
    report = check_robot(compiled(name), read_mechanism(MODELS / f"{name}.yaml"), states=2, seed=1)
    assert failed(report) == set()
    assert {finding.quantity for finding in report.findings} >= (KINEMATIC | DYNAMIC) - {"closure gaps"}


def test_a_reference_in_many_digits(compiled: Compiled) -> None:
    pytest.importorskip("mpmath", reason="a package of the verify extra, not needed to compile or to run")
    report = check_robot(compiled("fourbar"), read_mechanism(MODELS / "fourbar.yaml"), states=1, precise=True)
    assert report.passed
    assert {finding.reference for finding in report.findings} >= {"50 digits"}


def test_a_library_in_float_has_its_own_tolerances(tmp_path: Path) -> None:
    model = MODELS / "fourbar.yaml"
    rc.compile(model, output=tmp_path, real="float", extra_flags=("-O0",))
    assert run("check", model, "--library", tmp_path / "fourbar", "--states", 2, "-q").exit_code == 0
    robot = rc.load(tmp_path / "fourbar")
    assert not check_robot(robot, read_mechanism(model), states=2, real="double").passed


def test_support_modes_are_checked_against_their_own_records(tmp_path: Path) -> None:
    """A free body with an arm, and a point of it that a mode holds."""
    model = tmp_path / "puck.yaml"
    model.write_text(
        "robocompiler: 1\nname: puck\n"
        "bodies:\n  puck: {mass: 2, com: [0.01, 0, 0.02], inertia: [0.02, 0.03, 0.04, 0, 0.001, 0]}\n"
        "  arm: {mass: 0.5, com: [0.1, 0, 0], inertia: [0.001, 0.002, 0.002, 0, 0, 0]}\n"
        "joints:\n  hinge: {type: revolute, a: {body: puck, xyz: [0, 0, 0.1]}, b: arm, axis: [0, 1, 0]}\n"
        "frames:\n  rim: {body: puck, xyz: [0.1, 0.02, -0.03]}\n"
        "supports:\n  pivot: {rim: point}\n"
    )
    result = run("check", model, "--support", "pivot", "-o", tmp_path / "build", "--states", 2, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["passed"]
    ((name, mode),) = data["supports"].items()
    assert (name, mode["passed"]) == ("pivot", True)
    assert {"closure gaps", "forward dynamics"} <= {row["quantity"] for row in mode["quantities"]}
    both = run("check", model, "--support", "pivot", "--library", tmp_path / "build" / "puck")
    assert both.exit_code == 2
    assert "does not go with --library" in both.output
    alone = run("check", "--random", 1, "--support", "pivot")
    assert alone.exit_code == 2
    assert "--support does not go with --random" in alone.output


def test_states_are_on_the_manifold_within_limits_and_reproducible(compiled: Compiled) -> None:
    robot, records = compiled("stewart"), read_mechanism(MODELS / "stewart.yaml")
    samples = draw(robot, records, 5, seed=3)
    again = draw(robot, records, 5, seed=3)
    other = draw(robot, records, 1, seed=4)
    assert all(
        np.array_equal(one.q, two.q) and np.array_equal(one.f, two.f) for one, two in zip(samples, again, strict=True)
    )
    assert not np.array_equal(other[0].q, samples[0].q)
    assert max(np.abs(robot.residual(sample.q)).max() for sample in samples) < 1e-10
    assert min(np.abs(sample.q - robot.reference).max() for sample in samples) > 1e-3
    assert length_of(records) > 0


def test_states_are_found_from_a_reference_on_its_limits(compiled: Compiled) -> None:
    """The gripper's fingers stand wide open at the reference: half of all moves lead outside, at any size."""
    robot, records = compiled("panda"), read_mechanism(MODELS / "panda.yaml")
    fingers = [robot.coordinates.index(f"finger_joint{k}") for k in (1, 2)]
    assert robot.reference[fingers] == pytest.approx(0.04)
    openings = []
    for seed in range(8):
        for sample in draw(robot, records, 10, seed):
            assert np.all((sample.q[fingers] >= -1e-9) & (sample.q[fingers] <= 0.04 + 1e-9))
            openings.append(sample.q[fingers[0]])
    assert np.mean(np.array(openings) < 0.0399) > 0.9  # they leave the limit
    report = check_robot(robot, records, states=3, seed=0)
    assert report.passed, failed(report)


def test_the_ledger_keeps_the_worst_and_takes_no_nonsense() -> None:
    ledger = Ledger()
    options = {"reference": "r", "tolerance": 1e-6, "floor": 1e-3}
    ledger.compare("x", [1.0, 2.0], [1.0, 2.0 + 1e-7], ["a", "b"], **options)  # type: ignore[arg-type]
    ledger.state = 1
    ledger.compare("x", [4.0, np.nan], [4.0, 1.0], ["a", "b"], **options)  # type: ignore[arg-type]
    (finding,) = ledger.findings()
    assert not finding.passed
    assert (finding.discrepancy, finding.where, finding.state) == (np.inf, "b", 1)
    with pytest.raises(ValueError, match="shapes"):
        ledger.compare("x", [1.0], [1.0, 2.0], ["a", "b"], **options)  # type: ignore[arg-type]
