"""A routine's values up to sign: what two mirrored limbs compute is the same program but for signs.

Every value is plus or minus a node; negations vanish into the signs that a node's operands carry.  Two nodes have the
same shape when their operations agree all the way down, whatever their loads, constants and signs are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi

from robocompiler.backend.straight_line import Load, Operation, StraightLine

LEAF_LOAD, LEAF_CONSTANT, SUM = -1, -2, -3  # kinds besides CasADi's codes; SUM is + and - alike
_COMMUTE = (SUM, casadi.OP_MUL)


class Node(NamedTuple):
    """kind: SUM, a leaf, or a CasADi operation; operands: (node, the sign that it enters with), sorted by shape where
    the operation commutes; value: the program's value that the node stands for; turns: whether its two operands have
    one shape and may change places."""

    kind: int
    operands: tuple[tuple[int, int], ...]
    value: int
    turns: bool


@dataclass(frozen=True)
class SignedValues:
    """nodes in order of evaluation; place: (node, sign) of each value of the program; shape: equal for nodes of one
    shape; height: operations on the longest way to a leaf."""

    nodes: tuple[Node, ...]
    place: tuple[tuple[int, int], ...]
    shape: tuple[int, ...]
    height: tuple[int, ...]

    def is_leaf(self, node: int) -> bool:
        """Whether a node is a load or a constant."""
        return self.nodes[node].kind in (LEAF_LOAD, LEAF_CONSTANT)


def signed_values(program: StraightLine) -> SignedValues:
    """The nodes of a program."""
    nodes: list[Node] = []
    place: list[tuple[int, int]] = []
    shapes: dict[tuple[int, ...], int] = {}
    shape: list[int] = []
    height: list[int] = []

    def add(kind: int, operands: tuple[tuple[int, int], ...], key: tuple[int, ...], turns: bool = False) -> None:
        nodes.append(Node(kind, operands, len(place), turns))
        place.append((len(nodes) - 1, 1))
        shape.append(shapes.setdefault(key, len(shapes)))
        height.append(1 + max((height[operand] for operand, _ in operands), default=-1))

    for value in program.values:
        if isinstance(value, Load):
            add(LEAF_LOAD, (), (LEAF_LOAD, value.argument))
        elif not isinstance(value, Operation):
            add(LEAF_CONSTANT, (), (LEAF_CONSTANT,))
        elif value.code == casadi.OP_NEG:
            node, sign = place[value.operands[0]]
            place.append((node, -sign))
        else:
            operands = tuple(place[operand] for operand in value.operands)
            kind = SUM if value.code in (casadi.OP_ADD, casadi.OP_SUB) else value.code
            if value.code == casadi.OP_SUB:
                operands = (operands[0], (operands[1][0], -operands[1][1]))
            below = [shape[operand] for operand, _ in operands]
            turns = kind in _COMMUTE and below[0] == below[1]
            if kind in _COMMUTE and below[0] > below[1]:
                operands, below = operands[::-1], below[::-1]
            add(kind, operands, (kind, *below), turns)
    return SignedValues(tuple(nodes), tuple(place), tuple(shape), tuple(height))
