"""A kernel of closures or kinematics as C: plain and over pairs, its sines and cosines taken several at a time.

Such kernels are called one by one, so each takes the sines of its own angles first:

    void NAME(q, out) { angles of q -> x;  PREFIX_turns(x) -> t;  NAME_turned(q, t, out); }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from robocompiler.backend.kept_texts import Request
from robocompiler.backend.pair_printer import print_pairs
from robocompiler.backend.printer import print_kernel, print_prototype, printed_arguments
from robocompiler.backend.routine import Routine
from robocompiler.backend.sharing import share_trigonometry

_ANGLES = 2  # with fewer, the library's sine is as fast


def kernel_text(routine: Routine, request: Request) -> tuple[str]:
    """The definition of `request.function_name`, with the static functions it is made of.

    CompileError as for `print_kernel`.
    """
    shared = share_trigonometry([routine])
    if shared.angles is None or shared.count < _ANGLES:
        return (_either(routine, request),)
    (turned,) = shared.routines
    name, real, sizes = request.function_name, request.real, request.sizes
    own = {part: f"{name}_{part}" for part in ("angles", "turned")}
    angles = print_kernel(
        shared.angles, function_name=own["angles"], real=real, static=True, sizes=_of(shared.angles, sizes)
    )
    body = _either(turned, replace(request, function_name=own["turned"], static=True))
    head = print_prototype(routine, function_name=name, real=real, static=request.static, sizes=sizes)
    given = ", ".join(argument.name for argument in printed_arguments(shared.angles)[0])
    inputs, outputs = printed_arguments(turned)
    passed = ", ".join("turns" if a.name == "t" else a.name for a in (*inputs, *outputs))
    lines = [
        f"{real} angles[{shared.count}], turns[{2 * shared.count}];",
        f"{own['angles']}({given}, angles);",
        f"{request.prefix}_turns({shared.count}, angles, turns);",
        f"{own['turned']}({passed});",
    ]
    whole = "\n".join([head.removesuffix(";\n"), "{", *(f"    {line}" for line in lines), "}", ""])
    return (f"{angles}\n{body}\n{whole}",)


def plain_and_pairs(routine: Routine, request: Request) -> tuple[str, str]:
    """The definition of `request.function_name`, and the same over pairs of numbers or nothing.

    CompileError as for `print_kernel`.
    """
    name, real, sizes = request.function_name, request.real, request.sizes
    plain = print_kernel(routine, function_name=name, real=real, static=request.static, sizes=sizes)
    return plain, print_pairs(routine, function_name=name, real=real, static=request.static, sizes=sizes)


def _of(routine: Routine, sizes: Mapping[str, str]) -> dict[str, str]:
    return {argument.name: sizes[argument.name] for argument in routine.inputs if argument.name in sizes}


def _either(routine: Routine, request: Request) -> str:
    """The text over pairs where the compiler has vectors, else the plain one."""
    plain, pairs = plain_and_pairs(routine, request)
    return f"#if {request.macro}_PAIRS\n{pairs}\n#else\n{plain}\n#endif\n" if pairs else plain
