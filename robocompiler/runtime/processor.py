"""Which instruction sets this machine's processor has, so that a library which needs others is refused unopened.

A native build may contain instructions that another processor does not know, and such a processor ends the process.
The manifest names what the build may contain (`backend/processor.py`), in the words that Linux uses in /proc/cpuinfo:
the kernel lists there what the processor has and the system has switched on.  Other systems have no such list; there
the compiler builds portably unless it is told otherwise.
"""

from __future__ import annotations

import functools
import platform
from pathlib import Path
from typing import Any

from robocompiler.errors import LoadError

CPUINFO = Path("/proc/cpuinfo")
_KEYS = ("flags", "Features")  # x86 and ARM


def instruction_sets(path: Path | None = None) -> frozenset[str] | None:
    """What every core of this machine has; None where the system does not tell.  `path` stands for /proc/cpuinfo."""
    return _read(CPUINFO if path is None else path)


@functools.cache
def _read(path: Path) -> frozenset[str] | None:
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return None
    lines = [line.partition(":") for line in text.splitlines()]
    cores = [frozenset(words.split()) for key, _, words in lines if key.strip() in _KEYS]
    return frozenset.intersection(*cores) if cores else None


def refuse_foreign(library: Path, build: dict[str, Any]) -> None:
    """LoadError if the processor lacks an instruction set that `build`, the manifest's entry, says is used.

    Under Linux also if the processor's sets cannot be read; other systems have no list, and no native builds.
    """
    wanted = build.get("instructions", [])
    if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
        raise LoadError(f"{library}: the manifest's instruction sets are no list of names; compile the model again")
    found = instruction_sets()
    if found is None:
        if wanted and platform.system() == "Linux":
            raise LoadError(
                f"{library}: it uses {', '.join(wanted)}, and {CPUINFO} does not tell whether this processor has them; "
                "compile the model again with --portable (portable=True)"
            )
        return
    missing = [name for name in wanted if name not in found]
    if missing:
        raise LoadError(
            f"{library}: compiled for another processor: it uses {', '.join(missing)}, which this one does not have; "
            "compile the model again on this machine, or with --portable (portable=True) for libraries that are carried"
        )
