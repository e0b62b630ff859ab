"""The same inputs through the motion layer in several forms, in C: times by form and round, and what was accepted."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks.robots import ROOT
from benchmarks.spread import Spread
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.runtime.motion.inputs import Inputs

Array = NDArray[np.float64]
FORMS = ("direct", "predicted", "continued", "global", "every")
ROUNDS = 15


@dataclass(frozen=True)
class Replay:
    """One list of rows in all forms.

    seconds (rounds, forms): processor time per row; evaluations: Newton's per row (none counted for `global`);
    modes: rows by mode; residual: the largest (rad, or m); apart: how far configurations lie from those of `predicted`,
    rad or m.
    """

    rows: int
    seconds: Array
    accepted: dict[str, int]
    evaluations: dict[str, float]
    modes: dict[str, list[int]]
    residual: dict[str, float]
    apart: dict[str, float]

    def time(self, form: str) -> Spread:
        """Seconds per row."""
        return Spread.of(self.seconds[:, FORMS.index(form)].tolist())

    def ratio(self, form: str, to: str) -> Spread:
        """Time of one form over that of another, formed within each round."""
        return Spread.of((self.seconds[:, FORMS.index(form)] / self.seconds[:, FORMS.index(to)]).tolist())


def inputs_of(robot: rc.Robot) -> Inputs:
    """The inputs of a robot, as its updater has them."""
    return Inputs(robot._description)


def build(robot: rc.Robot, folder: Path) -> Path:
    """The program for one robot, made in `folder`."""
    library = robot._library.folder
    manifest = read_manifest(find_manifest(library))
    prefix, scalars = manifest["prefix"], inputs_of(robot).scalars
    places = [scalars[i].coordinate if i in scalars else -1 for i in range(len(robot.independent))]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "replay_data.h").write_text(f"static const int coordinate[] = {{ {', '.join(map(str, places))} }};\n")
    header = (library / f"{prefix}.h").read_text()
    macro = next(line.split()[1] for line in header.splitlines() if "_ABI" in line)[:-4]
    command = ["cc", "-O2", "-Wall", "-Wextra", f"-DPREFIX={prefix}", f"-DMACRO={macro}"]
    command += [f'-DHEADER="{prefix}_motion.h"', f"-I{library}", f"-I{folder}", str(ROOT / "benchmarks" / "replay.c")]
    command += ["-o", str(folder / "replay"), f"-L{library}", f"-l{prefix}", f"-Wl,-rpath,{library.resolve()}", "-lm"]
    subprocess.run(command, check=True)
    return folder / "replay"


def rows_of(robot: rc.Robot, configurations: Array, parameters: Array | None = None) -> Array:
    """(n, d + np) rows of inputs read off configurations (n, nq), with parameters (n, np); other inputs are 0."""
    scalars = inputs_of(robot).scalars
    table = np.zeros((len(configurations), len(robot.independent)))
    for index, scalar in scalars.items():
        table[:, index] = configurations[:, scalar.coordinate]
    given = np.array(list(robot.parameters.values()))
    held = np.tile(given, (len(table), 1)) if parameters is None else parameters
    return np.hstack((table, held))


def replay(robot: rc.Robot, rows: Array, rounds: int = ROUNDS) -> Replay:
    """Run rows (n, d + np) through all forms."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        program, given, found = build(robot, folder), folder / "rows", folder / "configurations"
        np.ascontiguousarray(rows, dtype=np.float64).tofile(given)
        command = [str(program), str(given), str(len(rows)), str(rounds), str(found)]
        printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        configurations = np.fromfile(found).reshape(len(FORMS), len(rows), -1)
    sums = dict(zip(FORMS, printed["forms"], strict=True))
    reference = configurations[FORMS.index("predicted")]
    return Replay(
        rows=len(rows),
        seconds=1e-6 * np.array(printed["times"]).reshape(rounds, len(FORMS)),
        accepted={form: int(one["accepted"]) for form, one in sums.items()},
        evaluations={form: one["evaluations"] / len(rows) for form, one in sums.items()},
        modes={form: one["modes"] for form, one in sums.items()},
        residual={form: float(one["residual"]) for form, one in sums.items()},
        apart={f: float(np.abs(q - reference).max()) for f, q in zip(FORMS, configurations, strict=True)},
    )
