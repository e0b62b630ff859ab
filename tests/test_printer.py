"""The printed C against casadi's interpreter and casadi's own code, operation by operation and on random graphs."""

from __future__ import annotations

import itertools
import math
import re
import tempfile
from pathlib import Path

import casadi as ca
import cffi
import numpy as np
import pytest
from c_support import (
    ZIG_CC,
    ZIG_CXX,
    Compiled,
    casadi_values,
    host_toolchain,
    make_kernel,
    run_compiler,
    unit_text,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robocompiler.backend.c_operations import CReal
from robocompiler.backend.printer import print_kernel, print_prototype
from robocompiler.backend.symbols import forbidden_symbols
from robocompiler.backend.toolchain import STRICT, CompileJob, compile_objects
from robocompiler.errors import CompileError
from robocompiler.symbolic.kernel import Argument, Kernel

UNARY = {
    "OP_NEG": lambda x: -x,
    "OP_EXP": ca.exp,
    "OP_LOG": ca.log,
    "OP_CONSTPOW": lambda x: x**2.5,
    "OP_SQRT": ca.sqrt,
    "OP_SQ": lambda x: x * x,
    "OP_TWICE": lambda x: 2 * x,
    "OP_SIN": ca.sin,
    "OP_COS": ca.cos,
    "OP_TAN": ca.tan,
    "OP_ASIN": ca.asin,
    "OP_ACOS": ca.acos,
    "OP_ATAN": ca.atan,
    "OP_SINH": ca.sinh,
    "OP_COSH": ca.cosh,
    "OP_TANH": ca.tanh,
    "OP_ASINH": ca.asinh,
    "OP_ACOSH": ca.acosh,
    "OP_ATANH": ca.atanh,
    "OP_NOT": ca.logic_not,
    "OP_FLOOR": ca.floor,
    "OP_CEIL": ca.ceil,
    "OP_FABS": ca.fabs,
    "OP_SIGN": ca.sign,
    "OP_INV": lambda x: 1 / x,
    "OP_ERF": ca.erf,
    "OP_LOG1P": ca.log1p,
    "OP_EXPM1": ca.expm1,
}
BINARY = {
    "OP_ADD": lambda x, y: x + y,
    "OP_SUB": lambda x, y: x - y,
    "OP_MUL": lambda x, y: x * y,
    "OP_DIV": lambda x, y: x / y,
    "OP_POW": lambda x, y: x**y,
    "OP_ATAN2": ca.atan2,
    "OP_LT": lambda x, y: x < y,
    "OP_LE": lambda x, y: x <= y,
    "OP_EQ": lambda x, y: x == y,
    "OP_NE": lambda x, y: x != y,
    "OP_AND": ca.logic_and,
    "OP_OR": ca.logic_or,
    "OP_FMOD": ca.fmod,
    "OP_REMAINDER": ca.remainder,
    "OP_COPYSIGN": ca.copysign,
    "OP_IF_ELSE_ZERO": lambda x, y: ca.if_else(x, y, 0),
    "OP_FMIN": ca.fmin,
    "OP_FMAX": ca.fmax,
    "OP_HYPOT": ca.hypot,
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.7, 1e-310, 1e300, math.inf, -math.inf, math.nan]


@pytest.fixture(scope="module")
def every_operation(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    results = [f(x) for f in UNARY.values()] + [f(x, y) for f in BINARY.values()]
    kernel = make_kernel({"x": x, "y": y}, {"result": ca.vertcat(*results)})
    codes = {kernel.function.instruction_id(k) for k in range(kernel.function.n_instructions())}
    missing = {name for name in (*UNARY, *BINARY) if getattr(ca, name) not in codes}
    assert not missing, "casadi simplified an operation away, so this test would not cover it"
    return Compiled(kernel, tmp_path_factory.mktemp("ops"))


def test_every_operation_has_the_very_bits_of_casadi(every_operation: Compiled) -> None:
    rng = np.random.default_rng(3)
    pairs = [(a, b) for a in SPECIAL for b in SPECIAL] + list(zip(*rng.normal(size=(2, 200)) * 2, strict=True))
    names = [*UNARY, *BINARY]
    for x, y in pairs:
        (got,) = every_operation(np.array([x]), np.array([y]))
        (want,) = casadi_values(every_operation.kernel, np.array([x]), np.array([y]))
        wrong = [(name, g, w) for name, g, w in zip(names, got, want, strict=True) if not _same(name, g, w)]
        assert not wrong, (x, y, wrong)


def _same(name: str, got: float, want: float) -> bool:
    if np.isnan(want):
        return bool(np.isnan(got))
    if name in ("OP_FMIN", "OP_FMAX") and want == 0.0:
        return got == 0.0  # C leaves open which zero fmin(0.0, -0.0) is
    return np.float64(got).tobytes() == np.float64(want).tobytes()


def test_if_else_zero_takes_nan_as_true_and_hides_nan_of_the_branch_not_taken(every_operation: Compiled) -> None:
    place = [*UNARY, *BINARY].index("OP_IF_ELSE_ZERO")
    assert every_operation(np.array([0.0]), np.array([math.nan]))[0][place] == 0.0
    assert every_operation(np.array([math.nan]), np.array([3.0]))[0][place] == 3.0


def test_an_operation_without_counterpart_is_refused_by_name() -> None:
    x = ca.SX.sym("x")
    kernel = make_kernel({"x": x}, {"y": ca.erfinv(x)})
    with pytest.raises(CompileError, match="kernel work: operation OP_ERFINV"):
        print_kernel(kernel, function_name="work", real="double", static=False)


LEAVES = st.one_of(
    st.sampled_from(["x0", "x1", "x2"]),
    st.floats(-50, 50, allow_nan=False),
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 1e-3, -7.25e8]),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(UNARY)), inner),
        st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
    ),
    max_leaves=25,
)


def _expression(tree: object, x: ca.SX, memory: dict[object, ca.SX]) -> ca.SX:
    if tree in memory:  # equal subtrees become shared nodes, so that the graph is no tree
        return memory[tree]
    if isinstance(tree, str):
        result = x[int(tree[1])]
    elif isinstance(tree, tuple):
        operands = [_expression(part, x, memory) for part in tree[1:]]
        result = (UNARY if len(operands) == 1 else BINARY)[tree[0]](*operands)
    else:
        result = ca.SX(tree)
    memory[tree] = result
    return result


@given(trees=st.lists(TREES, min_size=3, max_size=12), seed=st.integers(0, 2**31))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
def test_random_graphs_have_the_very_bits_of_casadi(trees: list[object], seed: int) -> None:
    x = ca.SX.sym("x", 3)
    memory: dict[object, ca.SX] = {}
    results = [_expression(tree, x, memory) for tree in trees]
    products = [a * b for a, b in itertools.pairwise(results)]
    kernel = make_kernel({"x": x}, {"y": ca.vertcat(*results), "z": ca.vertcat(*products)})
    with tempfile.TemporaryDirectory() as folder:
        compiled = Compiled(kernel, Path(folder))
        for values in np.random.default_rng(seed).normal(size=(4, 3)) * 2:
            for got, want in zip(compiled(values), casadi_values(kernel, values), strict=True):
                np.testing.assert_array_equal(got, want)


def _recursion(n: int) -> Kernel:
    """A chain of rotations with velocities, its Jacobian and a solve: a function of the kind the compiler prints."""
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    rotation, place, speed = ca.SX.eye(3), ca.SX(3, 1), ca.SX(3, 1)
    for k in range(n):
        c, s = ca.cos(q[k]), ca.sin(q[k])
        zero, one = ca.SX(0), ca.SX(1)
        turn = ca.blockcat([[c, -s, zero], [s, c, zero], [zero, zero, one]])
        tilt = ca.DM([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
        rotation = rotation @ turn @ tilt
        place = place + rotation @ ca.DM([0.3, 0.1 * k, -0.05])
        speed = speed + ca.cross(rotation[:, 2], place) * v[k]
    jacobian = ca.jacobian(place, q)
    mass = jacobian.T @ jacobian + ca.SX.eye(n) * 0.1
    acceleration = ca.solve(mass, jacobian.T @ speed)
    outputs = ca.cse([acceleration, jacobian, place])
    return make_kernel({"q": q, "v": v}, dict(zip(["acceleration", "jacobian", "place"], outputs, strict=True)))


@pytest.fixture(scope="module")
def chain() -> Kernel:
    return _recursion(6)


def test_a_large_function_agrees_with_casadis_own_c_code(chain: Kernel, tmp_path: Path) -> None:
    assert chain.operations > 1000
    ours = Compiled(chain, tmp_path, flags=("-O2",))
    generator = ca.CodeGenerator("theirs", {"with_header": False})
    generator.add(chain.function)
    source = tmp_path / "theirs.c"
    source.write_text(generator.dump())
    library = tmp_path / "theirs.so"
    run_compiler(
        host_toolchain().command, "-O2", "-ffp-contract=off", "-fPIC", "-shared", str(source), "-o", str(library), "-lm"
    )
    theirs = ca.external("work", str(library))
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = rng.normal(size=(2, 6))
        want = [np.array(r.nonzeros()) for r in theirs.call([ca.DM(q), ca.DM(v)])]
        for got, ref, interpreted in zip(ours(q, v), want, casadi_values(chain, q, v), strict=True):
            np.testing.assert_allclose(got, ref, rtol=1e-14, atol=0)
            np.testing.assert_allclose(got, interpreted, rtol=1e-14, atol=0)


def test_single_precision_is_genuine_and_close(chain: Kernel, tmp_path: Path) -> None:
    single = Compiled(chain, tmp_path, real="float")
    assert forbidden_symbols(single.object, "float") == set()
    text = unit_text(chain, "float")
    assert "double" not in text
    assert not re.search(r"\d\.\d+(e[+-]?\d+)?(?![\df])(?!\.)\b(?!f)", text), "a literal without its suffix"
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(2, 6)).astype(np.float32)
    for got, want in zip(single(q, v), casadi_values(chain, q, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def test_every_operation_in_single_precision(every_operation: Compiled, tmp_path: Path) -> None:
    single = Compiled(every_operation.kernel, tmp_path, real="float")
    assert forbidden_symbols(single.object, "float") == set()
    for x, y in [(0.3, 0.7), (-0.6, 1.4), (1.5, -2.25), (-2.0, -2.0)]:
        (got,) = single(np.array([x]), np.array([y]))
        exact = [np.array([float(np.float32(x))]), np.array([float(np.float32(y))])]
        (want,) = casadi_values(every_operation.kernel, *exact)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_outputs_may_be_the_inputs(tmp_path: Path) -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 3)
    turned = ca.vertcat(x[1] + y[0], x[2] - y[1], x[0])
    kernel = make_kernel({"x": x, "y": y}, {"a": turned, "b": ca.vertcat(y[2], x[0] * y[0], 7)})
    compiled = Compiled(kernel, tmp_path, flags=("-O2",))
    first, second = np.array([1.5, -2.0, 3.0]), np.array([0.25, 4.0, -5.0])
    want = compiled(first, second)
    compiled.lib.work(*(compiled.pointer(array) for array in (first, second, second, first)))
    np.testing.assert_array_equal(second, want[0])
    np.testing.assert_array_equal(first, want[1])


def test_all_loads_precede_all_stores(chain: Kernel) -> None:
    lines = print_kernel(chain, function_name="work", real="double", static=False).splitlines()
    loads = [k for k, line in enumerate(lines) if re.search(r"= (q|v)\[\d+\];", line)]
    stores = [k for k, line in enumerate(lines) if re.match(r" +(acceleration|jacobian|place)\[\d+\] =", line)]
    assert len(loads) == 12
    assert len(stores) == sum(a.size for a in chain.outputs)
    assert max(loads) < min(stores)


def test_the_same_kernel_gives_the_same_text() -> None:
    assert unit_text(_recursion(4)) == unit_text(_recursion(4))


def test_the_text_is_what_a_reader_expects() -> None:
    x, unused = ca.SX.sym("x", 2), ca.SX.sym("p", 3)
    small = ca.if_else(x[0] < 1, x[1], -0.5 * ca.sin(x[1]))
    kernel = make_kernel({"x": x, "p": unused}, {"y": ca.vertcat(small, 2, x[0] * x[0])})
    text = print_kernel(kernel, function_name="rig_work", real="double", static=True, sizes={"x": "RIG_NX"})
    assert text == (
        "static void rig_work(const double x[RIG_NX], const double p[3], double y[3])\n"
        "{\n"
        "    const double a0 = x[0];\n"
        "    const double a1 = x[1];\n"
        "    (void)p;\n"
        "    const int a2 = a0 < 1.0;\n"
        "    const double a3 = sin(a1);\n"
        "    y[0] = (a2 ? a1 : 0.0) + ((!a2) ? ((-0.5) * a3) : 0.0);\n"
        "    y[1] = 2.0;\n"
        "    y[2] = a0 * a0;\n"
        "}\n"
    )


def test_sparse_outputs_hold_nonzeros_or_the_whole_matrix(tmp_path: Path) -> None:
    x = ca.SX.sym("x", 2)
    lower = ca.SX(ca.Sparsity.lower(2), ca.vertcat(x[0], 0, x[1]))
    kernel = make_kernel({"x": x}, {"m": lower})
    np.testing.assert_array_equal(Compiled(kernel, tmp_path)(np.array([5.0, 6.0]))[0], [5, 0, 6])
    whole = Kernel("whole", "", kernel.inputs, (Argument("m", 4),), kernel.function)
    np.testing.assert_array_equal(Compiled(whole, tmp_path)(np.array([5.0, 6.0]))[0], [5, 0, 0, 6])
    wide = make_kernel({"x": x}, {"m": ca.SX(ca.Sparsity.triplet(2, 3, [1, 0], [0, 2]), x)})
    wide = Kernel("wide", "", wide.inputs, (Argument("m", 6),), wide.function)
    np.testing.assert_array_equal(Compiled(wide, tmp_path)(np.array([5.0, 6.0]))[0], [0, 5, 0, 0, 6, 0])


def test_repeated_operands_have_names(tmp_path: Path) -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    kernel = make_kernel({"x": x, "y": y}, {"z": ca.vertcat(ca.sign(x + y), (x - y) ** 2)})
    (got,) = Compiled(kernel, tmp_path)(np.array([2.0]), np.array([5.0]))
    np.testing.assert_array_equal(got, [1, 9])
    text = unit_text(kernel)
    assert text.count("a0 + a1") == 1
    assert text.count("a0 - a1") == 1


def test_arguments_of_length_zero_are_left_out(tmp_path: Path) -> None:
    x = ca.SX.sym("x", 2)
    kernel = make_kernel({"none": ca.SX.sym("n", 0), "x": x}, {"empty": ca.SX(0, 1), "y": 3 * x})
    prototype = print_prototype(kernel, function_name="work", real="double")
    assert prototype == "void work(const double x[2], double y[2]);\n"
    (got,) = Compiled(kernel, tmp_path)(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(got, [3, 6])
    nothing = make_kernel({"none": ca.SX.sym("n", 0)}, {"empty": ca.SX(0, 1)})
    assert print_prototype(nothing, function_name="work", real="double") == "void work(void);\n"


def test_gcc_clang_and_cxx_accept_the_text_under_strict_warnings(
    every_operation: Compiled, chain: Kernel, tmp_path: Path
) -> None:
    x = ca.SX.sym("x", 3)
    odd = make_kernel({"a0": x, "p": ca.SX.sym("p")}, {"y": ca.vertcat(math.inf, -math.inf, math.nan, -0.0, x[0])})
    for real in ("double", "float"):
        for name, kernel in (("every", every_operation.kernel), ("chain", chain), ("odd", odd)):
            source = tmp_path / f"{name}_{real}.c"
            source.write_text(unit_text(kernel, real))
            product = str(tmp_path / "product.o")
            compile_objects([CompileJob(name, source, tmp_path / "gcc.o")], host_toolchain())
            run_compiler(ZIG_CC, *STRICT, "-O2", "-fno-sanitize=undefined", "-c", str(source), "-o", product)
            warnings = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wdouble-promotion", "-Wcast-qual", "-Werror")
            run_compiler(("g++",), "-x", "c++", "-std=c++11", "-pedantic", *warnings, "-c", str(source), "-o", product)
            run_compiler(ZIG_CXX, "-x", "c++", *warnings, "-c", str(source), "-o", product)
            assert Path(product).stat().st_size > 0


def test_a_float_kernel_cross_compiles_for_a_cortex_m7(chain: Kernel, tmp_path: Path) -> None:
    source, product = tmp_path / "chain.c", tmp_path / "chain.o"
    # A bare target brings no headers: declare what the kernel uses, as any target's math.h does.
    (tmp_path / "math.h").write_text(
        "".join(f"float {f}f(float x);\ndouble {f}(double x);\n" for f in ("sin", "cos", "sqrt"))
    )
    source.write_text(unit_text(chain, "float"))
    target = ("-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m7+vfp4d16sp", "-I", str(tmp_path))
    run_compiler(ZIG_CC, *target, *STRICT, "-O2", "-fno-sanitize=undefined", "-c", str(source), "-o", str(product))
    # Double arithmetic would call helpers such as __aeabi_dmul here, so this is the proof of single precision.
    assert forbidden_symbols(product, "float") == set()
    source.write_text(unit_text(chain, "double"))
    run_compiler(ZIG_CC, *target, *STRICT, "-O2", "-fno-sanitize=undefined", "-c", str(source), "-o", str(product))
    assert forbidden_symbols(product, "float") >= {"sin", "cos"}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_literals_read_back_exactly(number: float) -> None:
    text = CReal("double").literal(number).text.strip("()")
    assert math.copysign(1, float(text)) == math.copysign(1, number)
    assert float(text) == number
    assert any(mark in text for mark in ".e")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_literals_read_back_exactly(number: float) -> None:
    text = CReal("float").literal(number).text.strip("()")
    assert text.endswith("f")
    assert any(mark in text for mark in ".e")
    assert np.float32(text[:-1]) == np.float32(number)


@pytest.mark.parametrize(("number", "message"), [(1e39, "too large"), (-4e38, "too large"), (1e-60, "become zero")])
def test_constants_beyond_single_precision_are_refused(number: float, message: str) -> None:
    x = ca.SX.sym("x")
    kernel = make_kernel({"x": x}, {"y": number * x})
    with pytest.raises(CompileError, match=message):
        print_kernel(kernel, function_name="work", real="float", static=False)
    print_kernel(kernel, function_name="work", real="double", static=False)


def test_kernels_that_contradict_themselves_are_refused() -> None:
    x = ca.SX.sym("x", 2)
    function = ca.Function("f", [x], [x[0] * ca.SX.sym("lost")], {"allow_free": True})
    good = make_kernel({"x": x}, {"y": x * 2})
    m = ca.MX.sym("m", 2)
    cases = [
        (Kernel("k", "", good.inputs, (Argument("y", 1),), function), "symbols without a value: lost"),
        (Kernel("k", "", (Argument("x", 3),), good.outputs, good.function), "input x is declared with 3"),
        (Kernel("k", "", good.inputs, (Argument("y", 5),), good.function), "output y is declared with 5"),
        (Kernel("k", "", (), good.outputs, good.function), "0 inputs declared"),
        (Kernel("k", "", good.inputs, (Argument("x", 2),), good.function), "used twice: x"),
        (Kernel("k", "", (Argument("int", 2),), good.outputs, good.function), "'int' is not a C identifier"),
        (Kernel("k", "", (Argument("sin", 2),), good.outputs, good.function), "hide a function"),
        (Kernel("k", "", good.inputs, good.outputs, ca.Function("f", [m], [m * 2])), "expected an SX function"),
    ]
    for kernel, message in cases:
        with pytest.raises(CompileError, match=message):
            print_kernel(kernel, function_name="work", real="double", static=False)
    with pytest.raises(CompileError, match="unknown arguments: z"):
        print_kernel(good, function_name="work", real="double", static=False, sizes={"z": "N"})


def test_long_signatures_wrap_and_locals_avoid_argument_names() -> None:
    names = [f"argument_{k}" for k in range(8)] + ["a3"]
    symbols = {name: ca.SX.sym(name) for name in names}
    kernel = make_kernel(symbols, {"y": sum(symbols.values())})
    text = print_kernel(kernel, function_name="work", real="double", static=False)
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "const double aa0 = argument_0[0];" in text
    ffi = cffi.FFI()
    ffi.cdef(print_prototype(kernel, function_name="work", real="double"))
