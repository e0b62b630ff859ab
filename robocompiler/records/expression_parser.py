"""Text of an expression to its tree, by a small recursive-descent parser; nothing is ever executed.

sum     = product {("+" | "-") product}
product = signed {("*" | "/") signed}
signed  = ("+" | "-") signed | power
power   = atom ["**" signed]                      (so -a**2 = -(a**2) and 2**-1 is legal)
atom    = number | name | `any name` | function "(" sum {"," sum} ")" | word "(" name ")" | "(" sum ")"

`word` is a function of names that the caller allows: speed(`left-knee`) becomes the symbol "speed(left-knee)", which no
other text gives, since names have no parentheses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

from robocompiler.errors import ModelError, Problem
from robocompiler.records.expression_folding import real_value
from robocompiler.records.expressions import FUNCTIONS, SHORTHANDS, Apply, Constant, Expression, Symbol, names
from robocompiler.records.names import check_name, shown

MAXIMUM_LENGTH = 4000
MAXIMUM_LEVELS = 100  # of the tree: bounds every later recursion over it
MAXIMUM_NESTING = 40  # of parentheses, signs and powers: bounds the recursion of this parser

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
    (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | `(?P<quoted>[^`]*)`
  | (?P<operator>\*\*|[-+*/(),])
  | (?P<end>\Z)
  | (?P<other>.))""",
    re.VERBOSE | re.DOTALL,
)


def parse_expression(text: str, of_names: Collection[str] = ()) -> Expression:
    """Tree of `text`; numbers, `pi`, names, + - * / **, parentheses, FUNCTIONS and SHORTHANDS.

    `of_names` are functions whose argument is a name: `word(name)` becomes the symbol "word(name)".

    Raises ModelError with one Problem that says what was expected and at which column.
    """
    if len(text) > MAXIMUM_LENGTH:
        raise _fault(f"the expression has {len(text)} characters; at most {MAXIMUM_LENGTH} are read")
    return _Parser(_tokens(text), of_names).parse()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"{shown(self.text)} at column {self.column}"


def _fault(message: str) -> ModelError:
    return ModelError([Problem(message)])


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while not tokens or tokens[-1].kind != "end":
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise AssertionError("the last alternatives match every character and the end")
        kind = match.lastgroup
        token = _Token(kind, match.group(kind), match.start(kind) + 1)
        if kind == "other":
            raise _fault(_foreign(token))
        tokens.append(token)
        position = match.end()
    return tokens


def _foreign(token: _Token) -> str:
    if token.text == "^":
        return f"the character '^' at column {token.column} is not an operator; write ** for a power"
    if token.text == "`":
        return f"the backtick at column {token.column} is not closed"
    return (
        f"the character {token.text!a} at column {token.column} is not part of an expression; "
        "write a name that has other characters than letters, digits and '_' in backticks, such as `left-knee` or `j:x`"
    )


def _quoted(token: _Token) -> str:
    fault = check_name(token.text.replace(":", "_", 1))
    if fault:
        raise _fault(f"{shown(token.text)} at column {token.column}: {fault}")
    return token.text


class _Parser:
    def __init__(self, tokens: list[_Token], of_names: Collection[str]) -> None:
        self._tokens = tokens
        self._of_names = of_names
        self._next = 0
        self._depth = 0
        self._levels: dict[int, int] = {}  # height of each Apply built, by id: all stay alive inside the final tree
        self._alive: list[Expression] = []

    def parse(self) -> Expression:
        """The whole text as one sum."""
        tree = self._sum()
        if self._peek.kind != "end":
            previous = self._tokens[self._next - 1].kind
            glued = self._peek.kind in ("number", "name", "quoted") or (
                self._peek.text == "(" and previous != "operator"
            )
            raise _fault(f"unexpected {self._peek}" + ("; write * for a product" if glued else ""))
        return tree

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _accept(self, *operators: str) -> str | None:
        token = self._peek
        if token.kind == "operator" and token.text in operators:
            self._next += 1
            return token.text
        return None

    def _apply(self, function: str, *arguments: Expression) -> Expression:
        level = 1 + max(self._levels.get(id(argument), 0) for argument in arguments)
        if level > MAXIMUM_LEVELS:
            raise _fault(f"the expression has more than {MAXIMUM_LEVELS} levels; group its terms with parentheses")
        tree = Apply(function, arguments)
        self._levels[id(tree)] = level
        self._alive.append(tree)
        return tree

    def _sum(self) -> Expression:
        tree = self._product()
        while operator := self._accept("+", "-"):
            tree = self._apply(operator, tree, self._product())
        return tree

    def _product(self) -> Expression:
        tree = self._signed()
        while operator := self._accept("*", "/"):
            tree = self._apply(operator, tree, self._signed())
        return tree

    def _signed(self) -> Expression:
        self._depth += 1  # every recursion of the grammar passes here
        if self._depth > MAXIMUM_NESTING:
            raise _fault(f"parentheses, signs or powers are nested more than {MAXIMUM_NESTING} deep")
        sign = self._accept("+", "-")
        if sign is None:
            tree = self._power()
        else:
            operand = self._signed()
            tree = self._apply("neg", operand) if sign == "-" else operand
        self._depth -= 1
        return tree

    def _power(self) -> Expression:
        base = self._atom()
        return self._apply("**", base, self._signed()) if self._accept("**") else base

    def _atom(self) -> Expression:
        token = self._peek
        self._next += 1
        if token.kind == "number":
            value = float(token.text)
            if not math.isfinite(value):
                raise _fault(f"the number {shown(token.text)} is too large")
            return Constant(value)
        if token.kind == "quoted":
            return Symbol(_quoted(token))
        if token.kind == "name":
            return self._name(token)
        if token.text == "(":
            tree = self._sum()
            self._close()
            return tree
        raise _fault(f"expected a number, a name, a function or '(' but found {token}")

    def _name(self, token: _Token) -> Expression:
        if self._accept("("):
            return self._call(token)
        if token.text == "pi":
            return Constant(math.pi)
        if token.text in FUNCTIONS or token.text in SHORTHANDS or token.text in self._of_names:
            raise _fault(f"{token.text} is a function; give it its argument in parentheses")
        return Symbol(token.text)

    def _call(self, token: _Token) -> Expression:
        if token.text in self._of_names:
            return self._of_name(token)
        arity = FUNCTIONS.get(token.text, SHORTHANDS.get(token.text))
        if arity is None:
            allowed = ", ".join((*FUNCTIONS, *SHORTHANDS, *self._of_names))
            raise _fault(f"unknown function {shown(token.text)} (allowed: {allowed})")
        arguments = [self._sum()]
        while self._accept(","):
            arguments.append(self._sum())
        self._close()
        if len(arguments) != arity:
            raise _fault(f"{token.text} takes {arity} argument{'s' * (arity > 1)}, not {len(arguments)}")
        return self._clamp(*arguments) if token.text == "clamp" else self._apply(token.text, *arguments)

    def _clamp(self, value: Expression, lower: Expression, upper: Expression) -> Expression:
        """min(max(value, lower), upper); bounds that are numbers must not be swapped."""
        if not names(lower) | names(upper):
            bounds = real_value(lower, {}), real_value(upper, {})
            if bounds[0] > bounds[1]:
                raise _fault(f"clamp: the lower bound {bounds[0]:g} is above the upper bound {bounds[1]:g}; swap them")
        return self._apply("min", self._apply("max", value, lower), upper)

    def _of_name(self, function: _Token) -> Expression:
        """The symbol of a function of names; its opening parenthesis is read already."""
        token = self._peek
        if token.kind not in ("name", "quoted"):
            raise _fault(f"{function.text} takes a name, but found {token}")
        self._next += 1
        name = _quoted(token) if token.kind == "quoted" else token.text
        self._close()
        return Symbol(f"{function.text}({name})")

    def _close(self) -> None:
        if not self._accept(")"):
            raise _fault(f"expected ')' but found {self._peek}")
