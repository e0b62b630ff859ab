"""A mesh file to triangles, by its suffix, within bounds."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np

from robocompiler.records.names import shown
from robocompiler.viewer.mesh_files.dae import read_dae
from robocompiler.viewer.mesh_files.glb import read_glb
from robocompiler.viewer.mesh_files.obj import read_obj
from robocompiler.viewer.mesh_files.refusal import MeshRefusedError
from robocompiler.viewer.mesh_files.stl import read_stl
from robocompiler.viewer.meshes import Mesh

MAXIMUM_BYTES = 50_000_000  # of one file
MAXIMUM_TRIANGLES = 1_000_000  # of one file
_FARTHEST = 1e6  # in the unit of the file: beyond, nothing can be drawn in single precision
_READERS: dict[str, Callable[[bytes, int], Mesh]] = {
    ".stl": read_stl,
    ".obj": read_obj,
    ".glb": read_glb,
    ".dae": read_dae,
}


def read_mesh(path: Path) -> Mesh:
    """Triangles in the file's coordinates; every face names vertices that are there.  Raises MeshRefusedError."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise MeshRefusedError(f"{shown(path.suffix or path.name)} files are not read (known: {', '.join(_READERS)})")
    data = _bytes_of(path)
    try:
        with np.errstate(all="ignore"):  # bytes that are no mesh make numbers that overflow; they are refused below
            mesh = reader(data, MAXIMUM_TRIANGLES)
    except MeshRefusedError:
        raise
    except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise MeshRefusedError(f"is not a sound {path.suffix[1:].upper()} file ({type(error).__name__})") from error
    if len(mesh.faces) == 0:
        raise MeshRefusedError("holds no triangles")
    if len(mesh.faces) > MAXIMUM_TRIANGLES:
        raise MeshRefusedError(f"has {len(mesh.faces)} triangles; at most {MAXIMUM_TRIANGLES} are drawn")
    if int(mesh.faces.max()) >= len(mesh.vertices):
        raise MeshRefusedError("a face names a vertex that is not there")
    if not np.all(np.abs(mesh.vertices) < _FARTHEST):
        raise MeshRefusedError(f"has a coordinate that is not finite, or beyond {_FARTHEST:g}")
    return mesh


def _bytes_of(path: Path) -> bytes:
    """The content of a regular file of bounded size; no link is followed and no pipe waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise MeshRefusedError("is not a regular file")
            data = stream.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise MeshRefusedError(f"cannot be read: {error.strerror or error}") from error
    if len(data) > MAXIMUM_BYTES:
        raise MeshRefusedError(f"is larger than {MAXIMUM_BYTES // 1_000_000} MB, the most that is read of a mesh")
    return data
