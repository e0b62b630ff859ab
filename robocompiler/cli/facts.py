"""What the compiler found and did, as plain numbers and names: what the tables and the JSON report show.

Importable without the compiler's passes, and kept beside a build, so that an unchanged one can be shown at once.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.cache import CACHE_FOLDER
from robocompiler.cli.shipped import ModelFile
from robocompiler.graph.complexity import Complexity
from robocompiler.version import VERSION

FORMAT = 1  # of the JSON report
_FILE = "facts.json"


@dataclass(frozen=True)
class RankFacts:
    """The rank of the condensed closures and its evidence; gap is None when nothing was dropped."""

    rank: int
    rows: int
    columns: int
    freedoms: int
    smallest_kept: float
    largest_dropped: float
    gap: float | None
    probe_ranks: tuple[int, ...]


@dataclass(frozen=True)
class ModuleFacts:
    """One loop module of a chart: its closures, its dependent and independent velocities by name, and its cost."""

    name: str
    closures: tuple[str, ...]
    dependents: tuple[str, ...]
    independents: tuple[str, ...]
    smallest_pivot: float
    operations: int


@dataclass(frozen=True)
class ChartFacts:
    """One choice of independent speeds and its modules."""

    name: str
    independent: tuple[str, ...]
    modules: tuple[ModuleFacts, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Dependents of every module, in module order."""
        return tuple(len(module.dependents) for module in self.modules)

    @property
    def largest_module(self) -> int:
        """Most dependents in one module, 0 without modules."""
        return max(self.sizes, default=0)

    @property
    def smallest_pivot(self) -> float | None:
        """Least scaled singular value of any module's R_p, None without modules."""
        return min((module.smallest_pivot for module in self.modules), default=None)


@dataclass(frozen=True)
class UnitFacts:
    """What happened to one translation unit; reason is 'unchanged' when its object was reused."""

    name: str
    compiled: bool
    reason: str


@dataclass(frozen=True)
class BuildFacts:
    """What the backend did; `compiler` is False when only text was written."""

    folder: str
    prefix: str
    real: str
    compiler: bool
    files: tuple[str, ...]
    changed: tuple[str, ...]
    units: tuple[UnitFacts, ...]


@dataclass(frozen=True)
class SupportFacts:
    """One support mode that was compiled: its contacts ({frame: kind}), folder, rank and independents by name."""

    name: str
    contacts: Mapping[str, str]
    folder: str
    rank: RankFacts
    independent: tuple[str, ...]


@dataclass(frozen=True)
class DriveFacts:
    """One drive: the port that it acts on, and its own names of states and commands."""

    name: str
    port: str
    states: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Everything that the closing table shows.

    unit_operations: arithmetic instructions of each module and of the rest; kernel_operations: of each kernel;
    seconds: by pass; build: None when nothing was written.
    """

    robot: str
    model: ModelFile
    complexity: Complexity
    joint_types: Mapping[str, int]
    chord_types: Mapping[str, int]
    ports: tuple[str, ...]
    parameters: tuple[str, ...]
    couplings: tuple[str, ...]
    rank: RankFacts
    charts: tuple[ChartFacts, ...]
    unit_operations: Mapping[str, int]
    kernel_operations: Mapping[str, int]
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]
    build: BuildFacts | None
    supports: tuple[SupportFacts, ...] = ()
    drives: tuple[DriveFacts, ...] = ()

    def chart(self, name: str) -> ChartFacts:
        """The chart called `name`."""
        return next(chart for chart in self.charts if chart.name == name)


def as_data(facts: Facts) -> dict[str, Any]:
    """The JSON report (docs/command-line.md); its keys stay."""
    size = facts.complexity
    return {
        "format": FORMAT,
        "robocompiler": VERSION,
        "robot": facts.robot,
        "model": {"path": str(facts.model.path), "shipped": facts.model.shipped},
        "mechanism": {
            "bodies": size.bodies,
            "joints": {"total": sum(facts.joint_types.values()), "by_type": dict(facts.joint_types)},
            "components": {"total": size.components, "floating": size.floating_components},
            "couplings": list(facts.couplings),
            "ports": list(facts.ports),
            "drives": [asdict(drive) for drive in facts.drives],
            "parameters": list(facts.parameters),
        },
        "graph": {
            "tree_joints": size.joints - size.chords,
            "tree_velocities": size.tree_velocities,
            "velocities": size.velocities,
            "depth": size.depth,
            "chords": {"total": size.chords, "kept": size.kept_chords, "by_type": dict(facts.chord_types)},
            "path": {"shortest": size.path_min, "mean": size.path_mean, "longest": size.path_max},
        },
        "closure": {"rows": size.condensed_rows, "augmented_rows": size.full_rows},
        "rank": asdict(facts.rank),
        "charts": {chart.name: _chart_data(chart) for chart in facts.charts},
        "operations": {
            "total": sum(facts.kernel_operations.values()),
            "units": dict(facts.unit_operations),
            "kernels": dict(facts.kernel_operations),
        },
        "warnings": list(facts.warnings),
        "seconds": {**facts.seconds, "total": sum(facts.seconds.values())},
        "build": None if facts.build is None else asdict(facts.build),
        "supports": [asdict(support) for support in facts.supports],
    }


def _chart_data(chart: ChartFacts) -> dict[str, Any]:
    return {
        "independent": list(chart.independent),
        "largest_module": chart.largest_module,
        "smallest_pivot": chart.smallest_pivot,
        "modules": [asdict(module) for module in chart.modules],
    }


def save_facts(folder: Path, key: str, facts: Facts) -> None:
    """Keep the facts of the build in `folder`, which was made under `key`."""
    text = json.dumps({"key": key, "facts": asdict(facts)}, indent=1, default=str) + "\n"
    write_atomically(folder / CACHE_FOLDER / _FILE, text.encode())


def saved_facts(folder: Path, key: str) -> Facts | None:
    """The facts that were kept under `key`, or None."""
    try:
        record = json.loads((folder / CACHE_FOLDER / _FILE).read_text())
        return _decoded(Facts, record["facts"]) if record["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # none, or damaged: they are gathered again


def _decoded(kind: Any, value: Any) -> Any:
    """Plain data as a value of a type: dataclasses, tuples, mappings, unions with None, paths and plain values."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _decoded(next(a for a in arguments if a is not type(None)), value)
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return typing.cast("Any", kind)(**{f.name: _decoded(hints[f.name], value[f.name]) for f in fields(kind)})
    if origin is tuple:
        return tuple(_decoded(arguments[0], item) for item in value)
    if origin is Mapping:
        return {name: _decoded(arguments[1], item) for name, item in value.items()}
    return Path(value) if kind is Path else value
