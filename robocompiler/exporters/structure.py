"""A mechanism as a tree with closures that another format can say: which joints close loops, and chains for the rest.

The tree is the compiler's.  Where a joint outside it has no counterpart among the closures of the format, another tree
of the same mechanism is tried that cuts only joints which have one; what is left moves into the tree on a body of its
own, which is then welded to where it belongs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from robocompiler.exporters.elementary import expand, is_elementary
from robocompiler.exporters.naming import Names
from robocompiler.exporters.notes import CHANGED, LEFT_OUT, ExportLog
from robocompiler.exporters.rewriting import at_defaults, with_coordinates
from robocompiler.graph.build import derive_topology
from robocompiler.graph.preference import needed_joints
from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JointType, coordinate_names
from robocompiler.records.model import WORLD, Body, Joint, Mechanism, Placement, Reference

POINTS = frozenset((
    JointType.FIXED, JointType.SPHERICAL, JointType.REVOLUTE, JointType.CONTINUOUS, JointType.FREE,
))  # fmt: skip


@dataclass(frozen=True)
class Target:
    """What a format can say.

    Attributes:
        closings: joint types that close loops when nothing acts at them; None: all, whatever acts.
        whole: joint types of several freedoms that stay whole in the tree; the others become chains.
        split: whether other closures get a body of their own; else they are listed as missing.
    """

    name: str
    closings: frozenset[JointType] | None
    whole: frozenset[JointType] = frozenset()
    split: bool = True


@dataclass(frozen=True)
class Structure:
    """The rewritten records: numbers only, every body on the world, tree joints elementary (or whole).

    Attributes:
        topology: of the rewritten mechanism.
        between: bodies without mass that stand inside a chain.
        coordinates: new name of each renamed coordinate; followers: (new coordinate, old one, factor).
        missing: closures that the format cannot hold.
    """

    mechanism: Mechanism
    topology: Topology
    between: frozenset[str] = frozenset()
    coordinates: Mapping[str, str] = field(default_factory=dict)
    followers: tuple[tuple[str, str, float], ...] = ()
    missing: tuple[str, ...] = ()

    def values(self, given: Mapping[str, float]) -> dict[str, float]:
        """Coordinates by their new names; those that `given` lacks are 0 (quaternions: the identity)."""
        found = {self.coordinates.get(name, name): value for name, value in given.items()}
        found |= {new: factor * given[old] for new, old, factor in self.followers if old in given}
        names = [name for joint in self.mechanism.joints for name in coordinate_names(joint.name, joint.type)]
        return {name: found.get(name, 1.0 if name.endswith(":qw") else 0.0) for name in names}


def structure(mechanism: Mechanism, target: Target, log: ExportLog) -> Structure:
    """Choose the tree, split what cannot close, expand what has several freedoms.

    Raises ModelError for records that do not fit together (`derive_topology`).
    """
    numeric = at_defaults(mechanism)
    if mechanism.parameters:
        log.note(LEFT_OUT, "run-time parameters: their defaults are written as numbers", mechanism.parameters[0].name)
    topology = _chosen(numeric, target, log)
    bodies = Names((WORLD, *(b.name for b in numeric.bodies), *(f.name for f in numeric.frames)))
    joints = Names((*(joint.name for joint in topology.mechanism.joints), *(c.name for c in numeric.couplings)))
    hung, chords, missing = _split(topology, target, bodies, joints, log)
    return _expanded(hung, chords, target, bodies, joints, missing, log)


def said(mechanism: Mechanism, target: Target) -> frozenset[str]:
    """Joints that the format can say as closures."""
    if target.closings is None:
        return frozenset(joint.name for joint in mechanism.joints)
    needed = needed_joints(mechanism)
    return frozenset(
        joint.name for joint in mechanism.joints if joint.type in target.closings and joint.name not in needed
    )


def _chosen(mechanism: Mechanism, target: Target, log: ExportLog) -> Topology:
    topology = derive_topology(mechanism)
    able = said(topology.mechanism, target)
    unable = [chord.joint for chord in topology.chords if chord.joint not in able]
    if not unable:
        return topology
    own = {joint.name for joint in mechanism.joints}
    other = derive_topology(mechanism, sorted(able & own))
    if sum(chord.joint not in able for chord in other.chords) >= len(unable):
        return topology
    log.note(
        CHANGED,
        f"a {topology.kind(unable[0]).value} joint, or one at which something acts, is no closure in {target.name}, so "
        "the tree is another than the compiler's, with other joints cut",
        unable[0],
    )
    return other


def _split(
    topology: Topology, target: Target, bodies: Names, joints: Names, log: ExportLog
) -> tuple[Mechanism, list[str], tuple[str, ...]]:
    """The mechanism in which every chord can be said, the names of these chords, and of those that are missing."""
    mechanism = topology.mechanism
    able = said(mechanism, target)
    chords, missing, ghosts = [], [], []
    records: list[Joint] = list(mechanism.joints)
    for chord in topology.chords:
        joint = topology.joint(chord.joint)
        if joint.name in able:
            chords.append(joint.name)
        elif not target.split:
            missing.append(joint.name)
            chords.append(joint.name)
        else:
            ghost, weld = bodies.fresh(f"{joint.name}_end"), joints.fresh(f"{joint.name}_weld")
            end = replace(joint.b, body=ghost)
            records[records.index(joint)] = replace(joint, b=end)
            records.append(Joint(weld, JointType.FIXED, joint.b, end, source=joint.source))
            ghosts.append(Body(ghost))
            chords.append(weld)
            log.note(
                CHANGED,
                f"a {joint.type.value} joint that closes a loop ends on a new body NAME_end, welded to its body b",
                joint.name,
            )
    return replace(mechanism, bodies=mechanism.bodies + tuple(ghosts), joints=tuple(records)), chords, tuple(missing)


def _expanded(
    mechanism: Mechanism,
    chords: Collection[str],
    target: Target,
    bodies: Names,
    joints: Names,
    missing: tuple[str, ...],
    log: ExportLog,
) -> Structure:
    records: list[Joint] = []
    between: list[Body] = []
    couplings = list(mechanism.couplings)
    renamed: dict[str, str] = {}
    followers = []
    for joint in mechanism.joints:
        if joint.name in chords or is_elementary(joint.type) or joint.type in target.whole or _stays(joint):
            records.append(joint)
            continue
        chain = expand(joint, joints.fresh, bodies.fresh, log)
        records += chain.joints
        between += chain.between
        couplings += chain.couplings
        renamed |= chain.coordinates
        followers += [] if chain.follower is None else [chain.follower]
        log.note(CHANGED, f"a {joint.type.value} joint is a chain of hinges, slides and balls", joint.name)
    rewritten = replace(
        mechanism,
        bodies=mechanism.bodies + tuple(between),
        joints=tuple(records),
        couplings=tuple(couplings),
        reference=Reference(),  # its base poses speak of bodies that floated before
    )
    rewritten = with_coordinates(rewritten, renamed)
    return Structure(
        rewritten, derive_topology(rewritten, sorted(chords)), frozenset(body.name for body in between), renamed,
        tuple(followers), missing,
    )  # fmt: skip


def _stays(joint: Joint) -> bool:
    """A free joint from the world to a body's own frame, with the same losses (or none) in all directions."""
    if joint.type is not JointType.FREE:
        return False
    plain = joint.a == Placement(WORLD) and joint.b == Placement(joint.b.body)
    return plain and all(len(set(group)) <= 1 for group in (joint.armature, joint.damping, joint.friction))
