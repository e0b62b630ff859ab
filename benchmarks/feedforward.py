"""What the reduced dynamics as feedforward are worth; writes docs/feedforward.md and docs/feedforward_*.svg.

    python -m benchmarks.feedforward [--robots stewart,kangaroo] [--duration 1.5]

Tracking of sinusoids at the ports, in our own simulation and in MuJoCo with the exported models.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks.feedforward_mujoco import Softness
from benchmarks.feedforward_robots import CASES, HURRY, RAMP, Case
from benchmarks.feedforward_run import FULL, LAWS, PERIOD, SLIP, Outcome, gains, ours, theirs
from benchmarks.robots import ROOT
from benchmarks.spread import table
from robocompiler.backend.atomic import write_atomically
from robocompiler.runtime.simulation.plot import Panel, panels_svg

Array = NDArray[np.float64]

AS_EXPORTED = Softness(1e-4, 2, 0.0, 0.0)
HEAVIER = (Softness(1e-4, 2, 1e-3, 1e-6), Softness(1e-4, 2, 1e-2, 1e-5))  # tried where the exported model diverges

HEAD = """\
# Feedforward

Written by `python -m benchmarks.feedforward`; do not edit.

How well do the ports follow a reference under feedback alone, with the gravity of the reference as feedforward, and
with its whole reduced inverse dynamics? The [controller](simulation.md#tracking) is

    f = f_ff + K_p (l_ref − l) + K_d (l̇_ref − l̇),     Lᵀ f_ff = h_r(q_ref, 0)  or  M_r(q_ref) u̇_ref + h_r(q_ref, u_ref)

sampled every {period:g} ms and held between, with the ports' effort limits. The reference of port k is its start plus
A r(t) sin(2π f {hurry}^(k mod 6) t), of alternating sign, with r a quintic ramp over {ramp:g} s; loops are closed along
it.

**Gains.** The paper's gains are not in our sources, so these are chosen and the errors below are not the paper's:
K_p = ω² m_k and K_d = 2 ω m_k, critically damped, with m_k the inertia that port k feels at the reference (the diagonal
of L⁻ᵀ M_r L⁻¹) and ω = {bandwidth:g} rad/s, well above the references' frequencies and well below that of the samples.

Both plants run the same law; MuJoCo's feedforward comes from our reduced dynamics too. Our plant closes its loops at
every step; its dry friction is level · tanh(v / {slip:g}). MuJoCo {mujoco} holds loops softly: `solimp` 0.95 0.999
1e-4, `solref` with damping 1 and the time constant told, Newton's solver, `implicitfast`; its friction is a constraint.
A run of MuJoCo ends as diverging where an equality opens by more than 0.02 (m or rad). The feedforward has no dry
friction. Errors are l_ref − l over all ports and samples of {duration:g} s, in mm; closure is the largest of a run
(ours scaled by the length of the robot, MuJoCo's in m or rad).
"""


def section(case: Case, robot: rc.Robot, outcomes: Sequence[tuple[Outcome, str]]) -> str:
    """The Markdown of a robot."""
    kp, kd = gains(robot, case)
    cells = []
    for outcome, setting in outcomes:
        failed = f"; {outcome.failure}" if outcome.failure else ""
        errors = ["-", "-"] if outcome.failure else [f"{1e3 * outcome.rms:.4f}", f"{1e3 * outcome.worst:.4f}"]
        size = [f"{outcome.largest_effort:.0f}", f"{outcome.gap:.0e}"]
        cells.append([outcome.place, outcome.law, *errors, *size, setting + failed])
    header = ["plant", "law", "RMS, mm", "largest, mm", "largest effort, N", "closure", "settings"]
    return (
        f"## {case.title}\n\nA = {1e3 * case.size:g} mm, f = {case.frequency:g} Hz; K_p {kp.min():.4g} to "
        f"{kp.max():.4g} N/m, K_d {kd.min():.4g} to {kd.max():.4g} N s/m.\n\n{table(header, cells)}\n"
        f"{_ratios(outcomes)}\n![errors](feedforward_{case.name}.svg)\n"
    )


def _ratios(outcomes: Sequence[tuple[Outcome, str]]) -> str:
    lines = []
    for place in dict.fromkeys((outcome.place, setting) for outcome, setting in outcomes):
        found = {o.law: o.rms for o, setting in outcomes if (o.place, setting) == place and not o.failure}
        first = next(iter(LAWS))
        if {first, FULL} <= set(found):
            lines.append(
                f"{place[0]} ({place[1]}): the reduced dynamics divide the RMS error of the feedback alone by "
                f"{found[first] / found[FULL]:.0f}.\n"
            )
    return "\n".join(lines)


def document_rows(text: str) -> list[list[str]]:
    """The cells of the table of a section."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def measure(case: Case, folder: Path, duration: float) -> tuple[rc.Robot, list[tuple[Outcome, str]]]:
    """All runs of a robot, each with its settings in words."""
    robot = rc.compile(case.records(), output=folder)
    setting = f"{case.method}, step {PERIOD / case.substeps:g} s"
    outcomes = [(outcome, setting) for outcome in ours(robot, case, duration)]
    found = theirs(robot, case, duration, AS_EXPORTED, list(LAWS))
    outcomes += [(outcome, AS_EXPORTED.told()) for outcome in found]
    if any(outcome.failure for outcome in found):
        for softness in HEAVIER:
            outcomes += [(o, softness.told()) for o in theirs(robot, case, duration, softness, list(LAWS))]
    return robot, outcomes


def picture(case: Case, outcomes: Sequence[tuple[Outcome, str]]) -> str:
    """The largest error of any port over time, by law: our plant, and the last settings of MuJoCo that went through."""
    whole = [outcome for outcome, _ in outcomes if not outcome.failure]
    t = next(outcome.t for outcome in whole if outcome.place == "RoboCompiler")
    panels = []
    for place in ("RoboCompiler", "MuJoCo"):
        runs = {o.law: o for o in whole if o.place == place}
        curves = {law: 1e3 * np.interp(t, o.t, np.abs(o.errors).max(axis=1)) for law, o in runs.items()}
        if curves:
            panels.append(Panel(f"{place}: largest port error", "mm", curves))
            small = {law: curve for law, curve in curves.items() if law.startswith(FULL)}
            panels.append(Panel(f"{place}: the same, enlarged", "mm", small))
    return panels_svg(case.title, t, panels)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Measure tracking with and without feedforward.")
    parser.add_argument("--robots", default=",".join(case.name for case in CASES), help="comma-separated names")
    parser.add_argument("--duration", type=float, default=1.5, help="seconds of motion")
    parser.add_argument("--output", type=Path, default=ROOT / "docs", help="folder of the page and its pictures")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "feedforward", help="folder of compiled robots")
    options = parser.parse_args(arguments)
    chosen = [case for case in CASES if case.name in options.robots.split(",")]
    parts = [
        HEAD.format(
            period=1e3 * PERIOD, hurry=HURRY, ramp=RAMP, bandwidth=CASES[0].bandwidth, slip=SLIP,
            mujoco=mujoco.__version__, duration=options.duration,
        )
    ]  # fmt: skip
    for case in chosen:
        robot, outcomes = measure(case, options.build, options.duration)
        for outcome, setting in outcomes:
            print(case.name, outcome.place, outcome.law, f"{outcome.rms:.3e}", outcome.failure, setting, flush=True)
        parts.append(section(case, robot, outcomes))
        name = f"feedforward_{case.name}.svg"
        write_atomically(options.output / name, picture(case, outcomes).encode("utf-8"))
    write_atomically(options.output / "feedforward.md", "\n".join(parts).encode("utf-8"))


if __name__ == "__main__":
    main()
