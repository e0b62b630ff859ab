"""Many states in one call: the numbers of single calls, for every count, layout and thread number."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_support import run_compiler
from fronts import shipped_front

import robocompiler as rc
from robocompiler.backend.emit import emit
from robocompiler.backend.toolchain import STRICT

MODELS = Path(__file__).resolve().parent.parent / "models"


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> rc.Robot:
    """Built for this processor: every version keeps its name where the flags allow more than the generic one needs."""
    return rc.compile(MODELS / "rssr.yaml", output=tmp_path_factory.mktemp("batch"), batch=True)


def states(robot: rc.Robot, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Assembled configurations, speeds and efforts."""
    random = np.random.default_rng(seed)
    motor = robot.independent[0]
    middle = robot.joint(robot.reference, motor)
    Q = np.array([
        robot.assemble(robot.configuration({motor: middle + value})) for value in random.uniform(-0.3, 0.3, count)
    ])  # fmt: skip
    U = random.uniform(-2, 2, (count, len(robot.independent)))
    return Q, U, random.uniform(-5, 5, (count, len(robot.ports)))


def close(found: np.ndarray, wanted: np.ndarray) -> bool:
    """To rounding: the batch fuses products and sums."""
    return bool(np.abs(found - wanted).max(initial=0.0) <= 1e-12 * max(1.0, np.abs(wanted).max(initial=0.0)))


@pytest.mark.parametrize("count", [1, 3, 4, 5, 11, 67])
def test_every_function_gives_the_numbers_of_single_calls(robot: rc.Robot, count: int) -> None:
    Q, U, F = states(robot, count)
    tau, Udot = U[::-1] * 0.7, np.cos(U)
    rows = range(count)
    assert close(
        robot.batch.forward_dynamics(Q, U, F), np.array([robot.forward_dynamics(Q[k], U[k], F[k]) for k in rows])
    )
    pushed = robot.batch.forward_dynamics(Q, U, F, tau)
    M = robot.batch.mass_matrix(Q)
    assert close(M, np.array([robot.mass_matrix(Q[k]) for k in rows]))
    assert close(np.einsum("nij,nj->ni", M, pushed - robot.batch.forward_dynamics(Q, U, F)), tau)
    needed = np.array([robot.inverse_dynamics(Q[k], U[k], Udot[k]) for k in rows])
    assert close(robot.batch.inverse_dynamics(Q, U, Udot), needed)
    assert close(robot.batch.bias(Q, U), np.array([robot.bias(Q[k], U[k]) for k in rows]))


def test_layouts_threads_and_out(robot: rc.Robot) -> None:
    Q, U, F = states(robot, 37)
    wanted = robot.batch.forward_dynamics(Q, U, F)
    for threads in (1, 2, 5, 64):
        assert np.array_equal(robot.batch.forward_dynamics(Q, U, F, threads=threads), wanted)
    out = np.full_like(wanted, np.nan)
    assert robot.batch.forward_dynamics(Q, U, F, out=out) is out
    assert np.array_equal(out, wanted)
    wide = np.full((37, 2 * wanted.shape[1]), np.nan)
    robot.batch.forward_dynamics(np.asfortranarray(Q), U.tolist(), F[:, :].copy(order="F"), out=wide[:, ::2])
    assert np.array_equal(wide[:, ::2], wanted)
    assert np.isnan(wide[:, 1::2]).all()
    nothing = robot.batch.forward_dynamics(np.zeros((0, Q.shape[1])), np.zeros((0, U.shape[1])), F[:0])
    assert nothing.shape == (0, U.shape[1])
    assert robot.batch.lanes in (4, 8)


def test_angles_far_out_take_the_library_functions(robot: rc.Robot) -> None:
    """Whole turns change nothing but the rounding of the angle itself."""
    Q, U, F = states(robot, 6)
    column = robot.coordinates.index(robot.independent[0])
    far = Q.copy()
    far[2, column] += 2 * np.pi * 40000  # beyond the range of the generated reduction
    single = np.array([robot.forward_dynamics(far[k], U[k], F[k]) for k in range(6)])
    found = robot.batch.forward_dynamics(far, U, F)
    assert close(found, single)
    assert np.abs(found[2] - robot.forward_dynamics(Q[2], U[2], F[2])).max() < 1e-6 * (1 + np.abs(found[2]).max())


def test_bad_input_is_refused_with_its_row(robot: rc.Robot) -> None:
    Q, U, F = states(robot, 5)
    wrong: list[tuple[Any, Any, Any, str]] = [
        (Q[0], U, F, r"Q must have shape \(N, \d+\)"),
        (Q[:, 1:], U, F, "Q must have shape"),
        (Q, U[:4], F, r"U must have shape \(5, \d+\), got \(4, \d+\)"),
        (Q, U, F[:, :0] if F.shape[1] else np.zeros((5, 3)), "F must have shape"),
    ]
    for q, u, f, message in wrong:
        with pytest.raises(ValueError, match=message):
            robot.batch.forward_dynamics(q, u, f)
    bad = Q.copy()
    bad[3, 0] = np.nan
    with pytest.raises(ValueError, match="Q has entries that are not finite numbers, first in row 3"):
        robot.batch.forward_dynamics(bad, U, F)
    bad[3, 0], bad[1, 0], bad[4, 0] = Q[3, 0], np.inf, -np.inf
    with warnings.catch_warnings(action="error"), pytest.raises(ValueError, match="not finite numbers, first in row 1"):
        robot.batch.forward_dynamics(bad, U, F)
    with pytest.raises(ValueError, match="out must be a float64 array of shape"):
        robot.batch.forward_dynamics(Q, U, F, out=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="threads must be a whole number from 1"):
        robot.batch.mass_matrix(Q, threads=0)
    with pytest.raises(ValueError, match="in the port chart"):
        _ = robot.chart("inner").batch


def test_a_singular_state_is_named(robot: rc.Robot) -> None:
    Q, U, F = states(robot, 9)
    huge = U.copy()
    huge[6] = 1e200  # its square overflows
    with pytest.raises(rc.RankError, match=r"1 of 9 states .* first row 6"):
        robot.batch.forward_dynamics(Q, huge, F)


def test_without_the_option_the_error_says_how_to_get_it(compiled: Callable[[str], rc.Robot]) -> None:
    with pytest.raises(rc.LoadError, match="--batch"):
        _ = compiled("rssr").batch


def test_batches_of_a_portable_build(tmp_path: Path) -> None:
    """The versions for instruction sets have flags of their own, also where the rest keeps to the base."""
    portable = rc.compile(MODELS / "fourbar.yaml", output=tmp_path, batch=True, portable=True, extra_flags=("-O1",))
    Q, U = np.array([portable.reference] * 7), np.linspace(-2, 2, 7)[:, None]
    F = np.ones((7, len(portable.ports)))
    wanted = np.array([portable.forward_dynamics(Q[k], U[k], F[k]) for k in range(7)])
    assert close(portable.batch.forward_dynamics(Q, U, F), wanted)


@pytest.mark.parametrize(("real", "name"), [("float", "fourbar"), ("double", "slider_crank")])
def test_the_text_is_clean_for_every_instruction_set(real: str, name: str, tmp_path: Path) -> None:
    emission = emit(shipped_front(name).program, real, batch=True)  # type: ignore[arg-type]
    for path, text in emission.files.items():
        (tmp_path / path).write_text(text)
    lanes = [str(tmp_path / path) for path in emission.files if "_lanes_" in path and path.endswith(".c")]
    assert len(lanes) >= 8
    for flags in ([], ["-march=native"], ["-DLANES_AVX2", "-mavx2", "-mfma"], ["-DLANES_AVX512", "-mavx512f", "-mfma"]):
        for source in lanes:
            run_compiler(("gcc",), *STRICT, "-Wno-psabi", *flags, "-fsyntax-only", f"-I{tmp_path}", source)
    plain = emit(shipped_front(name).program, real)  # type: ignore[arg-type]
    assert not [path for path in plain.files if "lanes" in path or "batch" in path]
