"""Values computed two at a time: the schedule and its C give the bits of the plain program, but for zeros' signs."""

from __future__ import annotations

import functools
import math
import random
from pathlib import Path
from types import SimpleNamespace

import casadi
import cffi
import pytest
from c_support import host_toolchain, run_compiler
from fronts import shipped_front

from robocompiler.backend.mechanics_view import mechanics_view
from robocompiler.backend.pair_printer import print_pairs
from robocompiler.backend.paired_line import (
    Join,
    Lane,
    PairConstant,
    PairedLine,
    PairLoad,
    PairOperation,
    PairStore,
    paired_line,
)
from robocompiler.backend.pairs import find_pairs
from robocompiler.backend.printer import LONG, print_kernel
from robocompiler.backend.rendering import environment
from robocompiler.backend.routine import Routine
from robocompiler.backend.signed_values import signed_values
from robocompiler.backend.straight_line import Constant, Load, Operation, Store, StraightLine, without_dead_values
from robocompiler.backend.toolchain import PORTABLE, STRICT
from robocompiler.backend.views import robot_view
from robocompiler.symbolic.kernel import Argument

MODELS = Path(__file__).resolve().parent.parent / "models"
ACTIONS = {
    casadi.OP_ADD: lambda a, b: a + b,
    casadi.OP_SUB: lambda a, b: a - b,
    casadi.OP_MUL: lambda a, b: a * b,
    casadi.OP_DIV: lambda a, b: a / b,
    casadi.OP_NEG: lambda a: -a,
    casadi.OP_SQ: lambda a: a * a,
    casadi.OP_TWICE: lambda a: 2.0 * a,
    casadi.OP_INV: lambda a: 1.0 / a,
    casadi.OP_SQRT: math.sqrt,
    casadi.OP_FABS: abs,
    casadi.OP_SIGN: lambda a: math.copysign(1.0, a) if a else a,
}


def bits(number: float) -> str:
    """All of them, but -0 is 0: a - b and -(b - a) differ in that."""
    return (number + 0.0).hex()


def plainly(program: StraightLine, inputs: list[list[float]]) -> dict[tuple[int, int], str]:
    """{output element: its bits} of a program."""
    found: list[float] = []
    for value in program.values:
        if isinstance(value, Load):
            found.append(inputs[value.argument][value.position])
        elif isinstance(value, Constant):
            found.append(value.value)
        else:
            found.append(ACTIONS[value.code](*(found[operand] for operand in value.operands)))
    return {(s.argument, s.position): bits(found[s.value]) for s in program.stores}


def paired(line: PairedLine, inputs: list[list[float]]) -> dict[tuple[int, int], str]:
    """The same of a paired program, run by the meaning that its instructions state."""
    found: list = []
    for step in line.instructions:
        match step:
            case Load(argument, position):
                found.append(inputs[argument][position])
            case Constant(value):
                found.append(value)
            case PairLoad(argument, positions):
                found.append(tuple(inputs[argument][position] for position in positions))
            case PairConstant(numbers):
                found.append(numbers)
            case Join(operands):
                found.append(tuple(found[operand] for operand in operands))
                assert all(isinstance(number, float) for number in found[-1])
            case Lane((operand,), lane, sign):
                found.append(sign * found[operand][lane])
            case PairOperation(code, operands):
                lanes = zip(*(found[operand] for operand in operands), strict=True)
                found.append(tuple(ACTIONS[code](*numbers) for numbers in lanes))
            case Operation(code, operands):
                found.append(ACTIONS[code](*(found[operand] for operand in operands)))
    result: dict[tuple[int, int], str] = {}
    for store in line.stores:
        values = found[store.value] if isinstance(store, PairStore) else (found[store.value],)
        positions = store.positions if isinstance(store, PairStore) else (store.position,)
        for position, value in zip(positions, values, strict=True):
            assert (store.argument, position) not in result
            result[store.argument, position] = bits(value)
    return result


def limbs(seed: int, count: int = 2, length: int = 80) -> Routine:
    """`count` limbs of one random shape, with signs, constants and orders of their own, around a common trunk."""
    draw = random.Random(seed)
    values: list = [Load(0, k) for k in range(4)]
    size = 4 + 6 * count
    codes = [casadi.OP_ADD, casadi.OP_SUB, casadi.OP_MUL, casadi.OP_MUL, casadi.OP_SQ, casadi.OP_NEG, casadi.OP_TWICE]
    shape = [(draw.choice(codes), draw.random(), draw.random(), draw.random()) for _ in range(length)]
    stores, ends = [], []
    for limb in range(count):
        own = [0, 1, 2, 3]
        for k in range(6):
            values.append(Load(0, 4 + 6 * limb + k))
            own.append(len(values) - 1)
        for common, first, second, kind in shape:
            code = common
            a = own[int(first * len(own))]
            b = own[int(second * len(own))]
            if kind < 0.15 and code == casadi.OP_MUL:
                values.append(Constant(draw.uniform(-2.0, 2.0)))
                b = len(values) - 1
            mirrored = draw.random() < 0.2
            if mirrored and common in (casadi.OP_ADD, casadi.OP_SUB):
                code = casadi.OP_SUB if common == casadi.OP_ADD else casadi.OP_ADD
            if mirrored and code in (casadi.OP_ADD, casadi.OP_MUL):
                a, b = b, a
            two = code in (casadi.OP_ADD, casadi.OP_SUB, casadi.OP_MUL)
            values.append(Operation(code, (a, b) if two else (a,)))
            own.append(len(values) - 1)
            if mirrored and draw.random() < 0.3:
                values.append(Operation(casadi.OP_NEG, (own[-1],)))
                own[-1] = len(values) - 1
            values.append(Operation(casadi.OP_MUL, (own[-1], 3 - draw.randrange(2))))  # keeps numbers small
            own[-1] = len(values) - 1
        ends.append(own[10::4])
        stores += [Store(0, len(ends[-1]) * limb + k, value) for k, value in enumerate(ends[-1])]
    total = ends[0][0]
    for end in ends[1:]:
        values.append(Operation(casadi.OP_ADD, (total, end[0])))
        total = len(values) - 1
    values.append(Operation(casadi.OP_FABS, (total,)))
    values.append(Operation(casadi.OP_SQRT, (len(values) - 1,)))
    stores += [Store(1, 0, len(values) - 1), Store(1, 1, 2)]
    program = without_dead_values(values, stores)
    arguments = Argument("x", size, ""), (Argument("y", len(ends[0]) * count, ""), Argument("z", 2, ""))
    return Routine(f"limbs_{seed}", "", (arguments[0],), arguments[1], program)


def numbers(routine: Routine, seed: int) -> list[list[float]]:
    draw = random.Random(seed)
    return [[draw.uniform(-1.0, 1.0) for _ in range(argument.size)] for argument in routine.inputs]


@functools.cache
def kernels(name: str) -> tuple[Routine, ...]:
    program = shipped_front(name).program
    return tuple(mechanics_view(program, robot_view(program, "double"), "double").routines.values())


Bits = dict[tuple[int, int], str]


def both_results(routine: Routine) -> tuple[Bits, Bits, float]:
    """What the paired and the plain program give, and the share of operations that pairs take."""
    values = signed_values(routine.program)
    pairing = find_pairs(values)
    line = paired_line(routine.program, values, pairing)
    given = numbers(routine, 1)
    share = len(pairing.of) / max(routine.operations, 1)
    return paired(line, given), plainly(routine.program, given), share


@pytest.mark.parametrize("seed", range(60))
def test_random_limbs_keep_their_bits(seed: int) -> None:
    found, wanted, _ = both_results(limbs(seed, count=2 + seed % 4, length=20 + 3 * seed))
    assert found == wanted


def test_two_equal_limbs_are_paired_whole() -> None:
    """With nothing mirrored the limbs are one program twice; only the trunk's sum stays single."""
    draw = limbs(7, count=2, length=60)
    values = signed_values(draw.program)
    assert len(find_pairs(values).of) > 0.7 * sum(bool(node.operands) for node in values.nodes)


@pytest.mark.parametrize("name", ["stewart", "go2"])
def test_kernels_of_robots_keep_their_bits(name: str) -> None:
    shares = {}
    for routine in kernels(name):
        found, wanted, shares[routine.name] = both_results(routine)
        assert found == wanted, routine.name
    assert shares["tree_kernel"] > 0.5


def test_nodes_of_one_pair_have_one_shape_and_height() -> None:
    routine = max(kernels("stewart"), key=lambda r: r.operations)
    values = signed_values(routine.program)
    pairing = find_pairs(values)
    assert pairing.of
    for a, b in pairing.of.values():
        assert a != b
        assert values.shape[a] == values.shape[b]
        assert values.height[a] == values.height[b]
    assert sorted(pairing.of) == sorted({node for pair in pairing.of.values() for node in pair})


def test_a_program_without_twins_is_left_alone() -> None:
    """A chain has no two values of one shape, so that nothing is printed over pairs."""
    values: list = [Load(0, 0), Load(0, 1)]
    for k in range(200):
        values.append(Operation(casadi.OP_MUL if k % 2 else casadi.OP_ADD, (len(values) - 1, 0)))
    program = StraightLine(tuple(values), (Store(0, 0, len(values) - 1),))
    routine = Routine("chain", "", (Argument("x", 2, ""),), (Argument("y", 1, ""),), program)
    assert not find_pairs(signed_values(program)).of
    assert print_pairs(routine, function_name="chain", real="double", sizes={}) == ""


@pytest.mark.parametrize("seed", [3, 11])
def test_single_precision_has_no_pairs(seed: int) -> None:
    routine = limbs(seed, length=150)
    assert print_pairs(routine, function_name="work", real="double", sizes={}) != ""
    assert print_pairs(routine, function_name="work", real="float", sizes={}) == ""


def library(routines: list[Routine], folder: Path, flags: tuple[str, ...]) -> tuple[cffi.FFI, object]:
    """A library that has each routine plainly and over pairs."""
    types = environment().get_template("macros.j2").module.pair_types(SimpleNamespace(MACRO="TEST"))
    texts, ffi = [f"#include <math.h>\n{types}"], cffi.FFI()
    for k, routine in enumerate(routines):
        texts.append(print_kernel(routine, function_name=f"plain_{k}"))
        texts.append(print_pairs(routine, function_name=f"paired_{k}", real="double", sizes={}))
        arguments = ", ".join(["double *"] * sum(bool(a.size) for a in (*routine.inputs, *routine.outputs)))
        ffi.cdef(f"void plain_{k}({arguments}); void paired_{k}({arguments});")
    source, target = folder / "pairs.c", folder / "pairs.so"
    source.write_text("\n".join(texts))
    own = [flag for flag in (*STRICT, *flags) if flag != "-Wmissing-prototypes"]
    run_compiler(host_toolchain().command, *own, "-shared", "-fPIC", str(source), "-o", str(target), "-lm")
    return ffi, ffi.dlopen(str(target))


def call(ffi: cffi.FFI, function: object, routine: Routine, given: list[list[float]]) -> list[list[str]]:
    """The bits of a C function's outputs."""
    inputs = [ffi.new("double[]", values) for values in given if values]
    outputs = [ffi.new("double[]", argument.size) for argument in routine.outputs if argument.size]
    function(*inputs, *outputs)  # type: ignore[operator]
    return [[bits(number) for number in output] for output in outputs]


def test_c_over_pairs_keeps_the_bits_of_plain_c(tmp_path: Path) -> None:
    """Several lengths, one of them printed in parts, and the kernels of a robot; no fused products."""
    own = [routine for routine in kernels("stewart") if routine.name in ("tree_kernel", "finish_kernel", "lift_kernel")]
    routines = [limbs(seed, 2 + seed % 3, 100) for seed in range(6)] + [limbs(99, 4, 600), *own]
    routines = [r for r in routines if print_pairs(r, function_name="work", real="double", sizes={})]
    assert len(routines) > 7
    assert any(routine.operations > LONG for routine in routines)
    ffi, c = library(routines, tmp_path, ("-O1", *PORTABLE))
    for k, routine in enumerate(routines):
        given = numbers(routine, k)
        plain, over_pairs = (call(ffi, getattr(c, f"{way}_{k}"), routine, given) for way in ("plain", "paired"))
        assert plain == over_pairs, routine.name


def test_short_kernels_read_everything_before_they_write(tmp_path: Path) -> None:
    """An output may overlap an input, as in the plain text."""
    routine = next(r for r in map(limbs, range(20)) if print_pairs(r, function_name="work", real="double", sizes={}))
    ffi, c = library([routine], tmp_path, ("-O1", *PORTABLE))
    (given,) = numbers(routine, 3)
    wanted = call(ffi, c.plain_0, routine, [given])  # type: ignore[attr-defined]
    room = [0.0] * max(routine.outputs[0].size - len(given), 0)
    shared, z = ffi.new("double[]", given + room), ffi.new("double[]", 2)
    c.paired_0(shared, shared, z)  # type: ignore[attr-defined]
    assert [bits(number) for number in shared][: len(wanted[0])] == wanted[0]


def test_a_compiler_without_vectors_gets_the_plain_text() -> None:
    """NAME_PAIRS=0 and compilers that are not like gcc take the other branch, whole."""
    view = SimpleNamespace(MACRO="TEST")
    kernel = SimpleNamespace(pairs="PAIRS", definition="PLAIN")
    text = str(environment().get_template("macros.j2").module.kernel_text(view, kernel))
    assert text.split() == ["#if", "TEST_PAIRS", "PAIRS", "#else", "PLAIN", "#endif"]
