"""The ways in which RoboCompiler refuses work, and the problem record they carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One fault of an input file: where it stands, which record it concerns, what is wrong and the mend."""

    message: str
    record: str = ""
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = self.file + (f":{self.line}" if self.line is not None else "")
        return ": ".join(part for part in (place, self.record, self.message) if part)


class RoboCompilerError(Exception):
    """Base of every error that RoboCompiler raises on purpose."""


class ArgumentError(RoboCompilerError, ValueError):
    """An argument of a call has the wrong type, size or value; a ValueError too, for who catches those.

    Attributes:
        argument: its name; expected: what it must be; got: what it was, as short text ("" where the message says all).
    """

    def __init__(self, message: str, *, argument: str = "", expected: str = "", got: str = "") -> None:
        self.argument, self.expected, self.got = argument, expected, got
        super().__init__(message)


class ModelError(RoboCompilerError):
    """A mechanism file is wrong.  `problems` lists every fault found, not only the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = "" if count == 1 else f"{count} problems:\n"
        super().__init__(head + "\n".join(str(problem) for problem in self.problems))


class CompileError(RoboCompilerError):
    """The C compiler or the output folder failed.  `command` and `log` say where to look."""

    def __init__(self, message: str, command: Sequence[str] = (), log: str = "") -> None:
        self.command = tuple(command)
        self.log = log
        super().__init__(message)


class RankError(RoboCompilerError):
    """The rank of the closures cannot be decided.  `report` holds the singular values and the suspects."""

    def __init__(self, message: str, report: Mapping[str, Any] | None = None) -> None:
        self.report = dict(report or {})
        super().__init__(message)


class AssemblyError(RoboCompilerError):
    """No admissible assembled configuration was found.

    Attributes:
        residual: scaled norm of the full closure residual at `q` (rad; metres over the length scale).
        gap: smallest closure gap found with the held coordinates fixed, as {chord: (metres, radians)}.
        joint: the chord or joint that is furthest from what it should be.
        eta: the continuation parameter reached (1 is assembled).
        limits: violated limits as {coordinate: (value, lower, upper)}.
        q: the best configuration found (never a silently accepted one).
    """

    def __init__(
        self,
        message: str,
        *,
        residual: float = float("nan"),
        gap: Mapping[str, tuple[float, float]] | None = None,
        joint: str = "",
        eta: float = 0.0,
        limits: Mapping[str, tuple[float, float, float]] | None = None,
        q: Any = None,
    ) -> None:
        self.residual = residual
        self.gap = dict(gap or {})
        self.joint = joint
        self.eta = eta
        self.limits = dict(limits or {})
        self.q = q
        super().__init__(message)


class InfeasibleTaskError(RoboCompilerError):
    """Task and bounds of a redundancy resolution contradict each other.

    Attributes:
        rows: names of the rows in conflict; without any one of them the others can be met.
        weights: {row: weight}, at least 0 for bounds: the rows so weighted add up to 0 <= -gap.
        gap: by how much, in the rows' units.
    """

    def __init__(self, message: str, *, weights: Mapping[str, float], gap: float) -> None:
        self.weights = dict(weights)
        self.rows = tuple(self.weights)
        self.gap = gap
        super().__init__(message)


class LoadError(RoboCompilerError):
    """A manifest or library is missing, damaged, stale, or made for another machine or version."""


class MissingPackageError(RoboCompilerError):
    """A package that only this task needs is not installed; the message says how to get it."""
