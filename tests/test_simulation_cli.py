"""`robocompile simulate` and the page docs/simulation.md: the examples run, files are written, exit codes are right."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import robocompiler as rc
from robocompiler.cli import robocompile

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def work(
    compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The current folder, where fourbar and stewart are compiled already."""
    for name in ("fourbar", "stewart"):
        compiled(name)
        shutil.copytree(build_folder / name, tmp_path / "build" / name)
    shutil.copy(ROOT / "models" / "stewart.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(robocompile, shlex.split(line), standalone_mode=False)


def test_the_page_is_true(work: Path) -> None:
    """Its programs run one after the other, its commands too; objects that are compiled already are found."""
    programs = "".join(body for kind, body in BLOCKS if kind == "python")
    done = subprocess.run([sys.executable, "-c", programs], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["completed", "1000", "True"]
    for name in ("run.npz", "run.svg", "run.html"):
        assert (work / name).stat().st_size > 1000
        (work / name).unlink()
    commands = [line for kind, body in BLOCKS if kind == "sh" for line in body.splitlines()]
    assert len(commands) == 2
    for command in commands:
        result = run(command.removeprefix("robocompile "))
        assert result.exception is None
        assert result.return_value == 0
        assert "end      completed" in result.output
    for name in ("run.npz", "run.svg", "run.html"):
        assert (work / name).exists()


def test_the_methods_of_page_and_command_are_those_there_are() -> None:
    from robocompiler.cli.simulate_command import METHODS as OFFERED
    from robocompiler.runtime.simulation.methods import METHODS
    from robocompiler.runtime.simulation.result import ENDS

    assert set(OFFERED) == set(METHODS)
    assert re.findall(r"^\| `(\w+)` \| \d", PAGE, re.MULTILINE) == ["euler", "rk4", "ros2", "bs32", "dopri5"]
    kinds = PAGE[PAGE.index("| kind | meaning |") : PAGE.index("## Logs")]
    assert tuple(re.findall(r"^\| `([a-z ]+)` \|", kinds, re.MULTILINE)) == ENDS


def test_the_summary_is_what_happened(work: Path) -> None:
    result = run(
        "simulate fourbar --library build/fourbar --duration 0.2 --speed j_ga=2 --set j_ga=.9 --json --log a.npz"
    )
    assert result.return_value == 0
    data = json.loads(result.output)
    robot = rc.load("build/fourbar")
    wanted = robot.simulate(0.2, robot.assemble(robot.configuration({"j_ga": 0.9})), [2.0])
    last = [data["last"]["q"][name] for name in robot.coordinates]
    assert last == pytest.approx(wanted.q[-1].tolist(), abs=1e-14)
    assert data["end"]["kind"] == "completed"
    assert (data["steps"], data["rows"], data["files"]) == (200, 201, ["a.npz"])
    assert data["energy"]["last"] == pytest.approx(data["energy"]["first"], abs=1e-8)
    assert len(rc.simulation.read_log("a.npz").rows) == 201


def test_a_motion_that_ends_early_has_its_exit_code(work: Path) -> None:
    result = run("simulate stewart --library build/stewart --duration 1 --method dopri5 --rtol 1e-5")
    assert result.return_value == 9
    assert re.search(r"^end +event: joint limit at t = 0\.\d+ s: leg_\d_\w+ is ", result.output, re.MULTILINE)
    result = run("simulate fourbar --library build/fourbar --duration 1 --speed j_ga=-60 --step 0.1 --json")
    assert result.return_value == 9
    assert json.loads(result.output)["end"]["kind"] == "closure"


CONTROL = """
class Push:
    sample_time = 0.05
    def __init__(self, robot):
        self.ports = len(robot.ports)
        self.calls = 0
    def __call__(self, t, q, u):
        self.calls += 1
        if t > 0.32:
            return 1 / 0
        return [4.0] * self.ports

def nothing(robot):
    return None
"""


def test_controllers_of_the_user(work: Path) -> None:
    (work / "control.py").write_text(CONTROL)
    start = "simulate fourbar --library build/fourbar"
    result = run(f"{start} --duration 0.3 --controller control.py:Push --json --log b.npz")
    assert result.return_value == 0
    f = rc.simulation.read_log("b.npz").column("f:motor")
    assert np.array_equal(f, np.full(301, 4.0))
    failing = subprocess.run(
        [sys.executable, "-m", "robocompiler.cli", *shlex.split(f"{start} --duration 1 --controller control.py:Push")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert failing.returncode == 2
    assert "at t = 0.35 s: control.py:10: ZeroDivisionError: division by zero" in failing.stderr
    for word, words in (
        ("control.py:nothing", "must return a function"),
        ("control.py:absent", "AttributeError"),
        ("absent.py:law", "no such file"),
        ("control.py", "must be none, hold"),
        ("hld", "must be none, hold"),
    ):
        result = run(f"{start} --duration 0.3 --controller {word}")
        assert result.exception is not None
        assert words in getattr(result.exception, "message", "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--set j_ga", "--set j_ga: must be NAME=VALUE"),
        ("--set j_xx=1", "j_xx"),
        ("--speed j_ab=1", "--speed j_ab: not an independent speed; these are: j_ga"),
        ("--speed j_ga=nan", "must be NAME=VALUE with a finite number"),
        ("--log run.csv", "a log is a .npz or .parquet file"),
        ("--kp 3", "--kp only goes with --controller hold"),
        ("--kd 3 --controller control.py:Push", "--kd only goes with --controller hold"),
        ("--sample-time 0.1", "--sample-time is that of a controller"),
        ("--rtol 1e-3", "--rtol only goes with --method bs32 or dopri5"),
        ("--output other", "--output says where MODEL is compiled to"),
    ],
)
def test_wrong_use_is_told(work: Path, options: str, words: str) -> None:
    result = run(f"simulate fourbar --library build/fourbar --duration 0.1 {options}")
    assert getattr(result.exception, "exit_code", None) == 2
    assert words in getattr(result.exception, "message", "")


@pytest.mark.parametrize("option", ["--log nowhere/a.npz", "--plot nowhere/a.svg", "--animate nowhere/a.html"])
def test_files_go_into_folders_that_are_there(work: Path, option: str) -> None:
    result = run(f"simulate fourbar --library build/fourbar --duration 0.1 {option}")
    assert "there is no folder nowhere; make it first" in str(result.exception)
    assert not (work / "nowhere").exists()
    with pytest.raises(rc.ArgumentError, match="no folder"):
        rc.load("build/fourbar").simulate(0.1, log="nowhere/a.npz")


def test_values_of_dependents_are_told_to_be_guesses(work: Path) -> None:
    start = "simulate fourbar --library build/fourbar --duration 0.01"
    robot = rc.load("build/fourbar")
    found = robot.joint(robot.assemble(robot.configuration({"j_ab": -0.5})), "j_ab")
    told = run(f"{start} --set j_ab=-0.5").stderr
    assert "--set j_ab=-0.5 was only a guess to close the loops from, since j_ab follows from the independents" in told
    assert f"(j_ga); it is {found:.6g}" in told
    assert "guess" not in run(f"{start} --set j_ga=0.9").stderr


SLOW = """
import time
def law(robot):
    def f(t, q, u):
        if t == 0.0:
            print("on", flush=True)
        time.sleep(2e-3)
        return [0.0]
    return f
"""


def test_ctrl_c_keeps_the_log(work: Path) -> None:
    (work / "slow.py").write_text(SLOW)
    words = "simulate fourbar --library build/fourbar --duration 1e5 --controller slow.py:law --log c.npz --plot c.svg"
    command = [sys.executable, "-m", "robocompiler.cli", *shlex.split(words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "end      interrupted" in output
    assert rc.simulation.read_log("c.npz").complete
    assert (work / "c.svg").exists()
