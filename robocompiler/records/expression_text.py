"""An expression as text that the parser reads back to the same tree, with no parentheses that it does not need."""

from __future__ import annotations

import re

from robocompiler.records.expressions import FUNCTIONS, SHORTHANDS, Constant, Expression, Symbol
from robocompiler.records.number_text import number_text

_SUM, _PRODUCT, _SIGNED, _ATOM = 1, 2, 3, 5  # how tightly a text binds, as the grammar of the parser has it
_BINARY: dict[str, tuple[int, int, int]] = {  # operator: strength, and the least strength of both operands
    "+": (_SUM, _SUM, _PRODUCT),
    "-": (_SUM, _SUM, _PRODUCT),
    "*": (_PRODUCT, _PRODUCT, _SIGNED),
    "/": (_PRODUCT, _PRODUCT, _SIGNED),
    "**": (4, _ATOM, _SIGNED),
}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_NAME = re.compile(r"([a-z]+)\((.*)\)")  # speed(left-knee): a function of a name, kept as one symbol
_RESERVED = frozenset((*FUNCTIONS, *SHORTHANDS, "pi", "speed"))


def expression_text(expression: Expression) -> str:
    """The text of an expression.  Raises ValueError for a constant that is not finite."""
    return _text(expression, _SUM)


def _text(tree: Expression, least: int) -> str:
    """The text of a tree, in parentheses when it binds less than `least`."""
    text, strength = _bare(tree)
    return text if strength >= least else f"({text})"


def _bare(tree: Expression) -> tuple[str, int]:
    if isinstance(tree, Constant):
        text = number_text(tree.value)
        return text, _SIGNED if text.startswith("-") else _ATOM
    if isinstance(tree, Symbol):
        return _symbol(tree.name), _ATOM
    if tree.function == "neg":
        return "-" + _text(tree.arguments[0], _SIGNED), _SIGNED
    if tree.function in _BINARY:
        strength, left, right = _BINARY[tree.function]
        first, second = _text(tree.arguments[0], left), _text(tree.arguments[1], right)
        gap = "" if tree.function == "**" else " "
        return f"{first}{gap}{tree.function}{gap}{second}", strength
    return f"{tree.function}({', '.join(_text(argument, _SUM) for argument in tree.arguments)})", _ATOM


def _symbol(name: str) -> str:
    of_name = _OF_NAME.fullmatch(name)
    if of_name:
        return f"{of_name.group(1)}({_symbol(of_name.group(2))})"
    return name if _IDENTIFIER.fullmatch(name) and name not in _RESERVED else f"`{name}`"
