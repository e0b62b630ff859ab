"""`robocompile check --random`: right compiles pass, wrong ones are caught, refusals judged, crashes survived."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dying_task import dies_at_one
from random_mechanisms import random_mechanism as structure

from robocompiler.check.random_mechanism import random_mechanism
from robocompiler.check.random_refusals import justified
from robocompiler.check.random_run import Outcome, check_random, random_yaml
from robocompiler.check.run import check_robot
from robocompiler.cli import robocompile
from robocompiler.cli.random_check import (
    Tally,
    check_many,
    compile_unoptimised,
    random_data,
    random_text,
    save_failed,
)
from robocompiler.errors import AssemblyError, CompileError, LoadError, RankError
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, Body, Joint, Mechanism, Placement
from robocompiler.records.reader import read_mechanism_text
from robocompiler.runtime.robot import Robot

SMALL = 6  # one body on a universal joint: a lift that reads no trigonometry


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(robocompile, [str(argument) for argument in arguments])


def compile_heavier(records: Mechanism, folder: Path) -> Robot:
    """A compiler with a fault: gravity is 1e-6 too large."""
    x, y, z = records.gravity
    return compile_unoptimised(replace(records, gravity=(x, y, z * (1 + 1e-6))), folder)


def refuse(error: Exception, records: Mechanism, folder: Path) -> Robot:
    raise error


def test_the_command_passes_a_mechanism_and_says_so() -> None:
    result = run("check", "--random", 1, "--seed", SMALL, "--jobs", 1, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["counts"] == {"passed": 1, "refused": 0, "failed": 0}
    (row,) = data["mechanisms"]
    assert (row["seed"], row["verdict"], row["bodies"]) == (SMALL, "passed", 1)
    assert row["freedoms"] == 2


def test_a_wrong_compiler_is_caught_with_the_quantity_and_the_way_to_see_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # so that no cell is broken
    outcome = check_random(SMALL, compile_heavier, states=1)
    assert outcome.verdict == "failed"
    assert "bias (maximal coordinates) off by" in outcome.reason
    assert "mass matrix" not in outcome.reason
    (path,) = save_failed([outcome], tmp_path / "new" / "folder")
    assert read_mechanism_text(path.read_text()) == random_mechanism(SMALL).mechanism
    text = random_text([outcome], [path])
    assert f"--random 1 --seed {SMALL} --save" in " ".join(text.split())
    assert "FAILED: 1 of 1" in text
    assert not random_data([outcome], 1, [path])["passed"]


def test_what_cannot_move_is_checked_as_far_as_it_goes(tmp_path: Path) -> None:
    body = Body("lump", 1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    place = Placement(WORLD, translation=(0.1, 0.2, 0.3))
    weld = Joint("weld", JointType.FIXED, place, Placement("lump"))
    slide = Joint("slide", JointType.PRISMATIC, place, Placement("lump"))
    records = Mechanism("still", bodies=(body,), joints=(weld, slide))
    robot = compile_unoptimised(records, tmp_path)
    report = check_robot(robot, records, states=1)
    assert report.passed
    assert {finding.quantity for finding in report.findings} >= {"frame origins", "frame rotations"}
    assert any("nothing can move" in reason for reason in report.skipped)
    with pytest.raises(LoadError, match="nothing can move"):
        robot.energy(robot.reference, [])


def test_a_massless_body_that_a_loop_carries_is_beyond_pinocchio_and_not_a_failure(tmp_path: Path) -> None:
    """Two slides side by side, joined by a ball; one is massless, so that the open tree moves without inertia."""
    heavy, light = Body("heavy", 2.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0)), Body("light")
    axis = (1.0, 0.0, 0.0)
    slides = tuple(
        Joint(f"slide_{body.name}", JointType.PRISMATIC, Placement(WORLD), Placement(body.name), axis)
        for body in (heavy, light)
    )
    ball = Joint("ball", JointType.SPHERICAL, Placement("heavy"), Placement("light"))
    records = Mechanism("carried", bodies=(heavy, light), joints=(*slides, ball))
    report = check_robot(compile_unoptimised(records, tmp_path), records, states=2)
    assert report.passed
    compared = {finding.quantity for finding in report.findings if finding.reference == "maximal coordinates"}
    assert {"mass matrix", "forward dynamics"} <= compared
    if importlib.util.find_spec("pinocchio"):
        assert any("motion without inertia" in reason for reason in report.skipped)
        assert not any(finding.quantity == "constrained accelerations" for finding in report.findings)


@pytest.mark.parametrize(
    "error", [RankError("the rank of the closures is not clear"), AssemblyError("open"), CompileError("cc failed")]
)
def test_a_refusal_that_the_oracle_does_not_confirm_is_a_failure(error: Exception) -> None:
    outcome = check_random(3, partial(refuse, error))
    assert outcome.verdict == "failed"
    assert type(error).__name__ in outcome.reason
    assert outcome.evidence


def test_a_refusal_that_the_oracle_confirms_is_told_apart() -> None:
    """Draw 18 of the plain structures has a singular value of 4e-5."""
    records = structure(18).mechanism
    right, evidence = justified(RankError("not clear"), records)
    assert right
    assert "e-05" in evidence
    assert not justified(AssemblyError("the loops do not close"), records)[0]
    text = random_text([Outcome(18, "refused", "RankError: not clear", evidence)], [])
    assert "Refused, and the oracle confirms it" in text
    assert "passed: no mechanism failed" in text


def test_a_crash_is_found_and_costs_no_other_seed() -> None:
    tally = Tally(2, quiet=True)
    outcomes = check_many(range(2), dies_at_one, 1, tally)
    assert [outcome.verdict for outcome in outcomes] == ["passed", "failed"]
    assert "died" in outcomes[1].reason
    assert tally.words() == "1 passed, 0 refused, 1 failed"


def test_processes_are_renewed_and_none_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robocompiler.cli.random_check._FRESH", 1)
    outcomes = check_many((2, 3, 4), dies_at_one, 1, Tally(3, quiet=True))
    assert [(outcome.seed, outcome.verdict) for outcome in outcomes] == [(2, "passed"), (3, "passed"), (4, "passed")]


def test_a_failing_run_has_exit_code_8(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = Outcome(5, "failed", "bias off", bodies=1)

    def checked(seeds: object, task: object, jobs: int, tell: Callable[[Outcome], None]) -> list[Outcome]:
        tell(failed)
        return [failed]

    monkeypatch.setattr("robocompiler.cli.random_check.check_many", checked)
    assert run("check", "--random", 1, "--seed", 5, "--save", tmp_path, "-q").exit_code == 8
    assert (tmp_path / "random_5.yaml").read_text() == random_yaml(5)
    (tmp_path / "file").touch()
    blocked = run("check", "--random", 1, "--save", tmp_path / "file" / "below")
    assert blocked.exit_code == 6
    assert "cannot create" in blocked.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fourbar", "--random", "2"), "MODEL and --random N are alternatives"),
        ((), "Missing argument 'MODEL' (or --random N)"),
        (("fourbar", "--save", "x"), "--save only goes with --random N"),
        (("fourbar", "--jobs", "2"), "--jobs only goes with --random N"),
        (("--random", "2", "--library", "x"), "--library does not go with --random"),
        (("--random", "2", "--precise"), "--precise does not go with --random"),
        (("--random", "0"), "0 is not in the range"),
    ],
)
def test_wrong_use_is_told(arguments: tuple[str, ...], message: str) -> None:
    result = run("check", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
