"""Four bodies that move on their own, with known motions: a pendulum, a top, a falling weight, a rubbing block."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from case_models import built
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import robocompiler as rc
from robocompiler.records.reader import mechanism_from_dict

Array = NDArray[np.float64]

G = 9.81
ARM, BOB = 0.8, 1.5  # pendulum: a mass BOB at ARM, m and kg
INERTIA = (0.4, 0.7, 0.9)  # of the top about its centre of mass
MASS, LEVEL = 2.0, 3.0  # of the block, and its dry friction in N


def yard(folder: Path) -> rc.Robot:
    """The compiled yard; q: pendulum, top (pose), weight, block."""
    speck = [1e-9, 1e-9, 1e-9]
    data: dict[str, Any] = {
        "robocompiler": 1,
        "name": "yard",
        "gravity": [0, 0, -G],
        "bodies": {
            "bob": {"mass": BOB, "com": [0, 0, -ARM], "inertia": speck},
            "top": {"mass": 1.0, "com": [0, 0, 0], "inertia": list(INERTIA)},
            "weight": {"mass": 1.0, "com": [0, 0, 0], "inertia": speck},
            "block": {"mass": MASS, "com": [0, 0, 0], "inertia": speck},
        },
        "joints": {
            "pendulum": {"type": "continuous", "a": "world", "b": "bob", "axis": [0, 1, 0]},
            "weight": {"type": "prismatic", "a": "world", "b": "weight", "axis": [0, 0, 1]},
            "block": {"type": "prismatic", "a": "world", "b": "block", "axis": [1, 0, 0], "friction": LEVEL,
                      "limits": {"position": [-5, 5]}},
        },
        "ports": {"push": {"joint": "block", "limits": {"effort": 20.0, "displacement": [-4, 4], "velocity": 6.0}}},
    }  # fmt: skip
    return built(folder, mechanism_from_dict(data))


def speeds(robot: rc.Robot, **values: float | list[float]) -> Array:
    """u by names of joints; `top` takes its three angular velocities in body axes."""
    u = np.zeros(len(robot.independent))
    for name, value in values.items():
        if name == "top":
            places = [robot.independent.index(f"top_free:{axis}") for axis in ("wx", "wy", "wz")]
            u[places] = value
        else:
            u[robot.independent.index(name)] = value
    return u


def pendulum_angle(t: float, amplitude: float) -> float:
    """The angle of a pendulum released at rest at `amplitude`, by Jacobi's elliptic functions."""
    k = math.sin(amplitude / 2)
    omega = math.sqrt(G / ARM * BOB * ARM**2 / (BOB * ARM**2 + 1e-9))
    sn = ellipj(ellipk(k * k) - omega * t, k * k)[0]
    return float(2 * math.asin(k * sn))


def tumbling(omega: Array, duration: float) -> tuple[Array, Array]:
    """(quaternion, body rates) of the top after a free rotation from the identity: Euler's equations to 1e-13."""
    J = np.array(INERTIA)

    def rates(_: float, y: Array) -> Array:
        w, q = y[:3], y[3:]
        turn = np.array([
            -q[1] * w[0] - q[2] * w[1] - q[3] * w[2],
            q[0] * w[0] + q[2] * w[2] - q[3] * w[1],
            q[0] * w[1] + q[3] * w[0] - q[1] * w[2],
            q[0] * w[2] + q[1] * w[1] - q[2] * w[0],
        ])  # fmt: skip
        return np.concatenate((np.cross(J * w, w) / J, turn / 2))

    start = np.concatenate((omega, [1.0, 0, 0, 0]))
    y = solve_ivp(rates, (0, duration), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return y[3:] / np.linalg.norm(y[3:]), y[:3]
