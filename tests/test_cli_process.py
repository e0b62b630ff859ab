"""The command as a process of its own: compiles, broken pipes, interrupts, terminals of any width."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import robocompiler as rc

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
COMMAND = [sys.executable, "-m", "robocompiler.cli"]


def run(*arguments: str | Path, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **options},
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A copy of the four-bar, compiled once into the folder beside it."""
    folder = tmp_path_factory.mktemp("cli")
    model = folder / "fourbar.yaml"
    model.write_text((MODELS / "fourbar.yaml").read_text())
    return model, run(model, "-o", folder / "out", "--fast-compile")


def test_a_compile_shows_what_was_decided_and_done(first: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    model, done = first
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for fact in (
        "joints 4 revolute",
        "chords 1 revolute",
        "rank 2 of 5 rows and 3 columns",
        "freedoms 1: j_ga",
        "port chart 1 loop module of 2 dependents",
        "inner chart 1 loop module of 2 dependents",
    ):
        assert fact in text
    assert re.search(r"units \d+ of \d+ compiled", text)
    assert re.search(r"seconds [\d.]+: read", text)
    assert re.search(r"^compile +module_0: first build", done.stderr, re.M)
    assert rc.load(model.parent / "out" / "fourbar").name == "fourbar"


def test_a_second_compile_reuses_and_a_change_is_named(
    first: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    model, _ = first
    output = model.parent / "out"
    again = run(model, "-o", output, "--fast-compile", "--json")
    build = json.loads(again.stdout)["build"]
    assert not any(unit["compiled"] for unit in build["units"])
    assert build["changed"] == []
    assert len(build["units"]) > 10
    assert again.stderr == ""  # nothing was done, so there is no progress to show

    text = model.read_text()
    model.write_text(text.replace("b: {body: world, xyz: [0.9,", "b: {body: world, xyz: [0.91,"))
    changed = run(model, "-o", output, "--fast-compile")
    model.write_text(text)
    assert changed.returncode == 0, changed.stderr
    assert re.search(r"^compile +module_0: joints\.j_cg\.b changed", changed.stderr, re.M)


def test_the_json_report_has_its_documented_keys(tmp_path: Path) -> None:
    done = run("fourbar", "--emit-only", "-o", tmp_path, "--json")
    report = json.loads(done.stdout)
    documented = (ROOT / "docs" / "command-line.md").read_text()
    assert set(report) == set(re.findall(r"^\| `(\w+)` \|", documented, re.M)) - {"chords", "singular_values", "ir"}
    assert report["graph"]["chords"] == {"total": 1, "kept": 0, "by_type": {"revolute": 1}}
    assert report["rank"]["freedoms"] == 1
    assert report["rank"]["gap"] is None or report["rank"]["gap"] > 1e9
    operations = report["operations"]
    assert sum(operations["kernels"].values()) == operations["total"] == sum(operations["units"].values())
    assert report["seconds"]["total"] > 0


def test_inspect_json_adds_chords_and_singular_values() -> None:
    report = json.loads(run("inspect", "fourbar", "--json", "--ir", "integrate").stdout)
    (chord,) = report["chords"]
    assert (chord["joint"], chord["cut"], chord["rows"], chord["length"]) == ("j_bc", True, 5, 3)
    assert [step["up"] for step in chord["path"]] == [True, True, False]
    assert len(report["singular_values"]["last_kept"]) == report["rank"]["rank"] == 2
    (kernel,) = report["ir"]
    assert kernel["name"] == "integrate"
    assert [entry["name"] for entry in kernel["inputs"]] == ["q", "v"]
    assert any(line.startswith("q_moved[0] = a") for line in kernel["instructions"])


def test_kangaroo_at_a_glance(tmp_path: Path) -> None:
    done = run("inspect", "kangaroo", "--svg", tmp_path / "kangaroo.svg", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "bodies 78 in 1 floating component" in text
    assert "chords 24: 16 spherical, 8 universal" in text
    assert "freedoms 18: base_link_free (6), leg_left_1_motor" in text
    assert "port chart 6 loop modules of 2 × 22 + 2 × 8 + 2 × 2 dependents" in text
    gap = re.search(r"rank 64 of 80 rows and 82 columns; gap (\S+) \(smallest kept \S+, largest dropped \S+\)", text)
    assert gap and float(gap[1]) > 1e9
    assert "singular values at the gap" in text
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "module_5: 2 dependents" in (tmp_path / "kangaroo.svg").read_text()


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    process = subprocess.Popen(
        [*COMMAND, "inspect", str(MODELS / "parallel_ankle.yaml"), "--quiet", "--ir"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), said) == (141, b"")


def test_work_goes_on_when_nobody_reads_the_progress(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "fourbar", "--emit-only", "-o", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None and process.stderr is not None
    process.stderr.close()
    said = process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert b"none compiled" in said


def test_an_interrupt_says_that_nothing_is_lost(tmp_path: Path) -> None:
    compiler = tmp_path / "slow_cc.py"
    compiler.write_text(
        "import sys, time\n"
        "if '-c' in sys.argv:\n"
        f"    open({str(tmp_path / 'started')!r}, 'w').close()\n"
        "    time.sleep(60)\n"
        "print('slow 1.0')\n"
    )
    process = subprocess.Popen(
        [*COMMAND, "fourbar", "-o", str(tmp_path / "out"), "--cc", f"{sys.executable} {compiler}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    limit = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Nothing is lost" in said
    assert "Traceback" not in said


def test_a_terminal_gets_colours_unless_it_refuses_them() -> None:
    coloured, plain = on_terminal("inspect", "fourbar"), on_terminal("inspect", "fourbar", NO_COLOR="1")
    assert "\x1b[1;36mfourbar" in coloured
    assert "\x1b[1m4\x1b[0m revolute\r\n" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain)
    assert "reduce   rank 2, 1 freedoms" in plain


def on_terminal(*arguments: str, **options: str) -> str:
    """What the command writes when both its outputs are one terminal."""
    master, slave = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **options}
    process = subprocess.Popen([*COMMAND, *arguments], stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    parts = []
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux reports the end of a terminal as an error
            break
        if not part:
            break
        parts.append(part)
    os.close(master)
    assert process.wait(timeout=60) == 0
    return b"".join(parts).decode()


def test_the_shim_at_the_top_is_the_command() -> None:
    shim = [sys.executable, str(ROOT / "cli.py"), "--version"]
    done = subprocess.run(shim, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, f"robocompile, version {rc.__version__}\n")
