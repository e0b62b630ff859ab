"""Wavefront OBJ: vertices and faces.  Materials, textures and whatever else it names are not followed."""

from __future__ import annotations

from array import array

import numpy as np

from robocompiler.viewer.mesh_files.refusal import MeshRefusedError
from robocompiler.viewer.meshes import Mesh


def read_obj(data: bytes, most: int) -> Mesh:
    """Triangles of an OBJ file, of which there may be `most`; polygons become fans about their first corner."""
    vertices, faces = array("d"), array("q")
    for number, line in enumerate(data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").splitlines(), start=1):
        words = line.split()
        if not words or words[0] not in (b"v", b"f"):
            continue
        try:
            if words[0] == b"v":
                vertices.extend((float(words[1]), float(words[2]), float(words[3])))
                continue
            corners = [_index(word, len(vertices) // 3) for word in words[1:]]
        except (ValueError, IndexError):
            raise MeshRefusedError(f"its line {number} is no vertex or face") from None
        if len(corners) < 3:
            raise MeshRefusedError(f"the face of its line {number} has fewer than three corners")
        for k in range(1, len(corners) - 1):
            faces.extend((corners[0], corners[k], corners[k + 1]))
        if len(faces) > 3 * most:
            raise MeshRefusedError(f"has more than {most} triangles, the most that are drawn")
    return Mesh(np.array(vertices).reshape(-1, 3), np.array(faces).reshape(-1, 3).astype(np.uint32))


def _index(word: bytes, count: int) -> int:
    """The vertex of 'v', 'v/vt' or 'v/vt/vn': from 1, or backwards from the last one so far by -1, -2, ..."""
    value = int(word.partition(b"/")[0])
    index = value - 1 if value > 0 else count + value
    if value == 0 or index < 0 or index >= 2**32:
        raise ValueError(value)
    return index
