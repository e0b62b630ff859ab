"""How long a compile takes: cold, unchanged, and after one joint was edited; every number in a fresh Python process.

python -m benchmarks.compile_times [ROBOT ...]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.edited_model import EDITED, write_edited
from benchmarks.robots import ROBOTS, ROOT, model
from benchmarks.spread import significant, table

RUNS = 3  # of the unchanged and edited compiles; a cold one is long and is measured once
_IMPORTS = "import robocompiler.compiler, robocompiler.runtime.robot"  # bytecode is there before anything is timed
FRONT = ("read", "graph", "closures", "reduce", "kernels")
BACK = ("print", "write", "compile", "link")


def compile_once(path: Path, output: Path) -> dict[str, Any]:
    """Compile in a fresh process; wall-clock seconds of the whole process in `process`."""
    load, begin = machine.load(), time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.compile_once", str(path), str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=_environment())
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        raise RuntimeError(f"{path} did not compile:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**result, "process": seconds, "machine_load": load}


def _environment() -> dict[str, str]:
    """As users have it: Python keeps the bytecode of what is installed, also where this project's tests do not."""
    others = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**others, "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "compile_times" / "bytecode")}


def _median(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return sorted(runs, key=lambda run: float(run["process"]))[len(runs) // 2]


def measure(name: str, output: Path) -> dict[str, Any]:
    """{'cold', 'unchanged', 'edited'} of one robot; `output`/<name> is emptied first."""
    folder = output / name
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-c", _IMPORTS], cwd=ROOT, check=True, env=_environment())
    cold = compile_once(model(name), folder)
    unchanged = _median([compile_once(model(name), folder) for _ in range(RUNS)])
    if unchanged["units"]:
        raise RuntimeError(f"{name}: an unchanged model was compiled again: {unchanged['reasons']}")
    edited_file = write_edited(name, output / "edited")
    edited = _median([_compile_edit(edited_file, folder) for _ in range(RUNS)])
    return {"robot": name, "cold": cold, "unchanged": unchanged, "edited": edited, "joint": EDITED[name]}


def _compile_edit(path: Path, folder: Path) -> dict[str, Any]:
    """Compile the edited model into a copy of `folder`, so that every edit starts from the same compiled robot."""
    copy = folder.with_name(f"{folder.name}_edited")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    try:
        return compile_once(path, copy)
    finally:
        shutil.rmtree(copy)


def _row(name: str, kind: str, run: dict[str, Any]) -> list[str]:
    passes = [significant(run["passes"].get(key, 0.0)) for key in (*FRONT, *BACK)]
    return [
        f"{name} {kind}",
        f"**{run['process']:.2f}**",
        significant(run["imports"]),
        *passes,
        significant(run["load"]),
        significant(run["cpu_python"]),
        significant(run["cpu_compiler"]),
        f"{len(run['units'])} of {run['all_units']}",
        f"{run['peak_python_mib']:.0f}",
        f"{run['peak_compiler_mib']:.0f}" if run["units"] else "none",
        f"{run['machine_load']:.2f}",
    ]


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """The tables of the compile times' section."""
    costs = ("CPU s Python", "CPU s gcc", "units compiled", "Python MiB", "gcc MiB", "machine load")
    header = ["", "process s", "imports", *FRONT, *BACK, "load", *costs]
    rows = [_row(r["robot"], kind, r[kind]) for r in results for kind in ("cold", "unchanged", "edited")]
    largest = [[r["robot"], *_largest(r["cold"]["units"])] for r in results]
    edits = "; ".join(f"{r['robot']}: `{r['joint']}`, {', '.join(sorted(r['edited']['units']))}" for r in results)
    return (
        "Seconds.  `process` is a whole fresh Python process on the wall clock, of which imports to load are parts.\n"
        "CPU seconds add up all cores and suffer less from other programs.  Memory is the largest resident size of\n"
        f"the Python process and of any one compiler process.\n\n{table(header, rows)}\n"
        f"The edit moves one joint by a millimetre; compiled again were: {edits}.\n\n"
        f"{table(['cold', 'slowest unit', 's', 'second', 's'], largest)}"
    )


def _largest(units: dict[str, float]) -> list[str]:
    slowest = sorted(units.items(), key=lambda item: -item[1])[:2]
    cells = [cell for name, seconds in slowest for cell in (name, significant(seconds))]
    return cells + [""] * (4 - len(cells))


def main(arguments: Sequence[str]) -> None:
    """Print the tables of the named robots (default: all)."""
    output = ROOT / "build" / "compile_times"
    print(markdown([measure(name, output) for name in arguments or ROBOTS]))


if __name__ == "__main__":
    main(sys.argv[1:])
