"""RoboCompiler: closed-chain robots, written as graphs of physical records, compiled to exact and fast C.

import robocompiler as rc
robot = rc.compile("models/stewart.yaml", output="build")   # compiles what changed
robot = rc.load("build/stewart")                            # needs only numpy and cffi
udot = rc.casadi.function("models/stewart.yaml", "forward_dynamics")     # the same dynamics inside CasADi
rc.export.mjcf("models/stewart.yaml").text                  # the same mechanism for MuJoCo
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robocompiler.arguments import flag, from_options, texts
from robocompiler.arguments import path as file_path
from robocompiler.errors import (
    ArgumentError,
    AssemblyError,
    CompileError,
    InfeasibleTaskError,
    LoadError,
    ModelError,
    Problem,
    RankError,
    RoboCompilerError,
)
from robocompiler.version import VERSION

if TYPE_CHECKING:
    from robocompiler.records.model import Mechanism
    from robocompiler.reloading import Reload, edited, reload
    from robocompiler.runtime.motion.carry import carry
    from robocompiler.runtime.motion.schedule import Schedule, Switch, touches
    from robocompiler.runtime.motion.stance import Stance
    from robocompiler.runtime.robot import Robot, load

__version__ = VERSION

_LATER = {  # where a name is, which is imported when it is first asked for
    "Reload": "reloading",
    "Robot": "runtime.robot",
    "Schedule": "runtime.motion.schedule",
    "Stance": "runtime.motion.stance",
    "Switch": "runtime.motion.schedule",
    "carry": "runtime.motion.carry",
    "edited": "reloading",
    "load": "runtime.robot",
    "reload": "reloading",
    "touches": "runtime.motion.schedule",
}

__all__ = [
    "ArgumentError",
    "AssemblyError",
    "CompileError",
    "InfeasibleTaskError",
    "LoadError",
    "ModelError",
    "Problem",
    "RankError",
    "Reload",
    "RoboCompilerError",
    "Robot",
    "Schedule",
    "Stance",
    "Switch",
    "__version__",
    "carry",
    "compile",
    "edited",
    "load",
    "reload",
    "touches",
]


def compile(
    model: str | Path | Mechanism,
    output: str | Path = "build",
    *,
    independent: Sequence[str] = (),
    supports: str | Sequence[str] = (),
    charts: str | int = 0,
    repair: bool = False,
    **options: Any,
) -> Robot:
    """Compile a mechanism file (or records) into `output`/<name>/ and load it; only what changed is compiled again.

    Args:
        model: path of a mechanism file (YAML, URDF, MJCF or SDF), or a Mechanism.
        output: folder that receives one folder per robot.
        independent: velocities or joints that should be independent where possible.
        supports: names of support modes to compile as well, or "all"; `Robot.support(name)` gives them.
        charts: "auto", or the most further charts to compile, for motion through poses at which one chart is singular;
            `Robot.chart(name)` gives them, `Robot.switcher()` changes between them (docs/motion.md).  0: none.
        repair: make nearly redundant loops exact first (docs/repair.md); what that changes is told as a UserWarning.
        options: fields of `backend.options.BuildOptions`: real ('double' or 'float'), cc, workers, batch,
            derivatives, resolution (docs/redundancy.md), portable (the same numbers on every machine, instead of code
            for this processor).

    Raises:
        ModelError, AssemblyError, RankError: the mechanism is wrong, does not close, or has no clear rank.
        CompileError: the C compiler or the output folder fails.
        ArgumentError: an argument of the wrong type, or an option that there is not.
    """
    from robocompiler.backend.options import BuildOptions, chart_count
    from robocompiler.backend.repeat import repeat_key, standing_build
    from robocompiler.importers.read_model import read_model
    from robocompiler.records.model import Mechanism

    folder, choices, most = (
        file_path(output, "output"),
        from_options(BuildOptions, options, "rc.compile"),
        chart_count(charts),
    )
    independent = texts(independent, "independent")
    supports = (supports,) if isinstance(supports, str) else texts(supports, "supports")
    flag(repair, "repair")
    mechanism = model if isinstance(model, Mechanism) else read_model(model)
    if repair:
        mechanism = _repaired(mechanism)
    key = "" if choices.emit_only else repeat_key(mechanism, independent, supports, choices, most)
    report = standing_build(mechanism, folder, key) if key else None
    if report is None:
        from robocompiler.compiler import compile_to_folder

        _, report = compile_to_folder(
            mechanism, folder, independent=independent, supports=supports, charts=most, options=choices, key=key
        )
    from robocompiler.runtime import robot as runtime

    return runtime.load(report.folder)


def _repaired(mechanism: Mechanism) -> Mechanism:
    """The repaired records; changes are warned of, since nothing is changed quietly."""
    from robocompiler.analysis.repair_text import repair_text
    from robocompiler.analysis.repairing import repair_mechanism

    repair = repair_mechanism(mechanism)
    if repair.mechanism != mechanism:
        warnings.warn(repair_text(repair), stacklevel=3)
    return repair.mechanism


def __getattr__(name: str) -> Any:
    """What is imported when it is first asked for: `load` needs no CasADi, and a compile that stands no numpy."""
    if name in ("casadi", "export", "simulation"):
        return importlib.import_module(f"robocompiler.{name}")
    if name == "redundancy":
        return importlib.import_module("robocompiler.runtime.redundancy")
    if name in _LATER:
        found = getattr(importlib.import_module(f"robocompiler.{_LATER[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
