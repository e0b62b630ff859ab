"""Which fields of the records each translation unit comes from, so that a build can say why it compiles."""

from __future__ import annotations

from collections.abc import Iterable

from robocompiler.backend.cache import value_digest
from robocompiler.graph.topology import Topology
from robocompiler.records.model import Drive
from robocompiler.symbolic.program import RobotProgram
from robocompiler.symbolic.reduction import Module

_GEOMETRY = ("type", "a", "b", "axis", "axis2", "pitch")


def _joint_fields(topology: Topology, names: Iterable[str]) -> dict[str, str]:
    fields = {}
    for name in sorted(set(names)):
        joint = topology.joint(name)
        for field in _GEOMETRY:
            fields[f"joints.{name}.{field}"] = value_digest(repr(getattr(joint, field)))
    return fields


def module_provenance(program: RobotProgram, module: Module) -> dict[str, str]:
    """Fields behind a module: the geometry of the joints on its closures' paths, and its couplings."""
    topology = program.closures.topology
    chords = {chord.joint: chord for chord in topology.chords}
    couplings = {coupling.name: coupling for coupling in topology.mechanism.couplings}
    joints: set[str] = set()
    fields: dict[str, str] = {}
    for index in module.closures:
        closure = program.closures.closures[index]
        if closure.kind == "coupling":
            coupling = couplings[closure.name]
            fields[f"couplings.{coupling.name}"] = value_digest(repr(coupling.expression))
        else:
            chord = chords[closure.name]
            joints.update((chord.joint, *chord.branch_a, *chord.branch_b))
    return fields | _joint_fields(topology, joints)


def robot_provenance(program: RobotProgram) -> dict[str, str]:
    """Fields behind the whole-robot kinematics."""
    topology = program.closures.topology
    mechanism = topology.mechanism
    fields = _joint_fields(topology, (joint.name for joint in mechanism.joints))
    for frame in mechanism.frames:
        fields[f"frames.{frame.name}"] = value_digest(repr(frame.placement))
    for parameter in mechanism.parameters:
        fields[f"parameters.{parameter.name}"] = value_digest(repr(parameter.default))
    fields["reference"] = value_digest(repr(mechanism.reference))
    return fields


def mechanics_provenance(program: RobotProgram) -> dict[str, str]:
    """Fields behind the mechanics: those of the kinematics, and inertias, drives, ports and gravity."""
    mechanism = program.closures.topology.mechanism
    fields = robot_provenance(program)
    for body in mechanism.bodies:
        for field in ("mass", "com", "inertia"):
            fields[f"bodies.{body.name}.{field}"] = value_digest(repr(getattr(body, field)))
    for joint in mechanism.joints:
        for field in ("armature", "damping", "friction"):
            fields[f"joints.{joint.name}.{field}"] = value_digest(repr(getattr(joint, field)))
    for port in mechanism.ports:
        fields[f"ports.{port.name}"] = value_digest(repr(port.measure))
    fields["gravity"] = value_digest(repr(mechanism.gravity))
    return fields


def drives_provenance(program: RobotProgram) -> dict[str, str]:
    """Fields behind the drives: those of the kinematics, the ports that they act on, and their own."""
    mechanism = program.closures.topology.mechanism
    fields = robot_provenance(program)
    driven = {drive.port for drive in mechanism.drives}
    for port in mechanism.ports:
        if port.name in driven:
            fields[f"ports.{port.name}"] = value_digest(repr(port.measure))
    for drive in mechanism.drives:
        fields |= {f"drives.{drive.name}.{key}": value_digest(repr(value)) for key, value in _drive_fields(drive)}
    return fields


def resolution_provenance(program: RobotProgram) -> dict[str, str]:
    """Fields behind the redundancy resolution: those of the mechanics, and the limits of joints and ports."""
    mechanism = program.closures.topology.mechanism
    fields = mechanics_provenance(program)
    fields |= {f"joints.{joint.name}.limits": value_digest(repr(joint.limits)) for joint in mechanism.joints}
    return fields | {f"ports.{port.name}.limits": value_digest(repr(port.limits)) for port in mechanism.ports}


def _drive_fields(drive: Drive) -> list[tuple[str, object]]:
    """(key, value) as the file has them."""
    fields: list[tuple[str, object]] = [("port", drive.port), ("effort", drive.effort), ("commands", drive.commands)]
    fields += [(f"constants.{name}", value) for name, value in drive.constants]
    for state in drive.states:
        fields += [(f"states.{state.name}", (state.initial, state.unit)), (f"rates.{state.name}", state.rate)]
    return fields
