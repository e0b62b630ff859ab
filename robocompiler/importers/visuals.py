"""Visual geometry of a foreign file as a side table: shapes with poses on bodies.  No physics, and no part of records.

Nothing here opens a mesh or looks for one.  A fault in a visual costs that visual alone: it is told aside and never
refuses the mechanism.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from robocompiler.errors import Problem
from robocompiler.importers.log import ImportLog
from robocompiler.importers.transforms import UNMOVED, Transform
from robocompiler.importers.values import Values
from robocompiler.records.model import Vector3

Rgba = tuple[float, float, float, float]
MAXIMUM_VISUALS = 20_000
_MAXIMUM_FAULTS = 200
_ONES: Vector3 = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class VisualBox:
    """A box about its frame's origin; size: its edges (m)."""

    size: Vector3


@dataclass(frozen=True)
class VisualCylinder:
    """A cylinder along z about its frame's origin (m)."""

    radius: float
    length: float


@dataclass(frozen=True)
class VisualCapsule:
    """A capsule along z about its frame's origin; length: of its straight part (m)."""

    radius: float
    length: float


@dataclass(frozen=True)
class VisualEllipsoid:
    """An ellipsoid about its frame's origin with these half axes (m); a sphere has three equal ones."""

    radii: Vector3


@dataclass(frozen=True)
class MeshFile:
    """A mesh in a file of its own, as it is named: x_shape = diag(scale) (R x_file + p).

    Attributes:
        uri: the name in the model file.
        base: the file whose folder relative names start in.
        scale: factors along the axes of the shape's frame.
        inner: (R, p), the identity in most formats.
    """

    uri: str
    base: str
    scale: Vector3 = _ONES
    inner: Transform = UNMOVED


VisualShape = VisualBox | VisualCylinder | VisualCapsule | VisualEllipsoid | MeshFile


@dataclass(frozen=True)
class Visual:
    """One shape on a body.

    Attributes:
        body: name in the records, 'world' for the surroundings.
        pose: of the shape's frame in the body (m).
        rgba: colour and opacity in 0 to 1, or None where the file has none.
        record, file, line: where it stands.
    """

    body: str
    shape: VisualShape
    pose: Transform
    rgba: Rgba | None
    record: str
    file: str
    line: int | None


@dataclass(frozen=True)
class Visuals:
    """The table of a file.

    Attributes:
        items: its visuals, in the order of the file.
        notes: what could not be read, with file and line.
        incomplete: bodies with a visual that could not be read.
    """

    items: tuple[Visual, ...] = ()
    notes: tuple[Problem, ...] = ()
    incomplete: frozenset[str] = frozenset()

    def of(self, body: str) -> tuple[Visual, ...]:
        """The visuals of one body."""
        return tuple(item for item in self.items if item.body == body)


class VisualLog(ImportLog):
    """Faults of visuals, with the places of the import's log; they are told and stop nothing."""

    def __init__(self, log: ImportLog) -> None:
        super().__init__(log.file)
        self._main, self._seen = log, 0

    def place(self, line: int | None) -> tuple[str, int | None]:
        """File and line, as the import has them."""
        return self._main.place(line)

    def problem(self, message: str, record: str = "", line: int | None = None) -> None:
        """Note a fault; beyond a few hundred they are no longer kept."""
        if len(self.problems) < _MAXIMUM_FAULTS:
            self.problems.append(Problem(message, record, *self.place(line)))
        self._seen += 1

    @property
    def count(self) -> int:
        """Number of faults so far, kept or not."""
        return self._seen


class VisualTable:
    """The table in the making."""

    def __init__(self, log: ImportLog) -> None:
        self.log = VisualLog(log)
        self._items: list[Visual] = []
        self._incomplete: set[str] = set()

    def add(
        self, own: Values, body: str, shape: VisualShape | None, pose: Transform, rgba: Rgba | None, before: int
    ) -> None:
        """Put a visual, unless it has no shape or its reading has noted faults.

        Args:
            own: says where it stands.
            before: the log's count when its reading began.
        """
        if self.log.count != before:
            self._incomplete.add(body)
        elif shape is not None and len(self._items) < MAXIMUM_VISUALS:
            self._items.append(Visual(body, shape, pose, rgba, own.record, *self.log.place(own.line)))
        elif shape is not None:
            self._incomplete.add(body)
            self.log.problem(f"is beyond the first {MAXIMUM_VISUALS} visuals and not drawn", own.record, own.line)

    def done(self) -> Visuals:
        """The table."""
        return Visuals(tuple(self._items), tuple(self.log.problems), frozenset(self._incomplete))


def length(own: Values, key: str) -> float:
    """A positive length (m); 1 with a fault noted when there is none."""
    value = own.required(key)
    if key in own and not value > 0:
        own.problem(f"'{key}' must be positive, found {value:g}")
    return value if value > 0 else 1.0


def edges(own: Values, key: str) -> Vector3:
    """Three positive lengths (m)."""
    if key not in own:
        own.problem(f"'{key}' is missing")
    x, y, z = own.vector(key, _ONES)
    if min(x, y, z) <= 0:
        own.problem(f"'{key}' must be positive, found {x:g} {y:g} {z:g}")
    return (x, y, z)


def factors(own: Values, key: str = "scale", counts: Collection[int] = (3,)) -> Vector3:
    """Scale factors of a mesh, none of them 0; negative ones mirror."""
    found = own.numbers(key, counts, _ONES)
    x, y, z = found if len(found) == 3 else found * 3
    if 0.0 in (x, y, z):
        own.problem(f"'{key}' must not be 0")
    return (x, y, z)


def colour(own: Values, key: str) -> Rgba | None:
    """Red, green, blue and opacity, within 0 to 1; None where the file has none."""
    found = own.numbers(key, (3, 4))
    if not found:
        return None
    r, g, b, a = (min(max(value, 0.0), 1.0) for value in (*found, 1.0)[:4])
    return (r, g, b, a)
