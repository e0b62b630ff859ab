"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np

from robocompiler.backend.toolchain import Toolchain
from robocompiler.version import VERSION


def load() -> float:
    """The one-minute load average; nan where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return float("nan")


def processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe(toolchain: Toolchain, portable: Toolchain | None = None) -> dict[str, str]:
    """Machine, system, Python, numpy, compiler and flags; those of a portable build too where one is measured."""
    return {
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "Python": f"{platform.python_version()}, numpy {np.__version__}",
        "compiler": toolchain.version,
        "flags": _flags(toolchain),
        **({} if portable is None else {"flags, portable": _flags(portable)}),
        "RoboCompiler": VERSION,
    }


def _flags(toolchain: Toolchain) -> str:
    kept = [flag for flag in toolchain.flags if not flag.startswith("-W")]
    return f"{' '.join(kept)} (and strict warnings)"
