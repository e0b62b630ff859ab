"""Prints a paired routine (`paired_line.py`): C over `pair`, a vector of two numbers that the header defines.

The same arguments and results as the plain text of the kernel, and the same rounding where nothing is fused: lanes
round as numbers do, and moved signs are exact (a zero may come out with the other sign).
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi

from robocompiler.backend.c_operations import INFIX, CReal, Expression
from robocompiler.backend.options import Real
from robocompiler.backend.paired_line import (
    COMPUTED,
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
_PAIR_TEXTS = {
    casadi.OP_NEG: "-{0}",
    casadi.OP_SQ: "{0} * {0}",
    casadi.OP_TWICE: "{0} + {0}",
    casadi.OP_INV: "both(1.0, 1.0) / {0}",
}
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
        self._routine, self._instructions, self._stores = routine, line.instructions, line.stores
        self._division, self._real = division, real
        self._prefix = local_prefix([*(a.name for a in (*routine.inputs, *routine.outputs)), "w"])
        self._at_hand: dict[int, str] = {}  # texts that are the same in every part

    def bodies(self) -> list[list[str]]:
        """The statements of each part; those of a short routine store last, so that outputs may overlap inputs."""
        single = len(self._division.parts) == 1
        at: dict[int, list[int]] = {}
        for number, store in enumerate(self._stores):
            at.setdefault(store.value, []).append(number)
        bodies, local = [], dict[int, str]()
        for members in self._division.parts:
            lines: list[str] = []
            local = {}
            for index in members:
                lines += self._statements(index, local)
                if not single:
                    lines += [self._store(number, local) for number in at.get(index, [])]
            bodies.append(lines)
        computed = {index for members in self._division.parts for index in members}
        later = [k for k, store in enumerate(self._stores) if single or store.value not in computed]
        bodies[-1] += [self._store(number, local) for number in later]
        return bodies

    def _statements(self, index: int, local: dict[int, str]) -> list[str]:
        """What computes an instruction: names for loads that it is the first of its part to use, itself, its place."""
        instructions, prefix = self._instructions, self._prefix
        instruction = instructions[index]
        lines = []
        operands: tuple[int, ...] = instruction.operands  # type: ignore[union-attr]
        for operand in operands:
            load = instructions[operand]
            if type(load) is PairLoad and operand not in local:
                first, second = load.positions
                # named by their places, all else by rank, so that no number of the robot matters
                local[operand] = f"{prefix}{load.argument}_{first}_{second}"
                lines.append(f"const pair {local[operand]} = {self._pair_load(load)};")
        texts = [local[operand] if operand in local else self._elsewhere(operand) for operand in operands]
        name = local[index] = f"{prefix}{self._division.rank[index]}"
        kind = type(instruction)
        single = kind is Operation or kind is Lane
        lines.append(f"const {self._real.name if single else 'pair'} {name} = {self._text(instruction, texts)};")
        if index in self._division.slot:
            lines.append(f"w[{self._division.slot[index]}]{'[0]' if single else ''} = {name};")
        return lines

    def _text(self, instruction: Instruction, texts: list[str]) -> str:
        if isinstance(instruction, Operation | PairOperation):
            sign = INFIX.get(instruction.code)
            if sign:
                return f"{texts[0]} {sign} {texts[1]}"
            if isinstance(instruction, Operation):
                operands = tuple(Expression(text, atomic=True) for text in texts)
                return self._real.as_real(self._real.operation(instruction.code, operands)).text
            return _PAIR_TEXTS[instruction.code].format(texts[0])
        if isinstance(instruction, Join):
            return f"both({texts[0]}, {texts[1]})"
        assert isinstance(instruction, Lane)
        return f"{'' if instruction.sign > 0 else '-'}{texts[0]}[{instruction.lane}]"

    def _elsewhere(self, index: int) -> str:
        """The text of a value that no local of this part holds."""
        text = self._at_hand.get(index)
        if text is None:
            text = self._at_hand[index] = self._text_elsewhere(self._instructions[index], index)
        return text

    def _text_elsewhere(self, instruction: Instruction, index: int) -> str:
        if isinstance(instruction, Constant):
            return self._real.literal(instruction.value).text
        if isinstance(instruction, Load):
            return self._input(instruction.argument, instruction.position)
        if isinstance(instruction, PairConstant):
            first, second = (self._real.literal(number).text for number in instruction.numbers)
            return f"both({first}, {second})"
        if isinstance(instruction, PairLoad):
            return self._pair_load(instruction)
        return f"w[{self._division.slot[index]}]{'[0]' if isinstance(instruction, Operation | Lane) else ''}"

    def _pair_load(self, load: PairLoad) -> str:
        first, second = load.positions
        if second == first + 1:
            return f"next_two(&{self._input(load.argument, first)})"
        return f"both({self._input(load.argument, first)}, {self._input(load.argument, second)})"

    def _input(self, argument: int, position: int) -> str:
        return f"{self._routine.inputs[argument].name}[{position}]"

    def _store(self, number: int, local: dict[int, str]) -> str:
        store = self._stores[number]
        value = local[store.value] if store.value in local else self._elsewhere(store.value)
        name = self._routine.outputs[store.argument].name
        if isinstance(store, PairStore):
            return f"put_two(&{name}[{store.positions[0]}], {value});"
        return f"{name}[{store.position}] = {value};"
