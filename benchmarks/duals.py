"""Values with gradients, for the couplings of the global evaluator: forward differentiation of record expressions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.expressions import float_algebra

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Dual:
    """A value and its gradient (n,)."""

    value: float
    gradient: Array


_UNARY: dict[str, Callable[[float], float]] = {  # derivative of each function
    "neg": lambda x: -1.0,
    "sin": math.cos,
    "cos": lambda x: -math.sin(x),
    "tan": lambda x: 1.0 + math.tan(x) ** 2,
    "asin": lambda x: 1.0 / math.sqrt(1.0 - x * x),
    "acos": lambda x: -1.0 / math.sqrt(1.0 - x * x),
    "atan": lambda x: 1.0 / (1.0 + x * x),
    "sqrt": lambda x: 0.5 / math.sqrt(x),
    "exp": math.exp,
    "log": lambda x: 1.0 / x,
    "tanh": lambda x: 1.0 - math.tanh(x) ** 2,
    "sinh": math.cosh,
    "cosh": math.sinh,
    "abs": lambda x: math.copysign(1.0, x),
    "sign": lambda x: 0.0,
}
_BINARY: dict[str, Callable[[float, float], tuple[float, float]]] = {  # the two partial derivatives
    "+": lambda a, b: (1.0, 1.0),
    "-": lambda a, b: (1.0, -1.0),
    "*": lambda a, b: (b, a),
    "/": lambda a, b: (1.0 / b, -a / (b * b)),
    "atan2": lambda a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "hypot": lambda a, b: (a / math.hypot(a, b), b / math.hypot(a, b)),
    "min": lambda a, b: (1.0, 0.0) if a <= b else (0.0, 1.0),
    "max": lambda a, b: (1.0, 0.0) if a >= b else (0.0, 1.0),
}


def _power(a: Dual, b: Dual) -> Dual:
    value = a.value**b.value
    gradient = np.zeros_like(a.gradient)
    if b.value != 0.0:
        gradient = gradient + b.value * a.value ** (b.value - 1.0) * a.gradient
    if np.any(b.gradient):
        gradient = gradient + math.log(a.value) * value * b.gradient
    return Dual(value, gradient)


def dual_algebra(function: str) -> Callable[..., Dual]:
    """The algebra of `Dual` for `records.expressions.fold`."""
    if function == "**":
        return _power

    def apply(*arguments: Dual) -> Dual:
        values = [argument.value for argument in arguments]
        partials = (_UNARY[function](values[0]),) if len(values) == 1 else _BINARY[function](values[0], values[1])
        total = np.zeros_like(arguments[0].gradient)
        for partial, argument in zip(partials, arguments, strict=True):
            total = total + partial * argument.gradient
        return Dual(float_algebra(function)(*values), total)

    return apply
