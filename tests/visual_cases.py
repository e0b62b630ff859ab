"""Small meshes as text and bytes, and triangles compared as sets of places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocompiler.viewer.meshes import Mesh

Array = NDArray[np.float64]
CORNERS = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.05, 0.02, 0.1]])  # of a tetrahedron
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
VOLUME = 0.3 * 0.2 / 2 * 0.1 / 3


def stl_text() -> str:
    facets = []
    for face in FACES:
        lines = "".join("vertex {} {} {}\n".format(*CORNERS[k]) for k in face)
        facets.append(f"facet normal 0 0 0\nouter loop\n{lines}endloop\nendfacet\n")
    return f"solid tetrahedron\n{''.join(facets)}endsolid\n"


def stl_bytes(comment: bytes = b"tetrahedron") -> bytes:
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    data = np.zeros(len(FACES), record)
    data["corners"] = CORNERS[FACES]
    return comment.ljust(80, b"\0") + np.uint32(len(FACES)).tobytes() + data.tobytes()


def obj_text() -> str:
    vertices = "".join("v {} {} {}\n".format(*corner) for corner in CORNERS)
    return vertices + "vt 0 0\n" + "".join("f {}/1 {}/1 {}/1\n".format(*(face + 1)) for face in FACES)


def write(path: Path, content: str | bytes) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def places(points: Array) -> Array:
    """Different points, in an order of their own; rounded, so that single precision does not tell two of one."""
    return np.unique(np.round(points, 6) + 0.0, axis=0)


def volume(mesh: Mesh) -> float:
    """By the divergence theorem; positive only where the triangles face outward."""
    corners = mesh.vertices[mesh.faces]
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6)
