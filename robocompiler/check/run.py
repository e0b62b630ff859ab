"""The whole check of a compiled robot: random states, all references, one report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robocompiler.check.ledger import Finding, Ledger
from robocompiler.check.maximal import MaximalCheck, Tolerances
from robocompiler.check.pinocchio import PinocchioCheck
from robocompiler.check.states import draw
from robocompiler.errors import LoadError
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.maximal_mp import PreciseModel
from robocompiler.records.model import Mechanism
from robocompiler.runtime.robot import Robot


@dataclass(frozen=True)
class CheckReport:
    """What was found.

    Attributes:
        robot: its name; states: how many were drawn from seed.
        findings: one per quantity and reference.
        skipped: what was not compared, with the reason.
    """

    robot: str
    states: int
    seed: int
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every quantity is within its tolerance."""
        return all(finding.passed for finding in self.findings)


def check_robot(
    robot: Robot,
    mechanism: Mechanism,
    *,
    states: int = 10,
    seed: int = 0,
    precise: bool = False,
    real: str = "double",
    progress: Callable[[int], None] | None = None,
) -> CheckReport:
    """Compare a compiled robot with its records' oracles at random states.

    Args:
        precise: take the maximal-coordinate reference in 50 digits instead of double.
        real: precision of the library, 'double' or 'float', which decides the tolerances.
        progress: called with the number of states done.

    Raises:
        LoadError: the library has other coordinates, ports, frames or parameters than the records.
        AssemblyError, RankError: no random states can be reached, or a reference fails where nothing is amiss.
        MissingPackageError: `precise` without mpmath or gmpy2.
    """
    kind = PreciseModel if precise else MaximalModel
    model: MaximalModel = kind(mechanism, _parameters(robot, mechanism))
    _same_names(robot, mechanism, model)
    tolerances = Tolerances.of(real == "double")
    maximal = MaximalCheck(robot, model, tolerances, "50 digits" if precise else "maximal coordinates")
    pinocchio = PinocchioCheck(robot, mechanism, tolerances.relative, tolerances.floor)
    ledger = Ledger()
    skipped: list[str] = []
    if not robot.independent:
        skipped.append("accelerations and dynamics: nothing can move")
    for k, sample in enumerate(draw(robot, mechanism, states, seed)):
        ledger.state = k
        if maximal.at(sample, ledger) is None:
            skipped.append(f"state {k}: the loops are open, so nothing else is compared there")
        elif robot.independent:
            pinocchio.at(sample, ledger)
        if progress is not None:
            progress(k + 1)
    return CheckReport(robot.name, states, seed, ledger.findings(), (*pinocchio.skipped, *skipped))


def _parameters(robot: Robot, mechanism: Mechanism) -> dict[str, float]:
    _equal("run-time parameters", set(robot.parameters), set(mechanism.defaults))
    return robot.parameters


def _same_names(robot: Robot, mechanism: Mechanism, model: MaximalModel) -> None:
    _equal("coordinates", set(robot.coordinates), set(model.coordinate_names))
    _equal("ports", {port.name for port in robot.ports}, {port.name for port in mechanism.ports})
    bodies = {body.name for body in mechanism.bodies} | {frame.name for frame in mechanism.frames}
    _equal("frames", set(robot.frames), bodies)


def _equal(what: str, library: set[str], records: set[str]) -> None:
    if library != records:
        differ = ", ".join(sorted(library ^ records)[:5])
        raise LoadError(f"the library was compiled from other records than the model: their {what} differ ({differ})")
