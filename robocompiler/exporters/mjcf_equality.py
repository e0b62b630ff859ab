"""Closing joints and couplings of an MJCF: connect and weld between sites, polynomials of joints, sums in tendons."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from robocompiler.exporters.mjcf_bodies import Bodies, place
from robocompiler.exporters.naming import Names
from robocompiler.exporters.notes import LEFT_OUT, ExportLog
from robocompiler.exporters.placing import text, transform
from robocompiler.exporters.polynomials import law_of, linear_terms
from robocompiler.exporters.structure import Structure
from robocompiler.importers.transforms import Transform, moved, scaled
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Coupling, Joint, Limits

_HALF = 0.1  # m: a hinge is two coincident points this far on either side along its axis


def write_closures(structure: Structure, made: Bodies, equality: Element, sites: Names, log: ExportLog) -> None:
    """One weld, one connect, or two connects per chord, each between two sites."""
    for chord in structure.topology.chords:
        joint = structure.topology.joint(chord.joint)
        if any(limits != Limits() for limits in joint.limits):
            log.note(LEFT_OUT, "limits of joints that close loops", joint.name)
        if joint.type is JointType.FREE:
            log.note(LEFT_OUT, "free joints outside the tree, which constrain nothing", joint.name)
        elif joint.type is JointType.FIXED:
            _equal("weld", joint.name, joint, Transform(), made, equality, sites)
        elif joint.type is JointType.SPHERICAL:
            _equal("connect", joint.name, joint, Transform(), made, equality, sites)
        else:
            for k, side in enumerate((-_HALF, _HALF), start=1):
                shift = moved(scaled(joint.axis, side))
                _equal("connect", f"{joint.name}_{k}", joint, shift, made, equality, sites)


def _equal(kind: str, name: str, joint: Joint, shift: Transform, made: Bodies, equality: Element, sites: Names) -> None:
    ends = []
    for side, frame in (("a", joint.a), ("b", joint.b)):
        ends.append(sites.fresh(f"{name}_{side}"))
        place(SubElement(made.elements[frame.body], "site", name=ends[-1]), transform(frame) @ shift)
    SubElement(equality, kind, name=name, site1=ends[0], site2=ends[1])


def write_couplings(structure: Structure, tendon: Element, equality: Element, log: ExportLog) -> None:
    """A joint equality where the coupling is y = polynomial(x), else a fixed tendon of constant length."""
    names = Names(coupling.name for coupling in structure.mechanism.couplings)
    for coupling in structure.mechanism.couplings:
        law = law_of(coupling.expression)
        if law is not None:
            joints = {"joint1": law.y, **({"joint2": law.x} if law.x else {})}
            SubElement(equality, "joint", {"name": coupling.name, **joints, "polycoef": text(law.coefficients)})
            continue
        linear = linear_terms(coupling.expression)
        if linear is None:
            _refuse(coupling, log)
            continue
        weights, constant = linear
        length = names.fresh(f"{coupling.name}_sum")
        fixed = SubElement(tendon, "fixed", name=length)
        for name in coupling.coordinates:
            if name in weights:
                SubElement(fixed, "joint", joint=name, coef=text([weights[name]]))
        # its length at qpos0, where all coordinates are zero, is zero
        SubElement(equality, "tendon", name=coupling.name, tendon1=length, polycoef=text((-constant, 0, 0, 0, 0)))


def _refuse(coupling: Coupling, log: ExportLog) -> None:
    log.problem(
        "MuJoCo couples joints by a sum of coordinates, or by one coordinate as a polynomial (up to x**4) of another; "
        "this is neither",
        f"couplings.{coupling.name}",
        coupling.source,
    )
