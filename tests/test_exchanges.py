"""Sizes after an exchange, found from the modules that it touches, against partitioning everything again."""

from __future__ import annotations

import numpy as np

from robocompiler.analysis.exchanges import Exchanges
from robocompiler.analysis.modules import Touch, partition


def sizes(touched: list[Touch], dependents: frozenset[int]) -> tuple[int, int, int]:
    modules = [
        frozenset().union(*(touched[c].variables for c in module)) & dependents
        for module in partition(touched, dependents)
    ]
    spread = sum(len(touch.variables & dependents) for touch in touched)
    return max(map(len, modules), default=0), sum(len(module) ** 3 for module in modules), spread


def test_every_exchange_gives_the_sizes_of_a_new_partition() -> None:
    random = np.random.default_rng(5)
    merged = split = 0
    for _ in range(60):
        columns, closures = int(random.integers(2, 14)), int(random.integers(1, 9))
        touched = [
            Touch(
                str(c), frozenset(map(int, random.choice(columns, int(random.integers(0, min(5, columns) + 1)), False)))
            )
            for c in range(closures)
        ]
        dependents = frozenset(map(int, random.choice(columns, int(random.integers(1, columns)), False)))
        exchanges = Exchanges(touched, dependents)
        assert exchanges.sizes() == sizes(touched, dependents)
        for leaving in dependents:
            for entering in set(range(columns)) - dependents:
                trial = (dependents - {leaving}) | {entering}
                found = exchanges.after(leaving, entering)
                assert found == sizes(touched, trial), (touched, dependents, leaving, entering)
                merged += found[0] > exchanges.sizes()[0]
                split += found[0] < exchanges.sizes()[0]
    assert merged > 100 and split > 100, "the exchanges join and split modules"
