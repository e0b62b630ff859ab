"""Says in one line why a unit is compiled again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from robocompiler.backend.cache_record import CacheRecord, CompilerRecord, UnitRecord

_SHOWN = 3  # changed records that are named before "and n more"


def reason(record: CacheRecord, name: str, current: UnitRecord, warning: str) -> str:
    """Why unit `name`, now described by `current`, has no object to reuse; `warning` is that of a damaged record."""
    previous = record.units.get(name)
    if previous is None:
        if warning:
            return f"first build ({warning})"
        return "new file" if record.units else "first build"
    if previous.key == current.key:
        return "object missing or damaged"
    parts = [
        *_compiler_changes(previous.compiler, current.compiler),
        *_text_changes(previous, current),
        *_header_changes(previous.headers, current.headers),
    ]
    return "; ".join(parts) or "source path changed"


def _compiler_changes(before: CompilerRecord, now: CompilerRecord) -> list[str]:
    parts = []
    if before.version != now.version:
        parts.append(f"compiler changed ({before.version} -> {now.version})")
    elif before.command != now.command:
        parts.append(f"compiler command changed ({shlex.join(before.command)} -> {shlex.join(now.command)})")
    elif before.fingerprint != now.fingerprint:
        parts.append(f"compiler changed (another executable, still {now.version})")
    if before.target != now.target:
        parts.append(f"target changed ({before.target} -> {now.target})")
    if before.flags != now.flags:
        parts.append(f"flags changed ({_list_changes(before.flags, now.flags)})")
    elif not parts and before.processor != now.processor:
        parts.append("another processor (the flags mean other instructions or another tuning here)")
    return parts


def _list_changes(before: Sequence[str], now: Sequence[str]) -> str:
    gone = [f"without {flag}" for flag in before if flag not in now]
    added = [f"with {flag}" for flag in now if flag not in before]
    return _shorten([*added, *gone]) or "in another order"


def _text_changes(before: UnitRecord, now: UnitRecord) -> list[str]:
    if before.text == now.text:
        return []
    changes = _mapping_changes(before.provenance, now.provenance)
    parts = [_shorten(changes)] if changes else []
    if before.generator != now.generator:
        parts.append(f"generated text changed (RoboCompiler {before.generator} -> {now.generator})")
    return parts or ["generated text changed"]


def _header_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changes = _mapping_changes(before, now)
    return [f"headers: {_shorten(changes)}"] if changes else []


def _mapping_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changed = [f"{name} changed" for name in sorted(now) if name in before and before[name] != now[name]]
    added = [f"{name} added" for name in sorted(now) if name not in before]
    gone = [f"{name} removed" for name in sorted(before) if name not in now]
    return [*changed, *added, *gone]


def _shorten(parts: Sequence[str]) -> str:
    more = len(parts) - _SHOWN
    shown = list(parts[:_SHOWN])
    return ", ".join(shown + ([f"and {more} more"] if more > 0 else []))
