"""Prints a long kernel as a chain of parts that hand values on through a work array.

A compiler's time grows faster than the length of a straight-line function (register allocation), and a function of ten
thousand operations keeps thousands of values alive at once.  Parts of bounded length compile in linear time; a value
needed by a later part lies in `w`, where the compiler would have spilled it anyway, and its place is used again after
the last part that reads it.  Inputs are read where they are used, so outputs must not alias them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robocompiler.backend.c_operations import REPEATED_OPERANDS, CReal, Expression
from robocompiler.backend.routine import Routine
from robocompiler.backend.straight_line import Constant, Load, Operation, StraightLine
from robocompiler.errors import CompileError


@dataclass(frozen=True)
class Division:
    """parts: the operations of each part, by value index; slot: place in the work array of a value that crosses.

    rank: which operation a value is; locals are named by it, so that no name depends on which numbers are equal.
    """

    parts: tuple[tuple[int, ...], ...]
    slot: dict[int, int]
    work: int
    rank: dict[int, int]


def divide(program: StraightLine, length: int) -> Division:
    """Cut the operations, in order, into parts of at most `length`, and place the values that cross."""
    return divide_order([value.operands if isinstance(value, Operation) else None for value in program.values], length)


def divide_order(operands: Sequence[Sequence[int] | None], length: int) -> Division:
    """The same for anything that is computed in order from earlier things; None for what is at hand everywhere."""
    computed = [index for index, below in enumerate(operands) if below is not None]
    parts = [tuple(computed[k : k + length]) for k in range(0, len(computed), length)]
    home = {index: number for number, part in enumerate(parts) for index in part}
    last: dict[int, int] = {}
    for index in computed:
        for operand in operands[index] or ():
            if operand in home and home[operand] != home[index]:
                last[operand] = max(last.get(operand, 0), home[index])
    slot: dict[int, int] = {}
    free: list[int] = []
    work = 0
    for number, part in enumerate(parts):
        for index in part:
            if index in last:
                slot[index] = free.pop() if free else work
                work = max(work, slot[index] + 1)
        # a place read for the last time here may be written by later parts only
        free += sorted((slot[index] for index, end in last.items() if end == number and index in slot), reverse=True)
    return Division(tuple(parts), slot, work, {index: rank for rank, index in enumerate(computed)})


def part_bodies(routine: Routine, division: Division, real: CReal, prefix: str) -> list[list[str]]:
    """The statements of every part; output elements that are inputs or constants are stored by the last part."""
    printer = _Parts(routine, division, real, prefix)
    return [printer.body(number) for number in range(len(division.parts))]


class _Parts:
    def __init__(self, routine: Routine, division: Division, real: CReal, prefix: str) -> None:
        self._routine, self._program, self._division = routine, routine.program, division
        self._real, self._prefix = real, prefix
        self._stores: dict[int, list[tuple[int, int]]] = {}
        for store in routine.program.stores:
            self._stores.setdefault(store.value, []).append((store.argument, store.position))
        self._uses = _use_counts(routine.program)

    def body(self, number: int) -> list[str]:
        lines: list[str] = []
        local: dict[int, Expression] = {}
        members = self._division.parts[number]
        for index in members:
            value = self._program.values[index]
            assert isinstance(value, Operation)
            operands = tuple(self._operand(operand, local) for operand in value.operands)
            expression = self._operation(value, operands)
            crossing, stored = self._division.slot.get(index), self._stores.get(index, [])
            once = self._uses[index] == 1 and crossing is None and not stored
            if once and expression.short:
                local[index] = expression
                continue
            name = f"{self._prefix}{self._division.rank[index]}"
            kind = "int" if expression.boolean else self._real.name
            lines.append(f"const {kind} {name} = {expression.text};")
            local[index] = Expression(name, atomic=True, boolean=expression.boolean)
            if crossing is not None:
                lines.append(f"w[{crossing}] = {self._real.as_real(local[index]).text};")
            lines += self._store_lines(stored, local[index])
        if number == len(self._division.parts) - 1:
            for index, value in enumerate(self._program.values):
                if not isinstance(value, Operation):
                    lines += self._store_lines(self._stores.get(index, []), self._operand(index, {}))
        return lines

    def _operand(self, index: int, local: dict[int, Expression]) -> Expression:
        value = self._program.values[index]
        if isinstance(value, Constant):
            return self._real.literal(value.value)
        if isinstance(value, Load):
            return Expression(f"{self._routine.inputs[value.argument].name}[{value.position}]", atomic=True)
        if index in local:
            return local[index]
        return Expression(f"w[{self._division.slot[index]}]", atomic=True)

    def _operation(self, value: Operation, operands: tuple[Expression, ...]) -> Expression:
        try:
            return self._real.operation(value.code, operands)
        except CompileError as error:
            raise CompileError(f"kernel {self._routine.name}: {error}") from None

    def _store_lines(self, places: Sequence[tuple[int, int]], expression: Expression) -> list[str]:
        text = self._real.as_real(expression).text
        return [f"{self._routine.outputs[a].name}[{position}] = {text};" for a, position in sorted(places)]


def _use_counts(program: StraightLine) -> list[int]:
    uses = [0] * len(program.values)
    for value in program.values:
        if isinstance(value, Operation):
            for operand in value.operands:
                uses[operand] += REPEATED_OPERANDS.get(value.code, 1)
    return uses
