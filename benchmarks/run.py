"""All measurements, written to docs/performance.md (and build/performance.json): what `make bench` runs.

python -m benchmarks.run [--robots stewart,panda] [--no-flags] [--output docs/performance.md]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import closures, compile_times, machine, variants
from benchmarks.robots import ROBOTS, ROOT
from benchmarks.spread import table
from benchmarks.states import COUNT, OPENING
from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.toolchain import find_toolchain

_INTRODUCTION = """\
# Performance

Written by `python -m benchmarks.run`; do not edit.  `benchmarks/README.md` says how everything is measured.
[Motion studies](motion-studies.md): what prediction, the dependency index and generated closures are worth on routes.

"""
_CLOSURES = """\
## Closures at run time

{count} assembled configurations around the reference, visited in turn; the corrector starts from them with every
dependent pushed by up to {opening:g} rad or m.  Times are processor time of the measuring thread.  Generated C is timed
from inside C.  The global evaluator is numpy that poses bodies by walking the whole tree from the root and fills all
columns of C (`benchmarks/global_evaluator.py`); it agrees with the generated code to 1e-10.  The ratio to generated C
is the gain of language and locality together; that to the Python interface leaves out most of the language.

"""


def run(robots: Sequence[str], output: Path, data: Path, with_flags: bool = True) -> None:
    """Measure and write both files."""
    build = ROOT / "build"

    def tell(text: str) -> None:
        print(f"{text} (load {machine.load():.2f})", file=sys.stderr, flush=True)

    compiles: list[dict[str, Any]] = []
    for name in robots:
        tell(f"compile times: {name}")
        compiles.append(compile_times.measure(name, build / "compile_times"))
    measured: list[closures.Measured] = []
    for name in robots:
        tell(f"closures: {name}")
        measured.append(closures.measure(name, build / "benchmark"))
    flags: dict[str, list[variants.Variant]] = {}
    for name in variants.ROBOTS:
        if name in robots and with_flags:
            tell(f"compiler flags: {name}")
            flags[name] = variants.measure(name, build / "benchmark")
    where = machine.describe(find_toolchain())
    text = [
        _INTRODUCTION,
        table(["machine", ""], list(map(list, where.items()))).replace("---:", "---"),
        "\n## Compile times\n\n",
        compile_times.markdown(compiles),
        "\n",
        _CLOSURES.format(count=COUNT, opening=OPENING),
        closures.markdown(measured),
        "\n## Compiler flags\n\nThe same generated text under other flags (the standard ones come first).\n"
        if flags
        else "",
        *(f"\n{variants.markdown(name, found)}" for name, found in flags.items()),
    ]
    record = {
        "machine": where,
        "compile_times": compiles,
        "closures": [m.as_dict() for m in measured],
        "flags": {name: [asdict(v) for v in found] for name, found in flags.items()},
    }
    data.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(data, (json.dumps(record, indent=1) + "\n").encode())
    write_atomically(output, "".join(text).encode())
    tell(f"wrote {os.path.relpath(output)} and {os.path.relpath(data)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Measure the compiler and the generated code.")
    parser.add_argument("--robots", default=",".join(ROBOTS), help="comma-separated names (default: all five)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "performance.md")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "performance.json")
    parser.add_argument("--no-flags", action="store_true", help="leave out the comparison of compiler flags")
    options = parser.parse_args(arguments)
    robots = options.robots.split(",")
    unknown = sorted(set(robots) - set(ROBOTS))
    if unknown:
        parser.error(f"no such robot: {', '.join(unknown)}; there are {', '.join(ROBOTS)}")
    run(robots, options.output, options.json, not options.no_flags)


if __name__ == "__main__":
    main()
