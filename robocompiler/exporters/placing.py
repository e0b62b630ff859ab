"""Tree joints as poses of a child in its parent, and numbers as text that reads back to the same doubles.

A joint X = A Q(q) B^-1 from its body a (or X^-1 = B Q(q)^-1 A^-1, seen from b) is a pose of the child at zero and a
motion about the child's own joint frame:

    X = (A B^-1) (B Q(q) B^-1)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from robocompiler.graph.topology import TreeEdge
from robocompiler.importers.transforms import Transform, scaled
from robocompiler.records.expressions import Scalar
from robocompiler.records.model import Body, Joint, Placement, ScalarVector3, Vector3
from robocompiler.records.number_text import number_text


@dataclass(frozen=True)
class Hung:
    """A tree joint seen from its parent.

    Attributes:
        outer, inner: the joint's frames on the parent and on the child.
        axis: of the motion of the child, in the joint frame, for the joint's own coordinate.
        backwards: the parent is the joint's body b, so that a ball has the inverse rotation.
    """

    joint: Joint
    parent: str
    child: str
    outer: Transform
    inner: Transform
    axis: Vector3
    backwards: bool

    @property
    def rest(self) -> Transform:
        """Pose of the child in the parent at zero."""
        return self.outer @ self.inner.inverse()


def hung(joint: Joint, edge: TreeEdge) -> Hung:
    """A joint of the forest as its edge sees it."""
    a, b = transform(joint.a), transform(joint.b)
    outer, inner = (a, b) if edge.forward else (b, a)
    axis = joint.axis if edge.forward else scaled(joint.axis, -1.0)
    return Hung(joint, edge.parent, edge.child, outer, inner, axis, not edge.forward)


def transform(placement: Placement) -> Transform:
    """A frame of numbers on a body."""
    return Transform(placement.rotation, vector(placement.translation))


def vector(value: ScalarVector3) -> Vector3:
    """Three scalars that are numbers."""
    return cast(Vector3, value)


def number(value: Scalar) -> float:
    """A scalar that is a number."""
    assert isinstance(value, (int, float))
    return float(value)


def text(values: Iterable[Scalar]) -> str:
    """Numbers with a space between, whole ones without a point."""
    return " ".join(_short(number(value)) for value in values)


def _short(value: float) -> str:
    value = value + 0.0  # no negative zeros
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else number_text(value)


def weightless(body: Body) -> bool:
    """Whether a body has neither mass nor inertia."""
    return body.mass == 0.0 and not any(value != 0.0 for value in body.inertia)


def single(values: Sequence[Scalar]) -> float:
    """The only value of a joint of one freedom, 0 where it has none; also of equal values."""
    return number(values[0]) if values else 0.0
