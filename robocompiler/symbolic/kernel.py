"""A kernel: one straight-line symbolic program with named array arguments, ready to be printed as one C function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Argument:
    """One array argument: its C name, its length, and the units comment shown in the header."""

    name: str
    size: int
    comment: str = ""


@dataclass(frozen=True)
class Kernel:
    """`function` is a casadi SX Function with one dense column per input, and one column of `size` nonzeros per output.

    `name` is a C identifier without the robot's prefix.  Outputs hold the structural nonzeros only; the pattern of a
    matrix output travels in the manifest (compressed columns), not here.
    """

    name: str
    summary: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    function: Any

    @cached_property
    def operations(self) -> int:
        """Number of arithmetic instructions (loads, stores and constants not counted)."""
        return int(self.function.n_instructions()) - self._moves()

    def _moves(self) -> int:
        import casadi

        quiet = (casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST)
        return sum(self.function.instruction_id(k) in quiet for k in range(self.function.n_instructions()))


@dataclass(frozen=True)
class Signature:
    """Name, summary and arguments of a function that is not one kernel but is declared like one."""

    name: str
    summary: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
