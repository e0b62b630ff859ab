"""Rows of the compiled robot: C from C, batches, and the Python interface."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.bench.driver import CLoop, Driver
from robocompiler.bench.states import References
from robocompiler.bench.timing import FORWARD, INVERSE, PythonLoop, Sample, Timed
from robocompiler.runtime.library import Library
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]
ROWS = 256  # states of a batch in C: they stay in the processor's cache
MANY = 4096  # states of a batch from Python, so that calls and threads do not matter
FUNCTIONS = {FORWARD: "forward_dynamics", INVERSE: "inverse_dynamics"}


def inputs_of(quantity: str, states: References) -> list[Array]:
    """The arrays (count, ...) that a quantity takes."""
    return [states.q, states.u, states.f if quantity == FORWARD else states.udot]


def error_of(quantity: str, states: References, found: Array) -> float:
    """delta_a or delta_tau of results (count, d)."""
    return states.forward_error(found) if quantity == FORWARD else states.inverse_error(found)


def _tile(values: Array, count: int) -> Array:
    """`count` rows: those of `values` again and again."""
    return np.ascontiguousarray(values[np.arange(count) % len(values)])


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def single_rows(driver: Driver, folder: Path, states: References, label: str = "") -> list[Timed]:
    """Single calls of the library in `folder`, called from C."""
    library = _library(folder)
    rows = []
    for quantity, name in FUNCTIONS.items():
        inputs, width = inputs_of(quantity, states), states.u.shape[1]
        loop = driver.loop("single", library.function(name), library, inputs, states.constants, width)
        rows.append(_c_row(quantity, f"C, one call{label}", loop, states))
    return rows


def batch_rows(driver: Driver, folder: Path, states: References) -> list[Timed]:
    """Batches of the library in `folder`, called from C on one thread."""
    library = _library(folder)
    lanes, rows, width = int(library.function("batch_lanes")()), [], states.u.shape[1]
    for quantity, name in FUNCTIONS.items():
        inputs = [_tile(values, ROWS) for values in inputs_of(quantity, states)]
        if quantity == FORWARD:
            inputs.append(np.zeros((ROWS, width)))  # further forces on u
        loop = driver.loop("batch", library.function(f"batch_{name}"), library, inputs, states.constants, width)
        rows.append(_c_row(quantity, "C, batch, 1 thread", loop, states, f"{lanes} lanes, {ROWS} states"))
    return rows


def _library(folder: Path) -> Library:
    return Library(folder, read_manifest(find_manifest(folder)))


def _c_row(quantity: str, solver: str, loop: CLoop, states: References, note: str = "") -> Timed:
    loop.seconds()
    count = len(states.each)
    # a batch repeats the states; its last rows are compared too, where lanes may be filled up
    errors = [error_of(quantity, states, part) for part in _whole_passes(loop.results, count)]
    return Timed(quantity, solver, True, lambda: Sample(loop.seconds()), max(errors), note)


def _whole_passes(results: Array, count: int) -> list[Array]:
    return [results[start : start + count] for start in range(0, len(results) - count + 1, count)]


def python_rows(robot: Robot, states: References) -> list[Timed]:
    """The Python interface: plain and prepared calls, and batches on one and on all threads."""
    rows = []
    for quantity, name in FUNCTIONS.items():
        inputs = inputs_of(quantity, states)
        plain: Callable[..., Array] = getattr(robot, name)
        each = list(zip(*inputs, strict=True))
        rows.append(_python_row(quantity, f"Python, robot.{name}", plain, each, states))
        rows.append(_prepared_row(quantity, robot, states))
        many = [_tile(values, MANY) for values in inputs]
        for threads in sorted({1, cores()}):
            rows.append(_batch_row(quantity, robot, many, threads, states))
    return rows


def _python_row(
    quantity: str, solver: str, call: Callable[..., Array], each: list[tuple[Any, ...]], states: References
) -> Timed:
    loop = PythonLoop(call, each)
    error = error_of(quantity, states, np.array([call(*one) for one in each]))
    return Timed(quantity, solver, True, lambda: Sample(loop.seconds()), error)


def _prepared_row(quantity: str, robot: Robot, states: References) -> Timed:
    """Each state has its own prepared call, so that filling in arguments is not timed."""
    prepared = []
    for one in zip(*inputs_of(quantity, states), strict=True):
        call = robot.prepare(FUNCTIONS[quantity])
        for array, value in zip(call.inputs.values(), one, strict=True):
            array[:] = value
        prepared.append(call)
    loop = PythonLoop(operator.call, [(call,) for call in prepared])
    loop.seconds()
    error = error_of(quantity, states, np.array([call.output for call in prepared]))
    return Timed(quantity, "Python, prepared call", True, lambda: Sample(loop.seconds()), error)


def _batch_row(quantity: str, robot: Robot, many: list[Array], threads: int, states: References) -> Timed:
    function = getattr(robot.batch, FUNCTIONS[quantity])
    out = np.zeros((MANY, states.u.shape[1]))
    loop = PythonLoop(lambda: function(*many, out=out, threads=threads), [()], time.perf_counter)
    loop.seconds()
    error = max(error_of(quantity, states, part) for part in _whole_passes(out, len(states.each)))
    solver = f"Python, robot.batch, {threads} thread{'s' if threads > 1 else ''}"
    note = f"{MANY} states, wall clock"
    return Timed(quantity, solver, True, lambda: Sample(loop.seconds() / MANY), error, note)
