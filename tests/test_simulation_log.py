"""Logs and results: what is recorded, round trips, interrupts, killed processes, plots and animations."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.errors import MissingPackageError
from robocompiler.runtime.simulation import recorder
from robocompiler.runtime.simulation.log_files import parts_folder

Array = NDArray[np.float64]
sim = rc.simulation
FORMATS = [
    "run.npz",
    pytest.param("run.parquet", marks=pytest.mark.skipif(
        find_spec("pyarrow") is None,
        reason="pyarrow, of the simulate extra, is not installed",
    )),
]  # fmt: skip


@pytest.fixture(scope="module")
def robot(compiled: Callable[[str], rc.Robot]) -> rc.Robot:
    return compiled("fourbar")


def law(t: float, q: Array, u: Array) -> Array:
    return np.array([8.0 * np.sin(9 * t)])


def test_the_log_is_what_the_robot_says(robot: rc.Robot) -> None:
    motion = robot.simulate(0.05, u=[2.0], controller=law, step=5e-3)
    assert motion.log.columns[0].title == "t"
    assert [c.unit for c in motion.log.columns if c.group == "udot"] == ["rad/s^2"]
    assert [(c.title, c.unit) for c in motion.log.columns if c.group in "fl"] == [
        ("f:motor", "N m"),
        ("l:motor", "rad"),
    ]
    assert motion.t == pytest.approx(np.arange(11) * 5e-3, abs=1e-15)
    for k in range(motion.t.size):
        q, u, f = motion.q[k], motion.u[k], motion.f[k]
        assert f == pytest.approx(law(motion.t[k], q, u))
        assert np.array_equal(motion.udot[k], robot.forward_dynamics(q, u, f))
        assert tuple(motion.energy[k]) == robot.energy(q, u)
        assert np.array_equal(motion.l[k], robot.port_displacement(q))
        assert motion.residual[k] == pytest.approx(np.abs(robot.residual(q)).max(), rel=1e-9, abs=1e-18)
    assert motion.z.shape == (11, 0)
    with pytest.raises(ValueError, match="did you mean 'f:motor'"):
        motion.log.column("f:motr")
    with pytest.raises(ValueError, match="no group of columns is called 'x'"):
        motion.log.group("x")


@pytest.mark.parametrize("name", FORMATS)
def test_a_log_reads_back(robot: rc.Robot, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than a block, so that there are several parts; and the parts are gone."""
    file = tmp_path / name
    monkeypatch.setattr(recorder, "BLOCK", 64)
    kept = robot.simulate(0.1, u=[2.0], controller=law, step=1e-3)
    motion = robot.simulate(0.1, u=[2.0], controller=law, step=1e-3, log=file)
    assert kept.t.size == 101
    assert [path.name for path in tmp_path.iterdir()] == [name]
    found = sim.read_log(file)
    assert found.complete
    assert found.columns == kept.log.columns == motion.log.columns
    assert np.array_equal(found.rows, kept.log.rows)
    assert np.array_equal(motion.q, kept.q)
    if name.endswith("npz"):
        with np.load(file) as data:
            assert np.array_equal(data["u:j_ga"], kept.u[:, 0])
            assert json.loads(str(data["columns"]))[0] == {"group": "t", "name": "", "unit": "s"}
    else:
        import pyarrow.parquet

        table = pyarrow.parquet.ParquetFile(file)
        assert table.num_row_groups == 2
        assert table.schema_arrow.field("f:motor").metadata == {b"unit": b"N m"}


def test_fewer_rows_on_request(robot: rc.Robot) -> None:
    motion = robot.simulate(0.05, u=[2.0], step=1e-3, every=20)
    assert motion.t == pytest.approx([0.0, 0.02, 0.04, 0.05], abs=1e-15)
    assert motion.statistics.steps == 50


def test_bad_logs_are_refused(robot: rc.Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"a log is a \.npz or \.parquet file"):
        robot.simulate(0.1, log=tmp_path / "run.csv")
    with pytest.raises(ValueError, match=r"a log is a \.npz or \.parquet file"):
        sim.read_log(tmp_path / "run.csv")
    with pytest.raises(FileNotFoundError):
        sim.read_log(tmp_path / "run.npz")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match="not the log of a simulation"):
        sim.read_log(tmp_path / "other.npz")
    (tmp_path / "run.npz.parts").mkdir()
    with pytest.raises(ValueError, match=r"run\.npz\.parts holds the log of a run that was killed"):
        robot.simulate(0.1, log=tmp_path / "run.npz")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'robocompiler\[simulate\]'"):
        robot.simulate(0.1, log=tmp_path / "run.parquet")
    assert not (tmp_path / "run.parquet.parts").exists()


# --- ends before the end ---


def test_a_keyboard_interrupt_keeps_what_there_is(robot: rc.Robot, tmp_path: Path) -> None:
    """Ctrl-C from within a controller: the signal, and the exception."""

    def signalled(t: float, q: Array, u: Array) -> Array:
        if t > 0.02:
            signal.raise_signal(signal.SIGINT)
        return np.zeros(1)

    motion = robot.simulate(1.0, controller=sim.Sampled(signalled, 0.01), step=1e-3, log=tmp_path / "a.npz")
    assert motion.end.kind == "interrupted"
    assert motion.t[-1] == pytest.approx(0.03, abs=1e-12)
    assert sim.read_log(tmp_path / "a.npz").rows.shape[0] == motion.t.size == 31

    def raised(t: float, q: Array, u: Array) -> Array:
        if t > 0.0202:
            raise KeyboardInterrupt
        return np.zeros(1)

    motion = robot.simulate(1.0, controller=raised, step=1e-3, log=tmp_path / "b.npz")
    assert motion.end.kind == "interrupted"
    assert motion.t[-1] == motion.end.t == pytest.approx(0.02, abs=1e-12)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_log_of_a_controller_that_fails_is_whole(robot: rc.Robot, tmp_path: Path) -> None:
    def failing(t: float, q: Array, u: Array) -> Array:
        if t > 0.0202:
            raise ZeroDivisionError("in the controller")
        return np.zeros(1)

    with pytest.raises(ZeroDivisionError, match="in the controller"):
        robot.simulate(1.0, controller=failing, step=1e-3, log=tmp_path / "run.npz")
    assert sim.read_log(tmp_path / "run.npz").group("t")[-1] == pytest.approx(0.02, abs=1e-12)


KILLED = """
import sys
import robocompiler as rc
from robocompiler.runtime.simulation import recorder
recorder.PATIENCE = 0.05
def told(t, end):
    print("on", flush=True)
rc.load(sys.argv[1]).simulate(1e6, u=[2.0], step=1e-3, log=sys.argv[2], progress=told)
"""


def test_a_killed_run_leaves_what_was_flushed(robot: rc.Robot, build_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    command = [sys.executable, "-c", KILLED, str(build_folder / "fourbar"), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        until = time.monotonic() + 60
        while len(list(parts_folder(file).glob("*.npy"))) < 3 and time.monotonic() < until:
            assert process.stdout.readline() == "on\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    found = sim.read_log(file)
    assert not found.complete
    t = found.group("t")
    assert t.size > 20
    assert np.diff(t) == pytest.approx(1e-3, abs=1e-9)
    assert np.array_equal(found.group("u")[0], [2.0])


def test_an_interrupt_from_outside_ends_a_run_in_order(robot: rc.Robot, build_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    script = KILLED.replace("rc.load", "motion = rc.load") + "print(motion.end.kind, motion.t.size)\n"
    command = [sys.executable, "-c", script, str(build_folder / "fourbar"), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        os.kill(process.pid, signal.SIGINT)
        out = process.communicate(timeout=60)[0].splitlines()[-1].split()
    assert process.returncode == 0
    assert out[0] == "interrupted"
    assert sim.read_log(file).rows.shape[0] == int(out[1]) > 0
    assert not parts_folder(file).exists()


# --- pictures ---


def test_a_plot_shows_every_curve(robot: rc.Robot, tmp_path: Path) -> None:
    motion = robot.simulate(0.7, u=[2.0], controller=law, step=1e-3)
    motion.plot(tmp_path / "run.svg")
    root = ET.fromstring((tmp_path / "run.svg").read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in root.iter(f"{space}text")]
    assert {"port displacement [rad]", "port effort [N m]", "speed [rad/s]", "energy [J]", "total"} <= set(texts)
    lines = [line.attrib["points"].split() for line in root.iter(f"{space}polyline")]
    assert len(lines) == 6
    points = np.array([[float(x) for x in point.split(",")] for point in lines[1]])
    assert 400 < len(points) < 700  # of 701 rows, with their extremes
    frame = next(iter(list(root.iter(f"{space}rect"))[1:2])).attrib
    left, width = float(frame["x"]), float(frame["width"])
    assert points[0, 0] == pytest.approx(left, abs=0.1)
    assert points[-1, 0] == pytest.approx(left + width, abs=0.1)
    t = 0.7 * (points[:, 0] - left) / width
    y = points[:, 1]
    wanted = 8.0 * np.sin(9 * t)
    assert np.corrcoef(-y, wanted)[0, 1] > 0.99999


def test_an_animation_is_a_page_of_its_own(robot: rc.Robot, tmp_path: Path) -> None:
    motion = robot.simulate(0.3, u=[2.0], step=1e-3)
    motion.animate(tmp_path / "run.html", rate=20)
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "")
    assert len(page) < 20_000
    data = json.loads(re.search(r"const data = (\{.*\});", page).group(1))  # type: ignore[union-attr]
    assert len(data["t"]) == len(data["points"]) == 7
    assert data["t"] == pytest.approx(np.linspace(0, 0.3, 7).tolist(), abs=1e-3)
    names = data["names"]
    assert sorted(names) == ["coupler", "crank", "rocker", "world"]
    assert {tuple(sorted((names[a], names[b]))) for a, b in data["edges"]} == {
        ("crank", "world"), ("coupler", "crank"), ("coupler", "rocker"), ("rocker", "world"),
    }  # fmt: skip
    points = np.array(data["points"][-1]).reshape(-1, 3)
    _, p = robot.pose("coupler", motion.q[-1])
    assert points[names.index("coupler")] == pytest.approx(p, abs=1e-4)
    with pytest.raises(ValueError, match="rate must be a positive number"):
        motion.animate(tmp_path / "run.html", rate=0.0)


def test_progress_is_told(robot: rc.Robot) -> None:
    told: list[tuple[float, float]] = []
    robot.simulate(3.0, u=[2.0], step=1e-3, every=1000, progress=lambda t, end: told.append((t, end)))
    assert told
    assert all(0 <= t < 3.0 and end == 3.0 for t, end in told)
    assert [t for t, _ in told] == sorted(t for t, _ in told)
