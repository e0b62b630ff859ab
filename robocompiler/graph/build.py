"""Mechanism to Topology: components, spanning forest, chords and coordinate layout."""

from __future__ import annotations

from robocompiler.graph.forest import spanning_forest
from robocompiler.graph.layout import slots
from robocompiler.graph.paths import chords, depth_first_edges
from robocompiler.graph.roots import hang_on_world
from robocompiler.graph.topology import Topology
from robocompiler.records.model import Mechanism


def derive_topology(mechanism: Mechanism) -> Topology:
    """The spanning forest of `mechanism` with its chords, paths and slots (docs/mathematics.md).

    A pure function of the records: permuting them changes nothing but the order of the records kept in
    `Topology.mechanism`, to which one free joint per floating component is appended.

    Raises:
        ModelError: joints that do not fit the bodies, or base poses that do not fit the components.
    """
    hung, components = hang_on_world(mechanism)
    edges = depth_first_edges(hung, spanning_forest(hung))
    cuts = chords(hung, edges)
    order = [edge.joint for edge in edges] + [chord.joint for chord in cuts]
    return Topology(hung, components, edges, cuts, slots(hung, order))
