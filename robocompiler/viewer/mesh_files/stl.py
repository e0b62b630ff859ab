"""STL, binary and text."""

from __future__ import annotations

import re

import numpy as np

from robocompiler.viewer.mesh_files.refusal import MeshRefusedError
from robocompiler.viewer.meshes import Mesh

_HEADER = 84  # 80 bytes of comment, and the number of triangles
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)")


def read_stl(data: bytes, most: int) -> Mesh:
    """Triangles of an STL file, of which there may be `most`.

    Binary files may begin with the word 'solid' as well, so that the length decides.
    """
    count = int.from_bytes(data[80:_HEADER], "little") if len(data) >= _HEADER else -1
    wanted = _HEADER + count * _RECORD.itemsize
    text = data.lstrip()[:5].lower() == b"solid"
    if count >= 0 and (len(data) == wanted or (len(data) > wanted and not text)):
        _bound(count, most)
        corners = np.frombuffer(data, _RECORD, count, _HEADER)["corners"].astype(np.float64).reshape(-1, 3)
    elif text:
        _bound(data.count(b"vertex") // 3, most)
        corners = np.array(_VERTEX.findall(data)).reshape(-1, 3).astype(np.float64)
    else:
        raise MeshRefusedError(f"is no STL: {len(data)} bytes do not hold the {max(count, 0)} triangles of its header")
    if len(corners) % 3:
        raise MeshRefusedError(f"has {len(corners)} vertices, which make no whole number of triangles")
    return Mesh(corners, np.arange(len(corners), dtype=np.uint32).reshape(-1, 3))


def _bound(count: int, most: int) -> None:
    if count > most:
        raise MeshRefusedError(f"has {count} triangles; at most {most} are drawn")
