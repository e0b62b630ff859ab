"""What compiler flags cost and bring: the same generated text compiled with several sets of flags, timed in turn.

python -m benchmarks.variants [ROBOT ...]
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks import machine
from benchmarks.driver import Driver
from benchmarks.robots import ROOT, model
from benchmarks.spread import Spread, microseconds, significant, table
from benchmarks.states import sample
from robocompiler.backend.toolchain import CompileJob, Toolchain, compile_objects, find_toolchain, link_shared
from robocompiler.runtime.manifest import find_manifest, read_manifest

Array = NDArray[np.float64]

ROBOTS = ("stewart", "kangaroo")
ROUNDS = 21
FUNCTIONS = ("closure_jacobian", "closure", "correct", "inner_correct", "lift", "inner_lift", "poses")
# (portable, flags that follow); the first is the standard build, against which the ratios are.
VARIANTS: dict[str, tuple[bool, tuple[str, ...]]] = {
    "native (standard)": (False, ()),
    "portable": (True, ()),
    "portable -fno-math-errno": (True, ("-fno-math-errno",)),
    "native -O1": (False, ("-O1",)),
    "native -O3": (False, ("-O3",)),
    "native -ffp-contract=off": (False, ("-ffp-contract=off",)),
    "native -fno-math-errno": (False, ("-fno-math-errno",)),
    "native -fno-math-errno -fno-trapping-math": (False, ("-fno-math-errno", "-fno-trapping-math")),
}


@dataclass
class Variant:
    """One build: seconds of all compilers, size of the library, load after it, spreads, ratios to the standard."""

    name: str
    compile_seconds: float
    slowest_unit: float
    library_bytes: int
    load: float
    spreads: dict[str, Spread] = field(default_factory=dict)
    ratios: dict[str, Spread] = field(default_factory=dict)


def _build(sources: Sequence[Path], toolchain: Toolchain, folder: Path) -> tuple[Path, float, float]:
    """Compile and link `sources` one after the other; the library, all seconds, and those of the slowest unit."""
    shutil.rmtree(folder, ignore_errors=True)
    jobs = [CompileJob(s.stem, s, folder / f"{s.stem}.o", (s.parent,)) for s in sources]
    seconds: list[float] = []
    begin = time.monotonic()
    compile_objects(jobs, toolchain, workers=1, progress=lambda _, took: seconds.append(took))
    whole = time.monotonic() - begin
    library = folder / "libvariant.so"
    link_shared([job.object for job in jobs], library, toolchain)
    return library, whole, max(seconds)


def measure(name: str, output: Path, rounds: int = ROUNDS) -> list[Variant]:
    """Build and time all variants of one robot."""
    robot = rc.compile(model(name), output=output)
    folder = output / robot.name
    manifest = read_manifest(find_manifest(folder))
    sources = sorted(folder.glob(f"{manifest['prefix']}_*.c"))
    states = sample(robot, manifest)
    variants, drivers = [], []
    for number, (label, (portable, flags)) in enumerate(VARIANTS.items()):
        place = output / "variants" / f"{name}_{number}"
        toolchain = find_toolchain(portable=portable, extra_flags=flags)
        library, whole, slowest = _build(sources, toolchain, place)
        drivers.append(Driver(manifest, folder, library, find_toolchain(), FUNCTIONS, place / "timing"))
        variants.append(Variant(label, whole, slowest, library.stat().st_size, machine.load()))
    times: list[dict[str, list[float]]] = [{f: [] for f in FUNCTIONS} for _ in drivers]
    for _ in range(rounds):
        for function in FUNCTIONS:
            chart = "inner" if function.startswith("inner") else "port"
            at = states.opened[chart] if function.endswith("correct") else states.assembled
            for index, driver in enumerate(drivers):
                times[index][function].append(driver.seconds(function, at))
    for variant, own in zip(variants, times, strict=True):
        variant.spreads = {f: Spread.of(own[f]) for f in FUNCTIONS}
        variant.ratios = {f: Spread.of(np.divide(own[f], times[0][f]).tolist()) for f in FUNCTIONS}
    return variants


def markdown(name: str, variants: Sequence[Variant]) -> str:
    """The table of one robot."""
    header = [f"{name}: flags", "gcc s", "slowest unit s", "library KiB", *(f"`{f}`" for f in FUNCTIONS)]
    rows = []
    for v in variants:
        cells = [f"{significant(v.ratios[f].median)}" for f in FUNCTIONS]
        if v is variants[0]:
            cells = [microseconds(v.spreads[f]) for f in FUNCTIONS]
        size = f"{v.library_bytes / 1024:.0f}"
        rows.append([f"`{v.name}`", significant(v.compile_seconds), significant(v.slowest_unit), size, *cells])
    return (
        f"First row microseconds, the others the median ratio to it in the same rounds.  Load {variants[-1].load:.2f}."
        f"\n\n"
        f"{table(header, rows)}"
    )


def main(arguments: Sequence[str]) -> None:
    """Print the tables of the named robots."""
    for name in arguments or ROBOTS:
        print(markdown(name, measure(name, ROOT / "build" / "benchmark")))


if __name__ == "__main__":
    main(sys.argv[1:])
