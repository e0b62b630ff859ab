"""Links and named frames of SDF."""

from __future__ import annotations

from typing import Any

from robocompiler.importers.draft import Draft, placement
from robocompiler.importers.inertias import look_at_units, solid
from robocompiler.importers.log import ASSUMED, ImportLog
from robocompiler.importers.sdf_frames import Scope
from robocompiler.importers.sdf_values import pose_of, texts
from robocompiler.importers.transforms import Tensor, Transform
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD

_SHAPES = {"visual": "visual shapes of links: a mechanism needs no shapes", "collision": "collision shapes of links"}
_SILENT = ("pose", "inertial", "self_collide", "kinematic", "must_be_base_link")


def import_links(scope: Scope, draft: Draft) -> None:
    """A body per link."""
    for name, element in scope.all("link"):
        legal = draft.declare("bodies", scope.full(name), element.line, "link")
        draft.put("bodies", legal, _solid(element, scope), element.line)
        for child in element.children:
            if child.tag == "gravity" and child.text.lower() in ("false", "0"):
                scope.log.leave_out("<gravity>false</gravity> of links: weights act in full", child.line)
            elif child.tag not in (*_SILENT, "gravity"):
                scope.log.leave_out(_SHAPES.get(child.tag, f"<{child.tag}> in links"), child.line)


def import_frames(scope: Scope, draft: Draft, worlds: dict[str, Transform], here: Transform) -> None:
    """A named frame per <frame>; `here` is the pose of the scope in the world."""
    for name, element in scope.all("frame"):
        link = scope.link(name, element)
        if not link:
            continue
        pose = worlds[link].inverse() @ here @ scope.pose(name, element)
        legal = draft.declare("frames", scope.full(name), element.line, "frame")
        draft.put("frames", legal, placement(WORLD if link == WORLD else draft.body(link), pose), element.line)


def _solid(link: Element, scope: Scope) -> dict[str, Any]:
    log: ImportLog = scope.log
    inertial = link.first("inertial")
    record = f"{scope.record(link)}: inertial"
    if inertial is None:
        if not scope.static:
            log.note(ASSUMED, "no <inertial>: 1 kg and 1 kg m^2, the defaults of SDF", scope.record(link), link.line)
        return solid(1.0, Transform(), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    if inertial.get("auto").lower() in ("true", "1"):
        log.problem(
            "inertias from collision shapes (auto) are not computed; write mass and inertia out", record, inertial.line
        )
    for child in inertial.children:
        if child.tag not in ("pose", "mass", "inertia", "density"):
            log.leave_out(f"<{child.tag}> of inertials", child.line)
    mass = texts(inertial, record, log).number("mass", 1.0)
    tensor: Tensor = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    element = inertial.first("inertia")
    if element is not None:
        own = texts(element, f"{record}: inertia", log)
        xx, yy, zz = (own.number(key, 1.0) for key in ("ixx", "iyy", "izz"))
        tensor = (xx, yy, zz, own.number("ixy"), own.number("ixz"), own.number("iyz"))
        look_at_units(mass, tensor, own.record, element.line, log)
    return solid(mass, pose_of(inertial, record, log), tensor)
