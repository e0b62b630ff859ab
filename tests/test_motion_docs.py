"""The examples of docs/motion.md, and the generated motion layer by itself: in C, under strict warnings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from test_documents import ROOT, block, build_and_run, run

import robocompiler as rc
from robocompiler.backend.toolchain import STRICT

CXX = ("-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wcast-qual", "-Werror")


def test_the_c_example_runs_and_agrees_with_the_assembler(tmp_path: Path, compiled: Callable[[str], rc.Robot]) -> None:
    printed = build_and_run(block("docs/motion.md", "c"), ROOT / "generated" / "fourbar", tmp_path).split()
    robot = compiled("fourbar")
    q = robot.assemble(robot.configuration({"j_ga": robot.joint(robot.reference, "j_ga") + 1.0}))
    assert abs(float(printed[0]) - robot.joint(q, "j_cg")) < 1e-11
    assert float(printed[1]) < 1e-12
    assert abs(float(printed[2]) - robot.lift(q)[robot.velocities.index("j_cg"), 0]) < 1e-10


CHECKS = """
import numpy as np
assert report.ok and report.moved and report.skipped
np.testing.assert_allclose(E, robot.lift(q), atol=1e-10)
np.testing.assert_array_equal(M, robot.mass_matrix(q))
assert path.reached or path.stop is not None
assert result.complete or result.stop is not None
"""


def test_the_python_examples_run(compiled: Callable[[str], rc.Robot], build_folder: Path) -> None:
    compiled("excavator")
    compile_line = 'robot = rc.compile("models/excavator.yaml", output="build")\n'
    first, second = (block("docs/motion.md", "python", k) for k in (0, 1))
    assert compile_line in first
    load = f"robot = rc.load({str(build_folder / 'excavator')!r})\n"
    run([sys.executable, "-c", first.replace(compile_line, load) + second + CHECKS], ROOT)


def test_the_motion_unit_is_clean_in_all_optimisation_levels_and_as_cxx(tmp_path: Path) -> None:
    folder = ROOT / "generated" / "fourbar"
    unit = str(folder / "fourbar_motion.c")
    for command in (
        *[("gcc", *STRICT, level) for level in ("-O1", "-O2", "-O3")],
        ("g++", "-x", "c++", *CXX),
    ):
        done = subprocess.run(
            [*command, f"-I{folder}", "-c", unit, "-o", str(tmp_path / "unit.o")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
