"""Compiles the numbers of long units apart from their code, so that an edit of a number compiles no code again.

An edit of a record mostly changes literals and nothing else of a kernel's text.  A compiler loads such a literal from
memory in any case; here it loads it from a symbol that another, tiny unit defines:

    unit.c            const double a7 = (-0.15) * a3;     ->    code:      const double a7 = ROBOT_unit_5 * a3;
                                                                numbers:   ROBOT_unit_5 = -0.15

Every literal has a symbol of its own, so that the code does not depend on which numbers happen to be equal; symbols of
equal numbers are labels of one place, so that memory holds each number once, as it does with literals.  C cannot say
that, the assembler can.  Both texts belong to the object cache: the emitted files keep their literals.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from robocompiler.backend.c_operations import PLAIN_NUMBERS
from robocompiler.backend.cache import Unit
from robocompiler.backend.compiler import Toolchain
from robocompiler.backend.optimisation import STRAIGHT, optimised
from robocompiler.backend.side_task import in_two_processes
from robocompiler.backend.stage import APART

_OPERATION = 50  # bytes of text that cost as much here as printing an operation
_HIDDEN = 'visibility("hidden")'
_TYPES = {  # from wide to narrow
    "pair": f"double {{0}} __attribute__((vector_size(16), {_HIDDEN}))",
    "double": f"double {{0}} __attribute__(({_HIDDEN}))",
    "float": f"float {{0}} __attribute__(({_HIDDEN}))",
}
_TARGETS = ("x86_64-", "aarch64-")  # where loading a literal and loading a symbol are the same instruction
_NUMBER = r"(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)f?"
_SIGNED = rf"(?:\(-{_NUMBER}\)|{_NUMBER})"
_PARTS = re.compile(
    rf"""(?P<skipped> /\*.*?\*/                         # comments
      | ^[ ]*\#(?:[^\n]|(?<=\\)\n)*                     # directives, with their continuations
      | "(?:[^"\\\n]|\\.)*"                             # strings
      | static\ const\ [^;(]*=[^;]*; )                # tables, whose entries C wants constant
      | (?P<pair> both\({_SIGNED},\ {_SIGNED}\))      # a vector of two
      | (?P<number> \(-{_NUMBER}\) | (?<![\w.]){_NUMBER}(?![\w.]) )""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Apart:
    """units: those to compile; numbers: {name of a unit: name of the unit that defines its numbers}."""

    units: tuple[Unit, ...]
    numbers: Mapping[str, str]

    def __add__(self, other: Apart) -> Apart:
        """Both, in this order."""
        return Apart((*self.units, *other.units), {**self.numbers, **other.numbers})

    def staged(self, names: Container[str]) -> dict[str, str]:
        """{path: text} of the pairs among the units `names`, to be written before they are compiled."""
        return {
            unit.source.as_posix(): unit.text
            for unit in self.units
            if unit.name in names and unit.source.is_relative_to(APART)
        }


NOTHING = Apart((), {})


def units_to_compile(units: Iterable[Unit], prefix: str, toolchain: Toolchain) -> Apart:
    """The emitted `units` as they are compiled: the long ones apart, each with the flags that fit it."""
    apart = numbers_apart(units, prefix, toolchain)
    return replace(apart, units=optimised(apart.units, toolchain))


def numbers_apart(units: Iterable[Unit], prefix: str, toolchain: Toolchain) -> Apart:
    """`units` with the long ones as pairs of code and numbers, where `toolchain` makes objects that allow it.

    prefix: of the robot, for the symbols, which no library shows.
    """
    if not _fits(toolchain):
        return Apart(tuple(units), {})

    def halves(unit: Unit) -> tuple[Unit, ...]:
        """Code and numbers; the unit itself where it has none."""
        stem = f"{prefix}_{re.sub(r'[^A-Za-z0-9]', '_', unit.name)}"
        code, values = without_numbers(unit.text, stem)
        if not values:
            return (unit,)
        source, text = APART / f"{stem}_numbers.c", numbers_text(values, stem)
        numbers = Unit(f"{unit.name}_numbers", source, text, unit.provenance, machines=unit.machines)
        return replace(unit, source=APART / f"{stem}.c", text=code), numbers

    given = tuple(units)
    # flags: vectors, whose literals are whole vectors in memory
    long = [unit for unit in given if len(unit.text) > STRAIGHT and not unit.flags]
    divided = in_two_processes(halves, long, [len(unit.text) // _OPERATION for unit in long])
    apart = {unit.name: found for unit, found in zip(long, divided, strict=True)}
    return Apart(
        tuple(part for unit in given for part in apart.get(unit.name, (unit,))),
        {name: found[1].name for name, found in apart.items() if len(found) > 1},
    )


def _fits(toolchain: Toolchain) -> bool:
    """ELF objects of a known processor; no link-time optimisation, which would want to see the numbers, and some
    optimisation at all: without any, compiling two files takes longer than compiling one again."""
    elf = toolchain.target.startswith(_TARGETS) and "linux" in toolchain.target
    return elf and not any(flag == "-O0" or flag.startswith("-flto") for flag in toolchain.flags)


def without_numbers(text: str, stem: str) -> tuple[str, tuple[str, ...]]:
    """(text with symbols `stem`_0, .. for its literals, and their declarations; the literals in order).

    Tables, comments and directives keep theirs, and so do the numbers that belong to equations (0.5, 1.0, ...).
    """
    literals: list[str] = []

    def symbol(match: re.Match[str]) -> str:
        literal = match["pair"] or match["number"]
        # compilers make other code of plain numbers
        if literal is None or all(abs(value) in PLAIN_NUMBERS for value in _values(literal)):
            return match[0]
        literals.append(literal)
        return f"{stem}_{len(literals) - 1}"

    code = _PARTS.sub(symbol, text)
    if not literals:
        return text, ()
    declared = [f"extern const {_TYPES[_kind(literal)].format(f'{stem}_{k}')};\n" for k, literal in enumerate(literals)]
    return "".join(declared) + code, tuple(literals)


def numbers_text(literals: Iterable[str], stem: str) -> str:
    """The unit that defines the symbols `stem`_0, ..: labels of read-only data, equal numbers at one place."""
    places: dict[str, list[int]] = {}
    for k, literal in enumerate(literals):
        places.setdefault(literal, []).append(k)
    lines = [".section .rodata", ".balign 16"]
    # the wider ones first, so that all are aligned
    for literal, symbols in sorted(places.items(), key=lambda item: (list(_TYPES).index(_kind(item[0])), item[1])):
        for k in symbols:
            lines += [f".globl {stem}_{k}", f".hidden {stem}_{k}", f"{stem}_{k}:"]
        lines.append(_data(literal))
    body = "\n".join(f'    "{line}\\n"' for line in [*lines, ".text"])
    # C wants a declaration in every unit
    return f"__asm__(\n{body});\n\nextern const int {stem}_numbers;\n"


def _kind(literal: str) -> str:
    if literal.startswith("both"):
        return "pair"
    return "float" if literal.rstrip(")").endswith("f") else "double"


def _values(literal: str) -> list[float]:
    return [float(number.strip("()").removesuffix("f")) for number in literal.removeprefix("both").split(", ")]


def _data(literal: str) -> str:
    """The directive that holds the bits of a literal, in the byte order of the target."""
    values = _values(literal)
    if _kind(literal) == "float":
        return f".4byte {struct.unpack('<I', struct.pack('<f', values[0]))[0]:#010x}"
    return ".8byte " + ", ".join(f"{struct.unpack('<Q', struct.pack('<d', value))[0]:#018x}" for value in values)
