"""The list of faults that one reading of a file collects, so that all of them are reported at once."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Collection

from robocompiler.errors import ModelError, Problem
from robocompiler.records.names import MAXIMUM_NAME_LENGTH, shown

MAXIMUM_PROBLEMS = 1000
_MAXIMUM_COMPARISONS = 20_000  # a hostile file must not buy minutes of string matching


class Diagnostics:
    """Collects the problems and warnings of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self._comparisons_left = _MAXIMUM_COMPARISONS

    @property
    def count(self) -> int:
        """Number of problems so far: an unchanged count tells that the values read in between are sound."""
        return len(self.problems)

    def place(self, line: int | None) -> tuple[str, int | None]:
        """File and line that `line` stands for: the only file, here; importers read several files into one log."""
        return self.file, line

    def problem(self, message: str, record: str = "", line: int | None = None) -> None:
        """Note a fault; raises ModelError at once when there are more than MAXIMUM_PROBLEMS."""
        self.problems.append(Problem(message, record, *self.place(line)))
        if len(self.problems) >= MAXIMUM_PROBLEMS:
            self.problems.append(Problem(f"stopped after {MAXIMUM_PROBLEMS} problems", "", self.file))
            self.finish()

    def warn(self, message: str, record: str = "", line: int | None = None) -> None:
        """Note something legal that deserves attention."""
        self.warnings.append(str(Problem(message, record, *self.place(line))))

    def suggest(self, word: str, *groups: Collection[str]) -> str:
        """'; did you mean ...?' for the candidate of any group closest to `word`, or '' when none is close."""
        size = sum(len(group) for group in groups)
        if len(word) > MAXIMUM_NAME_LENGTH or size > self._comparisons_left:
            return ""
        self._comparisons_left -= size
        lowered = {candidate.lower(): candidate for candidate in sorted(itertools.chain(*groups))}
        close = difflib.get_close_matches(word.lower(), lowered, n=1)
        return f"; did you mean {shown(lowered[close[0]])}?" if close else ""

    def finish(self) -> None:
        """Raise ModelError with every problem, in the order of their lines, if there is one."""
        if self.problems:
            raise ModelError(sorted(self.problems, key=lambda problem: problem.line or 0))
