"""How far each unit is optimised: what a compiler's higher levels cost and give, by what the unit holds.

Straight-line code has no loops to move things out of and no branches to join, so gcc's -O1 serves it; -O2 takes a third
more time.  What matters is which values live in registers: gcc 12's -fexpensive-optimizations (part of -O2) and
-flive-range-shrinkage together make forward dynamics 10 to 15 % faster than -O1 and cost no time that can be measured,
and -O2's passes over huge blocks then gain nothing more.  A frame pointer is worth another 4 to 8 %: most operands lie
on the stack, an address relative to it is a byte shorter than one relative to the stack pointer, and code as long as
this is executed no faster than its bytes arrive.  Unrolling serves the short loops of modules, which -O1 leaves alone:
a quarter of the time of the lift of the excavator.
All levels give the same numbers where nothing is fused; with fused multiply-adds they agree to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from robocompiler.backend.cache import Unit
from robocompiler.backend.compiler import OPTIMISATION, Toolchain

STRAIGHT = 20_000  # bytes of text above which a unit consists of straight-line kernels, its loops being always short
LESS = (
    "-O1", "-fexpensive-optimizations", "-flive-range-shrinkage", "-fno-omit-frame-pointer", "-funroll-loops",
)  # fmt: skip


def optimised(units: Iterable[Unit], toolchain: Toolchain) -> tuple[Unit, ...]:
    """`units` with the flags that fit them.

    A level that the user chose stands for all of them, and so does the default one of compilers other than gcc, for
    which nothing was measured.
    """
    levels = [flag for flag in toolchain.flags if flag.startswith("-O")]
    if levels != [flag for flag in OPTIMISATION if flag.startswith("-O")] or "clang" in toolchain.version:
        return tuple(units)
    return tuple(replace(unit, flags=(*LESS, *unit.flags)) if len(unit.text) > STRAIGHT else unit for unit in units)
