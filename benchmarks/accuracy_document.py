"""The accuracy document: tables of maxima and medians, verdicts, a plot a robot."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from benchmarks import machine
from benchmarks.accuracy_draws import MODES, RANGES
from benchmarks.accuracy_run import OURS
from benchmarks.dots import dots
from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.toolchain import find_toolchain
from robocompiler.oracle.arithmetic import verification_package

Errors = dict[str, list[list[float]]]  # (delta_a, delta_f, r_c) of every state, by solver
MEASURES = ("delta_a", "delta_f", "r_c")
_HEAD = """\
# Accuracy of forward dynamics

Written by `python -m benchmarks.accuracy`; do not edit.

Random states on the manifold (three random moves from the reference along the mechanism, within limits), with random
independent speeds, port efforts and an external wrench:

{ranges}

The reference solves maximal coordinates in 50 digits.  Every solver gets the same state, effort and wrench: those of
the 50-digit state, rounded to double once.  The peers are built from the same records; efforts, damping and wrench
reach them as forces on the joints of their tree, computed in many digits and rounded once.

`a` are the accelerations of the independent speeds of the port chart; rad/s^2 and m/s^2 count alike.
delta_a = |a - a_ref| / max(1, |a_ref|);  delta_f = |M (a - a_ref)| / max(1, |M a_ref + h|), with M and h of the same
chart;  r_c is the largest |A a + Adot V| over the closing joints' constraint rows (rad/s^2, m/s^2) when all bodies move
with the solver's accelerations of the tree joints, evaluated in many digits.  MuJoCo's closures are soft and leave out
the rate of the constraint Jacobian, which is what its numbers show; nothing is wrong with its tree.  A robot in support
modes has as many states in each of them; held feet are joints to the world, which the peers take into their trees.

Measured on {machine}, with Pinocchio {pinocchio} and MuJoCo {mujoco}, seed {seed}.

"""


def table(errors: Mapping[str, list[list[float]]]) -> str:
    """Maxima and medians by solver, the least of each column in bold."""
    rows = {
        solver: [function(column) for column in zip(*values, strict=True) for function in (max, statistics.median)]
        for solver, values in errors.items()
    }
    least = [min(column) for column in zip(*rows.values(), strict=True)]
    lines = [
        "| solver | delta_a max | median | delta_f max | median | r_c max | median |",
        "| --- " + "| ---: " * 6 + "|",
    ]
    for solver, numbers in rows.items():
        cells = [f"**{x:.1e}**" if x == best else f"{x:.1e}" for x, best in zip(numbers, least, strict=True)]
        lines.append(f"| {solver} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def comparison_text(errors: Mapping[str, list[list[float]]]) -> str:
    """Where ours stands among all solvers, measure by measure."""
    words = []
    for k, measure_name in enumerate(MEASURES):
        worst = {solver: max(row[k] for row in values) for solver, values in errors.items()}
        peer = min((solver for solver in worst if solver != OURS), key=lambda solver: worst[solver])
        ratio = worst[OURS] / worst[peer]
        place = "at or below every peer" if ratio <= 1 else f"{ratio:.1f} times that of {peer}"
        words.append(f"{measure_name}: {place}")
    return "Largest errors of RoboCompiler: " + "; ".join(words) + "."


def joined(modes: Mapping[str, Errors]) -> Errors:
    """The errors of all support modes as one set of states."""
    total: Errors = {}
    for errors in modes.values():
        for solver, rows in errors.items():
            total[solver] = total.get(solver, []) + rows
    return total


def mode_table(modes: Mapping[str, Errors]) -> str:
    """Maxima by support mode: ours, and beside it the least of any peer."""
    lines = [
        "| mode | states | delta_a max | least of a peer | delta_f max | least of a peer | r_c max | least of a peer |",
        "| --- " + "| ---: " * 7 + "|",
    ]
    for mode, errors in modes.items():
        cells = [mode, str(len(errors[OURS]))]
        for k in range(len(MEASURES)):
            worst = {solver: max(row[k] for row in rows) for solver, rows in errors.items()}
            ours = worst.pop(OURS)
            peer = min(worst, key=lambda solver: worst[solver])
            cells += [f"{ours:.1e}", f"{worst[peer]:.1e} ({peer.removeprefix('Pinocchio ')})"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def section(name: str, modes: Mapping[str, Errors], picture: str) -> str:
    """Title, table, verdict and plot of one robot; maxima by mode where there are several."""
    errors = joined(modes)
    count = len(errors[OURS])
    title = f"{name.capitalize()}, {count} states" + (f" in {len(modes)} support modes" if len(modes) > 1 else "")
    parts = [f"## {title}", table(errors), comparison_text(errors)]
    if len(modes) > 1:
        parts += ["Largest errors by mode:", mode_table(modes)]
    parts.append(f"![delta_a of every solver on the {name}]({picture})")
    return "\n\n".join(parts)


def write(found: Mapping[str, Mapping[str, Errors]], output: Path, seed: int) -> None:
    """The document from the errors by robot and mode, and beside it one plot of delta_a a robot."""
    about = machine.describe(find_toolchain())
    ranges = "\n".join(f"- {name}: {_range_text(name)}" for name in found)
    versions = {name: str(verification_package(name, name).__version__) for name in ("pinocchio", "mujoco")}
    parts = [
        _HEAD.format(machine=f"{about['processor']}, {about['compiler']}", seed=seed, ranges=ranges, **versions).strip()
    ]
    for name, modes in found.items():
        picture = output.with_name(f"{output.stem}_{name}.svg")
        errors = joined(modes)
        title = f"{name}: delta_a at {len(errors[OURS])} states" + (f", {len(modes)} modes" if len(modes) > 1 else "")
        write_atomically(
            picture, dots(title, {solver: [row[0] for row in rows] for solver, rows in errors.items()}).encode()
        )
        parts.append(section(name, modes, picture.name))
    words = ",".join(_asked(name, modes) for name, modes in found.items())
    parts.append(f"## Command\n\n    python -m benchmarks.accuracy --robots {words}")
    write_atomically(output, ("\n\n".join(parts) + "\n").encode())


def _asked(name: str, modes: Mapping[str, Errors]) -> str:
    """What to ask for on the command line to measure the same again."""
    counts = {mode: len(errors[OURS]) for mode, errors in modes.items()}
    if len(counts) == 1 + len(MODES.get(name, ())) and len(set(counts.values())) == 1:
        return f"{name}:{sum(counts.values())}"
    return ",".join(f"{name}/{mode}:{count}" for mode, count in counts.items())


def _range_text(name: str) -> str:
    ranges = RANGES[name]
    efforts = ", ".join(f"{x:g}" for x in ranges.efforts)
    return (
        f"speeds up to {ranges.speed:g} rad/s or m/s, efforts up to {efforts} N or N m by port, a torque up to "
        f"{', '.join(f'{x:g}' for x in ranges.wrench[:3])} N m and a force up to "
        f"{', '.join(f'{x:g}' for x in ranges.wrench[3:])} N at `{ranges.frame}`"
    )
