"""Puts the operations of a routine into an order that suits a processor: the same values, bit for bit, sooner.

CasADi hands operations over as a depth-first walk from the outputs finds them.  That order has two weak sides.  A value
that could be used up at once waits for its turn while it holds a register, or a place in the first-level cache; and a
chain of operations, each of which needs the one before, stands alone, while the next chain is too far away for the
processor to see.  `_shortened` takes the first, `_interleaved` the second: list scheduling for a processor that starts
one operation a cycle, looking at most `REACH` operations ahead, so that lives do not grow long again.

The kernels of derivatives stay as they are: they have so many values alive and so much text that the second-level cache
limits them, and they came out 4 % longer and slower.

Compilers do neither for code of this kind: gcc schedules before it allots registers only where asked, and what it does
then spills more than it gains.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi

from robocompiler.backend.routine import Routine
from robocompiler.backend.straight_line import Operation, Store, StraightLine

REACH = 128
# cycles from start to result, as most processors of the last ten years have them
_LONG, _PRODUCT, _SUM = 13, 4, 3
_LATENCY = {
    casadi.OP_DIV: _LONG, casadi.OP_INV: _LONG, casadi.OP_SQRT: _LONG,
    casadi.OP_MUL: _PRODUCT, casadi.OP_SQ: _PRODUCT,
}  # fmt: skip
_SUMS = (casadi.OP_ADD, casadi.OP_SUB)


def ordered(routine: Routine) -> Routine:
    """The routine with its operations reordered, and nothing else changed."""
    return replace(routine, program=ordered_program(routine.program))


def ordered_program(program: StraightLine) -> StraightLine:
    """The same for a program: loads and constants first, then the operations."""
    graph = _Graph.of(program)
    return _reordered(program, _interleaved(program, graph, _shortened(graph)))


@dataclass(frozen=True)
class _Graph:
    """operations: their indices; below: the operations each needs; above: those that need a value, in order."""

    operations: tuple[int, ...]
    below: tuple[tuple[int, ...], ...]
    above: tuple[list[int], ...]

    @staticmethod
    def of(program: StraightLine) -> _Graph:
        operations, below = [], []
        above: tuple[list[int], ...] = tuple([] for _ in program.values)
        computed: set[int] = set()
        for index, value in enumerate(program.values):
            needed: tuple[int, ...] = ()
            if isinstance(value, Operation):
                operations.append(index)
                computed.add(index)
                needed = tuple(operand for operand in dict.fromkeys(value.operands) if operand in computed)
                for operand in needed:
                    above[operand].append(index)
            below.append(needed)
        return _Graph(tuple(operations), tuple(below), above)


def _shortened(graph: _Graph) -> list[int]:
    """An order with shorter lives: what uses a value for the last time comes as soon as it can.

    An operation that ends the life of an operand holds no more than was held before it.
    """
    below, above = graph.below, graph.above
    missing = [len(needed) for needed in below]  # operands to come; -1 for what has its place
    users = [len(using) for using in above]  # users to come,
    rest = [sum(using) for using in above]  # and the sum of their indices: where one is left, that one
    order: list[int] = []
    for first in graph.operations:
        stack = [first]
        while stack:
            index = stack.pop()
            if missing[index]:
                continue
            missing[index] = -1
            order.append(index)
            for operand in below[index]:
                users[operand] -= 1
                rest[operand] -= index
            found = []
            for user in above[index]:
                missing[user] -= 1
                if not missing[user] and any(users[operand] == 1 for operand in below[user]):
                    found.append(user)
            found += [rest[operand] for operand in below[index] if users[operand] == 1 and not missing[rest[operand]]]
            stack += sorted(found, reverse=True)
    return order


def _interleaved(program: StraightLine, graph: _Graph, order: Sequence[int]) -> list[int]:
    """An order in which independent chains lie side by side: nothing starts before its operands are there.

    Where several could start, the first in the order given does.  A product that only one sum uses goes with it, as
    the two become one fused instruction.
    """
    product = _fused(program, graph)
    inside = set(product.values())
    nodes = [index for index in order if index not in inside]
    place = [0] * len(program.values)
    for position, index in enumerate(nodes):
        place[index] = position
    below = [
        [place[operand] for operand in (_through(graph, index, product[index]) if index in product else needed)]
        for index, needed in ((index, graph.below[index]) for index in nodes)
    ]
    latency = []
    for index in nodes:
        value = program.values[index]
        assert isinstance(value, Operation)
        latency.append(_PRODUCT if index in product else _LATENCY.get(value.code, _SUM))
    scheduled: list[int] = []
    for position in _list_schedule(below, latency):
        index = nodes[position]
        if index in product:
            scheduled.append(product[index])
        scheduled.append(index)
    return scheduled


def _through(graph: _Graph, index: int, product: int) -> dict[int, None]:
    """The operations that a sum waits for, those of the product fused into it instead of the product."""
    return dict.fromkeys((*graph.below[product], *(o for o in graph.below[index] if o != product)))


def _fused(program: StraightLine, graph: _Graph) -> dict[int, int]:
    """For sums and differences: the product that nothing else uses."""
    stored = {store.value for store in program.stores}
    product = {}
    for index in graph.operations:
        value = program.values[index]
        if isinstance(value, Operation) and value.code in _SUMS:
            for operand in reversed(value.operands):
                one = program.values[operand]
                if (
                    isinstance(one, Operation)
                    and _LATENCY.get(one.code) == _PRODUCT
                    and len(graph.above[operand]) == 1
                    and operand not in stored
                ):
                    product[index] = operand
                    break
    return product


def _list_schedule(below: Sequence[Sequence[int]], latency: Sequence[int]) -> list[int]:
    """The order in which positions start, one a cycle, at most REACH beyond the first that has not started."""
    count = len(below)
    above: list[list[int]] = [[] for _ in below]
    for position, needed in enumerate(below):
        for operand in needed:
            above[operand].append(position)
    missing = [len(needed) for needed in below]
    start = [0] * count
    ready = [position for position in range(count) if not missing[position]]  # a heap, being in order
    waiting: list[tuple[int, int]] = []  # heap of cycle and position of those whose operands have started
    started = [False] * (count + 1)  # with a sentinel
    order: list[int] = []
    cycle = first = 0
    while len(order) < count:
        while waiting and waiting[0][0] <= cycle:
            heapq.heappush(ready, heapq.heappop(waiting)[1])
        if waiting and (not ready or ready[0] > first + REACH):
            cycle = waiting[0][0]
            continue
        position = heapq.heappop(ready)
        started[position] = True
        order.append(position)
        while started[first]:
            first += 1
        end = cycle + latency[position]
        cycle += 1
        for user in above[position]:
            start[user] = max(start[user], end)
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(waiting, (start[user], user))
    return order


def _reordered(program: StraightLine, order: Sequence[int]) -> StraightLine:
    values = program.values
    whole = [index for index, value in enumerate(values) if not isinstance(value, Operation)]
    number = [0] * len(values)
    for new, old in enumerate((*whole, *order)):
        number[old] = new
    moved = [values[index] for index in whole]
    for index in order:
        value = values[index]
        assert isinstance(value, Operation)
        moved.append(Operation(value.code, tuple([number[operand] for operand in value.operands])))
    return StraightLine(tuple(moved), tuple(Store(s.argument, s.position, number[s.value]) for s in program.stores))
