"""Random mechanisms through the whole compiler: draw, compile, compare every quantity with the oracle, judge.

A mechanism passes, is refused for a reason that the oracle confirms, or fails; what fails can be drawn again by its
seed.  Compiling is the caller's: this part sees a function from records and a folder to a loaded robot.
"""

from __future__ import annotations

import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robocompiler.check.random_mechanism import random_mechanism
from robocompiler.check.random_refusals import justified
from robocompiler.check.run import check_robot
from robocompiler.errors import AssemblyError, RankError
from robocompiler.records.model import Mechanism
from robocompiler.records.yaml_writer import mechanism_yaml
from robocompiler.runtime.robot import Robot

Compile = Callable[[Mechanism, Path], Robot]
PASSED, REFUSED, FAILED = "passed", "refused", "failed"
_SHIFT = 0.05  # relative change of run-time parameters


@dataclass(frozen=True)
class Outcome:
    """What became of one random mechanism.

    Attributes:
        seed: draws it again.
        verdict: 'passed', 'refused' (by the compiler, and the oracle confirms why) or 'failed'.
        reason: of a refusal or failure, one line: the quantities with their discrepancies, or the error.
        evidence: what the oracle says of a refusal; the traceback of an unexpected error.
        bodies, joints, freedoms: its size (freedoms -1 where it was not compiled).
        notes: what was not compared.
        seconds: time that it took.
    """

    seed: int
    verdict: str
    reason: str = ""
    evidence: str = ""
    bodies: int = 0
    joints: int = 0
    freedoms: int = -1
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


def check_random(seed: int, compile_robot: Compile, states: int = 2) -> Outcome:
    """Draw the mechanism of a seed, compile it into a temporary folder and compare it with the oracles."""
    begin = time.monotonic()
    records = random_mechanism(seed).mechanism
    size = {"bodies": len(records.bodies), "joints": len(records.joints)}

    def outcome(verdict: str, reason: str = "", evidence: str = "", **more: object) -> Outcome:
        took = time.monotonic() - begin
        return Outcome(seed, verdict, reason, evidence, **size, **more, seconds=took)  # type: ignore[arg-type]

    with tempfile.TemporaryDirectory(prefix="robocompiler_random_") as folder:
        try:
            robot = compile_robot(records, Path(folder))
        except (RankError, AssemblyError) as error:
            right, evidence = justified(error, records)
            return outcome(REFUSED if right else FAILED, _line(error), evidence)
        except Exception as error:  # whatever the compiler raises here is a finding
            return outcome(FAILED, _line(error), traceback.format_exc())
        try:
            wrong, notes = _compare(robot, records, states, seed)
        except Exception as error:  # likewise of the compiled robot
            return outcome(FAILED, _line(error), traceback.format_exc(), freedoms=len(robot.independent))
    reason = "; ".join(wrong)
    return outcome(FAILED if wrong else PASSED, reason, freedoms=len(robot.independent), notes=notes)


def reproduce(seed: int) -> str:
    """The command that checks the mechanism of a seed again and keeps it."""
    return f"robocompile check --random 1 --seed {seed} --save FOLDER"


def random_yaml(seed: int) -> str:
    """The mechanism of a seed as YAML."""
    return mechanism_yaml(random_mechanism(seed).mechanism)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _compare(robot: Robot, records: Mechanism, states: int, seed: int) -> tuple[list[str], tuple[str, ...]]:
    """Quantities out of tolerance, at the default parameters and at changed ones, and what was left out."""
    notes: list[str] = []
    robots = [robot]
    if robot.parameters:
        random = np.random.default_rng(seed)
        changed = robot.with_parameters(
            {name: value * (1 + random.uniform(-_SHIFT, _SHIFT)) for name, value in robot.parameters.items()}
        )
        try:
            changed.assemble(changed.reference)
            robots.append(changed)
        except (AssemblyError, RankError) as error:
            notes.append(f"changed parameters: {_line(error)}")
    wrong = []
    for one in robots:
        report = check_robot(one, records, states=states, seed=seed)
        label = "" if one is robot else "changed parameters: "
        wrong += [
            f"{label}{f.quantity} ({f.reference}) off by {f.discrepancy:.1e}" for f in report.findings if not f.passed
        ]
    return wrong, tuple(notes)
