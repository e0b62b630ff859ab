"""What exchanging one dependent for one independent does to the modules, without partitioning everything again.

The exchange touches the module of the dependent that goes and those that the new dependent joins; all other modules
stay.  So a trial costs the size of these, whatever the size of the robot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from robocompiler.analysis.modules import Touch, partition

Sizes = tuple[int, int, int]


class Exchanges:
    """The modules of one set of dependents, and the sizes after any single exchange.

    Sizes are (unknowns of the largest module, sum of their cubes, number of times a dependent occurs in a closure).
    """

    def __init__(self, touched: Sequence[Touch], dependents: frozenset[int]) -> None:
        self._touched = touched
        self._dependents = dependents
        self._modules = partition(touched, dependents)
        self._of_closure = {closure: number for number, module in enumerate(self._modules) for closure in module}
        self._size = [len(_unknowns(touched, module, dependents)) for module in self._modules]
        self._sizes = Counter(self._size)
        self._cubes = sum(size**3 for size in self._size)
        self._users: dict[int, list[int]] = {}
        for closure, touch in enumerate(touched):
            for column in touch.variables:
                self._users.setdefault(column, []).append(closure)
        self._spread = sum(len(touch.variables & dependents) for touch in touched)

    def sizes(self) -> Sizes:
        """Of the dependents as they are."""
        return max(self._size, default=0), self._cubes, self._spread

    def after(self, leaving: int, entering: int) -> Sizes:
        """Of the dependents without `leaving` and with `entering`."""
        users, joined = self._users.get(leaving, []), self._users.get(entering, [])
        changed = sorted({self._of_closure[closure] for closure in (*users, *joined)})
        dependents = (self._dependents - {leaving}) | {entering}
        closures = [self._touched[closure] for number in changed for closure in self._modules[number]]
        fresh = [len(_unknowns(closures, module, dependents)) for module in partition(closures, dependents)]
        left = self._sizes - Counter(self._size[number] for number in changed)
        cubes = self._cubes - sum(self._size[number] ** 3 for number in changed) + sum(size**3 for size in fresh)
        return max((*left, *fresh), default=0), cubes, self._spread - len(users) + len(joined)


def _unknowns(touched: Sequence[Touch], module: Sequence[int], dependents: frozenset[int]) -> frozenset[int]:
    return frozenset().union(*(touched[closure].variables for closure in module)) & dependents
