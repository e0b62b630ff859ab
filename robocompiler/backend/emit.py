"""RobotProgram to {path: text}: the templates are rendered, nothing is written here.

The same program gives the same bytes: no dates, no absolute paths.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jinja2

from robocompiler.backend.c_operations import Real
from robocompiler.backend.cache import Unit
from robocompiler.backend.mechanics_view import MechanicsView, mechanics_view
from robocompiler.backend.numbers import literals
from robocompiler.backend.provenance import mechanics_provenance, module_provenance, robot_provenance
from robocompiler.backend.vectors import reference_vectors
from robocompiler.backend.views import RobotView, robot_view
from robocompiler.errors import CompileError
from robocompiler.resources import templates_folder
from robocompiler.symbolic.program import RobotProgram

_SELFTEST_LOOSE: dict[str, str] = {"double": "1e-7", "float": "2e-2f"}
_TABLES = ("q", "u", "E", "v", "poses", "started", "f", "udot")
_SELFTEST_TOLERANCE: dict[str, str] = {"double": "1e-10", "float": "2e-4f"}


@dataclass(frozen=True)
class Emission:
    """All generated text of one robot.

    prefix: of files and functions; files: everything but the manifest; units: the translation units of the robot's
    library, of which `module_units` also make a library each; headers: {path: text}; digest: of all of it.
    """

    prefix: str
    files: Mapping[str, str]
    units: tuple[Unit, ...]
    module_units: tuple[str, ...]
    headers: Mapping[str, str]
    digest: str
    view: RobotView
    warnings: tuple[str, ...] = ()


@functools.cache
def _environment() -> jinja2.Environment:
    """One for the process: parsing the templates takes longer than printing a small robot."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_folder()),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # the output is C, not HTML; names hold only letters, digits and _ - . / space
    )


def emit(program: RobotProgram, real: Real = "double") -> Emission:
    """Render every file of a robot.

    CompileError for a robot without a single coordinate (C has no arrays of length zero), and for constants that `real`
    cannot hold.
    """
    if not program.closures.topology.nq:
        raise CompileError(f"{program.name}: no joint of this robot can move, so there is nothing to compile")
    view = robot_view(program, real)
    mechanics = mechanics_view(program, view, real) if program.mechanics else None
    prefix, environment = view.prefix, _environment()

    def render(template: str, **values: Any) -> str:
        return environment.get_template(template).render(**values)

    headers = {
        f"{prefix}.h": render("robot.h.j2", r=view, d=mechanics),
        f"{prefix}_internal.h": render("internal.h.j2", r=view),
    }
    modules = {f"{prefix}_{m.name}.c": render("module.c.j2", r=view, m=m) for m in view.modules}
    dynamics: dict[str, str] = {}
    if mechanics:
        headers[f"{prefix}_mechanics.h"] = render("mechanics.h.j2", r=view, d=mechanics)
        dynamics = {str(k.file): render("kernel.c.j2", r=view, k=k) for k in mechanics.kernels}
        dynamics[f"{prefix}_dynamics.c"] = render("dynamics.c.j2", r=view, d=mechanics)
    kinematics = {f"{prefix}_kinematics.c": render("kinematics.c.j2", r=view)}
    digest = _digest({**headers, **modules, **kinematics, **dynamics})
    view = replace(view, digest=digest)
    identity = {f"{prefix}_identity.c": render("identity.c.j2", r=view)}
    sources = {**modules, **kinematics, **dynamics, **identity}
    others = {
        "selftest.c": render("selftest.c.j2", r=view, t=_test_tables(program, real, mechanics)),
        "README.md": render("README.md.j2", r=view, sources=sorted(sources), mechanics=bool(mechanics)),
        "CMakeLists.txt": render("CMakeLists.txt.j2", r=view),
        f"{prefix}.cmake": render("robot.cmake.j2", r=view, sources=sorted(sources)),
    }
    return Emission(
        prefix=prefix,
        files={**headers, **sources, **others},
        units=_units(program, prefix, {**modules, **kinematics})
        + _whole_units(program, prefix, {**dynamics, **identity}),
        module_units=tuple(block.name for block in program.blocks),
        headers=headers,
        digest=digest,
        view=view,
        warnings=_warnings(mechanics),
    )


def _warnings(mechanics: MechanicsView | None) -> tuple[str, ...]:
    if mechanics is None or not mechanics.idle:
        return ()
    return (
        f"nothing has inertia along {', '.join(mechanics.idle)}: forward dynamics is not defined and reports a small "
        "pivot; give the bodies that move there an inertia, or an armature to the joints",
    )


def _units(program: RobotProgram, prefix: str, sources: Mapping[str, str]) -> tuple[Unit, ...]:
    units = [
        Unit(
            entry.module.name,
            Path(f"{prefix}_{entry.module.name}.c"),
            sources[f"{prefix}_{entry.module.name}.c"],
            module_provenance(program, entry.module),
        )
        for chart in program.charts
        for entry in chart.modules
    ]
    path = f"{prefix}_kinematics.c"
    return (*units, Unit("kinematics", Path(path), sources[path], robot_provenance(program)))


def _whole_units(program: RobotProgram, prefix: str, sources: Mapping[str, str]) -> tuple[Unit, ...]:
    fields = mechanics_provenance(program)
    return tuple(
        Unit(path.removeprefix(f"{prefix}_").removesuffix(".c"), Path(path), text, fields)
        for path, text in sorted(sources.items())
    )


def _test_tables(program: RobotProgram, real: Real, mechanics: MechanicsView | None) -> dict[str, Any]:
    vectors = reference_vectors(program, dynamics=mechanics is not None and not mechanics.idle)
    tables = {name: literals(getattr(vectors, name).ravel(), real) for name in _TABLES}
    return {**tables, "tolerance": _SELFTEST_TOLERANCE[real], "loose": _SELFTEST_LOOSE[real]}


def _digest(files: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{files[path]}\0".encode())
    return digest.hexdigest()
