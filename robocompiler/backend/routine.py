"""A routine: a kernel's instruction list with its arguments, what the printer prints and other passes may rewrite."""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.backend.straight_line import Operation, StraightLine, straight_line
from robocompiler.symbolic.kernel import Argument, Kernel


@dataclass(frozen=True)
class Routine:
    """`program` loads from `inputs` and stores to `outputs`; name and summary are those of its kernel."""

    name: str
    summary: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    program: StraightLine

    @staticmethod
    def of(kernel: Kernel) -> Routine:
        """The routine of a kernel, nothing rewritten.  CompileError if function and arguments disagree."""
        return Routine(kernel.name, kernel.summary, kernel.inputs, kernel.outputs, straight_line(kernel))

    @property
    def operations(self) -> int:
        """Number of arithmetic instructions."""
        return sum(isinstance(value, Operation) for value in self.program.values)
