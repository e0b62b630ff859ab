"""Reading a manifest and refusing whatever does not fit this runtime."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robocompiler.arguments import path as file_path
from robocompiler.errors import LoadError
from robocompiler.version import ABI

FORMAT = 1
# What the runtime reads, with the JSON type of each.  Sizes of arrays follow from these lists, so a manifest that is
# not exactly what the compiler wrote must never reach the library: see `checksum`.
_NEEDED: dict[str, type | tuple[type, ...]] = {
    "robot": str,
    "prefix": str,
    "real": str,
    "digest": str,
    "cdef": str,
    "build": dict,
    "coordinates": list,
    "velocities": list,
    "joints": list,
    "parameters": list,
    "closures": list,
    "charts": dict,
    "frames": list,
    "ports": list,
    "drives": list,
    "supports": list,
    "reference": list,
    "rank": dict,
    "speed_limits": list,
    "row_scales": list,
    "active": list,
    "condensed_pattern": dict,
    "augmented_pattern": dict,
    "length": (int, float),
    "floor": (int, float),
    "refused_rotation": (int, float),
}


def checksum(data: Mapping[str, Any]) -> str:
    """SHA-256 of a manifest's content, its own "checksum" left out; the same for every layout of the same JSON."""
    content = {key: value for key, value in data.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def find_manifest(path: str | Path) -> Path:
    """The manifest of a compiled robot: `path` itself, or the only *.manifest.json in that folder."""
    path = file_path(path, "the path of a compiled robot")
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
    """The manifest's content.  LoadError when it is damaged, changed, incomplete or made for another version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
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
    wrong = [key for key, kind in _NEEDED.items() if not isinstance(data[key], kind)]
    if wrong or data["real"] not in ("double", "float"):
        raise LoadError(
            f"{path}: entries of the wrong type or value: {', '.join(wrong) or 'real'}; compile the model again"
        )
    if not data["build"].get("compiled"):
        raise LoadError(f"{path}: only text was emitted (--emit-only); compile without it to load the robot")
    if data.get("checksum") != checksum(data):
        raise LoadError(f"{path}: the manifest was changed since it was compiled; compile the model again")
    return data
