"""Derivatives of the dynamics for many states: the numbers of single calls, which other tests compare with oracles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from c_support import run_compiler
from mechanics_support import random_state, shipped
from test_derivatives_compiled import PENDULUM
from test_parameters_dynamics import LOADED, VALUES, _four_bar, opened

import robocompiler as rc
from robocompiler.backend.emit import emit
from robocompiler.backend.toolchain import STRICT
from robocompiler.compiler import run_front_end
from robocompiler.records.reader import mechanism_from_dict

COUNTS = (1, 4, 37)


def close(found: np.ndarray, wanted: np.ndarray) -> bool:
    """To rounding: the batch fuses products and sums."""
    return bool(np.abs(found - wanted).max(initial=0.0) <= 1e-10 * max(1.0, np.abs(wanted).max(initial=0.0)))


def agree(robot: rc.Robot, count: int) -> bool:
    """Whether both functions over `count` states, some of them equal, give the numbers of single calls."""
    drawn = [random_state(robot, seed)[:2] for seed in range(min(count, 5))]
    Q, U = (np.array([drawn[k % len(drawn)][part] for k in range(count)]) for part in (0, 1))
    random = np.random.default_rng(count)
    F = random.uniform(-3, 3, (count, len(robot.ports)))
    Udot = random.uniform(-3, 3, U.shape)
    forward = robot.batch.forward_dynamics_derivatives(Q, U, F)
    inverse = robot.batch.inverse_dynamics_derivatives(Q, U, Udot)
    pairs = []
    for k in range(count):
        pairs += zip([mine[k] for mine in forward], robot.derivatives.forward_dynamics(Q[k], U[k], F[k]), strict=True)
        pairs += zip(
            [mine[k] for mine in inverse], robot.derivatives.inverse_dynamics(Q[k], U[k], Udot[k]), strict=True
        )
    return len(pairs) == 5 * count and all(close(mine, theirs) for mine, theirs in pairs)


@pytest.fixture(scope="module")
def rssr(tmp_path_factory: pytest.TempPathFactory) -> rc.Robot:
    folder = tmp_path_factory.mktemp("slopes")
    return rc.compile(shipped("rssr"), output=folder, batch=True, derivatives=True, extra_flags=("-O1",))


@pytest.mark.parametrize("count", COUNTS)
def test_ball_joints(rssr: rc.Robot, count: int) -> None:
    assert agree(rssr, count)


def test_run_time_parameters(tmp_path: Path) -> None:
    records = opened("fourbar", _four_bar, LOADED, "loaded_batch")
    robot = rc.compile(records, output=tmp_path, batch=True, derivatives=True, extra_flags=("-O0",))
    assert agree(robot, 9)
    other = robot.with_parameters(VALUES[-1])
    q = other.assemble(other.reference)
    U, F = np.ones((3, len(robot.independent))), np.ones((3, len(robot.ports)))
    found = other.batch.forward_dynamics_derivatives([q] * 3, U, F)
    wanted = other.derivatives.forward_dynamics(q, U[0], F[0])
    assert all(close(mine[2], theirs) for mine, theirs in zip(found, wanted, strict=True))


def test_no_loop_and_no_port(tmp_path: Path) -> None:
    records = mechanism_from_dict(PENDULUM)
    robot = rc.compile(records, output=tmp_path, batch=True, derivatives=True, extra_flags=("-O0",))
    assert agree(robot, 6)
    Q, U = np.array([robot.reference] * 6), np.ones((6, 2))
    assert robot.batch.forward_dynamics_derivatives(Q, U, np.zeros((6, 0)))[2].shape == (6, 2, 0)


def test_threads_and_out(rssr: rc.Robot) -> None:
    count, d, nf = 21, len(rssr.independent), len(rssr.ports)
    q, u, _ = random_state(rssr, 1)
    Q, U, F = np.array([q] * count), np.array([u] * count), np.ones((count, nf))
    wanted = rssr.batch.forward_dynamics_derivatives(Q, U, F, threads=1)
    out = [np.full((count, d, columns), np.nan) for columns in (d, d, 2 * nf)]
    out[2] = out[2][:, :, ::2]
    found = rssr.batch.forward_dynamics_derivatives(Q, U, F, threads=2, out=out)
    assert all(mine is given for mine, given in zip(found, out, strict=True))
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(found, wanted, strict=True))
    with pytest.raises(ValueError, match="out must be 3 arrays, got 2"):
        rssr.batch.forward_dynamics_derivatives(Q, U, F, out=out[:2])
    with pytest.raises(ValueError, match="out must be a float64 array of shape"):
        rssr.batch.forward_dynamics_derivatives(Q, U, F, out=[out[0], out[1], out[0][:1]])
    huge = U.copy()
    huge[20] = 1e200
    with pytest.raises(rc.RankError, match=r"1 of 21 states .* first row 20"):
        rssr.batch.inverse_dynamics_derivatives(Q, huge, U)


def test_without_derivatives_the_error_says_how_to_get_them(tmp_path: Path) -> None:
    robot = rc.compile(shipped("fourbar"), output=tmp_path, batch=True, extra_flags=("-O0",))
    Q, U = [robot.reference], np.ones((1, 1))
    with pytest.raises(rc.LoadError, match=r"derivatives=True\) or robocompile MODEL --batch --derivatives"):
        robot.batch.forward_dynamics_derivatives(Q, U, U)


@pytest.mark.parametrize("real", ["float", "double"])
def test_the_text_is_clean_for_every_instruction_set(real: str, tmp_path: Path) -> None:
    emission = emit(run_front_end(shipped("fourbar")).program, real, batch=True, derivatives=True)  # type: ignore[arg-type]
    for path, text in emission.files.items():
        (tmp_path / path).write_text(text)
    names = [path for path in emission.files if "_lanes_" in path and path.endswith(".c")]
    assert {f"fourbar_lanes_{name}.c" for name in ("derivatives", "slopes_kernel", "slope_trigonometry")} <= set(names)
    sources = [str(tmp_path / path) for path in (*names, "fourbar_batch.c")]
    for flags in ([], ["-DLANES_AVX2", "-mavx2", "-mfma"], ["-DLANES_AVX512", "-mavx512f", "-mfma"]):
        run_compiler(("gcc",), *STRICT, "-Wno-psabi", *flags, "-fsyntax-only", f"-I{tmp_path}", *sources)
