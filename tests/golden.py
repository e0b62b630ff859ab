"""The checked-in output of models/fourbar.yaml: how it is made, compared and written again.

`make golden` (python tests/golden.py) writes generated/fourbar/ from what the compiler emits now.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from robocompiler.backend.options import BuildOptions
from robocompiler.compiler import compile_to_folder

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "generated" / "fourbar"
MODEL = ROOT / "models" / "fourbar.yaml"

# Numbers that a factorisation or a sine computed at compile time may differ in the last digits from one processor's
# numerical library to the next.  They occur in these two files only; all others must agree byte for byte.
ROUNDED = frozenset({"selftest.c", "fourbar.manifest.json"})
ROUNDING = 1e-12
NUMBER = re.compile(r"(?<![\w.])[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?")


def emit(model: Path, output: Path) -> dict[str, bytes]:
    """Emit `model` without compiling; every file by name, the writer's own bookkeeping left out."""
    _, report = compile_to_folder(model, output, options=BuildOptions(emit_only=True))
    return files_of(report.folder)


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below `folder` but dot files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def differences(golden: dict[str, bytes], now: dict[str, bytes]) -> list[str]:
    """What differs, one line a file; empty when nothing but rounding does."""
    found = [f"{name}: no longer emitted" for name in sorted(set(golden) - set(now))]
    found += [f"{name}: new" for name in sorted(set(now) - set(golden))]
    for name in sorted(set(golden) & set(now)):
        if golden[name] != now[name] and not (name in ROUNDED and same_but_rounding(name, golden[name], now[name])):
            found.append(f"{name}: {first_difference(golden[name].decode(), now[name].decode())}")
    return found


def same_but_rounding(name: str, a: bytes, b: bytes) -> bool:
    """Whether two texts are the same up to the last digits of their decimal numbers."""
    if name.endswith(".json"):
        return _same_values(json.loads(a), json.loads(b))
    texts = a.decode(), b.decode()
    if NUMBER.sub("#", texts[0]) != NUMBER.sub("#", texts[1]):
        return False
    numbers = [[float(text) for text in NUMBER.findall(whole)] for whole in texts]
    return all(_close(x, y) for x, y in zip(*numbers, strict=True))


def _same_values(a: Any, b: Any, key: str = "") -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same_values(a[k], b[k], k) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same_values(x, y, key) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        # the gap is a number over rounding noise: only that it is a gap can be compared
        return min(a, b) > 1e9 if key == "gap" else _close(a, b)
    return type(a) is type(b) and bool(a == b)


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= ROUNDING * max(1.0, abs(a), abs(b))


def first_difference(a: str, b: str) -> str:
    """The first line in which two texts differ."""
    lines = a.splitlines(), b.splitlines()
    for number, (x, y) in enumerate(zip(*lines, strict=False), start=1):
        if x != y:
            return f"line {number} was {x.strip()!r}, is {y.strip()!r}"
    return f"had {len(lines[0])} lines, has {len(lines[1])}"


def update() -> list[str]:
    """Write generated/fourbar/ again where more than rounding changed; return what was different."""
    with tempfile.TemporaryDirectory() as folder:
        now = emit(MODEL, Path(folder))
    golden = files_of(GOLDEN) if GOLDEN.is_dir() else {}
    found = differences(golden, now)
    if found:
        GOLDEN.mkdir(parents=True, exist_ok=True)
        for name in set(golden) - set(now):
            (GOLDEN / name).unlink()
        for name, content in now.items():
            (GOLDEN / name).write_bytes(content)
    return found


if __name__ == "__main__":
    print("\n".join(update()) or "generated/fourbar is up to date")
