"""The files that need no mechanics: common headers, modules, chords, kinematics.

They are printed, and may be compiled, while the mechanics are still derived.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robocompiler.backend.cache import Unit
from robocompiler.backend.chords_view import chord_functions
from robocompiler.backend.collection import paused_collection
from robocompiler.backend.kept_texts import NOTHING_KEPT, KeptTexts
from robocompiler.backend.mechanics_view import ports_view
from robocompiler.backend.options import Real
from robocompiler.backend.provenance import module_provenance, robot_provenance
from robocompiler.backend.rendering import render
from robocompiler.backend.views import RobotView, robot_view
from robocompiler.errors import CompileError
from robocompiler.symbolic.program import RobotProgram


@dataclass(frozen=True)
class KinematicEmission:
    """headers: {path: text} of those that all units may include; sources and units: of the translation units;
    module_support: the units that the library of a single module needs beside its own."""

    prefix: str
    view: RobotView
    headers: Mapping[str, str]
    sources: Mapping[str, str]
    units: tuple[Unit, ...]
    module_support: tuple[str, ...]


def check_printable(program: RobotProgram) -> None:
    """CompileError for a robot without a single coordinate: C has no arrays of length zero."""
    if not program.closures.topology.nq:
        raise CompileError(f"{program.name}: no joint of this robot can move, so there is nothing to compile")


@paused_collection()
def emit_kinematics(program: RobotProgram, real: Real = "double", texts: KeptTexts = NOTHING_KEPT) -> KinematicEmission:
    """Render what depends on neither `program.mechanics` nor `program.drives`, which may still be None.

    texts: of kernels that are not printed again.  CompileError for a robot without a single coordinate, and for
    constants that `real` cannot hold.
    """
    check_printable(program)
    view = robot_view(program, real, texts)
    prefix = view.prefix
    ports = ports_view(program, view.MACRO) if program.moves else None
    headers = {
        f"{prefix}.h": render("robot.h.j2", r=view, d=ports),
        f"{prefix}_internal.h": render("internal.h.j2", r=view),
    }
    modules = {f"{prefix}_{m.name}.c": render("module.c.j2", r=view, m=m) for m in view.modules}
    functions = chord_functions(program.chord, real) if program.chords else []
    chords = {f"{prefix}_chords.c": render("chords.c.j2", r=view, chord=functions)} if functions else {}
    turns = {f"{prefix}_turns.c": render("turns.c.j2", r=view)}
    kinematics = {f"{prefix}_kinematics.c": render("kinematics.c.j2", r=view)}
    return KinematicEmission(
        prefix=prefix,
        view=view,
        headers=headers,
        sources={**modules, **chords, **turns, **kinematics},
        units=(
            *_module_units(program, prefix, modules),
            *(Unit("kinematics", Path(path), text, robot_provenance(program)) for path, text in kinematics.items()),
            *(Unit("chords", Path(path), text) for path, text in chords.items()),
            *(Unit("turns", Path(path), text) for path, text in turns.items()),
        ),
        module_support=("chords", "turns") if chords else ("turns",),
    )


def _module_units(program: RobotProgram, prefix: str, sources: Mapping[str, str]) -> list[Unit]:
    modules = [entry.module for chart in program.charts for entry in chart.modules]
    paths = [f"{prefix}_{module.name}.c" for module in modules]
    return [
        Unit(module.name, Path(path), sources[path], module_provenance(program, module))
        for module, path in zip(modules, paths, strict=True)
    ]
