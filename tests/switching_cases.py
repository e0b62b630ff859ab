"""Mechanisms whose port stands still somewhere while they move, and motions through those poses."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict
from robocompiler.runtime.motion.charts import ChartSwitcher

Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"


def crank_rocker() -> Mechanism:
    """The shipped four-bar, driven by its rocker: dead centres where crank and coupler are in line."""
    data = yaml.safe_load((MODELS / "fourbar.yaml").read_text(encoding="utf-8"))
    return mechanism_from_dict({**data, "name": "crank_rocker", "ports": {"motor": {"joint": "j_cg"}}})


def slider_driven() -> Mechanism:
    """The shipped slider-crank without losses, driven by its slide: top and bottom dead centre.  Two parameters."""
    data = yaml.safe_load((MODELS / "slider_crank.yaml").read_text(encoding="utf-8"))
    slide = {key: data["joints"]["slide"][key] for key in ("type", "a", "b", "axis")}
    joints = {**data["joints"], "slide": slide}
    joints["big_end"]["a"]["xyz"] = ["throw", 0, 0]
    bodies = {**data["bodies"], "rod": {**data["bodies"]["rod"], "mass": "rod_mass"}}
    data |= {"bodies": bodies, "parameters": {"throw": 0.05, "rod_mass": 0.35}}
    return mechanism_from_dict(
        {**data, "name": "slider_driven", "joints": joints, "ports": {"motor": {"joint": "slide"}}}
    )


def triple_rocker() -> Mechanism:
    """A four-bar of which no joint turns fully (0.7 + 1.2 > 0.8 + 0.9): no single chart is good all the way round."""
    data = yaml.safe_load((MODELS / "fourbar.yaml").read_text(encoding="utf-8"))
    joints = {name: dict(joint) for name, joint in data["joints"].items()}
    joints["j_ab"]["a"] = {"body": "crank", "xyz": [0.7, 0.0, 0.0]}
    joints["j_bc"]["a"] = {"body": "coupler", "xyz": [0.8, 0.0, 0.0]}
    joints["j_bc"]["b"] = {"body": "rocker", "xyz": [0.9, 0.0, 0.0]}
    joints["j_cg"]["b"] = {"body": "world", "xyz": [1.2, 0.0, 0.0]}
    reference = _fourbar_angles(0.9, 0.7, 0.8, 0.9, 1.2)
    return mechanism_from_dict({**data, "name": "triple_rocker", "joints": joints, "reference": {"joints": reference}})


def parallelogram() -> Mechanism:
    """Opposite links alike: with all links in line (the change point) the rank of C drops, and two branches meet."""
    data = yaml.safe_load((MODELS / "fourbar.yaml").read_text(encoding="utf-8"))
    joints = {name: dict(joint) for name, joint in data["joints"].items()}
    joints["j_ab"]["a"] = {"body": "crank", "xyz": [0.5, 0.0, 0.0]}
    joints["j_bc"]["a"] = {"body": "coupler", "xyz": [0.9, 0.0, 0.0]}
    joints["j_bc"]["b"] = {"body": "rocker", "xyz": [0.5, 0.0, 0.0]}
    angles = {"j_ga": 0.8, "j_ab": -0.8, "j_bc": 0.8, "j_cg": -0.8}
    return mechanism_from_dict({**data, "name": "parallelogram", "joints": joints, "reference": {"joints": angles}})


def boom() -> Mechanism:
    """An excavator's boom on its cylinder, limits wide enough that the cylinder's line of action meets the boom's pin.

    Base pin at the origin, cylinder foot at (0.5, -0.4), its eye 2 m along the boom: the cylinder is in line with the
    pin at the boom angles atan2(-0.4, 0.5), where it is shortest, and half a turn on, where it would be 2.64 m long.
    """
    return mechanism_from_dict(
        {
            "robocompiler": 1,
            "name": "boom",
            "gravity": [0, 0, -9.81],
            "bodies": {
                "boom": {"mass": 900.0, "com": [1.7, 0, 0.2], "inertia": [60.0, 800.0, 800.0, 0, 0, 0]},
                "barrel": {"mass": 60.0, "com": [0.5, 0, 0], "inertia": [0.5, 6.0, 6.0, 0, 0, 0]},
                "rod": {"mass": 40.0, "com": [-0.5, 0, 0], "inertia": [0.3, 4.0, 4.0, 0, 0, 0]},
            },
            "joints": {
                "pin": {"type": "revolute", "a": {"body": "world"}, "b": {"body": "boom"}, "axis": [0, -1, 0]},
                "foot": {
                    "type": "revolute", "a": {"body": "world", "xyz": [0.5, 0, -0.4]}, "b": {"body": "barrel"},
                    "axis": [0, -1, 0],
                },
                "cylinder": {
                    "type": "prismatic", "a": {"body": "barrel"}, "b": {"body": "rod"}, "axis": [1, 0, 0],
                    "limits": {"position": [1.2, 2.5]},
                },
                "eye": {
                    "type": "revolute", "a": {"body": "boom", "xyz": [2.0, 0, 0]}, "b": {"body": "rod"},
                    "axis": [0, -1, 0],
                },
            },
            "ports": {"cylinder": {"joint": "cylinder"}},
            "frames": {"tip": {"body": "boom", "xyz": [4.0, 0, 0]}},
            "reference": {"joints": {"pin": 0.4, "foot": 0.76, "cylinder": 1.8, "eye": 0.36}},
        }
    )  # fmt: skip


def _fourbar_angles(crank: float, a: float, b: float, c: float, d: float) -> dict[str, float]:
    """Joint angles of the open four-bar with links a, b, c on the ground d, by the law of cosines."""
    B = a * np.array([np.cos(crank), np.sin(crank)])
    to_d = np.array([d, 0.0]) - B
    span = float(np.hypot(*to_d))
    coupler = np.arctan2(to_d[1], to_d[0]) + np.arccos((b * b + span * span - c * c) / (2 * b * span))
    C = B + b * np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(C[1], C[0] - d)
    angles = {"j_ga": crank, "j_ab": coupler - crank, "j_bc": rocker - coupler, "j_cg": -rocker}
    return {name: float((angle + np.pi) % (2 * np.pi) - np.pi) for name, angle in angles.items()}


def switching(folder: Path, make: Callable[[], Mechanism], charts: str | int = "auto") -> rc.Robot:
    """The robot compiled with its further charts, at most once per run of the suite."""
    records = make()
    root = folder / "switching" / re.sub(r"\W", "_", f"{records.name}-{charts}")
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "done").exists():
            rc.compile(records, output=root, charts=charts, extra_flags=("-O0",))
            (root / "done").touch()
    return rc.load(root / records.name)


@dataclass
class Record:
    """What a simulation saw: time, q, v and a of all joints, energy, active chart; and v on both sides of switches."""

    times: list[float] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)
    v: list[Array] = field(default_factory=list)
    energy: list[float] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    sides: list[tuple[Array, Array]] = field(default_factory=list)
    accelerations: list[tuple[Array, Array]] = field(default_factory=list)


def simulate(switcher: ChartSwitcher, q: Array, u: Array, duration: float, steps: int) -> Record:
    """Free motion by Heun's midpoint rule (second order) in whatever chart the switcher is in."""
    record, h = Record(), duration / steps
    for step in range(steps + 1):
        before, rate = switcher.robot, _rate(switcher.robot, q, u)
        state = switcher.check(q, u, rate, at=step * h)
        assert state.ok, state.event
        if state.event is not None:
            record.sides.append((before.velocity(q, u), switcher.robot.velocity(q, state.u)))
            assert state.udot is not None
            record.accelerations.append(
                (before.acceleration(q, u, rate), switcher.robot.acceleration(q, state.u, state.udot))
            )
            np.testing.assert_allclose(state.udot, _rate(switcher.robot, q, state.u), rtol=1e-9, atol=1e-9)
        robot, u = switcher.robot, state.u
        record.times.append(step * h)
        record.q.append(q)
        record.v.append(robot.velocity(q, u))
        record.energy.append(sum(robot.energy(q, u)))
        record.charts.append(switcher.chart)
        middle = closed(robot, q, 0.5 * h * record.v[-1])
        u_middle = u + 0.5 * h * _rate(robot, q, u)
        q_next = closed(robot, q, h * robot.velocity(middle, u_middle))
        q, u = q_next, u + h * _rate(robot, middle, u_middle)
    return record


def _rate(robot: Any, q: Array, u: Array) -> Array:
    udot: Array = robot.forward_dynamics(q, u, np.zeros(len(robot.ports)))
    return udot


def closed(robot: Any, q: Array, dv: Array) -> Array:
    """q moved by dv and closed again with the chart's independents held."""
    found, status, _ = robot.evaluation.correct(robot.integrate(q, dv), 1e-13, 12)
    assert status == 0, status
    result: Array = found
    return result
