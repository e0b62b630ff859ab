"""What a compiled robot tells about itself: modules, ports and the rank decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModuleInfo:
    """A loop module: the closures solved together, and the velocities solved for and given."""

    name: str
    closures: tuple[str, ...]
    dependents: tuple[str, ...]
    independents: tuple[str, ...]
    smallest_pivot: float

    @property
    def size(self) -> int:
        """Number of dependents."""
        return len(self.dependents)


@dataclass(frozen=True)
class PortInfo:
    """An actuator port: coordinate weights (empty for a two-point port), the two bodies of a two-point port, limits."""

    name: str
    terms: Mapping[str, float]
    bodies: tuple[str, ...]
    limits: Mapping[str, Any]


@dataclass(frozen=True)
class DriveInfo:
    """A drive and the port that it acts on.

    states, commands: their names in z and c (`drive:name`); units: those that the file gives, by the same names.
    """

    name: str
    port: str
    states: tuple[str, ...]
    commands: tuple[str, ...]
    units: Mapping[str, str]


@dataclass(frozen=True)
class ChartReport:
    """What the further charts were chosen for.

    paths: (input moved, poses met, why there were no more) of each search; poses: the regular ones among all of them;
    uncovered: poses at which no chart is good, because fewer charts were asked for than that takes.
    """

    paths: tuple[tuple[str, int, str], ...]
    poses: int
    uncovered: int

    @staticmethod
    def of(data: Mapping[str, Any]) -> ChartReport:
        """From the manifest's record."""
        paths = tuple((path["moved"], path["poses"], path["end"]) for path in data["paths"])
        return ChartReport(paths, data["poses"], data["uncovered"])


@dataclass(frozen=True)
class RankReport:
    """The rank decision with its evidence.

    rank of the condensed closure Jacobian (rows x columns), freedoms = columns - rank; smallest_kept and
    largest_dropped: the scaled singular values on both sides of the gap, worst over all probed configurations; gap:
    their ratio, None when nothing was dropped; singular_values at the reference, relative to the largest; probe_ranks
    at each configuration.
    """

    rank: int
    rows: int
    columns: int
    freedoms: int
    smallest_kept: float
    largest_dropped: float
    gap: float | None
    singular_values: tuple[float, ...]
    probe_ranks: tuple[int, ...]

    @staticmethod
    def of(data: Mapping[str, Any]) -> RankReport:
        """From the manifest's record."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
        }
        return RankReport(**values)

    def __str__(self) -> str:
        if self.gap is not None:
            gap = f"gap {self.smallest_kept:.1e} / {self.largest_dropped:.1e}"
        else:
            gap = "no redundant rows" if self.rank == self.rows else "the other rows vanish exactly"
        return f"rank {self.rank} of {self.rows} rows x {self.columns} columns ({gap}), {self.freedoms} freedoms"
