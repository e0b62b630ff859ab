"""`robocompile view` as a process: its address, its end, and what it refuses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "robocompiler.cli", "view"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
WITHOUT = "import sys; sys.modules['viser'] = None; from robocompiler.cli import main; main()"


@contextmanager
def viewing(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command and the address that it printed."""
    command = [*COMMAND, *map(str, arguments), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of compiled robots for all tests of this file."""
    return tmp_path_factory.mktemp("view")


def test_a_page_is_served_here_only_and_ctrl_c_ends_it(output: Path) -> None:
    pytest.importorskip("viser", reason="viser is not installed (the `view` extra)")
    model = ROOT / "tests" / "data" / "import" / "five_bar.urdf"
    with viewing(model, "-o", output, "--fast-compile", "-q") as (process, address):
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=30) as page:
            assert b"<html" in page.read().lower()
        port = int(address.rpartition(":")[2])
        if sys.platform == "linux":  # all of 127/8 is this machine: a page for everybody would answer there too
            with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", port), timeout=10):
                pass
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors
        assert (rest, errors.strip()) == ("", "")


def test_a_taken_port_is_told(output: Path) -> None:
    pytest.importorskip("viser", reason="viser is not installed (the `view` extra)")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "slider_crank", "-o", str(output), "--fast-compile", "--no-browser", "--port", port],
            capture_output=True, text=True, timeout=120, check=False, env=ENVIRONMENT,
        )  # fmt: skip
    assert done.returncode == 2
    assert f"Cannot serve on 127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr


def test_without_viser_the_command_says_how_to_get_it_before_it_compiles(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "view", "stewart", "-o", str(tmp_path)],
        capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 1
    assert "pip install 'robocompiler[view]'" in done.stderr
    assert list(tmp_path.iterdir()) == []
