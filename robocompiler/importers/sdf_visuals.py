"""<visual> of SDF links."""

from __future__ import annotations

from robocompiler.importers.draft import Draft
from robocompiler.importers.sdf_frames import Scope
from robocompiler.importers.sdf_values import pose_of, relative_to, texts
from robocompiler.importers.transforms import UNMOVED, Transform
from robocompiler.importers.values import Values
from robocompiler.importers.visuals import (
    MeshFile,
    Rgba,
    VisualBox,
    VisualCapsule,
    VisualCylinder,
    VisualEllipsoid,
    VisualLog,
    VisualShape,
    colour,
    edges,
    factors,
    length,
)
from robocompiler.importers.xml_reader import Element
from robocompiler.records.names import shown

_UNDRAWN = ("plane", "empty", "heightmap")  # grounds, and nothing


def import_visuals(scope: Scope, draft: Draft) -> None:
    """Put the visuals of all links of all models into the draft's table.

    The scope's own log is replaced: it is the last to be read, and its faults are no faults of the mechanism.
    """
    log = draft.visuals.log
    for inner in scope.scopes():
        inner.log = log
    for inner in scope.scopes():
        for name, link in inner.all("link"):
            body = draft.body(inner.full(name))
            for element in link.all("visual"):
                _visual(element, name, link, body, inner, draft)


def _visual(element: Element, name: str, link: Element, body: str, scope: Scope, draft: Draft) -> None:
    log = draft.visuals.log
    before = log.count
    own = Values(element.attributes, f"{scope.record(link)}: {element.label}", element.line, log)
    shape = _shape(element, own.record, log)
    pose = _pose(element, name, scope, own.record)
    rgba = _rgba(element, own.record, log)
    draft.visuals.add(own, body, shape, pose, rgba, before)


def _pose(element: Element, link: str, scope: Scope, record: str) -> Transform:
    """In the link; relative to another frame where the pose names one."""
    own = pose_of(element, record, scope.log)
    base = relative_to(element)
    there = scope.pose(link, element).inverse() @ scope.pose(base, element) if base and base != link else UNMOVED
    return there @ own


def _shape(visual: Element, record: str, log: VisualLog) -> VisualShape | None:
    geometry = visual.first("geometry")
    if geometry is None or not geometry.children:
        log.problem("<geometry> is missing or empty, so nothing is drawn", record, visual.line)
        return None
    element = geometry.children[0]
    own = texts(element, f"{record}: {element.tag}", log)
    if element.tag == "box":
        return VisualBox(edges(own, "size"))
    if element.tag == "cylinder":
        return VisualCylinder(length(own, "radius"), length(own, "length"))
    if element.tag == "capsule":
        return VisualCapsule(length(own, "radius"), length(own, "length"))
    if element.tag == "sphere":
        radius = length(own, "radius")
        return VisualEllipsoid((radius, radius, radius))
    if element.tag == "ellipsoid":
        return VisualEllipsoid(edges(own, "radii"))
    if element.tag == "mesh":
        if "submesh" in own:
            own.problem("<submesh> is not picked out of a mesh")
        uri = own.text("uri")
        return None if uri is None else MeshFile(uri, log.place(element.line)[0], factors(own))
    if element.tag not in _UNDRAWN:
        own.problem(f"{shown(element.tag)} is not drawn (known: box, cylinder, sphere, capsule, ellipsoid, mesh)")
    return None


def _rgba(visual: Element, record: str, log: VisualLog) -> Rgba | None:
    """The diffuse colour, with the transparency of the visual."""
    material = visual.first("material")
    rgba = None if material is None else colour(texts(material, f"{record}: material", log), "diffuse")
    clear = texts(visual, record, log).number("transparency")
    if not clear:
        return rgba
    red, green, blue, opacity = rgba or (0.7, 0.7, 0.7, 1.0)
    return (red, green, blue, opacity * min(max(1 - clear, 0.0), 1.0))
