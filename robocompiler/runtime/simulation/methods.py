"""The integration methods, by name, as Butcher tableaus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import ArgumentError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """An explicit Runge-Kutta method of some order.

    a (s, s), b (s,), c (s,): the tableau.  error (s,): b less the weights of the embedded method of one order less,
    None for a method of fixed step.
    """

    name: str
    order: int
    a: Array
    b: Array
    c: Array
    error: Array | None = None


@dataclass(frozen=True)
class SemiImplicit:
    """Semi-implicit Euler: u + h udot first, then q (+) h E(q) u with the new u.  Order 1."""

    name: str = "euler"
    order: int = 1


@dataclass(frozen=True)
class LinearlyImplicit:
    """The Rosenbrock method ROS2 with A = d udot / d u by differences, for strong damping and friction.

    (1 - gamma h A) k_1 = F(y),   (1 - gamma h A) k_2 = F(y + h k_1) - 2 k_1,   y + h (3 k_1 + k_2) / 2

    Of order 2 for any A; with gamma = 1 - 1/sqrt(2) it damps what is stiff in u away (L-stable), whatever the step.
    """

    name: str = "ros2"
    order: int = 2


Methods = Method | SemiImplicit | LinearlyImplicit


def _method(name: str, order: int, rows: tuple[tuple[float, ...], ...], b: tuple[float, ...],
            embedded: tuple[float, ...] | None = None) -> Method:  # fmt: skip
    a = np.zeros((len(b), len(b)))
    for i, row in enumerate(rows):
        a[i + 1, : len(row)] = row
    weights = np.array(b)
    return Method(name, order, a, weights, a.sum(axis=1), None if embedded is None else weights - np.array(embedded))


RK4 = _method("rk4", 4, ((1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
BOGACKI_SHAMPINE = _method(
    "bs32", 3, ((1 / 2,), (0, 3 / 4), (2 / 9, 1 / 3, 4 / 9)), (2 / 9, 1 / 3, 4 / 9, 0), (7 / 24, 1 / 4, 1 / 3, 1 / 8)
)
DORMAND_PRINCE = _method(
    "dopri5",
    5,
    (
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0),
    (5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40),
)
METHODS: dict[str, Methods] = {
    "euler": SemiImplicit(), "ros2": LinearlyImplicit(), "rk4": RK4, "bs32": BOGACKI_SHAMPINE, "dopri5": DORMAND_PRINCE,
}  # fmt: skip


def method_named(name: str) -> Methods:
    """The method; ValueError for a name that is none, with the names that are."""
    if not isinstance(name, str) or name not in METHODS:
        raise ArgumentError(f"no integration method is called {name!r}; these are: {', '.join(METHODS)}")
    return METHODS[name]


def adaptive(method: Methods) -> bool:
    """Whether the method controls its step."""
    return isinstance(method, Method) and method.error is not None
