"""Constant parts of an expression become numbers, and impossible ones (1/0, sqrt(-1)) are found at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from robocompiler.errors import ModelError, Problem
from robocompiler.records.expressions import Apply, Constant, Expression, Scalar, float_algebra, fold


def fold_constants(expression: Expression) -> Expression:
    """`expression` with every subtree that names nothing replaced by its value.

    Raises ModelError when such a subtree has no finite real value.
    """
    if not isinstance(expression, Apply):
        return expression
    folded = Apply(expression.function, tuple(fold_constants(argument) for argument in expression.arguments))
    if all(isinstance(argument, Constant) for argument in folded.arguments):
        return Constant(real_value(folded, {}))
    return folded


def real_value(expression: Scalar, symbols: Mapping[str, float]) -> float:
    """Value of `expression`; raises ModelError when it is not a finite real number."""
    try:
        value = fold(expression, symbols, _real_algebra, float)
    except (ArithmeticError, ValueError) as error:
        raise ModelError([Problem(f"the expression has no finite real value ({error})")]) from error
    if not math.isfinite(value):
        raise ModelError([Problem("the expression has no finite real value")])
    return value


def _real_algebra(function: str) -> Callable[..., float]:
    return _real_power if function == "**" else float_algebra(function)


def _real_power(base: float, exponent: float) -> float:
    return math.pow(base, exponent)  # unlike **, which makes (-1)**0.5 complex, it raises ValueError
