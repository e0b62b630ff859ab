"""The symbolic program as text that a person can read: one line per operation, named inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robocompiler.backend.c_operations import CReal, Expression
from robocompiler.backend.straight_line import Constant, Load, Operation, StraightLine, straight_line
from robocompiler.symbolic.drives import command_names, state_names
from robocompiler.symbolic.kernel import Argument, Kernel
from robocompiler.symbolic.program import RobotProgram

_REAL = CReal("double")


def select(program: RobotProgram, prefix: str) -> tuple[Kernel, ...]:
    """The kernel called `prefix`, or else all whose name begins with it ('' means all)."""
    exact = tuple(kernel for kernel in program.kernels if kernel.name == prefix)
    return exact or tuple(kernel for kernel in program.kernels if kernel.name.startswith(prefix))


def input_names(program: RobotProgram) -> dict[str, tuple[str, ...]]:
    """What the entries of each input array are called in the model."""
    topology = program.closures.topology
    parameters = tuple(parameter.name for parameter in topology.mechanism.parameters)
    drives = {"z": state_names(topology.mechanism), "command": command_names(topology.mechanism)}
    return {"q": topology.q_names, "v": topology.v_names, "p": parameters, **drives}


def kernel_text(kernel: Kernel, names: Mapping[str, Sequence[str]]) -> str:
    """One kernel: its signature, the model's names of the entries that it reads, and its instructions."""
    program = straight_line(kernel)
    lines = [
        f"kernel {kernel.name}",
        f"    {kernel.summary}",
        *(f"    in   {_signature(argument)}" for argument in kernel.inputs),
        *(f"    out  {_signature(argument)}" for argument in kernel.outputs),
        f"    {kernel.operations} operation{'' if kernel.operations == 1 else 's'}",
        *(f"    {text}" for text in _read_entries(kernel, program, names)),
        "",
        *(f"    {text}" for text in instructions(kernel)),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def kernel_data(kernel: Kernel) -> dict[str, Any]:
    """One kernel for the JSON report."""

    def arguments(group: Sequence[Argument]) -> list[dict[str, Any]]:
        return [{"name": a.name, "size": a.size, "comment": a.comment} for a in group]

    return {
        "name": kernel.name,
        "summary": kernel.summary,
        "inputs": arguments(kernel.inputs),
        "outputs": arguments(kernel.outputs),
        "operations": kernel.operations,
        "instructions": instructions(kernel),
    }


def instructions(kernel: Kernel) -> list[str]:
    """The straight line: `a3 = a1 * q[2]` per operation, and `r[0] = a3` as soon as an output's value exists."""
    program = straight_line(kernel)
    stores: dict[int, list[str]] = {}
    for store in program.stores:
        target = f"{kernel.outputs[store.argument].name}[{store.position}]"
        stores.setdefault(store.value, []).append(target)
    known: list[Expression] = []
    lines: list[str] = []
    number = 0
    for index, value in enumerate(program.values):
        if isinstance(value, Load):
            known.append(Expression(f"{kernel.inputs[value.argument].name}[{value.position}]", atomic=True))
        elif isinstance(value, Operation):
            expression = _REAL.operation(value.code, tuple(known[operand] for operand in value.operands))
            lines.append(f"a{number} = {expression.text}")
            known.append(Expression(f"a{number}", atomic=True))
            number += 1
        else:
            known.append(_REAL.literal(value.value))
        text = repr(value.value) if isinstance(value, Constant) else known[index].text
        lines += [f"{target} = {text}" for target in stores.get(index, ())]
    return lines


def _signature(argument: Argument) -> str:
    return f"{argument.name}[{argument.size}]" + (f"  {argument.comment}" if argument.comment else "")


def _read_entries(kernel: Kernel, program: StraightLine, names: Mapping[str, Sequence[str]]) -> list[str]:
    """`q[2] is crank`, for the entries that the kernel reads."""
    loads = sorted({(v.argument, v.position) for v in program.values if isinstance(v, Load)})
    lines = []
    for argument, position in loads:
        name = kernel.inputs[argument].name
        if name in names and position < len(names[name]):
            lines.append(f"{name}[{position}] is {names[name][position]}")
    return lines
