"""Drives as two kernels: the efforts of driven ports and the rates of all drive states.

    l = f_l(q),  ldot = L_T v,        f = f_f(z, c, l, ldot, q, v),        zdot = f_z(z, c, l, ldot, q, v)

v are all velocities of an admissible motion (v = E u), so L_T v = L u in every chart, and the speeds of cut joints are
among them.  Names are joined as those of coordinates are: state `current` of drive `motor` is `motor:current`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs

from robocompiler.records.model import Drive, Mechanism
from robocompiler.records.parse_drives import DISPLACEMENT, EFFORT, VELOCITY, speed_symbol
from robocompiler.symbolic.branches import Symbols
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.kernels import make_kernel
from robocompiler.symbolic.ports import build_ports
from robocompiler.symbolic.scalars import to_sx

SX = Any


@dataclass(frozen=True)
class DrivesProgram:
    """The kernels of all drives.

    efforts: q, v, z, command, p -> f of the driven ports, in drive order; rates: the same -> zdot; ports: the port
    index of every drive; initial: z at the start.  z and c hold states and commands drive by drive, each in file order.
    """

    efforts: Kernel
    rates: Kernel
    ports: tuple[int, ...]
    initial: tuple[float, ...]

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels that put something out."""
        return tuple(kernel for kernel in (self.efforts, self.rates) if kernel.outputs[0].size)


def state_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of z, in order."""
    return tuple(f"{drive.name}:{state.name}" for drive in mechanism.drives for state in drive.states)


def command_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of c, in order."""
    return tuple(f"{drive.name}:{command.name}" for drive in mechanism.drives for command in drive.commands)


def build_drives(symbols: Symbols) -> DrivesProgram | None:
    """The drives of a mechanism; None where it declares none."""
    mechanism = symbols.topology.mechanism
    if not mechanism.drives:
        return None
    z = cs.SX.sym("z", len(state_names(mechanism)))
    c = cs.SX.sym("c", len(command_names(mechanism)))
    ports = [port.name for port in mechanism.ports]
    order = tuple(ports.index(drive.port) for drive in mechanism.drives)
    program = build_ports(symbols)
    velocity = cs.mtimes(program.tree_map, symbols.v)
    common = _common_names(symbols)
    efforts, rates = [], []
    states, commands = iter(cs.vertsplit(z)), iter(cs.vertsplit(c))
    for drive, port in zip(mechanism.drives, order, strict=True):
        known = {
            **common,
            **{state.name: next(states) for state in drive.states},
            **{command.name: next(commands) for command in drive.commands},
            DISPLACEMENT: program.displacement[port],
            VELOCITY: velocity[port],
        }
        effort, zdot = _laws(drive, known)
        efforts.append(effort)
        rates += zdot
    inputs = (("v", "velocities", symbols.v), ("z", "drive states", z), ("command", "commands", c))
    return DrivesProgram(
        efforts=make_kernel(
            symbols,
            "drive_efforts_kernel",
            "Efforts of the driven ports, in drive order.",
            [("effort", "N or N m", cs.vertcat(*efforts))],
            *inputs,
        ),
        rates=make_kernel(
            symbols,
            "drive_rates_kernel",
            "Rates of all drive states.",
            [("zdot", "units of the states per second", cs.vertcat(cs.SX(0, 1), *rates))],
            *inputs,
        ),
        ports=order,
        initial=tuple(state.initial for drive in mechanism.drives for state in drive.states),
    )


def _common_names(symbols: Symbols) -> dict[str, SX]:
    """What every law may name: parameters, coordinates, and joint velocities as speed(name)."""
    topology = symbols.topology
    known = {parameter.name: symbols.p[i] for i, parameter in enumerate(topology.mechanism.parameters)}
    known |= {name: symbols.q[i] for i, name in enumerate(topology.q_names)}
    return known | {speed_symbol(name): symbols.v[i] for i, name in enumerate(topology.v_names)}


def _laws(drive: Drive, known: Mapping[str, SX]) -> tuple[SX, list[SX]]:
    """(f, zdot) of one drive."""
    everything = {**known, **{name: to_sx(value, known) for name, value in drive.constants}}
    effort = to_sx(drive.effort, everything)
    everything[EFFORT] = effort
    return effort, [to_sx(state.rate, everything) for state in drive.states]
