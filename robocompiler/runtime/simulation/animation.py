"""The motion of a robot as one HTML page: a stick figure of body origins joined along the joints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import number
from robocompiler.errors import ArgumentError
from robocompiler.runtime.simulation.animation_page import PAGE
from robocompiler.runtime.simulation.log import Log

if TYPE_CHECKING:
    from robocompiler.runtime.drives import DriveInterface

Array = NDArray[np.float64]

MOST = 1200  # pictures
WORLD = "world"


def animation_html(robot: DriveInterface, log: Log, rate: float) -> str:
    """The page: at most 1200 pictures, `rate` per second of motion; it needs nothing else and no network.

    ValueError: no rows, or a rate that is not positive.
    """
    t, q = log.group("t"), log.group("q")
    if not t.size:
        raise ArgumentError("nothing to show: the log has no rows")
    rate = number(rate, "rate", above=0.0, unit="pictures per second")
    count = int(min(MOST, max(2, np.ceil((t[-1] - t[0]) * rate) + 1)))
    picked = np.searchsorted(t, np.linspace(t[0], t[-1], count)).clip(0, t.size - 1)
    names, edges = skeleton(robot)
    points = np.array([figure(robot, q[i], names) for i in picked])
    data = {
        "name": robot.name,
        "t": np.round(t[picked], 4).tolist(),
        "points": np.round(points, 4).reshape(len(picked), -1).tolist(),
        "edges": edges,
        "names": names,
    }
    # "<" spelt out: a robot's name must not end the script that holds it
    return PAGE.replace("@DATA@", json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))


def skeleton(robot: DriveInterface) -> tuple[list[str], list[tuple[int, int]]]:
    """Bodies that joints join, with the world, and the pairs of their indices, one per moving joint."""
    pairs = [(joint["a"], joint["b"]) for joint in robot._description.joints if joint["type"] != "free"]
    known = set(robot.frames)
    pairs = [(a, b) for a, b in pairs if a in known | {WORLD} and b in known | {WORLD}]
    free = [joint["b"] for joint in robot._description.joints if joint["type"] == "free"]
    names = list(dict.fromkeys([*(name for pair in pairs for name in pair), *free]))
    place = {name: k for k, name in enumerate(names)}
    return names, [(place[a], place[b]) for a, b in pairs]


def figure(robot: DriveInterface, q: Array, names: list[str]) -> Array:
    """World positions (n, 3) of the origins of bodies."""
    return np.array([np.zeros(3) if name == WORLD else robot.pose(name, q)[1] for name in names])
