"""The commands in this process: what they print, what they refuse, and with which exit code."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from robocompiler.cli import robocompile
from robocompiler.errors import AssemblyError, CompileError, LoadError, ModelError, Problem, RankError
from robocompiler.version import VERSION

MODELS = Path(__file__).resolve().parent.parent / "models"
DATA = Path(__file__).resolve().parent / "data"
FOURBAR = str(MODELS / "fourbar.yaml")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(robocompile, [str(argument) for argument in arguments])


def test_a_model_as_first_word_is_compiled(tmp_path: Path) -> None:
    result = run(FOURBAR, "-o", tmp_path, "--emit-only")
    assert result.exit_code == 0
    assert (tmp_path / "fourbar" / "fourbar.h").is_file()
    assert "none compiled: only text was asked for" in result.stdout
    assert "ships with" not in result.output


def test_options_may_come_before_the_model(tmp_path: Path) -> None:
    result = run("--emit-only", "-o", tmp_path, FOURBAR)
    assert result.exit_code == 0
    assert (tmp_path / "fourbar" / "fourbar.manifest.json").is_file()


@pytest.mark.parametrize("name", ["fourbar", "fourbar.yaml"])
def test_a_bare_name_finds_a_shipped_model_and_says_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(name, "--emit-only")
    assert result.exit_code == 0
    assert f"fourbar ships with RoboCompiler: {MODELS / 'fourbar.yaml'}" in result.stderr
    assert (tmp_path / "build" / "fourbar" / "fourbar.h").is_file()


def test_a_file_comes_before_the_shipped_model_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (MODELS / "fourbar.yaml").read_text().replace("name: fourbar", "name: mine")
    (tmp_path / "fourbar.yaml").write_text(text)
    result = run("inspect", "fourbar.yaml", "--json")
    assert json.loads(result.stdout)["robot"] == "mine"
    assert "ships with" not in result.stderr


def test_a_file_with_the_name_of_a_command_is_compiled_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inspect").write_text((MODELS / "fourbar.yaml").read_text())
    assert run("./inspect", "--emit-only").exit_code == 0
    assert (tmp_path / "build" / "fourbar" / "fourbar.h").is_file()


def test_progress_has_a_line_for_every_pass(tmp_path: Path) -> None:
    lines = run(FOURBAR, "-o", tmp_path, "--emit-only").stderr.splitlines()
    assert [line.split()[0] for line in lines] == ["read", "graph", "closures", "reduce", "kernels", "print"]


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    result = run("fourbar", "-o", tmp_path, "--emit-only", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_the_preference_for_independents_reaches_the_compiler(tmp_path: Path) -> None:
    result = run("inspect", FOURBAR, "--json", "--independent", "j_cg, ")
    assert json.loads(result.stdout)["charts"]["port"]["independent"] == ["j_cg"]


def test_inspect_prints_chords_modules_and_the_gap() -> None:
    result = run("inspect", FOURBAR, "--quiet")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "j_bc  revolute, cut, 5 rows, module_0, path of 3" in result.stdout
    assert "coupler -(j_ab)- crank -(j_ga)- world -(j_cg)- rocker" in result.stdout
    assert "singular values at the gap  1.00e+00" in result.stdout


def test_inspect_draws_the_graph(tmp_path: Path) -> None:
    target = tmp_path / "graph.svg"
    assert run("inspect", FOURBAR, "--svg", target).exit_code == 0
    text = "".join(ET.parse(target).getroot().itertext())
    assert "module_0: 2 dependents" in text
    assert "coupler" in text


def test_the_program_of_one_kernel_or_of_a_prefix() -> None:
    one = run("inspect", FOURBAR, "--quiet", "--ir", "module_0_system").stdout
    several = run("inspect", FOURBAR, "--quiet", "--ir", "module_0_").stdout
    assert one.count("kernel ") == 1
    assert "    q[0] is j_ga\n" in one
    assert "    a0 = cos(q[2])\n" in one
    assert several.count("kernel ") > 3
    assert one in several


def test_ir_without_a_kernel_may_stand_before_the_model() -> None:
    result = run("inspect", "--ir", FOURBAR)
    assert result.exit_code == 0
    assert "kernel poses" in result.stdout


def test_an_unknown_kernel_is_wrong_use() -> None:
    result = run("inspect", FOURBAR, "--ir", "module_0_sistem")
    assert result.exit_code == 2
    assert "Did you mean 'module_0_system'?" in result.stderr


def test_schema_is_json() -> None:
    schema = json.loads(run("schema").stdout)
    assert schema["title"] == "RoboCompiler mechanism"


def test_models_lists_what_ships() -> None:
    listed = {entry["name"]: entry for entry in json.loads(run("models", "--json").stdout)}
    assert set(listed) == {path.stem for path in MODELS.glob("*.yaml")}
    assert listed["stewart"]["summary"].startswith("Six-UPS Stewart platform")
    table = run("models").stdout
    assert all(name in table for name in listed)


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"robocompile, version {VERSION}\n")


def test_help_names_the_exit_codes() -> None:
    text = " ".join(run("--help").stdout.split())
    assert "MODEL | COMMAND" in text
    assert "3 the model is wrong" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([FOURBAR, "--emit-only", "--jobs", "2"], "--jobs is for the C compiler, and does not go with --emit-only"),
        (["export", FOURBAR, "--to", "svg", "--force"], "--force only goes with --to urdf"),
        (["check", FOURBAR, "--library", "x", "--output", "y"], "so it does not go with --library"),
        (["check", FOURBAR, "--save", "x"], "--save only goes with --random N"),
        (["import", "two.urdf", "--key", "home"], "--key is for MJCF, and two.urdf is URDF"),
        (["import", "two.urdf", "--report", "--quiet"], "--report tells more in the report, which --quiet"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.urdf").write_text('<robot name="two"><link name="a"/></robot>')
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["two.urdf"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kangaro"], "did you mean 'kangaroo'?"),
        (["inspect", "zzzzzz"], "`robocompile models` lists those that ship"),
        (["./kangaroo.yaml"], "./kangaroo.yaml: there is no such file"),
        (["no/kangaroo"], "no/kangaroo: there is no such file"),
        ([FOURBAR, "--independent", "nobody"], "--independent: no velocity or joint is called 'nobody'"),
    ],
)
def test_models_and_names_that_are_not_there(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 3
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_every_problem_of_a_model_has_its_own_line() -> None:
    path = DATA / "reader" / "many_faults.yaml"
    result = run(path, "--json")
    problems = json.loads(result.stdout)["error"]["problems"]
    lines = result.stderr.splitlines()
    assert result.exit_code == 3
    assert len(problems) > 20
    assert lines[-1] == f"robocompile: {len(problems)} problems; nothing was compiled"
    for line, problem in zip(lines[:-1], problems, strict=True):
        assert line == f"{path}:{problem['line']}: {problem['record']}: {problem['message']}"


def test_an_unclear_rank_names_the_joints_and_has_its_code(tmp_path: Path) -> None:
    text = (MODELS / "fourbar.yaml").read_text()
    tilted = text.replace("b: {body: coupler}, axis: [0, -1, 0]", "b: {body: coupler}, axis: [0, -1, 1.0e-6]")
    assert tilted != text
    (tmp_path / "tilted.yaml").write_text(tilted)
    result = run("inspect", tmp_path / "tilted.yaml", "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["type"]) == (5, "RankError")
    assert "j_ab" in error["report"]["suspects"]
    assert "the rank of the closures is not clear" in result.stderr


def test_loops_that_do_not_close_have_their_code(tmp_path: Path) -> None:
    text = (MODELS / "fourbar.yaml").read_text().replace("xyz: [0.9, 0.0, 0.0]", "xyz: [9.0, 0.0, 0.0]")
    (tmp_path / "open.yaml").write_text(text)
    result = run(tmp_path / "open.yaml", "-o", tmp_path, "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["type"], error["joint"]) == (4, "AssemblyError", "j_bc")
    assert error["gap"]["j_bc"][0] > 1.0
    assert "the loops do not close" in result.stderr


def test_a_missing_compiler_has_its_code(tmp_path: Path) -> None:
    result = run(FOURBAR, "-o", tmp_path, "--cc", "no-such-compiler-here", "--json")
    assert result.exit_code == 6
    assert json.loads(result.stdout)["error"]["type"] == "CompileError"
    assert "no-such-compiler-here" in result.stderr


def test_a_drawing_that_cannot_be_written_has_its_code(tmp_path: Path) -> None:
    result = run("inspect", FOURBAR, "--svg", tmp_path / "no" / "graph.svg")
    assert result.exit_code == 6
    assert "cannot write" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [FOURBAR, "--real", "quad"],
        [FOURBAR, "--jobs", "0"],
        [FOURBAR, "--no-such-option"],
        [FOURBAR, "second.yaml"],
        ["inspect"],
        ["compile"],
        [],
    ],
)
def test_wrong_use_has_code_2(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: robocompile" in result.stderr
    assert result.stdout == ""


def test_wrong_use_is_json_too() -> None:
    result = run(FOURBAR, "--json", "--jobs", "0")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["type"] == "BadParameter"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelError([Problem("bad")]), 3),
        (AssemblyError("open"), 4),
        (RankError("unclear"), 5),
        (CompileError("no cc"), 6),
        (LoadError("stale"), 7),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("oops"), 1),
    ],
)
def test_each_error_has_its_code(error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("robocompiler.compiler.run_front_end", fail)
    result = run("inspect", FOURBAR, "--json")
    assert result.exit_code == code
    assert ("Traceback" in result.stderr) == (code == 1)
    assert ("please report it" in result.stderr) == (code == 1)
    assert ("Nothing is lost" in result.stderr) == (code == 130)
    assert set(json.loads(result.stdout)["error"]) >= {"type", "message", "problems"}


def test_paths_are_shown_literally(tmp_path: Path) -> None:
    folder = tmp_path / "[red]a[/red] :smile:"
    result = run(FOURBAR, "-o", folder, "--emit-only")
    assert result.exit_code == 0
    assert str(folder) in result.stdout.replace("\n            ", "")
    missing = run("./[bold]\x1b[31m.yaml")
    assert "./[bold]\\x1b[31m.yaml: there is no such file" in missing.stderr
