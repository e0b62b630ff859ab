"""How covariant the reduced quantities are under other forests, charts, frames, directions, names and record orders.

    python -m benchmarks.covariance [CASE ...]        # robots, or "random 41"

Cases, changes, measures and bounds are those of tests/test_covariance_dynamics.py, with the Kangaroo added; it fails
where a bound is broken.  Prints the table of docs/covariance.md: the worst of every number over a case's changes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.robots import ROOT
from benchmarks.spread import table

sys.path.insert(0, str(ROOT / "tests"))

from covariance_cases import CHANGES, check

NUMBERS = ("B", "J", "L", "M", "h", "force", "power", "a", "cond M", "cond F")
CASES = ("fourbar", "parallel_ankle", "rssr", "delta", "stewart", "excavator", "kangaroo")
RANDOM = tuple(f"random {seed}" for seed in (41, 42, 43, 44, 45, 46, 48, 49, 51, 53))
RANGES = {"kangaroo": (0.002, 0.12)}  # size of the move off the reference, and of the speeds


def worst(case: str) -> dict[str, float]:
    """The largest of every number over all changes."""
    found: dict[str, float] = {}
    for kind in CHANGES:
        numbers = check(case, kind, *RANGES.get(case, (0.05, 0.5)))
        print(case, kind, {name: f"{x:.1e}" for name, x in numbers.items()}, file=sys.stderr, flush=True)
        found = {name: max(x, found.get(name, 0.0)) for name, x in numbers.items()}
    return found


def main(arguments: Sequence[str]) -> None:
    """Print the table of the named cases (default: all)."""
    rows = [[case, *(f"{numbers[key]:.1e}" for key in NUMBERS)]
            for case in arguments or (*CASES, *RANDOM) for numbers in [worst(case)]]  # fmt: skip
    print(table(["", *NUMBERS], rows))


if __name__ == "__main__":
    main(sys.argv[1:])
