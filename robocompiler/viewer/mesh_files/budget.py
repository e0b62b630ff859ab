"""How much one file may hold: small files can name the same triangles many times over."""

from __future__ import annotations

from robocompiler.viewer.mesh_files.refusal import MeshRefusedError
from robocompiler.viewer.meshes import Mesh


class Budget:
    """What is left of `most` triangles, and of three vertices for each."""

    def __init__(self, most: int) -> None:
        self._most, self._triangles, self._vertices = most, most, 3 * most

    def take(self, mesh: Mesh) -> None:
        """Count a mesh.  Raises MeshRefusedError beyond the bound."""
        self._triangles -= len(mesh.faces)
        self._vertices -= len(mesh.vertices)
        if min(self._triangles, self._vertices) < 0:
            raise MeshRefusedError(f"has more than {self._most} triangles, the most that are drawn")
