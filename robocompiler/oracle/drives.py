"""Drive laws evaluated as they are written, on the displacements and velocities of maximal coordinates."""

from __future__ import annotations

from collections.abc import Mapping

from robocompiler.oracle.arithmetic import Number
from robocompiler.oracle.efforts import port_displacement, port_row
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.states import State
from robocompiler.records.expressions import Expression, Scalar, fold
from robocompiler.records.parse_drives import DISPLACEMENT, EFFORT, VELOCITY, speed_symbol


def drive_values(
    model: MaximalModel, state: State, z: Mapping[str, float], c: Mapping[str, float]
) -> tuple[dict[str, Number], dict[str, Number]]:
    """(effort by port, rate by state) of all drives.

    Args:
        state: a pose in motion; its velocities are those of the laws.
        z, c: drive states and commands by `drive:name`.

    Raises ArithmeticError or ValueError where a law divides by zero or leaves a function's domain.
    """
    arithmetic, scene = model.arithmetic, model.scene
    with arithmetic.context():
        common: dict[str, Number] = {**scene.parameters, **state.pose.values}
        common |= {speed_symbol(name): value for name, value in model.velocities(state).items()}
        efforts: dict[str, Number] = {}
        rates: dict[str, Number] = {}
        for drive in scene.mechanism.drives:
            known = dict(common)
            known |= {name: scene.scalar(value) for name, value in drive.constants}
            known |= {s.name: arithmetic.number(z[f"{drive.name}:{s.name}"]) for s in drive.states}
            known |= {one.name: arithmetic.number(c[f"{drive.name}:{one.name}"]) for one in drive.commands}
            known[DISPLACEMENT] = port_displacement(model, state.pose, drive.port)
            known[VELOCITY] = port_row(model, state, drive.port)(state.V)
            efforts[drive.port] = known[EFFORT] = _value(model, drive.effort, known)
            rates |= {f"{drive.name}:{s.name}": _value(model, s.rate, known) for s in drive.states}
    return efforts, rates


def _value(model: MaximalModel, law: Expression | Scalar, known: Mapping[str, Number]) -> Number:
    return fold(law, known, model.arithmetic, model.arithmetic.number)
