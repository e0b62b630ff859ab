"""Prints a kernel as one C99 function that is also valid C++.

Layout: all inputs are loaded first, then values are computed in CasADi's order, and each output element is stored as
soon as its value exists.  Hence outputs may alias inputs, and few values are alive at once.  Every value is a `const`
local; a value used once is written into its user where the line stays short, always parenthesised and never
re-associated, so the rounding is CasADi's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from robocompiler.backend.c_operations import LIBM_FUNCTIONS, REPEATED_OPERANDS, CReal, Expression
from robocompiler.backend.identifiers import is_c_identifier
from robocompiler.backend.options import Real
from robocompiler.backend.parts import divide, part_bodies
from robocompiler.backend.routine import Routine
from robocompiler.backend.straight_line import Constant, Load, Operation, StraightLine
from robocompiler.errors import CompileError
from robocompiler.symbolic.kernel import Argument, Kernel, Signature

LONG = 2500  # operations above which a kernel is printed in parts, and its outputs must not alias its inputs
PART = 1000  # operations of one part

_INDENT = "    "
_LINE = 100  # columns of a wrapped signature


def print_kernel(
    kernel: Kernel | Routine,
    *,
    function_name: str,
    real: Real = "double",
    static: bool = False,
    sizes: Mapping[str, str] | None = None,
) -> str:
    """Return the C definition `void function_name(const real in[SIZE], ..., real out[SIZE], ...)`.

    Args:
        kernel: the program; an output argument holds its structural nonzeros, or, when it has room for the whole
            matrix, the dense matrix by columns with zeros stored in the gaps.
        function_name: C name of the function.
        real: "double", or "float" for single precision throughout (suffixed literals, `sinf`, ...).
        static: give the function internal linkage.
        sizes: macro to print instead of the number, by argument name, e.g. {"q": "STEWART_NQ"}.

    A kernel of more than LONG operations is printed as a chain of static parts (see `parts`).
    Arguments of length zero are left out, since C has no arrays of length zero; callers must leave them out too.
    The text needs `math.h`.  CompileError if an operation has no C99 counterpart, a constant does not fit `real`, or
    names or sizes are wrong.
    """
    routine = kernel if isinstance(kernel, Routine) else Routine.of(kernel)
    if routine.operations > LONG:
        return _print_parts(routine, function_name, real, sizes or {}, static)
    body = _Body(routine, CReal(real)).lines()
    signature = _signature(routine, function_name, real, sizes or {}, static)
    return "\n".join([signature, "{", *(_INDENT + line for line in body), "}", ""])


def _print_parts(kernel: Routine, name: str, real: Real, sizes: Mapping[str, str], static: bool) -> str:
    division = divide(kernel.program, PART)
    prefix = local_prefix([*(argument.name for argument in (*kernel.inputs, *kernel.outputs)), "w"])
    bodies = part_bodies(kernel, division, CReal(real), prefix)
    return part_functions(kernel, name, real, sizes, bodies, f"{real} w[{max(division.work, 1)}]", static=static)


def part_functions(
    kernel: Routine,
    name: str,
    real: Real,
    sizes: Mapping[str, str],
    bodies: Sequence[Sequence[str]],
    work: str,
    *,
    static: bool = False,
) -> str:
    """The parts as static functions that no compiler inlines again, and the function `name` that calls them in turn.

    `work` declares the array `w` that hands values on; a single part becomes the function itself.
    """
    whole = _signature(kernel, name, real, sizes, static)
    if len(bodies) == 1:
        return "\n".join(
            [whole, "{", *(_INDENT + line for line in [*_silenced(kernel, bodies[0]), *bodies[0]]), "}", ""]
        )
    keep = f"{name.upper()}_PART"
    texts = [
        "#if defined(__GNUC__)",
        f"#define {keep} static __attribute__((noinline)) void",
        "#else",
        f"#define {keep} static void",
        "#endif",
        "",
    ]
    parameters = whole[whole.index("(") + 1 : -1].replace("\n", " ")
    parameters = " ".join(parameters.split()) + f", {work}"
    for number, body in enumerate(bodies):
        texts += [
            f"{keep} {name}_part_{number}({parameters})",
            "{",
            *(_INDENT + line for line in [*_silenced(kernel, body, "w"), *body]),
            "}",
            "",
        ]
    inputs, outputs = printed_arguments(kernel)
    arguments = ", ".join([*(argument.name for argument in (*inputs, *outputs)), "w"])
    calls = [f"{name}_part_{number}({arguments});" for number in range(len(bodies))]
    return "\n".join([*texts, whole, "{", f"{_INDENT}{work};", *(_INDENT + call for call in calls), "}", ""])


def _silenced(kernel: Routine, body: Sequence[str], *more: str) -> list[str]:
    """Statements that keep compilers from telling of arguments that `body` does not use."""
    inputs, outputs = printed_arguments(kernel)
    text = "\n".join(body)
    names = [*(argument.name for argument in (*inputs, *outputs)), *more]
    return [f"(void){name};" for name in names if not re.search(rf"\b{name}\[", text)]


def print_prototype(
    kernel: Kernel | Routine | Signature,
    *,
    function_name: str,
    real: Real = "double",
    static: bool = False,
    sizes: Mapping[str, str] | None = None,
) -> str:
    """Return the C declaration of the function that `print_kernel` defines with the same arguments."""
    return _signature(kernel, function_name, real, sizes or {}, static) + ";\n"


def printed_arguments(kernel: Kernel | Routine | Signature) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """The (inputs, outputs) that the C signature has: those of the kernel without the ones of length zero."""
    return tuple(a for a in kernel.inputs if a.size), tuple(a for a in kernel.outputs if a.size)


def _signature(
    kernel: Kernel | Routine | Signature, function_name: str, real: Real, sizes: Mapping[str, str], static: bool
) -> str:
    _check_names(kernel, function_name, sizes)
    inputs, outputs = printed_arguments(kernel)

    def declare(argument: Argument, qualifier: str) -> str:
        return f"{qualifier}{real} {argument.name}[{sizes.get(argument.name, str(argument.size))}]"

    declarations = [declare(a, "const ") for a in inputs] + [declare(a, "") for a in outputs]
    head = f"{'static ' if static else ''}void {function_name}("
    lines = [head]
    for k, declaration in enumerate(declarations or ["void"]):
        text = declaration + ("," if k + 1 < len(declarations) else ")")
        room = _LINE - len(lines[-1])
        if k == 0:
            lines[-1] += text
        elif len(text) + 1 <= room:
            lines[-1] += " " + text
        else:
            lines.append(" " * len(head) + text)
    return "\n".join(lines)


def _check_names(kernel: Kernel | Routine | Signature, function_name: str, sizes: Mapping[str, str]) -> None:
    names = [argument.name for argument in (*kernel.inputs, *kernel.outputs)]
    for name in (function_name, *names, *sizes.values()):
        if not is_c_identifier(name):
            raise CompileError(f"kernel {kernel.name}: {name!r} is not a C identifier")
    for name in names:
        if name in LIBM_FUNCTIONS or name.removesuffix("f") in LIBM_FUNCTIONS or name == function_name:
            raise CompileError(f"kernel {kernel.name}: argument {name!r} would hide a function of that name")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise CompileError(f"kernel {kernel.name}: argument names used twice: {', '.join(repeated)}")
    unknown = sorted(set(sizes) - set(names))
    if unknown:
        raise CompileError(f"kernel {kernel.name}: sizes given for unknown arguments: {', '.join(unknown)}")


class _Body:
    """Prints the statements of one straight-line program."""

    def __init__(self, kernel: Routine, real: CReal) -> None:
        self._kernel = kernel
        self._program = kernel.program
        self._real = real
        self._uses = _use_counts(kernel.program)
        self._expressions: dict[int, Expression] = {}
        self._prefix = local_prefix(argument.name for argument in (*kernel.inputs, *kernel.outputs))
        self._named = 0
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        """The statements, without indentation."""
        values = self._program.values
        loads = [index for index, value in enumerate(values) if isinstance(value, Load)]
        loads.sort(key=self._load_order)
        stores = {
            value: [(store.argument, store.position) for store in group]
            for value, group in groupby(sorted(self._program.stores, key=lambda s: s.value), key=lambda s: s.value)
        }
        for index in loads:
            self._name(index, self._load_text(index))
        self._silence_unused_inputs()
        for index in [*loads, *(k for k in range(len(values)) if k not in self._expressions)]:
            if index not in self._expressions:
                self._define(index)
            self._store(index, stores.get(index, []))
        return self._lines

    def _load_order(self, index: int) -> tuple[int, int]:
        load = self._program.values[index]
        assert isinstance(load, Load)
        return load.argument, load.position

    def _load_text(self, index: int) -> Expression:
        argument, position = self._load_order(index)
        return Expression(f"{self._kernel.inputs[argument].name}[{position}]", atomic=True)

    def _silence_unused_inputs(self) -> None:
        read = {value.argument for value in self._program.values if isinstance(value, Load)}
        for k, argument in enumerate(self._kernel.inputs):
            if argument.size and k not in read:
                self._lines.append(f"(void){argument.name};")

    def _define(self, index: int) -> None:
        value = self._program.values[index]
        if isinstance(value, Constant):
            self._expressions[index] = self._real.literal(value.value)
            return
        assert isinstance(value, Operation)
        operands = tuple(self._expressions[operand] for operand in value.operands)
        try:
            expression = self._real.operation(value.code, operands)
        except CompileError as error:
            raise CompileError(f"kernel {self._kernel.name}: {error}") from None
        if self._uses[index] == 1 and expression.short:
            self._expressions[index] = expression
        else:
            self._name(index, expression)

    def _name(self, index: int, expression: Expression) -> None:
        name = f"{self._prefix}{self._named}"
        self._named += 1
        kind = "int" if expression.boolean else self._real.name
        self._lines.append(f"const {kind} {name} = {expression.text};")
        self._expressions[index] = Expression(name, atomic=True, boolean=expression.boolean)

    def _store(self, index: int, places: list[tuple[int, int]]) -> None:
        for argument, position in sorted(places):
            text = self._real.as_real(self._expressions[index]).text
            self._lines.append(f"{self._kernel.outputs[argument].name}[{position}] = {text};")


def _use_counts(program: StraightLine) -> list[int]:
    """How often the printed text would repeat each value."""
    uses = [0] * len(program.values)
    for value in program.values:
        if isinstance(value, Operation):
            for operand in value.operands:
                uses[operand] += REPEATED_OPERANDS.get(value.code, 1)
    for store in program.stores:
        uses[store.value] += 1
    return uses


def local_prefix(taken: Iterable[str]) -> str:
    """A prefix whose numbered names meet no argument name."""
    names = set(taken)
    prefix = "a"
    while any(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in names):
        prefix += "a"
    return prefix
