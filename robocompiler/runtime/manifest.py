"""Reading a manifest and refusing whatever does not fit this runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from robocompiler.errors import LoadError
from robocompiler.version import ABI

FORMAT = 1
_NEEDED = (
    "robot", "prefix", "real", "digest", "cdef", "build", "coordinates", "velocities", "joints", "closures", "charts",
    "frames", "ports", "reference", "rank", "row_scales", "active", "condensed_pattern", "augmented_pattern", "length",
)  # fmt: skip


def find_manifest(path: str | Path) -> Path:
    """The manifest of a compiled robot: `path` itself, or the only *.manifest.json in that folder."""
    path = Path(path)
    if path.is_file():
        return path
    if not path.is_dir():
        raise LoadError(f"{path}: no such folder or manifest; compile the model first (robocompile MODEL -o FOLDER)")
    found = sorted(path.glob("*.manifest.json"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise LoadError(f"{path}: no *.manifest.json in this folder; is it the robot's own folder (build/NAME)?")
    raise LoadError(f"{path}: several manifests ({', '.join(f.name for f in found)}); name one of them")


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest's content.  LoadError when it is damaged, incomplete or made for another version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise LoadError(f"{path}: not a readable manifest ({error}); compile the model again") from None
    if not isinstance(data, dict):
        raise LoadError(f"{path}: not a manifest; compile the model again")
    if data.get("format") != FORMAT or data.get("abi") != ABI:
        raise LoadError(
            f"{path}: made with manifest format {data.get('format')} and ABI {data.get('abi')}, this runtime needs "
            f"{FORMAT} and {ABI}; compile the model again"
        )
    missing = [key for key in _NEEDED if key not in data]
    if missing:
        raise LoadError(f"{path}: incomplete manifest (no {', '.join(missing)}); compile the model again")
    if not data["build"].get("compiled"):
        raise LoadError(f"{path}: only text was emitted (--emit-only); compile without it to load the robot")
    return data
