"""Reordered programs: the same operations and the same bits, shorter lives, independent chains side by side."""

from __future__ import annotations

import math
import random
from pathlib import Path

import casadi
import pytest

from robocompiler.backend.ordering import REACH, ordered, ordered_program
from robocompiler.backend.routine import Routine
from robocompiler.backend.sharing import share_reciprocals
from robocompiler.backend.straight_line import Constant, Load, Operation, Store, StraightLine, without_dead_values
from robocompiler.compiler import run_front_end

MODELS = Path(__file__).resolve().parent.parent / "models"
ACTIONS = {
    casadi.OP_ADD: lambda a, b: a + b,
    casadi.OP_SUB: lambda a, b: a - b,
    casadi.OP_MUL: lambda a, b: a * b,
    casadi.OP_NEG: lambda a: -a,
    casadi.OP_SQ: lambda a: a * a,
    casadi.OP_TWICE: lambda a: 2.0 * a,
    casadi.OP_INV: lambda a: 1.0 / a if a else math.inf,
}
BINARY = (casadi.OP_ADD, casadi.OP_SUB, casadi.OP_MUL)


def results(program: StraightLine, inputs: list[list[float]]) -> dict[tuple[int, int], str]:
    """Bits of every output element; an operand that has no value yet is a KeyError."""
    at: dict[int, float] = {}
    for index, value in enumerate(program.values):
        if isinstance(value, Load):
            at[index] = inputs[value.argument][value.position]
        elif isinstance(value, Constant):
            at[index] = value.value
        else:
            at[index] = ACTIONS[value.code](*(at[operand] for operand in value.operands))
    return {(store.argument, store.position): at[store.value].hex() for store in program.stores}


def random_program(seed: int) -> StraightLine:
    """Chains and shared values; some are stored that others use too, some inputs are stored as they are."""
    rng = random.Random(seed)
    values: list[Load | Constant | Operation] = [Load(0, k) for k in range(4)]
    values += [Constant(rng.uniform(-2, 2)) for _ in range(3)]
    for _ in range(rng.choice([3, 40, 400])):
        code = rng.choice(list(ACTIONS))
        near = [rng.randrange(max(0, len(values) - rng.choice([5, 50, 500])), len(values)) for _ in range(2)]
        values.append(Operation(code, tuple(near[: 2 if code in BINARY else 1])))
    stores = [Store(0, k, rng.randrange(len(values))) for k in range(8)] + [Store(1, 0, 0), Store(1, 1, 5)]
    return without_dead_values(values, stores)


def most_alive(program: StraightLine) -> int:
    last = {o: k for k, v in enumerate(program.values) if isinstance(v, Operation) for o in v.operands}
    alive = most = 0
    ends: dict[int, int] = {}
    for index, value in enumerate(program.values):
        if isinstance(value, Operation):
            alive += index in last
            if index in last:
                ends[last[index]] = ends.get(last[index], 0) + 1
            alive -= ends.get(index, 0)
            most = max(most, alive)
    return most


def stalls(program: StraightLine) -> int:
    """Cycles that a processor waits which starts one operation a cycle in this order and has fused multiply-adds."""
    users: dict[int, list[int]] = {}
    for index, value in enumerate(program.values):
        if isinstance(value, Operation):
            for operand in value.operands:
                users.setdefault(operand, []).append(index)
    ready: dict[int, int] = {}
    cycle = waited = 0
    for index, value in enumerate(program.values):
        if not isinstance(value, Operation):
            continue
        begin = max((ready.get(operand, 0) for operand in value.operands), default=0)
        product = value.code in (casadi.OP_MUL, casadi.OP_SQ)
        if product and [program.values[user].code in BINARY[:2] for user in users.get(index, [])] == [True]:
            ready[index] = begin  # a part of the sum
            continue
        begin = max(cycle, begin)
        waited += begin - cycle
        ready[index] = begin + (4 if product else 3)
        cycle = begin + 1
    return waited


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_keep_their_operations_and_their_bits(seed: int) -> None:
    program = random_program(seed)
    again = ordered_program(program)
    assert len(again.values) == len(program.values)
    assert sorted(v.code for v in again.values if isinstance(v, Operation)) == sorted(
        v.code for v in program.values if isinstance(v, Operation)
    )
    rng = random.Random(1000 + seed)
    for _ in range(3):
        inputs = [[rng.uniform(-3, 3) for _ in range(4)]]
        assert results(again, inputs) == results(program, inputs)
    assert ordered_program(program) == again


def test_a_value_is_used_up_as_soon_as_it_can() -> None:
    # ten products of inputs, each squared at the very end
    values: list[Load | Constant | Operation] = [Load(0, k) for k in range(4)]
    values += [Operation(casadi.OP_MUL, (k % 4, (k + 1 + k // 4) % 4)) for k in range(10)]
    values += [Operation(casadi.OP_SQ, (4 + k,)) for k in range(10)]
    program = StraightLine(tuple(values), tuple(Store(0, k, 14 + k) for k in range(10)))
    assert most_alive(program) == 10
    assert most_alive(ordered_program(program)) <= 5  # as many as are on their way


def test_two_chains_run_side_by_side() -> None:
    values: list[Load | Constant | Operation] = [Load(0, 0), Load(0, 1)]
    for start in (0, 1):
        end = start
        for _ in range(20):
            values.append(Operation(casadi.OP_SQ, (end,)))
            end = len(values) - 1
    program = StraightLine(tuple(values), (Store(0, 0, 21), Store(0, 1, 41)))
    assert stalls(program) == 3 * 38  # behind every square but the two that start the chains
    assert stalls(ordered_program(program)) == 2 * 19  # two of four cycles are filled


def test_a_product_goes_with_the_only_sum_that_uses_it() -> None:
    values: list[Load | Constant | Operation] = [Load(0, k) for k in range(9)]
    values += [Operation(casadi.OP_MUL, (k, k + 1)) for k in range(8)]
    values += [Operation(casadi.OP_ADD, (9 + k, 8)) for k in range(8)]
    program = ordered_program(StraightLine(tuple(values), tuple(Store(0, k, 17 + k) for k in range(8))))
    for index, value in enumerate(program.values):
        if isinstance(value, Operation) and value.code == casadi.OP_ADD:
            assert index - 1 in value.operands


def test_work_is_not_pulled_from_far_ahead() -> None:
    # a long chain first, then many independent products: those beyond REACH wait their turn
    values: list[Load | Constant | Operation] = [Load(0, 0)]
    values += [Operation(casadi.OP_SQ, (k,)) for k in range(100)]
    values += [Operation(casadi.OP_TWICE, (0,)) for _ in range(400)]
    stores = [Store(0, k, 100 + k) for k in range(401)]
    program = ordered_program(StraightLine(tuple(values), tuple(stores)))
    squares = [k for k, v in enumerate(program.values) if isinstance(v, Operation) and v.code == casadi.OP_SQ]
    doubles = [k for k, v in enumerate(program.values) if isinstance(v, Operation) and v.code == casadi.OP_TWICE]
    assert sum(double < squares[1] for double in doubles) <= 3
    assert sum(double < squares[-1] for double in doubles) <= REACH + 100


@pytest.mark.parametrize("name", ["stewart", "excavator", "delta"])
def test_kernels_of_robots_hold_fewer_values_and_wait_less(name: str) -> None:
    mechanics = run_front_end(MODELS / f"{name}.yaml").program.mechanics
    assert mechanics is not None
    for kernel in mechanics.kernels:
        routine = share_reciprocals(Routine.of(kernel))
        if routine.operations > 500:
            again = ordered(routine)
            assert again.operations == routine.operations and again.inputs == routine.inputs
            assert most_alive(again.program) <= 1.1 * most_alive(routine.program)
            assert stalls(again.program) <= 0.3 * stalls(routine.program)
