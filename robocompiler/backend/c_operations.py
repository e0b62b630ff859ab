"""C text of single CasADi operations and literals, in double or genuine single precision, with nothing but libm."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from typing import NamedTuple

import casadi

from robocompiler.backend.options import Real
from robocompiler.errors import CompileError

#: Operators between two operands.
INFIX = {casadi.OP_ADD: "+", casadi.OP_SUB: "-", casadi.OP_MUL: "*", casadi.OP_DIV: "/"}
_COMPARISONS = {casadi.OP_LT: "<", casadi.OP_LE: "<=", casadi.OP_EQ: "==", casadi.OP_NE: "!="}
_CONNECTIVES = {casadi.OP_AND: "&&", casadi.OP_OR: "||"}
_CALLS = {
    casadi.OP_EXP: "exp",
    casadi.OP_LOG: "log",
    casadi.OP_POW: "pow",
    casadi.OP_CONSTPOW: "pow",
    casadi.OP_SQRT: "sqrt",
    casadi.OP_SIN: "sin",
    casadi.OP_COS: "cos",
    casadi.OP_TAN: "tan",
    casadi.OP_ASIN: "asin",
    casadi.OP_ACOS: "acos",
    casadi.OP_ATAN: "atan",
    casadi.OP_ATAN2: "atan2",
    casadi.OP_SINH: "sinh",
    casadi.OP_COSH: "cosh",
    casadi.OP_TANH: "tanh",
    casadi.OP_ASINH: "asinh",
    casadi.OP_ACOSH: "acosh",
    casadi.OP_ATANH: "atanh",
    casadi.OP_FLOOR: "floor",
    casadi.OP_CEIL: "ceil",
    casadi.OP_FMOD: "fmod",
    casadi.OP_REMAINDER: "remainder",
    casadi.OP_FABS: "fabs",
    casadi.OP_COPYSIGN: "copysign",
    casadi.OP_FMIN: "fmin",
    casadi.OP_FMAX: "fmax",
    casadi.OP_ERF: "erf",
    casadi.OP_LOG1P: "log1p",
    casadi.OP_EXPM1: "expm1",
    casadi.OP_HYPOT: "hypot",
}

#: libm functions that printed code may call, without the `f` of single precision.
LIBM_FUNCTIONS = frozenset(_CALLS.values())
_MATH_H = re.compile(rf"\b(?:(?:{'|'.join(sorted(LIBM_FUNCTIONS))})f?\s*\(|INFINITY\b|NAN\b|HUGE_VALF?\b)")

#: Operations whose text repeats an operand, and how often: the operand must then be a name or a literal.
REPEATED_OPERANDS = {casadi.OP_SQ: 2, casadi.OP_SIGN: 3}

FOLD = 56  # longest expression that is written into its user, in characters
NOMINAL = 16  # characters of a number of the robot, for this count

#: Numbers that belong to equations and not to a robot.
PLAIN_NUMBERS = frozenset((0.0, 0.5, 1.0, 2.0))

_NAMES = {value: name for name, value in vars(casadi).items() if name.startswith("OP_") and isinstance(value, int)}


def calls_libm(text: str) -> bool:
    """Whether printed C needs `math.h`, which takes longer to read than most kernels take to compile."""
    return _MATH_H.search(text) is not None


class Expression(NamedTuple):
    """A C expression.  `atomic` needs no parentheses as an operand; `boolean` has type int and value 0 or 1.

    excess: characters of `text` beyond those that it would have with numbers of NOMINAL characters: what is written
    into what must not depend on the digits of numbers, or an edit of one number would change the whole text.
    """

    text: str
    atomic: bool
    boolean: bool = False
    call: bool = False
    excess: int = 0

    @property
    def nested(self) -> str:
        """The text as it may stand beside any operator."""
        return self.text if self.atomic else f"({self.text})"

    @property
    def short(self) -> bool:
        """Whether it may be written into its user instead of getting a name: neither a call nor long."""
        return not self.call and len(self.text) - self.excess <= FOLD


class Place(float):
    """Stands in a program for number `index`, which is not looked at: see `places.py`.  As a number it is nan."""

    index: int

    def __new__(cls, index: int) -> Place:
        """The place of number `index`."""
        place = super().__new__(cls, math.nan)
        place.index = index
        return place

    def hex(self) -> str:
        """Tells places apart, from each other and from numbers, as `float.hex` tells numbers."""
        return f"@{self.index}"


def number_of(text: str) -> float:
    """The number, or place, whose `hex` is `text`."""
    return Place(int(text[1:])) if text.startswith("@") else float.fromhex(text)


@dataclass(frozen=True)
class CReal:
    """The C floating type of a kernel: its literals, its libm names and its operations."""

    name: Real

    @property
    def suffix(self) -> str:
        """What single precision appends to literals and libm names."""
        return "f" if self.name == "float" else ""

    def literal(self, number: float) -> Expression:
        """The shortest literal that reads back as exactly `number` (as its nearest float in single precision).

        CompileError if single precision cannot hold the number, or would turn it into zero.
        """
        if type(number) is Place:
            text = f"@{number.index}@"
            return Expression(text, atomic=True, excess=len(text) - NOMINAL)
        if math.isnan(number):
            return Expression("NAN" if self.name == "float" else "(double)NAN", atomic=True)
        if math.isinf(number):
            huge = "HUGE_VALF" if self.name == "float" else "HUGE_VAL"
            return Expression(huge if number > 0 else f"(-{huge})", atomic=True)
        text = repr(number) if self.name == "double" else _single(number) + "f"
        text = f"({text})" if text.startswith("-") else text
        return Expression(text, atomic=True, excess=0 if abs(number) in PLAIN_NUMBERS else len(text) - NOMINAL)

    def as_real(self, operand: Expression) -> Expression:
        """`operand` as a real number; a truth value becomes 0.0 or 1.0."""
        if not operand.boolean:
            return operand
        return Expression(f"({self.name}){operand.nested}", atomic=True, excess=operand.excess)

    def as_truth(self, operand: Expression) -> Expression:
        """`operand` as a truth value; a real is true unless it equals zero, so NaN is true as in CasADi."""
        if operand.boolean:
            return operand
        return Expression(f"{operand.nested} != {self.literal(0.0).text}", atomic=False, boolean=True)

    def operation(self, code: int, operands: tuple[Expression, ...]) -> Expression:
        """The C expression of CasADi operation `code`; CompileError naming the operation if C99 libm has none."""
        if code in INFIX and not (operands[0].boolean or operands[1].boolean):  # nine of ten
            a, b = operands
            first, second = (a.text if a.atomic else f"({a.text})"), (b.text if b.atomic else f"({b.text})")
            return Expression(f"{first} {INFIX[code]} {second}", False, False, False, a.excess + b.excess)
        excess = sum(operand.excess for operand in operands) * REPEATED_OPERANDS.get(code, 1)
        return self._operation(code, operands)._replace(excess=excess)

    def _operation(self, code: int, operands: tuple[Expression, ...]) -> Expression:
        if code in _CONNECTIVES or code == casadi.OP_NOT:
            truths = [self.as_truth(operand).nested for operand in operands]
            text = f"!{truths[0]}" if code == casadi.OP_NOT else f" {_CONNECTIVES[code]} ".join(truths)
            return Expression(text, atomic=False, boolean=True)
        if code == casadi.OP_IF_ELSE_ZERO:
            condition = self.as_truth(operands[0]).nested
            chosen = self.as_real(operands[1]).nested
            return Expression(f"{condition} ? {chosen} : {self.literal(0.0).text}", atomic=False)
        reals = [self.as_real(operand) for operand in operands]
        if code in _COMPARISONS:
            text = f"{reals[0].nested} {_COMPARISONS[code]} {reals[1].nested}"
            return Expression(text, atomic=False, boolean=True)
        if code in _CALLS:
            arguments = ", ".join(operand.text for operand in reals)
            return Expression(f"{_CALLS[code]}{self.suffix}({arguments})", atomic=True, call=True)
        return Expression(self._arithmetic(code, [operand.nested for operand in reals]), atomic=False)

    def _arithmetic(self, code: int, operands: list[str]) -> str:
        first = operands[0] if operands else ""
        if code in INFIX:
            return f"{first} {INFIX[code]} {operands[1]}"
        if code == casadi.OP_NEG:
            return f"-{first}"
        if code == casadi.OP_SQ:
            return f"{first} * {first}"
        if code == casadi.OP_TWICE:
            return f"{self.literal(2.0).text} * {first}"
        if code == casadi.OP_INV:
            return f"{self.literal(1.0).text} / {first}"
        if code == casadi.OP_SIGN:
            zero, one = self.literal(0.0).text, self.literal(1.0).text
            # The last branch returns zeros with their sign, and NaN, as CasADi does.
            return f"({first} < {zero}) ? (-{one}) : (({first} > {zero}) ? {one} : {first})"
        raise CompileError(f"operation {operation_name(code)} has no counterpart in C99's libm and cannot be printed")


def operation_name(code: int) -> str:
    """CasADi's name of operation `code`, for messages."""
    return str(_NAMES.get(code, f"number {code}"))


def _single(number: float) -> str:
    """Shortest decimal that reads back as the float nearest to `number`."""
    rounded = _nearest_float(number)
    if math.isinf(rounded):
        raise CompileError(f"constant {number!r} is too large for single precision")
    if rounded == 0.0 and number != 0.0:
        raise CompileError(f"constant {number!r} would become zero in single precision")
    # Nine digits tell all floats apart, so the last candidate always reads back.
    candidates = (f"{rounded:.{digits}g}" for digits in range(1, 10))
    text = next(candidate for candidate in candidates if _nearest_float(float(candidate)) == rounded)
    return text if any(mark in text for mark in ".e") else text + ".0"


def _nearest_float(number: float) -> float:
    """`number` rounded to single precision; infinite if it is too large."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
