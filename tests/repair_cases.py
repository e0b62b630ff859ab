"""Mechanisms whose planar loops are exact until their records are written with a few decimals, as exporters do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict

Array = NDArray[np.float64]


def turn(axis: Sequence[float], angle: float) -> Array:
    """Rot(axis, angle)."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def rpy(R: Array) -> list[float]:
    """Roll, pitch, yaw with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return [
        math.atan2(R[2, 1], R[2, 2]),
        math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0])),
        math.atan2(R[1, 0], R[0, 0]),
    ]


def hinges(
    name: str,
    links: Mapping[str, tuple[Array, Array]],
    pins: Mapping[str, tuple[str, str, Array, Array]],
    decimals: int,
    **more: Any,
) -> Mechanism:
    """A mechanism of hinges from exact poses: links {body: (R, p)}, pins {joint: (a, b, point, axis)}, world axes.

    The frame on body b has b's axes; every number of the joints is rounded to `decimals`.
    """
    poses = {"world": (np.eye(3), np.zeros(3)), **links}
    joints = {}
    for joint, (a, b, point, axis) in pins.items():
        (R_a, p_a), (R_b, p_b) = poses[a], poses[b]
        joints[joint] = {
            "type": "revolute",
            "a": {
                "body": a,
                "xyz": written(R_a.T @ (point - p_a), decimals),
                "rpy": written(rpy(R_a.T @ R_b), decimals),
            },
            "b": {"body": b, "xyz": written(R_b.T @ (point - p_b), decimals)},
            "axis": written(R_b.T @ axis, decimals),
        }
    bodies = {body: {"mass": 1.0, "inertia": [0.01, 0.01, 0.01, 0, 0, 0]} for body in links}
    return mechanism_from_dict({"robocompiler": 1, "name": name, "bodies": bodies, "joints": joints, **more})


def written(values: Sequence[float] | Array, decimals: int) -> list[float]:
    """The numbers as a file with so many decimals has them."""
    return [round(float(value), decimals) + 0.0 for value in values]


def parallelogram(decimals: int, seed: int = 0) -> Mechanism:
    """Bars of 1 m and 2 m in a plane and with link axes that no decimal fits."""
    random = np.random.default_rng(seed)
    plane = turn(random.normal(size=3), 1.0)
    n = plane[:, 2]
    A, B, D, C = (plane @ np.array([x, y, 0.0]) for x, y in ((0, 0), (2, 0), (0.45, 0.89), (2.45, 0.89)))
    links = {body: (turn(random.normal(size=3), 1.0), p) for body, p in (("crank", A), ("coupler", D), ("rocker", B))}
    pins = {
        "j_a": ("world", "crank", A, n),
        "j_d": ("crank", "coupler", D, n),
        "j_b": ("world", "rocker", B, n),
        "j_c": ("coupler", "rocker", C, n),
    }
    return hinges("parallelogram", links, pins, decimals, ports={"motor": {"joint": "j_a"}})


def spherical(decimals: int, seed: int = 0) -> Mechanism:
    """A four-bar on a sphere: four axes through one point, joints 0.5 m to 1.1 m from it."""
    random = np.random.default_rng(seed)
    c = random.normal(size=3)
    axes = {"s_a": (0, 0, 1), "s_b": (0.8, 0.1, 0.6), "s_c": (0.6, 0.76, 0.25), "s_d": (-0.1, 0.8, 0.6)}
    n = {name: np.array(axis) / np.linalg.norm(axis) for name, axis in axes.items()}
    at = {name: c + (0.5 + 0.2 * k) * axis for k, (name, axis) in enumerate(n.items())}
    names = ("world", "first", "second", "third", "world")
    links = {
        body: (turn(random.normal(size=3), 1.0), p) for body, p in zip(names[1:4], list(at.values())[:3], strict=True)
    }
    pins = {name: (names[k], names[k + 1], at[name], n[name]) for k, name in enumerate(n)}
    pins["s_d"] = ("world", "third", at["s_d"], n["s_d"])
    return hinges("spherical", links, pins, decimals, ports={"motor": {"joint": "s_a"}})


def gripper(decimals: int, yaw: float = 0.0) -> Mechanism:
    """Two mirrored fingers on parallelograms of a few centimetres, coupled; `yaw` turns it on the wrist."""
    mount = turn((0, 0, 1), yaw) @ turn((1, 0, 0), math.pi / 2)
    links: dict[str, tuple[Array, Array]] = {}
    pins: dict[str, tuple[str, str, Array, Array]] = {}
    for side, R in (("left", mount), ("right", mount @ turn((0, 1, 0), math.pi))):
        at = {
            key: R @ np.array([x, y, 0.0])
            for key, (x, y) in {
                "o": (0.03, 0.055),
                "i": (0.013, 0.061),
                "k": (0.061, 0.088),
                "t": (0.044, 0.094),
            }.items()
        }
        n = R[:, 2]
        links |= {
            f"{side}_knuckle": (R @ turn((0, 0, 1), 0.8), at["o"]),
            f"{side}_finger": (R @ turn((1, 0, 0), math.pi), at["k"]),
            f"{side}_inner": (R @ turn((0, 0, 1), -1.1), at["i"]),
        }
        pins |= {
            f"{side}_drive": ("world", f"{side}_knuckle", at["o"], n),
            f"{side}_tip": (f"{side}_knuckle", f"{side}_finger", at["k"], n),
            f"{side}_support": ("world", f"{side}_inner", at["i"], n),
            f"{side}_close": (f"{side}_finger", f"{side}_inner", at["t"], n),
        }
    couple = {"mirror": {"terms": {"left_drive": 1, "right_drive": -1}}}
    return hinges("gripper", links, pins, decimals, couplings=couple, ports={"drive": {"joint": "left_drive"}})


def tilted(mechanism: Mechanism, joint: str, angle: float) -> Mechanism:
    """One axis turned by `angle` about a direction square to it."""
    axis = np.array(mechanism.joint(joint).axis)
    square = np.cross(axis, (0.36, 0.48, 0.8))
    x, y, z = (turn(square, angle) @ axis).tolist()
    joints = tuple(replace(own, axis=(x, y, z)) if own.name == joint else own for own in mechanism.joints)
    return replace(mechanism, joints=joints)
