"""The forest as a chain of elementary links, each behind one z-aligned factor: the model of the recursive dynamics.

A joint of several factors (universal, cylindrical, planar) has massless links between them.  A link's frame is the far
frame of its factor, so that a hinge turns about its own z axis; fixed joints vanish, and the bodies behind them are
lumped into the link that carries them.  Twists, forces and inertias are written in link axes about the link's origin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as cs

from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD
from robocompiler.symbolic.branches import Symbols, joint_sides
from robocompiler.symbolic.frames import AlignedJoint, constant_product
from robocompiler.symbolic.inertia import Inertia
from robocompiler.symbolic.joints import elementary_steps
from robocompiler.symbolic.spatial import Pose

SX = Any


@dataclass(frozen=True)
class Axis:
    """One velocity of a link: unit speed gives the twist (omega; linear) in link axes at the link's origin."""

    index: int
    omega: SX
    linear: SX


@dataclass(frozen=True)
class Link:
    """A link: its parent's number (-1 for the world), its place in the parent, its axes and its lumped inertia.

    The pose is the constant pose `seat` of its joint's near frame in the parent, then the joint's own `motion`.
    """

    parent: int
    seat: Pose
    motion: Pose
    axes: tuple[Axis, ...]
    inertia: Inertia

    @property
    def pose(self) -> Pose:
        """Pose in the parent's axes (the world's for a link of the world)."""
        return self.seat @ self.motion

    @property
    def turns_about_z(self) -> bool:
        """Whether the joint is a turn about the link's own z axis, and nothing else."""
        return self._single and bool(self.axes[0].linear.is_zero())

    @property
    def slides(self) -> bool:
        """Whether the joint is a slide along one axis, and nothing else."""
        return self._single and bool(self.axes[0].omega.is_zero())

    @property
    def keeps_origin(self) -> bool:
        """Whether no speed of the joint moves the link's origin in the parent."""
        return all(bool(axis.linear.is_zero()) for axis in self.axes)

    @property
    def _single(self) -> bool:
        return len(self.axes) == 1

    @property
    def axes_in_parent(self) -> bool:
        """Whether several axes act together and stay in the parent (a ball or free joint walked against its direction).

        Otherwise they stay in the link; a single axis stays in both.
        """
        return len(self.axes) > 1 and not all(axis.omega.is_constant() for axis in self.axes)


@dataclass(frozen=True)
class Seat:
    """Where a body rides: link number (-1 for the world) and the pose of the body's frame in the link."""

    link: int
    pose: Pose


@dataclass(frozen=True)
class LinkTree:
    """All links, parents first, and the seat of every body."""

    links: tuple[Link, ...]
    seats: dict[str, Seat]

    def ancestors(self, link: int) -> tuple[int, ...]:
        """The link and everything between it and the world: the link itself first, the one at the world last."""
        found = []
        while link >= 0:
            found.append(link)
            link = self.links[link].parent
        return tuple(found)


def link_tree(symbols: Symbols) -> LinkTree:
    """The link tree of a topology."""
    topology = symbols.topology
    parameters = {p.name: symbols.p[i] for i, p in enumerate(topology.mechanism.parameters)}
    seats: dict[str, Seat] = {WORLD: Seat(-1, Pose.identity())}
    links: list[Link] = []
    for edge in topology.edges:
        forward, near, far = joint_sides(symbols, edge.joint)
        seat, joint = seats[edge.parent], symbols.joints[edge.joint]
        start = constant_product(seat.pose, near)
        if joint.kind is JointType.FIXED:
            seats[edge.child] = Seat(seat.link, constant_product(start, far.inverse()))
            continue
        slot = topology.slot(edge.joint)
        parent = seat.link
        for constant, pose, axes in _factors(joint, symbols.coordinates(edge.joint), slot.v0, forward):
            links.append(Link(parent, constant_product(start, constant), pose, axes, Inertia.zero()))
            parent, start = len(links) - 1, Pose.identity()
        seats[edge.child] = Seat(parent, far.inverse())
    lumped = [Inertia.zero() for _ in links]
    for body in topology.mechanism.bodies:
        seat = seats[body.name]
        if seat.link >= 0:
            lumped[seat.link] = lumped[seat.link] + Inertia.of(body, parameters).moved(seat.pose)
    return LinkTree(tuple(replace(link, inertia=lumped[i]) for i, link in enumerate(links)), seats)


def _factors(joint: AlignedJoint, q: SX, v0: int, forward: bool) -> list[tuple[Pose, Pose, tuple[Axis, ...]]]:
    """The elementary factors of a joint, outward: constant pose before it, its own pose, and its axes in far axes."""
    walked = []
    constant = Pose.identity()
    for step in elementary_steps(joint, q, v0, forward):
        pose, motions = step(Pose.identity())
        if not motions:  # a constant factor is carried into the next moving one
            constant = constant @ pose
            continue
        if forward and joint.kind in (JointType.SPHERICAL, JointType.FREE):
            axes = _own_axes(v0, len(motions))  # these velocities are defined in the far frame's own axes
        else:
            axes = tuple(
                Axis(m.index, cs.mtimes(pose.R.T, m.twist()[0:3]), cs.mtimes(pose.R.T, m.velocity_of(pose.p)))
                for m in motions
            )
        walked.append((constant, pose, axes))
        constant = Pose.identity()
    return walked


def _own_axes(v0: int, count: int) -> tuple[Axis, ...]:
    identity = cs.SX(cs.DM.eye(6).full())
    return tuple(Axis(v0 + k, identity[0:3, k], identity[3:6, k]) for k in range(count))
