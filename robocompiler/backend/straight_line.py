"""A casadi instruction list in single-assignment form: every value is defined once and never overwritten.

CasADi reuses work slots; the C compiler sees more when each value has its own `const` name.  This pass renames the
slots, drops assignments and dead values, and checks that the function is one the printer can print at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi

from robocompiler.errors import CompileError
from robocompiler.symbolic.kernel import Argument, Kernel


class Load(NamedTuple):
    """Element `position` of input `argument`."""

    argument: int
    position: int


class Constant(NamedTuple):
    """A literal number, exactly as CasADi holds it."""

    value: float


class Operation(NamedTuple):
    """A CasADi operation `code` applied to earlier values, given by their indices."""

    code: int
    operands: tuple[int, ...]


Value = Load | Constant | Operation


class Store(NamedTuple):
    """Output element `position` of output `argument` takes `value`, an index into `StraightLine.values`."""

    argument: int
    position: int
    value: int


@dataclass(frozen=True)
class StraightLine:
    """`values` in evaluation order, operands always before their users; `stores` hold each output element once."""

    values: tuple[Value, ...]
    stores: tuple[Store, ...]


# Moves that hand their first operand on unchanged.
_COPIES = (casadi.OP_ASSIGN, casadi.OP_LIFT)


def straight_line(kernel: Kernel) -> StraightLine:
    """Return the single-assignment form of `kernel`; raise CompileError if its function and arguments disagree."""
    function = kernel.function
    _check_function(kernel)
    positions = [_output_positions(kernel, k) for k in range(function.n_out())]
    values: list[Value] = []
    stores: list[Store] = []
    constants: dict[str, int] = {}
    loads: dict[tuple[int, int], int] = {}
    slot: dict[int, int] = {}

    def define(value: Value) -> int:
        values.append(value)
        return len(values) - 1

    def constant(number: float) -> int:
        # `hex` tells 0.0 from -0.0 and equals itself for nan, which the number itself does not.
        key = number.hex()
        if key not in constants:
            constants[key] = define(Constant(number))
        return constants[key]

    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        if code == casadi.OP_OUTPUT:
            argument, nonzero = function.instruction_output(k)
            stores.append(Store(argument, positions[argument][nonzero], slot[function.instruction_input(k)[0]]))
            continue
        target = function.instruction_output(k)[0]
        if code == casadi.OP_CONST:
            slot[target] = constant(float(function.instruction_constant(k)))
        elif code == casadi.OP_INPUT:
            argument, position = function.instruction_input(k)
            if (argument, position) not in loads:
                loads[argument, position] = define(Load(argument, position))
            slot[target] = loads[argument, position]
        elif code in _COPIES:
            slot[target] = slot[function.instruction_input(k)[0]]
        else:
            operands = tuple(slot[s] for s in function.instruction_input(k))
            slot[target] = define(Operation(code, operands))

    for argument, output in enumerate(kernel.outputs):
        for position in sorted(set(range(output.size)) - set(positions[argument])):
            stores.append(Store(argument, position, constant(0.0)))
    return without_dead_values(values, stores)


def without_dead_values(values: list[Value], stores: list[Store]) -> StraightLine:
    """Keep only the values that some store needs, renumbered in the same order."""
    alive = [False] * len(values)
    for store in stores:
        alive[store.value] = True
    for index in range(len(values) - 1, -1, -1):
        value = values[index]
        if alive[index] and isinstance(value, Operation):
            for operand in value.operands:
                alive[operand] = True
    if all(alive):
        return StraightLine(tuple(values), tuple(stores))
    number: dict[int, int] = {}
    kept: list[Value] = []
    for index, value in enumerate(values):
        if not alive[index]:
            continue
        number[index] = len(kept)
        kept.append(_renumbered(value, number))
    return StraightLine(
        values=tuple(kept),
        stores=tuple(Store(store.argument, store.position, number[store.value]) for store in stores),
    )


def _renumbered(value: Value, number: Mapping[int, int]) -> Value:
    if not isinstance(value, Operation):
        return value
    return Operation(value.code, tuple(number[operand] for operand in value.operands))


def _check_function(kernel: Kernel) -> None:
    """Refuse a kernel whose function is no closed SX function of dense inputs with the stated sizes."""
    function = kernel.function
    if not function.is_a("SXFunction"):
        raise CompileError(f"kernel {kernel.name}: expected an SX function, got a {function.class_name()}")
    free = function.free_sx()
    if free:
        names = ", ".join(str(symbol) for symbol in free)
        raise CompileError(f"kernel {kernel.name}: symbols without a value: {names}; make them inputs")
    _check_count(kernel, "input", kernel.inputs, function.n_in())
    _check_count(kernel, "output", kernel.outputs, function.n_out())
    for k, argument in enumerate(kernel.inputs):
        pattern = function.sparsity_in(k)
        if not pattern.is_dense() or pattern.nnz() != argument.size:
            raise CompileError(
                f"kernel {kernel.name}: input {argument.name} is declared with {argument.size} elements, "
                f"the function wants {pattern.dim(True)}; inputs must be dense"
            )


def _check_count(kernel: Kernel, kind: str, declared: tuple[Argument, ...], actual: int) -> None:
    if len(declared) != actual:
        raise CompileError(f"kernel {kernel.name}: {len(declared)} {kind}s declared, the function has {actual}")


def _output_positions(kernel: Kernel, k: int) -> list[int]:
    """Array position of each structural nonzero of output `k`.

    An argument of as many elements as nonzeros holds just those; one with room for the whole matrix holds it dense,
    column by column, and the caller stores zeros in the rest.
    """
    argument = kernel.outputs[k]
    pattern: Any = kernel.function.sparsity_out(k)
    if argument.size == pattern.nnz():
        return list(range(argument.size))
    if argument.size == pattern.numel():
        rows, columns = pattern.get_triplet()
        return [row + column * pattern.size1() for row, column in zip(rows, columns, strict=True)]
    raise CompileError(
        f"kernel {kernel.name}: output {argument.name} is declared with {argument.size} elements, "
        f"the function gives {pattern.dim(True)}"
    )
