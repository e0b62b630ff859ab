"""Twelve variants of the Stewart platform in all six trees: distances from covariance and from maximal coordinates.

    python -m benchmarks.stewart_variants

Prints the table of docs/covariance.md and fails where a number is 1e-12 or more.  Variants, states and measures are
those of the tests (tests/stewart_variants.py).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from benchmarks.robots import ROOT
from benchmarks.spread import table

sys.path.insert(0, str(ROOT / "tests"))

from covariance_support import Side
from stewart_variants import NAMES, Sixfold, Study, cuts

TOLERANCE = 1e-12
COVARIANT = ("B", "J", "L", "M", "h", "a", "force", "power")
AGAINST_ORACLE = ("B", "L", "M", "h", "udot")


def worst(groups: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The largest of every number."""
    return {name: max(group.get(name, 0.0) for group in groups) for name in groups[0]}


def all_trees(study: Study, one: Sixfold) -> tuple[dict[str, float], dict[str, float]]:
    """Worst numbers of a variant over its six trees.

    What only represents the shipped mechanism is compared with that, the rest with its own first tree.
    """
    sides = [Side.of(one.variant.mechanism, (), cuts(kept)) for kept in range(6)]
    base = study.nominal if one.represents_the_shipped else sides[0]
    found = [study.compared(one, base, side) for side in sides]
    return worst([covariance for covariance, _ in found]), worst([oracle for _, oracle in found])


def main() -> None:
    """Print the table; exit status 1 where a bound is broken."""
    study = Study()
    begin = time.monotonic()
    rows, broken = [], []
    for name in NAMES:
        one = study.sixfold(name)
        covariance, oracle = all_trees(study, one)
        numbers = [covariance[key] for key in COVARIANT] + [oracle[key] for key in AGAINST_ORACLE]
        broken += [name] if max(numbers) >= TOLERANCE else []
        rows.append([f"{name}: {one.says}", *(f"{x:.1e}" for x in numbers)])
        print(name, f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
    print(table(["variant", *COVARIANT, *(f"{key} / oracle" for key in AGAINST_ORACLE)], rows))
    if broken:
        raise SystemExit(f"above {TOLERANCE:g}: {', '.join(broken)}")


if __name__ == "__main__":
    main()
