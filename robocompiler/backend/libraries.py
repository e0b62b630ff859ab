"""Links a robot's libraries, and publishes them so that what a manifest names is always whole.

`lib<prefix>.so` and one library per module are for C programs.  The Python runtime opens `lib<prefix>-<digest>.so`,
which holds the same bytes under a name that only these bytes have: an old manifest keeps finding its old library while
a build is under way or was killed, and a process that has the old one open gets the new one and not, by its name, the
old one again (the dynamic linker tells libraries apart by path).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.cache import CACHE_FOLDER
from robocompiler.backend.toolchain import Toolchain, link_shared
from robocompiler.errors import CompileError

_STAMP = "linked.json"  # what every library was linked from, and the digest of its bytes


@dataclass(frozen=True)
class Libraries:
    """names: the libraries for C programs; versioned: the one that the manifest names; digest: SHA-256 of its bytes."""

    names: tuple[str, ...]
    versioned: str
    digest: str


def link_libraries(folder: Path, prefix: str, wanted: Mapping[str, Sequence[Path]], toolchain: Toolchain) -> Libraries:
    """Link those of `wanted` ({library name: objects}) that are missing, damaged or made of other objects.

    All are linked in the cache first and appear together.  The versioned library stays beside its predecessor until
    `remove_old` is called.  CompileError if linking or publishing fails; then the predecessor is still there.
    """
    stage = folder / CACHE_FOLDER / "linked"
    stamp = folder / CACHE_FOLDER / _STAMP
    known = _read_stamp(stamp)
    objects = {name: [path.name for path in paths] for name, paths in wanted.items()}
    fresh = {name: known[name] for name in wanted if known.get(name, ("", []))[1] == objects[name]}
    fresh = {name: record for name, record in fresh.items() if _digest(folder / name) == record[0]}
    stale = [name for name in wanted if name not in fresh]
    for name in stale:
        link_shared(wanted[name], stage / name, toolchain)
    main = f"lib{prefix}.so"
    digests = {name: fresh[name][0] if name in fresh else _digest(stage / name) for name in wanted}
    versioned = f"lib{prefix}-{digests[main][:16]}.so"
    try:
        if _digest(folder / versioned) != digests[main]:
            _publish_copy((stage if main in stale else folder) / main, folder / versioned)
        for name in stale:
            (stage / name).replace(folder / name)
        for name in set(known) - set(wanted):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise CompileError(f"cannot put the libraries into {folder}: {error.strerror}") from None
    records = {name: [digests[name], objects[name]] for name in sorted(wanted)}
    text = json.dumps(records, indent=1) + "\n"
    if stale or set(known) != set(wanted):
        write_atomically(stamp, text.encode())
    return Libraries(tuple(sorted(wanted)), versioned, digests[main])


def remove_old(folder: Path, prefix: str, keep: Sequence[str]) -> None:
    """Remove versioned libraries that are not in `keep`: call it when the new manifest is in place."""
    pattern = re.compile(rf"lib{re.escape(prefix)}-[0-9a-f]{{16}}\.so")
    for path in folder.glob(f"lib{prefix}-*.so"):
        if pattern.fullmatch(path.name) and path.name not in keep:
            with contextlib.suppress(OSError):  # a left-over costs space and nothing else
                path.unlink()


def _publish_copy(source: Path, target: Path) -> None:
    """`target` with the bytes of `source`, in one step; a hard link costs no space where the file system has them."""
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    try:
        partial.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, partial)
    partial.replace(target)
    partial.unlink(missing_ok=True)  # renaming one hard link onto another of the same file leaves both


def _digest(path: Path) -> str:
    """SHA-256 of a file, '' if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _read_stamp(path: Path) -> dict[str, tuple[str, list[str]]]:
    """{library: (digest, object names)}; empty if missing or damaged, so that everything is linked again."""
    try:
        data = json.loads(path.read_text())
        return {str(name): (str(digest), [str(o) for o in objects]) for name, (digest, objects) in data.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
