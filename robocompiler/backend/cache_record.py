"""What the object cache remembers between builds, and its JSON form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_FORMAT = 2


@dataclass(frozen=True)
class CompilerRecord:
    """The compiler as it counts for the cache; processor: digest of what its flags come to on this machine."""

    command: tuple[str, ...]
    version: str
    target: str
    flags: tuple[str, ...]
    fingerprint: str
    processor: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json`."""
        return {
            "command": list(self.command),
            "version": self.version,
            "target": self.target,
            "flags": list(self.flags),
            "fingerprint": self.fingerprint,
            "processor": self.processor,
        }


@dataclass(frozen=True)
class UnitRecord:
    """One unit at its last successful compile: digests of its text and headers, provenance, compiler, generator."""

    key: str
    text: str
    headers: Mapping[str, str]
    provenance: Mapping[str, str]
    compiler: CompilerRecord
    generator: str

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json`."""
        return {
            "key": self.key,
            "text": self.text,
            "headers": dict(self.headers),
            "provenance": dict(self.provenance),
            "compiler": self.compiler.to_json(),
            "generator": self.generator,
        }


@dataclass(frozen=True)
class ObjectRecord:
    """One object file: digest and size (bytes) of its content, and the number of the build that last used it."""

    digest: str
    size: int
    last_used: int

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json`."""
        return {"digest": self.digest, "size": self.size, "last_used": self.last_used}


@dataclass(frozen=True)
class CacheRecord:
    """The whole memory: number of the last build, units by name, objects by file name."""

    build: int = 0
    units: Mapping[str, UnitRecord] = field(default_factory=dict)
    objects: Mapping[str, ObjectRecord] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json`."""
        return {
            "format": _FORMAT,
            "build": self.build,
            "units": {name: unit.to_json() for name, unit in self.units.items()},
            "objects": {name: known.to_json() for name, known in self.objects.items()},
        }


def read_record(path: Path) -> tuple[CacheRecord, str]:
    """Return (record, warning).  A missing file is an empty record; so is a damaged one, and the warning says so."""
    try:
        data = json.loads(path.read_text())
        return _record(data), ""
    except FileNotFoundError:
        return CacheRecord(), ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # Whatever is wrong with the file, the answer is the same: everything is compiled again.
        return CacheRecord(), f"cache record unreadable ({type(error).__name__})"


def _record(data: Any) -> CacheRecord:
    if data["format"] != _FORMAT:
        raise ValueError("another format")
    return CacheRecord(
        _whole(data["build"]),
        {_text(name): _unit(value) for name, value in data["units"].items()},
        {
            _text(name): ObjectRecord(_text(v["digest"]), _whole(v["size"]), _whole(v["last_used"]))
            for name, v in data["objects"].items()
        },
    )


def _unit(data: Any) -> UnitRecord:
    compiler = data["compiler"]
    return UnitRecord(
        _text(data["key"]),
        _text(data["text"]),
        _texts(data["headers"]),
        _texts(data["provenance"]),
        CompilerRecord(
            tuple(_text(word) for word in compiler["command"]),
            _text(compiler["version"]),
            _text(compiler["target"]),
            tuple(_text(word) for word in compiler["flags"]),
            _text(compiler["fingerprint"]),
            _text(compiler["processor"]),
        ),
        _text(data["generator"]),
    )


def _texts(data: Any) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in data.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("whole number expected")
    return value
