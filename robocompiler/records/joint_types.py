"""What each joint type is called and how many numbers describe it.

A joint X = A Q(q) B^-1 maps frame b's body to frame a's body.  Q, in the joint frame (`n` = axis, `m` = axis2):

    fixed        I                          cylindrical  Rot(n, angle) Trans(n displacement)
    revolute     Rot(n, q)                  universal    Rot(n, first) Rot(m, second)
    continuous   Rot(n, q), never wrapped   spherical    Rot(quaternion w x y z)
    prismatic    Trans(n q)                 planar       Trans(e1 x + e2 y) Rot(n, angle)
    screw        Rot(n, q) Trans(n pitch q) free         Trans(x, y, z) Rot(quaternion)

(e1, e2, n) of a planar joint is the image of (x, y, z) under the shortest rotation from z to n (for n_z < 0: after half
a turn about x); for n = y that is e1 = x, e2 = -z.  Velocities are coordinate rates, except those
of spherical and free joints: the angular velocity (and for free joints the velocity of b's origin), of b relative to a,
in the axes of frame b; angular first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class JointType(str, Enum):
    """The joint types of the input language."""

    FIXED = "fixed"
    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    CYLINDRICAL = "cylindrical"
    UNIVERSAL = "universal"
    SPHERICAL = "spherical"
    PLANAR = "planar"
    SCREW = "screw"
    FREE = "free"


@dataclass(frozen=True)
class JointShape:
    """Coordinate and velocity suffixes of a joint type ('': the only one, named after its joint), with units."""

    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    coordinate_units: tuple[str, ...]
    velocity_units: tuple[str, ...]
    has_axis: bool = True

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of velocities (freedoms)."""
        return len(self.velocities)


_ROTARY = JointShape(("",), ("",), ("rad",), ("rad/s",))
_LINEAR = JointShape(("",), ("",), ("m",), ("m/s",))
_QUATERNION = ("qw", "qx", "qy", "qz")
_OMEGA = ("wx", "wy", "wz")

JOINT_SHAPES: dict[JointType, JointShape] = {
    JointType.FIXED: JointShape((), (), (), (), has_axis=False),
    JointType.REVOLUTE: _ROTARY,
    JointType.CONTINUOUS: _ROTARY,
    JointType.PRISMATIC: _LINEAR,
    JointType.CYLINDRICAL: JointShape(
        ("angle", "displacement"), ("angle", "displacement"), ("rad", "m"), ("rad/s", "m/s")
    ),
    JointType.UNIVERSAL: JointShape(("first", "second"), ("first", "second"), ("rad", "rad"), ("rad/s", "rad/s")),
    JointType.SPHERICAL: JointShape(_QUATERNION, _OMEGA, ("1",) * 4, ("rad/s",) * 3, has_axis=False),
    JointType.PLANAR: JointShape(("x", "y", "angle"), ("x", "y", "angle"), ("m", "m", "rad"), ("m/s", "m/s", "rad/s")),
    JointType.SCREW: _ROTARY,
    JointType.FREE: JointShape(
        ("x", "y", "z", *_QUATERNION),
        (*_OMEGA, "vx", "vy", "vz"),
        ("m",) * 3 + ("1",) * 4,
        ("rad/s",) * 3 + ("m/s",) * 3,
        has_axis=False,
    ),
}


def coordinate_names(joint: str, kind: JointType) -> tuple[str, ...]:
    """Full names of a joint's coordinates: `joint` for a single one, else `joint:suffix` (names have no ':')."""
    return tuple(joint if not suffix else f"{joint}:{suffix}" for suffix in JOINT_SHAPES[kind].coordinates)


def velocity_names(joint: str, kind: JointType) -> tuple[str, ...]:
    """Full names of a joint's velocities, by the rule of `coordinate_names`."""
    return tuple(joint if not suffix else f"{joint}:{suffix}" for suffix in JOINT_SHAPES[kind].velocities)
