"""What `inspect` tells beyond the closing table: every chord with its path, and the singular values at the gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from robocompiler.cli.facts import Facts
from robocompiler.compiler import FrontEnd
from robocompiler.graph.complexity import condensed_rows
from robocompiler.graph.draw import graph_svg
from robocompiler.graph.topology import Chord, Topology
from robocompiler.records.joint_types import JointType

_AROUND = 4  # singular values shown on each side of the gap


@dataclass(frozen=True)
class Step:
    """One joint of a path, from one body to the next; `up` when it leads towards the root."""

    joint: str
    source: str
    target: str
    up: bool


@dataclass(frozen=True)
class ChordFacts:
    """A joint outside the tree: cut (its coordinates are eliminated) or kept, and the tree path that it closes.

    length counts the moving joints of the path, which leads from body a of the joint over `ancestor` to body b.
    """

    joint: str
    type: str
    cut: bool
    rows: int
    module: str
    ancestor: str
    length: int
    path: tuple[Step, ...]


@dataclass(frozen=True)
class Inspection:
    """The facts of a mechanism and its loops; singular values are relative, largest first, at the reference."""

    facts: Facts
    chords: tuple[ChordFacts, ...]
    singular_values: tuple[float, ...]

    @property
    def around_gap(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The last singular values that were kept and the first that were dropped."""
        rank = self.facts.rank.rank
        return self.singular_values[max(0, rank - _AROUND) : rank], self.singular_values[rank : rank + _AROUND]


def inspect_loops(facts: Facts, front: FrontEnd) -> Inspection:
    """The inspection of a mechanism whose front end has run."""
    modules = {name: module.name for module in facts.chart("port").modules for name in module.closures}
    chords = tuple(_chord(front.topology, chord, modules.get(chord.joint, "")) for chord in front.topology.chords)
    return Inspection(facts, chords, front.reduction.rank.singular_values)


def loops_data(inspection: Inspection) -> dict[str, Any]:
    """The keys that `inspect --json` adds to the report."""
    kept, dropped = inspection.around_gap
    return {
        "chords": [asdict(chord) for chord in inspection.chords],
        "singular_values": {
            "all": list(inspection.singular_values),
            "last_kept": list(kept),
            "first_dropped": list(dropped),
        },
    }


def drawing(facts: Facts, topology: Topology) -> str:
    """The graph as SVG: chords in the colour of their module, modules titled with the size of their system."""
    return graph_svg(
        topology,
        [(f"{m.name}: {_count(m.dependents, 'dependent')}", m.closures) for m in facts.chart("port").modules],
    )


def _count(items: Sequence[object], word: str) -> str:
    return f"{len(items)} {word}" + ("" if len(items) == 1 else "s")


def _chord(topology: Topology, chord: Chord, module: str) -> ChordFacts:
    path = (*_walk(topology, chord.branch_a)[::-1], *_walk(topology, chord.branch_b))
    turned = tuple(
        Step(step.joint, step.target, step.source, True) if index < len(chord.branch_a) else step
        for index, step in enumerate(path)
    )
    return ChordFacts(
        joint=chord.joint,
        type=topology.kind(chord.joint).value,
        cut=not chord.kept,
        rows=condensed_rows(chord, topology),
        module=module,
        ancestor=chord.ancestor,
        length=sum(topology.kind(step.joint) is not JointType.FIXED for step in path),
        path=turned,
    )


def _walk(topology: Topology, branch: Sequence[str]) -> tuple[Step, ...]:
    """The joints of `branch` as steps from parent to child."""
    edges = {edge.joint: edge for edge in topology.edges}
    return tuple(Step(name, edges[name].parent, edges[name].child, False) for name in branch)
