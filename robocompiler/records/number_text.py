"""What a number looks like in the input language, and good advice for what only resembles one."""

from __future__ import annotations

import math
import re
from collections.abc import Collection

from robocompiler.records.names import shown

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_NOT_FINITE = re.compile(r"[+-]?\.?(?:nan|inf|infinity)", re.IGNORECASE)
_SEXAGESIMAL = re.compile(r"[+-]?[0-9]+(?::[0-9]+)+(?:\.[0-9]*)?")
_OTHER_BASE = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*_[0-9_.]*)")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_WITH_UNIT = re.compile(rf"({NUMBER.pattern})\s*([^\W\d_][\w/^*²³·]*|[°%\"'])", re.UNICODE)
_SI: dict[str, str] = {
    "mm": "0.001", "cm": "0.01", "km": "1000", "um": "1e-6", "in": "0.0254", "inch": "0.0254", "ft": "0.3048",
    "g": "0.001", "lb": "0.45359237", "lbs": "0.45359237", "deg": "pi/180", "degree": "pi/180", "degrees": "pi/180",
    "°": "pi/180", "rpm": "pi/30", "ms": "0.001", "kN": "1000",
}  # fmt: skip


def advice(text: str, parameters: Collection[str]) -> str | None:
    """What is wrong with `text` where a number should stand, when it is one of the usual slips; else None."""
    if _NOT_FINITE.fullmatch(text):
        return f"{shown(text)} is not a finite number"
    if _SEXAGESIMAL.fullmatch(text):
        return f"{shown(text)} is not a decimal number (YAML 1.1 would read it in base 60); write it out"
    if _OTHER_BASE.fullmatch(text):
        return f"{shown(text)} is not a plain decimal number"
    if _DECIMAL_COMMA.fullmatch(text):
        return f"{shown(text)} has a comma; write the decimal point '.'"
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        return None
    number, word = match.groups()
    if word == "pi" or word in parameters:
        return f"{shown(text)} lacks an operator; write {number}*{word}"
    factor = f"; write {number}*{_SI[word]}" if word in _SI else ""
    return f"{shown(text)} looks like a value with a unit; values are plain SI numbers (m, kg, s, N, rad){factor}"


def number_text(value: float) -> str:
    """The shortest text that reads back as `value`.  Raises ValueError when it is not finite."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number and cannot be written")
    return repr(float(value))
