"""Object cache of one output folder: what must be compiled again, and why.

Objects live in `.cache/objects`, named by unit and key; the key is the SHA-256 of everything the object depends on:
text, headers, compiler, target, flags and processor.  A key that is there, with the bytes that were recorded, is
reused.  For the rest the record of the last build says which of the user's records changed, so that the log can tell.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.cache_reasons import reason
from robocompiler.backend.cache_record import CacheRecord, CompilerRecord, ObjectRecord, UnitRecord, read_record
from robocompiler.backend.compile_jobs import CompileJob
from robocompiler.backend.compiler import Toolchain
from robocompiler.errors import CompileError

CACHE_FOLDER = ".cache"
KEEP_BUILDS = 8  # an object unused in as many builds is removed
KEEP_BYTES = 256 * 2**20  # beyond this the objects unused for longest are removed
_UNIT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Unit:
    """A translation unit: its `source` path inside the folder, its `text`, and where the text came from.

    `provenance` maps fields of the user's records ("joints.leg_2_length.axis") to digests of their values.  `headers`
    are {path: text} of generated headers that this unit includes and the others do not.  `flags` follow those
    of the toolchain; `machines`: how the target triple must begin for this unit to be compiled at all (empty: any).
    """

    name: str
    source: Path
    text: str
    provenance: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """What happens to one unit: `reason` is "unchanged" when its object is reused, else why it is compiled."""

    unit: Unit
    key: str
    object: Path
    reused: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.unit.name}: {self.reason}"


@dataclass(frozen=True)
class BuildPlan:
    """The decisions for all units of a build, in their order.  `warning` tells of a damaged cache record, else ""."""

    folder: Path
    toolchain: Toolchain
    headers: Mapping[str, str]
    generator: str
    decisions: tuple[Decision, ...]
    record: CacheRecord
    warning: str = ""

    def jobs(self, flags: tuple[str, ...] = ()) -> tuple[CompileJob, ...]:
        """Compile jobs of the units that are not reused; headers are found in the output folder."""
        return tuple(
            CompileJob(d.unit.name, self.folder / d.unit.source, d.object, (self.folder,), (*d.unit.flags, *flags))
            for d in self.decisions
            if not d.reused
        )

    @property
    def objects(self) -> tuple[Path, ...]:
        """All objects, reused and to be compiled, in the order of the units."""
        return tuple(decision.object for decision in self.decisions)


def plan(
    units: Sequence[Unit],
    *,
    folder: Path,
    toolchain: Toolchain,
    headers: Mapping[str, str],
    generator: str,
) -> BuildPlan:
    """Decide for every unit whether its cached object is reused.

    Args:
        units: the translation units; names must differ and be plain file names.
        folder: the output folder; the cache is its subfolder `.cache`.
        toolchain: the compiler; its command, version, target, flags and processor all count.
        headers: {path: text} of every generated header that all units may include.
        generator: version of RoboCompiler, used only to explain why text changed.

    Nothing is written.  The caller holds the build lock until `commit`.  CompileError for bad unit names.
    """
    _check_units(units)
    units = [unit for unit in units if not unit.machines or toolchain.target.startswith(unit.machines)]
    record, warning = read_record(_record_path(folder))
    compiler = compiler_record(toolchain)
    decisions = []
    for unit in units:
        header_digests = _header_digests(unit, headers)
        key = _key(unit, header_digests, compiler)
        target = folder / CACHE_FOLDER / "objects" / f"{unit.name}-{key[:32]}.o"
        known = record.objects.get(target.name)
        if known is not None and _file_digest(target) == known.digest:
            decisions.append(Decision(unit, key, target, True, "unchanged"))
            continue
        current = _unit_record(unit, key, header_digests, compiler, generator)
        decisions.append(Decision(unit, key, target, False, reason(record, unit.name, current, warning)))
    return BuildPlan(folder, toolchain, dict(headers), generator, tuple(decisions), record, warning)


def commit(build: BuildPlan, finished: Collection[str] | None = None) -> None:
    """Record the objects of `build` and prune old ones; call it after compiling.

    `finished` names the units whose objects are there; None means all.  After a failed compile, pass those that were
    finished: they are reused next time, and the others keep the record of their last success.
    CompileError if an object that should be there is missing, or the record cannot be written.
    """
    number = build.record.build + 1
    compiler = compiler_record(build.toolchain)
    complete = finished is None
    units = {} if complete else dict(build.record.units)
    objects = dict(build.record.objects)
    for decision in build.decisions:
        if not (complete or decision.reused or decision.unit.name in (finished or ())):
            continue
        digest = _file_digest(decision.object)
        if digest is None:
            raise CompileError(f"{decision.unit.name}: the object {decision.object} is missing after the compile")
        unit = decision.unit
        headers = _header_digests(unit, build.headers)
        units[unit.name] = _unit_record(unit, decision.key, headers, compiler, build.generator)
        size = decision.object.stat().st_size
        objects[decision.object.name] = ObjectRecord(digest, size, number)
    kept = _keep(objects, number)
    path = _record_path(build.folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(CacheRecord(number, units, kept).to_json(), indent=1, sort_keys=True) + "\n"
    write_atomically(path, text.encode())
    _remove_unlisted(build.folder / CACHE_FOLDER / "objects", kept, (d.object.name for d in build.decisions))


def compiler_record(toolchain: Toolchain) -> CompilerRecord:
    """What the cache remembers of a toolchain."""
    return CompilerRecord(
        toolchain.command,
        toolchain.version,
        toolchain.target,
        toolchain.flags,
        toolchain.fingerprint,
        toolchain.processor.digest,
    )


def value_digest(value: object) -> str:
    """Digest of a record field's value for `Unit.provenance`; `value` is plain JSON data (numbers, text, lists)."""
    return _digest(json.dumps(value, sort_keys=True, ensure_ascii=True).encode())[:32]


def _check_units(units: Sequence[Unit]) -> None:
    seen: set[str] = set()
    for unit in units:
        if _UNIT_NAME.fullmatch(unit.name) is None:
            raise CompileError(f"unit name {unit.name!r} is not a plain file name")
        if unit.name in seen:
            raise CompileError(f"two units are named {unit.name!r}")
        seen.add(unit.name)
        if unit.source.is_absolute() or ".." in unit.source.parts:
            raise CompileError(f"unit {unit.name}: source {unit.source} leaves the output folder")


def _header_digests(unit: Unit, common: Mapping[str, str]) -> dict[str, str]:
    return {path: _digest(text.encode()) for path, text in {**common, **unit.headers}.items()}


def _unit_record(
    unit: Unit, key: str, headers: Mapping[str, str], compiler: CompilerRecord, generator: str
) -> UnitRecord:
    return UnitRecord(key, _digest(unit.text.encode()), dict(headers), dict(unit.provenance), compiler, generator)


def _key(unit: Unit, headers: Mapping[str, str], compiler: CompilerRecord) -> str:
    """SHA-256 over an unambiguous encoding of all that the object depends on."""
    parts = {
        "text": _digest(unit.text.encode()),
        "source": unit.source.as_posix(),
        "headers": dict(headers),
        "compiler": compiler.to_json(),
        **({"flags": unit.flags} if unit.flags else {}),
    }
    return _digest(json.dumps(parts, sort_keys=True).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _file_digest(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _record_path(folder: Path) -> Path:
    return folder / CACHE_FOLDER / "record.json"


def _keep(objects: Mapping[str, ObjectRecord], number: int) -> dict[str, ObjectRecord]:
    """The objects worth keeping: those of this build, and recent ones within the size bound."""
    kept: dict[str, ObjectRecord] = {}
    total = 0
    for name, known in sorted(objects.items(), key=lambda item: (-item[1].last_used, item[0])):
        total += known.size
        recent = number - known.last_used < KEEP_BUILDS and total <= KEEP_BYTES
        if known.last_used == number or recent:
            kept[name] = known
    return kept


def _remove_unlisted(folder: Path, kept: Mapping[str, ObjectRecord], current: Iterable[str]) -> None:
    """Remove objects and logs that no record mentions; the folder belongs to the cache alone."""
    wanted = set(kept) | set(current)
    for path in folder.glob("*"):
        if path.name.removesuffix(".log") not in wanted:
            with contextlib.suppress(OSError):  # a left-over costs space and nothing else
                path.unlink()
