"""A routine as instructions on single numbers and on pairs of numbers: the schedule of what `pairs.py` found.

A pair holds its two nodes times a sign each, `held`: products multiply signs, and a sum needs its operands' signs to
agree lane by lane up to one common sign, or one operand is first multiplied by (1, -1).  So limbs that mirror each
other cost no negations.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import casadi

from robocompiler.backend.pairs import Pair, Pairing
from robocompiler.backend.signed_values import LEAF_CONSTANT, LEAF_LOAD, SUM, SignedValues
from robocompiler.backend.straight_line import Constant, Load, Operation, Store, StraightLine


class PairLoad(NamedTuple):
    """Elements of input `argument`."""

    argument: int
    positions: tuple[int, int]


class PairConstant(NamedTuple):
    """Two literals."""

    numbers: tuple[float, float]


class Join(NamedTuple):
    """A pair of two numbers."""

    operands: tuple[int, int]


class PairOperation(NamedTuple):
    """A CasADi operation on pairs."""

    code: int
    operands: tuple[int, ...]


class Lane(NamedTuple):
    """One number of a pair, negated where `sign` is -1."""

    operands: tuple[int]
    lane: int
    sign: int


class PairStore(NamedTuple):
    """Output elements `positions` of `argument` take the numbers of a pair."""

    argument: int
    positions: tuple[int, int]
    value: int


Instruction = Load | Constant | Operation | PairLoad | PairConstant | Join | PairOperation | Lane
PAIRS = (PairLoad, PairConstant, Join, PairOperation)  # kinds whose result is a pair
COMPUTED = (Operation, Join, PairOperation, Lane)  # kinds that take an instruction


@dataclass(frozen=True)
class PairedLine:
    """`instructions` in evaluation order, operands before users; each output element is stored once."""

    instructions: tuple[Instruction, ...]
    stores: tuple[Store | PairStore, ...]


def paired_line(program: StraightLine, values: SignedValues, pairing: Pairing) -> PairedLine:
    """The program with its pairs computed as such, otherwise in its own order."""
    schedule = _Schedule(program, values, pairing)
    for node in range(len(values.nodes)):
        if not values.is_leaf(node):
            schedule.require(node)
        schedule.store(node)
    return PairedLine(tuple(schedule.instructions), tuple(schedule.stores))


_Key = int | Pair  # a node as a number, or operands as a pair


class _Schedule:
    def __init__(self, program: StraightLine, values: SignedValues, pairing: Pairing) -> None:
        self.instructions: list[Instruction] = []
        self.stores: list[Store | PairStore] = []
        self._program, self._values = program, values
        self._of, self._entries = pairing.of, pairing.entries
        self._at: dict[_Key, int] = {}
        self._held: dict[Pair, tuple[int, int]] = {}
        self._negated: dict[int, int] = {}
        self._places: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._where: dict[tuple[int, int], tuple[int, int]] = {}
        self._done: set[tuple[int, int]] = set()
        for store in program.stores:
            node, sign = values.place[store.value]
            self._places[node].append((store.argument, store.position, sign))
            self._where[store.argument, store.position] = (node, sign)

    def require(self, node: int) -> None:
        """Compute a node, or its pair, and whatever that needs."""
        waiting: list[_Key] = [self._of.get(node, node)]
        while waiting:
            key = waiting[-1]
            missing = [below for below in self._needs(key) if below not in self._at]
            if key in self._at:
                waiting.pop()
            elif missing:
                waiting += missing[::-1]
            else:
                self._at[key] = self._compute(key)
                waiting.pop()

    def store(self, node: int) -> None:
        """Store a node wherever it goes; two numbers of one pair that lie side by side are stored as one."""
        pair = self._of.get(node)
        for argument, position, sign in self._places.get(node, ()):
            if (argument, position) in self._done:
                continue
            beside = self._where.get((argument, position + 1))
            if pair and beside and beside[0] == pair[1] and node == pair[0]:
                self._done.add((argument, position + 1))
                at = self._signed(pair, (sign, beside[1]))
                self.stores.append(PairStore(argument, (position, position + 1), at))
            else:
                self.stores.append(Store(argument, position, self._number(node, sign)))

    def _needs(self, key: _Key) -> list[_Key]:
        values = self._values
        if isinstance(key, int):
            own = self._of.get(key)
            return [own] if own else [operand for operand, _ in values.nodes[key].operands]
        if self._of.get(key[0]) == key:
            return [operands for operands, _ in self._entries[key]]
        kinds = {values.nodes[node].kind for node in key}
        direct = kinds == {LEAF_CONSTANT} or (kinds == {LEAF_LOAD} and key[0] != key[1])
        return [] if direct else list(dict.fromkeys(key))

    def _compute(self, key: _Key) -> int:
        if isinstance(key, int):
            return self._single(key)
        if self._of.get(key[0]) == key:
            return self._operate(key)
        self._held[key] = (1, 1)
        first, second = (self._program.values[self._values.nodes[node].value] for node in key)
        if isinstance(first, Constant) and isinstance(second, Constant):
            return self._add(PairConstant((first.value, second.value)))
        if isinstance(first, Load) and isinstance(second, Load) and first != second:
            return self._add(PairLoad(first.argument, (first.position, second.position)))
        return self._add(Join((self._at[key[0]], self._at[key[1]])))

    def _single(self, node: int) -> int:
        own = self._of.get(node)
        if own:
            lane = own.index(node)
            return self._add(Lane((self._at[own],), lane, self._held[own][lane]))
        found = self._values.nodes[node]
        value = self._program.values[found.value]
        if not isinstance(value, Operation):
            return self._add(value)
        entered = [self._values.place[operand] for operand in value.operands]
        return self._add(Operation(value.code, tuple(self._number(below, sign) for below, sign in entered)))

    def _operate(self, pair: Pair) -> int:
        kind = self._values.nodes[pair[0]].kind
        entries = self._entries[pair]
        signs = [_times(self._held[operands], entered) for operands, entered in entries]
        operands = [self._at[operands] for operands, _ in entries]
        if kind == SUM:
            relative = _times(*signs)
            self._held[pair] = signs[0]
            if relative[0] != relative[1]:
                operands[1] = self._flipped(operands[1])
            code = casadi.OP_ADD if relative[0] > 0 else casadi.OP_SUB
            return self._add(PairOperation(code, tuple(operands)))
        self._held[pair] = (1, 1) if kind == casadi.OP_SQ else _times(*signs) if len(signs) == 2 else signs[0]
        return self._add(PairOperation(kind, tuple(operands)))

    def _flipped(self, at: int) -> int:
        """The pair with its second number negated."""
        return self._add(PairOperation(casadi.OP_MUL, (at, self._add(PairConstant((1.0, -1.0))))))

    def _signed(self, pair: Pair, signs: tuple[int, int]) -> int:
        """The nodes of a pair with these signs."""
        wanted = _times(signs, self._held[pair])
        at = self._at[pair]
        if wanted[0] != wanted[1]:
            at = self._flipped(at)
        return at if wanted[0] > 0 else self._add(PairOperation(casadi.OP_NEG, (at,)))

    def _number(self, node: int, sign: int) -> int:
        """A node as a number, with a sign."""
        if node not in self._at:  # a leaf, or a lane of a pair that is there
            self._at[node] = self._compute(node)
        at = self._at[node]
        if sign > 0:
            return at
        if at not in self._negated:
            self._negated[at] = self._add(Operation(casadi.OP_NEG, (at,)))
        return self._negated[at]

    def _add(self, instruction: Instruction) -> int:
        self.instructions.append(instruction)
        return len(self.instructions) - 1


def _times(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] * b[0], a[1] * b[1]
