"""The side file of an exported URDF: closing joints, couplings, ports and all else, in the input language.

Joints that the URDF holds stand there only with what a URDF cannot say of them (armatures, losses of a ball).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from robocompiler.exporters.structure import Structure
from robocompiler.records.joint_types import JointType, coordinate_names
from robocompiler.records.model import Joint, Mechanism, Reference
from robocompiler.records.plain_data import mechanism_data
from robocompiler.records.yaml_writer import data_yaml

_EXTRAS = ("limits", "armature", "damping", "friction")
_SAID = {  # what a URDF says of joints of one freedom
    JointType.REVOLUTE: ("limits", "damping", "friction"),
    JointType.CONTINUOUS: ("limits", "damping", "friction"),
    JointType.PRISMATIC: ("limits", "damping", "friction"),
}


def side_text(built: Structure, reference: Mapping[str, float], said: Collection[str]) -> str:
    """The YAML text of the side file.

    Args:
        reference: assembled values by the names of the original coordinates.
        said: couplings that the URDF says.
    """
    tree = {edge.joint for edge in built.topology.edges}
    values = built.values(reference)
    couplings = tuple(coupling for coupling in built.mechanism.couplings if coupling.name not in said)
    mechanism = replace(built.mechanism, couplings=couplings, reference=_reference(built, tree, values))
    data = mechanism_data(mechanism)
    groups = ("robocompiler", "gravity", "scales", "joints", "couplings", "ports", "drives", "frames", "supports")
    side: dict[str, Any] = {key: data[key] for key in groups if key in data}
    joints = {joint.name: joint for joint in mechanism.joints}
    side["joints"] = {
        name: extra
        for name, record in side.get("joints", {}).items()
        if (extra := _extras(joints[name], record) if name in tree else record)
    }
    side["ports"] = side.get("ports", {})  # an empty group keeps the importer from guessing ports
    side["reference"] = data.get("reference", {})
    return data_yaml({key: value for key, value in side.items() if value or key == "ports"})


def _extras(joint: Joint, record: Mapping[str, Any]) -> dict[str, Any]:
    said = _SAID.get(joint.type, ())
    extra = {key: record[key] for key in _EXTRAS if key in record and key not in said}
    limits = record.get("limits", {})
    if "limits" in said and 0.0 in (limits.get("effort"), limits.get("velocity")):
        extra["limits"] = limits
    return extra


def _reference(built: Structure, tree: set[str], values: Mapping[str, float]) -> Reference:
    """All coordinates: of the tree, and of the closing joints."""
    mechanism: Mechanism = built.mechanism
    names = [
        name
        for joint in sorted(mechanism.joints, key=lambda joint: joint.name not in tree)
        for name in coordinate_names(joint.name, joint.type)
    ]
    return Reference(tuple((name, values[name]) for name in names))
