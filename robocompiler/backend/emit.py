"""RobotProgram to {path: text}: the templates are rendered, nothing is written here.

The same program gives the same bytes: no dates, no absolute paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from robocompiler.backend.cache import Unit
from robocompiler.backend.charts_view import charts_files
from robocompiler.backend.collection import paused_collection
from robocompiler.backend.compiler import PORTABLE
from robocompiler.backend.derivatives_view import DerivativesView, derivative_units, derivatives_view
from robocompiler.backend.drives_view import DriveVectors, drive_vectors, drive_warnings, drives_view
from robocompiler.backend.emit_kinematics import KinematicEmission, emit_kinematics
from robocompiler.backend.kept_texts import NOTHING_KEPT, KeptTexts
from robocompiler.backend.lanes_view import batch_units, lanes_view
from robocompiler.backend.mechanics_view import MechanicsView, mechanics_view
from robocompiler.backend.motion_view import motion_view
from robocompiler.backend.numbers import literals
from robocompiler.backend.options import Real
from robocompiler.backend.provenance import (
    drives_provenance,
    mechanics_provenance,
    resolution_provenance,
)
from robocompiler.backend.rendering import render, text_digest
from robocompiler.backend.resolution_view import resolution_files, resolution_units
from robocompiler.backend.vectors import Vectors, reference_vectors
from robocompiler.backend.views import RobotView
from robocompiler.symbolic.program import RobotProgram

_SELFTEST_LOOSE: dict[str, str] = {"double": "1e-7", "float": "2e-2f"}
_TABLES = ("q", "u", "E", "v", "poses", "started", "f", "udot")
_DRIVE_TABLES = ("z", "c", "f", "efforts", "zdot", "efforts_scale", "zdot_scale")
_SELFTEST_TOLERANCE: dict[str, str] = {"double": "1e-10", "float": "2e-4f"}


@dataclass(frozen=True)
class Emission:
    """All generated text of one robot.

    prefix: of files and functions; files: everything but the manifest; units: the translation units of the robot's
    library, of which `module_units` also make a library each, together with `module_support`; headers: {path: text} of
    those that all units may include; interface: text of the headers that users include; digest: of all of it.
    """

    prefix: str
    files: Mapping[str, str]
    units: tuple[Unit, ...]
    module_units: tuple[str, ...]
    module_support: tuple[str, ...]
    headers: Mapping[str, str]
    interface: str
    digest: str
    view: RobotView
    warnings: tuple[str, ...] = ()


@paused_collection()
def emit(
    program: RobotProgram,
    real: Real = "double",
    *,
    batch: bool = False,
    derivatives: bool = False,
    resolution: bool = False,
    early: KinematicEmission | None = None,
    texts: KeptTexts = NOTHING_KEPT,
) -> Emission:
    """Render every file of a robot; `batch`: with the functions that take many states at once; `derivatives`: with the
    derivatives of the dynamics; `resolution`: with redundancy resolution; `early`: what `emit_kinematics` gave for the
    same robot and precision; `texts`: of kernels that are not printed again.

    CompileError for a robot without a single coordinate (C has no arrays of length zero), and for constants that `real`
    cannot hold.
    """
    early = emit_kinematics(program, real, texts) if early is None else early
    view, prefix = early.view, early.prefix
    mechanics = mechanics_view(program, view, real, texts) if program.mechanics else None
    own, dynamics = _mechanics(view, mechanics) if mechanics else ({}, {})
    drives = drives_view(program, view, real)
    driving: dict[str, str] = {}
    for kind in "hc" if drives else "":  # a header of its own, so that an edit of a drive leaves all other objects
        driving[f"{prefix}_drives.{kind}"] = render(f"drives.{kind}.j2", r=view, d=mechanics, s=drives)
    motion = _motion(program, view, mechanics, real)
    steep = derivatives_view(program, view, real) if derivatives and mechanics else None
    lanes = _batch(view, mechanics, steep, real) if batch and mechanics else {}
    slopes = _derivatives(view, mechanics, steep) if mechanics and steep else {}
    resolving = resolution_files(program, view, mechanics, real) if resolution and mechanics else {}
    charts = charts_files(program, view, mechanics, real) if mechanics and view.switching else {}
    more = {**driving, **motion, **charts, **lanes, **slopes, **resolving}
    name = f"{prefix}_identity.c"
    nameless = {name: render("identity.c.j2", r=view)}  # with the reference, which counts, and no digest yet
    digest = text_digest({**early.headers, **own, **early.sources, **dynamics, **more, **nameless})
    view = replace(view, digest=digest)
    identity = {name: render("identity.c.j2", r=view)}
    sources = {**early.sources, **dynamics, **identity, **_sources(more)}
    vectors = reference_vectors(program, dynamics=mechanics is not None and not mechanics.idle)
    driven = drive_vectors(program, vectors) if drives else None
    tables, driven_tables = _test_tables(vectors, real), _drive_tables(driven, real)
    others = {
        "selftest.c": render("selftest.c.j2", r=view, t=tables, z=driven_tables),
        "README.md": render(
            "README.md.j2", r=view, sources=sorted(sources), mechanics=mechanics, drives=drives, derivatives=slopes,
            resolution=resolving,
        ),
        "CMakeLists.txt": render("CMakeLists.txt.j2", r=view),
        f"{prefix}.cmake": render("robot.cmake.j2", r=view, sources=sorted(sources)),
    }  # fmt: skip
    return Emission(
        prefix=prefix,
        files={**early.headers, **own, **more, **sources, **others},
        units=early.units
        + _whole_units(program, prefix, dynamics, own)
        + _whole_units(program, prefix, identity, {})
        + _whole_units(program, prefix, _sources(motion), _headers(motion))
        + _whole_units(program, prefix, _sources(charts), {**own, **_headers(charts)})
        + _drive_units(program, prefix, driving)
        + batch_units(_sources(lanes), prefix, _headers(lanes), mechanics_provenance(program))
        + derivative_units(slopes, prefix, mechanics_provenance(program), own)
        + resolution_units(resolving, prefix, resolution_provenance(program)),
        module_units=tuple(block.name for block in program.blocks),
        module_support=early.module_support,
        headers=early.headers,
        interface=_interface(prefix, {**early.headers, **more}),
        digest=digest,
        view=view,
        warnings=_warnings(mechanics) + drive_warnings(program, driven),
    )


def _mechanics(view: RobotView, mechanics: MechanicsView) -> tuple[dict[str, str], dict[str, str]]:
    """The header of the mechanical kernels, and their sources."""
    own = {f"{view.prefix}_mechanics.h": render("mechanics.h.j2", r=view, d=mechanics)}
    dynamics = {str(k.file): render("kernel.c.j2", r=view, k=k) for k in mechanics.kernels}
    if mechanics.nt:
        dynamics[f"{view.prefix}_trigonometry.c"] = render("trigonometry.c.j2", r=view, d=mechanics)
    dynamics[f"{view.prefix}_dynamics.c"] = render("dynamics.c.j2", r=view, d=mechanics)
    return own, dynamics


def _interface(prefix: str, headers: Mapping[str, str]) -> str:
    """The headers that users include, one after the other."""
    names = ("", "_motion", "_charts", "_drives", "_batch", "_derivatives", "_resolution")
    return "".join(headers.get(f"{prefix}{name}.h", "") for name in names)


def _warnings(mechanics: MechanicsView | None) -> tuple[str, ...]:
    if mechanics is None or not mechanics.idle:
        return ()
    return (
        f"nothing has inertia along {', '.join(mechanics.idle)}: forward dynamics is not defined and reports a small "
        "pivot; give the bodies that move there an inertia, or an armature to the joints",
    )


def _whole_units(
    program: RobotProgram, prefix: str, sources: Mapping[str, str], headers: Mapping[str, str]
) -> tuple[Unit, ...]:
    fields = mechanics_provenance(program)
    return tuple(
        Unit(path.removeprefix(f"{prefix}_").removesuffix(".c"), Path(path), text, fields, headers)
        for path, text in sorted(sources.items())
    )


def _batch(view: RobotView, mechanics: MechanicsView, slopes: DerivativesView | None, real: Real) -> dict[str, str]:
    """The files of the batch functions; with those of the derivatives where they are given."""
    lanes, prefix = lanes_view(mechanics, slopes, view.prefix, real, bool(view.np)), view.prefix
    names = ["lanes.h", "batch.h", "batch.c", "lanes_dynamics.c", *(["lanes_derivatives.c"] if slopes else [])]
    files = {f"{prefix}_{name}": render(f"{name}.j2", r=view, d=mechanics, b=lanes, s=slopes) for name in names}
    files |= {t.file: render("lanes_trigonometry.c.j2", r=view, t=t) for t in lanes.trigonometry}
    return {**files, **{kernel.file: render("lanes_kernel.c.j2", r=view, k=kernel) for kernel in lanes.kernels}}


def _motion(program: RobotProgram, view: RobotView, mechanics: MechanicsView | None, real: Real) -> dict[str, str]:
    """The files of the motion layer; a header of its own, so that no other unit depends on it."""
    motion, nf = motion_view(program, view.MACRO, real), mechanics.nf if mechanics else 0
    return {f"{view.prefix}_motion.{kind}": render(f"motion.{kind}.j2", r=view, m=motion, nf=nf) for kind in "hc"}


def _derivatives(view: RobotView, mechanics: MechanicsView, slopes: DerivativesView) -> dict[str, str]:
    """The files of the derivatives."""
    files = {
        f"{view.prefix}_{name}": render(f"{name}.j2", r=view, d=mechanics, s=slopes)
        for name in ("derivatives.h", "slopes.h", "derivatives.c")
    }
    return {**files, **{kernel.file: render("slope_kernel.c.j2", r=view, k=kernel) for kernel in slopes.kernels}}


def _headers(files: Mapping[str, str]) -> dict[str, str]:
    return {path: text for path, text in files.items() if path.endswith(".h")}


def _sources(files: Mapping[str, str]) -> dict[str, str]:
    return {path: text for path, text in files.items() if path.endswith(".c")}


def _drive_units(program: RobotProgram, prefix: str, files: Mapping[str, str]) -> tuple[Unit, ...]:
    """The one unit of the drives, with the header that only it includes."""
    if not files:
        return ()
    header, source = f"{prefix}_drives.h", f"{prefix}_drives.c"
    own = {header: files[header]}
    # laws are rounded as the user wrote them: they divide and take roots where nobody else has looked
    return (Unit("drives", Path(source), files[source], drives_provenance(program), own, PORTABLE),)


def _drive_tables(vectors: DriveVectors | None, real: Real) -> dict[str, list[str]] | None:
    return {name: literals(getattr(vectors, name), real) for name in _DRIVE_TABLES} if vectors else None


def _test_tables(vectors: Vectors, real: Real) -> dict[str, Any]:
    tables = {name: literals(getattr(vectors, name).ravel(), real) for name in _TABLES}
    return {**tables, "tolerance": _SELFTEST_TOLERANCE[real], "loose": _SELFTEST_LOOSE[real]}
