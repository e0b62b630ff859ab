"""A kernel of closures or kinematics as C: plain and over pairs, its sines and cosines taken several at a time.

Such kernels are called one by one, so each takes the sines of its own angles first:

    void NAME(q, out) { angles of q -> x;  PREFIX_turns(x) -> t;  NAME_turned(q, t, out); }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from robocompiler.backend.options import Real
from robocompiler.backend.pair_printer import print_pairs
from robocompiler.backend.printer import print_kernel, print_prototype, printed_arguments
from robocompiler.backend.routine import Routine
from robocompiler.backend.sharing import share_trigonometry

_ANGLES = 2  # with fewer, the library's sine is as fast


class Names(NamedTuple):
    """What a robot's functions and its macros begin with."""

    prefix: str
    macro: str


def kernel_text(
    routine: Routine, *, names: Names, function_name: str, real: Real, static: bool, sizes: Mapping[str, str]
) -> str:
    """The definition of `function_name`, with the static functions it is made of.

    CompileError as for `print_kernel`.
    """
    shared = share_trigonometry([routine])
    if shared.angles is None or shared.count < _ANGLES:
        return _either(routine, names, function_name, real, static, sizes)
    (turned,) = shared.routines
    own = {name: f"{function_name}_{name}" for name in ("angles", "turned")}
    angles = print_kernel(
        shared.angles, function_name=own["angles"], real=real, static=True, sizes=_of(shared.angles, sizes)
    )
    body = _either(turned, names, own["turned"], real, True, sizes)
    head = print_prototype(routine, function_name=function_name, real=real, static=static, sizes=sizes)
    given = ", ".join(argument.name for argument in printed_arguments(shared.angles)[0])
    inputs, outputs = printed_arguments(turned)
    passed = ", ".join("turns" if a.name == "t" else a.name for a in (*inputs, *outputs))
    lines = [
        f"{real} angles[{shared.count}], turns[{2 * shared.count}];",
        f"{own['angles']}({given}, angles);",
        f"{names.prefix}_turns({shared.count}, angles, turns);",
        f"{own['turned']}({passed});",
    ]
    whole = "\n".join([head.removesuffix(";\n"), "{", *(f"    {line}" for line in lines), "}", ""])
    return f"{angles}\n{body}\n{whole}"


def _of(routine: Routine, sizes: Mapping[str, str]) -> dict[str, str]:
    return {argument.name: sizes[argument.name] for argument in routine.inputs if argument.name in sizes}


def _either(routine: Routine, names: Names, name: str, real: Real, static: bool, sizes: Mapping[str, str]) -> str:
    """The text over pairs where the compiler has vectors, else the plain one."""
    plain = print_kernel(routine, function_name=name, real=real, static=static, sizes=sizes)
    pairs = print_pairs(routine, function_name=name, real=real, static=static, sizes=sizes)
    return f"#if {names.macro}_PAIRS\n{pairs}\n#else\n{plain}\n#endif\n" if pairs else plain
