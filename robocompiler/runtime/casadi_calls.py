"""Compiled functions inside CasADi: `robot.casadi(name)`, with the compiled derivatives as exact Jacobians.

    udot = robot.casadi("forward_dynamics")     # (s, u, f) -> udot
    opti.subject_to(udot(s[:, k], u[:, k], f[:, k]) == rate)

s are the coordinates of the independents: the loops are closed inside, by the compiled corrector along the mechanism,
so that an optimal control problem has no closure constraints and 2 d states.  For functions of all coordinates with the
closures as constraints, differentiated by CasADi itself, see `robocompiler/casadi.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import ArgumentError, AssemblyError, MissingPackageError

if TYPE_CHECKING:
    from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Call:
    """One function: inputs by name and length, its value (m,), and its Jacobians (m, size) in the inputs' order."""

    inputs: tuple[tuple[str, int], ...]
    output: str
    size: int
    value: Callable[..., Array]
    jacobians: Callable[..., Sequence[Array]]


def casadi_function(robot: Robot, name: str) -> Any:
    """The casadi.Function of `name`; see `Robot.casadi`."""
    if not isinstance(name, str) or name not in _CALLS:
        raise ArgumentError(f"no function is called {name!r}; these are: {', '.join(_CALLS)}")
    try:
        import casadi
    except ImportError:
        raise MissingPackageError("robot.casadi needs CasADi: pip install casadi") from None
    return _wrapped(casadi, name, _CALLS[name](robot))


def _wrapped(casadi: Any, name: str, call: Call) -> Any:
    """`call` as a CasADi callback, whose Jacobian is one too."""
    sizes = [size for _, size in call.inputs]

    class Value(casadi.Callback):  # type: ignore[misc]
        """The compiled function."""

        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self._jacobians: list[Any] = []  # CasADi holds no reference of its own to Python objects
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(sizes)

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return call.inputs[i][0]

        def get_name_out(self, _i: int) -> str:
            return call.output

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(sizes[i], 1)

        def get_sparsity_out(self, _i: int) -> Any:
            return casadi.Sparsity.dense(call.size, 1)

        # CasADi calls a callback by this name; it is a method and evaluates no text
        def eval(self, arguments: Sequence[Any]) -> list[Any]:
            return [casadi.DM(call.value(*map(_column, arguments)))]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, own_name: str, names_in: Any, names_out: Any, options: Any) -> Any:
            made = _jacobian(casadi, call, own_name, (list(names_in), list(names_out)), options)
            self._jacobians.append(made)
            return made

    return Value()


def _jacobian(casadi: Any, call: Call, name: str, names: tuple[list[str], list[str]], options: Any) -> Any:
    """The Jacobian of `call` as CasADi asks for it: one dense block per input, and the value as one more input."""
    sizes = [size for _, size in call.inputs]

    class Jacobian(casadi.Callback):  # type: ignore[misc]
        """All blocks."""

        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.construct(name, options)

        def get_n_in(self) -> int:
            return len(sizes) + 1

        def get_n_out(self) -> int:
            return len(sizes)

        def get_name_in(self, i: int) -> str:
            return names[0][i]

        def get_name_out(self, i: int) -> str:
            return names[1][i]

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense((*sizes, call.size)[i], 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(call.size, sizes[i])

        # CasADi calls a callback by this name; it is a method and evaluates no text
        def eval(self, arguments: Sequence[Any]) -> list[Any]:
            return [casadi.DM(block) for block in call.jacobians(*map(_column, arguments[:-1]))]

    return Jacobian()


def _column(argument: Any) -> Array:
    return np.asarray(argument.full(), dtype=np.float64).ravel()


class _Closed:
    """s -> q, along the mechanism from the last one, so that the assembly branch is kept."""

    def __init__(self, robot: Robot) -> None:
        """ValueError where an independent is no coordinate of its own: a ball joint's or a free root's velocity."""
        for name in robot.independent:
            if name not in robot.coordinates:
                raise ArgumentError(
                    f"{name!r} is a speed without a coordinate of its own (of a ball joint or a free root); take "
                    "rc.casadi.function, whose functions have all coordinates"
                )
        self._robot = robot
        self._places = [robot.coordinates.index(name) for name in robot.independent]
        self._last = robot.reference

    def __call__(self, s: Array) -> Array:
        """The assembled q (nq,); AssemblyError where there is none."""
        robot, last = self._robot, self._last
        if np.array_equal(last[self._places], s):
            return last
        q = robot.integrate(last, robot.lift(last) @ (s - last[self._places]))
        q[self._places] = s
        try:
            self._last = robot.assemble(q)
        except AssemblyError:  # too far for one step: along the mechanism from the reference
            self._last = robot.assemble(robot.configuration(dict(zip(robot.independent, s.tolist(), strict=True))))
        return self._last


def _forward(robot: Robot) -> Call:
    closed, derivatives = _Closed(robot), robot.derivatives
    d, nf = len(robot.independent), len(robot.ports)
    return Call(
        (("s", d), ("u", d), ("f", nf)), "udot", d,
        lambda s, u, f: robot.forward_dynamics(closed(s), u, f),
        lambda s, u, f: derivatives.forward_dynamics(closed(s), u, f),
    )  # fmt: skip


def _inverse(robot: Robot) -> Call:
    closed, derivatives, d = _Closed(robot), robot.derivatives, len(robot.independent)

    def jacobians(s: Array, u: Array, udot: Array) -> Sequence[Array]:
        q = closed(s)
        return (*derivatives.inverse_dynamics(q, u, udot), robot.mass_matrix(q))

    def value(s: Array, u: Array, udot: Array) -> Array:
        return robot.inverse_dynamics(closed(s), u, udot)

    return Call((("s", d), ("u", d), ("udot", d)), "tau", d, value, jacobians)


def _configuration(robot: Robot) -> Call:
    """q, with its Jacobian N E."""
    closed, d = _Closed(robot), len(robot.independent)

    def jacobians(s: Array) -> Sequence[Array]:
        q = closed(s)
        columns = [robot.coordinate_rates(q, speeds) for speeds in robot.lift(q).T]
        return (np.column_stack(columns),)

    return Call((("s", d),), "q", len(robot.coordinates), closed, jacobians)


def _ports(robot: Robot) -> Call:
    closed, d = _Closed(robot), len(robot.independent)
    return Call(
        (("s", d),), "l", len(robot.ports),
        lambda s: robot.port_displacement(closed(s)), lambda s: (robot.port_map(closed(s)),),
    )  # fmt: skip


_CALLS: dict[str, Callable[[Robot], Call]] = {
    "forward_dynamics": _forward,
    "inverse_dynamics": _inverse,
    "configuration": _configuration,
    "port_displacement": _ports,
}
