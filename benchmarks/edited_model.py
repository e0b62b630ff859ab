"""A mechanism file with one joint moved by a millimetre, for the time of a compile after a small edit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml

from benchmarks.robots import model

STEP = 1e-3  # m
# One joint of each robot.  It is moved along its own axis: a slide's zero shifts, loops stay as closed as they were.
EDITED = {
    "stewart": "leg_2_length",
    "excavator": "p2",
    "kangaroo": "leg_left_4_motor",
    "go2": "FL_calf_joint",
    "panda": "joint4",
}


def write_edited(name: str, folder: Path) -> Path:
    """Write the robot's file with its joint EDITED[name] moved, and return the path."""
    data = yaml.safe_load(model(name).read_text(encoding="utf-8"))
    joint = data["joints"][EDITED[name]]
    side = joint["a"]
    rotation = np.array(side.get("matrix", np.eye(3)), dtype=np.float64)
    axis = np.array(joint.get("axis", (0, 0, 1)), dtype=np.float64)
    moved = np.array(side.get("xyz", (0, 0, 0)), dtype=np.float64) + STEP * rotation @ axis
    side["xyz"] = [float(x) for x in moved]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}_edited.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return path
