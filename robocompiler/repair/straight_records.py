"""All planar and spherical loops of a mechanism made exactly so, with what that takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from robocompiler.graph.topology import Topology
from robocompiler.records.model import Joint, Mechanism, ScalarVector3
from robocompiler.repair.changes import JointChange, changes_between
from robocompiler.repair.concentrate import concentrated
from robocompiler.repair.loop_group import LoopGroup
from robocompiler.repair.planar_groups import planar_groups
from robocompiler.repair.spherical_groups import spherical_groups
from robocompiler.repair.straighten import straightened

LARGEST = 2e-4  # rad, and of the length scale: what four decimals do to loops of a few joints; more is no rounding
_ROUNDS = 4  # loops in two planes share slides, so that one may undo the other by second-order terms


@dataclass(frozen=True)
class Loop:
    """A planar or spherical group that is not exactly so: its chords, its joints, and what each joint must change."""

    chords: tuple[str, ...]
    joints: tuple[str, ...]
    changes: tuple[JointChange, ...]


@dataclass(frozen=True)
class Straightened:
    """A mechanism whose planar and spherical loops are exact.

    Attributes:
        mechanism: the records, changed; equal to those given when `loops` is empty.
        loops: the groups that had to change.
        changes: of all joints together, largest angle first.
        settled: whether a further pass finds nothing to change.
        parametric: joints of loops with moved anchors whose own anchors are expressions over parameters, so that what
            closes at the default values may be open at others.
    """

    mechanism: Mechanism
    loops: tuple[Loop, ...]
    changes: tuple[JointChange, ...]
    settled: bool
    parametric: tuple[str, ...]

    def beyond(self, length: float) -> tuple[JointChange, ...]:
        """The changes that are larger than rounding can explain (LARGEST)."""
        return tuple(c for c in self.changes if c.angle > LARGEST or c.distance > LARGEST * length)


def straight_records(mechanism: Mechanism, topology: Topology, length: float) -> Straightened:
    """Make every planar and spherical group of `mechanism` exactly so, however large the change (`beyond` tells).

    Pure geometry of the records, without poses or ranks.

    Args:
        topology: of the mechanism; it holds the free joints of floating components, which stay out of the records.
        length: the length scale (m) that anchor shifts are compared with.
    """
    repairs: list[tuple[LoopGroup, Callable[..., dict[str, Joint]]]] = [
        *((group, straightened) for group in planar_groups(topology)),
        *((group, concentrated) for group in spherical_groups(topology, length)),
    ]
    groups = tuple(group for group, _ in repairs)
    joints = {joint.name: joint for joint in topology.mechanism.joints}
    original = dict(joints)
    settled = False
    for _ in range(_ROUNDS):
        changed: dict[str, Joint] = {}
        for group, exact in repairs:
            now = exact(group, joints, mechanism.defaults, length)
            changed |= now
            joints |= now
        if not changed:
            settled = True
            break
    after = replace(mechanism, joints=tuple(joints[joint.name] for joint in mechanism.joints))
    changes = changes_between(mechanism, after)
    cut = {chord.joint for chord in topology.chords}
    shifted = {name for name, joint in joints.items() if _anchors(joint) != _anchors(original[name])}
    parametric = sorted(
        name
        for group in groups
        if shifted & set(group.joints)
        for name in group.joints
        if not all(isinstance(x, float | int) for anchor in _anchors(original[name]) for x in anchor)
    )
    return Straightened(after, _loops(groups, changes, cut), changes, settled, tuple(parametric))


def _anchors(joint: Joint) -> tuple[ScalarVector3, ScalarVector3]:
    return joint.a.translation, joint.b.translation


def _loops(groups: tuple[LoopGroup, ...], changes: tuple[JointChange, ...], cut: set[str]) -> tuple[Loop, ...]:
    found = []
    for group in groups:
        own = tuple(change for change in changes if change.joint in group.joints)
        if own:
            chords = tuple(sorted(cut & set(group.joints))) or tuple(sorted((*group.closing, *group.balls)))
            found.append(Loop(chords, tuple(sorted(group.joints)), own))
    return tuple(found)
