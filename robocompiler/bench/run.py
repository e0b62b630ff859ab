"""One run: compile, make states with references, sample ours and the peers in the same rounds."""

from __future__ import annotations

import importlib.metadata
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from robocompiler.backend.build import build_robot
from robocompiler.backend.options import BuildOptions, Progress
from robocompiler.backend.toolchain import toolchain_for
from robocompiler.bench import machine
from robocompiler.bench.casadi_c import NAME as CASADI
from robocompiler.bench.casadi_c import casadi_rows
from robocompiler.bench.driver import Driver
from robocompiler.bench.mujoco_rows import mujoco_rows
from robocompiler.bench.ours import batch_rows, python_rows, single_rows
from robocompiler.bench.pinocchio_rows import pinocchio_rows
from robocompiler.bench.states import references
from robocompiler.bench.timing import FORWARD, Row, Skipped, Timed, measure_rounds
from robocompiler.errors import ModelError, Problem
from robocompiler.records.model import Mechanism
from robocompiler.runtime.robot import load
from robocompiler.symbolic.program import RobotProgram

_PORTABLE_LABEL = ", portable"
_PACKAGES = {"Pinocchio": "pin", "MuJoCo": "mujoco", "CasADi": "casadi"}


@dataclass(frozen=True)
class BenchOptions:
    """What is measured.

    Attributes:
        rounds: in each of which everything is sampled once.
        states: random states, visited in turn.
        seed: of the states.
        portable: single calls of a portable build as well, beside that for this processor.
        precise: accuracy against 50 digits instead of double.
        peers: Pinocchio, MuJoCo and CasADi's C as well.
        build: how the robot is compiled; batches are added.
    """

    rounds: int = 25
    states: int = 16
    seed: int = 0
    portable: bool = False
    precise: bool = False
    peers: bool = True
    build: BuildOptions = field(default_factory=BuildOptions)


DEFAULT = BenchOptions()


@dataclass(frozen=True)
class BenchReport:
    """What was found.

    Attributes:
        sizes: numbers of coordinates, velocities, freedoms and ports.
        machine: processor, system, compiler, flags and versions.
        load: one-minute load average before and after.
        folder: of the measured libraries.
    """

    robot: str
    sizes: dict[str, int]
    machine: dict[str, str]
    load: tuple[float, float]
    options: BenchOptions
    rows: tuple[Row, ...]
    skipped: tuple[Skipped, ...]
    folder: Path

    @property
    def reference(self) -> str:
        """What errors are against."""
        return f"maximal coordinates, {'50 digits' if self.options.precise else 'double'}"

    @property
    def facts(self) -> dict[str, str]:
        """Machine and circumstances, one text each."""
        sizes = ", ".join(f"{number} {name}" for name, number in self.sizes.items())
        options = self.options
        return {
            **self.machine,
            "robot": f"{self.robot}: {sizes}",
            "states": f"{options.states} random ones (seed {options.seed}); errors against {self.reference}",
            "load": f"{self.load[0]:.2f} before, {self.load[1]:.2f} after",
        }

    @staticmethod
    def error_name(quantity: str) -> str:
        """The symbol of the error of a quantity."""
        return "delta_a" if quantity == FORWARD else "delta_tau"


def bench(
    mechanism: Mechanism,
    program: RobotProgram,
    output: Path,
    options: BenchOptions = DEFAULT,
    progress: Progress | None = None,
) -> BenchReport:
    """Build `program` into `output`/<name>/ with batches, and measure it.

    Raises:
        ModelError: nothing can move.
        CompileError: the compiler fails.
        MissingPackageError: `precise` without mpmath.
    """
    if program.mechanics is None:
        message = "nothing can move, so that there are no dynamics to measure"
        raise ModelError([Problem(message, mechanism.name, mechanism.source.file)])
    tell = progress or (lambda step, item, seconds: None)
    build = replace(options.build, batch=True)
    report = build_robot(program, output, build, progress)
    plain = replace(options.build, batch=False, portable=True)
    toolchain, base = toolchain_for(build), toolchain_for(plain) if options.portable else None
    work = report.folder / "bench"
    robot = load(report.folder)
    begin = time.monotonic()
    states = references(robot, mechanism, options.states, options.seed, precise=options.precise)
    tell("states", f"{options.states} random states, solved by the oracle", time.monotonic() - begin)
    driver = Driver(work, toolchain)
    timed = [*single_rows(driver, report.folder, states), *batch_rows(driver, report.folder, states)]
    timed += python_rows(robot, states)
    skipped: list[Skipped] = []

    def add(found: tuple[list[Timed], list[Skipped]]) -> None:
        timed.extend(found[0])
        skipped.extend(found[1])

    if base is not None:
        beside = build_robot(program, output / "portable", plain, progress)
        timed += single_rows(driver, beside.folder, states, _PORTABLE_LABEL)
    if options.peers:
        begin = time.monotonic()
        add(casadi_rows(program, driver, work / "casadi", toolchain, states))
        if base is not None:
            add(casadi_rows(program, driver, work / "casadi_portable", base, states, _PORTABLE_LABEL))
        tell("compile", CASADI, time.monotonic() - begin)
        add(pinocchio_rows(robot, mechanism, states))
        add(mujoco_rows(mechanism, states))
    before, begin = machine.load(), time.monotonic()
    rows = measure_rounds(timed, options.rounds)
    tell("measure", f"{len(timed)} rows, {options.rounds} rounds", time.monotonic() - begin)
    sizes = {
        "coordinates": len(robot.coordinates), "velocities": len(robot.velocities), "freedoms": len(robot.independent),
        "ports": len(robot.ports),
    }  # fmt: skip
    where = {**machine.describe(toolchain, base), **versions()}
    return BenchReport(robot.name, sizes, where, (before, machine.load()), options, rows, tuple(skipped), report.folder)


def versions() -> dict[str, str]:
    """Versions of the peers, or that they are not installed."""
    found = {}
    for name, package in _PACKAGES.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
