"""Expressions of the input language as immutable trees.

Used for scalars that depend on run-time parameters (`mass: 0.5*payload`), for nonlinear couplings and for drive laws.
A tree is evaluated by `fold` over any number type (floats, CasADi SX, mpmath), so that no text is ever executed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, Union

T = TypeVar("T")


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True)
class Symbol:
    """A name: a run-time parameter, a joint coordinate (couplings, drives), or what a drive law names besides."""

    name: str


@dataclass(frozen=True)
class Apply:
    """A function of FUNCTIONS, or one of the operators + - * / ** and neg, on arguments."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Union[Constant, Symbol, Apply]
Scalar = Union[float, Expression]

OPERATORS = ("+", "-", "*", "/", "**", "neg")
FUNCTIONS: dict[str, int] = {  # name: number of arguments
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2, "sqrt": 1, "exp": 1, "log": 1,
    "tanh": 1, "sinh": 1, "cosh": 1, "abs": 1, "sign": 1, "min": 2, "max": 2, "hypot": 2,
}  # fmt: skip
SHORTHANDS: dict[str, int] = {"clamp": 3}  # written out by the parser: clamp(x, a, b) = min(max(x, a), b)


class Algebra(Protocol):
    """Gives the callable behind a function or operator name, for one number type."""

    def __call__(self, function: str) -> Callable[..., Any]:
        """The callable behind `function`."""
        ...


def fold(expression: Scalar, symbols: Mapping[str, T], algebra: Algebra, constant: Callable[[float], T]) -> T:
    """Evaluate `expression` bottom-up, taking names from `symbols` and operations from `algebra`."""
    if isinstance(expression, (int, float)):
        return constant(float(expression))
    if isinstance(expression, Constant):
        return constant(expression.value)
    if isinstance(expression, Symbol):
        return symbols[expression.name]
    arguments = [fold(argument, symbols, algebra, constant) for argument in expression.arguments]
    result: T = algebra(expression.function)(*arguments)
    return result


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


_FLOAT: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "neg": lambda a: -a,
    "abs": abs,
    "sign": _sign,
    "min": min,
    "max": max,
    **{name: getattr(math, name) for name in FUNCTIONS if hasattr(math, name)},
}


def float_algebra(function: str) -> Callable[..., float]:
    """The algebra of Python floats (ValueError, OverflowError or ZeroDivisionError outside domains)."""
    return _FLOAT[function]


def evaluate(expression: Scalar, symbols: Mapping[str, float]) -> float:
    """Value of `expression` as a float."""
    return fold(expression, symbols, float_algebra, float)


def names(expression: Scalar) -> frozenset[str]:
    """Every symbol that occurs in `expression`."""
    if isinstance(expression, (int, float, Constant)):
        return frozenset()
    if isinstance(expression, Symbol):
        return frozenset((expression.name,))
    return frozenset().union(*(names(argument) for argument in expression.arguments))
