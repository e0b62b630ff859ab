"""Closing hinges that no geometry makes redundant: a cross whose second pin is held by two points (or by a hinge).

    base - hinge - CROSS = pin = rod ... base

The two pins of a cross are a universal joint.  Where the rest of the loop is one too (universal joint, slide, universal
joint, beside another universal joint), the pin closes five rows, and the fifth, a pure moment across both pins, meets
no motion at the symmetric pose alone: there it is almost redundant, and beside it it locks a freedom.  A source that
holds its loops softly does not notice.  No axis is wrong, so none can be repaired: what is too much is that one row,
and the smallest change is to let the pin turn about the moment's direction: a universal joint in the place of a hinge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.joint_types import JointType
from robocompiler.records.model import CoordinateSum, Joint, Limits, Matrix3, Mechanism, Placement
from robocompiler.repair.loop_group import NEAR

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cross:
    """A pin on a two-pin link.

    Attributes:
        joints: the two balls, or the hinge, that hold the pin; the first names what replaces them.
        body, rod: the cross and the body on the other side of the pin.
        hinge: the joint of the cross's other pin, square to this one.
        pin_body, pin_rod: unit direction of the pin in the axes of either body.
        at_body, at_rod: its middle on either body (m).
        across: unit vector on the cross, square to both pins, about which the pin is let turn.
    """

    joints: tuple[str, ...]
    body: str
    rod: str
    hinge: str
    pin_body: tuple[float, ...]
    pin_rod: tuple[float, ...]
    at_body: tuple[float, ...]
    at_rod: tuple[float, ...]
    across: tuple[float, ...]

    @property
    def held(self) -> str:
        """What holds the pin, in words."""
        names = f"the balls {' and '.join(self.joints)}" if len(self.joints) > 1 else f"the hinge {self.joints[0]}"
        return f"{names} between {self.body} and {self.rod}"

    def __str__(self) -> str:
        return f"{self.held}: now one universal joint {self.joints[0]}"


def crosses(mechanism: Mechanism, chords: Collection[str]) -> tuple[Cross, ...]:
    """All passive pins among the closing joints `chords` that sit on a cross."""
    return tuple(
        cross
        for joints in _pins(mechanism, chords)
        for swap in (False, True)
        if (cross := _cross(mechanism, joints, swap)) is not None
    )


def freed(mechanism: Mechanism, cross: Cross, relative: Array) -> Mechanism:
    """The mechanism with a universal joint in the place of the cross's pin.

    Its first axis is the pin on the cross, its second lies across it on the rod, parallel to `across` where the rod
    stands turned by `relative` (3, 3), rod to cross.
    """
    across = np.array(cross.across)
    on_rod = _unit(_square_to(relative.T @ across, np.array(cross.pin_rod)))
    first = mechanism.joint(cross.joints[0])
    joint = Joint(
        first.name,
        JointType.UNIVERSAL,
        Placement(cross.body, _frame(np.array(cross.pin_body), across), _three(cross.at_body)),
        Placement(cross.rod, _frame(np.array(cross.pin_rod), on_rod), _three(cross.at_rod)),
        axis=(1.0, 0.0, 0.0),
        axis2=(0.0, 1.0, 0.0),
        source=first.source,
    )
    kept = [joint if own.name == first.name else own for own in mechanism.joints if own.name not in cross.joints[1:]]
    values = tuple(v for v in mechanism.reference.coordinates if v[0].partition(":")[0] not in cross.joints)
    return replace(mechanism, joints=tuple(kept), reference=replace(mechanism.reference, coordinates=values))


def _pins(mechanism: Mechanism, chords: Collection[str]) -> Iterator[tuple[Joint, ...]]:
    used = _used(mechanism)
    closing = [
        joint
        for joint in sorted(mechanism.joints, key=lambda joint: joint.name)
        if joint.name in chords
        and joint.name not in used
        and not any(limits != Limits() for limits in joint.limits)
        and not any((*joint.armature, *joint.damping, *joint.friction))
        and not (joint.a.turn or joint.b.turn)
        and all(isinstance(x, float | int) for side in (joint.a, joint.b) for x in side.translation)
    ]
    yield from ((joint,) for joint in closing if joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS))
    balls = [joint for joint in closing if joint.type is JointType.SPHERICAL]
    for first, second in combinations(balls, 2):
        if (first.a.body, first.b.body) == (second.a.body, second.b.body):
            yield first, second


def _used(mechanism: Mechanism) -> set[str]:
    """Joints whose coordinates ports or couplings name."""
    sums = [port.measure for port in mechanism.ports if isinstance(port.measure, CoordinateSum)]
    names = [name for measure in sums for name, _ in measure.terms]
    names += [name for coupling in mechanism.couplings for name in coupling.coordinates]
    return {name.partition(":")[0] for name in names}


def _cross(mechanism: Mechanism, pin: tuple[Joint, ...], swap: bool) -> Cross | None:
    near = [joint.b if swap else joint.a for joint in pin]
    far = [joint.a if swap else joint.b for joint in pin]
    names = tuple(joint.name for joint in pin)
    body = near[0].body
    others = [j for j in mechanism.joints if body in (j.a.body, j.b.body) and j.name not in names]
    if len(others) != 1 or others[0].type not in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return None
    side = others[0].a if others[0].a.body == body else others[0].b
    hinge = np.array(side.rotation) @ np.array(others[0].axis)
    directions = [_direction(pin, sides) for sides in (near, far)]
    if directions[0] is None or directions[1] is None or abs(directions[0] @ hinge) > NEAR:
        return None
    middles = [np.mean([np.array(s.translation, dtype=float) for s in sides], axis=0) for sides in (near, far)]
    across = _unit(np.cross(directions[0], hinge))
    vectors = (tuple(map(float, v)) for v in (*directions, *middles, across))
    return Cross(names, body, far[0].body, others[0].name, *vectors)


def _direction(pin: tuple[Joint, ...], sides: list[Placement]) -> Array | None:
    """Unit direction of the pin on one body; None for two balls in one point."""
    if len(pin) == 1:
        return np.asarray(np.array(sides[0].rotation) @ np.array(pin[0].axis))
    span = np.subtract(np.array(sides[1].translation, dtype=float), np.array(sides[0].translation, dtype=float))
    return _unit(span) if np.linalg.norm(span) > 0 else None


def _square_to(vector: Array, axis: Array) -> Array:
    return np.asarray(vector - (vector @ axis) * axis)


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))


def _frame(x: Array, y: Array) -> Matrix3:
    """Columns x, the part of y across x, and their cross product."""
    y = _unit(_square_to(y, x))
    first, second, third = np.column_stack((x, y, np.cross(x, y))).tolist()
    return tuple(first), tuple(second), tuple(third)


def _three(values: tuple[float, ...]) -> tuple[float, float, float]:
    x, y, z = values
    return x, y, z
