"""Geoms of MJCF that are drawn: those of the groups 0 to 2, which MuJoCo's own viewer shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from robocompiler.importers.mjcf_defaults import Defaults
from robocompiler.importers.mjcf_orientation import pose_of
from robocompiler.importers.mjcf_settings import Settings
from robocompiler.importers.mjcf_tree import Tree, TreeGeom, between
from robocompiler.importers.transforms import Transform, transposed
from robocompiler.importers.values import Values
from robocompiler.importers.visuals import (
    MeshFile,
    Rgba,
    VisualBox,
    VisualCapsule,
    VisualCylinder,
    VisualEllipsoid,
    VisualShape,
    VisualTable,
    colour,
    factors,
)
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import ORIGIN, WORLD
from robocompiler.records.names import shown

_GREY = (0.5, 0.5, 0.5, 1.0)
SHOWN_GROUPS = (0, 2)
_UNDRAWN = ("plane", "hfield")  # grounds
_KINDS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_ALONG = ("capsule", "cylinder", "ellipsoid", "box")  # that two points may give


@dataclass(frozen=True)
class Assets:
    """Meshes by name (None: one that is not read from a file) and colours of materials."""

    meshes: Mapping[str, MeshFile | None]
    materials: Mapping[str, Rgba | None]


def import_visuals(root: Element, tree: Tree, base: str) -> None:
    """Put the geoms of all bodies into the draft's table; `base`: the main file, beside which relative names start."""
    table = tree.draft.visuals
    assets = _assets(root, replace(tree.defaults, log=table.log), tree.settings, base)
    for body, geoms in ((WORLD, tuple(tree.ground)), *((body.name, body.geoms) for body in tree.bodies)):
        for geom in geoms:
            _geom(geom, body, tree.settings, assets, table)


def _assets(root: Element, defaults: Defaults, settings: Settings, base: str) -> Assets:
    compiler: dict[str, str] = {}
    for element in root.all("compiler"):
        compiler |= element.attributes
    folder = compiler.get("meshdir") or compiler.get("assetdir") or ""
    bare = compiler.get("strippath", "").strip().lower() == "true"
    meshes: dict[str, MeshFile | None] = {}
    materials: dict[str, Rgba | None] = {}
    for asset in root.all("asset"):
        for element in asset.all("mesh"):
            own = defaults.values(element, "")
            file = own.items.get("file", "").replace("\\", "/")
            name = own.items.get("name") or PurePosixPath(file).stem
            file = PurePosixPath(file).name if bare else file
            meshes[name] = _mesh(own, str(PurePosixPath(folder) / file), settings, base) if file else None
        for element in asset.all("material"):
            own = defaults.values(element, "")
            materials[own.items.get("name", "")] = colour(own, "rgba")
    return Assets(meshes, materials)


def _mesh(own: Values, uri: str, settings: Settings, base: str) -> MeshFile:
    """x = diag(scale) R^T (x_file - refpos), R that of refquat."""
    turned = {"quat": own.items["refquat"]} if "refquat" in own else {}
    R = pose_of(replace(own, items=turned), settings).rotation
    x, y, z = own.vector("refpos", ORIGIN)
    back = Transform(transposed(R))
    return MeshFile(uri, base, factors(own), Transform(back.rotation, back.point((-x, -y, -z))))


def _geom(geom: TreeGeom, body: str, settings: Settings, assets: Assets, table: VisualTable) -> None:
    own = replace(geom.values, log=table.log)
    low, high = SHOWN_GROUPS
    if not low <= own.number("group") <= high:
        return
    before = table.log.count
    rgba = colour(own, "rgba")
    if rgba in (None, _GREY):  # as MuJoCo has it
        rgba = assets.materials.get(own.items.get("material", ""), rgba)
    kind = own.choice("type", _KINDS, "sphere")
    shape = None if kind in _UNDRAWN else _shape(own, kind, assets)
    given = "fromto" in own and kind in _ALONG
    pose = geom.frame @ (between(own) if given else pose_of(own, settings))
    table.add(own, body, shape, pose, rgba, before)


def _shape(own: Values, kind: str, assets: Assets) -> VisualShape | None:
    if kind in ("mesh", "sdf") or "mesh" in own:
        return _mesh_of(own, kind, assets)
    sizes = own.numbers("size", (1, 2, 3))
    spanned = "fromto" in own and kind in _ALONG
    if spanned:
        x1, y1, z1, x2, y2, z2 = own.numbers("fromto", (6,), (0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
        half = math.dist((x1, y1, z1), (x2, y2, z2)) / 2
        first = sizes[:1]
        sizes = (*first, half) if kind in ("capsule", "cylinder") else (*first, *first, half)
    needed = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)
    if len(sizes) < needed or not all(size > 0 for size in sizes[:needed]):
        own.problem(f"'size' needs {needed - spanned} positive numbers for a {kind}")
        return None
    if kind == "sphere":
        return VisualEllipsoid((sizes[0], sizes[0], sizes[0]))
    if kind == "capsule":
        return VisualCapsule(sizes[0], 2 * sizes[1])
    if kind == "cylinder":
        return VisualCylinder(sizes[0], 2 * sizes[1])
    if kind == "ellipsoid":
        return VisualEllipsoid((sizes[0], sizes[1], sizes[2]))
    return VisualBox((2 * sizes[0], 2 * sizes[1], 2 * sizes[2]))


def _mesh_of(own: Values, kind: str, assets: Assets) -> MeshFile | None:
    name = own.items.get("mesh", "")
    if name not in assets.meshes:
        own.problem(f"no mesh is called {shown(name)}{own.log.suggest(name, assets.meshes)}")
        return None
    if kind != "mesh":
        own.problem(f"a {kind} that is fitted to the mesh {shown(name)} is not drawn")
        return None
    mesh = assets.meshes[name]
    if mesh is None:
        own.problem(f"the mesh {shown(name)} is not in a file of its own, and is not drawn")
    return mesh
