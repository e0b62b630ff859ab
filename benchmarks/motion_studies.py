"""The studies of the motion layer on one page: what prediction, modules and generated code are worth on whole routes.

    python -m benchmarks.motion_studies                     # everything; writes docs/motion-studies.md; half an hour
    python -m benchmarks.motion_studies --keep-walks        # the routes alone; the walks' section stays as it is
    python -m benchmarks.motion_studies --steps 0 --output /tmp/motion-studies.md    # without the random walks

Times are processor time of the measuring thread.  Ratios are formed within a round, before their median is taken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks import jacobians, machine, walk
from benchmarks.motion_routes import KNOTS, SAMPLES, digging_route, drive_waves, foot_steps, platform_reference
from benchmarks.replay import ROUNDS, Replay, replay, rows_of
from benchmarks.robots import ROOT, model
from benchmarks.spread import Spread, microseconds, significant, table
from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.toolchain import find_toolchain

Array = NDArray[np.float64]
TEXTS = Path(__file__).with_name("motion_studies_text.md")
JOINT_HELD = ("q23", "q7", "q4", "q0", "q1", "q21", "q22")
CYLINDER_HELD = ("q23", "p3", "p5", "p2", "p1", "q21", "q22")
BASE = tuple(f"base_link_free:{axis}" for axis in ("wx", "wy", "wz", "vx", "vy", "vz"))
FEET = "FL_FR_RL_RR"


def times(spread: Spread) -> str:
    """Median and quartiles of a ratio."""
    return f"**{significant(spread.median)}** ({significant(spread.lower)}-{significant(spread.upper)})"


def less(spread: Spread) -> str:
    """A ratio as time saved; more time where it is above one."""
    percent = 100 * (1 - spread.median)
    return f"{abs(percent):.0f} % {'less' if percent >= 0 else 'more'}"


def acceptance(studies: Sequence[tuple[str, Replay]]) -> str:
    """Rows accepted and what they needed."""
    rows = [
        [label, form, f"{found.accepted[form]} of {found.rows}", f"{found.evaluations[form]:.2f}",
         " / ".join(map(str, found.modes[form][:4])), f"{found.residual[form]:.1e}", f"{found.apart[form]:.1e}",
         microseconds(found.time(form))]
        for label, found in studies for form in ("direct", "predicted", "continued")
    ]  # fmt: skip
    head = [
        "route", "mode", "accepted", "evaluations per row", "rested / direct / predicted / continued", "residual",
        "apart from predicted", "microseconds per row",
    ]  # fmt: skip
    return table(head, rows)


def stewart(folder: Path, rounds: int) -> dict[str, str]:
    """The platform's tables."""
    robot = rc.compile(model("stewart"), output=folder)
    knots = platform_reference(robot)
    coarse = knots[::10]
    studies = [
        (f"{KNOTS} knots, three times", replay(robot, rows_of(robot, np.vstack([knots] * 3)), rounds)),
        (f"{len(coarse)} knots, thirty times", replay(robot, rows_of(robot, np.vstack([coarse] * 30)), rounds)),
    ]
    counts = [
        [k.system, k.jacobian, str(k.groups) if k.groups else "-", f"{k.points:.2f}", f"{k.calls:.1f}", str(k.typical),
         {("augmented", "analytic"): "3", ("augmented", "dense"): "183", ("augmented", "coloured"): "63"}.get(
             (k.system, k.jacobian), "-"), f"{k.apart:.1e}"]
        for k in jacobians.evaluations(robot, knots)
    ]  # fmt: skip
    count_head = [
        "system", "Jacobian", "groups of columns", "points", "residual calls, Jacobian where a step is taken",
        "the same, Jacobian at every point", "the paper", "apart from the route",
    ]  # fmt: skip
    seconds = jacobians.representations(robot, "stewart", coarse, 7)
    return {
        "stewart_accepted": acceptance(studies),
        "stewart_saved": saved(studies, seconds),
        "stewart_jacobians": table(count_head, counts),
        "stewart_forms": representations(seconds),
    }


SLOWER = {
    "condensed, compiled": "condensed, compiled",
    "condensed, CasADi's interpreter": "condensed, compiled",
    "augmented, compiled": "condensed, compiled",
    "augmented, paths walked in numpy": "augmented, compiled",
}


def representations(seconds: dict[str, list[float]]) -> str:
    """Times of a knot by representation."""
    rows = [
        [key, microseconds(Spread.of(seconds[f"{key}, direct"])), microseconds(Spread.of(seconds[key])),
         times(jacobians.ratio(seconds, key, other)), other]
        for key, other in SLOWER.items()
    ]  # fmt: skip
    return table(
        ["rows and Jacobian", "direct, microseconds", "predicted, microseconds", "predicted: times", "of"], rows
    )


def saved(studies: Sequence[tuple[str, Replay]], seconds: dict[str, list[float]]) -> str:
    """What each means saves, beside the paper."""
    rows = [
        [f"prediction, generated C, {label}", less(found.ratio("predicted", "direct")), evaluations_less(found), paper]
        for (label, found), paper in zip(studies, ("33 % less time", "-"), strict=True)
    ]
    rows += [
        [f"prediction, numpy loop, {key}", less(jacobians.ratio(seconds, key, f"{key}, direct")), "-", "-"]
        for key in ("condensed, compiled", "augmented, paths walked in numpy")
    ]
    for compiled, other, paper in (
        ("condensed, compiled", "condensed, CasADi's interpreter", "14 % less time"),
        ("augmented, compiled", "augmented, paths walked in numpy", "-"),
    ):
        share = less(jacobians.ratio(seconds, compiled, other))
        rows.append([f"generated closure, numpy loop, against {other.partition(', ')[2]}", share, "the same", paper])
    return table(["enabled against disabled", "our time", "our evaluations", "the paper"], rows)


def evaluations_less(found: Replay) -> str:
    """Newton evaluations that prediction saves."""
    return f"{found.evaluations['direct']:.2f} to {found.evaluations['predicted']:.2f}"


def modular(studies: Sequence[tuple[str, Replay]]) -> str:
    """Updates by the dependency index against updates of the whole robot."""
    rows = [
        [label, f"{found.accepted['predicted']} and {found.accepted['global']} of {found.rows}",
         microseconds(found.time("predicted")), microseconds(found.time("global")),
         times(found.ratio("global", "predicted")), times(found.ratio("every", "predicted")),
         f"{max(found.apart['global'], found.apart['every']):.1e}"]
        for label, found in studies
    ]  # fmt: skip
    head = [
        "route", "accepted", "modular, microseconds", "global, microseconds", "global / modular",
        "every module by the updater / modular", "apart",
    ]  # fmt: skip
    return table(head, rows)


def excavator(folder: Path, rounds: int) -> str:
    """The digging cycle in both forms, and its stretches by what they touch."""
    held = rc.compile(model("excavator"), output=folder / "cylinders", independent=CYLINDER_HELD)
    joints = rc.compile(model("excavator"), output=folder / "joints", independent=JOINT_HELD)
    route = digging_route(held)
    places = [held.coordinates.index(name) for name in joints.coordinates]
    stretch = (SAMPLES - 1) // 7
    studies = []
    for form, robot, route_q in (("cylinders held", held, route), ("joints held", joints, route[:, places])):
        parts = {
            f"{form}: the whole route": route_q,
            f"{form}: swing alone (no loop)": route_q[: stretch + 1],
            f"{form}: boom alone (of {len(robot.modules)} modules)": route_q[stretch : 2 * stretch + 1],
            f"{form}: boom, stick and bucket together": route_q[6 * stretch :],
        }
        studies += [(label, replay(robot, rows_of(robot, part), rounds)) for label, part in parts.items()]
    return modular(studies)


def legs(folder: Path, rounds: int) -> str:
    """Go2's feet over a held base, and one module of Kangaroo."""
    go2 = rc.compile(model("go2"), output=folder / "feet", supports=FEET, independent=BASE).support(FEET)
    at_rest = np.tile(go2.reference, (601, 1))
    studies = []
    for label, feet in (
        ("Go2: one foot", ("FL_contact",)),
        ("Go2: two feet", ("FL_contact", "RR_contact")),
        ("Go2: four feet", ("FL_contact", "FR_contact", "RL_contact", "RR_contact")),
    ):
        rows = rows_of(go2, at_rest, foot_steps(go2, feet, len(at_rest)))
        studies.append((label, replay(go2, rows, rounds)))
    kangaroo = rc.compile(model("kangaroo"), output=folder)
    every = {
        f"leg_{side}_{motor}_motor": reach
        for side in ("left", "right")
        for motor, reach in (("length", 0.01), ("2", 0.01), ("1", -0.01))
    }
    for label, reaches in (
        ("Kangaroo: one leg's length (22 dependents)", {"leg_left_length_motor": 0.01}),
        ("Kangaroo: one hip differential (8 dependents)", {"leg_left_2_motor": 0.01}),
        ("Kangaroo: one hip yaw (2 dependents)", {"leg_left_1_motor": -0.01}),
        ("Kangaroo: all six modules", every),
    ):
        rows = rows_of(kangaroo, drive_waves(kangaroo, reaches, 601))
        studies.append((label, replay(kangaroo, rows, rounds)))
    return modular(studies)


def walks(folder: Path, robots: Sequence[str], steps: int) -> str:
    """The random walks of all robots, a line each."""
    if not steps:
        return "Not run for this page.\n"
    rows = []
    for name in robots:
        tell(f"walk: {name}")
        rows.append(walk.measure(name, folder, steps, 0.02))
    return table(walk.HEAD, rows)


def tell(text: str) -> None:
    """Progress."""
    print(f"{text} (load {machine.load():.2f})", file=sys.stderr, flush=True)


def page(folder: Path, rounds: int, steps: int, walked: Callable[[], str]) -> str:
    """Everything measured, in the words of `motion_studies_text.md`; walked: makes the table of the walks."""
    loads = [machine.load()]
    tell("stewart")
    parts = stewart(folder, rounds)
    tell("excavator")
    parts["excavator"] = excavator(folder, rounds)
    tell("legs")
    parts["legs"] = legs(folder, rounds)
    loads.append(machine.load())
    parts["walks"] = walked()
    where = {**machine.describe(find_toolchain()), "load while measuring": f"{min(loads):.1f} to {max(loads):.1f}"}
    parts["machine"] = table(["machine", ""], list(map(list, where.items()))).replace("---:", "---")
    text = TEXTS.read_text(encoding="utf-8")
    for name, content in {**parts, "rounds": str(rounds), "steps": f"{steps:,}"}.items():
        text = text.replace(f"<<{name}>>", content.rstrip("\n"))
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "motion-studies.md")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "motion_studies", help="compiled robots")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--steps", type=int, default=1_000_000, help="of the random walks; 0: none")
    parser.add_argument("--robots", default=",".join(walk.ROBOTS), help="that walk")
    parser.add_argument("--keep-walks", action="store_true", help="of the page that is there")
    given = parser.parse_args(arguments)
    if given.keep_walks:
        before = given.output.read_text(encoding="utf-8").partition("## Random walks")[2]
        steps, kept = int(before.split("`: ")[1].split()[0].replace(",", "")), before[before.index("\n| robot") + 1 :]
        content = page(given.build, given.rounds, steps, lambda: kept)
    else:
        robots = given.robots.split(",")
        content = page(given.build, given.rounds, given.steps, lambda: walks(given.build, robots, given.steps))
    write_atomically(given.output, content.encode())


if __name__ == "__main__":
    main()
