"""Rows of CasADi's own C: the same kernels joined to one expression and printed by CasADi's code generator.

Subexpressions are shared over the whole function (`casadi.cse`), and the C is compiled with the same flags, warnings
left out.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as cs
import cffi

from robocompiler.backend.toolchain import CompileJob, Toolchain, compile_objects, link_shared
from robocompiler.bench.driver import Driver
from robocompiler.bench.ours import FUNCTIONS, error_of, inputs_of
from robocompiler.bench.states import References
from robocompiler.bench.timing import FORWARD, Sample, Skipped, Timed
from robocompiler.errors import CompileError
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.mechanics_program import MechanicsProgram
from robocompiler.symbolic.program import RobotProgram

SX = Any
NAME = "CasADi's C"
SECONDS = 300.0  # that the C compiler may take for one of its functions


def whole_function(program: RobotProgram, quantity: str) -> Any:
    """Forward dynamics (q, u, f) -> udot, or inverse dynamics (q, u, udot) -> tau_u, as one CasADi function.

    Run-time parameters follow the other inputs.  ValueError for a robot that cannot move.
    """
    if program.mechanics is None:
        raise ValueError(f"{program.name}: nothing can move, so that there are no dynamics")
    mechanics, symbols = program.mechanics, program.closures.symbols
    sizes = {a.name: a.size for kernel in (mechanics.motion, mechanics.finish) for a in kernel.inputs}
    third = "f" if quantity == FORWARD else "udot"
    given = {"q": symbols.q, "p": symbols.p, "u": cs.SX.sym("u", sizes["u"])}
    given[third] = cs.SX.sym(third, sizes["f"] if quantity == FORWARD else sizes["u"])
    result = (_forward if quantity == FORWARD else _inverse)(mechanics, given)
    inputs = [given["q"], given["u"], given[third], *([symbols.p] if symbols.p.numel() else [])]
    (shared,) = cs.cse([cs.densify(result)])
    return cs.Function(FUNCTIONS[quantity], inputs, [shared], {"cse": False})


def _outputs(kernel: Kernel, given: dict[str, SX]) -> list[SX]:
    return list(kernel.function.call([given[argument.name] for argument in kernel.inputs]))


def _forward(mechanics: MechanicsProgram, given: dict[str, SX]) -> SX:
    values = {**given, "tau": cs.SX(given["u"].numel(), 1)}
    values["e"], values["v"], values["c"], _ = _outputs(mechanics.motion, values)
    (values["forces"],) = _outputs(mechanics.tree, {**values, "a": values["c"]})
    (values["m"],) = _outputs(mechanics.inner_mass, values)
    return _outputs(mechanics.finish, values)[0]


def _inverse(mechanics: MechanicsProgram, given: dict[str, SX]) -> SX:
    values = dict(given)
    values["e"], values["v"], values["c"], _ = _outputs(mechanics.motion, values)
    (values["a"],) = _outputs(mechanics.raising, values)
    (values["forces"],) = _outputs(mechanics.tree, values)
    return _outputs(mechanics.project, values)[0]


def casadi_rows(
    program: RobotProgram, driver: Driver, folder: Path, toolchain: Toolchain, states: References, label: str = ""
) -> tuple[list[Timed], list[Skipped]]:
    """CasADi's C of both functions, compiled into `folder`; what the compiler does not finish is told."""
    plain = replace(toolchain, flags=tuple(f for f in toolchain.flags if not f.startswith("-W") and f != "-pedantic"))
    rows, skipped = [], []
    for quantity in FUNCTIONS:
        try:
            rows.append(_row(whole_function(program, quantity), quantity, driver, folder, plain, states, label))
        except CompileError as error:
            reason = f"its C cannot be measured: {str(error).splitlines()[0]}"
            skipped.append(Skipped(f"{NAME}, {quantity}{label}", reason))
    return rows, skipped


def _row(
    function: Any, quantity: str, driver: Driver, folder: Path, toolchain: Toolchain, states: References, label: str
) -> Timed:
    library, seconds = _compiled(function, folder, toolchain)
    loaded = cffi.FFI()
    name = function.name()
    loaded.cdef(f"int {name}(const double **, double **, long long *, double *, int);")
    loaded.cdef(f"int {name}_work(long long *, long long *, long long *, long long *);")
    handle = loaded.dlopen(str(library.resolve()))
    sizes = loaded.new("long long[4]")
    getattr(handle, f"{name}_work")(sizes, sizes + 1, sizes + 2, sizes + 3)
    if sizes[2] or sizes[3]:
        raise CompileError(f"it asks for {sizes[2]} integers and {sizes[3]} numbers of working memory")
    loop = driver.loop(
        "casadi", getattr(handle, name), handle, inputs_of(quantity, states), states.constants, states.u.shape[1]
    )
    loop.seconds()
    error = error_of(quantity, states, loop.results)
    note = f"one function of {function.n_instructions():,} instructions; its C took {seconds:.1f} s to compile"
    return Timed(quantity, f"{NAME}{label}", False, lambda: Sample(loop.seconds()), error, note)


def _compiled(function: Any, folder: Path, toolchain: Toolchain) -> tuple[Path, float]:
    """The library of a function's C, and the seconds that compiling took."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = cs.CodeGenerator(f"{function.name()}.c")
    generator.add(function)
    source = Path(generator.generate(f"{folder}/"))
    job = CompileJob(function.name(), source, source.with_suffix(".o"))
    begin = time.monotonic()
    compile_objects([job], toolchain, timeout=SECONDS)
    seconds = time.monotonic() - begin
    library = folder / f"lib{function.name()}.so"
    link_shared([job.object], library, toolchain)
    return library, seconds
