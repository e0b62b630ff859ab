"""The drives of a robot as the plain values that their templates print, and as vectors for the self test."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as cs
import numpy as np
from numpy.typing import NDArray

from robocompiler.backend.identifiers import unique_macros
from robocompiler.backend.numbers import literals
from robocompiler.backend.options import Real
from robocompiler.backend.printer import print_kernel
from robocompiler.backend.vectors import Vectors
from robocompiler.backend.views import RobotView
from robocompiler.symbolic.drives import command_names, state_names
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.program import RobotProgram

Array = NDArray[np.float64]
Enum = list[tuple[str, int, str]]

LARGEST = 1e30  # what the generated code takes for infinite


@dataclass(frozen=True)
class DrivesView:
    """What drives.c and its header print; `rates` is empty where no drive has a state."""

    names: list[str]
    ports: tuple[int, ...]
    port_names: list[str]
    z_enum: Enum
    c_enum: Enum
    initial: list[str]
    efforts: str
    rates: str

    @property
    def nz(self) -> int:
        """Number of drive states."""
        return len(self.z_enum)

    @property
    def nc(self) -> int:
        """Number of commands."""
        return len(self.c_enum)


def drives_view(program: RobotProgram, view: RobotView, real: Real) -> DrivesView | None:
    """The view of a robot's drives; None where there is none to print."""
    drives = program.drives
    if drives is None:
        return None
    mechanism = program.closures.topology.mechanism
    sizes = {"q": "NQ", "v": "NV", "z": "NSTATES", "command": "NCOMMANDS", "p": "NP", "zdot": "NSTATES"}
    macros = {name: f"{view.MACRO}_{size}" for name, size in sizes.items()}

    def text(kernel: Kernel) -> str:
        used = {a.name: macros[a.name] for a in (*kernel.inputs, *kernel.outputs) if a.name in macros}
        return print_kernel(kernel, function_name=kernel.name, real=real, static=True, sizes=used)

    states = [state.unit for drive in mechanism.drives for state in drive.states]
    commands = [command.unit for drive in mechanism.drives for command in drive.commands]
    return DrivesView(
        names=[drive.name for drive in mechanism.drives],
        ports=drives.ports,
        port_names=[drive.port for drive in mechanism.drives],
        z_enum=_enum(f"{view.MACRO}_Z", state_names(mechanism), states),
        c_enum=_enum(f"{view.MACRO}_C", command_names(mechanism), commands),
        initial=literals(drives.initial, real),
        efforts=text(drives.efforts),
        rates=text(drives.rates) if states else "",
    )


def _enum(prefix: str, names: tuple[str, ...], units: list[str]) -> Enum:
    macros = unique_macros(names)
    return [
        (f"{prefix}_{macros[name]}", k, unit or name) for k, (name, unit) in enumerate(zip(names, units, strict=True))
    ]


@dataclass(frozen=True)
class DriveVectors:
    """Inputs z, c and f, and the efforts (nf,) and zdot that the drives give there at the self test's q and u.

    The scales are sum |d out / d in| |in|: what one rounding of every input does to an entry, per unit of rounding.
    """

    z: Array
    c: Array
    f: Array
    efforts: Array
    zdot: Array
    efforts_scale: Array
    zdot_scale: Array


def drive_vectors(program: RobotProgram, vectors: Vectors) -> DriveVectors | None:
    """Values by CasADi at (q, u) of `vectors`, at some states and commands or else at the start without command.

    None where the laws have no finite value at either.
    """
    drives, mechanism = program.drives, program.closures.topology.mechanism
    assert drives is not None
    p = np.array([parameter.default for parameter in mechanism.parameters])
    start = np.array(drives.initial)
    signs = np.array([(-1.0) ** k / (k + 2) for k in range(max(start.size, len(command_names(mechanism)), 1))])
    some = start + 0.1 * (1 + np.abs(start)) * signs[: start.size]
    c = signs[: len(command_names(mechanism))]
    f = np.array([(-1.0) ** k for k in range(len(mechanism.ports))])
    for z, commands in ((some, c), (start, 0 * c)):
        effort, effort_scale = _value(drives.efforts, vectors.q, vectors.v, z, commands, p)
        zdot, zdot_scale = _value(drives.rates, vectors.q, vectors.v, z, commands, p)
        if np.all(np.abs(np.concatenate((effort, zdot))) < LARGEST):
            efforts, scale = f.copy(), np.abs(f)
            efforts[list(drives.ports)], scale[list(drives.ports)] = effort, effort_scale
            return DriveVectors(z, commands, f, efforts, zdot, scale, zdot_scale)
    return None


def _value(kernel: Kernel, *inputs: Array) -> tuple[Array, Array]:
    """The single output of a kernel, and its scale (its own size where derivatives are not finite)."""
    given = [value for value, _ in zip(inputs, kernel.inputs, strict=False)]
    symbols = [cs.SX.sym(argument.name, argument.size) for argument in kernel.inputs]
    output = cs.densify(kernel.function(*symbols))
    derivative = cs.jacobian(output, cs.vertcat(*symbols))
    value, slope = cs.Function("value", symbols, [output, derivative]).call([cs.DM(x) for x in given])
    result = np.asarray(value.full(), dtype=np.float64).ravel()
    matrix = np.asarray(slope.full(), dtype=np.float64).reshape(tuple(slope.shape))
    scale = np.abs(matrix) @ np.abs(np.concatenate(given))
    return result, np.maximum(np.where(np.isfinite(scale), scale, 0.0), np.abs(result))


def drive_warnings(program: RobotProgram, vectors: DriveVectors | None) -> tuple[str, ...]:
    """What is odd about the drives of a robot."""
    if not program.closures.topology.mechanism.drives:
        return ()
    if program.drives is None:
        return ("nothing can move, so that the drives are not compiled",)
    if vectors is None:
        return ("a drive law has no finite value at the reference, so that the self test leaves the drives out",)
    return ()
