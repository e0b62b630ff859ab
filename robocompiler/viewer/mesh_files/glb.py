"""Binary glTF 2.0: the triangles of its scene, in the file's own axes.  Nothing outside the file is followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.rotations import rotation_of_quaternion
from robocompiler.viewer.mesh_files.budget import Budget
from robocompiler.viewer.mesh_files.refusal import MeshRefusedError
from robocompiler.viewer.meshes import Mesh, merged

Array = NDArray[np.float64]
_MAGIC, _JSON, _BINARY = b"glTF", b"JSON", b"BIN\0"
_TYPES = {5121: "<u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_TRIANGLES = 4
_MAXIMUM_NODES = 20_000


def read_glb(data: bytes, most: int) -> Mesh:
    """Triangles of a GLB file, of which there may be `most`."""
    chunks = dict(_chunks(data))
    document = json.loads(chunks[_JSON])
    if "KHR_draco_mesh_compression" in document.get("extensionsRequired", ()):
        raise MeshRefusedError("is compressed (Draco), which is not read")
    blob = chunks.get(_BINARY, b"")
    parts: list[Mesh] = []
    budget = Budget(most)
    for index, T in _placed(document):
        for primitive in document["meshes"][index]["primitives"]:
            if primitive.get("mode", _TRIANGLES) != _TRIANGLES:
                continue
            part = _primitive(primitive, document, blob)
            budget.take(part)
            parts.append(Mesh(part.vertices @ T[:3, :3].T + T[:3, 3], part.faces))
    return merged(parts) if parts else Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.uint32))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if data[:4] != _MAGIC or int.from_bytes(data[4:8], "little") != 2:
        raise MeshRefusedError("is not binary glTF 2.0")
    place = 12
    while place + 8 <= len(data):
        size = int.from_bytes(data[place : place + 4], "little")
        yield data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        place += 8 + size


def _placed(document: dict[str, Any]) -> Iterator[tuple[int, Array]]:
    """(mesh, pose) of every node of the scene; a node that is reached twice is refused, for nodes form a forest."""
    nodes = document.get("nodes", [])
    scenes = document.get("scenes")
    roots = scenes[document.get("scene", 0)].get("nodes", []) if scenes else range(len(nodes))
    waiting = [(int(k), np.eye(4)) for k in roots]
    seen: set[int] = set()
    while waiting:
        k, T = waiting.pop()
        if k in seen or k < 0 or len(seen) >= _MAXIMUM_NODES:
            raise MeshRefusedError("its nodes are no forest, or too many")
        seen.add(k)
        T = T @ _pose(nodes[k])
        if "mesh" in nodes[k]:
            yield int(nodes[k]["mesh"]), T
        waiting += [(int(child), T) for child in nodes[k].get("children", ())]


def _pose(node: dict[str, Any]) -> Array:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    T = np.eye(4)
    x, y, z, w = (float(value) for value in node.get("rotation", (0.0, 0.0, 0.0, 1.0)))
    T[:3, :3] = np.array(rotation_of_quaternion((w, x, y, z))) * np.array(node.get("scale", (1.0, 1.0, 1.0)))
    T[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return T


def _primitive(primitive: dict[str, Any], document: dict[str, Any], blob: bytes) -> Mesh:
    vertices = _accessor(primitive["attributes"]["POSITION"], document, blob, 3)
    if "indices" in primitive:
        indices = _accessor(primitive["indices"], document, blob, 1).ravel()
    else:
        indices = np.arange(len(vertices))
    faces = indices.astype(np.uint32).reshape(-1, 3)
    if faces.size and int(faces.max()) >= len(vertices):
        raise MeshRefusedError("a face names a vertex that is not there")
    return Mesh(vertices.astype(np.float64), faces)


def _accessor(index: int, document: dict[str, Any], blob: bytes, width: int) -> NDArray[Any]:
    """The numbers (n, width) of an accessor, which must lie in the file itself."""
    accessor = document["accessors"][index]
    if "sparse" in accessor or "bufferView" not in accessor:
        raise MeshRefusedError("has a sparse accessor, which is not read")
    view = document["bufferViews"][accessor["bufferView"]]
    if view.get("buffer", 0) != 0 or "uri" in document["buffers"][0]:
        raise MeshRefusedError("keeps its numbers in another file, which is not followed")
    kind = np.dtype(_TYPES[accessor["componentType"]])
    count, size = int(accessor["count"]), width * kind.itemsize
    step = int(view.get("byteStride", size))
    start = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
    if count < 0 or start < 0 or step < size or (count and start + (count - 1) * step + size > len(blob)):
        raise MeshRefusedError("an accessor reaches beyond its numbers")
    return np.ndarray((count, width), kind, blob, start, (step, kind.itemsize))
