"""Mechanisms that grow: four-bars in series, trees of parallel ankles, platforms on k legs.  Records, not files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks.robots import model
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict

Array = NDArray[np.float64]
Data = dict[str, Any]
WORLD = "world"


@dataclass(frozen=True)
class Family:
    """A mechanism of every size; `unit` is what is counted."""

    name: str
    title: str
    unit: str
    sizes: tuple[int, ...]
    make: Callable[[int], Mechanism]


@lru_cache
def _records(name: str) -> Data:
    data: Data = yaml.safe_load(model(name).read_text(encoding="utf-8"))
    return data


def copies(
    name: str, source: str, count: int, parent: Callable[[int], int], carrier: str, mount: Sequence[float]
) -> Mechanism:
    """`count` copies of a shipped model; copy k stands on body `carrier` of copy parent(k), displaced by `mount` (m).

    The first stands on the world, and a parent comes before its children.
    """
    original = _records(source)
    data: Data = {"robocompiler": 1, "name": name, "bodies": {}, "joints": {}, "ports": {}, "reference": {"joints": {}}}
    for k in range(count):
        for body, record in original["bodies"].items():
            data["bodies"][f"{body}_{k}"] = record
        for joint, record in original["joints"].items():
            mine = copy.deepcopy(record)
            for side in ("a", "b"):
                _stand(mine[side], k, parent(k) if k else None, carrier, mount)
            data["joints"][f"{joint}_{k}"] = mine
        for port, record in original["ports"].items():
            data["ports"][f"{port}_{k}"] = {**record, "joint": f"{record['joint']}_{k}"}
        for coordinate, value in original["reference"]["joints"].items():
            joint, colon, part = coordinate.partition(":")
            data["reference"]["joints"][f"{joint}_{k}{colon}{part}"] = value
    return mechanism_from_dict(data)


def _stand(side: Data, k: int, on: int | None, carrier: str, mount: Sequence[float]) -> None:
    """Rename the body of a joint's side; what stood on the world stands on the carrier."""
    if side["body"] != WORLD:
        side["body"] = f"{side['body']}_{k}"
    elif on is not None:
        side["body"] = f"{carrier}_{on}"
        side["xyz"] = [x + dx for x, dx in zip(side.get("xyz", (0.0, 0.0, 0.0)), mount, strict=True)]


def chain(count: int) -> Mechanism:
    """Four-bars in series: each stands on the rocker of the one before."""
    return copies(f"chain_{count}", "fourbar", count, lambda k: k - 1, "rocker", (0.3, 0.0, 0.0))


def ankles(count: int) -> Mechanism:
    """A binary tree of parallel ankles: each stands on the foot of its parent, two on every foot but the last ones."""
    return copies(f"ankles_{count}", "parallel_ankle", count, lambda k: (k - 1) // 2, "foot", (0.05, 0.0, -0.4))


def platform(legs: int) -> Mechanism:
    """A platform on legs with a hinged yoke, a barrel, a driven rod and a ball, as those of stewart.yaml."""
    original = _records("stewart")
    height, radii = np.array([0.0, 0.0, 0.62]), (0.55, 0.25)
    bodies: Data = {"platform": original["bodies"]["platform"]}
    joints: Data = {}
    reference: dict[str, float] = {}
    for k in range(legs):
        middle, shift = 2 * np.pi * k / legs, (-1) ** k * 0.4 * np.pi / legs
        foot, head = (_around(r, middle + s * shift) for r, s in zip(radii, (1, -1), strict=True))
        along = height + head - foot
        length = float(np.linalg.norm(along))
        w, x, y, _ = turn = _from_z(along / length)
        for part in ("yoke", "barrel", "rod"):
            bodies[f"leg_{k}_{part}"] = original["bodies"][f"leg_0_{part}"]
        joints[f"leg_{k}_u_x"] = {
            "type": "revolute", "axis": [1, 0, 0], "b": {"body": f"leg_{k}_yoke"},
            "a": {"body": WORLD, "xyz": foot.tolist(), "quat": turn},
        }  # fmt: skip
        joints[f"leg_{k}_u_y"] = _joint("revolute", f"leg_{k}_yoke", f"leg_{k}_barrel", [0, 1, 0])
        joints[f"leg_{k}_length"] = _joint("prismatic", f"leg_{k}_barrel", f"leg_{k}_rod", [0, 0, 1])
        joints[f"leg_{k}_ball"] = {
            "type": "spherical", "a": {"body": f"leg_{k}_rod"}, "b": {"body": "platform", "xyz": head.tolist()},
        }  # fmt: skip
        reference |= {f"leg_{k}_u_x": 0.0, f"leg_{k}_u_y": 0.0, f"leg_{k}_length": length}
        reference |= {f"leg_{k}_ball:q{c}": value for c, value in zip("wxyz", (w, -x, -y, 0.0), strict=True)}
    ports = {f"leg_{k}_force": {"joint": f"leg_{k}_length"} for k in range(legs)}
    return mechanism_from_dict({
        "robocompiler": 1, "name": f"platform_{legs}", "bodies": bodies, "joints": joints, "ports": ports,
        "reference": {"joints": reference},
    })  # fmt: skip


def _joint(kind: str, a: str, b: str, axis: list[int]) -> Mapping[str, Any]:
    return {"type": kind, "a": {"body": a}, "b": {"body": b}, "axis": axis}


def _around(radius: float, angle: float) -> Array:
    return radius * np.array([np.cos(angle), np.sin(angle), 0.0])


def _from_z(direction: Array) -> list[float]:
    """The unit quaternion (w, x, y, z) of the smallest rotation that takes z to a unit direction."""
    q = np.array([1 + direction[2], -direction[1], direction[0], 0.0])
    return [float(x) for x in q / np.linalg.norm(q)]


FAMILIES = (
    Family("chain", "Four-bars in series", "four-bars", (1, 2, 4, 8, 16, 32, 64), chain),
    Family("ankles", "Binary tree of parallel ankles", "ankles", (1, 2, 4, 8, 16, 32, 64), ankles),
    Family("platform", "Platform on k legs", "legs", (3, 4, 5, 6, 8, 10, 12), platform),
)
