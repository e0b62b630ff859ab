"""The generated solver and `NAME_resolve`: against linear programs, KKT conditions and the Python resolution."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cffi
import numpy as np
import pytest
from c_support import ZIG_CC, run_compiler
from fronts import shipped_front
from mechanics_support import shipped
from numpy.typing import NDArray
from redundancy_support import feasible, irreducible, kkt_miss, random_problem
from test_parameters_dynamics import LOADED, _four_bar, opened

import robocompiler as rc
from robocompiler.backend.emit import emit
from robocompiler.backend.numbers import real_words
from robocompiler.backend.options import Real
from robocompiler.backend.rendering import render
from robocompiler.backend.resolution_view import DEPENDENT, SLACK
from robocompiler.backend.symbols import forbidden_symbols
from robocompiler.backend.toolchain import STRICT
from robocompiler.compiler import run_front_end
from robocompiler.errors import InfeasibleTaskError
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict
from robocompiler.runtime.redundancy.problem import Problem, Solution
from robocompiler.runtime.redundancy.solver import solve

Array = NDArray[np.float64]
rr = rc.redundancy

OK, SMALL_PIVOT, NOT_FINITE, BAD_INDEX, CONFLICT, DEPENDENT_ROWS = 0, 1, 16, 32, 64, 128
D = 6
CXX = ("-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wcast-qual", "-Werror")
needs_solver = pytest.mark.skipif(
    not importlib.util.find_spec("daqp"), reason="daqp, of the control extra, is not installed"
)


class Solver:
    """The generated solver for D speeds, compiled alone."""

    def __init__(self, folder: Path, real: Real) -> None:
        words = SimpleNamespace(
            title="alone", prefix="alone", MACRO="ALONE", np=0, version="test", **real_words(real)
        )  # fmt: skip
        view = SimpleNamespace(
            rows=[], row_enum=[], capacity=40, steps=400, dependent=DEPENDENT[real], slack=SLACK[real]
        )  # fmt: skip
        status = {"OK": 0, "SMALL_PIVOT": 1, "NOT_CONVERGED": 2, "NOT_FINITE": 16, "BAD_INDEX": 32, "NU": D, "NQ": 1}
        (folder / "alone.h").write_text("".join(f"#define ALONE_{name} {value}\n" for name, value in status.items()))
        (folder / "alone_resolution.h").write_text(render("resolution.h.j2", r=words, s=view))
        (folder / "alone_qp.c").write_text(render("qp.c.j2", r=words, s=view))
        library = folder / "alone.so"
        run_compiler(
            ("gcc",), *STRICT, "-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-shared", "-fPIC",
            str(folder / "alone_qp.c"), "-lm", "-o", str(library),
        )  # fmt: skip
        self.ffi = cffi.FFI()
        self.ffi.cdef(f"int alone_qp(int, int, {', '.join([f'{real} *'] * 8)});")
        self.lib = self.ffi.dlopen(str(library))
        self.real, self.dtype = real, np.float64 if real == "double" else np.float32

    def __call__(self, problem: Problem, W: Array, tasks: int | None = None) -> tuple[int, Array, Array, Array]:
        """(status, u, mu, lam)."""
        m, k = len(problem.w) if tasks is None else tasks, len(problem.b)
        given = [
            np.ascontiguousarray(x, dtype=self.dtype)
            for x in (W, problem.c, problem.J, problem.w, problem.A, problem.b)
        ]
        u, multipliers = np.full(D, 777.0, dtype=self.dtype), np.full(max(m + k, 1), 777.0, dtype=self.dtype)
        pointers = [self.ffi.cast(f"{self.real} *", x.ctypes.data) for x in (*given, u, multipliers)]
        status = self.lib.alone_qp(m, k, *pointers)
        found = multipliers.astype(np.float64)
        return int(status), u.astype(np.float64), found[:m], found[m : m + k]


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Solver:
    return Solver(tmp_path_factory.mktemp("double"), "double")


@pytest.fixture(scope="module", params=["double", "float"])
def solver(request: pytest.FixtureRequest, double: Solver, tmp_path_factory: pytest.TempPathFactory) -> Solver:
    return double if request.param == "double" else Solver(tmp_path_factory.mktemp("float"), "float")


@pytest.mark.parametrize("kind", ["loose", "tight"])
def test_thousands_of_feasible_problems_are_solved(solver: Solver, kind: str) -> None:
    """Judged by the conditions of optimality alone.  In single precision they hold to 2e-3, half of them to 1e-6; there
    a metric of condition 1e4 and more, or a task or a feasible set that is thin, may be refused, never missed."""
    random = np.random.default_rng(11)
    single = solver.real == "float"
    misses, pushed, refused = [], 0, 0
    for _ in range(1500):
        problem, W = random_problem(random, kind, D)
        status, u, mu, lam = solver(problem, W)
        if single and status in (SMALL_PIVOT, CONFLICT, DEPENDENT_ROWS):
            refused += 1
            assert status != SMALL_PIVOT or np.linalg.cond(W) > 1e4
            assert status != CONFLICT or kind == "tight"
            continue
        assert status == OK
        misses.append(kkt_miss(problem, W, u, mu, lam))
        pushed += bool(np.any(lam > 0))
    assert max(misses) < (2e-3 if single else 1e-8)
    assert np.median(misses) < (1e-6 if single else 1e-14)
    assert pushed > 700
    assert refused <= 30


@needs_solver
def test_its_minimisers_are_those_of_the_python_resolution(double: Solver) -> None:
    random = np.random.default_rng(12)
    for trial in range(300):
        problem, W = random_problem(random, ("loose", "tight", "any")[trial % 3], D)
        status, u, _, _ = double(problem, W)
        other = solve(problem)
        if isinstance(other, Solution):
            assert status == OK
            np.testing.assert_allclose(u, other.u, atol=1e-8 * (1 + np.abs(u).max()))
        else:
            assert status == CONFLICT


def test_conflicts_are_those_of_the_linear_program(double: Solver) -> None:
    random = np.random.default_rng(13)
    answers = {OK: 0, CONFLICT: 0}
    for _ in range(70):
        problem, W = random_problem(random, "any", D)
        holds, gap = feasible(problem.J, problem.w, problem.A, problem.b)
        if 1e-9 < gap < 1e-6:
            continue  # too close to call for a linear program of that tolerance
        status, u, mu, lam = double(problem, W)
        answers[status] += 1
        assert status == (OK if holds else CONFLICT)
        if status == OK:
            assert kkt_miss(problem, W, u, mu, lam) < 1e-8
            continue
        assert np.all(u == 777.0)
        assert np.all(lam >= 0)
        assert np.abs(mu).sum() + lam.sum() == pytest.approx(1.0)
        size = np.abs(problem.J.T) @ np.abs(mu) + np.abs(problem.A.T) @ lam
        assert np.all(np.abs(problem.J.T @ mu + problem.A.T @ lam) <= 1e-8 * size.max())
        assert problem.w @ mu + problem.b @ lam < 0
        assert irreducible(problem, np.flatnonzero(mu).tolist(), np.flatnonzero(lam).tolist())
    assert min(answers.values()) > 12


def test_what_it_refuses(double: Solver) -> None:
    problem, W = random_problem(np.random.default_rng(14), "loose", D)
    eye = np.eye(D)
    twice = replace(problem, J=np.array([eye[0], eye[1], eye[0] - 2 * eye[1]]), w=np.zeros(3))
    status, _, mu, lam = double(twice, W)
    assert status == DEPENDENT_ROWS
    np.testing.assert_allclose(mu, np.array([1, -2, -1]) / 4, atol=1e-12)
    assert not lam.any()
    assert double(replace(problem, J=np.zeros((1, D)), w=np.ones(1)), W)[0] == DEPENDENT_ROWS
    assert double(problem, W - 2 * np.linalg.eigvalsh(W)[0] * eye)[0] == SMALL_PIVOT
    assert double(problem, 0 * W)[0] == SMALL_PIVOT
    for field in ("c", "J", "w", "A", "b"):
        bad = np.array(getattr(replace(problem, J=eye[:1], w=np.zeros(1), A=eye[:1], b=np.ones(1)), field))
        for value in (np.nan, np.inf):
            bad.flat[0] = value
            given = replace(problem, J=eye[:1], w=np.zeros(1), A=eye[:1], b=np.ones(1))
            assert double(replace(given, **{field: bad}), W)[0] == NOT_FINITE
    assert double(problem, W, tasks=D + 1)[0] == BAD_INDEX
    assert double(problem, W, tasks=-1)[0] == BAD_INDEX


# --- of a robot ---


class Calls:
    """The functions of a robot's resolution header with numpy arrays."""

    def __init__(self, robot: rc.Robot) -> None:
        self.robot, self.lib = robot, robot._library
        self.d = len(robot.independent)
        header = (self.lib.folder / f"{self.lib.prefix}_resolution.h").read_text()
        rows = [line for line in header.splitlines() if f"{self.lib.prefix.upper()}_ROW_" in line]
        self.rows = [line.split("/*")[1].strip(" */") for line in rows]

    def bounds(self, q: Array, step: float, margin: float) -> tuple[int, Array, Array]:
        A, b = self.lib.new(len(self.rows), self.d), self.lib.new(len(self.rows))
        status = self.lib.function("bounds")(self.lib.input(q), step, margin, self.lib.output(A), self.lib.output(b))
        return int(status), A, b

    def task(self, parts: list[tuple[str, int, Array]], q: Array) -> tuple[int, int, Array, Array]:
        """(status, rows, J, w) of (frame, axes, twist) parts."""
        J, w, count = self.lib.new(self.d, self.d), self.lib.new(self.d), np.zeros(1, dtype=np.intc)
        status = 0
        for frame, axes, twist in parts:
            status |= self.lib.function("add_task")(
                self.robot.frames.index(frame), axes, self.lib.input(q), self.lib.input(twist),
                self.lib.integers(count), self.lib.output(J), self.lib.output(w),
            )  # fmt: skip
        return int(status), int(count[0]), J, w

    def feedback(self, frame: str, q: Array, R: Array, p: Array, twist: Array, gain: float) -> Array:
        wanted = self.lib.new(6)
        status = self.lib.function("pose_feedback")(
            self.robot.frames.index(frame), self.lib.input(q), self.lib.input(R), self.lib.input(p),
            self.lib.input(twist), gain, self.lib.output(wanted),
        )  # fmt: skip
        assert status == 0
        return wanted.astype(np.float64)

    def resolve(
        self, name: str, q: Array, n: int, J: Array, w: Array, g: Array | None, step: float, *more: Any
    ) -> tuple[int, Array, Array]:
        u, multipliers = self.lib.new(self.d), self.lib.new(n + len(self.rows))
        status = self.lib.function(name)(
            self.lib.input(q), n, self.lib.input(J), self.lib.input(w),
            self.lib.null if g is None else self.lib.input(g), step, 0.0,
            self.lib.output(u), self.lib.output(multipliers), *more,
        )  # fmt: skip
        return int(status), u.astype(np.float64), multipliers.astype(np.float64)


@pytest.fixture(scope="module")
def resolving(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Calls]:
    folder = tmp_path_factory.mktemp("resolving")
    return lambda name: Calls(rc.compile(shipped(name), output=folder, resolution=True, extra_flags=("-O0",)))


def plain(rows: Iterable[str]) -> set[str]:
    """Rows without their side, a motor's for those of the hip that it turns: both say the same."""
    twins = {"joint hip_left": "port motor_left", "joint hip_right": "port motor_right"}
    return {twins.get(row.rpartition(" ")[0], row.rpartition(" ")[0]) for row in rows}


@needs_solver
def test_a_robot_resolves_in_c_as_in_python(resolving: Callable[[str], Calls]) -> None:
    calls = resolving("five_bar")
    robot, q, h = calls.robot, calls.robot.reference, 0.02
    status, A, b = calls.bounds(q, h, 0.01)
    assert status == OK
    assert calls.rows == [f"{kind} {name} {side}" for kind, name in (
        ("joint", "hip_left"), ("joint", "hip_right"), ("port", "motor_left"), ("port", "motor_right")
    ) for side in ("upper", "lower")]  # fmt: skip
    for one, first in ((rr.JointPositions(h, margin=0.01), 0), (rr.PortDisplacements(h, margin=0.01), 4)):
        rows = one.rows(robot, q)
        order = [0, 2, 1, 3]  # upper and lower side by side here, upper ones first there
        np.testing.assert_allclose(A[first : first + 4], rows.A[order], atol=1e-15)
        np.testing.assert_allclose(b[first : first + 4], np.minimum(rows.b[order], 20.0), rtol=1e-12)
    assert np.all(calls.bounds(q, 0.0, 0.0)[2] == 20.0)
    assert calls.bounds(q, -1.0, 0.0)[0] == NOT_FINITE
    bounds = rr.declared(h)
    preference = rr.StrokeInterior(gain=0.5)
    statuses = set()
    for twist in ([0, 0, 0, 0.5, 0, 0], [0, 0, 0, 0, 0, 3.0], [0, 0, 0, 9.0, 0, 9.0], [0, 0, 0, -4.0, 0, 6.0]):
        for axes, letters in ((8, "x"), (32, "z"), (40, "xz")):
            status, n, J, w = calls.task([("toe", axes, np.array(twist, dtype=float))], q)
            assert (status, n) == (OK, len(letters))
            task = rr.FramePosition("toe", velocity=twist[3:], axes=letters)
            g = preference.gain * preference.gradient(robot, q)
            status, u, multipliers = calls.resolve("resolve", q, n, J, w, g, h)
            statuses.add(status)
            try:
                found = robot.resolve(q, [task], bounds=bounds, preference=preference)
            except InfeasibleTaskError as error:
                assert status == CONFLICT
                ours = {calls.rows[i - n] for i in np.flatnonzero(multipliers) if i >= n}
                theirs = {row.removesuffix(" position").removesuffix(" speed") for row in error.rows}
                assert plain(ours) == plain(row for row in theirs if not row.startswith("toe"))
            else:
                assert status == OK
                np.testing.assert_allclose(u, found.u, atol=1e-9)
            scale = calls.lib.new(1)
            status, u, _ = calls.resolve("resolve_slower", q, n, J, w, g, h, calls.lib.output(scale))
            slower = robot.resolve(q, [task], bounds=bounds, preference=preference, relax=rr.ScaleTask())
            assert status == OK
            assert scale[0] == pytest.approx(slower.scale, abs=1e-9)
            np.testing.assert_allclose(u, slower.u, atol=1e-7)
    assert statuses == {OK, CONFLICT}


@needs_solver
def test_poses_and_more_freedoms_than_rows(resolving: Callable[[str], Calls]) -> None:
    calls = resolving("panda")
    robot = calls.robot
    q = robot.assemble(
        robot.configuration(
            {"joint2": 0.4, "joint4": -1.9, "joint6": 1.8, "finger_joint1": 0.02, "finger_joint2": 0.02}
        )
    )
    R, p = robot.pose("tool", q)
    random = np.random.default_rng(3)
    for trial in range(40):
        turn = random.normal(size=3)
        turn *= (np.pi if trial == 0 else random.uniform(0, 3.1)) / np.linalg.norm(turn)
        K = np.array([[0, -turn[2], turn[1]], [turn[2], 0, -turn[0]], [-turn[1], turn[0], 0]])
        t = np.linalg.norm(turn)
        target = (np.eye(3) + np.sin(t) / t * K + (1 - np.cos(t)) / t**2 * K @ K) @ R, p + 0.1 * random.normal(size=3)
        twist = random.normal(size=6)
        wanted = calls.feedback("tool", q, *target, twist, 1.5)
        task = rr.FramePose("tool", target, velocity=twist, gain=1.5)
        w = task.rows(robot, q).w
        half_turn = trial == 0  # where either sign is right
        np.testing.assert_allclose(
            np.abs(wanted - twist) if half_turn else wanted, np.abs(w - twist) if half_turn else w, atol=1e-7
        )
        found = robot.resolve(q, [task], bounds=rr.declared(0.05), relax=rr.ScaleTask())
        status, n, J, w = calls.task([("tool", 63, wanted if not half_turn else w)], q)
        assert (status, n) == (OK, 6)
        scale = calls.lib.new(1)
        status, u, _ = calls.resolve("resolve_slower", q, n, J, w, None, 0.05, calls.lib.output(scale))
        assert status == OK
        assert scale[0] == pytest.approx(found.scale, abs=1e-9)
        np.testing.assert_allclose(u, found.u, atol=1e-7)
    assert calls.task([("tool", 63, twist), ("hand", 7, twist)], q)[0] == BAD_INDEX
    assert calls.task([("tool", 0, twist)], q)[0] == BAD_INDEX


PENDULUM = {  # neither ports nor limits: no rows at all
    "robocompiler": 1,
    "name": "pendulum",
    "bodies": {"bob": {"mass": 0.5, "com": [0.2, 0.01, 0], "inertia": [0.001, 0.004, 0.005, 0, 0, 0]}},
    "joints": {"pivot": {"type": "revolute", "a": {"body": "world"}, "b": {"body": "bob"}, "axis": [0, 1, 0]}},
}
TEXTS: dict[str, tuple[Callable[[], Mechanism], Real]] = {
    "five_bar_float": (lambda: shipped("five_bar"), "float"),
    "parameters": (lambda: opened("fourbar", _four_bar, LOADED, "loaded_resolution"), "double"),
    "pendulum": (lambda: mechanism_from_dict(PENDULUM), "double"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_strict_c_and_cxx_and_calls_only_libm(name: str, tmp_path: Path) -> None:
    build, real = TEXTS[name]
    emission = emit(run_front_end(build()).program, real, resolution=True)
    for path, text in emission.files.items():
        (tmp_path / path).write_text(text)
    for unit in ("qp", "resolution"):
        source = str(tmp_path / f"{emission.prefix}_{unit}.c")
        run_compiler(("gcc",), *STRICT, "-O2", "-c", source, "-o", str(tmp_path / f"{unit}.o"))
        run_compiler(("gcc",), "-x", "c++", *CXX, "-fsyntax-only", source)
        run_compiler(ZIG_CC, *STRICT, "-O1", "-c", source, "-o", str(tmp_path / f"{unit}_clang.o"))
        found = forbidden_symbols(tmp_path / f"{unit}.o", real)
        assert {symbol for symbol in found if not symbol.startswith(emission.prefix)} == set()


def test_the_text_is_the_same_every_time_and_there_only_when_asked_for() -> None:
    program = shipped_front("fourbar").program
    plain, more = emit(program).files, emit(program, resolution=True).files
    added = {"fourbar_qp.c", "fourbar_resolution.c", "fourbar_resolution.h"}
    assert set(more) - set(plain) == added
    assert more == emit(program, resolution=True).files
    unchanged = set(plain) - {"README.md", "fourbar.cmake", "fourbar_identity.c"}
    assert {path for path in plain if plain[path] == more[path]} >= unchanged


def test_a_robot_without_limits_and_one_in_single_precision(tmp_path: Path) -> None:
    free = Calls(rc.compile(mechanism_from_dict(PENDULUM), output=tmp_path, resolution=True, extra_flags=("-O0",)))
    assert free.rows == []
    status, u, multipliers = free.resolve("resolve", free.robot.reference, 1, np.eye(1), np.array([0.7]), None, 0.1)
    assert (status, u.tolist()) == (OK, [0.7])
    assert multipliers[0] == pytest.approx(-0.7 * float(free.robot.mass_matrix(free.robot.reference)[0, 0]))
    single = Calls(
        rc.compile(shipped("five_bar"), output=tmp_path, real="float", resolution=True, extra_flags=("-O0",))
    )
    q = single.robot.reference
    for twist, wanted in (([0, 0, 0, 0.5, 0, 0.2], OK), ([0, 0, 0, 60.0, 0, 60.0], CONFLICT)):
        status, n, J, w = single.task([("toe", 40, np.array(twist))], q)
        assert (status, n) == (OK, 2)
        status, u, _ = single.resolve("resolve", q, n, J, w, None, 0.02)
        assert status == wanted
        if status == OK:
            np.testing.assert_allclose(single.robot.task_jacobian("toe", q)[[3, 5]] @ u, [0.5, 0.2], atol=2e-6)
