"""Single precision: no double anywhere, a Cortex-M7, and results as near as single precision allows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from c_support import ZIG_CC, run_compiler
from test_c_output import emitted, run_selftest, sources

import robocompiler as rc
from robocompiler.backend.symbols import forbidden_symbols
from robocompiler.backend.toolchain import STRICT
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"
CORTEX_M7 = ("-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m7+vfp4d16sp", "-nostdlib", "-r")
TARGET_MATH_H = "".join(
    f"{real} {name}{suffix}({arguments.replace('T', real)});\n"
    for real, suffix in (("float", "f"), ("double", ""))
    for name, arguments in [(n, "T") for n in ("sin", "cos", "acos", "sqrt", "fabs")]
    + [(n, "T, T") for n in ("fmax", "fmin", "atan2")]
)


@pytest.mark.parametrize("name", ["fourbar", "rssr"])
def test_float_code_cross_compiles_without_any_double(name: str, tmp_path: Path) -> None:
    folder = emitted(read_mechanism(MODELS / f"{name}.yaml"), tmp_path, "float")
    for path in [*folder.glob("*.c"), *folder.glob("*.h")]:
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        assert "double" not in code, path.name
        assert re.findall(r"\b\d+\.\d*(?:e[-+]?\d+)?(?![\dfe.])", code) == [], path.name
    # a bare target brings no headers; both precisions are declared, so that a wrong call compiles and is then seen
    include, product = tmp_path / "include", tmp_path / "all.o"
    include.mkdir()
    (include / "math.h").write_text(TARGET_MATH_H)
    units = [path for path in sources(folder) if not path.endswith("selftest.c")]
    flags = (*STRICT, "-O1", "-fno-sanitize=undefined", f"-I{include}", f"-I{folder}")
    run_compiler(ZIG_CC, *CORTEX_M7, *flags, *units, "-o", str(product))
    # without a double unit every double operation is a call: none is left
    assert forbidden_symbols(product, "float") == set()


def test_the_float_self_test_of_a_platform_passes(tmp_path: Path) -> None:
    folder = emitted(read_mechanism(MODELS / "stewart.yaml"), tmp_path, "float")
    program = tmp_path / "selftest"
    run_compiler(("gcc",), *STRICT, "-O0", f"-I{folder}", *sources(folder), "-lm", "-o", str(program))
    assert run_selftest(program) == "stewart: 0 failures (exit 0)"


def test_a_float_robot_agrees_with_the_double_one(compiled: Callable[[str], rc.Robot], tmp_path: Path) -> None:
    exact = compiled("rssr")
    single = rc.compile(MODELS / "rssr.yaml", output=tmp_path, real="float", extra_flags=("-O0",))
    assert forbidden_symbols(tmp_path / "rssr" / "librssr.so", "float") == set()
    assert single.reference.dtype == np.float64
    motor = exact.independent[0]
    rng = np.random.default_rng(2)
    for value in exact.joint(exact.reference, motor) + rng.uniform(-0.2, 0.2, 20):
        q = exact.assemble(exact.configuration({motor: value}))
        q_single = single.assemble(single.configuration({motor: value}))
        np.testing.assert_allclose(q_single, q, atol=1e-5)
        np.testing.assert_allclose(single.lift(q), exact.lift(q), atol=1e-5, rtol=1e-5)
        np.testing.assert_allclose(single.residual(q), exact.residual(q), atol=1e-5)
        np.testing.assert_allclose(single.closure_jacobian(q), exact.closure_jacobian(q), atol=1e-5)
        frame = exact.frames[-1]
        for ours, theirs in zip(single.pose(frame, q), exact.pose(frame, q), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
        np.testing.assert_allclose(single.task_jacobian(frame, q), exact.task_jacobian(frame, q), atol=1e-5)
    assert single.lift(q).dtype == np.float64
    # it really is single precision
    assert np.abs(single.lift(q) - exact.lift(q)).max() > 1e-12
