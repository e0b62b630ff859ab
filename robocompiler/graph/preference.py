"""Which joints belong in the forest: a lexicographic key per joint, smaller meaning kept more firmly."""

from __future__ import annotations

from collections.abc import Collection

import networkx as nx

from robocompiler.graph.multigraph import joint_multigraph
from robocompiler.records.expressions import Constant, Scalar
from robocompiler.records.joint_types import JOINT_SHAPES, JointType
from robocompiler.records.model import WORLD, CoordinateSum, Joint, Mechanism

Preference = tuple[int, int]


def joint_of(coordinate: str) -> str:
    """The joint of a coordinate name `joint` or `joint:suffix`."""
    return coordinate.partition(":")[0]


def ported_joints(mechanism: Mechanism) -> frozenset[str]:
    """Joints whose coordinates make up a port's displacement (two-point ports use no joint coordinate)."""
    measures = [port.measure for port in mechanism.ports]
    return frozenset(joint_of(name) for m in measures if isinstance(m, CoordinateSum) for name, _ in m.terms)


def coupled_joints(mechanism: Mechanism) -> frozenset[str]:
    """Joints whose coordinates occur in a coupling."""
    return frozenset(joint_of(name) for coupling in mechanism.couplings for name in coupling.coordinates)


def needed_joints(mechanism: Mechanism) -> frozenset[str]:
    """Joints whose coordinates or speeds the equations use: ports, couplings, armature, damping, friction, screws.

    Such a joint stays in the forest if it can; as a chord its coordinates must stay unknowns of the closure.
    """
    own = (joint.name for joint in mechanism.joints if joint.type is JointType.SCREW or _drives(joint))
    return ported_joints(mechanism) | coupled_joints(mechanism) | frozenset(own)


def preferences(mechanism: Mechanism, cut_first: Collection[str] = ()) -> dict[str, Preference]:
    """(class, freedoms) of every joint; a joint with a smaller pair is kept in the forest before one with a larger.

    Classes: 0 free joints from the world, 1 fixed joints, 2 needed joints, 3 the rest, 4 contacts, 5 the joints of
    `cut_first`, which the caller would rather have cut.  Within a class the joints with the most freedoms are cut
    first, because their closures have the fewest condensed rows.

    Raises:
        ValueError: `cut_first` names no joint of the mechanism.
    """
    unknown = sorted(set(cut_first) - {joint.name for joint in mechanism.joints})
    if unknown:
        raise ValueError(f"no joint to cut is called {', '.join(map(repr, unknown))}")
    needed = needed_joints(mechanism)
    contacts = contact_joints(mechanism) - needed
    return {
        joint.name: (5 if joint.name in cut_first else _class(joint, needed, contacts), JOINT_SHAPES[joint.type].nv)
        for joint in mechanism.joints
    }


def contact_joints(mechanism: Mechanism) -> frozenset[str]:
    """Fixed and spherical joints that hold to the world a group of bodies which a free joint carries already.

    This is what a support looks like.  Its free joint hangs the group on the world, so that such a joint closes a loop
    wherever the group touches the world again; cutting it there leaves the robot's own joints in the forest.
    """
    ends = {joint.name: (joint.a.body, joint.b.body) for joint in mechanism.joints}
    grounded = [joint for joint in mechanism.joints if WORLD in ends[joint.name]]
    carried = {body for joint in grounded if joint.type is JointType.FREE for body in ends[joint.name]} - {WORLD}
    held = [joint for joint in grounded if joint.type in (JointType.FIXED, JointType.SPHERICAL)]
    if not carried or not held:
        return frozenset()
    graph = joint_multigraph(mechanism)
    graph.remove_node(WORLD)
    bodies = frozenset().union(*(group for group in nx.connected_components(graph) if not carried.isdisjoint(group)))
    return frozenset(joint.name for joint in held if not bodies.isdisjoint(ends[joint.name]))


def _class(joint: Joint, needed: frozenset[str], contacts: frozenset[str]) -> int:
    if joint.name in contacts:
        return 4
    if joint.type is JointType.FREE and WORLD in (joint.a.body, joint.b.body):
        return 0
    if joint.type is JointType.FIXED:
        return 1
    return 2 if joint.name in needed else 3


def _drives(joint: Joint) -> bool:
    return any(_nonzero(value) for value in (*joint.armature, *joint.damping, *joint.friction))


def _nonzero(value: Scalar) -> bool:
    """Whether `value` can differ from zero: an expression of run-time parameters always counts as if it did."""
    if isinstance(value, Constant):
        return value.value != 0.0
    return value != 0.0 if isinstance(value, (int, float)) else True
