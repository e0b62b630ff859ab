"""Front ends that several test files look at, made once per process; frozen dataclasses can be shared."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from robocompiler.analysis.reduce import reduce_closures
from robocompiler.compiler import FrontEnd, run_front_end
from robocompiler.graph.build import derive_topology
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism
from robocompiler.symbolic.closures import build_closures
from robocompiler.symbolic.program import build_kinematics

MODELS = Path(__file__).resolve().parent.parent / "models"


@cache
def shipped_front(name: str) -> FrontEnd:
    """All passes before the backend, for models/NAME.yaml."""
    return run_front_end(MODELS / f"{name}.yaml")


def kinematic_front(mechanism: Mechanism) -> FrontEnd:
    """The same passes without the mechanics, which take half of the time: enough for closures, charts and lifts."""
    topology = derive_topology(mechanism)
    closures = build_closures(topology)
    reduction = reduce_closures(closures)
    return FrontEnd(mechanism, topology, closures, reduction, build_kinematics(closures, reduction))


@cache
def shipped_kinematics(name: str) -> FrontEnd:
    """`kinematic_front` of models/NAME.yaml."""
    return kinematic_front(read_mechanism(MODELS / f"{name}.yaml"))
