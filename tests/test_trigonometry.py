"""The shared sines and cosines of the generated C: within one unit in the last place of exact values, everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi
import cffi
import mpmath
import numpy as np
import pytest
from c_support import host_toolchain, make_kernel, native_toolchain
from fronts import shipped_front

from robocompiler.backend.emit import emit
from robocompiler.backend.routine import Routine
from robocompiler.backend.sharing import share_reciprocals, share_trigonometry
from robocompiler.backend.straight_line import Operation
from robocompiler.backend.toolchain import CompileJob, compile_objects, link_shared

MODEL = Path(__file__).resolve().parent.parent / "models" / "fourbar.yaml"
Angles = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


BUILDS = ("portable", "native", "plain", "lanes")
NO_VECTORS = ("-U__SSE2__", "-U__aarch64__")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Angles]:
    """library('float', 'native') evaluates sine and cosine of any angles by the four-bar's generated code.

    'native' is compiled as users get it, 'portable' without fused products, 'plain' as by a compiler without vectors,
    'lanes' is the code of batches with the flags of a native build.
    """
    program = shipped_front("fourbar").program

    def build(real: str, kind: str) -> Angles:
        folder = tmp_path_factory.mktemp(real)
        emission = emit(program, real, batch=kind == "lanes")  # type: ignore[arg-type]
        for path, text in emission.files.items():
            (folder / path).write_text(text)
        source = folder / f"fourbar_{'lanes_trigonometry' if kind == 'lanes' else 'turns'}.c"
        own, shared = folder / "t.o", folder / "t.so"
        toolchain = native_toolchain() if kind in ("native", "lanes") else host_toolchain()
        flags = ("-Wno-psabi", *(NO_VECTORS if kind == "plain" else ()))
        compile_objects([CompileJob("t", source, own, flags=flags)], toolchain)
        link_shared([own], shared, toolchain)
        ffi = cffi.FFI()
        ffi.cdef(f"void fourbar_turns(int n, const {real} *x, {real} *t);")
        ffi.cdef(f"void fourbar_trigonometry_generic(const {real} *q, {real} *t);")
        c: Any = ffi.dlopen(str(shared))
        kind_of = np.float64 if real == "double" else np.float32
        if kind != "lanes":
            return lambda x: _turned(x.astype(kind_of), c.fourbar_turns, ffi)
        count = int(re.search(r"NT = (\d+)", source.read_text())[1])  # type: ignore[index]
        function, width = c.fourbar_trigonometry_generic, 32 // np.dtype(kind_of).itemsize
        return lambda x: _evaluate(x.astype(kind_of), function, ffi, program.closures.topology.nq, count, width)

    return build


def _turned(x: np.ndarray, function: Any, ffi: Any) -> tuple[np.ndarray, np.ndarray]:
    """Sines and cosines of x, whose length is seldom a whole number of vectors."""
    real = "double" if x.dtype == np.float64 else "float"
    t = np.full(2 * len(x) + 1, np.nan, dtype=x.dtype)
    function(len(x), ffi.cast(f"{real} *", x.ctypes.data), ffi.cast(f"{real} *", t.ctypes.data))
    assert np.isnan(t[-1]), "written beyond the end"
    return t[: len(x)], t[len(x) : -1]


def _evaluate(x: np.ndarray, function: Any, ffi: Any, nq: int, count: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Sines and cosines of x, `width` at a time: the first angle's, which is the first coordinate."""
    padded = np.concatenate([x, np.zeros(-len(x) % width, dtype=x.dtype)]).reshape(-1, width)
    results = []
    q, t = (_aligned((size, width), x.dtype) for size in (nq, 2 * count))
    real = "double" if x.dtype == np.float64 else "float"
    for row in padded:
        q[:] = row
        function(ffi.cast(f"{real} *", q.ctypes.data), ffi.cast(f"{real} *", t.ctypes.data))
        results.append(t[[0, count]].copy())
    found = np.array(results).transpose(1, 0, 2).reshape(2, -1)[:, : len(x)]
    return found[0], found[1]


def _aligned(shape: tuple[int, int], kind: np.dtype[Any]) -> np.ndarray:
    """Zeros that begin at a multiple of 32 bytes, as vectors must."""
    size = shape[0] * shape[1]
    memory = np.zeros(size * kind.itemsize + 32, dtype=np.uint8)
    start = -memory.ctypes.data % 32
    return memory[start : start + size * kind.itemsize].view(kind).reshape(shape)


def worst_error(found: np.ndarray, exact: list[Any], kind: Any) -> float:
    """Largest error in units in the last place of the exact value."""
    with mpmath.workdps(60):
        errors = [
            float(abs(mpmath.mpf(float(y)) - e)) / float(np.spacing(kind(abs(float(e)))))
            for y, e in zip(found, exact, strict=True)
        ]
    return max(errors)


def hard_angles(kind: Any) -> np.ndarray:
    """Angles of all sizes, and the numbers next to multiples of a quarter turn, where the reduction cancels most."""
    random = np.random.default_rng(5)
    limit = 1e5 if kind is np.float64 else 1e4
    near = kind(np.arange(-64, 65) * (np.pi / 2))
    wide = kind(np.rint(random.uniform(-limit, limit, 600) / (np.pi / 2)) * (np.pi / 2))
    parts = [
        random.uniform(-4, 4, 6000), random.uniform(-limit, limit, 2000), random.uniform(-1e12, 1e12, 200),
        10.0 ** random.uniform(-30, 0, 300), near, np.nextafter(near, kind(10)), wide, np.nextafter(wide, kind(0)),
        [0.0, -0.0, limit, -limit, np.nextafter(kind(limit), kind(np.inf)), np.pi / 4, -np.pi / 4, 1e30],
    ]  # fmt: skip
    return np.concatenate([np.asarray(part, dtype=kind) for part in parts])


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("real", ["double", "float"])
def test_every_sine_and_cosine_is_within_one_unit_in_the_last_place(
    real: str, build: str, library: Callable[[str, str], Angles]
) -> None:
    kind = np.float64 if real == "double" else np.float32
    x = hard_angles(kind)
    s, c = library(real, build)(x)
    with mpmath.workdps(60):
        exact_s = [mpmath.sin(mpmath.mpf(float(value))) for value in x]
        exact_c = [mpmath.cos(mpmath.mpf(float(value))) for value in x]
    assert worst_error(s, exact_s, kind) < 1.0
    assert worst_error(c, exact_c, kind) < 1.0
    assert (s[x == 0] == 0).all()


@pytest.mark.parametrize("build", BUILDS)
def test_what_is_no_number_stays_none(build: str, library: Callable[[str, str], Angles]) -> None:
    s, c = library("double", build)(np.array([np.nan, np.inf, -np.inf]))
    assert np.isnan(s).all()
    assert np.isnan(c).all()


def call(routine: Routine, **given: np.ndarray) -> list[float]:
    """The outputs of a routine by interpreting its instructions."""
    values: list[float] = []
    for value in routine.program.values:
        if isinstance(value, Operation):
            operands = [values[index] for index in value.operands]
            symbols = [casadi.SX(x) for x in operands]
            own = casadi.SX.unary(value.code, *symbols) if len(symbols) == 1 else casadi.SX.binary(value.code, *symbols)
            values.append(float(own))
        elif hasattr(value, "position"):
            values.append(float(given[routine.inputs[value.argument].name][value.position]))
        else:
            values.append(value.value)
    return [values[store.value] for store in sorted(routine.program.stores)]


def test_kernels_share_angles_whatever_their_sign_and_form() -> None:
    q, p, u = casadi.SX.sym("q", 3), casadi.SX.sym("p", 1), casadi.SX.sym("u", 1)
    first = make_kernel({"q": q, "u": u}, {"x": casadi.vertcat(casadi.sin(q[0]), casadi.cos(-q[1]), u)}, "first")
    outputs = casadi.vertcat(casadi.sin(-q[1]), casadi.cos(2 * q[2] + p), casadi.sin(u), casadi.sin(q[0]) * u)
    second = make_kernel({"q": q, "p": p, "u": u}, {"y": outputs}, "second")
    third = make_kernel({"q": q}, {"z": casadi.sqrt(q[0])}, "third")
    shared = share_trigonometry([Routine.of(kernel) for kernel in (second, first, third)])
    assert shared.count == 3
    assert shared.angles is not None
    given = {"q": np.array([0.3, -0.8, 2.0]), "p": np.array([0.25]), "u": np.array([1.7])}
    x = np.array(call(shared.angles, **given))
    assert sorted(x.tolist()) == sorted([0.3, -0.8, 4.25])
    t = np.concatenate([np.sin(x), np.cos(x)])
    own, other, plain = shared.routines
    wanted = [np.sin(0.8), np.cos(4.25), np.sin(1.7), np.sin(0.3) * 1.7]
    np.testing.assert_allclose(call(own, t=t, **given), wanted, rtol=1e-15)
    np.testing.assert_allclose(call(other, t=t, **given), [np.sin(0.3), np.cos(0.8), 1.7], rtol=1e-15)
    assert [argument.name for argument in own.inputs] == ["q", "t", "p", "u"]
    assert plain.inputs == Routine.of(third).inputs
    left = [v.code for v in own.program.values if isinstance(v, Operation) and v.code in (casadi.OP_SIN, casadi.OP_COS)]
    assert left == [casadi.OP_SIN]  # that of u, which is no angle of the configuration


def test_repeated_divisors_are_inverted_once() -> None:
    x = casadi.SX.sym("q", 4)
    outputs = casadi.vertcat(x[0] / x[3], x[1] / x[3], x[2] / x[3], x[0] / x[2], 1 / x[3], x[0] / 3)
    routine = share_reciprocals(Routine.of(make_kernel({"q": x}, {"y": outputs})))
    divisions = [
        v for v in routine.program.values if isinstance(v, Operation) and v.code in (casadi.OP_DIV, casadi.OP_INV)
    ]
    assert len(divisions) == 3
    q = np.array([1.1, 2.3, -0.7, 0.9])
    wanted = [q[0] / q[3], q[1] / q[3], q[2] / q[3], q[0] / q[2], 1 / q[3], q[0] / 3]
    np.testing.assert_allclose(call(routine, q=q), wanted, rtol=4e-16)
