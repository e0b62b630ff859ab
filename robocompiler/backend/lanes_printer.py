"""Prints a routine over a vector type: the same program for several states at once, one state in each lane.

Arithmetic is written as for a scalar, one statement an operation, since compilers know `+ - * /` on vector types.
Everything else (comparisons, libm) goes lane by lane; mechanics have none of it once sines and cosines are shared.
"""

from __future__ import annotations

import casadi

from robocompiler.backend.c_operations import CReal, Expression
from robocompiler.backend.options import Real
from robocompiler.backend.parts import Division, divide
from robocompiler.backend.printer import PART, printed_arguments
from robocompiler.backend.routine import Routine
from robocompiler.backend.straight_line import Constant, Load, Operation
from robocompiler.errors import CompileError

_ARITHMETIC = frozenset((
    casadi.OP_ADD, casadi.OP_SUB, casadi.OP_MUL, casadi.OP_DIV,
    casadi.OP_NEG, casadi.OP_SQ, casadi.OP_TWICE, casadi.OP_INV,
))  # fmt: skip

_LEVEL = "    const struct level level = {{{0}}};"  # see the header of the lanes


def lanes_prototype(routine: Routine) -> str:
    """Declaration of `void L(name)(const lanes *in, ..., lanes *out, ...)`; L adds prefix and instruction set."""
    return f"void L({routine.name})({_parameters(routine)});\n"


def print_lanes(routine: Routine, real: Real) -> str:
    """Definition of `L(name)`, in parts of bounded length.

    Outputs must not overlap inputs.  CompileError where C has no counterpart of an operation.
    """
    division = divide(routine.program, PART)
    printer = _Lanes(routine, division, CReal(real))
    parameters = f"{_parameters(routine)}, lanes *__restrict__ w, struct level level"
    arguments = ", ".join(a.name for group in printed_arguments(routine) for a in group)
    texts, calls = [], []
    for number, members in enumerate(division.parts or ((),)):
        last = number == max(len(division.parts), 1) - 1
        lines = printer.body(members, last=last)
        unused = [f"(void){name};" for name in [*arguments.split(", "), "w", "level"]]
        head = f"static __attribute__((noinline)) void {routine.name}_part_{number}({parameters})"
        texts.append("\n".join([head, "{", *(f"    {line}" for line in [*unused, *lines]), "}", ""]))
        calls.append(f"    {routine.name}_part_{number}({arguments}, w, level);")
    signature = f"void L({routine.name})({_parameters(routine)})"
    whole = [signature, "{", f"    lanes w[{max(division.work, 1)}];", _LEVEL, *calls, "}", ""]
    return "\n".join([*texts, *whole])


def _parameters(routine: Routine) -> str:
    inputs, outputs = printed_arguments(routine)
    return ", ".join(
        [f"const lanes *__restrict__ {a.name}" for a in inputs] + [f"lanes *__restrict__ {a.name}" for a in outputs]
    )


class _Lanes:
    def __init__(self, routine: Routine, division: Division, real: CReal) -> None:
        self._routine, self._slot, self._rank, self._real = routine, division.slot, division.rank, real
        self._prefix = "a"
        while any(argument.name.startswith(self._prefix) for argument in (*routine.inputs, *routine.outputs)):
            self._prefix += "a"
        self._stores: dict[int, list[tuple[int, int]]] = {}
        for store in routine.program.stores:
            self._stores.setdefault(store.value, []).append((store.argument, store.position))

    def body(self, members: tuple[int, ...], *, last: bool) -> list[str]:
        """The statements of one part; output elements that are inputs or constants are stored by the last."""
        lines: list[str] = []
        values, own = self._routine.program.values, set(members)
        for index in members:
            value = values[index]
            assert isinstance(value, Operation)
            name = f"{self._prefix}{self._rank[index]}"
            if value.code in _ARITHMETIC:
                operands = tuple(self._operand(operand, own, "") for operand in value.operands)
                lines.append(f"const lanes {name} = {self._text(value.code, operands)};")
            else:
                operands = tuple(self._operand(operand, own, "[k]") for operand in value.operands)
                lines.append(f"lanes {name} = {{0}};")
                lines.append(f"for (int k = 0; k < LANES; ++k) {{ {name}[k] = {self._text(value.code, operands)}; }}")
            if index in self._slot:
                lines.append(f"w[{self._slot[index]}] = {name};")
            lines += self._store(index, name)
        if last:
            for index, value in enumerate(values):
                if isinstance(value, Constant):
                    lines += self._store(index, f"LANES_OF({self._real.literal(value.value).text})")
                elif isinstance(value, Load):
                    lines += self._store(index, self._operand(index, own, "").text)
        return lines

    def _text(self, code: int, operands: tuple[Expression, ...]) -> str:
        try:
            return self._real.as_real(self._real.operation(code, operands)).text
        except CompileError as error:
            raise CompileError(f"kernel {self._routine.name}: {error}") from None

    def _operand(self, index: int, own: set[int], lane: str) -> Expression:
        value = self._routine.program.values[index]
        if isinstance(value, Constant):
            return self._real.literal(value.value)
        if isinstance(value, Load):
            return Expression(f"{self._routine.inputs[value.argument].name}[{value.position}]{lane}", atomic=True)
        name = f"{self._prefix}{self._rank[index]}" if index in own else f"w[{self._slot[index]}]"
        return Expression(name + lane, atomic=True)

    def _store(self, index: int, text: str) -> list[str]:
        places = sorted(self._stores.get(index, []))
        return [f"{self._routine.outputs[argument].name}[{position}] = {text};" for argument, position in places]
