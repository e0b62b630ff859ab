"""What stands behind a Robot, for the parts of this project that move it step by step and show how it fares."""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.runtime.acceptance import Acceptance
from robocompiler.runtime.assembly import ITERATIONS, SOLVED
from robocompiler.runtime.base import RobotBase
from robocompiler.runtime.description import Description
from robocompiler.runtime.evaluation import Evaluation


@dataclass(frozen=True)
class Inside:
    """The compiled functions of a robot in its chart, its names, and when a configuration counts as assembled.

    solved, iterations: tolerance and limit of the module correctors, as assembly uses them.
    """

    evaluation: Evaluation
    description: Description
    acceptance: Acceptance
    solved: float
    iterations: int = ITERATIONS


def inside(robot: RobotBase) -> Inside:
    """The parts of `robot`; they share its library and parameters."""
    evaluation = robot._evaluation
    solved = SOLVED[evaluation.library.real]
    return Inside(evaluation, robot._description, robot._assembler.acceptance, solved)
