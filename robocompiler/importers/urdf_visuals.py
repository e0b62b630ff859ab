"""<visual> of URDF links."""

from __future__ import annotations

from collections.abc import Mapping

from robocompiler.importers.draft import Draft
from robocompiler.importers.log import ImportLog
from robocompiler.importers.urdf_links import origin, values
from robocompiler.importers.visuals import (
    MeshFile,
    Rgba,
    VisualBox,
    VisualCapsule,
    VisualCylinder,
    VisualEllipsoid,
    VisualShape,
    colour,
    edges,
    factors,
    length,
)
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD
from robocompiler.records.names import shown


def import_visuals(robot: Element, links: Mapping[str, Element], draft: Draft, base: str) -> None:
    """Put the visuals of all links into the draft's table; `base`: the file that relative names start beside."""
    log = draft.visuals.log
    materials = {element.get("name"): _colour(element, log) for element in robot.all("material")}
    for name, link in links.items():
        body = WORLD if name == WORLD else draft.body(name)
        for element in link.all("visual"):
            own = values(element, f"{link.label}: {element.label}", log)
            before = log.count
            shape = _shape(element, own.record, base, log)
            pose = origin(element, own.record, log)
            rgba = _material(element, materials, log)
            draft.visuals.add(own, body, shape, pose, rgba, before)


def _shape(visual: Element, record: str, base: str, log: ImportLog) -> VisualShape | None:
    geometry = visual.first("geometry")
    if geometry is None or not geometry.children:
        log.problem("<geometry> is missing or empty, so nothing is drawn", record, visual.line)
        return None
    element = geometry.children[0]
    own = values(element, f"{record}: {element.tag}", log)
    if element.tag == "box":
        return VisualBox(edges(own, "size"))
    if element.tag == "cylinder":
        return VisualCylinder(length(own, "radius"), length(own, "length"))
    if element.tag == "capsule":
        return VisualCapsule(length(own, "radius"), length(own, "length"))
    if element.tag == "sphere":
        radius = length(own, "radius")
        return VisualEllipsoid((radius, radius, radius))
    if element.tag == "mesh":
        uri = own.text("filename")
        return None if uri is None else MeshFile(uri, base, factors(own))
    own.problem(f"<{element.tag}> is not drawn (known: box, cylinder, sphere, capsule, mesh)")
    return None


def _material(visual: Element, materials: Mapping[str, Rgba | None], log: ImportLog) -> Rgba | None:
    """The colour that the visual gives itself, or that of the robot's material of this name."""
    material = visual.first("material")
    if material is None:
        return None
    return _colour(material, log) or materials.get(material.get("name"))


def _colour(material: Element, log: ImportLog) -> Rgba | None:
    element = material.first("color")
    return None if element is None else colour(values(element, f"material {shown(material.get('name'))}", log), "rgba")
