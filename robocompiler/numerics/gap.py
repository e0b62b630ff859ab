"""The rank decision: find the gap in the singular values of the scaled closure Jacobian, or say that there is none.

Rows are scaled to radians (lengths over the length scale), columns to radians or length scales, so that a singular
value is the change of closure per unit of motion.  Redundant rows of exact records leave rounding (below `NOISE`); rows
that are independent are well above `CLEAR`.  Anything in between is a near-redundancy: rounded axes, not mechanics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NOISE = 1e-9
CLEAR = 1e-4


@dataclass(frozen=True)
class RankDecision:
    """The rank shared by all probed configurations and the evidence.

    smallest_kept and largest_dropped are the singular values on the two sides of the gap, the worst over the probes
    (relative to each probe's largest one); gap is their ratio.  `clear` is False when values lie between NOISE and
    CLEAR; `between` lists those of the probe that has most of them.  singular_values are those of the first probe (the
    reference).
    """

    rank: int
    smallest_kept: float
    largest_dropped: float
    clear: bool
    between: tuple[float, ...]
    singular_values: tuple[float, ...]
    ranks: tuple[int, ...]

    @property
    def gap(self) -> float:
        """smallest_kept / largest_dropped (infinite when nothing is dropped)."""
        return self.smallest_kept / self.largest_dropped if self.largest_dropped > 0 else float("inf")


def decide_rank(matrices: Sequence[Array]) -> RankDecision:
    """Decide the rank from the scaled Jacobians at several configurations.

    The rank is the largest one seen, since an accidental singular pose only lowers it.  A probe of lower rank is
    reported in `ranks` and does not enter the gap.
    """
    spectra = []
    for matrix in matrices:
        values = np.linalg.svd(matrix, compute_uv=False) if min(matrix.shape) else np.zeros(0)
        top = values[0] if values.size and values[0] > 0 else 1.0
        spectra.append(values / top)
    ranks = tuple(int(np.sum(values > CLEAR)) for values in spectra)
    rank = max(ranks, default=0)
    regular = [values for values, found in zip(spectra, ranks, strict=True) if found == rank]
    kept = min((float(values[rank - 1]) for values in regular if rank), default=1.0)
    dropped = max((float(values[rank]) for values in regular if values.size > rank), default=0.0)
    unclear = [tuple(float(v) for v in values[rank:] if v > NOISE) for values in regular]
    between = max(unclear, key=lambda values: (len(values), values), default=())
    return RankDecision(
        rank, kept, dropped, not between, between, tuple(map(float, spectra[0] if spectra else ())), ranks
    )
