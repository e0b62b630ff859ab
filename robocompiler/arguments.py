"""Checks of the arguments that users give: each returns the value in the wanted type or raises an ArgumentError.

Messages say which argument it is, what it must be, what it was, and the mend where that is not plain.  Imports nothing
but the errors, so that every part may use it.
"""

from __future__ import annotations

import difflib
import math
import operator
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar

from robocompiler.errors import ArgumentError

Made = TypeVar("Made")

_LISTED = 8  # known names told where none is near the unknown one; longer lists help nobody
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def shown(value: object) -> str:
    """A value as short text: arrays by type and shape, others by type and what they print, cut to some 60 signs."""
    kind, shape = type(value).__name__, getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape != ():
        return f"{kind} of shape {shape}"
    if value is None or isinstance(value, bool | int | float):
        return (
            repr(value) if not isinstance(value, int) or abs(value) < 10**18 else f"{kind} of {_digits(value)} digits"
        )
    return f"{kind} {_SHORT.repr(value)}"


def refused(argument: str, expected: str, got: object, mend: str = "") -> ArgumentError:
    """The error to raise: `argument` must be `expected`, got `got`; `mend`."""
    text = shown(got)
    tail = f"; {mend}" if mend else ""
    return ArgumentError(
        f"{argument} must be {expected}, got {text}{tail}", argument=argument, expected=expected, got=text
    )


def number(
    value: object,
    name: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    unit: str = "",
    mend: str = "",
) -> float:
    """A finite number, at least `least`, above `above` and at most `most`; unit: of what, such as 'seconds'."""
    found = _real(value)
    if found is None or not math.isfinite(found) or not (least <= found <= most and found > above):
        raise refused(name, _wanted_number(least, above, most, unit), value, mend)
    return found


def integer(value: object, name: str, least: int, most: int, mend: str = "") -> int:
    """A whole number from `least` to `most`; a float is none, whatever its value."""
    found = whole(value)
    if found is None or not least <= found <= most:
        raise refused(name, f"a whole number from {least} to {most}", value, mend)
    return found


def whole(value: object) -> int | None:
    """The value as an int, None for what is no single whole number: a float, a truth value, an array."""
    if isinstance(value, bool) or getattr(value, "shape", ()) != () or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # a numpy array that holds a single float
        return None


def flag(value: object, name: str) -> bool:
    """True or False (of numpy too), no other value that merely counts as one of them."""
    if not (isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")):
        raise refused(name, "True or False", value)
    return bool(value)


def unknown(kind: str, name: object, known: Iterable[object]) -> ArgumentError:
    """The error for a name that is not there, with the nearest ones that are."""
    if not isinstance(name, str):
        return refused(f"the name of a {kind}", "text", name)
    names = [text for text in known if isinstance(text, str)]
    close = difflib.get_close_matches(name, names, 3)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
    if not close and len(names) <= _LISTED:
        hint = f"; there are {', '.join(names) or 'none'}"
    return ArgumentError(f"no {kind} is called {name!r}{hint}", argument=kind, expected="a known name", got=repr(name))


def named(kind: str, name: object, known: Iterable[str]) -> str:
    """A name that is among the `known` ones of a kind, such as 'frame'."""
    if not isinstance(name, str) or name not in known:
        raise unknown(kind, name, known)
    return name


def one_of(value: object, words: Iterable[str], name: str) -> str:
    """One of a few words."""
    listed = tuple(words)
    if not isinstance(value, str) or value not in listed:
        raise refused(name, " or ".join(repr(word) for word in listed), value)
    return value


def mapping(value: object, name: str, expected: str) -> Mapping[str, Any]:
    """A mapping whose keys are texts; expected: in words, such as '{frame: wrench}'."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise refused(name, f"a mapping {expected}", value)
    return value


def several(value: object, name: str, expected: str, mend: str = "") -> tuple[Any, ...]:
    """The entries of a list, tuple or other collection; a text or a mapping is none, nor is a single entry."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable) or _flat(value):
        raise refused(name, f"a list of {expected}", value, mend)
    return tuple(value)


def texts(value: object, name: str, expected: str = "names") -> tuple[str, ...]:
    """The entries of a list of texts."""
    found = several(value, name, expected, "write [name] for a single one" if isinstance(value, str) else "")
    for entry in found:
        if not isinstance(entry, str):
            raise refused(f"every entry of {name}", "text", entry)
    return found


def function(value: object, name: str, signature: str) -> Callable[..., Any]:
    """Something that can be called; signature: in words, such as 'value(t, q, u)'."""
    if not callable(value):
        raise refused(name, f"a function {signature}", value)
    return value


def instance(
    value: object, types: type[Made] | tuple[type[Made], ...], name: str, expected: str, mend: str = ""
) -> Made:
    """An object of one of the types; expected: in words."""
    if not isinstance(value, types):
        raise refused(name, expected, value, mend)
    return value


def path(value: object, name: str) -> Path:
    """The path of a file or folder."""
    if value != "" and (
        isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str))
    ):
        return Path(value)
    raise refused(name, "a path, as text (not empty) or pathlib.Path", value)


def duck(value: object, methods: Iterable[str], name: str, expected: str) -> Any:
    """An object (no class) with these methods, for what users may write themselves."""
    if isinstance(value, type) or not all(callable(getattr(value, method, None)) for method in methods):
        mend = f"write {value.__name__}(...)" if isinstance(value, type) else ""
        raise refused(name, expected, value, mend)
    return value


def from_options(make: type[Made], options: Mapping[str, Any], call: str) -> Made:
    """make(**options) of a dataclass; an option that it does not have is refused with the nearest one that it has."""
    known = [entry.name for entry in fields(make)]  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            raise unknown(f"option of {call}", name, known)
    return make(**options)


def _flat(value: object) -> bool:
    """A numpy array without entries to go through."""
    return getattr(value, "shape", None) == ()


def _real(value: object) -> float | None:
    """The value as a float, None for what is no single real number: text, truth values, arrays, complex numbers."""
    if isinstance(value, str | bytes | bool | complex) or getattr(value, "shape", ()) not in ((), (1, 1)):
        return None
    if type(value).__name__ == "bool" or not hasattr(type(value), "__float__"):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None


def _wanted_number(least: float, above: float, most: float, unit: str) -> str:
    of = f" of {unit}" if unit else ""
    if above == 0.0 and most == math.inf:
        return f"a positive number{of}"
    bounds = [f"at least {least:g}"] if least > -math.inf else []
    bounds += [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"at most {most:g}"] if most < math.inf else []
    return f"a finite number{of}" + (f" ({', '.join(bounds)})" if bounds else "")


def _digits(value: int) -> int:
    return int(value.bit_length() * math.log10(2)) + 1
