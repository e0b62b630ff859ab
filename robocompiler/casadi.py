"""The dynamics of a mechanism as CasADi functions, for optimisation with CasADi's own derivatives.

    udot = rc.casadi.function("models/fourbar.yaml", "forward_dynamics")     # (q, u, f) -> udot
    opti.subject_to(rate == udot(q, u, f))

The functions are those of the generated code, in the port chart, written out from the same kernels.  They are smooth
in all coordinates and agree with the mechanism where q is closed, so that a problem over q needs `closure`(q) = 0.
Needs no C compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as cs

from robocompiler.compiler import FrontEnd, run_front_end
from robocompiler.errors import ArgumentError
from robocompiler.records.model import Mechanism
from robocompiler.symbolic.kernel import Kernel
from robocompiler.symbolic.manifold import coordinate_rates

MX = Any


def function(model: str | Path | Mechanism | FrontEnd, name: str) -> Any:
    """A casadi.Function of a mechanism; columns in the order of the compiled robot's arrays, SI units.

    name               inputs        output
    forward_dynamics   q, u, f       udot (d,) with M_r udot + h_r = L^T f
    inverse_dynamics   q, u, udot    tau (d,) = M_r udot + h_r
    velocity           q, u          v (nv,) of all joints
    coordinate_rates   q, u          qdot (nq,) = N v
    closure            q             rows (nk,): the closures that the cuts left, zero where q is closed
    port_displacement  q             l (nf,)

    A model with run-time parameters adds the input p, their values in file order.  Pass the front end
    (`compiler.run_front_end`) to take several functions of one model.

    Raises:
        ValueError: no function is called `name`, or nothing can move.
        ModelError, AssemblyError, RankError: as `compile` does.
    """
    if not isinstance(name, str) or name not in _BUILDERS:
        raise ArgumentError(f"no function is called {name!r}; these are: {', '.join(_BUILDERS)}")
    front = model if isinstance(model, FrontEnd) else run_front_end(model)
    if front.program.mechanics is None:
        raise ArgumentError(f"{front.mechanism.name}: nothing can move, so that it has no dynamics")
    builder = _Builder(front)
    inputs, output = _BUILDERS[name]
    given = {argument: builder.symbols[argument] for argument in inputs}
    if front.mechanism.parameters:
        given["p"] = builder.symbols["p"]
    return cs.Function(name, list(given.values()), [output[1](builder)], list(given), [output[0]])


class _Builder:
    """Chains of kernels over MX symbols: each kernel stays one call, so that CasADi differentiates it once."""

    def __init__(self, front: FrontEnd) -> None:
        self.front, mechanics = front, front.program.mechanics
        assert mechanics is not None
        self.kernels = mechanics
        topology = front.topology
        d = len(front.reduction.chart("port").independent)
        sizes = {
            "q": topology.nq, "u": d, "udot": d, "f": len(front.mechanism.ports), "p": len(front.mechanism.parameters),
        }  # fmt: skip
        self.symbols: dict[str, MX] = {name: cs.MX.sym(name, size) for name, size in sizes.items()}

    def run(self, kernel: Kernel, **given: MX) -> dict[str, MX]:
        """Outputs by name; inputs that are not given are the function's own."""
        known = {**self.symbols, **given}
        found = kernel.function.call([known[argument.name] for argument in kernel.inputs])
        return {argument.name: value for argument, value in zip(kernel.outputs, found, strict=True)}

    def motion(self) -> Mapping[str, MX]:
        return self.run(self.kernels.motion)

    def forward_dynamics(self) -> MX:
        moving = self.motion()
        own = {name: moving[name] for name in ("e", "v", "c")}
        forces = self.run(self.kernels.tree, v=own["v"], a=own["c"])["forces"]
        m = self.run(self.kernels.inner_mass, **own)["m"]
        nothing = cs.MX.zeros(self.symbols["u"].numel(), 1)
        return self.run(self.kernels.finish, **own, forces=forces, m=m, tau=nothing)["udot"]

    def inverse_dynamics(self) -> MX:
        moving = self.motion()
        a = self.run(self.kernels.raising, e=moving["e"], c=moving["c"])["a"]
        forces = self.run(self.kernels.tree, v=moving["v"], a=a)["forces"]
        return self.run(self.kernels.project, e=moving["e"], forces=forces)["tau"]

    def velocity(self) -> MX:
        """Tree velocities from the lift, those of cut joints from their own rows."""
        closures = self.front.closures
        symbols = closures.symbols
        v, cut = symbols.v, cs.SX(symbols.v)
        for closure in closures.closures:
            if closure.recovered_v:
                cut[list(closure.recovered_v)] = cs.mtimes(closure.recovered_jacobian, v)
        complete = cs.Function("cut_speeds", [symbols.q, v, symbols.p], [cut])
        return complete(self.symbols["q"], self.motion()["v"], self.symbols["p"])

    def coordinate_rates(self) -> MX:
        symbols = self.front.closures.symbols
        rates = coordinate_rates(self.front.topology, symbols.q, symbols.v)
        return cs.Function("rates", [symbols.q, symbols.v], [rates])(self.symbols["q"], self.velocity())

    def closure(self) -> MX:
        closures = self.front.closures
        symbols = closures.symbols
        rows = cs.vertcat(cs.SX(0, 1), *[closure.rows for closure in closures.closures])
        return cs.Function("rows", [symbols.q, symbols.p], [rows])(self.symbols["q"], self.symbols["p"])

    def port_displacement(self) -> MX:
        return self.run(self.kernels.ports)["l"]


_BUILDERS: dict[str, tuple[tuple[str, ...], tuple[str, Callable[[_Builder], MX]]]] = {
    "forward_dynamics": (("q", "u", "f"), ("udot", _Builder.forward_dynamics)),
    "inverse_dynamics": (("q", "u", "udot"), ("tau", _Builder.inverse_dynamics)),
    "velocity": (("q", "u"), ("v", _Builder.velocity)),
    "coordinate_rates": (("q", "u"), ("qdot", _Builder.coordinate_rates)),
    "closure": (("q",), ("rows", _Builder.closure)),
    "port_displacement": (("q",), ("l", _Builder.port_displacement)),
}
