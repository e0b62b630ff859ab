"""C literals for tables, and the words that differ between double and float code."""

from __future__ import annotations

from collections.abc import Sequence

from robocompiler.backend.c_operations import CReal
from robocompiler.backend.options import Real


def literals(values: Sequence[float], real: Real) -> list[str]:
    """Exact C literals of a table."""
    printer = CReal(real)
    return [printer.literal(float(value)).text for value in values]


def real_words(real: Real) -> dict[str, str]:
    """Type, constants and libm names that the templates use."""
    s = "f" if real == "float" else ""
    words = {name: name + s for name in ("fabs", "fmax", "sqrt", "sin", "cos")}
    words |= {
        "zero": f"0.0{s}",
        "half": f"0.5{s}",
        "one": f"1.0{s}",
        "two": f"2.0{s}",
        "tiny": f"1e-{4 if s else 8}{s}",
    }
    digits = 5 if s else 11
    words |= {"real": real, "huge": f"1e30{s}", "pivot": f"1e-{digits}{s}", "pivot_digits": str(digits)}
    return words
