"""Whose speeds are held in which axes while derivatives move the configuration.

The speeds of a ball stand in the axes of its frame b, so that holding them turns the ball's angular velocity with every
move of the ball; a rod's spin about itself would change the speeds of everything that the rod is linked to.  For a ball
walked from a to b its angular velocity is therefore held in the parent's axes, and its angular acceleration but for the
turn y x v that a change y of the speeds brings (that is what a spin does to the other axes).  With y and z the changes
of speeds and accelerations so seen, the changes of the joint's own are

    y - e x v       z - e x a - y x v          along dq = e
    y               z - y x v                  for a change y of the speeds alone

The forces on the ball stay along its own axes.  Every other joint holds its own speeds; so does a ball on the world,
whose axes see no motion of a parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as cs

from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD
from robocompiler.symbolic.joints import Motion
from robocompiler.symbolic.tips import Group, grouped

SX = Any


def parent_held(topology: Topology) -> tuple[int, ...]:
    """First velocity of every ball whose speeds are held in its parent's axes."""
    return tuple(
        topology.slot(edge.joint).v0
        for edge in topology.edges
        if edge.forward and edge.parent != WORLD and topology.kind(edge.joint) is JointType.SPHERICAL
    )


def unheld(topology: Topology, E: SX, w: SX) -> SX:
    """-e x w (nv, m) sparse at the balls so held, for every column e of E; w (nv,): speeds or accelerations."""
    result = cs.SX(*E.shape)
    for first in parent_held(topology):
        at = list(range(first, first + 3))
        for k in range(E.shape[1]):
            if E[at, k].nnz():
                result[at, k] = cs.cross(w[at], cs.densify(E[at, k]))
    return cs.sparsify(result)


def limb_groups(topology: Topology, motions: Sequence[Motion]) -> list[Group]:
    """The groups of a limb, outward, with the axes that hold their speeds."""
    held, backward = parent_held(topology), {topology.slot(e.joint).v0 for e in topology.edges if not e.forward}
    groups: list[Group] = []
    for group in grouped(motions):
        first = group[0].index
        if len(group) == 1:
            groups.append(Group(group, held_outer=not groups))  # the first link's inner frame stands still
        else:
            outer, steady = first not in backward, first in held
            groups.append(Group(group, outer, held_outer=outer and not steady, steady=steady))
    return groups
