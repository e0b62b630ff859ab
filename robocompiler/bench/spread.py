"""Samples to medians with their spread, and text for tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """Minimum, quartiles and number of samples of a measurement (seconds, or a ratio)."""

    minimum: float
    lower: float
    median: float
    upper: float
    samples: int

    @staticmethod
    def of(samples: Sequence[float]) -> Spread:
        """The spread of `samples`."""
        lower, median, upper = np.percentile(samples, (25, 50, 75))
        return Spread(float(min(samples)), float(lower), float(median), float(upper), len(samples))

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def significant(value: float) -> str:
    """Three significant digits without an exponent; "not a number" where it is none."""
    if not np.isfinite(value):
        return "not a number"
    if value == 0:
        return "0"
    digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{digits}f}"


def microseconds(spread: Spread) -> str:
    """'median (min; lower-upper)' in microseconds."""
    m, low, mid, high = (significant(1e6 * x) for x in (spread.minimum, spread.lower, spread.median, spread.upper))
    return f"**{mid}** ({m}; {low}-{high})"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    lines = [" | ".join(header), " | ".join(["---", *["---:"] * (len(header) - 1)])]
    lines += [" | ".join(row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)
