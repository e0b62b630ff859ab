"""Ports as motors of an MJCF: on a joint with its gear, on a fixed tendon, or on the line between two sites."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from robocompiler.exporters.mjcf_bodies import Bodies, place
from robocompiler.exporters.naming import Names
from robocompiler.exporters.notes import LEFT_OUT, ExportLog
from robocompiler.exporters.placing import text, vector
from robocompiler.exporters.structure import Structure
from robocompiler.importers.transforms import moved
from robocompiler.records.model import Distance, Port


def write_actuators(
    structure: Structure, made: Bodies, tendon: Element, actuator: Element, sites: Names, log: ExportLog
) -> None:
    """One motor per port, whose control is the port's effort."""
    tendons = Names(element.get("name", "") for element in tendon)
    for port in structure.mechanism.ports:
        motor = SubElement(actuator, "motor", name=port.name)
        if isinstance(port.measure, Distance):
            motor.set("tendon", _line(port, port.measure, made, tendon, tendons, sites))
        elif len(port.measure.terms) == 1:
            name, weight = port.measure.terms[0]
            motor.set("joint", name)
            if weight != 1.0:
                motor.set("gear", text([weight]))
        else:
            motor.set("tendon", tendons.fresh(f"{port.name}_sum"))
            fixed = SubElement(tendon, "fixed", name=motor.get("tendon", ""))
            for name, weight in port.measure.terms:
                SubElement(fixed, "joint", joint=name, coef=text([weight]))
        _limits(motor, port, log)


def _line(port: Port, measure: Distance, made: Bodies, tendon: Element, tendons: Names, sites: Names) -> str:
    name = tendons.fresh(f"{port.name}_line")
    spatial = SubElement(tendon, "spatial", name=name)
    for side, end in (("a", measure.a), ("b", measure.b)):
        site = sites.fresh(f"{port.name}_{side}")
        place(SubElement(made.elements[end.body], "site", name=site), moved(vector(end.position)))
        SubElement(spatial, "site", site=site)
    return name


def _limits(motor: Element, port: Port, log: ExportLog) -> None:
    effort = port.limits.effort
    if effort:
        motor.set("ctrllimited", "true")
        motor.set("ctrlrange", text((-effort, effort)))
    elif effort is not None:
        log.note(LEFT_OUT, "effort limits of zero, which MuJoCo refuses", port.name)
    if port.limits.position is not None or port.limits.velocity is not None:
        log.note(LEFT_OUT, "displacement and velocity limits of ports", port.name)
