"""Links of a URDF: bodies with their inertial frames."""

from __future__ import annotations

from collections.abc import Mapping

from robocompiler.importers.draft import Draft
from robocompiler.importers.inertias import degrees_fault, look_at_units, solid
from robocompiler.importers.log import ASSUMED, ImportLog
from robocompiler.importers.transforms import UNMOVED, Tensor, Transform, unit_quaternion_of
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD
from robocompiler.records.names import shown
from robocompiler.records.rotations import rotation_of_quaternion, rotation_of_rpy

_SHAPES = {"visual": "visual shapes", "collision": "collision shapes"}
_INERTIA_KEYS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def values(element: Element, record: str, log: ImportLog) -> Values:
    """The attributes of an element as values."""
    return Values(element.attributes, record, element.line, log)


def origin(owner: Element, record: str, log: ImportLog, tag: str = "origin") -> Transform:
    """The pose of <origin xyz rpy> inside `owner`; identity when there is none."""
    element = owner.first(tag)
    if element is None:
        return UNMOVED
    own = values(element, f"{record}: {tag}", log)
    own.only("xyz", "rpy", "quat_xyzw")
    if "quat_xyzw" in own:
        if "rpy" in own:
            own.problem("the rotation is given 2 times (rpy, quat_xyzw); keep one")
        x, y, z, w = own.numbers("quat_xyzw", (4,), (0.0, 0.0, 0.0, 1.0))
        unit = unit_quaternion_of((w, x, y, z))
        if unit is None:
            own.problem("'quat_xyzw' is zero")
            return UNMOVED
        return Transform(rotation_of_quaternion(unit), own.vector("xyz"))
    rpy = own.vector("rpy")
    fault = degrees_fault(rpy)
    if fault:
        own.problem(f"'rpy': {fault}")
    return Transform(rotation_of_rpy(rpy), own.vector("xyz"))


def import_links(robot: Element, draft: Draft) -> dict[str, Element]:
    """Declare every link; the link called 'world' is the surroundings.  Elements by the names in the file."""
    log = draft.log
    links: dict[str, Element] = {}
    for element in robot.all("link"):
        name = values(element, "link", log).text("name")
        if name is None:
            continue
        if name in links:
            log.problem(
                f"another link has this name already (line {log.place(links[name].line)[1]}); rename one",
                element.label,
                element.line,
            )
            continue
        links[name] = element
        if name == WORLD:
            draft.legal[("bodies", WORLD)] = WORLD
            log.note(ASSUMED, "the link called 'world' is the fixed surroundings", element.label, element.line)
            if element.first("inertial") is not None:
                log.leave_out("the inertial of the link 'world'", element.line)
        else:
            legal = draft.declare("bodies", name, element.line, "link")
            draft.put("bodies", legal, _solid(element, log), element.line)
        _leftovers(element, log)
    if not links:
        log.problem("the robot has no link; give at least one", "", robot.line)
    return links


def _solid(link: Element, log: ImportLog) -> Mapping[str, object]:
    inertial = link.first("inertial")
    if inertial is None:
        return {}
    record = f"{link.label}: inertial"
    pose = origin(inertial, record, log)
    mass_element, inertia_element = inertial.first("mass"), inertial.first("inertia")
    mass = 0.0
    if mass_element is None:
        log.problem("<mass value=.../> is missing", record, inertial.line)
    else:
        mass = values(mass_element, f"{record}: mass", log).required("value")
    tensor: Tensor = (0.0,) * 6
    if inertia_element is None:
        log.problem("<inertia ixx=... .../> is missing", record, inertial.line)
    else:
        own = values(inertia_element, f"{record}: inertia", log)
        own.only(*_INERTIA_KEYS)
        xx, yy, zz, xy, xz, yz = (own.required(key) for key in _INERTIA_KEYS)
        tensor = (xx, yy, zz, xy, xz, yz)
        look_at_units(mass, tensor, record, inertia_element.line, log)
    return solid(mass, pose, tensor)


def _leftovers(link: Element, log: ImportLog) -> None:
    for child in link.children:
        if child.tag in _SHAPES:
            log.leave_out(f"{_SHAPES[child.tag]} of links: a mechanism needs no shapes", child.line)
        elif child.tag != "inertial" or child is not link.first("inertial"):
            log.leave_out(f"<{child.tag}> in links", child.line)


def known_link(name: str | None, links: Mapping[str, Element], own: Values) -> bool:
    """Whether there is such a link; a fault is noted when not."""
    if name is None:
        return False
    if name not in links:
        own.problem(f"no link is called {shown(name)}{own.log.suggest(name, links)}")
    return name in links
