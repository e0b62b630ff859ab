"""How far each unit is optimised: what a compiler's higher levels cost and give, by what the unit holds.

Straight-line code has no loops to move things out of and no branches to join; gcc 12's -O2 spends a third more time on
it than -O1 (scheduling, redundancy passes over huge blocks) and gives the same speed within the spread of measuring.
Both give the same numbers where nothing is fused; with fused multiply-adds they agree to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from robocompiler.backend.cache import Unit
from robocompiler.backend.compiler import OPTIMISATION, Toolchain

STRAIGHT = 20_000  # bytes of text above which a unit consists of straight-line kernels, its loops being always short
LESS = ("-O1",)


def optimised(units: Iterable[Unit], toolchain: Toolchain) -> tuple[Unit, ...]:
    """`units` with the flags that fit them.

    A level that the user chose stands for all of them, and so does the default one of compilers other than gcc, for
    which nothing was measured.
    """
    levels = [flag for flag in toolchain.flags if flag.startswith("-O")]
    if levels != [flag for flag in OPTIMISATION if flag.startswith("-O")] or "clang" in toolchain.version:
        return tuple(units)
    return tuple(
        replace(unit, flags=(*LESS, *unit.flags)) if len(unit.text) > STRAIGHT and not unit.flags else unit
        for unit in units
    )
