"""Finds values that can be computed two at a time: limbs of one shape side by side in the two lanes of a register.

Nodes of the same shape (`signed_values.py`) never depend on each other, since they have the same height, and neither do
pairs of such nodes among themselves: any choice of pairs can be evaluated.  What a choice costs is moving values into
lanes and out of them, so pairs are found from the top: two large expressions of one shape that share the fewest inputs
are matched operand by operand down to the leaves.  A left and a right leg, or two legs of a platform, come out whole.
Islands of pairs that cost more moves than they save operations are given up again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import casadi

from robocompiler.backend.signed_values import LEAF_CONSTANT, LEAF_LOAD, SUM, SignedValues

Pair = tuple[int, int]  # two nodes of one shape, for the two lanes

PAIRED = (SUM, casadi.OP_MUL, casadi.OP_DIV, casadi.OP_SQ, casadi.OP_INV, casadi.OP_TWICE)
_LOOKED_AT = 8  # partners that are compared for one node
_ROUNDS = 2  # of giving up islands: each changes what its neighbours cost
_JOIN, _LANE, _SPREAD, _FETCH = (
    1.0,
    0.5,
    0.7,
    0.5,
)  # moves, in operations: into lanes, out of one, one value to both, loads


Entries = list[tuple[Pair, Pair]]  # operands of the two nodes of a pair, with their signs, position by position


@dataclass(frozen=True)
class Pairing:
    """of: the pair of each node that has one; entries: the operands of each pair; saved: operations less moves."""

    of: Mapping[int, Pair]
    entries: Mapping[Pair, Entries]
    saved: float


def find_pairs(values: SignedValues) -> Pairing:
    """The pairs of a program that are worth it."""
    of = _matched(values)
    entries = {pair: _operands(values, of, pair) for node, pair in of.items() if node == pair[0]}
    for _ in range(_ROUNDS):
        moves = _moves(values, of, entries)
        poor = _poor_islands(of, entries, moves)
        if not poor:
            break
        of = {node: pair for node, pair in of.items() if pair not in poor}
        entries = {pair: own for pair, own in entries.items() if pair not in poor}
    else:
        moves = _moves(values, of, entries)
    return Pairing(of, entries, len(entries) - sum(moves.values()))


def _operands(values: SignedValues, of: Mapping[int, Pair], pair: Pair) -> Entries:
    """The entries of a pair; operands that may change places do so where pairs meet then."""
    nodes = values.nodes
    first, second = nodes[pair[0]].operands, nodes[pair[1]].operands
    if nodes[pair[0]].turns:
        (a, _), (b, _) = first
        (c, _), (d, _) = second
        if _together(of, a, d) + _together(of, b, c) > _together(of, a, c) + _together(of, b, d):
            second = second[::-1]
    return [((a, b), (s, t)) for (a, s), (b, t) in zip(first, second, strict=True)]


def _together(of: Mapping[int, Pair], a: int, b: int) -> bool:
    return a == b or of.get(a) == (a, b)


def _matched(values: SignedValues) -> dict[int, Pair]:
    support = _supports(values)
    classes: dict[int, list[int]] = defaultdict(list)
    for node, found in enumerate(values.nodes):
        if found.kind in PAIRED:
            classes[values.shape[node]].append(node)
    pairs: dict[int, Pair] = {}
    for members in sorted(classes.values(), key=lambda nodes: (-values.height[nodes[0]], nodes[0])):
        free = [node for node in members if node not in pairs]
        while len(free) > 1:
            first = free.pop(0)
            shared = [(support[first] & support[other]).bit_count() for other in free[:_LOOKED_AT]]
            second = free.pop(shared.index(min(shared)))
            _match(values, pairs, (first, second))
            free = [node for node in free if node not in pairs]
    return pairs


def _supports(values: SignedValues) -> list[int]:
    """The loads that each node depends on, as bits."""
    support: list[int] = []
    loads = 0
    for node in values.nodes:
        bits = 0
        if node.kind == LEAF_LOAD:
            bits, loads = 1 << loads, loads + 1
        for operand, _ in node.operands:
            bits |= support[operand]
        support.append(bits)
    return support


def _match(values: SignedValues, pairs: dict[int, Pair], root: Pair) -> None:
    """Pair two nodes of one shape, and their operands below them as far as these are still free."""
    waiting = [root]
    while waiting:
        pair = waiting.pop()
        a, b = pair
        if a == b or a in pairs or b in pairs or values.nodes[a].kind not in PAIRED:
            continue
        pairs[a] = pairs[b] = pair
        waiting += [operands for operands, _ in _operands(values, pairs, pair)]


def _poor_islands(of: Mapping[int, Pair], entries: Mapping[Pair, Entries], moves: Mapping[Pair, float]) -> set[Pair]:
    """Pairs that reach each other through operands make an island; those of islands with more moves than operations."""
    parent = {pair: pair for pair in entries}

    def root(pair: Pair) -> Pair:
        while parent[pair] is not pair:
            parent[pair] = pair = parent[parent[pair]]
        return pair

    for pair, own in entries.items():
        for operands, _ in own:
            if of.get(operands[0]) == operands:
                parent[root(of[operands[0]])] = root(pair)
    gain: dict[Pair, float] = defaultdict(float)
    for pair in entries:
        gain[root(pair)] += 1.0 - moves[pair]
    return {pair for pair in entries if gain[root(pair)] <= 0.0}


def _moves(values: SignedValues, of: Mapping[int, Pair], entries: Mapping[Pair, Entries]) -> dict[Pair, float]:
    """What each pair costs in moves: of operands that are no pair, and of its lanes to users that are no pair."""
    cost = dict.fromkeys(entries, 0.0)
    alone: set[int] = set()  # nodes that are needed as single numbers
    joined: set[Pair] = set()
    for pair, own in entries.items():
        for operands, _ in own:
            if of.get(operands[0]) == operands or operands in joined:
                continue
            joined.add(operands)
            cost[pair] += _entrance(values, operands)
            alone.update(operands)
    for node, found in enumerate(values.nodes):
        if node not in of:
            alone.update(operand for operand, _ in found.operands)
    for pair in cost:
        cost[pair] += _LANE * sum(node in alone for node in pair)
    return cost


def _entrance(values: SignedValues, operands: Pair) -> float:
    kinds = {values.nodes[node].kind for node in operands}
    if kinds == {LEAF_CONSTANT}:
        return 0.0
    if operands[0] == operands[1]:
        return _SPREAD
    return _FETCH if kinds == {LEAF_LOAD} else _JOIN
