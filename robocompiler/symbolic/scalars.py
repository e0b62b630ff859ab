"""Scalars of the records as CasADi numbers: floats stay constants, expressions become functions of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as cs

from robocompiler.records.expressions import Scalar, fold

SX = Any

_SX_ALGEBRA: dict[str, Callable[..., SX]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "neg": lambda a: -a,
    "abs": cs.fabs,
    "sign": cs.sign,
    "min": cs.fmin,
    "max": cs.fmax,
    "hypot": cs.hypot,
    "atan2": cs.atan2,
    **{
        name: getattr(cs, name)
        for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log", "tanh", "sinh", "cosh")
    },
}


def sx_algebra(function: str) -> Callable[..., SX]:
    """The algebra of CasADi SX for `expressions.fold`."""
    return _SX_ALGEBRA[function]


def to_sx(value: Scalar, symbols: Mapping[str, SX]) -> SX:
    """One scalar as SX."""
    return fold(value, symbols, sx_algebra, cs.SX)


def vector_to_sx(values: Sequence[Scalar], symbols: Mapping[str, SX]) -> SX:
    """A column of scalars as SX."""
    return cs.vertcat(*[to_sx(value, symbols) for value in values])
