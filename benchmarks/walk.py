"""A million updates of a random walk through the motion layer of every shipped robot, in C through its library.

    python -m benchmarks.walk                                 # all models, 10^6 updates each
    python -m benchmarks.walk --robots stewart,go2 --steps 100000 --size 0.05

Every update moves all inputs, or one, by a uniform increment up to `size` (radians, or length scales); what joint
limits, dead centres or branches refuse is taken back.  Of the accepted configurations 200 are checked here against
code of another kind: the complete residual and the signs of det R_p by numpy, the oracle's free assembly from the
independents alone being `robot.assemble`.  The walk must show no number that is not finite, no closure above the
acceptance level, no changed state after a refusal, and no wrong branch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks.robots import ROOT, model
from benchmarks.spread import table
from robocompiler.runtime.acceptance import Acceptance
from robocompiler.runtime.evaluation import Evaluation
from robocompiler.runtime.motion.reports import Cause

Array = NDArray[np.float64]
ROBOTS = tuple(sorted(path.stem for path in (ROOT / "models").glob("*.yaml")))


def driver(robot: rc.Robot, folder: Path) -> Path:
    """The walk of one compiled robot as a program."""
    manifest = json.loads(next(folder.glob("*.manifest.json")).read_text())
    scales = [manifest["velocities"][robot.velocities.index(name)]["scale"] for name in robot.independent]
    (folder / "walk_data.h").write_text(f"static const double scale[] = {{ {', '.join(map(repr, scales))} }};\n")
    prefix, program = manifest["prefix"], folder / "walk"
    macro = next(line.split()[1] for line in (folder / f"{prefix}.h").read_text().splitlines() if "_ABI" in line)[:-4]
    command = ["cc", "-O2", "-Wall", "-Wextra", f"-DPREFIX={prefix}", f"-DMACRO={macro}"]
    command += [f'-DHEADER="{prefix}_motion.h"', f"-I{folder}", str(ROOT / "benchmarks" / "walk.c"), "-o", str(program)]
    command += [f"-L{folder}", f"-l{prefix}", f"-Wl,-rpath,{folder.resolve()}", "-lm"]
    subprocess.run(command, check=True)
    return program


def check(robot: rc.Robot, samples: Array) -> dict[str, float]:
    """Independent checks of accepted configurations: residual, branches, and agreement with fresh assembly."""
    acceptance = Acceptance(Evaluation(robot._library, robot._description, "port", robot._parameter_array))
    wrong = sum(bool(acceptance.off_branch(q)) for q in samples)
    agree = differ = unreached = 0
    partial = {name.partition(":")[0] for name in robot.independent if ":" in name}
    own = {name: robot.coordinates.index(name) for name in robot.independent if name in robot.coordinates}
    manifest = json.loads(next(robot._library.folder.glob("*.manifest.json")).read_text())
    angular = np.array([entry["unit"] == "rad" for entry in manifest["coordinates"]])
    for q in samples:
        given = {name: q[place] for name, place in own.items()}
        try:
            fresh = robot.assemble(robot.configuration(given))
        except rc.AssemblyError:
            unreached += 1
            continue
        tree = [robot.coordinates.index(n) for n in robot.coordinates if n.partition(":")[0] not in partial]
        if partial:  # free roots and spins of rods are not in `given`: only scalar joints compare
            tree = [i for i in tree if ":" not in robot.coordinates[i]]
        turns = np.where(angular, np.round((fresh - q) / (2 * np.pi)), 0.0)  # whole turns are no other assembly
        close = bool(np.abs(fresh - q - 2 * np.pi * turns)[tree].max(initial=0.0) < 1e-6)
        agree, differ = agree + close, differ + (not close)
    residual = max(acceptance.residual(q) for q in samples)
    return {"wrong": wrong, "agree": agree, "differ": differ, "unreached": unreached, "residual": residual}


def walk(name: str, folder: Path, steps: int, size: float, predict: bool, seed: int) -> tuple[dict[str, object], Array]:
    """The numbers of one walk, and its samples."""
    robot = rc.load(folder / name)
    program, samples = driver(robot, folder / name), folder / f"{name}.samples"
    done = subprocess.run(
        [str(program), str(steps), str(seed), str(size), str(int(predict)), str(samples)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout), np.fromfile(samples).reshape(-1, len(robot.coordinates))


def row(name: str, numbers: dict[str, object], found: dict[str, float]) -> list[str]:
    """One line of the table."""
    modes, refused = numbers["modes"], numbers["refused"]
    assert isinstance(modes, list) and isinstance(refused, list)
    causes = ", ".join(f"{Cause(1 << bit).name} {n}" for bit, n in enumerate(refused) if n) or "none"
    return [
        name, f"{numbers['median']:.3g}", f"{numbers['p99']:.3g}", f"{numbers['p9999']:.3g}", f"{numbers['worst']:.3g}",
        f"{numbers['evaluations']:.2f}", f"{numbers['most']}", " / ".join(map(str, modes[1:])), causes.lower(),
        f"{numbers['residual']:.1e}", f"{found['wrong']:.0f}",
        f"{found['agree']:.0f} / {found['differ']:.0f} / {found['unreached']:.0f}",
    ]  # fmt: skip


HEAD = [
    "robot", "median us", "99 %", "99.99 %", "worst", "evaluations", "most",
    "direct / predicted / continued / recovered",
    "refused", "residual", "wrong branch", "fresh assembly: same / other / refused",
]  # fmt: skip


def measure(name: str, folder: Path, steps: int, size: float, predict: bool = True, seed: int = 1) -> list[str]:
    """Compile a robot into a folder where needed, walk, check; its line of the table."""
    robot = rc.compile(model(name), output=folder)
    numbers, samples = walk(name, folder, steps, size, predict, seed)
    assert not any(numbers[key] for key in ("not_finite", "state_changed", "not_repeated")), (name, numbers)
    return row(name, numbers, check(robot, samples))


def main() -> None:
    """Compile, walk, check, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", default=",".join(ROBOTS))
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--size", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-prediction", action="store_true")
    parser.add_argument("--output", type=Path, help="folder of compiled robots, used or filled (default: temporary)")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.output or Path(temporary)
        for name in given.robots.split(","):
            rows.append(measure(name, folder, given.steps, given.size, not given.no_prediction, given.seed))
            print(" | ".join(rows[-1]), flush=True)
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
