"""The number types of the oracle: Python floats, or 60 digits by gmpy2 (MPFR) or mpmath.

All formulas are written once over `Number`; an `Arithmetic` supplies constants, functions and the precision in force.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from robocompiler.errors import MissingPackageError

Number = Any  # float, gmpy2.mpfr or mpmath.mpf
WORKING_DIGITS = 60  # ten guard digits beyond the 50 that are promised
_MODULE_FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "tanh", "sinh", "cosh")


def verification_package(module: str, package: str) -> ModuleType:
    """Import a package of the `verify` extra; raises MissingPackageError that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"the oracle needs {package}, which is not installed; pip install 'robocompiler[verify]' ({error})"
        ) from error


@dataclass(frozen=True)
class Arithmetic:
    """One number type.

    Attributes:
        name: 'double', 'gmpy2' or 'mpmath'.
        number: a float to this type, exactly.
        functions: the functions of the expression language by name.
        context: a context manager under which the type's precision is in force.
        epsilon: relative rounding error of one operation.
    """

    name: str
    number: Callable[[float], Number]
    functions: dict[str, Callable[..., Number]]
    context: Callable[[], AbstractContextManager[Any]]
    epsilon: float

    def __call__(self, function: str) -> Callable[..., Number]:
        """The algebra that `records.expressions.fold` asks for."""
        return self.functions[function]

    def sin(self, x: Number) -> Number:
        """Sine."""
        return self.functions["sin"](x)

    def cos(self, x: Number) -> Number:
        """Cosine."""
        return self.functions["cos"](x)

    def sqrt(self, x: Number) -> Number:
        """Square root."""
        return self.functions["sqrt"](x)

    def atan2(self, y: Number, x: Number) -> Number:
        """Angle of (x, y) in (-pi, pi]."""
        return self.functions["atan2"](y, x)

    def pi(self) -> Number:
        """Half a turn."""
        return self.functions["atan2"](self.number(0.0), self.number(-1.0))


def double_arithmetic() -> Arithmetic:
    """IEEE double."""
    return Arithmetic("double", float, _functions(math), nullcontext, 2.0**-53)


def precise_arithmetic(package: str = "") -> Arithmetic:
    """60 decimal digits by `package`, 'gmpy2' or 'mpmath'; '' takes gmpy2 where it is installed, else mpmath.

    Both give the same digits; gmpy2 is some ten times faster.  Raises MissingPackageError when there is neither.
    """
    bits = math.ceil(WORKING_DIGITS * math.log2(10))
    epsilon = 2.0**-bits
    if package != "mpmath":
        try:
            gmpy2 = verification_package("gmpy2", "gmpy2")
        except MissingPackageError:
            if package == "gmpy2":
                raise
        else:
            return Arithmetic("gmpy2", gmpy2.mpfr, _functions(gmpy2), lambda: gmpy2.context(precision=bits), epsilon)
    mpmath = verification_package("mpmath", "mpmath or gmpy2")
    return Arithmetic("mpmath", mpmath.mpf, _functions(mpmath), lambda: mpmath.workprec(bits), epsilon)


def _functions(module: ModuleType) -> dict[str, Callable[..., Number]]:
    functions: dict[str, Callable[..., Number]] = {name: getattr(module, name) for name in _MODULE_FUNCTIONS}
    root = functions["sqrt"]
    return functions | {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "**": lambda a, b: a**b,
        "neg": lambda a: -a,
        "abs": abs,
        "sign": lambda a: 0 * a + ((a > 0) - (a < 0)),
        "min": lambda a, b: b if b < a else a,
        "max": lambda a, b: b if b > a else a,
        "hypot": lambda a, b: root(a * a + b * b),
    }
