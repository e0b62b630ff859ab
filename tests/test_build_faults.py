"""Builds that fail, are killed, or meet each other: nothing that worked before is lost."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import robocompiler as rc
from robocompiler.backend import compiler
from robocompiler.backend.options import BuildOptions
from robocompiler.compiler import compile_to_folder

MODELS = Path(__file__).resolve().parent.parent / "models"
FOURBAR = MODELS / "fourbar.yaml"
FAST = ("-O0",)  # what happens to a build does not depend on what its objects hold
COMPILE = f"import sys, robocompiler as rc; rc.compile(*sys.argv[1:3], cc=sys.argv[3] or None, extra_flags={FAST})"


@pytest.fixture
def output(compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path) -> Path:
    """An output folder that holds a good build of the four-bar."""
    compiled("fourbar")
    shutil.copytree(build_folder / "fourbar", tmp_path / "out" / "fourbar")
    return tmp_path / "out"


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """The four-bar with a crank of 0.31 m: everything must be compiled again."""
    path = tmp_path / "fourbar.yaml"
    path.write_text(
        FOURBAR.read_text().replace("{body: crank, xyz: [0.3, 0.0, 0.0]}", "{body: crank, xyz: [0.31, 0, 0]}")
    )
    return path


def crank_length(folder: Path) -> float:
    """Which of the two robots is in the folder."""
    robot = rc.load(folder / "fourbar")
    assert np.abs(robot.residual(robot.reference)).max() < 1e-12
    return round(float(np.linalg.norm(robot.pose("coupler", robot.reference)[1])), 9)


def script(path: Path, text: str) -> str:
    """An executable shell script that plays the compiler."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def stand_in(path: Path, work: str) -> str:
    """A compiler that answers questions as gcc does and does `work` otherwise."""
    return script(path, f'case " $* " in " --version "|" -dumpmachine "|*" -dM "*) exec gcc "$@";; esac\n{work}')


def fails(model: Path, output: Path, match: str, cc: str | None = None) -> rc.CompileError:
    with pytest.raises(rc.CompileError, match=match) as caught:
        rc.compile(model, output=output, cc=cc, extra_flags=FAST)
    return caught.value


def test_a_missing_compiler_is_named_and_nothing_is_lost(
    output: Path, edited: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in (output / "fourbar").iterdir() if path.is_file()}
    error = fails(edited, output, "'/no/such/cc', named by --cc, was not found; install gcc", cc="/no/such/cc")
    assert error.command == ("/no/such/cc",)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    fails(edited, output, "no C compiler found")
    # not even the sources were replaced
    assert {path.name: path.read_bytes() for path in (output / "fourbar").iterdir() if path.is_file()} == before
    assert crank_length(output) == 0.3


def test_a_failing_compiler_is_reported_with_diagnostic_command_and_log(
    output: Path, edited: Path, tmp_path: Path
) -> None:
    cc = stand_in(tmp_path / "cc", "echo 'x.c:7:3: error: the gate is shut' >&2; exit 1")
    error = fails(edited, output, "x.c:7:3: error: the gate is shut", cc=cc)
    assert error.command[0] == cc
    assert "the gate is shut" in Path(error.log).read_text()
    assert crank_length(output) == 0.3
    assert crank_length_after(edited, output) == 0.31


def crank_length_after(model: Path, output: Path) -> float:
    """Compile with the real compiler and tell which robot is there."""
    rc.compile(model, output=output, extra_flags=FAST)
    return crank_length(output)


def test_a_compiler_that_prints_garbage_or_lies(output: Path, edited: Path, tmp_path: Path) -> None:
    cc = stand_in(tmp_path / "garbage", r"printf '\377\376\000\001 no text\n' >&2; exit 3")
    assert "no text" in str(fails(edited, output, "module_0|kinematics|chords", cc=cc))
    fails(edited, output, "reported success but .* cannot be put in place", cc=stand_in(tmp_path / "liar", "exit 0"))
    silent = stand_in(tmp_path / "silent", "exit 9")
    fails(edited, output, "exit status 9 and said nothing", cc=silent)
    dying = stand_in(tmp_path / "dying", "kill -9 $$")
    fails(edited, output, "ended by SIGKILL", cc=dying)
    assert crank_length(output) == 0.3


def test_a_compiler_that_writes_rubbish_objects_fails_at_the_link(output: Path, edited: Path, tmp_path: Path) -> None:
    work = 'for last; do :; done\ncase " $* " in *" -shared "*) exec gcc "$@";; esac\necho rubbish > "$last"'
    error = fails(edited, output, "libfourbar", cc=stand_in(tmp_path / "cc", work))
    assert "-shared" in error.command
    assert crank_length(output) == 0.3
    assert crank_length_after(edited, output) == 0.31


def test_a_compiler_that_hangs_is_ended(
    output: Path, edited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robocompiler.backend import compile_jobs

    monkeypatch.setattr(compile_jobs, "COMPILE_TIMEOUT", 0.5)
    begin = time.monotonic()
    fails(edited, output, r"0\.5 s", cc=stand_in(tmp_path / "cc", "sleep 60"))
    assert time.monotonic() - begin < 20
    assert crank_length(output) == 0.3
    # one that does not even tell its version
    with pytest.raises(rc.CompileError, match=r"did not answer within 0\.5 s"):
        compiler.find_toolchain(script(tmp_path / "mute", "sleep 60"), timeout=0.5)
    # one that does not tell its macros
    curt = script(tmp_path / "curt", 'case "$1" in --version|-dumpmachine) exec gcc "$@";; esac\nsleep 60')
    with pytest.raises(rc.CompileError, match=r"did not answer within 0\.5 s: .*-dM -E"):
        compiler.find_toolchain(curt, timeout=0.5)


def test_an_output_folder_that_cannot_be_written(tmp_path: Path, output: Path, edited: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for place in (file, file / "below"):
        fails(FOURBAR, place, "cannot")
    assert file.read_text() == "mine"
    # a folder stands where a generated file belongs
    blocked = tmp_path / "blocked" / "fourbar" / "fourbar.h"
    blocked.mkdir(parents=True)
    fails(FOURBAR, tmp_path / "blocked", "a folder of that name is in the way")
    # a user's own file is not overwritten
    (output / "fourbar" / ".robocompiler-files.json").unlink()
    (output / "fourbar" / "fourbar_kinematics.c").write_text("int mine;\n")
    fails(edited, output, "was not written by RoboCompiler")
    assert crank_length(output) == 0.3


def test_read_only_folders_are_reported(output: Path, edited: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes into read-only folders; a file in the way stands in for them above")
    (output / "fourbar").chmod(0o555)
    try:
        fails(edited, output, "cannot")
    finally:
        (output / "fourbar").chmod(0o755)
    assert crank_length(output) == 0.3


def start(model: Path, output: Path, cc: str = "") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", COMPILE, str(model), str(output), cc]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the moment to interrupt never came"
        time.sleep(0.002)


# Where the compile is stopped: the stand-in compiler makes a mark and waits there, then goes on as gcc.
MOMENTS = {
    "first object": "*kinematics.c*) {wait}",
    "an object of several": "*inner_module_0.c*) {wait}",
    "module library": "*-shared*module_0.so*) {wait}",
    "robot library": "*-shared*libfourbar.so*) {wait}",
}


@pytest.mark.parametrize(
    ("moment", "number"),
    [*((moment, signal.SIGKILL) for moment in MOMENTS), *((m, signal.SIGINT) for m in list(MOMENTS)[1::2])],
)
def test_an_interrupted_compile_leaves_the_old_library_and_the_next_one_recovers(
    output: Path, edited: Path, tmp_path: Path, moment: str, number: signal.Signals
) -> None:
    mark = tmp_path / "mark"
    wait = f"touch {mark}; sleep 30;;"
    work = f'case "$*" in {MOMENTS[moment].format(wait=wait)} esac\nexec gcc "$@"'
    process = start(edited, output, stand_in(tmp_path / "cc", work))
    wait_for(mark.exists)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode != 0
    assert crank_length(output) == 0.3
    if number == signal.SIGINT:
        assert list((output / "fourbar").rglob("*.partial")) == []
    assert crank_length_after(edited, output) == 0.31
    assert list((output / "fourbar").rglob("*.partial")) == []


@pytest.mark.parametrize("step", ["versioned", "plain", "stamp", "manifest", "removal"])
def test_a_compile_killed_while_it_publishes_is_the_old_or_the_new_robot(
    output: Path, edited: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    from robocompiler.backend import build, libraries

    class Killed(BaseException):
        """Stands for the power going off: no handler of the build may take it for an error."""

    def die(*_: object, **__: object) -> None:
        raise Killed

    original = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if step == "plain" and Path(target).name == "libfourbar.so" and self.parent.name == "linked":
            raise Killed
        return original(self, target)

    original_write = build.write_files

    def write_files(folder: Path, files: dict[str, str | bytes]) -> list[str]:
        if step == "manifest" and (folder / ".cache" / "linked.json").stat().st_mtime > begin:
            raise Killed
        return original_write(folder, files)

    begin = time.time()
    with monkeypatch.context() as patch:
        if step == "versioned":
            patch.setattr(libraries, "_publish_copy", die)
        elif step == "stamp":
            patch.setattr(libraries, "write_atomically", die)
        elif step == "removal":
            patch.setattr(build, "remove_old", die)
        patch.setattr(Path, "replace", replace)
        patch.setattr(build, "write_files", write_files)
        with pytest.raises(Killed):
            compile_to_folder(edited, output, options=BuildOptions(extra_flags=FAST))
    assert crank_length(output) == (0.31 if step == "removal" else 0.3)
    assert crank_length_after(edited, output) == 0.31


def test_two_compiles_into_one_folder_wait_for_each_other(tmp_path: Path, edited: Path) -> None:
    # the same robot twice and its edited form, all at once
    begin = [start(FOURBAR, tmp_path), start(FOURBAR, tmp_path), start(edited, tmp_path)]
    for process in begin:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
    assert crank_length(tmp_path) in (0.3, 0.31)
    assert list(tmp_path.rglob("*.partial")) == []


def test_readers_never_see_a_half_built_robot(output: Path, edited: Path) -> None:
    # while two forms of the robot replace each other, whoever loads gets one or the other
    seen = set()
    for model in (edited, FOURBAR):
        process = start(model, output)
        while process.poll() is None:
            seen.add(crank_length(output))
            time.sleep(0.01)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said.decode()
        seen.add(crank_length(output))
    assert seen == {0.3, 0.31}
