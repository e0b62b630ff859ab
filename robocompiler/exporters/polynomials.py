"""Couplings as polynomials of coordinates, as far as they are: MuJoCo's equalities are y = c0 + c1 x + ... + c4 x^4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from robocompiler.records.expressions import Expression, fold, names

Monomial = tuple[tuple[str, int], ...]  # (coordinate, power) in the order of the names
HIGHEST_POWER = 4


class NotPolynomialError(Exception):
    """The expression is no polynomial."""


@dataclass(frozen=True)
class Polynomial:
    """sum(coefficient * monomial); the empty monomial is the constant."""

    terms: Mapping[Monomial, float]

    def constant(self) -> float | None:
        """Its value where it names no coordinate, else None."""
        return self.terms.get((), 0.0) if not any(self.terms) else None


@dataclass(frozen=True)
class Law:
    """y = c0 + c1 x + ... + c4 x^4; `x` '' means that y is held at c0."""

    y: str
    x: str
    coefficients: tuple[float, ...]


def linear_terms(expression: Expression) -> tuple[dict[str, float], float] | None:
    """(weights, constant) of sum(weight * coordinate) + constant, or None."""
    polynomial = polynomial_of(expression)
    if polynomial is None or any(len(key) > 1 or (key and key[0][1] > 1) for key in polynomial.terms):
        return None
    weights = {key[0][0]: value for key, value in polynomial.terms.items() if key and value != 0}
    return weights, polynomial.terms.get((), 0.0)


def law_of(expression: Expression) -> Law | None:
    """The law of an expression = 0 in at most two coordinates, linear in one of them, or None."""
    polynomial = polynomial_of(expression)
    if polynomial is None:
        return None
    terms = {key: value for key, value in polynomial.terms.items() if value != 0}
    if any(len(key) > 1 for key in terms):
        return None
    powers: dict[str, dict[int, float]] = {}
    for key, value in terms.items():
        for name, power in key:
            powers.setdefault(name, {})[power] = value
    # the follower is the coordinate of the first power only; of two such, the first by name
    followers = [name for name in sorted(powers) if set(powers[name]) == {1}]
    if not followers or len(powers) > 2:
        return None
    y = followers[0]
    others = [name for name in powers if name != y]
    x = others[0] if others else ""
    found = powers.get(x, {})
    if max(found, default=0) > HIGHEST_POWER:
        return None
    weight = powers[y][1]
    values = {0: terms.get((), 0.0), **found}
    return Law(y, x, tuple(-values.get(power, 0.0) / weight + 0.0 for power in range(HIGHEST_POWER + 1)))


def polynomial_of(expression: Expression) -> Polynomial | None:
    """The expanded polynomial of an expression over its names, or None."""
    symbols = {name: Polynomial({((name, 1),): 1.0}) for name in names(expression)}
    try:
        return fold(expression, symbols, _algebra, lambda value: Polynomial({(): value} if value else {}))
    except NotPolynomialError:
        return None


def _algebra(function: str) -> Callable[..., Any]:
    if function not in _OPERATIONS:
        raise NotPolynomialError
    return _OPERATIONS[function]


def _added(a: Polynomial, b: Polynomial, sign: float = 1.0) -> Polynomial:
    terms = dict(a.terms)
    for key, value in b.terms.items():
        terms[key] = terms.get(key, 0.0) + sign * value
    return Polynomial({key: value for key, value in terms.items() if value != 0})


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    terms: dict[Monomial, float] = {}
    for first, x in a.terms.items():
        for second, y in b.terms.items():
            powers = dict(first)
            for name, power in second:
                powers[name] = powers.get(name, 0) + power
            key = tuple(sorted(powers.items()))
            terms[key] = terms.get(key, 0.0) + x * y
    return Polynomial(terms)


def _over(a: Polynomial, b: Polynomial) -> Polynomial:
    divisor = b.constant()
    if not divisor:
        raise NotPolynomialError
    return Polynomial({key: value / divisor for key, value in a.terms.items()})


def _power(a: Polynomial, b: Polynomial) -> Polynomial:
    exponent = b.constant()
    if exponent is None or exponent != int(exponent) or not 0 <= exponent <= 2 * HIGHEST_POWER:
        raise NotPolynomialError
    result = Polynomial({(): 1.0})
    for _ in range(int(exponent)):
        result = _times(result, a)
    return result


_OPERATIONS: dict[str, Callable[..., Polynomial]] = {
    "+": _added,
    "-": lambda a, b: _added(a, b, -1.0),
    "*": _times,
    "/": _over,
    "**": _power,
    "neg": lambda a: _added(Polynomial({}), a, -1.0),
}
