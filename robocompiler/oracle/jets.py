"""Second-order jets (value, first and second derivative along a line): exact derivatives of coupling expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from robocompiler.oracle.arithmetic import Arithmetic, Number
from robocompiler.records.expressions import Expression, fold


@dataclass(frozen=True)
class Jet:
    """x(t) = value + first t + second t^2 / 2."""

    value: Number
    first: Number
    second: Number

    def through(self, f: Number, f1: Number, f2: Number) -> Jet:
        """Chain rule for a function with value f and derivatives f1, f2 at `value`."""
        return Jet(f, f1 * self.first, f2 * self.first * self.first + f1 * self.second)


def _add(a: Jet, b: Jet) -> Jet:
    return Jet(a.value + b.value, a.first + b.first, a.second + b.second)


def _negative(a: Jet) -> Jet:
    return Jet(-a.value, -a.first, -a.second)


def _multiply(a: Jet, b: Jet) -> Jet:
    second = a.second * b.value + 2 * a.first * b.first + a.value * b.second
    return Jet(a.value * b.value, a.first * b.value + a.value * b.first, second)


def _reciprocal(a: Jet) -> Jet:
    r = 1 / a.value
    return a.through(r, -r * r, 2 * r * r * r)


@dataclass(frozen=True)
class JetAlgebra:
    """The functions of the expression language over jets."""

    arithmetic: Arithmetic

    def __call__(self, function: str) -> Callable[..., Jet]:
        """The jet version of `function`."""
        table: dict[str, Callable[..., Jet]] = {
            "+": _add,
            "-": lambda a, b: _add(a, _negative(b)),
            "*": _multiply,
            "/": lambda a, b: _multiply(a, _reciprocal(b)),
            "**": self._power,
            "neg": _negative,
            "abs": lambda a: _negative(a) if a.value < 0 else a,
            "sign": lambda a: a.through(self.arithmetic("sign")(a.value), 0, 0),
            "min": lambda a, b: b if b.value < a.value else a,
            "max": lambda a, b: b if b.value > a.value else a,
            "hypot": lambda a, b: self._unary("sqrt", _add(_multiply(a, a), _multiply(b, b))),
            "atan2": self._atan2,
        }
        return table.get(function) or (lambda a: self._unary(function, a))

    def _unary(self, function: str, a: Jet) -> Jet:
        x = a.value
        f = self.arithmetic(function)(x)
        if function in ("sin", "cos"):
            other = self.arithmetic.cos(x) if function == "sin" else -self.arithmetic.sin(x)
            return a.through(f, other, -f)
        if function in ("sinh", "cosh"):
            return a.through(f, self.arithmetic("cosh" if function == "sinh" else "sinh")(x), f)
        if function in ("tan", "tanh"):
            slope = 1 + f * f if function == "tan" else 1 - f * f
            return a.through(f, slope, (2 if function == "tan" else -2) * f * slope)
        if function in ("asin", "acos"):
            slope = (1 if function == "asin" else -1) / self.arithmetic.sqrt(1 - x * x)
            return a.through(f, slope, slope * x / (1 - x * x))
        if function == "atan":
            slope = 1 / (1 + x * x)
            return a.through(f, slope, -2 * x * slope * slope)
        if function == "sqrt":
            return a.through(f, 1 / (2 * f), -1 / (4 * x * f))
        if function == "exp":
            return a.through(f, f, f)
        if function == "log":
            return a.through(f, 1 / x, -1 / (x * x))
        raise KeyError(function)

    def _power(self, a: Jet, b: Jet) -> Jet:
        if b.first != 0 or b.second != 0:
            return self._unary("exp", _multiply(b, self._unary("log", a)))
        p, zero = b.value, 0 * a.value
        slope = zero if p == 0 else p * a.value ** (p - 1)
        bend = zero if p in (0, 1) else p * (p - 1) * a.value ** (p - 2)  # 0**-1 must not be formed
        return a.through(a.value**p, slope, bend)

    def _atan2(self, y: Jet, x: Jet) -> Jet:
        square = x.value * x.value + y.value * y.value
        first = (x.value * y.first - y.value * x.first) / square
        stretch = 2 * (x.value * x.first + y.value * y.first)
        second = (x.value * y.second - y.value * x.second - first * stretch) / square
        return Jet(self.arithmetic.atan2(y.value, x.value), first, second)


@dataclass(frozen=True)
class Derivatives:
    """gamma, its gradient by coordinate, and its second derivative along the rates."""

    value: Number
    gradient: dict[str, Number]
    bend: Number


def differentiate(
    expression: Expression,
    values: Mapping[str, Number],
    rates: Mapping[str, Number],
    parameters: Mapping[str, Number],
    arithmetic: Arithmetic,
) -> Derivatives:
    """Derivatives of a coupling at `values`; `rates` (of the same coordinates) give d^2 gamma / dt^2 at qddot = 0."""
    algebra, zero, one = JetAlgebra(arithmetic), arithmetic.number(0.0), arithmetic.number(1.0)

    def jet(direction: Mapping[str, Number]) -> Jet:
        symbols = {name: Jet(value, zero, zero) for name, value in parameters.items()}
        symbols |= {name: Jet(value, direction.get(name, zero), zero) for name, value in values.items()}
        return fold(expression, symbols, algebra, lambda x: Jet(arithmetic.number(x), zero, zero))

    along = jet(rates)
    return Derivatives(along.value, {name: jet({name: one}).first for name in values}, along.second)
