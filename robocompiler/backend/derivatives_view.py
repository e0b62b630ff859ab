"""The derivatives of a robot's dynamics as the plain values that their templates print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robocompiler.backend.cache import Unit
from robocompiler.backend.options import Real
from robocompiler.backend.pair_printer import print_pairs
from robocompiler.backend.printer import print_kernel, print_prototype
from robocompiler.backend.routine import Routine
from robocompiler.backend.sharing import share_reciprocals, share_trigonometry
from robocompiler.backend.views import RobotView
from robocompiler.symbolic.derivatives import build_derivatives
from robocompiler.symbolic.program import RobotProgram


@dataclass(frozen=True)
class SlopeKernel:
    """One kernel as C text, `pairs` the same over pairs of numbers or empty, and the statement that calls it."""

    name: str
    summary: str
    prototype: str
    definition: str
    pairs: str
    call: str
    file: str


@dataclass(frozen=True)
class DerivativesView:
    """What derivatives.c and its headers print.

    kernels: by name, those that compute nothing left out; sizes: of g, s and r (at least 1, as C wants);
    nt: angles whose sines and cosines are taken once; angles, angles_call: the function that gives them; routines: the
    kernels as printed, by name.
    """

    kernels: tuple[SlopeKernel, ...]
    sizes: Mapping[str, int]
    needs_mass: bool
    nt: int
    angles: str
    angles_call: str
    routines: Mapping[str, Routine]
    angle_routine: Routine | None

    def call(self, name: str) -> str:
        """The statement that calls a kernel, empty where it computes nothing."""
        return next((kernel.call for kernel in self.kernels if kernel.name == name), "")


def derivatives_view(program: RobotProgram, view: RobotView, real: Real) -> DerivativesView:
    """The view of the derivatives of a robot that can move."""
    derivatives = build_derivatives(program.closures, program.reduction)
    kernels = [kernel for kernel in derivatives.kernels if any(a.size for a in kernel.outputs)]
    shared = share_trigonometry([share_reciprocals(Routine.of(kernel)) for kernel in kernels])

    def text(routine: Routine) -> SlopeKernel:
        name = f"{view.prefix}_{routine.name}"
        arguments = ", ".join(argument.name for argument in (*routine.inputs, *routine.outputs))
        return SlopeKernel(
            name=routine.name,
            summary=routine.summary,
            prototype=print_prototype(routine, function_name=name, real=real),
            definition=print_kernel(routine, function_name=name, real=real),
            pairs=print_pairs(routine, function_name=name, real=real, sizes={}),
            call=f"{name}({arguments});",
            file=f"{name}.c",
        )

    angles, angles_call = "", ""
    if shared.angles:
        angles = print_kernel(shared.angles, function_name="angles", real=real, static=True)
        angles_call = f"angles({', '.join(a.name for a in (*shared.angles.inputs, *shared.angles.outputs))});"
    return DerivativesView(
        kernels=tuple(text(routine) for routine in shared.routines),
        sizes={name: max(size, 1) for name, size in derivatives.sizes.items()},
        needs_mass=derivatives.needs_mass,
        nt=shared.count,
        angles=angles,
        angles_call=angles_call,
        routines={routine.name: routine for routine in shared.routines},
        angle_routine=shared.angles,
    )


def derivative_units(
    files: Mapping[str, str], prefix: str, provenance: Mapping[str, str], mechanics: Mapping[str, str]
) -> tuple[Unit, ...]:
    """The translation units of the derivative files; they include these headers and those of the `mechanics`."""
    headers = {**mechanics, **{path: text for path, text in files.items() if path.endswith(".h")}}
    return tuple(
        Unit(path.removeprefix(f"{prefix}_").removesuffix(".c"), Path(path), text, provenance, headers)
        for path, text in sorted(files.items())
        if path.endswith(".c")
    )
