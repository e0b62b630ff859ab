"""Compiles one model in this process and prints what it cost as JSON; `compile_times` starts it for every number.

python -m benchmarks.compile_once MODEL OUTPUT
"""

from __future__ import annotations

import json
import resource
import sys
import time

_MEBIBYTE = 2.0**20
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes per unit of ru_maxrss


def _peak(who: int) -> float:
    return resource.getrusage(who).ru_maxrss * _RSS_UNIT / _MEBIBYTE


def _processor(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def main(model: str, output: str) -> None:
    """Import, compile, load; then one line of JSON."""
    begin = time.perf_counter()
    from pathlib import Path

    from robocompiler import load
    from robocompiler.compiler import compile_to_folder

    imported = time.perf_counter()
    units: dict[str, float] = {}

    def progress(step: str, item: str, seconds: float) -> None:
        if step == "compile":
            units[item] = seconds

    front, report = compile_to_folder(model, Path(output), progress=progress)
    compiled = time.perf_counter()
    load(report.folder)
    loaded = time.perf_counter()
    result = {
        "imports": imported - begin,
        "compile": compiled - imported,
        "load": loaded - compiled,
        "passes": {**front.seconds, **report.seconds},
        "units": units,
        "reasons": report.reasons,
        "all_units": len(report.reasons),
        "cpu_python": _processor(resource.RUSAGE_SELF),
        "cpu_compiler": _processor(resource.RUSAGE_CHILDREN),
        "peak_python_mib": _peak(resource.RUSAGE_SELF),
        "peak_compiler_mib": _peak(resource.RUSAGE_CHILDREN),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
