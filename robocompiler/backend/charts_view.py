"""The files of the charts: quality of every chart, and dynamics in all but the port chart."""

from __future__ import annotations

from collections.abc import Mapping

from robocompiler.backend.mechanics_view import MechanicsView
from robocompiler.backend.options import Real
from robocompiler.backend.printer import print_kernel
from robocompiler.backend.rendering import render
from robocompiler.backend.views import RobotView
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.program import RobotProgram

_LEAST: dict[str, str] = {"double": "1e-12", "float": "1e-6f"}  # of a mass matrix' pivot, relative to its diagonal


def charts_files(program: RobotProgram, view: RobotView, mechanics: MechanicsView, real: Real) -> Mapping[str, str]:
    """{path: text} of a robot whose charts were asked for."""
    sizes = {"q": f"{view.MACRO}_NQ", "v": f"{view.MACRO}_NV", "p": f"{view.MACRO}_NP"}

    def text(kernel: Kernel) -> str:
        own = {argument.name: sizes[argument.name] for argument in kernel.inputs}
        printed = print_kernel(kernel, function_name=kernel.name, real=real, static=True, sizes=own)
        return f"/* {kernel.summary} */\n{printed}"

    measured = any(module.k and module.m for module in view.modules)
    values = {
        "r": view, "d": mechanics, "nf": mechanics.nf, "measured": measured, "least": _LEAST[real],
        "drifts": {kernel.name: text(kernel) for kernel in program.drifts},
    }  # fmt: skip
    return {f"{view.prefix}_charts.{kind}": render(f"charts.{kind}.j2", **values) for kind in "hc"}
