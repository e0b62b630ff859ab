"""A routine with places for its numbers: what its printed text depends on, and nothing else.

An edit of a record mostly changes numbers of a routine.  Its text, literals aside, is decided by the instruction list
and by the numbers that belong to equations (0.5, 1.0, ...).  Here all others become places `@0@`, `@1@`, ..., and
such a routine is printed as any other; `fill` puts the literals in.

Which numbers are equal is no business of a text either: two legs may have the same lengths today.  So each operation
gets its constants for itself.  Some stay where they are: those of expressions that may become angles, since equal
angles share their sines (`sharing.py`); those that are stored, in this order; and the first one, since pairing orders
operands by which kind comes first.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from robocompiler.backend.c_operations import PLAIN_NUMBERS, Place
from robocompiler.backend.routine import Routine
from robocompiler.backend.sharing import angular_values
from robocompiler.backend.straight_line import Constant, Load, Operation, Store, StraightLine, Value

_MARK = "@"  # no character of C
_LOAD, _PLACE, _PLAIN, _STORE = -1, -2, -3, -4  # beside CasADi's codes, in `code`


class Placed(NamedTuple):
    """routine: with places; numbers: what belongs there, in order; code: equal for equal programs only."""

    routine: Routine
    numbers: tuple[float, ...]
    code: bytes


def with_places(routine: Routine) -> Placed:
    """`routine` with places for the numbers that do not belong to its equations.

    Infinities and nan stay too: their text is no literal.
    """
    builder = _Builder(routine)
    program = builder.program()
    code = f"{len(builder.code)} {' '.join(builder.plain)}\n".encode() + array("q", builder.code).tobytes()
    return Placed(replace(routine, program=program), tuple(builder.numbers), code)


class _Builder:
    def __init__(self, routine: Routine) -> None:
        self.values: list[Value] = []
        self.numbers: list[float] = []
        self.code: list[int] = []
        self.plain: list[str] = []
        self._old = routine.program
        self._angular = angular_values(routine)

    def program(self) -> StraightLine:
        """The program with places; fills the other fields."""
        code, values, angular = self.code, self.values, self._angular
        kept, first = self._kept()
        apart: dict[int, float] = {}  # constants that each user gets for itself
        number: dict[int, int] = {}
        for index, value in enumerate(self._old.values):
            if type(value) is Operation:
                new = value.operands
                if index in angular:
                    new = tuple([number[k] for k in new])
                else:
                    # its first user alone keeps the first one
                    new = tuple([self._constant(apart[k]) if k in apart and k != first else number[k] for k in new])
                    if first in value.operands:
                        first = -1
                number[index] = len(values)
                code += (value.code, len(new), *new)
                values.append(Operation(value.code, new))
            elif type(value) is Load:
                number[index] = len(values)
                code += (_LOAD, value.argument, value.position)
                values.append(value)
            elif isinstance(value, Constant):
                if index in kept:
                    number[index] = self._constant(value.value)
                apart[index] = value.value
        stores = tuple([Store(store.argument, store.position, number[store.value]) for store in self._old.stores])
        for store in stores:
            code += (_STORE, *store)
        return StraightLine(tuple(values), stores)

    def _kept(self) -> tuple[set[int], int]:
        """Constants that stay where they are, and the first of those that other operations than of angles use."""
        values = self._old.values
        constants = {index for index, value in enumerate(values) if type(value) is Constant}
        kept = {store.value for store in self._old.stores}
        used: set[int] = set()
        for index, value in enumerate(values):
            if type(value) is Operation:
                (kept if index in self._angular else used).update(value.operands)
        first = min(used & constants, default=-1)
        return kept & constants | {first}, first

    def _constant(self, number: float) -> int:
        self.values.append(self._placed(number))
        return len(self.values) - 1

    def _placed(self, number: float) -> Constant:
        if abs(number) in PLAIN_NUMBERS or not math.isfinite(number):
            self.code += (_PLAIN, len(self.plain))
            self.plain.append(number.hex())
            return Constant(number)
        self.code += (_PLACE, len(self.numbers))
        self.numbers.append(number)
        return Constant(Place(len(self.numbers) - 1))


def fill(text: str, literals: Sequence[str]) -> str:
    """`text` of a routine with places, with these literals there."""
    pieces = text.split(_MARK)
    pieces[1::2] = [literals[int(place)] for place in pieces[1::2]]
    return "".join(pieces)
