"""Residual, Jacobian, corrector, lift and poses of the five robots: generated C, Python interface, global evaluator.

    python -m benchmarks.closures [ROBOT ...]

All quantities of a robot are sampled in turn, round after round, so that ratios compare like with like on a busy
machine.  Times are processor time of the measuring thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks import machine
from benchmarks.driver import EMPTY, Driver, signatures
from benchmarks.global_evaluator import GlobalEvaluator
from benchmarks.robots import ROBOTS, model
from benchmarks.spread import Spread, microseconds, significant, table
from benchmarks.states import States, sample
from robocompiler.backend.toolchain import find_toolchain
from robocompiler.graph.build import derive_topology
from robocompiler.records.reader import read_mechanism
from robocompiler.runtime.manifest import find_manifest, read_manifest

Array = NDArray[np.float64]

ROUNDS = 25
GLOBAL_ROUNDS = 7
GLOBAL_STATES = 8  # of the list, in each sample of the slow evaluator
WHOLE = ("closure_jacobian", "residual", "closure", "correct", "inner_correct", "lift", "inner_lift", "poses")


@dataclass
class Measured:
    """Samples of one robot, seconds per evaluation, by quantity; ratios by name; loads seen."""

    robot: str
    operations: dict[str, int]
    modules: tuple[str, ...]
    spreads: dict[str, Spread] = field(default_factory=dict)
    ratios: dict[str, Spread] = field(default_factory=dict)
    load: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        groups = {"seconds": self.spreads, "ratios": self.ratios}
        numbers = {group: {name: s.as_dict() for name, s in spreads.items()} for group, spreads in groups.items()}
        return {"robot": self.robot, "load": self.load, "operations": self.operations, **numbers}


def _python(call: Callable[[Array], object], states: Array) -> float:
    begin = time.thread_time()
    for q in states:
        call(q)
    return (time.thread_time() - begin) / len(states)


def _states_for(function: str, states: States) -> Array:
    if function.endswith("correct"):
        return states.opened["inner" if function.startswith("inner") else "port"]
    return states.assembled


def measure(name: str, output: Path, rounds: int = ROUNDS) -> Measured:
    """Compile (if needed) and time one robot."""
    robot = rc.compile(model(name), output=output)
    folder = output / robot.name
    manifest = read_manifest(find_manifest(folder))
    known, prefix = signatures(manifest["cdef"]), manifest["prefix"]
    modules = tuple(m.name for m in robot.modules if f"{prefix}_{m.name}_rho_jacobian" in known)
    functions = [*WHOLE, *(f"{module}_rho_jacobian" for module in modules)]
    library = folder / f"lib{prefix}.so"
    driver = Driver(manifest, folder, library, find_toolchain(), functions, output / "timing")
    states = sample(robot, manifest)
    evaluator = GlobalEvaluator(derive_topology(read_mechanism(model(name))))
    few = states.assembled[:GLOBAL_STATES]
    measured = Measured(name, manifest["operations"], modules, load=machine.load())
    samples: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    for number in range(rounds):
        this = {f: driver.seconds(f, _states_for(f, states)) for f in (*functions, EMPTY)}
        this["closure_jacobian off closure"] = driver.seconds("closure_jacobian", states.far)
        this["python closure_jacobian"] = _python(robot.closure_jacobian, states.assembled)
        this["python lift"] = _python(robot.lift, states.assembled)
        if modules and number < GLOBAL_ROUNDS:
            this["global by chord"] = _python(evaluator.by_chord, few)
            this["global shared"] = _python(evaluator.shared, few)
            for walked in ("global by chord", "global shared"):
                for compiled in ("closure_jacobian", "python closure_jacobian", "closure"):
                    ratios.setdefault(f"{walked} / {compiled}", []).append(this[walked] / this[compiled])
        for module in modules:
            part = this["closure_jacobian"] / this[f"{module}_rho_jacobian"]
            ratios.setdefault(f"all / {module}", []).append(part)
        for key, value in this.items():
            samples.setdefault(key, []).append(value)
    measured.load = max(measured.load, machine.load())
    measured.spreads = {key: Spread.of(values) for key, values in samples.items()}
    measured.ratios = {key: Spread.of(values) for key, values in ratios.items()}
    return measured


_ROWS = (
    ("closure_jacobian", "rho and C, generated C, all modules"),
    ("closure_jacobian off closure", "the same, 0.1 off closure"),
    ("residual", "rho only, generated C"),
    ("closure", "condensed rows and their Jacobian, generated C"),
    ("correct", "corrector from 1e-3, port chart"),
    ("inner_correct", "corrector from 1e-3, inner chart"),
    ("lift", "lift E, port chart"),
    ("inner_lift", "lift E, inner chart"),
    ("poses", "poses of all frames"),
    (EMPTY, "an empty call by the same loop"),
    ("python closure_jacobian", "`robot.closure_jacobian(q)` (dense C)"),
    ("python lift", "`robot.lift(q)`"),
    ("global shared", "rho and C, global Python, tree walked once"),
    ("global by chord", "rho and C, global Python, tree walked per chord"),
)


def markdown(results: Sequence[Measured]) -> str:
    """The tables of the closures' section."""
    header = ["microseconds per state", *(r.robot for r in results)]
    rows = [
        [label, *(microseconds(r.spreads[key]) if key in r.spreads else "no loops" for r in results)]
        for key, label in _ROWS
    ]
    loads = ", ".join(f"{r.robot} {r.load:.2f}" for r in results)
    chains = [r for r in results if r.modules]
    names = ("global by chord", "global shared")
    ratio_header = ["times slower than", *(r.robot for r in chains)]
    ratio_rows = [
        [f"{walked} / {against}", *(_times(r.ratios[f"{walked} / {key}"]) for r in chains)]
        for walked in names
        for key, against in (("closure_jacobian", "generated C"), ("python closure_jacobian", "Python interface"))
    ]
    module_rows = [
        [f"{r.robot} {module}", str(r.operations[f"{module}_rho_jacobian"]),
         microseconds(r.spreads[f"{module}_rho_jacobian"]), _times(r.ratios[f"all / {module}"])]
        for r in chains for module in r.modules
    ]  # fmt: skip
    return (
        f"Median (minimum; quartiles).  One-minute load while measuring: {loads}.\n\n{table(header, rows)}\n"
        f"Ratios of the same rounds:\n\n{table(ratio_header, ratio_rows)}\n"
        "One module alone (what a change of its independents costs) against all modules, rho and C:\n\n"
        f"{table(['module', 'operations', 'microseconds', 'all modules / this one'], module_rows)}"
    )


def _times(spread: Spread) -> str:
    return f"**{significant(spread.median)}** ({significant(spread.lower)}-{significant(spread.upper)})"


def main(arguments: Sequence[str]) -> None:
    """Print the tables of the named robots (default: all)."""
    output = Path("build") / "benchmark"
    print(markdown([measure(name, output) for name in arguments or ROBOTS]))


if __name__ == "__main__":
    main(sys.argv[1:])
