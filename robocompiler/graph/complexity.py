"""Figures of a topology's size: what the choice of forest and cuts costs, before any algebra is done."""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.graph.topology import Chord, Topology
from robocompiler.records.joint_types import JointType

FULL_ROWS = 6
CONDENSED_ROWS: dict[JointType, int] = {
    JointType.FIXED: 6,
    JointType.REVOLUTE: 5,
    JointType.CONTINUOUS: 5,
    JointType.PRISMATIC: 5,
    JointType.SCREW: 6,
    JointType.CYLINDRICAL: 4,
    JointType.UNIVERSAL: 4,
    JointType.SPHERICAL: 3,
    JointType.PLANAR: 3,
    JointType.FREE: 0,
}


@dataclass(frozen=True)
class Complexity:
    """Counts of a topology.

    Path lengths, depths and factors count moving joints, since a fixed joint's transform folds into its neighbours.
    Joint counts include the free joints synthesised for floating components.  `local_factors` is the sum of the
    path lengths; `global_factors` is what it would be if every closure were formed from all moving tree joints.
    """

    bodies: int
    joints: int
    moving_joints: int
    components: int
    floating_components: int
    chords: int
    kept_chords: int
    couplings: int
    velocities: int
    tree_velocities: int
    full_rows: int
    condensed_rows: int
    path_min: int
    path_mean: float
    path_max: int
    depth: int
    local_factors: int
    global_factors: int


def condensed_rows(chord: Chord, topology: Topology) -> int:
    """Closure rows of one chord after its joint's own coordinates are eliminated (six when they are kept)."""
    return FULL_ROWS if chord.kept else CONDENSED_ROWS[topology.kind(chord.joint)]


def complexity(topology: Topology) -> Complexity:
    """The complexity figures of `topology` (path figures are 0 when there is no chord)."""
    moving = {joint.name for joint in topology.mechanism.joints if joint.type is not JointType.FIXED}
    lengths = [sum(name in moving for name in chord.branch_a + chord.branch_b) for chord in topology.chords]
    couplings = len(topology.mechanism.couplings)
    chords = len(topology.chords)
    return Complexity(
        bodies=len(topology.mechanism.bodies),
        joints=len(topology.mechanism.joints),
        moving_joints=len(moving),
        components=len(topology.components),
        floating_components=sum(bool(component.free_joint) for component in topology.components),
        chords=chords,
        kept_chords=sum(chord.kept for chord in topology.chords),
        couplings=couplings,
        velocities=topology.nv,
        tree_velocities=topology.tree_nv,
        full_rows=FULL_ROWS * chords + couplings,
        condensed_rows=sum(condensed_rows(chord, topology) for chord in topology.chords) + couplings,
        path_min=min(lengths, default=0),
        path_mean=sum(lengths) / chords if chords else 0.0,
        path_max=max(lengths, default=0),
        depth=_depth(topology, moving),
        local_factors=sum(lengths),
        global_factors=chords * sum(edge.joint in moving for edge in topology.edges),
    )


def _depth(topology: Topology, moving: set[str]) -> int:
    depth: dict[str, int] = {}
    for edge in topology.edges:
        depth[edge.child] = depth.get(edge.parent, 0) + (edge.joint in moving)
    return max(depth.values(), default=0)
