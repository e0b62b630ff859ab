"""A spanning tree of the records for engines that need one: an own choice, walked in depth-first order."""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.oracle.scene import GROUND, PlacedJoint, Scene
from robocompiler.records.joint_types import JointType

# a FREE chord constrains nothing, but the free joint of a floating component must carry it: no cycle runs through it
_CUT_PREFERENCE = {
    JointType.FIXED: 0,
    JointType.REVOLUTE: 2,
    JointType.CONTINUOUS: 2,
    JointType.SPHERICAL: 3,
    JointType.FREE: 4,
}


@dataclass(frozen=True)
class Branch:
    """A tree joint: `child` hangs on `parent`; `reversed` when the child is the joint's a body."""

    joint: PlacedJoint
    parent: int
    child: int
    reversed: bool


@dataclass(frozen=True)
class Spanning:
    """Branches in depth-first order (an engine's composite-inertia pass may rely on it), and the chords left over."""

    branches: tuple[Branch, ...]
    chords: tuple[PlacedJoint, ...]


def spanning_tree(scene: Scene) -> Spanning:
    """Cut spherical joints first, then hinges without armature or damping: engines close these by points, exactly."""
    group = {index: index for index in (GROUND, *range(len(scene.solids)))}

    def top(index: int) -> int:
        while group[index] != index:
            index = group[index]
        return index

    def weight(joint: PlacedJoint) -> tuple[int, bool]:
        return _CUT_PREFERENCE.get(joint.kind, 1), not any(value != 0 for value in (*joint.armature, *joint.damping))

    near: dict[int, list[PlacedJoint]] = {index: [] for index in group}
    chords: list[PlacedJoint] = []
    for joint in sorted(scene.joints, key=weight):
        a, b = top(joint.a.body), top(joint.b.body)
        if a == b:
            chords.append(joint)
            continue
        group[a] = b
        near[joint.a.body].append(joint)
        near[joint.b.body].append(joint)
    branches: list[Branch] = []
    stack = [(joint, GROUND) for joint in reversed(near[GROUND])]
    while stack:
        joint, parent = stack.pop()
        backwards = joint.a.body != parent
        child = joint.a.body if backwards else joint.b.body
        branches.append(Branch(joint, parent, child, backwards))
        stack += [(other, child) for other in reversed(near[child]) if other is not joint]
    order = {joint.name: k for k, joint in enumerate(scene.joints)}
    return Spanning(tuple(branches), tuple(sorted(chords, key=lambda joint: order[joint.name])))


PRIMITIVES = {"turn": 1, "slide": 1, "screw": 1, "ball": 3, "free": 6}


@dataclass(frozen=True)
class Primitive:
    """One elementary joint of a chain: its kind, its axis in the frame it starts in, and the coordinate it carries.

    Balls and free joints carry all coordinates of their joint; read backwards they need a change of variables.
    """

    kind: str
    axis: tuple[float, float, float]
    coordinate: str
    pitch: float = 0.0


def chain(branch: Branch) -> tuple[Primitive, ...]:
    """Q(q), or its inverse for a reversed branch, as a product of elementary joints with unchanged coordinates."""
    joint = branch.joint
    names = joint.coordinates

    def axis(vector: tuple[float, float, float]) -> tuple[float, float, float]:
        x, y, z = (float(value) for value in vector)
        return (-x, -y, -z) if branch.reversed else (x, y, z)

    n, m = axis(joint.n), axis(joint.m)
    parts: dict[JointType, tuple[Primitive, ...]] = {}
    if joint.kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        parts[joint.kind] = (Primitive("turn", n, names[0]),)
    elif joint.kind is JointType.PRISMATIC:
        parts[joint.kind] = (Primitive("slide", n, names[0]),)
    elif joint.kind is JointType.SCREW:
        parts[joint.kind] = (Primitive("screw", n, names[0], float(joint.pitch)),)
    elif joint.kind is JointType.CYLINDRICAL:
        parts[joint.kind] = (Primitive("turn", n, names[0]), Primitive("slide", n, names[1]))
    elif joint.kind is JointType.UNIVERSAL:
        parts[joint.kind] = (Primitive("turn", n, names[0]), Primitive("turn", m, names[1]))
    elif joint.kind is JointType.PLANAR:
        parts[joint.kind] = (
            Primitive("slide", axis(joint.e1), names[0]),
            Primitive("slide", axis(joint.e2), names[1]),
            Primitive("turn", n, names[2]),
        )
    elif joint.kind is JointType.SPHERICAL:
        parts[joint.kind] = (Primitive("ball", n, joint.name),)
    elif joint.kind is JointType.FREE:
        parts[joint.kind] = (Primitive("free", n, joint.name),)
    result = parts.get(joint.kind, ())
    return tuple(reversed(result)) if branch.reversed else result
