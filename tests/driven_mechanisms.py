"""Mechanisms with drives of many kinds: lag, DC motor, series elasticity, hydraulics, a law without state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml
from mechanics_support import MODELS
from numpy.typing import NDArray

from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict

Array = NDArray[np.float64]
MOTOR = {"kt": 0.4, "R": 0.8, "L": 0.02}  # of the DC motors below
WHEEL = {"J": 0.05, "damping": 0.03}


def dc_motor(port: str) -> dict[str, Any]:
    """A DC motor with a current state."""
    return {
        "port": port,
        "commands": {"voltage": {"unit": "V"}},
        "states": {"current": {"initial": 0.5, "unit": "A"}},
        "constants": {**MOTOR},
        "effort": "kt*current",
        "rates": {"current": "(voltage - R*current - kt*velocity)/L"},
    }


def bench() -> Mechanism:
    """Four bodies that move on their own, and six ports: five drives of different kinds, one port without."""
    body = {"mass": 1.0, "com": [0.1, 0, 0.02], "inertia": [0.02, 0.03, 0.04]}
    return mechanism_from_dict({
        "robocompiler": 1,
        "name": "bench",
        "bodies": {"wheel": {"mass": 2.0, "inertia": [0.1, 0.1, WHEEL["J"]]}, "arm": body, "cart": body, "lift": body},
        "joints": {
            "wheel": {"type": "continuous", "a": "world", "b": "wheel", "axis": [0, 0, 1],
                      "damping": WHEEL["damping"]},
            "arm-1": {"type": "revolute", "a": "world", "b": "arm", "axis": [0, 1, 0]},
            "cart": {"type": "prismatic", "a": "world", "b": "cart", "axis": [1, 0, 0]},
            "lift": {"type": "cylindrical", "a": "world", "b": "lift", "axis": [0, 0, 1]},
        },
        "ports": {
            "free": {"joint": "lift:displacement"},
            "cable": {"distance": [{"body": "arm", "xyz": [0.2, 0, 0.1]}, {"body": "world", "xyz": [0, 0.3, 0.5]}]},
            "wheel": {"joint": "wheel"},
            "arm": {"joint": "arm-1"},
            "cart": {"joint": "cart"},
            "tendon": {"terms": {"arm-1": 0.5, "cart": 1.0, "lift:angle": "-pulley"}},
        },
        "parameters": {"pulley": 0.3, "stiffness": 40.0},
        "drives": {  # in another order than the ports
            "servo 1": {  # PD behind a first-order lag, saturated
                "port": "arm", "commands": ["target", "feedforward"], "states": {"lag": 0.1},
                "constants": {"kp": "2*stiffness", "kd": 3},
                "effort": "clamp(kp*(lag - displacement) - kd*velocity + feedforward, -30, 25)",
                "rates": {"lag": "(target - lag)/0.02"},
            },
            "motor": dc_motor("wheel"),
            "elastic": {  # a rotor behind a spring: `effort` acts back on it; names that differ in case only
                "port": "cart", "commands": ["double"], "states": {"x": 0.05, "X": {"initial": -0.2, "unit": "m/s"}},
                "effort": "900*(x - displacement) + 2*(X - velocity)",
                "rates": {"x": "X", "X": "(double - effort - 0.5*tanh(X/0.01))/1.5"},
            },
            "oil/1-b": {  # pressure behind an orifice, on a two-point port
                "port": "cable", "commands": ["valve"], "states": {"p": 2.0},
                "constants": {"area": "0.5*pulley"},
                "effort": "-area*p",
                "rates": {"p": "(area*velocity + valve*sign(3 - p)*sqrt(abs(3 - p)))/(0.4 + area*displacement)"},
            },
            "slack": {  # no state, no command; coordinates and velocities of other joints
                "port": "tendon",
                "effort": "-50*(displacement - clamp(displacement, -0.1, 0.1)) - velocity"
                          " + 3*`arm-1` - 2*speed(wheel)*`lift:angle` + hypot(speed(`lift:displacement`), cart)",
            },
        },
    })  # fmt: skip


def driven_four_bar(**changes: Any) -> Mechanism:
    """The shipped four-bar behind a DC motor, and with a drag by its hinge j_bc, which the compiler cuts.

    `changes` replace keys of the motor.
    """
    data = yaml.safe_load((MODELS / "fourbar.yaml").read_text(encoding="utf-8"))
    data["ports"]["drag"] = {"joint": "j_ga"}
    drag = {"port": "drag", "effort": "-0.3*speed(j_bc) - 0.1*j_bc*cos(j_ab)"}
    drives = {"motor": {**dc_motor("motor"), **changes}, "drag": drag}
    return mechanism_from_dict({**data, "name": "driven", "drives": drives})


def named(names: Sequence[str], values: Array) -> dict[str, float]:
    """{name: value}."""
    return dict(zip(names, map(float, values), strict=True))
