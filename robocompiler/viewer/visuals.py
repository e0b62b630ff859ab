"""The visual geometry of an imported file as triangles on bodies; what cannot be drawn is told, once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import Problem
from robocompiler.importers.transforms import Transform
from robocompiler.importers.visuals import (
    MeshFile,
    Rgba,
    Visual,
    VisualBox,
    VisualCapsule,
    VisualCylinder,
    Visuals,
    VisualShape,
)
from robocompiler.records.names import shown
from robocompiler.viewer.mesh_files.locate import locate
from robocompiler.viewer.mesh_files.read import read_mesh
from robocompiler.viewer.mesh_files.refusal import MeshRefusedError, PackageMissingError
from robocompiler.viewer.meshes import Mesh, mesh_of
from robocompiler.viewer.shapes import Ball, Box, Capsule, Cylinder, Pose

Array = NDArray[np.float64]
PLAIN: Rgba = (0.72, 0.74, 0.77, 1.0)  # where the file has no colour
MAXIMUM_TRIANGLES = 3_000_000  # of all visuals
FARTHEST = 1e6  # m, from the body's origin: beyond, nothing can be drawn in single precision
_ORIGIN = (0.0, 0.0, 0.0)
_HERE = Pose(_ORIGIN, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))


@dataclass(frozen=True)
class DrawnVisual:
    """Triangles in the coordinates of a body, with their colour '#rrggbb' and opacity."""

    body: str
    mesh: Mesh
    colour: str
    opacity: float


@dataclass(frozen=True)
class DrawnVisuals:
    """What is drawn of a table of visuals.

    Attributes:
        covered: bodies all of whose visuals are drawn, and that have some.
        notes: what is not drawn, with file and line, alike things once.
    """

    items: tuple[DrawnVisual, ...] = ()
    covered: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def drawn_visuals(table: Visuals) -> DrawnVisuals:
    """Triangles of all visuals, mesh files opened.  A visual that cannot be drawn becomes a note."""
    shop = _Shop()
    items: list[DrawnVisual] = []
    bare = set(table.incomplete)
    for visual in table.items:
        mesh = shop.mesh(visual)
        if mesh is None:
            bare.add(visual.body)
            continue
        rgba = visual.rgba or PLAIN
        if rgba[3] > 0:
            colour = "#" + "".join(f"{round(255 * part):02x}" for part in rgba[:3])
            items.append(DrawnVisual(visual.body, mesh, colour, rgba[3]))
    covered = frozenset(item.body for item in items) - bare
    notes = sorted((*table.notes, *shop.notes()), key=lambda note: (note.file, note.line or 0))
    return DrawnVisuals(tuple(items), covered, tuple(map(str, notes)))


class _Shop:
    """Meshes of visuals; every file is opened once, and what it lacks is told once."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], tuple[Problem, int]] = {}
        self._files: dict[Path, Mesh | MeshRefusedError] = {}
        self._left = MAXIMUM_TRIANGLES

    def notes(self) -> list[Problem]:
        """Every fault once, with the number of visuals that share it."""
        return [
            problem if count == 1 else replace(problem, message=f"{problem.message} ({count} visuals, first here)")
            for problem, count in self._told.values()
        ]

    def mesh(self, visual: Visual) -> Mesh | None:
        """Triangles in the coordinates of the body, or None with a note."""
        shape = visual.shape
        try:
            found = self._of_file(shape) if isinstance(shape, MeshFile) else primitive(shape)
            self._left -= len(found.faces)
            if self._left < 0:
                raise MeshRefusedError(f"all visuals together have more than {MAXIMUM_TRIANGLES} triangles")
            with np.errstate(all="ignore"):
                found = moved(found, visual.pose)
            if not np.all(np.abs(found.vertices) < FARTHEST):
                raise MeshRefusedError(f"it reaches beyond {FARTHEST:g} m")
        except MeshRefusedError as refusal:
            name = f"the mesh {shown(shape.uri)}" if isinstance(shape, MeshFile) else "the shape"
            problem = Problem(f"{name} is not drawn: {refusal}", visual.record, visual.file, visual.line)
            key = "" if isinstance(refusal, PackageMissingError) else name
            first, count = self._told.get((key, str(refusal)), (problem, 0))
            self._told[(key, str(refusal))] = (first, count + 1)
            return None
        return found

    def _of_file(self, shape: MeshFile) -> Mesh:
        path = locate(shape.uri, Path(shape.base))
        if path not in self._files:
            try:
                self._files[path] = read_mesh(path)
            except MeshRefusedError as refusal:
                self._files[path] = refusal
        found = self._files[path]
        if isinstance(found, MeshRefusedError):
            raise found
        return scaled(moved(found, shape.inner), np.array(shape.scale))


def primitive(shape: VisualShape) -> Mesh:
    """Triangles of a shape that is no file, in its own frame."""
    if isinstance(shape, VisualBox):
        return mesh_of(Box(_HERE, shape.size))
    if isinstance(shape, VisualCylinder | VisualCapsule):
        kind = Cylinder if isinstance(shape, VisualCylinder) else Capsule
        return mesh_of(kind((0.0, 0.0, -shape.length / 2), (0.0, 0.0, shape.length / 2), shape.radius))
    assert not isinstance(shape, MeshFile)
    return scaled(mesh_of(Ball(_ORIGIN, 1.0)), np.array(shape.radii))


def moved(mesh: Mesh, pose: Transform) -> Mesh:
    """A mesh seen from the frame in which `pose` places it."""
    return Mesh(mesh.vertices @ np.array(pose.rotation).T + np.array(pose.translation), mesh.faces)


def scaled(mesh: Mesh, factors: Array) -> Mesh:
    """A mesh stretched along its axes; one that is mirrored keeps its outside outside."""
    faces = mesh.faces[:, ::-1] if np.prod(np.sign(factors)) < 0 else mesh.faces
    with np.errstate(over="ignore"):  # what is too large is refused where it stands
        return Mesh(mesh.vertices * factors, np.ascontiguousarray(faces))
