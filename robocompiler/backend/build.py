"""RobotProgram to a folder of C files, libraries and a manifest.

Text is always emitted again and written where it changed; objects are reused by content.  Libraries are linked beside
the old ones and the manifest is replaced last, so that a failed or killed build leaves what was loadable loadable.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robocompiler.backend.cache import BuildPlan, commit, plan
from robocompiler.backend.emit import Emission, emit
from robocompiler.backend.head_start import HeadStart
from robocompiler.backend.libraries import Libraries, link_libraries, remove_old
from robocompiler.backend.lock import build_lock
from robocompiler.backend.manifest import manifest_text
from robocompiler.backend.numbers_apart import Apart, units_to_compile
from robocompiler.backend.options import BuildOptions, BuildReport, Progress
from robocompiler.backend.stage import write_stage
from robocompiler.backend.toolchain import CompilePool, Toolchain
from robocompiler.backend.writer import write_files
from robocompiler.symbolic.program import RobotProgram
from robocompiler.version import VERSION

NO_SUPPORTS: Mapping[str, BuildReport] = {}
Modes = Mapping[str, Mapping[str, str]]


def _silent(step: str, item: str, seconds: float) -> None:
    """Progress that nobody watches."""


def build_robot(
    program: RobotProgram,
    output: Path,
    options: BuildOptions,
    progress: Progress | None = None,
    *,
    folder: Path | None = None,
    supports: Mapping[str, BuildReport] = NO_SUPPORTS,
    head: HeadStart | None = None,
) -> BuildReport:
    """Emit, compile and link one robot into `output`/<name>/, or into `folder` when it is given.

    `supports` are the finished builds of support modes, in folders below the robot's; its manifest lists them.
    `head`: a head start that has begun in the same folder with the same options (default: one that begins now).

    `progress(step, item, seconds)` is told of every finished step; before compiling, step "plan" tells of every unit
    what happens to it and why.  CompileError when the folder cannot be written or the compiler is missing or fails;
    whatever was there before still loads.
    """
    tell = progress or _silent
    if head is None:
        with HeadStart(output, options, tell, folder=folder) as own:
            own.begin(program)
            return build_robot(program, output, options, progress, supports=supports, head=own)
    folder, begin = head.folder, time.monotonic()
    emission = emit(
        program, options.real, batch=options.batch, derivatives=options.derivatives, resolution=options.resolution,
        early=head.emission, texts=head.texts,
    )  # fmt: skip
    head.check()
    seconds = {"print": time.monotonic() - begin + head.seconds}
    tell("print", f"{len(emission.files)} files", seconds["print"])
    modes = _modes(folder, supports)
    if head.toolchain is None or head.pool is None:
        with build_lock(folder, message=lambda text: tell("wait", text, 0.0)):
            report = _write_text(program, emission, folder, options, modes, seconds)
    else:
        report = _build(program, emission, folder, head, options, modes, tell, seconds)
        head.clean()
    return replace(report, digest=emission.digest, supports=dict(supports))


def _modes(folder: Path, supports: Mapping[str, BuildReport]) -> dict[str, dict[str, str]]:
    """Where the compiled support modes lie, relative to the robot's folder, and which programs they are."""
    return {
        name: {"folder": report.folder.relative_to(folder).as_posix(), "digest": report.digest}
        for name, report in supports.items()
    }


def _write_text(
    program: RobotProgram,
    emission: Emission,
    folder: Path,
    options: BuildOptions,
    modes: Modes,
    seconds: dict[str, float],
) -> BuildReport:
    """Emit only: every text, and a manifest that says that there is no library."""
    begin = time.monotonic()
    name = f"{emission.prefix}.manifest.json"
    manifest = manifest_text(program, emission, options.real, {"compiled": False}, modes)
    changed = write_files(folder, {**emission.files, name: manifest})
    seconds["write"] = time.monotonic() - begin
    return BuildReport(folder, emission.prefix, tuple(changed), {}, (*sorted(emission.files), name), seconds)


def _build(
    program: RobotProgram,
    emission: Emission,
    folder: Path,
    head: HeadStart,
    options: BuildOptions,
    modes: Modes,
    tell: Progress,
    seconds: dict[str, float],
) -> BuildReport:
    """Write, compile and link; the manifest is replaced last and makes the new libraries the robot's."""
    begin, toolchain, pool = time.monotonic(), head.toolchain, head.pool
    assert toolchain is not None and pool is not None
    name = f"{emission.prefix}.manifest.json"
    previous = _present(folder / name)
    # the old manifest stays listed until the end, so that the writer does not remove it as stale
    changed = write_files(folder, {**emission.files, **({name: previous} if previous is not None else {})})
    seconds["write"] = time.monotonic() - begin
    later = emission.units[len(head.emission.units) if head.emission else 0 :]  # the first ones are printed ahead
    apart = head.apart + units_to_compile(later, emission.prefix, toolchain)
    build, libraries = _compile(emission, apart, folder, toolchain, pool, tell, seconds)
    manifest = manifest_text(program, emission, options.real, _build_record(toolchain, build, libraries), modes)
    changed += write_files(folder, {**emission.files, name: manifest})
    remove_old(folder, emission.prefix, (libraries.versioned, *_named_library(previous)))
    reasons = {decision.unit.name: decision.reason for decision in build.decisions}
    names = (*sorted(emission.files), name, *libraries.names, libraries.versioned)
    return BuildReport(folder, emission.prefix, tuple(sorted(set(changed))), reasons, names, seconds)


def _present(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _named_library(manifest: bytes | None) -> tuple[str, ...]:
    """The library of the manifest that was just replaced: whoever has read it a moment ago must still find it."""
    try:
        return (str(json.loads(manifest or b"")["build"]["library"]["file"]),)
    except (ValueError, KeyError, TypeError):
        return ()


def _compile(
    emission: Emission,
    apart: Apart,
    folder: Path,
    toolchain: Toolchain,
    pool: CompilePool,
    tell: Progress,
    seconds: dict[str, float],
) -> tuple[BuildPlan, Libraries]:
    begin = time.monotonic()
    build = plan(apart.units, folder=folder, toolchain=toolchain, headers=emission.headers, generator=VERSION)
    for decision in build.decisions:
        tell("plan", str(decision), 0.0)
    finished = {decision.unit.name for decision in build.decisions if decision.reused}

    def done(name: str, took: float) -> None:
        finished.add(name)
        tell("compile", name, took)

    write_stage(folder, apart.staged({decision.unit.name for decision in build.decisions if not decision.reused}))
    try:
        pool.add(build.jobs())
        pool.finish(done)
    except BaseException:
        commit(build, finished)  # what was finished is reused next time
        raise
    seconds["compile"] = time.monotonic() - begin
    begin = time.monotonic()
    objects = {decision.unit.name: decision.object for decision in build.decisions}

    def whole(name: str) -> list[Path]:
        return [objects[name], *(objects[numbers] for numbers in (apart.numbers.get(name),) if numbers)]

    support = [path for name in emission.module_support for path in whole(name)]
    wanted: dict[str, Sequence[Path]] = {
        f"lib{emission.prefix}_{name}.so": [*whole(name), *support] for name in emission.module_units
    }
    wanted[f"lib{emission.prefix}.so"] = build.objects
    commit(build)
    libraries = link_libraries(folder, emission.prefix, wanted, toolchain)
    seconds["link"] = time.monotonic() - begin
    tell("link", f"{len(libraries.names)} libraries", seconds["link"])
    return build, libraries


def _build_record(toolchain: Toolchain, build: BuildPlan, libraries: Libraries) -> dict[str, Any]:
    return {
        "compiled": True,
        "compiler": toolchain.version,
        "target": toolchain.target,
        "flags": list(toolchain.flags),
        "unit_flags": {d.unit.name: list(d.unit.flags) for d in build.decisions if d.unit.flags},  # follow the others
        "instructions": list(toolchain.processor.instructions),
        "libraries": list(libraries.names),
        "library": {"file": libraries.versioned, "sha256": libraries.digest},
    }
