"""Couplings that a URDF can say: one joint of its tree follows another, q = multiplier q_leader + offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from robocompiler.exporters.placing import text
from robocompiler.exporters.polynomials import linear_terms
from robocompiler.exporters.structure import Structure
from robocompiler.graph.preference import ported_joints
from robocompiler.records.joint_types import JOINT_SHAPES


@dataclass(frozen=True)
class Follower:
    """The law of a follower, and the coupling that it says."""

    leader: str
    multiplier: float
    offset: float
    coupling: str


def followers(built: Structure) -> dict[str, Follower]:
    """Laws by follower: linear couplings of two tree joints of one freedom; the joint without a port follows.

    A joint follows one other, and never in a circle: other couplings are none of these.
    """
    tree = {edge.joint for edge in built.topology.edges if JOINT_SHAPES[built.topology.kind(edge.joint)].nv == 1}
    driven = ported_joints(built.mechanism)
    found: dict[str, Follower] = {}
    for coupling in built.mechanism.couplings:
        linear = linear_terms(coupling.expression)
        if linear is None or len(linear[0]) != 2 or not linear[0].keys() <= tree:
            continue
        weights, constant = linear
        for name in sorted(weights, key=lambda joint: (joint in driven, joint)):
            (leader,) = weights.keys() - {name}
            if name not in found and not _follows(leader, name, found):
                multiplier, offset = -weights[leader] / weights[name], -constant / weights[name] + 0.0
                found[name] = Follower(leader, multiplier, offset, coupling.name)
                break
    return found


def write_mimic(element: Element, follower: Follower) -> None:
    """Add <mimic> to a joint."""
    law = {"joint": follower.leader, "multiplier": text([follower.multiplier]), "offset": text([follower.offset])}
    SubElement(element, "mimic", law)


def _follows(joint: str, other: str, found: Mapping[str, Follower]) -> bool:
    """Whether a joint is another, or follows it through others."""
    while joint != other and joint in found:
        joint = found[joint].leader
    return joint == other
