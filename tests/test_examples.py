"""The programs of examples/: they build, run, and are right by geometry, statics and integration."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as cs
import cffi
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import robocompiler as rc

Array = NDArray[np.float64]
Get = Callable[[str], rc.Robot]
ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
FORCE = np.array((0.0, 20.0, 0.0))  # N, what pushes the platform
STIFFNESS = 4e4  # N/m


def make(example: str, robot: Path, out: Path, *variables: str) -> Path:
    """Build an example against a compiled robot; the folder of what it made."""
    out.mkdir(parents=True, exist_ok=True)
    command = ["make", "-s", "-C", str(EXAMPLES / example), f"ROBOT={robot}", f"OUT={out}", *variables]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return out


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(printed: str, name: str) -> Array:
    """The numbers behind a word at the start of a line."""
    (line,) = re.findall(rf"^{name} (.*)$", printed, re.MULTILINE)
    return np.array([float(word) for word in re.findall(r"[-\d.]+(?:e[-+]\d+)?", line)])


# --- the control loops ---


@pytest.fixture(scope="session")
def controllers(compiled: Get, build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The control loops of both languages as programs."""
    compiled("stewart")
    out = tmp_path_factory.mktemp("examples")
    made = {kind: make(f"control_loop_{kind}", build_folder / "stewart", out / kind) for kind in ("c", "cpp")}
    return {kind: str(folder / "control") for kind, folder in made.items()}


def wanted_pose(t: float) -> tuple[Array, Array]:
    """The platform's pose at time t: two turns of a phase, from rest to rest in four seconds."""
    s = min(t / 4.0, 1.0)
    phase = 4 * np.pi * (10 * s**3 - 15 * s**4 + 6 * s**5)
    R = Rotation.from_rotvec(0.15 * np.sin(phase) * np.array((2, 3, 6)) / 7).as_matrix()
    return R, np.array((0.05 * np.sin(phase), 0.04 * np.sin(2 * phase), 0.6 + 0.02 * np.sin(3 * phase)))


def leg_lengths(R: Array, p: Array) -> Array:
    """Distances between the anchors of every leg, which is what its length is (six-UPS)."""
    joints = yaml.safe_load((ROOT / "models" / "stewart.yaml").read_text())["joints"]
    ground = np.array([joints[f"leg_{k}_u_x"]["a"]["xyz"] for k in range(6)])
    ball = np.array([joints[f"leg_{k}_ball"]["b" if joints[f"leg_{k}_ball"]["b"]["body"] == "platform" else "a"]["xyz"]
                     for k in range(6)])  # fmt: skip
    return np.linalg.norm(ball @ R.T + p - ground, axis=1)


def test_the_legs_realise_the_platforms_pose(controllers: dict[str, str]) -> None:
    for cycles in (1, 701, 1801, 2601):
        printed = run(controllers["c"], "--no-wait", "--cycles", str(cycles))
        expected = leg_lengths(*wanted_pose((cycles - 1) * 1e-3))
        np.testing.assert_allclose(numbers(printed, "wanted"), expected, atol=2e-12)


def test_the_loop_tracks_and_comes_to_rest_where_the_forces_balance(controllers: dict[str, str], compiled: Get) -> None:
    printed = run(controllers["c"], "--no-wait", "--cycles", "6000")
    (worst,) = re.findall(r"worst tracking error (\S+) m", printed)
    assert float(worst) < 6e-4  # all of it the push that the controller does not know
    blind = run(controllers["c"], "--no-wait", "--no-feedforward", "--cycles", "6000")
    (without,) = re.findall(r"worst tracking error (\S+) m", blind)
    assert float(without) > 5 * float(worst)

    robot = compiled("stewart")
    wanted, actual = numbers(printed, "wanted"), numbers(printed, "actual")
    q = robot.assemble(robot.configuration({f"leg_{k}_length": actual[k] for k in range(6)}))
    rest = np.zeros(6)
    push = robot.task_jacobian("platform", q)[3:].T @ FORCE
    efforts = robot.bias(robot.reference, rest) + STIFFNESS * (wanted - actual)
    np.testing.assert_allclose(efforts + push, robot.bias(q, rest), atol=1e-5)  # N; they differ by 4 N without the push
    assert np.abs(push).max() > 2


def test_both_languages_do_the_same(controllers: dict[str, str]) -> None:
    printed = [run(controllers[kind], "--no-wait", "--cycles", "1500") for kind in ("c", "cpp")]
    for name in ("wanted", "actual", "worst"):
        np.testing.assert_allclose(*(numbers(text, name) for text in printed), atol=1e-11)


@pytest.mark.parametrize("kind", ["c", "cpp"])
def test_the_loop_keeps_its_period_and_tells_its_times(controllers: dict[str, str], kind: str) -> None:
    begin = time.monotonic()
    printed = run(controllers[kind], "--cycles", "150")
    assert time.monotonic() - begin > 0.149  # a busy machine may take longer, none may take less
    median, worst = map(float, re.findall(r"median ([\d.]+) us, worst ([\d.]+) us of 1000 us", printed)[0])
    assert 0 < median <= worst
    refused = subprocess.run([controllers[kind], "--cycles", "none"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and refused.stderr.startswith("usage: ")


# --- the external function ---


@pytest.fixture(scope="session")
def leg(compiled: Get) -> rc.Robot:
    """The five-bar with derivatives."""
    return compiled("five_bar")


@pytest.fixture(scope="session")
def library(leg: rc.Robot, build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The external function for CasADi."""
    out = make("external_function", build_folder / "five_bar", tmp_path_factory.mktemp("external"))
    return out / "libfive_bar_ode.so"


STATE = np.array((-2.45, -0.62, 1.3, -2.1))
TORQUES = np.array((0.21, -0.34))


def rates(robot: rc.Robot, x: Array, f: Array) -> Array:
    """xdot by the Python interface, the loop closed by `assemble`."""
    q = robot.assemble(robot.configuration(dict(zip(robot.independent, x[:2].tolist(), strict=True))))
    return np.concatenate((x[2:], robot.forward_dynamics(q, x[2:], f)))


def test_casadi_loads_the_function_and_its_derivatives(leg: rc.Robot, library: Path) -> None:
    ode = cs.external("five_bar_ode", str(library))
    np.testing.assert_allclose(np.array(ode(STATE, TORQUES)).ravel(), rates(leg, STATE, TORQUES), rtol=1e-10)
    x, f = cs.MX.sym("x", 4), cs.MX.sym("f", 2)
    jacobian = cs.Function("J", [x, f], [cs.jacobian(ode(x, f), x), cs.jacobian(ode(x, f), f)])
    A, B = (np.array(matrix) for matrix in jacobian(STATE, TORQUES))
    h = 1e-5
    for found, around in ((A, lambda d: rates(leg, STATE + d, TORQUES)), (B, lambda d: rates(leg, STATE, TORQUES + d))):
        columns = [(around(d) - around(-d)) / (2 * h) for d in h * np.eye(found.shape[1])]
        np.testing.assert_allclose(found, np.array(columns).T, atol=1e-6)
    assert np.abs(A[2:, :2]).min() > 0.1  # nothing of it is trivially zero
    with pytest.raises(RuntimeError):
        ode(np.array((0.6, -0.6, 0.0, 0.0)), TORQUES)  # beyond the limit of hip_left


def test_acados_finds_its_forward_sensitivities(
    leg: rc.Robot, library: Path, build_folder: Path, tmp_path: Path
) -> None:
    """As acados calls it: int for all counts, dense matrices by columns, sizes from the sparsities."""
    del library  # built first, so that the two builds do not meet
    out = make("external_function", build_folder / "five_bar", tmp_path, "INDEX=int")
    ffi = cffi.FFI()
    name = "five_bar_vde_forw"
    ffi.cdef(f"int {name}(const double **, double **, int *, double *, void *); int {name}_n_in(void);")
    ffi.cdef(f"int {name}_n_out(void); const int *{name}_sparsity_in(int); const int *{name}_sparsity_out(int);")
    ffi.cdef(f"int {name}_work(int *, int *, int *, int *);")
    lib: Any = ffi.dlopen(str(out / "libfive_bar_ode.so"))
    assert (lib.five_bar_vde_forw_n_in(), lib.five_bar_vde_forw_n_out()) == (4, 3)
    shapes = [tuple(lib.five_bar_vde_forw_sparsity_in(k)[0:3]) for k in range(4)]
    assert shapes == [(4, 1, 1), (4, 4, 1), (4, 2, 1), (2, 1, 1)]
    assert lib.five_bar_vde_forw_sparsity_in(4) == ffi.NULL
    outputs = [np.zeros(tuple(lib.five_bar_vde_forw_sparsity_out(k)[0:2]), order="F") for k in range(3)]
    sizes = [ffi.new("int *") for _ in range(4)]
    assert lib.five_bar_vde_forw_work(*sizes) == 0 and [size[0] for size in sizes] == [4, 3, 0, 0]

    random = np.random.default_rng(9)
    Sx, Sf = (np.asfortranarray(random.normal(size=size)) for size in ((4, 4), (4, 2)))
    inputs = [STATE, Sx, Sf, TORQUES]
    arg, res = (ffi.new("double *[]", [ffi.cast("double *", a.ctypes.data) for a in p]) for p in (inputs, outputs))
    null = ffi.NULL
    assert lib.five_bar_vde_forw(ffi.cast("const double **", arg), res, null, null, null) == 0
    q = leg.assemble(leg.configuration(dict(zip(leg.independent, STATE[:2].tolist(), strict=True))))
    by_s, by_u, by_f = leg.derivatives.forward_dynamics(q, STATE[2:], TORQUES)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [by_s, by_u]])
    B = np.vstack((np.zeros((2, 2)), by_f))
    np.testing.assert_allclose(outputs[0].ravel(), rates(leg, STATE, TORQUES), rtol=1e-10)
    np.testing.assert_allclose(outputs[1], A @ Sx, rtol=1e-9)
    np.testing.assert_allclose(outputs[2], A @ Sf + B, rtol=1e-9)


def test_the_swing_is_a_motion_of_the_leg_and_cheaper_than_a_smooth_one(leg: rc.Robot, library: Path) -> None:
    script = EXAMPLES / "external_function" / "swing.py"
    found = json.loads(run(sys.executable, str(script), str(library)))
    states, efforts = np.array(found["states"]), np.array(found["efforts"])
    h = 0.2 / len(efforts)
    x = states[0]
    for f in efforts:  # an adaptive integrator, the loop closed by `assemble`
        x = solve_ivp(lambda _, y, f=f: rates(leg, y, f), (0, h), x, method="DOP853", rtol=1e-9, atol=1e-10).y[:, -1]
    np.testing.assert_allclose(x, states[-1], atol=1e-4)
    np.testing.assert_allclose(states[-1], (-2.55, -0.85, 0, 0), atol=1e-8)
    assert np.abs(efforts).max() == pytest.approx(0.3, abs=1e-6)  # the limit binds
    assert found["cost"] == pytest.approx(h * float(np.sum(efforts**2)))
    assert found["cost"] < 0.95 * smooth_cost(leg, states[0, :2], states[-1, :2])


def smooth_cost(robot: rc.Robot, begin: Array, end: Array) -> float:
    """Integral of squared efforts along the quintic between two rests, by inverse dynamics."""
    T, total, count = 0.2, 0.0, 200
    for s in (np.arange(count) + 0.5) / count:
        way, rate, bend = 10 * s**3 - 15 * s**4 + 6 * s**5, 30 * (s * (1 - s)) ** 2, 60 * s * (1 - s) * (1 - 2 * s)
        angles = begin + way * (end - begin)
        q = robot.assemble(robot.configuration(dict(zip(robot.independent, angles.tolist(), strict=True))))
        tau = robot.inverse_dynamics(q, rate / T * (end - begin), bend / T**2 * (end - begin))
        total += float(np.sum(robot.port_efforts(q, tau) ** 2)) * T / count
    return total


# --- the pages ---


@pytest.mark.parametrize("example", ["control_loop_c", "control_loop_cpp", "external_function"])
def test_every_example_says_what_it_is_and_how_it_is_built(example: str) -> None:
    lines = (EXAMPLES / example / "README.md").read_text(encoding="utf-8").splitlines()
    assert 8 <= len(lines) <= 40
    commands = "\n".join(lines)
    assert "robocompile models/" in commands and "make" in commands
    for name in re.findall(r"`([\w./]+\.(?:c|h|cpp|hpp|py))`", commands):
        assert (EXAMPLES / example / name).is_file(), name
    assert f"examples/{example}" in (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
