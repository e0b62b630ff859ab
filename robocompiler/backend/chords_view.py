"""rho and C as the plain values that `augmented.j2` and `chords.c.j2` print: a kernel, and tables of the loops."""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.backend.options import Real
from robocompiler.backend.printer import print_kernel, printed_arguments
from robocompiler.symbolic.augmented import TURNING, ChordKernels, ChordLoop
from robocompiler.symbolic.program import ClosureBlock


@dataclass(frozen=True)
class LoopsView:
    """The functions rho, and rho and C, of one module.

    paths: text of its kernel, called `paths_name`, whose outputs are the arrays `outputs` (name, length); heads and
    summaries of both functions; turns: whether a column turns; loop: the tables.
    """

    paths: str
    paths_name: str
    outputs: tuple[tuple[str, int], ...]
    heads: tuple[str, str]
    summaries: tuple[str, str]
    turns: tuple[int, ...]
    loop: ChordLoop


def loops_view(block: ClosureBlock, paths: str, heads: tuple[str, str]) -> LoopsView:
    """The view of one block; `paths` and `heads` are its kernel and the two signatures as printed."""
    return LoopsView(
        paths=paths,
        paths_name=block.paths.name,
        outputs=tuple((argument.name, argument.size) for argument in printed_arguments(block.paths)[1]),
        heads=heads,
        summaries=(block.residual.summary, block.jacobian.summary),
        turns=tuple(int(size == TURNING) for size in block.loop.size),
        loop=block.loop,
    )


def chord_functions(kernels: ChordKernels, real: Real) -> list[str]:
    """The static functions chord_logarithm and chord_factors."""
    return [
        f"/* {kernel.summary} */\n" + print_kernel(kernel, function_name=kernel.name, real=real, static=True)
        for kernel in kernels.kernels
    ]
