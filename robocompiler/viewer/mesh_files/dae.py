"""COLLADA: the triangles of its scene.  Lengths are taken in its <unit>; axes stay the file's own, whatever is up."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import ModelError
from robocompiler.importers.log import ImportLog
from robocompiler.importers.transforms import rotation_about
from robocompiler.importers.xml_reader import Element, read_xml
from robocompiler.records.rotations import unit_direction
from robocompiler.viewer.mesh_files.budget import Budget
from robocompiler.viewer.mesh_files.refusal import MeshRefusedError
from robocompiler.viewer.meshes import Mesh, merged

Array = NDArray[np.float64]
_PRIMITIVES = ("triangles", "polylist", "polygons")
_UNREAD = ("trifans", "tristrips")
_MAXIMUM_NODES = 20_000
_DEEPEST = 100


def read_dae(data: bytes, most: int) -> Mesh:
    """Triangles of a COLLADA file in metres, of which there may be `most`."""
    try:
        root = _bare(read_xml(data.decode("utf-8-sig"), "mesh", ImportLog("mesh")))
    except ModelError as error:
        raise MeshRefusedError(f"its XML: {error.problems[0].message}") from None
    if root.tag != "COLLADA":
        raise MeshRefusedError("is not COLLADA")
    return _Document(root, most).mesh()


def _bare(element: Element) -> Element:
    """The element with the namespace prefixes of its tag, and of those inside, taken off."""
    children = tuple(_bare(child) for child in element.children)
    return Element(element.tag.rpartition(":")[2], element.attributes, children, element.text, element.line)


class _Document:
    """One file: its geometries by id, and what is left of the budget of triangles."""

    def __init__(self, root: Element, most: int) -> None:
        self._root, self._budget, self._visits = root, Budget(most), 0
        self._geometries = dict(_named(root, "library_geometries", "geometry"))
        self._nodes = dict(_named(root, "library_nodes", "node"))
        self._read: dict[str, Mesh] = {}

    def mesh(self) -> Mesh:
        """All of the scene, or all geometries of a file without one."""
        asset = self._root.first("asset")
        unit = None if asset is None else asset.first("unit")
        metre = float(unit.get("meter", "1")) if unit is not None else 1.0
        parts: list[Mesh] = []
        scenes = dict(_named(self._root, "library_visual_scenes", "visual_scene"))
        scene = self._root.first("scene")
        wanted = None if scene is None else scene.first("instance_visual_scene")
        if wanted is not None:
            self._children(scenes[_target(wanted)], np.eye(4), parts, 0)
        else:
            for name in self._geometries:
                self._add(name, np.eye(4), parts)
        if not parts:
            return Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.uint32))
        whole = merged(parts)
        return Mesh(whole.vertices * metre, whole.faces)

    def _children(self, owner: Element, T: Array, parts: list[Mesh], depth: int) -> None:
        self._visits += 1
        if depth > _DEEPEST or self._visits > _MAXIMUM_NODES:
            raise MeshRefusedError("its nodes are nested too deeply, or too many")
        for child in owner.children:
            if child.tag == "node":
                self._children(child, T @ _pose(child), parts, depth + 1)
            elif child.tag == "instance_node":
                node = self._nodes[_target(child)]
                self._children(node, T @ _pose(node), parts, depth + 1)
            elif child.tag == "instance_geometry":
                self._add(_target(child), T, parts)

    def _add(self, name: str, T: Array, parts: list[Mesh]) -> None:
        if name not in self._read:
            self._read[name] = _geometry(self._geometries[name])
        part = self._read[name]
        self._budget.take(part)
        if len(part.faces):
            parts.append(Mesh(part.vertices @ T[:3, :3].T + T[:3, 3], part.faces))


def _named(root: Element, library: str, tag: str) -> Iterator[tuple[str, Element]]:
    for element in root.all(library):
        yield from ((child.get("id"), child) for child in element.all(tag))


def _target(element: Element, key: str = "url") -> str:
    name = element.get(key)
    if not name.startswith("#"):
        raise MeshRefusedError("refers to another file, which is not followed")
    return name[1:]


def _numbers(element: Element) -> Array:
    return np.array(element.text.split(), dtype=np.float64)


def _pose(node: Element) -> Array:
    """The product of a node's transforms, in their order."""
    T = np.eye(4)
    for child in node.children:
        step = np.eye(4)
        if child.tag == "matrix":
            step = _numbers(child).reshape(4, 4)
        elif child.tag == "translate":
            step[:3, 3] = _numbers(child)
        elif child.tag == "scale":
            step[:3, :3] = np.diag(_numbers(child).reshape(3))
        elif child.tag == "rotate":
            x, y, z, angle = _numbers(child)
            axis = unit_direction((float(x), float(y), float(z)))
            step[:3, :3] = np.eye(3) if axis is None else rotation_about(axis, math.radians(angle))
        elif child.tag in ("lookat", "skew"):
            raise MeshRefusedError(f"<{child.tag}> is not read")
        T = T @ step
    return T


def _geometry(geometry: Element) -> Mesh:
    mesh = geometry.first("mesh")
    if mesh is None:  # a spline, or a hull of another geometry
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.uint32))
    sources = {element.get("id"): element for element in mesh.all("source")}
    corners = {
        vertices.get("id"): _positions(sources[_target(entry, "source")])
        for vertices in mesh.all("vertices")
        for entry in vertices.all("input")
        if entry.get("semantic") == "POSITION"
    }
    parts = []
    for child in mesh.children:
        if child.tag in _UNREAD:
            raise MeshRefusedError(f"<{child.tag}> is not read; save it with triangles")
        if child.tag in _PRIMITIVES:
            (vertex,) = [entry for entry in child.all("input") if entry.get("semantic") == "VERTEX"]
            points, faces = corners[_target(vertex, "source")], _faces(child, int(vertex.get("offset", "0")))
            if faces.size and int(faces.max()) >= len(points):
                raise MeshRefusedError("a face names a vertex that is not there")
            parts.append(Mesh(points, faces))
    return merged(parts) if parts else Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.uint32))


def _positions(source: Element) -> Array:
    """(n, 3) points of a source."""
    numbers = source.first("float_array")
    if numbers is None:
        raise MeshRefusedError("a source has no numbers")
    common = source.first("technique_common")
    accessor = None if common is None else common.first("accessor")
    stride = 3 if accessor is None else int(accessor.get("stride", "3"))
    if stride < 3:
        raise MeshRefusedError("positions need three numbers each")
    return _numbers(numbers).reshape(-1, stride)[:, :3]


def _faces(primitive: Element, offset: int) -> NDArray[np.uint32]:
    """Triangles (m, 3) of a primitive; polygons become fans about their first corner."""
    width = 1 + max(int(entry.get("offset", "0")) for entry in primitive.all("input"))
    loops = [np.array(p.text.split(), dtype=np.int64).reshape(-1, width)[:, offset] for p in primitive.all("p")]
    if primitive.tag == "polylist":
        counts = primitive.first("vcount")
        sizes = np.array([] if counts is None else counts.text.split(), dtype=np.int64)
        if len(loops) > 1 or sizes.min(initial=3) < 3 or sizes.sum() != sum(map(len, loops)):
            raise MeshRefusedError("a polylist does not fit its counts")
        loops = np.split(loops[0], np.cumsum(sizes)[:-1]) if loops else []
    if any(loop.min(initial=0) < 0 for loop in loops):
        raise MeshRefusedError("a face names a vertex that is not there")
    if primitive.tag == "triangles":
        return np.concatenate([np.zeros(0, dtype=np.int64), *loops]).reshape(-1, 3).astype(np.uint32)
    fans = [(loop[0], loop[k], loop[k + 1]) for loop in loops for k in range(1, len(loop) - 1)]
    return np.array(fans, dtype=np.uint32).reshape(-1, 3)
