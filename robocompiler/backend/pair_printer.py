"""Prints a paired routine (`paired_line.py`): C over `pair`, a vector of two numbers that the header defines.

The same arguments and results as the plain text of the kernel, and the same rounding where nothing is fused: lanes
round as numbers do, and moved signs are exact (a zero may come out with the other sign).
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi

from robocompiler.backend.c_operations import CReal, Expression
from robocompiler.backend.options import Real
from robocompiler.backend.paired_line import (
    COMPUTED,
    PAIRS,
    Instruction,
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
from robocompiler.backend.parts import Division, divide_order
from robocompiler.backend.printer import LONG, PART, local_prefix, part_functions
from robocompiler.backend.routine import Routine
from robocompiler.backend.signed_values import signed_values
from robocompiler.backend.straight_line import Constant, Load, Operation

_SIGNED_ZEROS = {casadi.OP_ATAN2, casadi.OP_COPYSIGN}  # they tell -0 from 0, which moved signs may exchange
_FEW = 100  # operations below which pairs are not looked for
_SAVED = 0.1  # of the operations: with less, the plain text is all there is


def print_pairs(
    routine: Routine, *, function_name: str, real: Real, sizes: Mapping[str, str], static: bool = False
) -> str:
    """The C definition over pairs, empty where pairs would not pay."""
    codes = {value.code for value in routine.program.values if isinstance(value, Operation)}
    if routine.operations < _FEW or real != "double" or codes & _SIGNED_ZEROS:
        return ""
    values = signed_values(routine.program)
    pairing = find_pairs(values)
    if pairing.saved < _SAVED * routine.operations:
        return ""
    line = paired_line(routine.program, values, pairing)
    computed = [i.operands if isinstance(i, COMPUTED) else None for i in line.instructions]
    count = sum(below is not None for below in computed)
    division = divide_order(computed, PART if routine.operations > LONG else max(count, 1))
    printer = _Printer(routine, line, division, CReal(real))
    return part_functions(
        routine, function_name, real, sizes, printer.bodies(), f"pair w[{max(division.work, 1)}]", static=static
    )


class _Printer:
    def __init__(self, routine: Routine, line: PairedLine, division: Division, real: CReal) -> None:
        self._routine, self._line, self._division, self._real = routine, line, division, real
        self._prefix = local_prefix([*(a.name for a in (*routine.inputs, *routine.outputs)), "w"])
        self._stores: dict[int, list[str]] = {}

    def bodies(self) -> list[list[str]]:
        """The statements of each part; those of a short routine store last, so that outputs may overlap inputs."""
        at: dict[int, list[int]] = {}
        for number, store in enumerate(self._line.stores):
            at.setdefault(store.value, []).append(number)
        later: list[int] = []
        bodies = []
        for members in self._division.parts:
            lines: list[str] = []
            own = set(members)
            for index in members:
                lines += self._loaded(index, own)
                lines.append(self._definition(index, own))
                if index in self._division.slot:
                    lines.append(self._kept(index))
                if len(self._division.parts) > 1:
                    lines += [self._store(number, own) for number in at.get(index, [])]
                else:
                    later += at.get(index, [])
            bodies.append(lines)
        instructions = self._line.instructions
        later += [k for k, s in enumerate(self._line.stores) if not isinstance(instructions[s.value], COMPUTED)]
        bodies[-1] += [self._store(number, set(self._division.parts[-1])) for number in later]
        return bodies

    def _loaded(self, index: int, own: set[int]) -> list[str]:
        """Names for the loads that an instruction is the first of its part to use."""
        lines = []
        for operand in self._line.instructions[index].operands:  # type: ignore[union-attr]
            load = self._line.instructions[operand]
            if isinstance(load, PairLoad) and operand not in own:
                lines.append(f"const pair {self._name(operand)} = {self._pair_load(load)};")
                own.add(operand)
        return lines

    def _definition(self, index: int, own: set[int]) -> str:
        instruction = self._line.instructions[index]
        kind = "pair" if isinstance(instruction, PAIRS) else self._real.name
        return f"const {kind} {self._name(index)} = {self._text(instruction, own)};"

    def _name(self, index: int) -> str:
        """Of a local; loads are named by their places, all else by rank, so that no number of the robot matters."""
        load = self._line.instructions[index]
        if isinstance(load, PairLoad):
            return f"{self._prefix}{load.argument}_{load.positions[0]}_{load.positions[1]}"
        return f"{self._prefix}{self._division.rank[index]}"

    def _text(self, instruction: Instruction, own: set[int]) -> str:
        if isinstance(instruction, Join):
            first, second = (self._operand(operand, own).text for operand in instruction.operands)
            return f"both({first}, {second})"
        if isinstance(instruction, Lane):
            text = f"{self._operand(instruction.operands[0], own).text}[{instruction.lane}]"
            return text if instruction.sign > 0 else f"-{text}"
        assert isinstance(instruction, Operation | PairOperation)
        operands = tuple(self._operand(operand, own) for operand in instruction.operands)
        if isinstance(instruction, Operation):
            return self._real.as_real(self._real.operation(instruction.code, operands)).text
        return self._pair_operation(instruction.code, operands)

    def _pair_operation(self, code: int, operands: tuple[Expression, ...]) -> str:
        if code == casadi.OP_TWICE:
            return f"{operands[0].text} + {operands[0].text}"
        if code == casadi.OP_INV:
            return f"both(1.0, 1.0) / {operands[0].text}"
        return self._real.operation(code, operands).text

    def _operand(self, index: int, own: set[int]) -> Expression:
        instruction = self._line.instructions[index]
        if isinstance(instruction, Constant):
            return self._real.literal(instruction.value)
        if isinstance(instruction, Load):
            return Expression(self._input(instruction.argument, instruction.position), atomic=True)
        if isinstance(instruction, PairConstant):
            first, second = (self._real.literal(number).text for number in instruction.numbers)
            return Expression(f"both({first}, {second})", atomic=True)
        if isinstance(instruction, PairLoad) and index not in own:
            return Expression(self._pair_load(instruction), atomic=True)
        if index in own:
            return Expression(self._name(index), atomic=True)
        place = f"w[{self._division.slot[index]}]"
        return Expression(place if isinstance(instruction, PAIRS) else f"{place}[0]", atomic=True)

    def _pair_load(self, load: PairLoad) -> str:
        first, second = load.positions
        if second == first + 1:
            return f"next_two(&{self._input(load.argument, first)})"
        return f"both({self._input(load.argument, first)}, {self._input(load.argument, second)})"

    def _input(self, argument: int, position: int) -> str:
        return f"{self._routine.inputs[argument].name}[{position}]"

    def _kept(self, index: int) -> str:
        lane = "" if isinstance(self._line.instructions[index], PAIRS) else "[0]"
        return f"w[{self._division.slot[index]}]{lane} = {self._name(index)};"

    def _store(self, number: int, own: set[int]) -> str:
        store = self._line.stores[number]
        name, value = self._routine.outputs[store.argument].name, self._operand(store.value, own).text
        if isinstance(store, PairStore):
            return f"put_two(&{name}[{store.positions[0]}], {value});"
        return f"{name}[{store.position}] = {value};"
