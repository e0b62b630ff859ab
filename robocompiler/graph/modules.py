"""Loop modules: groups of closures that must be solved together (union-find over an inverted index)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Protocol, TypeVar

Block = TypeVar("Block", bound=Hashable)
Block_co = TypeVar("Block_co", bound=Hashable, covariant=True)


class Comparison(Protocol[Block_co]):
    """Anything that is compared with zero: a chord's closure or a coupling, and the variable blocks in its factors."""

    @property
    def name(self) -> str:
        """The joint or coupling that gives the comparison."""
        ...

    @property
    def variables(self) -> frozenset[Block_co]:
        """The variable blocks that occur in it."""
        ...


def dependency_modules(
    closures: Sequence[Comparison[Block]], dependents: Collection[Block]
) -> tuple[tuple[int, ...], ...]:
    """Group the indices of `closures` so that closures of different groups share no dependent block.

    Args:
        closures: the comparisons; their variables may be any hashable blocks (joint names, velocity indices).
        dependents: the blocks that the closures are solved for.

    Returns:
        The connected components, each in increasing order, sorted by their first index.  A closure without dependent
        blocks shares nothing and is a module by itself.
    """
    solved = frozenset(dependents)
    parent = list(range(len(closures)))  # union-find: of two groups the one with the smaller first index leads

    def leader(index: int) -> int:
        while parent[index] != index:
            parent[index] = index = parent[parent[index]]
        return index

    first_user: dict[Block, int] = {}
    for index, closure in enumerate(closures):
        for block in closure.variables & solved:
            a, b = leader(first_user.setdefault(block, index)), leader(index)
            parent[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for index in range(len(closures)):
        groups.setdefault(leader(index), []).append(index)
    return tuple(tuple(group) for group in groups.values())
