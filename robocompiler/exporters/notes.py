"""What an export tells: what stands differently in the other format, and what that format cannot hold."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from robocompiler.errors import ModelError, Problem
from robocompiler.records.model import Source

CHANGED = "changed"  # said in another way, with the same motion
LEFT_OUT = "left out"  # not in the file; none of it is in the equations of motion, or the message says so
KINDS = (CHANGED, LEFT_OUT)


@dataclass(frozen=True)
class ExportNote:
    """One decision of an exporter.  `count` > 1: the first of several alike, whose record it names."""

    kind: str
    message: str
    record: str = ""
    count: int = 1

    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ({self.count} times, first here)"
        return ": ".join(part for part in (self.record, self.kind, self.message + times) if part)


@dataclass
class ExportLog:
    """Collects the notes and faults of one export."""

    problems: list[Problem] = field(default_factory=list)
    _notes: dict[tuple[str, str], ExportNote] = field(default_factory=dict)

    def note(self, kind: str, message: str, record: str = "") -> None:
        """Note a decision; what is alike is counted."""
        known = self._notes.get((kind, message))
        self._notes[(kind, message)] = (
            replace(known, count=known.count + 1) if known else ExportNote(kind, message, record)
        )

    def problem(self, message: str, record: str, source: Source) -> None:
        """Note a fault of a record."""
        self.problems.append(Problem(message, record, source.file, source.line))

    @property
    def notes(self) -> tuple[ExportNote, ...]:
        """All notes, by kind and in the order in which they came."""
        return tuple(note for kind in KINDS for note in self._notes.values() if note.kind == kind)

    def finish(self) -> None:
        """Raise ModelError with every problem, if there is one."""
        if self.problems:
            raise ModelError(self.problems)
