"""Forward kinematics of the forest in world axes: pose of every body and frame, twist of every tree velocity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robocompiler.records.model import WORLD
from robocompiler.symbolic.branches import Symbols, joint_sides
from robocompiler.symbolic.frames import constant_product, placement_pose
from robocompiler.symbolic.joints import Motion, traverse
from robocompiler.symbolic.spatial import Pose

SX = Any


@dataclass(frozen=True)
class FrameKinematics:
    """World pose of a frame (frame to world), and the tree velocities that move it."""

    name: str
    pose: Pose
    movers: tuple[int, ...]


@dataclass(frozen=True)
class TreeKinematics:
    """Frames: the bodies by name in file order, then the named frames.  `motions` in world axes, by velocity index."""

    frames: tuple[FrameKinematics, ...]
    motions: tuple[Motion, ...]


def tree_kinematics(symbols: Symbols) -> TreeKinematics:
    """World kinematics of the whole forest."""
    topology = symbols.topology
    # a body is carried by the aligned frame of its inboard joint: world pose of that frame, and frame <- body, constant
    carried: dict[str, tuple[Pose, Pose]] = {WORLD: (Pose.identity(), Pose.identity())}
    movers: dict[str, tuple[int, ...]] = {WORLD: ()}
    motions: list[Motion] = []
    for edge in topology.edges:
        forward, near, far = joint_sides(symbols, edge.joint)
        pose, offset = carried[edge.parent]
        slot = topology.slot(edge.joint)
        start = pose @ constant_product(offset, near)
        moved, found = traverse(start, symbols.joints[edge.joint], symbols.coordinates(edge.joint), slot.v0, forward)
        carried[edge.child] = (moved, far.inverse())
        movers[edge.child] = movers[edge.parent] + tuple(motion.index for motion in found)
        motions += found
    mechanism = topology.mechanism
    parameters = {parameter.name: symbols.p[i] for i, parameter in enumerate(mechanism.parameters)}
    frames = []
    for body in mechanism.bodies:
        pose, offset = carried[body.name]
        frames.append(FrameKinematics(body.name, pose @ offset, movers[body.name]))
    for frame in mechanism.frames:
        pose, offset = carried[frame.placement.body]
        local = constant_product(offset, placement_pose(frame.placement, parameters))
        frames.append(FrameKinematics(frame.name, pose @ local, movers[frame.placement.body]))
    return TreeKinematics(tuple(frames), tuple(sorted(motions, key=lambda motion: motion.index)))
