"""Names that are new: like a wish, and taken by nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from robocompiler.records.names import MAXIMUM_NAME_LENGTH


class Names:
    """The names of one group of records, which only grow."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def fresh(self, wish: str) -> str:
        """`wish`, shortened to a legal length, or the first of wish_2, wish_3, ... that is free; it is taken now."""
        base, k = wish[:MAXIMUM_NAME_LENGTH].strip(), 1
        name = base
        while name in self._taken:
            k += 1
            suffix = f"_{k}"
            name = base[: MAXIMUM_NAME_LENGTH - len(suffix)] + suffix
        self._taken.add(name)
        return name
