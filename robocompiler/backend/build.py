"""RobotProgram to a folder of C files, libraries and a manifest.

Text is always emitted again and written where it changed; objects are reused by content.  Libraries are linked beside
the old ones and the manifest is replaced last, so that a failed or killed build leaves what was loadable loadable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.c_operations import Real
from robocompiler.backend.cache import CACHE_FOLDER, BuildPlan, commit, plan
from robocompiler.backend.emit import Emission, emit
from robocompiler.backend.lock import build_lock
from robocompiler.backend.manifest import manifest_text
from robocompiler.backend.toolchain import Toolchain, compile_objects, find_toolchain, link_shared
from robocompiler.backend.writer import write_files
from robocompiler.symbolic.program import RobotProgram
from robocompiler.version import VERSION

Progress = Callable[[str, str, float], None]


@dataclass(frozen=True)
class BuildOptions:
    """real: 'double' or 'float'; cc: compiler command or None to look for one; emit_only: write text, compile nothing;
    workers: parallel compilers (None: one per core); optimisation: the -O level."""

    real: Real = "double"
    cc: str | None = None
    emit_only: bool = False
    workers: int | None = None


@dataclass(frozen=True)
class BuildReport:
    """What a build did: folder, changed files, why each unit was compiled ('unchanged' if not), seconds a step."""

    folder: Path
    prefix: str
    changed: tuple[str, ...]
    reasons: dict[str, str]
    files: tuple[str, ...]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def compiled(self) -> tuple[str, ...]:
        """Units that were compiled in this build."""
        return tuple(name for name, why in self.reasons.items() if why != "unchanged")


def _silent(step: str, item: str, seconds: float) -> None:
    """Progress that nobody watches."""


def build_robot(
    program: RobotProgram, output: Path, options: BuildOptions, progress: Progress | None = None
) -> BuildReport:
    """Emit, compile and link one robot into `output`/<name>/.

    `progress(step, item, seconds)` is told of every finished step.  CompileError when the folder cannot be written or
    the compiler is missing or fails; whatever was there before still loads.
    """
    tell = progress or _silent
    begin = time.monotonic()
    emission = emit(program, options.real)
    folder = output / emission.prefix
    toolchain = None if options.emit_only else find_toolchain(options.cc)
    seconds = {"print": time.monotonic() - begin}
    tell("print", f"{len(emission.files)} files", seconds["print"])
    with build_lock(folder, message=lambda text: tell("wait", text, 0.0)):
        begin = time.monotonic()
        if toolchain is None:
            files = dict(emission.files)
            manifest = manifest_text(program, emission, options.real, {"compiled": False})
            changed = write_files(folder, {**files, f"{emission.prefix}.manifest.json": manifest})
            names = (*sorted(files), f"{emission.prefix}.manifest.json")
            return BuildReport(folder, emission.prefix, tuple(changed), {}, names, seconds)
        changed = write_files(folder, _keep_manifest(folder, emission))
        seconds["write"] = time.monotonic() - begin
        build, libraries = _compile(emission, folder, toolchain, options, tell, seconds)
        manifest = manifest_text(program, emission, options.real, _build_record(toolchain, libraries))
        if write_files(folder, {**emission.files, f"{emission.prefix}.manifest.json": manifest}):
            changed = [*changed, f"{emission.prefix}.manifest.json"]
    reasons = {decision.unit.name: decision.reason for decision in build.decisions}
    names = (*sorted(emission.files), f"{emission.prefix}.manifest.json", *libraries)
    return BuildReport(folder, emission.prefix, tuple(changed), reasons, names, seconds)


def _keep_manifest(folder: Path, emission: Emission) -> dict[str, str | bytes]:
    """The files to write before compiling: the old manifest stays listed, so that it is not removed as stale."""
    path = folder / f"{emission.prefix}.manifest.json"
    return {**emission.files, **({path.name: path.read_bytes()} if path.is_file() else {})}


def _compile(
    emission: Emission,
    folder: Path,
    toolchain: Toolchain,
    options: BuildOptions,
    tell: Progress,
    seconds: dict[str, float],
) -> tuple[BuildPlan, list[str]]:
    begin = time.monotonic()
    build = plan(emission.units, folder=folder, toolchain=toolchain, headers=emission.headers, generator=VERSION)
    finished = {decision.unit.name for decision in build.decisions if decision.reused}

    def done(name: str, took: float) -> None:
        finished.add(name)
        tell("compile", name, took)

    try:
        compile_objects(build.jobs(), toolchain, workers=options.workers, progress=done)
    except BaseException:
        commit(build, finished)  # what was finished is reused next time
        raise
    seconds["compile"] = time.monotonic() - begin
    begin = time.monotonic()
    libraries = _link(emission, build, folder, toolchain)
    seconds["link"] = time.monotonic() - begin
    tell("link", f"{len(libraries)} libraries", seconds["link"])
    commit(build)
    return build, libraries


def _link(emission: Emission, build: BuildPlan, folder: Path, toolchain: Toolchain) -> list[str]:
    """Link whatever is missing or older than its objects' names tell; all libraries appear together at the end."""
    wanted: dict[str, Sequence[Path]] = {
        f"lib{emission.prefix}_{d.unit.name}.so": [d.object]
        for d in build.decisions
        if d.unit.name in emission.module_units
    }
    wanted[f"lib{emission.prefix}.so"] = build.objects
    stage = folder / CACHE_FOLDER / "linked"
    stamp = folder / CACHE_FOLDER / "linked.txt"
    text = "".join(f"{name} {' '.join(o.name for o in objects)}\n" for name, objects in sorted(wanted.items()))
    present = all((folder / name).is_file() for name in wanted)
    if not (present and stamp.is_file() and stamp.read_text() == text and not build.jobs()):
        before = {line.split()[0] for line in stamp.read_text().splitlines()} if stamp.is_file() else set()
        stamp.unlink(missing_ok=True)
        for name, objects in wanted.items():
            link_shared(objects, stage / name, toolchain)
        for name in wanted:
            (stage / name).replace(folder / name)
        for name in before - set(wanted):
            (folder / name).unlink(missing_ok=True)
        write_atomically(stamp, text.encode())
    return sorted(wanted)


def _build_record(toolchain: Toolchain, libraries: Sequence[str]) -> dict[str, Any]:
    return {
        "compiled": True,
        "compiler": toolchain.version,
        "target": toolchain.target,
        "flags": list(toolchain.flags),
        "libraries": list(libraries),
    }
