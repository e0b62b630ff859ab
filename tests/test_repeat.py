"""A compile that would change nothing is recognised; anything that could change an output is noticed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import robocompiler as rc
import robocompiler.compiler as passes
from robocompiler.backend.options import BuildOptions
from robocompiler.backend.repeat import repeat_key, standing_build
from robocompiler.records.reader import read_mechanism

MODEL = Path(__file__).resolve().parent.parent / "models" / "slider_crank.yaml"
FAST = ("-O0",)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with one finished build."""
    output = tmp_path_factory.mktemp("repeat")
    rc.compile(MODEL, output=output, extra_flags=FAST)
    return output


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Counts how often the passes run."""
    seen: list[str] = []
    whole: Callable[..., Any] = passes.compile_to_folder

    def counted(*arguments: Any, **options: Any) -> Any:
        seen.append("passes")
        return whole(*arguments, **options)

    monkeypatch.setattr(passes, "compile_to_folder", counted)
    return seen


def compile_again(output: Path, **options: Any) -> rc.Robot:
    return rc.compile(MODEL, output=output, **{"extra_flags": FAST, **options})


def test_an_unchanged_model_runs_no_pass_and_touches_no_file(built: Path, calls: list[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in built.rglob("*") if path.is_file() and "lock" not in path.name}
    robot = compile_again(built)
    assert calls == []
    assert robot.name == "slider_crank"
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_an_output_that_is_missing_or_changed_is_made_again(built: Path, calls: list[str]) -> None:
    folder = built / "slider_crank"
    text = (folder / "slider_crank.h").read_text()
    (folder / "slider_crank.h").write_text(text + "\n/* touched */\n")
    compile_again(built)
    assert (folder / "slider_crank.h").read_text() == text
    (folder / "libslider_crank.so").unlink()
    compile_again(built)
    assert (folder / "libslider_crank.so").exists()
    assert calls == ["passes", "passes"]
    compile_again(built)
    assert calls == ["passes", "passes"]


def test_a_damaged_record_is_no_obstacle(built: Path, calls: list[str]) -> None:
    record = built / "slider_crank" / ".cache" / "repeat.json"
    for text in ("{", "[]", '{"key": 3}', json.dumps({"key": "x", "build": None})):
        record.write_text(text)
        compile_again(built)
    assert calls == ["passes"] * 4


def test_all_that_reaches_the_outputs_is_in_the_key() -> None:
    mechanism = read_mechanism(MODEL)
    base = repeat_key(mechanism, (), (), BuildOptions())
    others = [
        repeat_key(mechanism, ("crank",), (), BuildOptions()),
        repeat_key(mechanism, (), "all", BuildOptions()),
        repeat_key(mechanism, (), (), BuildOptions(real="float")),
        repeat_key(mechanism, (), (), BuildOptions(batch=True)),
        repeat_key(mechanism, (), (), BuildOptions(extra_flags=FAST)),
        repeat_key(read_mechanism(MODEL.parent / "fourbar.yaml"), (), (), BuildOptions()),
    ]
    assert len({base, *others}) == 7
    assert repeat_key(read_mechanism(MODEL), (), (), BuildOptions(workers=1)) == base


def test_an_edited_model_is_compiled(built: Path, tmp_path: Path, calls: list[str]) -> None:
    text = MODEL.read_text()
    edited = tmp_path / "slider_crank.yaml"
    edited.write_text(text.replace("mass: ", "mass: 1", 1))
    assert edited.read_text() != text
    rc.compile(edited, output=built, extra_flags=FAST)
    assert calls == ["passes"]
    assert standing_build(read_mechanism(MODEL), built, "some other key") is None


def test_the_command_shows_the_same_facts_without_the_passes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "robocompiler.cli", str(MODEL), "-o", str(tmp_path), "--json", "--quiet"]
    first = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    # the second run may not even import the computer algebra
    script = (
        "import sys; sys.modules['casadi'] = None; sys.argv = ['robocompile', *sys.argv[1:]]\n"
        "from robocompiler.cli import main; sys.exit(main())"
    )
    again = subprocess.run(
        [sys.executable, "-c", script, *command[3:]], capture_output=True, text=True, check=False, timeout=120
    )
    assert again.returncode == 0, again.stderr
    second = json.loads(again.stdout)
    assert {unit["compiled"] for unit in second["build"]["units"]} == {False}
    assert second["build"]["changed"] == []
    same = [key for key in first if key not in ("seconds", "build")]
    assert {key: second[key] for key in same} == {key: first[key] for key in same}
