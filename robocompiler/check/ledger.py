"""The largest discrepancy of every quantity, with where it was seen and how much is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """One quantity over all states.

    Attributes:
        quantity: what was compared.
        reference: with what.
        discrepancy: largest deviation of any entry over the largest reference value of all states (absolute for the
            closure gaps); infinite when something is not a number.
        tolerance: what passes.
        where: name of the worst entry; state: index of its state.
    """

    quantity: str
    reference: str
    discrepancy: float
    tolerance: float
    where: str
    state: int

    @property
    def passed(self) -> bool:
        """Whether the discrepancy is within its tolerance."""
        return self.discrepancy <= self.tolerance


@dataclass
class _Entry:
    tolerance: float
    scale: float
    worst: float = -1.0
    where: str = ""
    state: int = 0
    seen: int = 0


@dataclass
class Ledger:
    """Collects comparisons; quantities keep the order in which they came."""

    entries: dict[tuple[str, str], _Entry] = field(default_factory=dict)
    state: int = 0

    def compare(
        self,
        quantity: str,
        found: ArrayLike,
        wanted: ArrayLike,
        names: Iterable[str],
        *,
        reference: str,
        tolerance: float,
        floor: float,
    ) -> None:
        """Note |found - wanted| of arrays of one shape; `names` belong to the first axis.

        `floor` is the least size that a deviation is measured by, for quantities that may vanish altogether.
        """
        have, want = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
        if have.shape != want.shape:
            raise ValueError(f"{quantity}: shapes {have.shape} and {want.shape} differ")
        entry = self.entries.setdefault((quantity, reference), _Entry(tolerance, floor))
        entry.seen += have.size
        if not have.size:
            return
        entry.scale = max(entry.scale, float(np.abs(want).max()))
        gap = np.abs(have - want)
        gap[~np.isfinite(gap)] = np.inf
        worst = float(gap.max())
        if worst > entry.worst:
            row = int(np.unravel_index(int(gap.argmax()), gap.shape)[0]) if gap.ndim else 0
            entry.worst, entry.where, entry.state = worst, list(names)[row], self.state

    def note(self, quantity: str, value: float, where: str, *, reference: str, tolerance: float) -> None:
        """Note a deviation that needs no reference value, such as a gap in metres or radians."""
        self.compare(quantity, [value], [0.0], [where], reference=reference, tolerance=tolerance, floor=1.0)

    def findings(self) -> tuple[Finding, ...]:
        """All quantities that have any entry, in order."""
        return tuple(
            Finding(quantity, reference, entry.worst / entry.scale, entry.tolerance, entry.where, entry.state)
            for (quantity, reference), entry in self.entries.items()
            if entry.seen
        )
