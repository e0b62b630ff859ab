"""Injective maps from the names of a mechanism file to C identifiers and macro names.

The encoding keeps ordinary names (`leg_0_length`) as they are.  A character that C does not allow becomes `_X` and its
two hexadecimal digits (`leg-1` is `leg_X2D1`); so does an underscore that would otherwise stand at an end, beside
another underscore, or before an `X`.  A name that would not start with a letter, or is a reserved word, or starts with
`X` gets an `X` in front.  `original_name` undoes all of it, which is the proof that no two names meet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from robocompiler.errors import CompileError

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_\-./ :]+")
_ESCAPE = re.compile(r"_X([0-9A-F]{2})")

_C_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    alignas alignof constexpr nullptr static_assert thread_local typeof typeof_unqual
    asm fortran near far huge interrupt
"""
_CPP_KEYWORDS = """
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept bitand bitor bool catch char8_t char16_t
    char32_t class co_await co_return co_yield compl concept consteval constexpr constinit const_cast contract_assert
    decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr operator
    or or_eq private protected public reflexpr reinterpret_cast requires static_assert static_cast synchronized template
    this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq
"""
# Names that are no keywords but that headers or compilers define as macros, types or functions.
_COMMON_NAMES = """
    main errno complex imaginary linux unix i386 NULL EOF I NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL DOMAIN SING
    OVERFLOW UNDERFLOW PLOSS TLOSS assert offsetof size_t ptrdiff_t float_t double_t signgam isnan isinf isfinite
    isnormal signbit fpclassify isgreater isless islessgreater isunordered
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p logb ilogb
    frexp ldexp modf pow sqrt cbrt hypot fabs abs ceil floor fmod remainder remquo round lround llround rint lrint
    llrint nearbyint trunc scalbn scalbln copysign nan nextafter nexttoward fdim fmax fmin fma erf erfc lgamma tgamma
    j0 j1 jn y0 y1 yn gamma drem significand sincos
"""

# Headers of C and of its libraries: a robot of that name would put its own `math.h` before the system's.
_HEADERS = """
    alloca complex ctype dirent errno features fenv float inttypes limits locale malloc math memory pthread regex sched
    setjmp signal stdalign stdarg stdatomic stdbool stdckdint stdint stddef stdio stdlib stdnoreturn string strings
    termios tgmath threads time uchar unistd values wchar wctype
"""

KEYWORDS = frozenset(_C_KEYWORDS.split()) | frozenset(_CPP_KEYWORDS.split())
RESERVED = KEYWORDS | frozenset(_COMMON_NAMES.split()) | frozenset(_HEADERS.split())


def is_c_identifier(text: str) -> bool:
    """Whether `text` may name something in both C and C++: no keyword, and not reserved by its underscores."""
    if _IDENTIFIER.fullmatch(text) is None or text in KEYWORDS:
        return False
    return "__" not in text and not text.startswith("_")


def c_identifier(name: str) -> str:
    """Return the C identifier of a mechanism name; different names give different identifiers.

    The result starts with a letter, ends with a letter or digit, has no two underscores in a row (reserved in C++) and
    is no keyword, no libm name and no system header; so it may be joined to other such words by underscores.
    CompileError if `name` is empty or has a character other than ASCII letters, digits and `_ - . / : space`.
    """
    if _NAME.fullmatch(name) is None:
        wrong = sorted({character for character in name if _NAME.fullmatch(character) is None})
        what = "is empty" if not name else f"has characters that cannot be mapped: {wrong}"
        raise CompileError(f"name {name!r} {what}; use letters, digits and _ - . / : space")
    encoded = "".join(_encode(character, name[k + 1 : k + 2]) for k, character in enumerate(name))
    if not encoded[0].isalpha() or encoded[0] == "X" or encoded in RESERVED:
        return "X" + encoded
    return encoded


def original_name(identifier: str) -> str:
    """Return the mechanism name whose `c_identifier` is `identifier`; CompileError if there is none."""
    encoded = identifier.removeprefix("X")
    name = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), encoded)
    if _NAME.fullmatch(name) is None or c_identifier(name) != identifier:
        raise CompileError(f"{identifier!r} is not the identifier of any name")
    return name


def macro(name: str) -> str:
    """Return the upper-case identifier of `name`; names that differ only in case share it (see `unique_macros`)."""
    return c_identifier(name).upper()


def unique_identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return {name: C identifier}, in the order of `names`; injective because `c_identifier` is."""
    return {name: c_identifier(name) for name in names}


def unique_macros(names: Iterable[str]) -> dict[str, str]:
    """Return {name: macro name}, in the order of `names`, injective over the set.

    Names that differ only in case are told apart by a number; which gets which depends on the set, not on its order.
    """
    ordered = list(dict.fromkeys(names))
    wanted = {name: macro(name) for name in ordered}
    taken: set[str] = set()
    chosen: dict[str, str] = {}
    for name in sorted(ordered):
        # A number is only added where no other name of the set wants the numbered word.
        candidate, count = wanted[name], 1
        while candidate in taken or (count > 1 and candidate in wanted.values()):
            count += 1
            candidate = f"{wanted[name]}_{count}"
        taken.add(candidate)
        chosen[name] = candidate
    return {name: chosen[name] for name in ordered}


def _encode(character: str, following: str) -> str:
    if character.isalnum():
        return character
    if character == "_" and following.isalnum() and following != "X":
        return character
    return f"_X{ord(character):02X}"
