"""A routine with places for its numbers: what its printed text depends on, and nothing else.

An edit of a record mostly changes numbers of a routine.  Its text, literals aside, is decided by the instruction list,
by which numbers are equal, and by the numbers that belong to equations (0.5, 1.0, ...).  Here all other numbers become
places `@0@`, `@1@`, ...; such a routine is printed as any other, and `fill` puts the literals in.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from robocompiler.backend.c_operations import PLAIN_NUMBERS, Place
from robocompiler.backend.routine import Routine
from robocompiler.backend.straight_line import Constant, Load, Operation, StraightLine, Value

_MARK = "@"  # no character of C
_LOAD, _PLACE, _PLAIN, _STORE = -1, -2, -3, -4  # beside CasADi's codes, in `code`


class Placed(NamedTuple):
    """routine: with places; numbers: what belongs there, in order; code: equal for equal instructions and stores."""

    routine: Routine
    numbers: tuple[float, ...]
    code: bytes


def with_places(routine: Routine) -> Placed:
    """`routine` with a place for every number that does not belong to its equations, equal numbers at one place.

    Numbers are equal when their bits are.  Infinities and nan stay too: their text is no literal.
    """
    values: list[Value] = []
    numbers: list[float] = []
    places: dict[str, int] = {}
    plain: list[str] = []
    flat: list[int] = []
    for value in routine.program.values:
        if isinstance(value, Operation):
            flat += (value.code, len(value.operands), *value.operands)
            values.append(value)
        elif isinstance(value, Load):
            flat += (_LOAD, value.argument, value.position)
            values.append(value)
        elif abs(value.value) in PLAIN_NUMBERS or not math.isfinite(value.value):
            flat += (_PLAIN, len(plain))
            plain.append(value.value.hex())
            values.append(value)
        else:
            index = places.setdefault(value.value.hex(), len(numbers))
            if index == len(numbers):
                numbers.append(value.value)
            flat += (_PLACE, index)
            values.append(Constant(Place(index)))
    for store in routine.program.stores:
        flat += (_STORE, store.argument, store.position, store.value)
    program = StraightLine(tuple(values), routine.program.stores)
    code = f"{len(flat)} {' '.join(plain)}\n".encode() + array("q", flat).tobytes()
    return Placed(replace(routine, program=program), tuple(numbers), code)


def fill(text: str, literals: Sequence[str]) -> str:
    """`text` of a routine with places, with these literals there."""
    pieces = text.split(_MARK)
    pieces[1::2] = [literals[int(place)] for place in pieces[1::2]]
    return "".join(pieces)
