"""Mechanism to Topology: components, spanning forest, chords and coordinate layout."""

from __future__ import annotations

from collections.abc import Collection

from robocompiler.graph.forest import spanning_forest
from robocompiler.graph.layout import slots
from robocompiler.graph.paths import chords, depth_first_edges
from robocompiler.graph.roots import hang_on_world
from robocompiler.graph.topology import Topology
from robocompiler.records.model import Mechanism


def derive_topology(mechanism: Mechanism, cut_first: Collection[str] = ()) -> Topology:
    """The spanning forest of `mechanism` with its chords, paths and slots (docs/mathematics.md).

    A pure function of the records: permuting them changes nothing but the order of the records kept in
    `Topology.mechanism`, to which one free joint per floating component is appended.

    Args:
        cut_first: joints to cut rather than any other, whatever the compiler would prefer.  No file or command says
            this: it is how another forest of the same mechanism is had, to compare.

    Raises:
        ModelError: joints that do not fit the bodies, or base poses that do not fit the components.
        ValueError: `cut_first` names no joint.
    """
    hung, components = hang_on_world(mechanism)
    edges = depth_first_edges(hung, spanning_forest(hung, cut_first))
    cuts = chords(hung, edges)
    order = [edge.joint for edge in edges] + [chord.joint for chord in cuts]
    return Topology(hung, components, edges, cuts, slots(hung, order))
