"""A small walking robot with support modes, compiled once, and what its tests share."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import numpy as np
from case_models import mechanism
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.analysis.reduce import reduce_closures
from robocompiler.graph.build import derive_topology
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.records.model import Mechanism
from robocompiler.symbolic.closures import ClosureProgram, build_closures
from robocompiler.symbolic.reduction import Reduction

Array = NDArray[np.float64]


def reduced(records: Mechanism) -> tuple[ClosureProgram, Reduction]:
    """The passes up to rank and charts."""
    program = build_closures(derive_topology(records))
    return program, reduce_closures(program)


def leg(side: str, y: float) -> dict[str, Any]:
    """Three hinges from the trunk to a foot that is not aligned with anything."""
    return {
        f"{side}_roll": {
            "type": "revolute", "a": {"body": "trunk", "xyz": [0.02, y, -0.1]}, "b": f"{side}_hip", "axis": [1, 0, 0],
            "armature": 0.02,
        },
        f"{side}_pitch": {"type": "revolute", "a": f"{side}_hip", "b": f"{side}_thigh", "axis": [0, 1, 0]},
        f"{side}_knee": {
            "type": "revolute", "a": {"body": f"{side}_thigh", "xyz": [0, 0, -0.3]}, "b": f"{side}_shin",
            "axis": [0, 1, 0], "damping": 0.4,
        },
    }  # fmt: skip


def walker() -> Mechanism:
    """A trunk on two legs with three motors each, and a loose ball that no mode holds."""
    sides = {"left": 0.1, "right": -0.12}
    joints = {name: record for side, y in sides.items() for name, record in leg(side, y).items()}
    parts = [f"{side}_{part}" for side in sides for part in ("hip", "thigh", "shin")]
    light = {"mass": 0.7, "com": [0.01, 0, -0.1], "inertia": [0.004, 0.005, 0.003, 1e-4, 0, 2e-4]}
    values = {name: 0.1 if "roll" in name else 0.5 if "pitch" in name else -1.1 for name in joints}
    return mechanism(
        "walker",
        {
            "bodies": {
                "trunk": {"mass": "5 + payload", "com": [0.02, 0.01, 0.05], "inertia": [0.08, 0.06, 0.05, 0, 1e-3, 0]},
                "ball": {"mass": 0.4, "inertia": [0.01, 0.01, 0.01]},
                **dict.fromkeys(parts, light),
            },
            "joints": joints,
            "parameters": {"payload": {"default": 2.0}},
            "ports": {name: {"joint": name} for name in joints},
            "frames": {
                f"{side}_foot": {"body": f"{side}_shin", "xyz": [0.03, 0.01, -0.28], "rpy": [0.2, -0.5, 0.3]}
                for side in sides
            },
            "supports": {"left": {"left_foot": "weld"}, "both feet": {"left_foot": "weld", "right_foot": "point"}},
            "reference": {
                "joints": values,
                "base": {
                    "trunk": {"xyz": [0.1, 0.2, 0.6], "rpy": [0.1, 0.2, -0.3]},
                    "ball": {"xyz": [1, 2, 3], "rpy": [0.3, 0, 0]},
                },
            },
        },
    )


def built_walker(folder: Path) -> Path:
    """Where the walker and its two modes lie, compiled at most once into a folder that all workers share."""
    with (folder / "walker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "walker.done"
        if not done.exists():
            rc.compile(walker(), output=folder, supports="all", extra_flags=("-O0",))
            done.touch()
    return folder / "walker"


def moved(held: rc.Robot, seed: int) -> Array:
    """An assembled configuration away from the reference."""
    random = np.random.default_rng(seed)
    step = held.velocity(held.reference, random.uniform(-0.1, 0.1, len(held.independent)))
    return held.assemble(held.integrate(held.reference, step))


def equals_the_oracle(held: rc.Robot, oracle: MaximalModel, q: Array, seed: int, anchors: Any = None) -> None:
    """Forward dynamics at q against the floating records whose supported frames the oracle itself holds."""
    random = np.random.default_rng(seed)
    u = random.uniform(-1, 1, len(held.independent))
    f = random.uniform(-20, 20, len(held.ports))
    wrench = random.uniform(-5, 5, 6)
    body = oracle.scene.solids[0].name
    udot = held.forward_dynamics(q, u, f, {body: wrench})
    known = {name: float(value) for name, value in zip(held.coordinates, q, strict=True) if "_support" not in name}
    pose = oracle.project(oracle.pose(known, anchors), held.independent)
    state = oracle.state(pose, dict(zip(held.independent, map(float, u), strict=True)), held.independent)
    efforts = Efforts(
        ports=dict(zip([port.name for port in held.ports], map(float, f), strict=True)),
        wrenches={body: list(map(float, wrench))},
    )
    expected = np.array(oracle.accelerations(state, efforts).udot, dtype=float)
    np.testing.assert_allclose(udot, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
