"""Numbers and words in the attributes and texts of an XML element; each fault names element, attribute and mend."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from robocompiler.importers.log import ImportLog
from robocompiler.records.model import Vector3
from robocompiler.records.names import shown
from robocompiler.records.number_text import NUMBER

_INFINITE = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
_WITH_UNIT = re.compile(rf"({NUMBER.pattern})([^\W\d_][\w/^*²³·]*|[°%\"'])", re.UNICODE)
_SI = {
    "mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3, "um": 1e-6, "in": 0.0254, "inch": 0.0254, "g": 1e-3, "kg": 1.0,
    "lb": 0.45359237, "deg": math.pi / 180, "°": math.pi / 180, "rad": 1.0, "rpm": math.pi / 30, "s": 1.0, "N": 1.0,
    "Nm": 1.0,
}  # fmt: skip
_TRUE, _FALSE = frozenset(("true", "1")), frozenset(("false", "0"))


@dataclass(frozen=True)
class Values:
    """The values of one element by key; `record` is how messages call the element."""

    items: Mapping[str, str]
    record: str
    line: int | None
    log: ImportLog

    def __contains__(self, key: str) -> bool:
        return key in self.items

    def problem(self, message: str) -> None:
        """Note a fault of this element."""
        self.log.problem(message, self.record, self.line)

    def only(self, *known: str, what: str = "attribute") -> None:
        """List what is none of `known`; a near miss of one of them is a fault."""
        for key in self.items:
            if key in known or key.startswith("xmlns"):
                continue
            hint = self.log.suggest(key, [word for word in known if word not in self.items])
            if hint:
                self.problem(f"unknown {what} {shown(key)}{hint}")
            else:
                self.log.leave_out(f"{what} {shown(key)} of {self.record.split(' ')[0].rstrip(':')}s", self.line)

    def text(self, key: str) -> str | None:
        """A word, or None with a fault noted when it is missing or empty."""
        value = self.items.get(key, "").strip()
        if not value:
            self.problem(f"'{key}' is missing" if key not in self.items else f"'{key}' is empty")
            return None
        return value

    def choice(self, key: str, options: Collection[str], default: str) -> str:
        """One of `options`; `default` when absent or, with a fault noted, when it is another word."""
        value = self.items.get(key, default).strip()
        if value in options:
            return value
        hint = self.log.suggest(value, options)
        self.problem(f"unknown {key} {shown(value)}{hint} (known: {', '.join(options)})")
        return default

    def flag(self, key: str, default: bool) -> bool:
        """A truth value."""
        value = self.items.get(key, str(default)).strip().lower()
        if value not in _TRUE | _FALSE:
            self.problem(f"'{key}' must be true or false, found {shown(value)}")
        return value in _TRUE if value in _TRUE | _FALSE else default

    def numbers(
        self, key: str, counts: Collection[int], default: tuple[float, ...] = (), *, infinite: bool = False
    ) -> tuple[float, ...]:
        """As many numbers as one of `counts`; `default` when absent or, with a fault noted, broken."""
        if key not in self.items:
            return default
        words = self.items[key].split()
        if len(words) not in counts:
            wanted = " or ".join(map(str, counts))
            self.problem(f"'{key}' needs {wanted} numbers, found {len(words)} in {shown(self.items[key])}")
            return default
        values = [self._number(key, word, infinite) for word in words]
        return default if None in values else tuple(value for value in values if value is not None)

    def number(self, key: str, default: float = 0.0, *, infinite: bool = False) -> float:
        """One number."""
        return self.numbers(key, (1,), (default,), infinite=infinite)[0]

    def required(self, key: str) -> float:
        """One number that must be there; 0 with a fault noted."""
        if key not in self.items:
            self.problem(f"'{key}' is missing")
        return self.number(key)

    def vector(self, key: str, default: Vector3 = (0.0, 0.0, 0.0)) -> Vector3:
        """Three numbers."""
        x, y, z = self.numbers(key, (3,), default)
        return (x, y, z)

    def _number(self, key: str, word: str, infinite: bool) -> float | None:
        if NUMBER.fullmatch(word):
            value = float(word)
            if math.isfinite(value):
                return value
            self.problem(f"'{key}': {shown(word)} is too large for a double")
            return None
        match = _INFINITE.fullmatch(word)
        if match and infinite:
            return -math.inf if match[1] == "-" else math.inf
        self.problem(f"'{key}': {_advice(word)}")
        return None


def _advice(word: str) -> str:
    if _INFINITE.fullmatch(word) or word.lower() in ("nan", "-nan", "+nan"):
        return f"{shown(word)} is not a finite number"
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", word):
        return f"{shown(word)} has a comma; write the decimal point '.'"
    if "," in word:
        return f"{shown(word)}: separate numbers by spaces, not commas"
    if "${" in word or "$(" in word:
        return f"{shown(word)} is a xacro expression; expand the file first: xacro robot.urdf.xacro > robot.urdf"
    match = _WITH_UNIT.fullmatch(word)
    if match:
        factor = _SI.get(match[2])
        mend = "" if factor is None else f"; write {float(match[1]) * factor:.12g}"
        return f"{shown(word)} looks like a value with a unit; values are plain SI numbers (m, kg, s, N, rad){mend}"
    return f"expected a number, found {shown(word)}"
