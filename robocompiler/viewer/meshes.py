"""Primitive shapes as triangles: every round one is a profile turned about an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocompiler.viewer.shapes import Ball, Box, Capsule, Cylinder, Ring, Shape, about

Array = NDArray[np.float64]
Faces = NDArray[np.uint32]
AROUND, ARC = 20, 5  # corners about an axis, and of a quarter circle


@dataclass(frozen=True)
class Mesh:
    """Triangles: vertices (n, 3) in m, faces (m, 3) of vertex indices, outward by the right-hand rule."""

    vertices: Array
    faces: Faces


def mesh_of(shape: Shape) -> Mesh:
    """The triangles of a shape, in the coordinates of its body."""
    if isinstance(shape, Box):
        return _box(shape)
    if isinstance(shape, Ring):
        turns = np.linspace(0, 2 * np.pi, 2 * ARC + 1)
        profile = np.stack([shape.radius + shape.tube * np.cos(turns), shape.tube * np.sin(turns)], axis=1)
        return _placed(_turned(profile), np.array(shape.centre), np.array(shape.axis))
    if isinstance(shape, Ball):
        arc = np.linspace(-np.pi / 2, np.pi / 2, 2 * ARC + 1)
        profile = shape.radius * np.stack([np.cos(arc), np.sin(arc)], axis=1)
        return _placed(_turned(profile), np.array(shape.centre), np.array([0.0, 0.0, 1.0]))
    start, end = np.array(shape.start), np.array(shape.end)
    length = float(np.linalg.norm(end - start))
    axis = (end - start) / length if length > 0 else np.array([0.0, 0.0, 1.0])
    profile = _capsule(length, shape.radius) if isinstance(shape, Capsule) else _cylinder(length, shape)
    return _placed(_turned(profile), start, axis)


def merged(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + np.uint32(start) for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces).astype(np.uint32))


def _capsule(length: float, radius: float) -> Array:
    arc = np.linspace(0, np.pi / 2, ARC + 1)
    top = np.stack([radius * np.cos(arc), length + radius * np.sin(arc)], axis=1)
    bottom = np.stack([radius * np.cos(arc), -radius * np.sin(arc)], axis=1)[::-1]
    return np.concatenate([bottom, top])


def _cylinder(length: float, shape: Cylinder) -> Array:
    r = shape.radius  # corners stand twice so that the edges stay sharp
    return np.array([[0, 0], [r, 0], [r, 0], [r, length], [r, length], [0, length]], dtype=np.float64)


def _turned(profile: Array) -> Mesh:
    """The surface that a profile of (radius, height), outside to its right on the way up, makes about z."""
    angles = np.arange(AROUND) * (2 * np.pi / AROUND)
    count = len(profile)
    radius, height = profile[:, 0], profile[:, 1]
    x, y = np.outer(np.cos(angles), radius), np.outer(np.sin(angles), radius)
    z = np.broadcast_to(height, x.shape)
    vertices = np.stack([x, y, z], axis=2).reshape(-1, 3)
    row, column = np.meshgrid(np.arange(AROUND), np.arange(count - 1), indexing="ij")
    here, beside = row * count + column, (row + 1) % AROUND * count + column
    first = np.stack([here, beside, beside + 1], axis=2)
    second = np.stack([here, beside + 1, here + 1], axis=2)
    return Mesh(vertices, np.concatenate([first.reshape(-1, 3), second.reshape(-1, 3)]).astype(np.uint32))


def _placed(mesh: Mesh, origin: Array, axis: Array) -> Mesh:
    """A mesh about z moved to `origin` and turned to `axis`."""
    return Mesh(mesh.vertices @ about(axis).T + origin, mesh.faces)


def _box(box: Box) -> Mesh:
    """Eight corners six times over: every face has its own, so that shading stays flat."""
    half = np.maximum(np.array(box.size), 1e-3 * max(box.size)) / 2
    vertices: list[Array] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            corners = np.zeros((4, 3))
            corners[:, axis] = sign
            corners[:, u], corners[:, v] = (-1, 1, 1, -1), (-1, -1, 1, 1)
            start = 4 * len(vertices)
            order = ((0, 1, 2), (0, 2, 3)) if sign > 0 else ((0, 2, 1), (0, 3, 2))
            faces += [[start + k for k in face] for face in order]
            vertices.append(corners * half)
    R = np.array(box.pose.rotation)
    return Mesh(np.concatenate(vertices) @ R.T + np.array(box.pose.position), np.array(faces, dtype=np.uint32))
