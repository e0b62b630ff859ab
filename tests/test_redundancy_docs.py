"""The code of docs/redundancy.md runs, and its C does what its Python does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from mechanics_support import shipped
from test_documents import block, run

from robocompiler.backend.emit import emit
from robocompiler.backend.toolchain import STRICT, find_toolchain
from robocompiler.compiler import run_front_end
from robocompiler.runtime.redundancy import FramePosition, JointInterior, ScaleTask, declared

needs_solver = pytest.mark.skipif(
    not importlib.util.find_spec("daqp"), reason="daqp, of the control extra, is not installed"
)
PAGE = "docs/redundancy.md"


@needs_solver
def test_the_worked_example_raises_the_hook_and_names_a_conflict(compiled, build_folder: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    robot = compiled("crane")
    wanted = 'rc.compile("models/crane.yaml")'
    python = block(PAGE, "python") + block(PAGE, "python", 1)
    assert wanted in python
    loaded = python.replace(wanted, f"rc.load({str(build_folder / 'crane')!r})")  # the suite has compiled it already
    first, second = run([sys.executable, "-c", loaded], tmp_path).splitlines()
    rise, scale, phi = map(float, first.split())
    assert rise == pytest.approx(1.2, abs=1e-4)
    assert scale == 1.0
    assert phi < JointInterior().value(robot, robot.reference) + 0.5  # higher up the boom is nearer to its end
    assert second == "('hook z', 'joint stroke upper speed', 'joint extension upper speed')"


def test_the_c_example_does_what_the_python_does(compiled, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = _emitted(tmp_path)
    (tmp_path / "example.c").write_text(block(PAGE, "c"))
    sources = [str(path) for path in sorted(folder.glob("crane_*.c"))]
    compiler = list(find_toolchain().command)
    run([*compiler, *STRICT, "-O0", f"-I{folder}", "example.c", *sources, "-lm", "-o", "example"], tmp_path)
    rise, reach, scale = map(float, run([str(tmp_path / "example")], tmp_path).split())

    robot = compiled("crane")
    q, step = robot.reference, 0.02
    start = robot.pose("hook", q)[1]
    for k in range(200):
        lift = FramePosition("hook", start + np.array([0, 0, 0.3 * k * step]), velocity=[0, 0, 0.3], gain=5.0, axes="z")
        q = robot.advance(q, robot.resolve(q, [lift], bounds=declared(step, margin=1e-3), relax=ScaleTask()).u, step)
    found = robot.pose("hook", q)[1] - start
    np.testing.assert_allclose([rise, reach], found[[2, 0]], atol=2e-9)
    assert rise == pytest.approx(1.2, abs=1e-4)
    assert scale == 1.0


def _emitted(folder: Path) -> Path:
    """The crane's sources with its resolution."""
    emission = emit(run_front_end(shipped("crane")).program, resolution=True)
    target = folder / "crane"
    target.mkdir()
    for name, text in emission.files.items():
        (target / name).write_text(text)
    return target
