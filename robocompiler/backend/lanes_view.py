"""The batch code of a robot: kernels over lanes, their driver for each instruction set, and the dispatch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from robocompiler.backend.cache import Unit
from robocompiler.backend.derivatives_view import DerivativesView
from robocompiler.backend.lanes_printer import lanes_prototype, print_lanes
from robocompiler.backend.mechanics_view import MechanicsView
from robocompiler.backend.options import Real
from robocompiler.backend.ordering import ordered
from robocompiler.backend.routine import Routine

KERNELS = (
    "motion_kernel", "tree_kernel", "raise_kernel", "inner_mass_kernel", "project_kernel", "port_mass_kernel",
    "finish_kernel",
)  # fmt: skip


@dataclass(frozen=True)
class InstructionSet:
    """One version of the batch code: its suffix, the compiler flags that choose it, and the bytes of a vector."""

    name: str
    flags: tuple[str, ...]
    width: int


# fused products: a batch is compared with single calls by accuracy, not bit by bit
GENERIC = InstructionSet("generic", (), 32)
X86 = (
    InstructionSet("avx2", ("-DLANES_AVX2", "-mavx2", "-mfma", "-ffp-contract=fast"), 32),
    InstructionSet("avx512", ("-DLANES_AVX512", "-mavx512f", "-mfma", "-ffp-contract=fast"), 64),
)
_Signatures = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
_FUNCTIONS: _Signatures = {  # inputs, outputs
    "forward_dynamics": (("Q", "U", "F", "TAU"), ("out",)),
    "inverse_dynamics": (("Q", "U", "UDOT"), ("out",)),
    "mass_matrix": (("Q",), ("out",)),
}
_SLOPE_FUNCTIONS: _Signatures = {
    "forward_dynamics_derivatives": (("Q", "U", "F"), ("UDOT_S", "UDOT_U", "UDOT_F")),
    "inverse_dynamics_derivatives": (("Q", "U", "UDOT"), ("TAU_S", "TAU_U")),
}
_SLOPE_ARRAYS = {"g": "change", "t": "turned"}  # arguments of the kernels whose arrays have other names
_X86_64 = ("x86_64", "amd64")  # how the target triples of such machines begin
_GROUPS = 4  # more of them bring no more: a kernel's code comes from the second-level cache once in four passes
_KEPT = 64 * 1024  # bytes between kernels, at most: data then stay as near as the code would be
_COMMON = ("-Wno-psabi",)  # vectors are only ever passed by address


@dataclass(frozen=True)
class LanesKernel:
    """One kernel over lanes."""

    name: str
    summary: str
    prototype: str
    definition: str
    file: str


@dataclass(frozen=True)
class LanesTrigonometry:
    """One routine that gives sines and cosines; `angles` gives their arguments, `of` says whose they are."""

    name: str
    of: str
    count: int
    angles: LanesKernel
    file: str


@dataclass(frozen=True)
class LanesSlopes:
    """The derivatives over lanes: the statement that calls each kernel, and the groups as in `LanesView`."""

    calls: Mapping[str, str]
    groups: int


@dataclass(frozen=True)
class LanesView:
    """What the batch templates print; `versions` in falling order of preference on x86.

    arguments: argument list of every batch function; names: the same without types; size: bytes of a number; groups:
    vectors of states that go through one kernel before the next kernel starts.
    """

    kernels: tuple[LanesKernel, ...]
    trigonometry: tuple[LanesTrigonometry, ...]
    size: int
    groups: int
    slopes: LanesSlopes | None
    arguments: Mapping[str, str]
    names: Mapping[str, str]
    versions: tuple[InstructionSet, ...] = (*reversed(X86), GENERIC)

    @property
    def functions(self) -> tuple[tuple[str, str], ...]:
        """(name, argument list) of every batch function."""
        return tuple(self.arguments.items())


def lanes_view(
    mechanics: MechanicsView, derivatives: DerivativesView | None, prefix: str, real: Real, parameters: bool
) -> LanesView:
    """The view of a robot's batch code; `parameters`: whether the robot has run-time parameters."""

    def text(routine: Routine) -> LanesKernel:
        name, prototype = routine.name, lanes_prototype(routine)
        return LanesKernel(name, routine.summary, prototype, print_lanes(routine, real), f"{prefix}_lanes_{name}.c")

    def turned(name: str, of: str, count: int, angles: Routine | None) -> list[LanesTrigonometry]:
        if angles is None:
            return []
        own = text(replace(angles, name=f"{name}_angles"))
        return [LanesTrigonometry(name, of, count, own, f"{prefix}_lanes_{name}.c")]

    routines = [ordered(mechanics.routines[name]) for name in KERNELS if name in mechanics.routines]
    trigonometry = turned("trigonometry", "", mechanics.nt, mechanics.angle_routine)
    functions, slopes = dict(_FUNCTIONS), None
    groups = _groups(routines)
    if derivatives is not None:
        functions |= _SLOPE_FUNCTIONS
        own = list(derivatives.routines.values())
        trigonometry += turned("slope_trigonometry", " of the derivatives", derivatives.nt, derivatives.angle_routine)
        slopes = LanesSlopes({routine.name: _call(routine) for routine in own}, _groups([*routines, *own]))
        routines += own
    arguments = {name: _arguments(given, put, real, parameters) for name, (given, put) in functions.items()}
    names = {name: ", ".join(re.findall(r"(\w+)(?:,|$)", text)) for name, text in arguments.items()}
    kernels, size = tuple(map(text, routines)), 8 if real == "double" else 4
    return LanesView(kernels, tuple(trigonometry), size, groups, slopes, arguments, names)


def _groups(routines: Sequence[Routine]) -> int:
    entries = sum(output.size for routine in routines for output in routine.outputs)
    return max(1, min(_GROUPS, _KEPT // (entries * GENERIC.width)))


def _call(routine: Routine) -> str:
    """The statement that calls a derivative kernel for group g of states; parameters are the same for all groups."""
    names = [argument.name for argument in (*routine.inputs, *routine.outputs)]
    arguments = ["p" if name == "p" else f"{_SLOPE_ARRAYS.get(name, name)}[g]" for name in names]
    return f"L({routine.name})({', '.join(arguments)});"


def _arguments(inputs: tuple[str, ...], outputs: tuple[str, ...], real: Real, parameters: bool) -> str:
    given = [f"const {real} *{name}" for name in (*inputs, *(["parameters"] if parameters else []))]
    return ", ".join(["int count", *given, *(f"{real} *{name}" for name in outputs), "int *status"])


def batch_units(
    sources: Mapping[str, str], prefix: str, headers: Mapping[str, str], provenance: Mapping[str, str]
) -> tuple[Unit, ...]:
    """The translation units: every lanes file once for each instruction set, and the dispatch once.

    `headers` are those that only these files include.
    """
    units = []
    for path, text in sorted(sources.items()):
        name = path.removeprefix(f"{prefix}_").removesuffix(".c")
        if name == "batch":
            units.append(Unit(name, Path(path), text, provenance, headers))
            continue
        units.append(Unit(f"{name}_{GENERIC.name}", Path(path), text, provenance, headers, _COMMON))
        units += [
            Unit(f"{name}_{s.name}", Path(path), text, provenance, headers, (*_COMMON, *s.flags), _X86_64) for s in X86
        ]
    return tuple(units)
