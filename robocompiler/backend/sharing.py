"""Rewrites of instruction lists that cost nothing in accuracy and save time: shared trigonometry, shared reciprocals.

Every mechanical kernel needs the sines and cosines of the same joint angles.  `share_trigonometry` takes them out of
all kernels: one routine gives the angles, one loop evaluates their sines and cosines, and the kernels read those as one
more input.  A division takes several times as long as a product, and elimination divides whole rows by one pivot:
`share_reciprocals` divides once and multiplies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi

from robocompiler.backend.c_operations import number_of
from robocompiler.backend.routine import Routine
from robocompiler.backend.straight_line import (
    Constant,
    Load,
    Operation,
    Store,
    StraightLine,
    Value,
    without_dead_values,
)
from robocompiler.symbolic.kernel import Argument

TRIGONOMETRY = "t"  # name of the shared input: sines of all angles, then their cosines
_DEPTH = 4  # operations between the coordinates and an angle
_CODES = (casadi.OP_SIN, casadi.OP_COS)

Key = tuple[object, ...]  # an expression of coordinates and parameters, the same in every kernel


@dataclass(frozen=True)
class SharedTrigonometry:
    """angles: q, p -> x, None where no kernel has any; routines: the kernels, reading `t` (2 * count) for them."""

    angles: Routine | None
    count: int
    routines: tuple[Routine, ...]


def share_trigonometry(routines: Sequence[Routine]) -> SharedTrigonometry:
    """Take sin and cos of coordinates and parameters out of all routines."""
    keys = [_angle_keys(routine) for routine in routines]
    places: dict[Key, int] = {}
    for found in keys:
        for key, _ in found.values():
            places.setdefault(key, len(places))
    if not places:
        return SharedTrigonometry(None, 0, tuple(routines))
    count = len(places)
    shared = Argument(TRIGONOMETRY, 2 * count, "sines, then cosines, of the angles")
    rewritten = tuple(_reading(routine, found, places, shared) for routine, found in zip(routines, keys, strict=True))
    return SharedTrigonometry(_angles(routines, tuple(places)), count, rewritten)


def _angle_keys(routine: Routine) -> dict[int, tuple[Key, bool]]:
    """{value index of a sine or cosine: (its angle without a sign, whether the sign was minus)}."""
    simple: dict[int, tuple[Key, int]] = {}
    found: dict[int, tuple[Key, bool]] = {}
    for index, value in enumerate(routine.program.values):
        if isinstance(value, Load):
            name = routine.inputs[value.argument].name
            if name in ("q", "p"):
                simple[index] = ((name, value.position), 0)
        elif isinstance(value, Constant):
            simple[index] = (("constant", value.value.hex()), 0)
        elif all(operand in simple for operand in value.operands):
            operands = [simple[operand] for operand in value.operands]
            depth = 1 + max(depth for _, depth in operands)
            if value.code in _CODES:
                key, minus = operands[0][0], False
                if key[0] == casadi.OP_NEG:
                    key, minus = key[1], True  # type: ignore[assignment]
                found[index] = (key, minus)
            elif depth <= _DEPTH:
                simple[index] = ((value.code, *[key for key, _ in operands]), depth)
    return found


def angular_values(routine: Routine) -> set[int]:
    """The operations that the angles are made of whose sines and cosines `share_trigonometry` takes out."""
    values = routine.program.values
    turns = [value.operands[0] for value in values if type(value) is Operation and value.code in _CODES]
    found: set[int] = set()
    if not turns:
        return found
    simple = _simple_values(routine)
    waiting = [index for index in turns if index in simple]
    while waiting:
        index = waiting.pop()
        value = values[index]
        if isinstance(value, Operation) and index not in found:
            found.add(index)
            waiting += value.operands
    return found


def _simple_values(routine: Routine) -> dict[int, int]:
    """{index: operations down to its inputs} of what may be an angle: a little of coordinates, parameters, numbers."""
    depth: dict[int, int] = {}
    for index, value in enumerate(routine.program.values):
        if isinstance(value, Operation):
            if value.code not in _CODES and depth.keys() >= set(value.operands):
                own = 1 + max([depth[operand] for operand in value.operands])
                if own <= _DEPTH:
                    depth[index] = own
        elif isinstance(value, Constant) or routine.inputs[value.argument].name in ("q", "p"):
            depth[index] = 0
    return depth


def _reading(routine: Routine, found: dict[int, tuple[Key, bool]], places: dict[Key, int], shared: Argument) -> Routine:
    """The routine with its sines and cosines loaded from `shared`, which follows q; unchanged where it has none."""
    if not found:
        return routine
    at = 1 + next(k for k, argument in enumerate(routine.inputs) if argument.name == "q")
    inputs = (*routine.inputs[:at], shared, *routine.inputs[at:])
    rows = _Rows()
    for index, value in enumerate(routine.program.values):
        if isinstance(value, Load):
            rows.take(index, Load(value.argument + (value.argument >= at), value.position))
        elif index in found and isinstance(value, Operation):
            key, minus = found[index]
            cosine = value.code == casadi.OP_COS
            loaded = rows.load(at, places[key] + (len(places) if cosine else 0))
            negative = minus and not cosine
            rows.number[index] = rows.add(Operation(casadi.OP_NEG, (loaded,))) if negative else loaded
        else:
            rows.take(index, value)
    return replace(routine, inputs=inputs, program=rows.program(routine.program.stores))


def _angles(routines: Sequence[Routine], keys: Sequence[Key]) -> Routine:
    """x = the angles, as a routine of q and the parameters."""
    inputs = next(tuple(argument for argument in routine.inputs if argument.name in ("q", "p")) for routine in routines)
    names = [argument.name for argument in inputs]
    rows = _Rows()

    def build(key: Key) -> int:
        head = key[0]
        if head in ("q", "p"):
            return rows.load(names.index(str(head)), int(key[1]))  # type: ignore[call-overload]
        if head == "constant":
            return rows.add(Constant(number_of(str(key[1]))))
        return rows.add(Operation(int(head), tuple(build(operand) for operand in key[1:])))  # type: ignore[call-overload, arg-type]

    stores = tuple(Store(0, place, build(key)) for place, key in enumerate(keys))
    program = _without_dead(StraightLine(tuple(rows.values), stores))
    output = Argument("x", len(keys), "rad")
    return Routine("angles", "Angles whose sines and cosines the kernels share.", inputs, (output,), program)


def share_reciprocals(routine: Routine) -> Routine:
    """Two or more divisions by one value become one reciprocal and products (each within one more rounding)."""
    values = routine.program.values
    divisors = Counter(
        value.operands[1] if value.code == casadi.OP_DIV else value.operands[0]
        for value in values
        if isinstance(value, Operation) and value.code in (casadi.OP_DIV, casadi.OP_INV)
    )
    repeated = {index for index, uses in divisors.items() if uses > 1 and not isinstance(values[index], Constant)}
    if not repeated:
        return routine
    rows, inverse = _Rows(), dict[int, int]()
    for index, value in enumerate(values):
        if isinstance(value, Operation) and value.code in (casadi.OP_DIV, casadi.OP_INV):
            divisor = value.operands[-1]
            if divisor in repeated:
                if divisor not in inverse:
                    inverse[divisor] = rows.add(Operation(casadi.OP_INV, (rows.number[divisor],)))
                own = inverse[divisor]
                if value.code == casadi.OP_DIV:
                    own = rows.add(Operation(casadi.OP_MUL, (rows.number[value.operands[0]], own)))
                rows.number[index] = own
                continue
        rows.take(index, value)
    return replace(routine, program=rows.program(routine.program.stores))


class _Rows:
    """A new instruction list, with the new index of every old one."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.number: dict[int, int] = {}
        self._loads: dict[tuple[int, int], int] = {}

    def add(self, value: Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def load(self, argument: int, position: int) -> int:
        if (argument, position) not in self._loads:
            self._loads[argument, position] = self.add(Load(argument, position))
        return self._loads[argument, position]

    def take(self, index: int, value: Value) -> None:
        """Copy an instruction."""
        if isinstance(value, Load):
            self.number[index] = self.load(value.argument, value.position)
        elif isinstance(value, Operation):
            operands = tuple(self.number[operand] for operand in value.operands)
            self.number[index] = self.add(Operation(value.code, operands))
        else:
            self.number[index] = self.add(value)

    def program(self, stores: Sequence[Store]) -> StraightLine:
        moved = tuple(Store(store.argument, store.position, self.number[store.value]) for store in stores)
        return _without_dead(StraightLine(tuple(self.values), moved))


def _without_dead(program: StraightLine) -> StraightLine:
    return without_dead_values(list(program.values), list(program.stores))
