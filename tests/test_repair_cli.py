"""The page docs/repair.md and the commands: what they print, write and refuse; front end only."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import robocompiler as rc
from robocompiler.analysis.repairing import repair_mechanism
from robocompiler.cli import robocompile
from robocompiler.errors import RankError
from robocompiler.records.reader import read_mechanism

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall((ROOT / "docs" / "repair.md").read_text(encoding="utf-8"))
MODEL = next(body for kind, body in BLOCKS if kind == "yaml")
COMMAND = next(body for kind, body in BLOCKS if kind == "sh")
REFUSAL, REPORT = (body for kind, body in BLOCKS if kind == "text")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rounded.yaml").write_text(MODEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(robocompile, shlex.split(line)[1:])


def test_the_model_of_the_page_is_refused_with_the_reasons_of_the_page(folder: Path) -> None:
    result = run("robocompile compile rounded.yaml -o build --emit-only")
    assert result.exit_code == 5
    assert REFUSAL in result.stderr
    assert "robocompile repair MODEL -o FIXED.yaml" in result.stderr
    assert not (folder / "build" / "rounded").exists()


def test_the_repair_of_the_page_prints_its_report_and_writes_the_file(folder: Path) -> None:
    result = run(COMMAND)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{REPORT}written to fixed.yaml\n"
    text = (folder / "fixed.yaml").read_text(encoding="utf-8")
    assert "".join(f"# {line}\n" for line in REPORT.splitlines()) in text
    fixed = read_mechanism(folder / "fixed.yaml")
    assert fixed == repair_mechanism(read_mechanism(folder / "rounded.yaml")).mechanism
    assert run("robocompile repair fixed.yaml -o again.yaml").stdout.startswith("rounded: nothing to repair")
    assert read_mechanism(folder / "again.yaml") == fixed


def test_the_report_as_data(folder: Path) -> None:
    result = run("robocompile repair rounded.yaml -o fixed.yaml --json -q")
    data = json.loads(result.stdout)
    assert [change["joint"] for change in data["changes"]] == ["elbow"]
    assert data["changes"][0]["axis"] == pytest.approx(1.5708 - 1.5707963267948966, rel=1e-6)
    assert (data["freedoms"], data["rank"], data["output"]) == (1, 2, "fixed.yaml")
    assert data["after"]["clear"] and not data["before"]["clear"]
    assert run("robocompile repair rounded.yaml --json").exit_code == 2


def test_without_an_output_the_mechanism_goes_to_standard_output(folder: Path) -> None:
    result = run("robocompile repair rounded.yaml")
    (folder / "piped.yaml").write_text(result.stdout, encoding="utf-8")
    assert result.stderr.startswith(REPORT)
    assert repair_mechanism(read_mechanism(folder / "piped.yaml")).changes == ()


def test_a_compile_with_repair_tells_the_changes(folder: Path) -> None:
    result = run("robocompile compile rounded.yaml -o build --emit-only --repair --json")
    assert result.exit_code == 0, result.stderr
    assert REPORT in result.stderr
    data = json.loads(result.stdout)
    assert [change["joint"] for change in data["repair"]["changes"]] == ["elbow"]
    assert (folder / "build" / "rounded" / "rounded.h").exists()


def test_inspect_and_check_with_repair_tell_the_changes(folder: Path) -> None:
    assert run("robocompile inspect rounded.yaml --json -q").exit_code == 5
    result = run("robocompile inspect rounded.yaml --repair --json -q")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["rank"]["freedoms"] == 1
    assert [change["joint"] for change in data["repair"]["changes"]] == ["elbow"]
    told = run("robocompile inspect rounded.yaml --repair")
    assert "elbow" in told.stderr

    rc.compile(
        repair_mechanism(read_mechanism(folder / "rounded.yaml")).mechanism, output="build", extra_flags=("-O0",)
    )
    line = "robocompile check rounded.yaml --library build/rounded --states 3 --json -q"
    checked = run(f"{line} --repair")
    assert checked.exit_code == 0, checked.output
    data = json.loads(checked.stdout)
    assert data["passed"] and data["repair"]["changes"][0]["joint"] == "elbow"
    assert run("robocompile check --random 1 --repair").exit_code == 2


def test_a_refused_repair_writes_nothing(folder: Path) -> None:
    (folder / "rounded.yaml").write_text(MODEL.replace("[1.5708,", "[1.5705,"), encoding="utf-8")
    result = run("robocompile repair rounded.yaml -o fixed.yaml")
    assert result.exit_code == 5
    assert "nothing was repaired" in result.stderr
    assert not (folder / "fixed.yaml").exists()


def test_python_warns_of_the_changes(folder: Path) -> None:
    with pytest.raises(RankError, match=r"elbow: axis 3\.67 microradians"):
        rc.compile("rounded.yaml", output="build", emit_only=True)
    with pytest.warns(UserWarning, match=r"elbow: axis 3\.67 microradians"), pytest.raises(rc.LoadError):
        rc.compile("rounded.yaml", output="build", emit_only=True, repair=True)  # C text only: nothing to load
