"""The page docs/import.md: its files import, its commands run, its reports are what comes out."""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import robocompiler as rc
from robocompiler.cli import robocompile
from robocompiler.importers.import_model import import_model
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.reader import read_mechanism

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [(kind, body) for kind, body in BLOCK.findall(PAGE)]
FILES = dict(zip(("fourbar.urdf", "linkage.xml", "linkage.sdf"), (b for k, b in BLOCKS if k == "xml"), strict=True))
COMMANDS = [body.splitlines() for kind, body in BLOCKS if kind == "sh"][1:]  # the first shows the form only

PLOTTER = """
import json, sys, types

pyplot = types.ModuleType("matplotlib.pyplot")  # the plot is its numbers
pyplot.plot = lambda x, y: print(json.dumps([list(x), list(y)]))
pyplot.show = lambda: None
package = types.ModuleType("matplotlib")
package.pyplot = pyplot
sys.modules |= {"matplotlib": package, "matplotlib.pyplot": pyplot}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, in the current folder."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    side = next(body for kind, body in BLOCKS if kind == "yaml")
    (tmp_path / "fourbar.loops.yaml").write_text(side, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> Result:
    command, *arguments = shlex.split(line)
    assert command == "robocompile"
    result = CliRunner().invoke(robocompile, arguments)
    assert result.exit_code == 0, result.output
    return result


def printed(name: str) -> list[str]:
    """The report that the page shows for a file: an indented block that starts with its format."""
    blocks = re.findall(r"^(?:    .*\n)+", PAGE, re.MULTILINE)
    (block,) = [b for b in blocks if name in b and b.lstrip().split()[0] in ("URDF", "MJCF", "SDF")]
    return [line.strip() for line in block.splitlines()]


def python(source: str) -> str:
    """What a program prints, run in the current folder."""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("index", range(3))
def test_the_import_commands_print_the_reports_of_the_page(index: int, folder: Path) -> None:
    name = list(FILES)[index]
    result = run(COMMANDS[index][0])
    lines = [line for line in result.stdout.splitlines() if not line.startswith("written to")]
    assert lines == printed(name)
    output = shlex.split(COMMANDS[index][0])[4]
    assert read_mechanism(folder / output) == import_model(folder / name).mechanism
    assert (folder / output).read_text().startswith(f"# Imported from {name}")


def test_the_urdf_becomes_a_running_library_and_the_curve_is_right(folder: Path) -> None:
    for line in COMMANDS[0][1:]:
        run(line)
    assert rc.load(folder / "build" / "fourbar_urdf").independent == ("crank_joint",)
    source = next(body for kind, body in BLOCKS if kind == "python")
    source += "import json\nprint(json.dumps([angle.tolist(), inertia.tolist()]))\n"
    angle, inertia = json.loads(python(source))
    assert angle[-1] - angle[0] == pytest.approx(2 * math.pi * 179 / 180)
    model = MaximalModel(import_model(folder / "fourbar.urdf").mechanism)
    pose = model.pose()
    for k in range(0, 180, 20):  # follow the branch, a step at a time
        pose = model.project(model.pose({**pose.values, "crank_joint": float(angle[k])}), ["crank_joint"])
        reduced = model.reduced(model.state(pose, {"crank_joint": 0.0}))
        assert float(reduced.M[0, 0]) == pytest.approx(inertia[k], rel=1e-9)

    plot = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))[2][1]  # the README's ten lines, as they are
    assert len([line for line in plot.splitlines() if line]) == 10
    drawn = json.loads(python(PLOTTER + plot))
    np.testing.assert_allclose(drawn, [angle, inertia], rtol=1e-12)


def test_the_three_formats_give_the_same_mechanism(folder: Path) -> None:
    results = []
    for name in FILES:
        records = import_model(folder / name).mechanism
        assert [port.measure for port in records.ports] == [records.ports[0].measure]
        assert records.ports[0].limits.effort == 5
        model = MaximalModel(records)
        pose = model.project(model.pose({"crank_joint": 0.4}), ["crank_joint"])
        reduced = model.reduced(model.state(pose, {"crank_joint": 1.3}))
        results.append((float(reduced.M[0, 0]), float(reduced.h[0])))
    assert results[0] == pytest.approx(results[1], rel=1e-12)
    assert results[0] == pytest.approx(results[2], rel=1e-12)


@pytest.mark.parametrize("index", [1, 2])
def test_mjcf_and_sdf_are_compiler_input(index: int, folder: Path) -> None:
    name = list(FILES)[index]
    line = COMMANDS[index][1].replace("--fast-compile", "--emit-only --json")  # one compile of this page is enough
    report = json.loads(run(line).stdout)
    assert report["rank"]["freedoms"] == 1
    assert report["robot"] == {"linkage.xml": "linkage_mjcf", "linkage.sdf": "linkage_sdf"}[name]
    assert (folder / "build" / report["robot"] / f"{report['robot']}.h").is_file()


def test_the_options_of_the_page_are_those_of_the_command() -> None:
    section = PAGE[PAGE.index("| option of") : PAGE.index("From Python")]
    documented = set(re.findall(r"`(?:-\w`, `)?(--[a-z-]+)", section))
    command = robocompile.commands["import"]
    offered = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    assert documented == offered - {"--help"}


def test_without_output_the_mechanism_goes_to_standard_output(folder: Path) -> None:
    result = CliRunner().invoke(robocompile, ["import", "fourbar.urdf"])
    assert result.exit_code == 0
    assert "# Imported from fourbar.urdf (URDF)" in result.stdout
    assert "left out: visual shapes" in result.stderr
    assert "recognised" not in result.stderr.replace("recognised or renamed", "")
    quiet = CliRunner().invoke(robocompile, ["import", "fourbar.urdf", "-q"])
    assert quiet.stderr == ""
    wrong = CliRunner().invoke(robocompile, ["import", "fourbar.urdf", "--json"])
    assert wrong.exit_code == 2


def test_the_report_as_data_and_errors_with_their_exit_code(folder: Path) -> None:
    data = json.loads(run("robocompile import fourbar.urdf -o out.yaml --json").stdout)
    assert (data["format"], data["bodies"], data["joints"]) == ("URDF", 4, 5)
    assert {note["kind"] for note in data["notes"]} == {"recognised", "assumed", "left out"}
    (folder / "broken.urdf").write_text("<robot>")
    result = CliRunner().invoke(robocompile, ["import", "broken.urdf"], standalone_mode=True)
    assert result.exit_code == 3
    assert "broken.urdf:1: not well-formed XML" in result.stderr
