"""The mechanics of a robot as the plain values that the dynamics templates print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocompiler.backend.identifiers import unique_macros
from robocompiler.backend.kept_texts import NOTHING_KEPT, KeptTexts, Request
from robocompiler.backend.kernel_text import plain_and_pairs
from robocompiler.backend.numbers import literals
from robocompiler.backend.options import Real
from robocompiler.backend.ordering import ordered
from robocompiler.backend.printer import print_kernel, print_prototype
from robocompiler.backend.routine import Routine
from robocompiler.backend.sharing import TRIGONOMETRY, share_reciprocals, share_trigonometry
from robocompiler.backend.views import RobotView
from robocompiler.records.joint_types import JOINT_SHAPES, velocity_names
from robocompiler.records.model import CoordinateSum, Port
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.program import RobotProgram

Array = NDArray[np.float64]

SMALL: dict[str, float] = {"double": 1e-9, "float": 1e-4}  # of the smallest pivot seen at the probes


@dataclass(frozen=True)
class KernelView:
    """One mechanical kernel as C text, `pairs` the same over pairs of numbers or empty; `file` is its unit."""

    name: str
    summary: str
    prototype: str
    definition: str
    pairs: str
    file: Path


@dataclass(frozen=True)
class MechanicsView:
    """What dynamics.c and its header print.

    nt: angles whose sines and cosines are taken once; angles: the C function that gives them; reading: the kernels that
    take the sines and cosines `t`; routines: the kernels as printed, by name.
    """

    kernels: list[KernelView]
    ne: int
    nm: int
    nf: int
    least: list[str]
    least_mass: list[str]
    cut: tuple[int, ...]
    port_enum: list[tuple[str, int, str]]
    idle: tuple[str, ...]
    nt: int
    angles: str
    angles_call: str
    reading: frozenset[str]
    routines: Mapping[str, Routine]
    angle_routine: Routine | None


def mechanics_view(
    program: RobotProgram, view: RobotView, real: Real, texts: KeptTexts = NOTHING_KEPT
) -> MechanicsView:
    """The view of a robot's mechanics."""
    mechanics = program.mechanics
    assert mechanics is not None
    macros = {"q": "NQ", "v": "NV", "a": "NV", "c": "NV", "u": "NU", "udot": "NU", "p": "NP", "f": "NF"}

    def sizes(kernel: Routine) -> dict[str, str]:
        return {a.name: f"{view.MACRO}_{macros[a.name]}" for a in kernel.inputs if a.name in macros}

    def request(kernel: Routine) -> Request:
        return Request(f"{view.prefix}_{kernel.name}", real, sizes=sizes(kernel))

    def text(kernel: Routine, definition: str, pairs: str) -> KernelView:
        name = f"{view.prefix}_{kernel.name}"
        return KernelView(
            name=kernel.name,
            summary=kernel.summary,
            prototype=print_prototype(kernel, function_name=name, real=real, sizes=sizes(kernel)),
            definition=definition,
            pairs=pairs,
            file=Path(f"{name}.c"),
        )

    without = () if program.closures.topology.mechanism.ports else (mechanics.port_forces.name,)
    printed = [k for k in mechanics.kernels if any(argument.size for argument in k.outputs) and k.name not in without]
    shared = share_trigonometry([share_reciprocals(Routine.of(kernel)) for kernel in printed])
    angles = (
        print_kernel(shared.angles, function_name="angles", real=real, static=True, sizes=sizes(shared.angles))
        if shared.angles
        else ""
    )
    pivots, mass_pivots, idle = _least_pivots(program)
    mass_literals = literals(list(mass_pivots * SMALL[real]), real)
    if idle:  # no pivot is good enough: forward dynamics always reports it
        mass_literals = [literals([1e30], real)[0] for _ in mass_literals]
    ports = ports_view(program, view.MACRO)
    bodies = texts.printed(_ordered_texts, [(routine, request(routine)) for routine in shared.routines])
    return MechanicsView(
        kernels=[text(routine, plain, pairs) for routine, (plain, pairs) in zip(shared.routines, bodies, strict=True)],
        ne=mechanics.ne,
        nm=mechanics.nm,
        nf=ports.nf,
        least=literals(list(pivots * SMALL[real]), real),
        least_mass=mass_literals,
        cut=mechanics.cut,
        nt=shared.count,
        angles=angles,
        angles_call=f"angles({', '.join(a.name for a in (*shared.angles.inputs, *shared.angles.outputs))})"
        if shared.angles
        else "",
        reading=frozenset(r.name for r in shared.routines if any(a.name == TRIGONOMETRY for a in r.inputs)),
        routines={routine.name: routine for routine in shared.routines},
        angle_routine=shared.angles,
        idle=idle,
        port_enum=ports.port_enum,
    )


def _ordered_texts(routine: Routine, request: Request) -> tuple[str, str]:
    return plain_and_pairs(ordered(routine), request)


@dataclass(frozen=True)
class PortsView:
    """nf: number of ports; port_enum: their macro, index and unit of effort."""

    nf: int
    port_enum: list[tuple[str, int, str]]


def ports_view(program: RobotProgram, macro: str) -> PortsView:
    """The ports as the public header names them; needs no mechanics."""
    ports = program.closures.topology.mechanism.ports
    names = unique_macros([port.name for port in ports])
    return PortsView(len(ports), [(f"{macro}_F_{names[p.name]}", i, _unit(program, p)) for i, p in enumerate(ports)])


def _unit(program: RobotProgram, port: Port) -> str:
    """Unit of a port's effort."""
    if not isinstance(port.measure, CoordinateSum):
        return "N"
    topology = program.closures.topology
    units = {
        program.reduction.column_scales[topology.v_names.index(name)] == 1.0 and _is_angle(program, name)
        for name, _ in port.measure.terms
    }
    return "N m" if units == {True} else "N" if units == {False} else "N or N m"


def _is_angle(program: RobotProgram, name: str) -> bool:
    joint = program.closures.topology.joint(name.partition(":")[0])
    return JOINT_SHAPES[joint.type].velocity_units[velocity_names(joint.name, joint.type).index(name)] == "rad/s"


def _least_pivots(program: RobotProgram) -> tuple[Array, Array, tuple[str, ...]]:
    """Smallest absolute pivots of the lift and of M~ over the probes, and the speeds that move no inertia.

    At the default parameters.  The last are the inner independents that make up the directions in which M~, scaled to a
    unit diagonal, has no positive eigenvalue: massless bodies that spin, say.
    """
    mechanics, reduction = program.mechanics, program.reduction
    assert mechanics is not None
    topology = program.closures.topology
    defaults = [parameter.default for parameter in topology.mechanism.parameters]
    nv, d = topology.nv, len(reduction.chart("port").independent)

    def call(kernel: Kernel, *inputs: Sequence[float] | Array) -> list[Array]:
        values = [np.asarray(value) for value in (*inputs, *([defaults] if defaults else []))]
        outputs = kernel.function(*values)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [np.asarray(output.full(), dtype=np.float64).ravel() for output in outputs]

    lift_pivots, mass_pivots = [], []
    idle: set[str] = set()
    names = [topology.v_names[index] for index in reduction.chart("inner").independent]
    for q in reduction.probes:
        e, pivot = call(mechanics.lift, q)
        (m,) = call(mechanics.inner_mass, q, e)
        zeros = np.zeros(nv)
        _, mass = call(mechanics.finish, q, e, zeros, m, zeros, np.zeros(len(topology.mechanism.ports)), np.zeros(d))
        lift_pivots.append(np.abs(pivot))
        mass_pivots.append(np.abs(mass))
        idle.update(names[k] for k in _weightless(mechanics.mass_pattern, m, d))
    return np.min(lift_pivots, axis=0), np.min(mass_pivots, axis=0), tuple(sorted(idle))


def _weightless(pattern: Sequence[tuple[int, int]], upper: Array, d: int) -> list[int]:
    """Speeds that take part in the null directions of M~, given by its upper half."""
    M = np.zeros((d, d))
    for (i, j), value in zip(pattern, upper, strict=True):
        M[i, j] = M[j, i] = value
    scale = np.sqrt(np.maximum(np.diag(M), 0.0))
    none = [k for k in range(d) if scale[k] == 0.0]
    scale[none] = 1.0
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    null = vectors[:, values < 1e-11]
    return sorted({*none, *(int(k) for k in np.flatnonzero(np.abs(null).max(axis=1, initial=0.0) > 0.1))})
