"""Named frames of interest, and the support modes that hold them to the world."""

from __future__ import annotations

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.keys import CONTACTS
from robocompiler.records.model import WORLD, NamedFrame, Support
from robocompiler.records.names import shown
from robocompiler.records.nodes import MappingNode
from robocompiler.records.parse_placement import parse_placement


def parse_frames(cursor: Cursor | None, catalogue: Catalogue) -> tuple[NamedFrame, ...]:
    """All named frames in file order."""
    children = {} if cursor is None else cursor.named("frames")
    return tuple(_frame(name, child, catalogue) for name, child in children.items())


def parse_supports(cursor: Cursor | None, frames: tuple[NamedFrame, ...], catalogue: Catalogue) -> tuple[Support, ...]:
    """All support modes in file order."""
    children = {} if cursor is None else cursor.named("supports")
    bodies = {frame.name: frame.placement.body for frame in frames}
    return tuple(_support(name, child, bodies, catalogue) for name, child in children.items())


def _frame(name: str, cursor: Cursor, catalogue: Catalogue) -> NamedFrame:
    if name == WORLD:
        cursor.problem("the name 'world' is taken by the world frame; rename this frame")
    elif name in catalogue.bodies:
        cursor.problem("every body is a frame of its own name already; rename this frame")
    return NamedFrame(name, parse_placement(cursor, catalogue, shorthand=False), cursor.source)


def _support(name: str, cursor: Cursor, frames: dict[str, str], catalogue: Catalogue) -> Support:
    contacts: list[tuple[str, str]] = []
    for target, child in cursor.children("a mapping from frames to weld or point", may_be_empty=False).items():
        if target == WORLD or frames.get(target) == WORLD:
            child.problem("is fixed to the world already; name a frame on a body")
        elif target not in frames and target not in catalogue.bodies:
            hint = child.log.suggest(target, frames, catalogue.bodies)
            child.problem(f"no frame or body is called {shown(target)}{hint}")
        contact = child.choice(CONTACTS, "kind of contact")
        if contact is not None:
            contacts.append((target, contact))
    if isinstance(cursor.node, MappingNode) and not cursor.node.entries:
        cursor.problem("holds nothing; name a frame, or remove the mode (a robot without support needs none)")
    return Support(name, tuple(contacts), cursor.source)
