"""The page docs/export.md: its commands run, its reports are what comes out, its programs give what they say."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import robocompiler as rc
from robocompiler.cli import robocompile
from robocompiler.importers.import_model import import_model
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.reader import read_mechanism

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, body in BLOCKS if kind == "sh" for line in body.splitlines()]
PROGRAMS = [body for kind, body in BLOCKS if kind == "python"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the model that the page's programs name."""
    shutil.copy(ROOT / "models" / "stewart.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str, *more: str) -> Result:
    command, *arguments = shlex.split(line)
    assert command == "robocompile"
    result = CliRunner().invoke(robocompile, [*arguments, *more])
    assert result.exit_code == 0, result.output
    return result


def test_the_commands_of_the_page_write_what_it_says(folder: Path) -> None:
    mjcf, urdf, dot, svg = COMMANDS
    shown = [line.strip() for line in re.findall(r"^    (.*)$", PAGE, re.MULTILINE)][:4]
    assert run(mjcf).stdout.splitlines() == shown
    report = json.loads(run(urdf, "--json").stdout)
    assert report["files"] == ["go2.urdf", "go2.loops.yaml"]
    assert import_model(folder / "go2.urdf").mechanism.supports == read_mechanism(ROOT / "models/go2.yaml").supports
    run(dot)
    run(svg, "--quiet")
    assert (folder / "crane.dot").read_text() == rc.export.dot(ROOT / "models" / "crane.yaml")
    assert (folder / "crane.svg").read_text().startswith("<svg ")


def test_a_side_file_that_is_there_already_is_kept_unless_forced(folder: Path) -> None:
    side, urdf = folder / "arm.loops.yaml", folder / "arm.urdf"
    side.write_text("# written by hand\n")
    line = "robocompile export five_bar --to urdf -o arm.urdf"
    result = CliRunner().invoke(robocompile, shlex.split(line)[1:], standalone_mode=True)
    assert result.exit_code == 6
    assert "arm.loops.yaml is there already" in result.stderr and "--force" in result.stderr
    assert side.read_text() == "# written by hand\n" and not urdf.exists()
    run(line, "--force")
    assert side.read_text() == rc.export.urdf(ROOT / "models" / "five_bar.yaml").side
    run(line)  # its own file, unchanged, is no obstacle
    assert urdf.read_text() == rc.export.urdf(ROOT / "models" / "five_bar.yaml").text


def test_without_output_the_text_goes_to_standard_output(folder: Path) -> None:
    result = run("robocompile export fourbar --to mjcf")
    assert result.stdout == rc.export.mjcf(ROOT / "models" / "fourbar.yaml").text
    assert "left out: displacement and velocity limits of ports" in result.stderr
    for wrong in (["--to", "urdf"], ["--to", "mjcf", "--json"], ["--to", "step"], []):
        assert CliRunner().invoke(robocompile, ["export", "fourbar", *wrong]).exit_code == 2


def test_a_model_that_cannot_be_said_is_an_error_with_its_line(folder: Path) -> None:
    model = {"l1": {"mass": 1, "inertia": [1, 1, 1, 0, 0, 0]}, "l2": {"mass": 1, "inertia": [1, 1, 1, 0, 0, 0]}}
    joints = {
        "j1": {"type": "revolute", "a": {"body": "world"}, "b": {"body": "l1"}, "axis": [0, 0, 1]},
        "j2": {"type": "revolute", "a": {"body": "world"}, "b": {"body": "l2"}, "axis": [0, 0, 1]},
    }
    text = json.dumps({"robocompiler": 1, "name": "cam", "bodies": model, "joints": joints})[:-1]
    (folder / "cam.yaml").write_text(text + ',\n"couplings":\n{"law": {"expression": "j2 - sin(j1)"}}}')
    result = CliRunner().invoke(robocompile, ["export", "cam.yaml", "--to", "mjcf"])
    assert result.exit_code == 3
    assert "cam.yaml:3: couplings.law: MuJoCo couples joints by a sum" in result.stderr


def printed(source: str, expression: str) -> object:
    """The value of an expression at the end of a program, run in the current folder."""
    source += f"\nimport json\nprint(json.dumps({expression}))\n"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_mjcf_of_the_page_is_closed_at_its_keyframe(folder: Path) -> None:
    pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile")
    gap = printed(PROGRAMS[0], "[float(gap), data.efc_pos.size]")
    assert gap[0] < 1e-12  # type: ignore[index]
    assert gap[1] == 15  # type: ignore[index]  # five balls


def test_pinocchio_on_the_page_accelerates_as_the_oracle(folder: Path) -> None:
    pytest.importorskip("pinocchio", reason="a package of the verify extra, not needed to compile")
    found = printed(PROGRAMS[1], "acceleration")
    assert isinstance(found, dict)
    reference = rc.export.assembled(folder / "stewart.yaml")
    model = MaximalModel(reference.mechanism)
    wanted = model.accelerations(model.state(model.pose(reference.reference))).joints
    assert len(found) == 21
    for name, value in found.items():
        assert value == pytest.approx(float(wanted[name]), rel=1e-6, abs=1e-6), name


def test_dot_names_every_record() -> None:
    mechanism = read_mechanism(ROOT / "models" / "crane.yaml")
    text = rc.export.dot(mechanism)
    assert text.startswith('graph "crane" {\n')
    for body in mechanism.bodies:
        assert f'  "{body.name}";' in text
    for joint in mechanism.joints:
        assert len(re.findall(rf'label="{re.escape(joint.name)}\\n', text)) == 1
    assert text.count("style=dashed") == len(mechanism.joints) - len(mechanism.bodies)


def test_the_options_of_the_page_are_those_of_the_command() -> None:
    section = PAGE[PAGE.index("| option of") : PAGE.index("An [import]")]
    documented = set(re.findall(r"`(?:-\w`, `)?(--[a-z-]+)", section))
    offered = {option for p in robocompile.commands["export"].params for option in p.opts if option.startswith("--")}
    assert documented == offered - {"--help"}
