"""Records as SDF text drawn at their reference, for comparing what comes back; test material, not an exporter.

Poses are written relative to frames that a generator chooses, so that the frame graph is exercised.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Joint, Mechanism, Placement

Array = NDArray[np.float64]
_TYPES = {
    JointType.REVOLUTE: "revolute", JointType.CONTINUOUS: "continuous", JointType.PRISMATIC: "prismatic",
    JointType.FIXED: "fixed", JointType.SPHERICAL: "ball", JointType.UNIVERSAL: "universal",
}  # fmt: skip


def _rpy(R: Array) -> list[float]:
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    return [float(np.arctan2(R[2, 1], R[2, 2])), pitch, float(np.arctan2(R[1, 0], R[0, 0]))]


def _text(T: Array) -> str:
    return " ".join(repr(float(x)) for x in (*T[:3, 3], *_rpy(T[:3, :3])))


def _matrix(R: object, p: object) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.array(R, dtype=float), np.array(p, dtype=float)
    return T


def sdf_text(mechanism: Mechanism, random: np.random.Generator) -> str:
    """One model, at its assembled reference."""
    oracle = MaximalModel(mechanism)
    pose = oracle.project(oracle.pose())
    worlds = {body.name: _matrix(*oracle.frame_pose(body.name, pose)) for body in mechanism.bodies}
    lines = ['<sdf version="1.9">', f'<model name="{mechanism.name}">']
    written: list[str] = []
    for body in mechanism.bodies:
        base = str(random.choice([*written, ""])) if written else ""
        T = np.linalg.inv(worlds[base]) @ worlds[body.name] if base else worlds[body.name]
        written.append(body.name)
        tag = f' relative_to="{base}"' if base else ""
        xx, yy, zz, xy, xz, yz = (repr(float(value)) for value in body.inertia)
        lines.append(
            f'<link name="{body.name}"><pose{tag}>{_text(T)}</pose><inertial>'
            f"<pose>{' '.join(repr(float(x)) for x in body.com)} 0 0 0</pose><mass>{float(body.mass)!r}</mass>"
            f"<inertia><ixx>{xx}</ixx><iyy>{yy}</iyy><izz>{zz}</izz><ixy>{xy}</ixy><ixz>{xz}</ixz><iyz>{yz}</iyz>"
            "</inertia></inertial></link>"
        )
    for joint in mechanism.joints:
        lines += _joint(joint, worlds, random)
    return "\n".join([*lines, "</model>", "</sdf>"])


def _joint(joint: Joint, worlds: dict[str, Array], random: np.random.Generator) -> list[str]:
    """Parent is a, child is b; the joint frame is b's, or in the world when the child is the world."""

    def at(side: Placement) -> Array:
        return worlds.get(side.body, np.eye(4)) @ _matrix(side.rotation, side.translation)

    frame = at(joint.b)  # with the joint at 0 as drawn, frame a of the file is frame b here
    turn = frame[:3, :3].T @ at(joint.a)[:3, :3]
    base = str(random.choice([name for name in worlds if name]))
    pose = f'<pose relative_to="{base}">{_text(np.linalg.inv(worlds[base]) @ frame)}</pose>'
    lines = [
        f'<joint name="{joint.name}" type="{_TYPES[joint.type]}"><parent>{joint.a.body}</parent>'
        f"<child>{joint.b.body}</child>{pose}"
    ]
    first = turn @ np.array(joint.axis)
    axes = {"axis": first, "axis2": np.array(joint.axis2)} if joint.type is JointType.UNIVERSAL else {"axis": first}
    if joint.type in (JointType.FIXED, JointType.SPHERICAL):
        axes = {}
    for k, (tag, axis) in enumerate(axes.items()):
        xyz = " ".join(repr(float(x)) for x in axis)
        damping = float(joint.damping[k]) if joint.damping else 0.0
        lines.append(f"<{tag}><xyz>{xyz}</xyz><dynamics><damping>{damping!r}</damping></dynamics></{tag}>")
    return [*lines, "</joint>"]
