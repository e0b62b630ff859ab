"""The physical records of a mechanism: what the user wrote, checked, in SI units; nothing that is derived.

Every length-3 or 3x3 value is a tuple of floats so that records are hashable and comparable.  `Scalar` fields may be an
expression over the run-time parameters; axes are always numbers, since structure hangs on them, and so are
rotations but for the placements that hold a supported frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from robocompiler.records.expressions import Expression, Scalar
from robocompiler.records.joint_types import JointType

Vector3 = tuple[float, float, float]
Matrix3 = tuple[Vector3, Vector3, Vector3]
ScalarVector3 = tuple[Scalar, Scalar, Scalar]
ScalarQuaternion = tuple[Scalar, Scalar, Scalar, Scalar]
Interval = tuple[float, float]

WORLD = "world"
IDENTITY: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ORIGIN: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Source:
    """Where a record stands in its file."""

    file: str = ""
    line: int | None = None


@dataclass(frozen=True)
class Placement:
    """A frame fixed on a body: maps frame coordinates to body coordinates, x_body = R x + p.

    R is `rotation`, or with `turn` R(turn) `rotation`: a unit quaternion (w, x, y, z) over the run-time parameters.  No
    file has a `turn`; the anchors of support modes do (`graph.supports`).
    """

    body: str
    rotation: Matrix3 = IDENTITY
    translation: ScalarVector3 = ORIGIN
    turn: ScalarQuaternion | None = None


@dataclass(frozen=True)
class Body:
    """A rigid body.  `inertia` = (xx, yy, zz, xy, xz, yz) in kg m^2 about the centre of mass `com`, in body axes."""

    name: str
    mass: Scalar = 0.0
    com: ScalarVector3 = ORIGIN
    inertia: tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    source: Source = field(default=Source(), compare=False, repr=False)


@dataclass(frozen=True)
class Limits:
    """Limits of one coordinate (or one port): position/displacement interval, largest speed and largest effort."""

    position: Interval | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Joint:
    """X = A Q(q) B^-1 maps coordinates of b's body to a's body (`joint_types` defines Q).

    `axis` is a unit vector in the joint frame; `axis2` (universal) a unit vector fixed on body b, equal to its
    joint-frame value at q = 0; `pitch` (screw) in metres per radian.  `limits`, `armature` (kg m^2 or kg, reflected),
    `damping` (N m s/rad or N s/m) and `friction` (N m or N) have one entry per velocity of the joint type.
    """

    name: str
    type: JointType
    a: Placement
    b: Placement
    axis: Vector3 = (0.0, 0.0, 1.0)
    axis2: Vector3 = (0.0, 1.0, 0.0)
    pitch: Scalar = 0.0
    limits: tuple[Limits, ...] = ()
    armature: tuple[Scalar, ...] = ()
    damping: tuple[Scalar, ...] = ()
    friction: tuple[Scalar, ...] = ()
    source: Source = field(default=Source(), compare=False, repr=False)


@dataclass(frozen=True)
class Coupling:
    """A scalar constraint `expression` = 0 over coordinate names (of scalar coordinates) and run-time parameters."""

    name: str
    expression: Expression
    coordinates: tuple[str, ...]
    source: Source = field(default=Source(), compare=False, repr=False)


@dataclass(frozen=True)
class CoordinateSum:
    """Port displacement sum(weight * coordinate).  A joint port is the sum of one coordinate with weight 1."""

    terms: tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True)
class Point:
    """A point fixed on a body, in body coordinates (metres)."""

    body: str
    position: ScalarVector3


@dataclass(frozen=True)
class Distance:
    """Port displacement |p_b - p_a| between two points: a cylinder or a cable."""

    a: Point
    b: Point


@dataclass(frozen=True)
class Port:
    """An actuator port: its displacement and the limits of displacement, velocity and effort."""

    name: str
    measure: CoordinateSum | Distance
    limits: Limits = Limits()
    source: Source = field(default=Source(), compare=False, repr=False)


@dataclass(frozen=True)
class DriveState:
    """A state z of a drive: its value at the start, its unit where the user gives one, and zdot."""

    name: str
    initial: float
    rate: Expression
    unit: str = ""


@dataclass(frozen=True)
class DriveCommand:
    """A command c of a drive, with its unit where the user gives one."""

    name: str
    unit: str = ""


@dataclass(frozen=True)
class Drive:
    """The constitutive law of the actuator behind a port:  f = f_f(z, c, l, ldot, q, v),  zdot = f_z(same).

    The symbols of both laws are the drive's states, commands and constants, run-time parameters, joint coordinates, and
    the names that parse_drives.py lists: the displacement and velocity of the port, speed(joint), and in rates the
    effort.  Constants are numbers or expressions over parameters.
    """

    name: str
    port: str
    effort: Expression
    states: tuple[DriveState, ...] = ()
    commands: tuple[DriveCommand, ...] = ()
    constants: tuple[tuple[str, Scalar], ...] = ()
    source: Source = field(default=Source(), compare=False, repr=False)


@dataclass(frozen=True)
class NamedFrame:
    """A frame of interest on a body (tool, sole)."""

    name: str
    placement: Placement
    source: Source = field(default=Source(), compare=False, repr=False)


@dataclass(frozen=True)
class Support:
    """A support mode: each named frame (or body) held to the world by a 'weld' or a 'point'."""

    name: str
    contacts: tuple[tuple[str, str], ...]
    source: Source = field(default=Source(), compare=False, repr=False)


@dataclass(frozen=True)
class Parameter:
    """A number that stays an input of the compiled code."""

    name: str
    default: float
    source: Source = field(default=Source(), compare=False, repr=False)


@dataclass(frozen=True)
class BasePose:
    """Reference pose of a free root in the world (quaternion w, x, y, z).  `body` '' means the only free component."""

    body: str
    translation: Vector3
    quaternion: tuple[float, float, float, float]


@dataclass(frozen=True)
class Reference:
    """A seed near one assembled configuration: coordinate values by coordinate name, and base poses."""

    coordinates: tuple[tuple[str, float], ...] = ()
    bases: tuple[BasePose, ...] = ()


@dataclass(frozen=True)
class Mechanism:
    """All records of one mechanism, each group in file order."""

    name: str
    gravity: Vector3 = (0.0, 0.0, -9.81)
    bodies: tuple[Body, ...] = ()
    joints: tuple[Joint, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    ports: tuple[Port, ...] = ()
    drives: tuple[Drive, ...] = ()
    frames: tuple[NamedFrame, ...] = ()
    supports: tuple[Support, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    reference: Reference = Reference()
    length_scale: float | None = None
    warnings: tuple[str, ...] = field(default=(), compare=False, repr=False)
    source: Source = field(default=Source(), compare=False, repr=False)

    def body(self, name: str) -> Body:
        """The body called `name`."""
        return next(body for body in self.bodies if body.name == name)

    def joint(self, name: str) -> Joint:
        """The joint called `name`."""
        return next(joint for joint in self.joints if joint.name == name)

    @property
    def defaults(self) -> dict[str, float]:
        """Default values of the run-time parameters."""
        return {parameter.name: parameter.default for parameter in self.parameters}
