"""Records to MJCF: the tree, closures as equality constraints, ports as motors, the assembled reference as keyframe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from robocompiler.exporters.mjcf_bodies import place, positions, write_bodies
from robocompiler.exporters.mjcf_drives import write_actuators
from robocompiler.exporters.mjcf_equality import write_closures, write_couplings
from robocompiler.exporters.naming import Names
from robocompiler.exporters.notes import LEFT_OUT, ExportLog, ExportNote
from robocompiler.exporters.placing import text, transform
from robocompiler.exporters.structure import POINTS, Target, structure
from robocompiler.records.model import WORLD, Mechanism

MJCF = Target("MJCF", POINTS)
KEY = "reference"


@dataclass(frozen=True)
class Exported:
    """The text of a file in another format, what was decided on the way, and new names of renamed coordinates."""

    text: str
    notes: tuple[ExportNote, ...]
    renamed: Mapping[str, str]


def mjcf_text(mechanism: Mechanism, reference: Mapping[str, float]) -> Exported:
    """The MJCF of a mechanism (SI units, radians).

    Args:
        reference: an assembled configuration, values by coordinate name: the keyframe 'reference'.

    Closures become `connect` and `weld` between sites, which are right at any configuration.  Raises ModelError for
    couplings that are no polynomial of MuJoCo's form and losses that differ among the axes of a ball.
    """
    log = ExportLog()
    built = structure(mechanism, MJCF, log)
    root = Element("mujoco", model=mechanism.name)
    SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    SubElement(root, "option", gravity=text(mechanism.gravity))
    made = write_bodies(SubElement(root, "worldbody"), built, log)
    sites = Names((WORLD, *(body.name for body in built.mechanism.bodies)))
    for frame in built.mechanism.frames:
        site = SubElement(made.elements[frame.placement.body], "site", name=sites.fresh(frame.name))
        place(site, transform(frame.placement))
    tendon, equality, actuator = Element("tendon"), Element("equality"), Element("actuator")
    write_closures(built, made, equality, sites, log)
    write_couplings(built, tendon, equality, log)
    write_actuators(built, made, tendon, actuator, sites, log)
    root.extend(part for part in (tendon, equality, actuator) if len(part))
    qpos = positions(made, built.values(reference))
    if qpos:
        SubElement(SubElement(root, "keyframe"), "key", name=KEY, qpos=text(qpos))
    for group, what in ((mechanism.drives, "drives"), (mechanism.supports, "support modes")):
        if group:
            log.note(LEFT_OUT, f"{what}, which MJCF cannot say", group[0].name)
    if mechanism.length_scale is not None:
        log.note(LEFT_OUT, "the length scale", mechanism.name)
    log.finish()
    indent(root)
    return Exported(tostring(root, encoding="unicode") + "\n", log.notes, dict(built.coordinates))
