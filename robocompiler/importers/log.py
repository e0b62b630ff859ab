"""The log of one import: faults, and notes on what was decided or left out, over all files that take part.

A line is one number throughout, as the record parsers expect: the lines of the second file follow those of the first,
and so on.  `place` turns it back into file and line.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

from robocompiler.errors import ModelError, Problem
from robocompiler.records.diagnostics import Diagnostics

RECOGNISED = "recognised"  # a pattern of the source stands for something else in the records
ASSUMED = "assumed"  # the source leaves a choice open; this one was taken
RENAMED = "renamed"
LEFT_OUT = "left out"  # not part of the records; some of it matters to the motion and says so
KINDS = (RECOGNISED, ASSUMED, RENAMED, LEFT_OUT)


@dataclass(frozen=True)
class Note:
    """One decision of an importer.  `count` > 1: the first of several alike, whose place it names."""

    kind: str
    message: str
    record: str = ""
    file: str = ""
    line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ({self.count} times, first here)"
        return str(Problem(f"{self.kind}: {self.message}{times}", self.record, self.file, self.line))


class ImportLog(Diagnostics):
    """Collects the faults and notes of all files of one import."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._starts: list[int] = []
        self._files: list[str] = []
        self._end = 0
        self._notes: dict[tuple[str, str, str], Note] = {}

    def add_file(self, file: str, text: str) -> int:
        """Register a file; the offset to add to its lines."""
        offset = self._end
        self._starts.append(offset)
        self._files.append(file)
        self._end = offset + text.count("\n") + 2
        return offset

    def place(self, line: int | None) -> tuple[str, int | None]:
        """File and line."""
        if line is None or not self._starts:
            return self.file, line
        k = max(0, bisect_right(self._starts, line - 1) - 1)
        return self._files[k], line - self._starts[k]

    def note(self, kind: str, message: str, record: str = "", line: int | None = None) -> None:
        """Note a decision about one record."""
        self._notes[(kind, message, record)] = Note(kind, message, record, *self.place(line))

    def leave_out(self, what: str, line: int | None = None) -> None:
        """Note something that is not imported; what is alike is counted."""
        key = (LEFT_OUT, what, "")
        known = self._notes.get(key)
        self._notes[key] = (
            replace(known, count=known.count + 1) if known else Note(LEFT_OUT, what, "", *self.place(line))
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """All notes, by kind and in the order in which they came."""
        return tuple(note for kind in KINDS for note in self._notes.values() if note.kind == kind)

    def finish(self) -> None:
        """Raise ModelError with every problem, file by file in the order of their lines, if there is one."""
        order = {file: k for k, file in reversed(list(enumerate(self._files)))}
        if self.problems:
            raise ModelError(sorted(self.problems, key=lambda p: (order.get(p.file, 0), p.line or 0)))
