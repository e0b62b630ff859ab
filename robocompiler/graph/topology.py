"""The structure that the compiler derives from the records: forest, chords, paths and the coordinate layout.

    chords = |J| - |B| + kappa,    T_e = prod_{j in P_e} X_j^{sigma_ej}     (docs/mathematics.md)

Nothing here is numeric; a Topology is a function of the records alone and does not depend on their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.records.joint_types import JOINT_SHAPES, JointType, coordinate_names, velocity_names
from robocompiler.records.model import Joint, Mechanism


@dataclass(frozen=True)
class TreeEdge:
    """A joint of the spanning forest.  `forward`: the parent is the joint's body a, so that ^parent T_child = X."""

    joint: str
    parent: str
    child: str
    forward: bool


@dataclass(frozen=True)
class Chord:
    """A joint outside the forest, seen from `ancestor`, the lowest common ancestor of its two bodies.

    `branch_a` and `branch_b` list the tree joints from the ancestor down to the joint's body a and body b: the path P_e
    is branch_a reversed, then branch_b.  A chord is `kept` when its own coordinates must stay unknowns of the closure
    (it carries a port, armature, damping, friction or a coupling, or is a screw): then all six components of Delta_e
    are closed with the joint's coordinates among the columns.  Otherwise its coordinates are eliminated (condensed
    rows).
    """

    joint: str
    ancestor: str
    branch_a: tuple[str, ...]
    branch_b: tuple[str, ...]
    kept: bool


@dataclass(frozen=True)
class Slot:
    """Where a joint's numbers lie: q[q0:q0+nq] and v[v0:v0+nv]."""

    joint: str
    q0: int
    nq: int
    v0: int
    nv: int


@dataclass(frozen=True)
class Component:
    """A connected component, its reference body, and the free joint that carries it ('' when it hangs on the world)."""

    root: str
    bodies: tuple[str, ...]
    free_joint: str


@dataclass(frozen=True)
class Topology:
    """The spanning forest with its chords.

    `mechanism` holds the records plus one synthesised free joint (world to root) per floating component, so that every
    body hangs below the world.  `edges` are in depth-first order, parents first.  `slots` place all joints: those of
    the forest in the order of `edges`, then the chords by name.
    """

    mechanism: Mechanism
    components: tuple[Component, ...]
    edges: tuple[TreeEdge, ...]
    chords: tuple[Chord, ...]
    slots: tuple[Slot, ...]

    def joint(self, name: str) -> Joint:
        """The record of a joint, synthesised free joints included."""
        return self.mechanism.joint(name)

    def slot(self, name: str) -> Slot:
        """The coordinate slot of a joint."""
        return next(slot for slot in self.slots if slot.joint == name)

    def moved_coordinates(self, velocity: int) -> tuple[int, ...]:
        """Indices of the coordinates that a velocity moves: one, or all of a joint whose coordinates are more."""
        slot = next(slot for slot in self.slots if slot.v0 <= velocity < slot.v0 + slot.nv)
        if slot.nq == slot.nv:
            return (slot.q0 + velocity - slot.v0,)
        return tuple(range(slot.q0, slot.q0 + slot.nq))

    @property
    def nq(self) -> int:
        """Number of coordinates, cut joints included."""
        return sum(slot.nq for slot in self.slots)

    @property
    def nv(self) -> int:
        """Number of velocities, cut joints included."""
        return sum(slot.nv for slot in self.slots)

    @property
    def tree_nv(self) -> int:
        """Number of velocities of the forest's joints, free roots included."""
        return sum(self.slot(edge.joint).nv for edge in self.edges)

    @property
    def q_names(self) -> tuple[str, ...]:
        """Coordinate names in the order of q."""
        return tuple(n for slot in self.slots for n in coordinate_names(slot.joint, self.kind(slot.joint)))

    @property
    def v_names(self) -> tuple[str, ...]:
        """Velocity names in the order of v."""
        return tuple(n for slot in self.slots for n in velocity_names(slot.joint, self.kind(slot.joint)))

    def kind(self, name: str) -> JointType:
        """The type of a joint."""
        return self.joint(name).type

    def freedoms(self, name: str) -> int:
        """The number of velocities of a joint."""
        return JOINT_SHAPES[self.kind(name)].nv
