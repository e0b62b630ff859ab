"""Undefined symbols of ELF objects and libraries, read without external tools.

Generated code may call nothing but libm.  The test of that is an allow-list: what an object leaves undefined must be a
libm function of its precision, or something that compilers emit or linkers provide by themselves.
"""

from __future__ import annotations

import struct
from pathlib import Path

from robocompiler.backend.c_operations import LIBM_FUNCTIONS
from robocompiler.backend.options import Real
from robocompiler.errors import CompileError

_SYMTAB, _DYNSYM = 2, 11  # section types SHT_SYMTAB, SHT_DYNSYM
_UNDEFINED = 0  # section index SHN_UNDEF

# Compilers turn loops and assignments of arrays into these, also in freestanding code.
_FROM_COMPILERS = frozenset({"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"})
# Start-up files put these into every shared library.
_FROM_LINKERS = frozenset(
    {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__", "__cxa_finalize"}
)
_FROM_COMPILERS_ON_ARM = frozenset(
    {f"__aeabi_{name}" for name in ("memcpy", "memcpy4", "memcpy8", "memclr", "memclr4", "memclr8", "memset")}
    | {"__aeabi_unwind_cpp_pr0", "__aeabi_unwind_cpp_pr1"}
)
# Arithmetic of processors without a floating-point unit.  Conversions between the precisions are left out on purpose.
_SOFT_FLOAT = frozenset(
    {f"__aeabi_f{name}" for name in ("add", "sub", "rsub", "mul", "div")}
    | {f"__aeabi_fcmp{name}" for name in ("eq", "lt", "le", "ge", "gt", "un")}
    | {f"__{name}sf3" for name in ("add", "sub", "mul", "div")}
    | {f"__{name}sf2" for name in ("eq", "ne", "lt", "le", "gt", "ge", "unord", "neg")}
    | {"__aeabi_i2f", "__floatsisf"}
)
_SOFT_DOUBLE = frozenset(
    {name.replace("__aeabi_f", "__aeabi_d").replace("i2f", "i2d").replace("sf", "df") for name in _SOFT_FLOAT}
)
# gcc joins a sine and a cosine of one argument.
_JOINED = frozenset({"sincos"})


def undefined_symbols(path: Path) -> set[str]:
    """Names that the ELF object or shared library at `path` uses but does not define.

    Reads 32- and 64-bit files of either byte order.  CompileError if the file is no ELF file or is damaged.
    """
    data = path.read_bytes()
    try:
        return _undefined(data)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise CompileError(f"{path}: not a readable ELF file: {error}") from None


def is_allowed(symbol: str, real: Real = "double") -> bool:
    """Whether code of precision `real` may leave `symbol` undefined; `sin` in single-precision code may not."""
    if symbol in _FROM_COMPILERS or symbol in _FROM_LINKERS or symbol in _FROM_COMPILERS_ON_ARM:
        return True
    if symbol in (_SOFT_DOUBLE if real == "double" else _SOFT_FLOAT):
        return True
    functions = LIBM_FUNCTIONS | _JOINED
    if real == "double":
        return symbol in functions
    return symbol.endswith("f") and symbol[:-1] in functions


def forbidden_symbols(path: Path, real: Real = "double") -> set[str]:
    """The undefined symbols of `path` that `is_allowed` refuses."""
    return {symbol for symbol in undefined_symbols(path) if not is_allowed(symbol, real)}


def _undefined(data: bytes) -> set[str]:
    if data[:4] != b"\x7fELF":
        raise ValueError("wrong magic number")
    wide = {1: False, 2: True}.get(data[4])
    order = {1: "<", 2: ">"}.get(data[5])
    if wide is None or order is None:
        raise ValueError("unknown class or byte order")
    sections = _sections(data, wide, order)
    names: set[str] = set()
    for kind, offset, size, link, entry in sections:
        if kind not in (_SYMTAB, _DYNSYM):
            continue
        if entry == 0 or offset + size > len(data):
            raise ValueError("symbol table runs past the end of the file")
        strings = sections[link]
        for position in range(offset, offset + size, entry):
            name, index = _symbol(data, position, wide, order)
            if index == _UNDEFINED and name:
                names.add(_string(data, strings[1] + name))
    return names


def _sections(data: bytes, wide: bool, order: str) -> list[tuple[int, int, int, int, int]]:
    """(type, offset, size, link, entry size) of every section."""
    if wide:
        (table,) = struct.unpack_from(order + "Q", data, 0x28)
        size, count = struct.unpack_from(order + "HH", data, 0x3A)
        header = order + "IIQQQQIIQQ"
    else:
        (table,) = struct.unpack_from(order + "I", data, 0x20)
        size, count = struct.unpack_from(order + "HH", data, 0x2E)
        header = order + "IIIIIIIIII"
    sections = []
    for k in range(count):
        fields = struct.unpack_from(header, data, table + k * size)
        sections.append((fields[1], fields[4], fields[5], fields[6], fields[9]))
    return sections


def _symbol(data: bytes, position: int, wide: bool, order: str) -> tuple[int, int]:
    """(offset of the name, section index) of the symbol at `position`."""
    if wide:
        name, _info, _other, index = struct.unpack_from(order + "IBBH", data, position)
    else:
        name, _value, _size, _info, _other, index = struct.unpack_from(order + "IIIBBH", data, position)
    return name, index


def _string(data: bytes, start: int) -> str:
    # A linked library's full table writes the version into the name: `sin@GLIBC_2.2.5`.
    return data[start : data.index(b"\0", start)].decode("ascii", "replace").partition("@")[0]
