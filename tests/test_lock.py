from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robocompiler.backend.lock import LOCK_FILE, build_lock
from robocompiler.errors import CompileError

HOLDER = (
    "import sys, time; from pathlib import Path\n"
    "from robocompiler.backend.lock import build_lock\n"
    "with build_lock(Path(sys.argv[1])):\n"
    "    print('held', flush=True)\n"
    "    time.sleep(float(sys.argv[2]))\n"
)


def hold(folder: Path, seconds: float) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), str(seconds)], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_waits_and_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    process = hold(folder, 1.6)
    told: list[str] = []
    begin = time.monotonic()
    with build_lock(folder, message=told.append):
        waited = time.monotonic() - begin
    process.wait(10)
    assert waited > 1.0
    assert told == [f"another compile is running in {folder}; waiting for it"]


def test_waiting_ends_at_the_timeout(tmp_path: Path) -> None:
    process = hold(tmp_path, 30)
    try:
        with pytest.raises(CompileError, match="another compile is running"), build_lock(tmp_path, timeout=0.2):
            pytest.fail("the lock was held twice")
    finally:
        process.kill()
        process.wait(10)


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    process = hold(tmp_path, 30)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    with build_lock(tmp_path, timeout=1.0):
        pass
    assert (tmp_path / LOCK_FILE).exists()


def test_threads_and_nested_uses_exclude_each_other_too(tmp_path: Path) -> None:
    with build_lock(tmp_path), pytest.raises(CompileError), build_lock(tmp_path, timeout=0.0):
        pytest.fail("the lock was held twice")
    with build_lock(tmp_path, timeout=0.0):
        pass


def test_the_lock_is_released_when_the_body_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), build_lock(tmp_path):
        raise ValueError("inside")
    with build_lock(tmp_path, timeout=0.0):
        pass


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompileError, match="cannot lock the output folder"), build_lock(tmp_path / "file"):
        pytest.fail("a file was locked as a folder")
    (tmp_path / "target").write_text("")
    (tmp_path / LOCK_FILE).symlink_to(tmp_path / "target")
    with pytest.raises(CompileError, match="cannot lock"), build_lock(tmp_path):
        pytest.fail("the lock followed a symbolic link")
