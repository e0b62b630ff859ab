"""What a build is asked for and what it reports: plain data, importable without the compiler's passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from robocompiler.arguments import flag, instance, integer, one_of, texts, whole
from robocompiler.errors import ArgumentError

Real = Literal["double", "float"]
AUTO_CHARTS = 8
_MOST_CHARTS, _MOST_WORKERS = 1000, 4096
Progress = Callable[[str, str, float], None]


@dataclass(frozen=True)
class BuildOptions:
    """real: 'double' or 'float'; cc: compiler command or None to look for one; emit_only: write text, compile nothing;
    workers: parallel compilers (None: one per core); extra_flags: follow the default flags, as ("-O0",) does; batch:
    with functions over many states at once; derivatives: with derivatives of the dynamics; resolution: with
    redundancy resolution; portable: the same numbers on every machine and libraries for every processor of the
    architecture, instead of code for this one."""

    real: Real = "double"
    cc: str | None = None
    emit_only: bool = False
    workers: int | None = None
    batch: bool = False
    derivatives: bool = False
    resolution: bool = False
    portable: bool = False
    extra_flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        one_of(self.real, ("double", "float"), "real")
        if self.cc is not None:
            instance(self.cc, str, "cc", "the command of a C compiler, or None")
        if self.workers is not None:
            integer(self.workers, "workers", 1, _MOST_WORKERS)
        for name in ("emit_only", "batch", "derivatives", "resolution", "portable"):
            flag(getattr(self, name), name)
        instance(self.extra_flags, tuple, "extra_flags", "a tuple of texts, such as ('-O0',)")
        texts(self.extra_flags, "extra_flags", "texts")


def chart_count(charts: str | int) -> int:
    """The most further charts that "auto" or a number stands for.  ArgumentError for anything else."""
    if isinstance(charts, str):
        if charts == "auto":
            return AUTO_CHARTS
        count = int(charts) if charts.strip().isdecimal() else None
    else:
        count = whole(charts)
    if count is None or not 0 <= count <= _MOST_CHARTS:
        raise ArgumentError(f"charts must be 'auto' or a number of charts, not {charts!r}", argument="charts")
    return count


@dataclass(frozen=True)
class BuildReport:
    """What a build did: folder, changed files, why each unit was compiled ('unchanged' if not), seconds a step.

    digest: of the program, as its manifest has it; supports: the builds of support modes that the manifest lists.
    """

    folder: Path
    prefix: str
    changed: tuple[str, ...]
    reasons: dict[str, str]
    files: tuple[str, ...]
    seconds: dict[str, float] = field(default_factory=dict)
    digest: str = ""
    supports: Mapping[str, BuildReport] = field(default_factory=dict)

    @property
    def compiled(self) -> tuple[str, ...]:
        """Units that were compiled in this build."""
        return tuple(name for name, why in self.reasons.items() if why != "unchanged")
