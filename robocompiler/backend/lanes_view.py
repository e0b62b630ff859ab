"""The batch code of a robot: kernels over lanes, their driver for each instruction set, and the dispatch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from robocompiler.backend.cache import Unit
from robocompiler.backend.lanes_printer import lanes_prototype, print_lanes
from robocompiler.backend.mechanics_view import MechanicsView
from robocompiler.backend.options import Real

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
_FUNCTIONS = {
    "forward_dynamics": ("Q", "U", "F", "TAU"),
    "inverse_dynamics": ("Q", "U", "UDOT"),
    "mass_matrix": ("Q",),
}
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
class LanesView:
    """What the batch templates print; `versions` in falling order of preference on x86.

    arguments: argument list of every batch function; names: the same without types; size: bytes of a number; groups:
    vectors of states that go through one kernel before the next kernel starts.
    """

    kernels: tuple[LanesKernel, ...]
    angles: LanesKernel | None
    size: int
    groups: int
    arguments: Mapping[str, str]
    names: Mapping[str, str]
    versions: tuple[InstructionSet, ...] = (*reversed(X86), GENERIC)

    @property
    def functions(self) -> tuple[tuple[str, str], ...]:
        """(name, argument list) of every batch function."""
        return tuple(self.arguments.items())


def lanes_view(mechanics: MechanicsView, prefix: str, real: Real, parameters: bool) -> LanesView:
    """The view of a robot's batch code; `parameters`: whether the robot has run-time parameters."""

    def text(name: str) -> LanesKernel:
        routine = mechanics.routines[name]
        summary, prototype = routine.summary, lanes_prototype(routine)
        return LanesKernel(name, summary, prototype, print_lanes(routine, real), f"{prefix}_lanes_{name}.c")

    angles = None
    if mechanics.angle_routine is not None:
        routine = replace(mechanics.angle_routine, name="angles")
        angles = LanesKernel("angles", routine.summary, lanes_prototype(routine), print_lanes(routine, real), "")
    kernels = tuple(text(name) for name in KERNELS if name in mechanics.routines)
    arguments = {name: _arguments(inputs, real, parameters) for name, inputs in _FUNCTIONS.items()}
    names = {name: ", ".join(re.findall(r"(\w+)(?:,|$)", text)) for name, text in arguments.items()}
    entries = sum(output.size for kernel in kernels for output in mechanics.routines[kernel.name].outputs)
    groups = max(1, min(_GROUPS, _KEPT // (entries * GENERIC.width)))
    return LanesView(kernels, angles, 8 if real == "double" else 4, groups, arguments, names)


def _arguments(inputs: tuple[str, ...], real: Real, parameters: bool) -> str:
    given = [f"const {real} *{name}" for name in (*inputs, *(["parameters"] if parameters else []))]
    return ", ".join(["int count", *given, f"{real} *out", "int *status"])


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
