"""Time of the derivatives of forward dynamics beside Pinocchio's; writes docs/derivatives-speed.md.

    python -m benchmarks.derivatives [--robots stewart,excavator,kangaroo] [--rounds 25]

Ours is `forward_dynamics_derivatives`: udot's derivatives along the loops with respect to configuration, speeds and
port efforts, forward dynamics included.  Pinocchio's `computeConstraintDynamicsDerivatives` must follow a call of
`constraintDynamics` at the same state, so that both are timed together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from benchmarks.page_command import asked, write_page
from benchmarks.robots import ROOT, model
from benchmarks.spread import Spread, microseconds, significant, table
from robocompiler.backend.build import build_robot
from robocompiler.backend.options import BuildOptions
from robocompiler.backend.toolchain import CompileJob, compile_objects, link_shared, toolchain_for
from robocompiler.bench import machine
from robocompiler.bench.driver import CLoop, Driver, address
from robocompiler.bench.run import versions
from robocompiler.bench.states import References, references
from robocompiler.bench.timing import NetLoop, PythonLoop
from robocompiler.compiler import run_front_end
from robocompiler.oracle.pinocchio_adapter import PinocchioModel
from robocompiler.runtime.library import Library
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.runtime.robot import Robot, load

Array = NDArray[np.float64]
_SETTINGS = (1e-14, 1e-12, 1)  # accuracy, mu, iterations: constraintDynamics at its fastest
_STEP = 1e-5  # of the central differences that the derivatives are compared with

# One output for the timing driver: the three results one after the other.
_JOINED = """\
typedef int (*slopes)(const double *, const double *, const double *, double *, double *, double *);
static slopes chosen;
void choose(void (*f)(void));
int joined(const double *q, const double *u, const double *f, double *out);
void choose(void (*f)(void)) {{ chosen = (slopes)f; }}
int joined(const double *q, const double *u, const double *f, double *out)
{{
    return chosen(q, u, f, out, out + {squares}, out + 2 * {squares});
}}
"""

_HEAD = """\
# Speed of the derivatives

Written by `python -m benchmarks.derivatives`; do not edit.

Derivatives of forward dynamics with respect to configuration (along the loops), speeds and port efforts.  Microseconds
per state, processor time, {states} random states in turn, {rounds} rounds: **median** (minimum; quartiles), and the
median of the ratios formed within a round.  Ours are called from C and include forward dynamics itself.  Pinocchio is
called from Python; the same call on a model without joints is subtracted, and for its derivatives also a copy of arrays
of the size of its six results, which the binding makes.  Its derivatives are those with respect to all joints of the
spanning tree and need `constraintDynamics` (mu {mu:g}, one iteration) at the same state before, so that both are called
in turn on the same data.  The error is the largest deviation from central differences of our own forward dynamics
(step {step:g} along the mechanism), relative to the largest entry: it shows that the timed function does its work; the
tests compare with independent references.

"""


def _joined(folder: Path, library: Library, d: int, options: BuildOptions) -> tuple[Any, Any]:
    """(the derivatives with one output, what must live as long)."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "joined.c"
    source.write_text(_JOINED.format(squares=d * d), encoding="utf-8")
    job = CompileJob("joined", source, folder / "joined.o")
    toolchain = toolchain_for(options)
    compile_objects([job], toolchain)
    path = folder / "libjoined.so"
    link_shared([job.object], path, toolchain)
    ffi = cffi.FFI()
    ffi.cdef("void choose(void (*)(void)); int joined(const double *, const double *, const double *, double *);")
    loaded: Any = ffi.dlopen(str(path.resolve()))
    loaded.choose(ffi.cast("void (*)(void)", address(library.function("forward_dynamics_derivatives"))))
    return loaded.joined, (ffi, loaded, library)


def _worst_difference(robot: Robot, states: References, found: Array) -> float:
    """Largest error of the derivatives with respect to configuration and speeds, relative to the largest entry."""
    d, worst = len(robot.independent), 0.0
    for one, row in zip(states.each, found, strict=True):
        wanted = np.zeros((2, d, d))
        for k in range(d):
            step = _STEP * np.eye(d)[k]
            ahead, behind = (robot.assemble(robot.integrate(one.q, robot.lift(one.q) @ (s * step))) for s in (1, -1))
            du = [robot.forward_dynamics(q, one.u, one.f) for q in (ahead, behind)]
            wanted[0][:, k] = (du[0] - du[1]) / (2 * _STEP)
            du = [robot.forward_dynamics(one.q, one.u + s * step, one.f) for s in (1, -1)]
            wanted[1][:, k] = (du[0] - du[1]) / (2 * _STEP)
        error = np.abs(row[: 2 * d * d].reshape(2, d, d) - wanted).max() / np.abs(wanted).max()
        worst = max(worst, float(error))
    return worst


def _copies(size: int, count: int) -> PythonLoop:
    """Six results of a binding, copied."""
    results = [np.ones((size, size)) for _ in range(6)]
    return PythonLoop(lambda: [x.copy() for x in results], [()] * count)


def _pinocchio(name: str, states: References) -> dict[str, Callable[[], float]]:
    """Samples of constraintDynamics, and of it with its derivatives."""
    engine = PinocchioModel(run_front_end(model(name)).mechanism)
    pin = engine.pin
    models, datas, data = engine.closures()
    chords = [chord.name for chord in engine.spanning.chords]
    settings = pin.ProximalSettings(*_SETTINGS)
    pin.initConstraintDynamics(engine.model, data, models, datas)
    calls = []
    for one in states.each:
        tau = engine.effort(one.values, one.tree_efforts(chords, True))
        q, v = engine.configuration(one.values), engine.velocity(one.values, one.speeds)
        calls.append((engine.model, data, q, v, tau, models, datas, settings))
    empty, none = pin.Model(), np.zeros(0)
    no_models, no_datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    no_data = empty.createData()
    pin.initConstraintDynamics(empty, no_data, no_models, no_datas)
    nothing = [(empty, no_data, none, none, none, no_models, no_datas, settings)] * len(calls)

    def both(model: Any, data: Any, q: Array, v: Array, tau: Array, models: Any, datas: Any, settings: Any) -> None:
        pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)
        pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)

    forward = NetLoop(PythonLoop(pin.constraintDynamics, calls), PythonLoop(pin.constraintDynamics, nothing))
    derived = NetLoop(PythonLoop(both, calls), PythonLoop(both, nothing))
    copies = _copies(engine.model.nv, len(calls))
    return {
        "constraintDynamics": lambda: forward.sample().seconds,
        "both": lambda: derived.sample().seconds - copies.seconds(),
    }


def measure(name: str, folder: Path, rounds: int, count: int) -> str:
    """The Markdown of one robot."""
    front = run_front_end(model(name))
    options = BuildOptions(derivatives=True)
    built = build_robot(front.program, folder, options)
    robot = load(built.folder)
    library = Library(built.folder, read_manifest(find_manifest(built.folder)))
    states = references(robot, front.mechanism, count)
    driver = Driver(built.folder / "bench", toolchain_for(options))
    d, nf = len(robot.independent), len(robot.ports)
    joined, alive = _joined(built.folder / "bench", library, d, options)
    inputs = [states.q, states.u, states.f]
    forward: CLoop = driver.loop("single", library.function("forward_dynamics"), library, inputs, [], d)
    derived: CLoop = driver.loop("single", joined, alive, inputs, [], d * (2 * d + nf))
    derived.seconds()
    error = _worst_difference(robot, states, derived.results)
    samples: dict[str, Callable[[], float]] = {"forward": forward.seconds, "ours": derived.seconds}
    samples.update(_pinocchio(name, states))
    before = machine.load()
    taken = [{key: sample() for key, sample in samples.items()} for _ in range(rounds)]
    times = {key: Spread.of([one[key] for one in taken]) for key in samples}

    def ratio(key: Callable[[dict[str, float]], float]) -> str:
        return significant(Spread.of([key(one) / one["ours"] for one in taken]).median)

    rows = [
        ["C, forward dynamics", microseconds(times["forward"]), ratio(lambda one: one["forward"])],
        ["C, forward dynamics and its derivatives", microseconds(times["ours"]), "1.00"],
        ["Pinocchio, constraintDynamics", microseconds(times["constraintDynamics"]),
         ratio(lambda one: one["constraintDynamics"])],
        ["Pinocchio, constraintDynamics and computeConstraintDynamicsDerivatives", microseconds(times["both"]),
         ratio(lambda one: one["both"])],
        ["Pinocchio, computeConstraintDynamicsDerivatives: the difference of both",
         microseconds(Spread.of([one["both"] - one["constraintDynamics"] for one in taken])),
         ratio(lambda one: one["both"] - one["constraintDynamics"])],
    ]  # fmt: skip
    fraction = Spread.of([one["ours"] / one["forward"] for one in taken]).median
    return (
        f"## {name}\n\n{d} freedoms, {nf} ports.  Derivatives over forward dynamics: {significant(fraction)}.  Error "
        f"{error:.1e}.  One-minute load: {before:.2f} to {machine.load():.2f}.\n\n"
        + table(["", "us per state", "of ours"], rows)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    wanted = asked("Measure the derivatives beside Pinocchio's.", "derivatives-speed.md", arguments, states=8)
    head = _HEAD.format(states=wanted.states, rounds=wanted.rounds, mu=_SETTINGS[1], step=_STEP)
    facts = {**machine.describe(toolchain_for(BuildOptions(derivatives=True)), None), **versions()}
    folder = ROOT / "build" / "derivatives"
    write_page(wanted, head, facts, lambda name: measure(name, folder, wanted.rounds, wanted.states))


if __name__ == "__main__":
    main()
