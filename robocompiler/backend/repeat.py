"""Recognises a compile that would change nothing, so that it costs a reading of the model and of the outputs.

After a build its record goes beside the object cache: a key of everything that the outputs depend on (records, options,
compiler, this program's own source) and the digest of every output.  When the key is the same and every output is
there with its bytes, the build stands.  Otherwise everything is emitted again and compared as usual.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.cache import CACHE_FOLDER, compiler_record
from robocompiler.backend.identifiers import c_identifier
from robocompiler.backend.options import BuildOptions, BuildReport
from robocompiler.backend.toolchain import toolchain_for
from robocompiler.records.model import Mechanism
from robocompiler.resources import templates_folder
from robocompiler.version import VERSION

_RECORD = "repeat.json"
_LIBRARIES = ("casadi", "numpy", "scipy", "networkx", "jinja2")  # whose numbers or text reach the outputs


def repeat_key(
    mechanism: Mechanism,
    independent: Sequence[str],
    supports: str | Sequence[str],
    options: BuildOptions,
    charts: int = 0,
) -> str:
    """Digest of all that the outputs depend on.  CompileError when there is no working compiler."""
    toolchain = toolchain_for(options)
    parts = {
        "records": _digest(repr(mechanism).encode()),
        "independent": list(independent),
        "supports": [supports] if isinstance(supports, str) else list(supports),
        "charts": charts,
        "real": options.real,
        "batch": options.batch,
        "derivatives": options.derivatives,
        "resolution": options.resolution,
        "compiler": compiler_record(toolchain).to_json(),
        "generator": [VERSION, own_digest(), [version(name) for name in _LIBRARIES]],
    }
    return _digest(json.dumps(parts, sort_keys=True).encode())


def standing_build(mechanism: Mechanism, output: Path, key: str) -> BuildReport | None:
    """The build of `mechanism` in `output` if it was made with `key` and all its outputs are untouched."""
    folder = output / c_identifier(mechanism.name)
    try:
        record = json.loads((folder / CACHE_FOLDER / _RECORD).read_text())
        return _report(folder, record["build"]) if record["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # no record, or one that cannot be read: build as usual


def record_build(report: BuildReport, key: str) -> None:
    """Remember a finished build under `key`."""
    path = report.folder / CACHE_FOLDER / _RECORD
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"key": key, "build": _record(report)}, indent=1, sort_keys=True) + "\n"
    write_atomically(path, text.encode())


def _record(report: BuildReport) -> dict[str, Any]:
    return {
        "prefix": report.prefix,
        "digest": report.digest,
        "units": list(report.reasons),
        "files": {name: _digest((report.folder / name).read_bytes()) for name in report.files},
        "supports": {
            name: {"folder": mode.folder.relative_to(report.folder).as_posix(), "build": _record(mode)}
            for name, mode in report.supports.items()
        },
    }


def _report(folder: Path, record: Mapping[str, Any]) -> BuildReport | None:
    files: dict[str, str] = record["files"]
    if any(_digest((folder / name).read_bytes()) != digest for name, digest in files.items()):
        return None
    supports = {}
    for name, mode in record["supports"].items():
        own = _report(folder / mode["folder"], mode["build"])
        if own is None:
            return None
        supports[name] = own
    reasons = dict.fromkeys(record["units"], "unchanged")
    return BuildReport(folder, record["prefix"], (), reasons, tuple(files), {}, record["digest"], supports)


@functools.cache
def own_digest() -> str:
    """Digest of this package's source and templates: while they are being changed, the version number stays."""
    package = Path(__file__).resolve().parent.parent
    files = [*sorted(package.rglob("*.py")), *sorted(templates_folder().glob("*.j2"))]
    return _digest(b"".join(_digest(path.read_bytes()).encode() for path in files))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
