"""Draws a topology as SVG: the forest in layers below the world, chords as dashed curves coloured by module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from robocompiler.graph.draw_curves import XY, Curve, Obstacles, label_place, route
from robocompiler.graph.draw_layout import LAYER_GAP, Item, Rect, place, text_width, wrap
from robocompiler.graph.draw_legend import Legend, draw_legend
from robocompiler.graph.draw_style import (
    DASHES,
    FAINT,
    FONT,
    FONT_SIZE,
    INK,
    JOINT_STYLES,
    LINE,
    PAPER,
    PORT_COLOUR,
    UNASSIGNED,
    ChordStyle,
    module_style,
)
from robocompiler.graph.draw_text import add_badge, add_centred, add_halo, add_line, add_rect, add_text, number
from robocompiler.graph.preference import joint_of
from robocompiler.graph.topology import Topology
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, CoordinateSum, Distance

MARGIN = 24.0
PORT_MARK = "▶ "
BADGE = 20.0


def graph_svg(topology: Topology, modules: Sequence[tuple[str, Sequence[str]]] = ()) -> str:
    """An SVG drawing of `topology`: bodies are boxes in layers below the world, tree joints solid, chords dashed.

    Args:
        topology: the forest and its chords.
        modules: (title, names of its chords and couplings) per loop module; the title may carry figures such as the
            number of dependent coordinates.  Chords of no module are drawn grey.

    Returns:
        The text of a self-contained SVG file; the same topology gives the same bytes.

    Raises:
        ValueError: a module names something that is neither a chord nor a coupling, or something named before.
    """
    styles = _chord_styles(topology, modules)
    children: dict[str, list[str]] = {}
    for edge in topology.edges:
        children.setdefault(edge.parent, []).append(edge.child)
    items = _items(topology)
    boxes, areas = place(WORLD, children, items)
    links = _links(topology, styles)
    joints = [_tight(areas[edge.child], items[edge.child]) for edge in topology.edges]
    curves = _curves(links, boxes, Obstacles.of(list(boxes.values()), joints))
    lines = {edge.child: _edge_line(boxes[edge.parent], boxes[edge.child]) for edge in topology.edges}
    strips = [strip for line in lines.values() for strip in _strips(line)]
    taken = [*((rect, 10.0) for rect in (*boxes.values(), *joints)), *((strip, 1.0) for strip in strips)]
    labels = _labels(links, curves, taken)

    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": FONT, "font-size": str(FONT_SIZE)})
    SubElement(svg, "title").text = f"{topology.mechanism.name}: spanning forest and chords"
    drawing = SubElement(svg, "g")
    for link, curve in zip(links, curves, strict=True):
        _draw_curve(drawing, link, curve)
    for edge in topology.edges:
        _draw_edge(drawing, topology.kind(edge.joint), lines[edge.child])
    for rect in joints:
        add_halo(drawing, rect)
    _draw_boxes(drawing, topology, boxes, items)
    for edge, rect in zip(topology.edges, joints, strict=True):
        _draw_lines(drawing, topology.kind(edge.joint), rect, items[edge.child].label)
    for link, rect in zip(links, labels, strict=True):
        _draw_link_label(drawing, link, rect)
    _frame(svg, topology, _bounds([*boxes.values(), *areas.values(), *labels], curves), _legend(topology, modules))
    indent(svg, space=" ")
    return tostring(svg, encoding="unicode") + "\n"


@dataclass(frozen=True)
class _Link:
    """Something drawn across the tree: a chord, or a two-point port (which has no joint type)."""

    a: str
    b: str
    lines: tuple[str, ...]
    kind: JointType | None
    style: ChordStyle


def _chord_styles(topology: Topology, modules: Sequence[tuple[str, Sequence[str]]]) -> dict[str, ChordStyle]:
    known = {chord.joint for chord in topology.chords} | {c.name for c in topology.mechanism.couplings}
    styles: dict[str, ChordStyle] = {}
    for index, (title, members) in enumerate(modules):
        for name in members:
            if name not in known:
                raise ValueError(f"module '{title}' names '{name}', which is neither a chord nor a coupling")
            if name in styles:
                raise ValueError(f"module '{title}' names '{name}', which another module (or itself) has named")
            styles[name] = module_style(index)
    return styles


def _ports(topology: Topology) -> dict[str, list[str]]:
    """Port names by joint."""
    ports: dict[str, list[str]] = {}
    for port in sorted(topology.mechanism.ports, key=lambda port: port.name):
        if isinstance(port.measure, CoordinateSum):
            for joint in dict.fromkeys(joint_of(name) for name, _ in port.measure.terms):
                ports.setdefault(joint, []).append(port.name)
    return ports


def _label_lines(joint: str, ports: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    marks = [line for port in ports.get(joint, ()) for line in wrap(PORT_MARK + port)]
    return (*wrap(joint), *marks)


def _items(topology: Topology) -> dict[str, Item]:
    ports = _ports(topology)
    items = {WORLD: Item((WORLD,), ())}
    for edge in topology.edges:
        items[edge.child] = Item(wrap(edge.child), _label_lines(edge.joint, ports))
    return items


def _links(topology: Topology, styles: Mapping[str, ChordStyle]) -> list[_Link]:
    ports, plain = _ports(topology), ChordStyle(UNASSIGNED, DASHES[0])
    links = []
    for chord in topology.chords:
        joint = topology.joint(chord.joint)
        style = styles.get(chord.joint, plain)
        links.append(_Link(joint.a.body, joint.b.body, _label_lines(joint.name, ports), joint.type, style))
    for port in sorted(topology.mechanism.ports, key=lambda port: port.name):
        if isinstance(port.measure, Distance):
            ends = (port.measure.a.body, port.measure.b.body)
            links.append(_Link(*ends, wrap(PORT_MARK + port.name), None, ChordStyle(PORT_COLOUR, "1 3")))
    return links


def _curves(links: Sequence[_Link], boxes: Mapping[str, Rect], obstacles: Obstacles) -> list[Curve]:
    """One curve per link; the ends at a body are spread in the order of where they lead."""
    ends: dict[str, list[tuple[float, float, int]]] = {}
    for index, link in enumerate(links):
        for here, there in ((link.a, link.b), (link.b, link.a)):
            ends.setdefault(here, []).append((boxes[there].x, -boxes[there].y, index))
    lane: dict[tuple[str, int], float] = {}
    for body, places in ends.items():
        for rank, (_, _, index) in enumerate(sorted(places)):
            lane[body, index] = 2.0 * (rank + 1) / (len(places) + 1) - 1.0
    parallel: Counter[frozenset[str]] = Counter()
    curves = []
    for index, link in enumerate(links):
        pair = frozenset((link.a, link.b))
        lift = 18.0 * parallel[pair]
        parallel[pair] += 1
        lanes = (lane[link.a, index], lane[link.b, index])
        curves.append(route(boxes[link.a], boxes[link.b], lanes, lift, obstacles))
    return curves


def _labels(links: Sequence[_Link], curves: Sequence[Curve], taken: list[tuple[Rect, float]]) -> list[Rect]:
    labels: list[Rect] = []
    for link, curve in zip(links, curves, strict=True):
        width = text_width(link.lines) + (BADGE if link.kind else 0.0) + 6.0
        others = [*taken, *((label, 10.0) for label in labels)]
        labels.append(label_place(curve, width, LINE * len(link.lines) + 2.0, others))
    return labels


def _tight(area: Rect, item: Item) -> Rect:
    """The part of a label's area that its text covers."""
    return Rect(area.x, area.y, text_width(item.label) + BADGE + 4.0, area.height)


def _draw_curve(parent: Element, link: _Link, curve: Curve) -> None:
    points = [curve.start, curve.control_1, curve.control_2, curve.end]
    start, *rest = [f"{number(x)},{number(y)}" for x, y in points]
    look = {"fill": "none", "stroke": link.style.colour, "stroke-width": "2", "stroke-dasharray": link.style.dash}
    SubElement(parent, "path", {"d": f"M{start} C{' '.join(rest)}", "class": "link"} | look)
    for x, y in (curve.start, curve.end):
        SubElement(parent, "circle", {"cx": number(x), "cy": number(y), "r": "3.5", "fill": link.style.colour})


def _edge_line(above: Rect, below: Rect) -> tuple[XY, ...]:
    """From a box down to its child, with one horizontal piece shared by all children."""
    bus = above.bottom + 0.4 * LAYER_GAP
    return (above.x, above.bottom), (above.x, bus), (below.x, bus), (below.x, below.top)


def _strips(line: Sequence[XY]) -> list[Rect]:
    """Thin rectangles over the pieces of a tree edge, which chord labels avoid."""
    return [
        Rect((x0 + x1) / 2, (y0 + y1) / 2, abs(x0 - x1) + 4.0, abs(y0 - y1) + 4.0)
        for (x0, y0), (x1, y1) in pairwise(line)
    ]


def _draw_edge(parent: Element, kind: JointType, line: Sequence[XY]) -> None:
    width = "6" if kind is JointType.FIXED else "1.8"
    add_line(parent, line, stroke=JOINT_STYLES[kind].colour, stroke_width=width, stroke_linejoin="round")


def _draw_boxes(parent: Element, topology: Topology, boxes: Mapping[str, Rect], items: Mapping[str, Item]) -> None:
    lumped = {edge.child for edge in topology.edges if topology.kind(edge.joint) is JointType.FIXED}
    roots = {component.root for component in topology.components if component.free_joint}
    for body, box in boxes.items():
        fill, stroke, width, ink = "#eaf2fb", "#486581", "1.2", INK
        if body == WORLD:
            fill, ink = INK, PAPER
        elif body in roots:
            fill, stroke, width = "#fff7e0", INK, "2.5"
        elif body in lumped:
            fill, stroke = "#e4e7eb", FAINT
        rect = add_rect(parent, box, rx="7", fill=fill, stroke=stroke, stroke_width=width)
        rect.set("class", "body")
        rect.set("data-body", body)
        add_centred(parent, box.x, box.y, items[body].lines, fill=ink)


def _draw_link_label(parent: Element, link: _Link, rect: Rect) -> None:
    add_rect(parent, rect, rx="3", fill=PAPER, fill_opacity="0.92", stroke=link.style.colour, stroke_width="0.7")
    _draw_lines(parent, link.kind, Rect(rect.x, rect.y, rect.width - 4.0, rect.height - 2.0), link.lines)


def _draw_lines(parent: Element, kind: JointType | None, rect: Rect, lines: Sequence[str]) -> None:
    """A badge and left-aligned lines; ported joints are bold and their ports coloured."""
    left = rect.x - rect.width / 2 + (BADGE if kind else 1.0)
    if kind:
        add_badge(parent, left - BADGE / 2 - 1.0, rect.top + LINE / 2, JOINT_STYLES[kind])
    ports = next((row for row, line in enumerate(lines) if line.startswith(PORT_MARK)), len(lines))
    for row, line in enumerate(lines):
        look = {"fill": PORT_COLOUR, "font_weight": "bold"} if row >= ports else {"fill": INK}
        if row < ports < len(lines):
            look["font_weight"] = "bold"
        add_text(parent, left, rect.top + LINE * row + 11.0, line, **look)


def _bounds(rects: Sequence[Rect], curves: Sequence[Curve]) -> tuple[float, float, float]:
    """Left, right and bottom of everything drawn (the top is the world's box at 0)."""
    points = [curve.at(step / 20) for curve in curves for step in range(21)]
    left = min([rect.x - rect.width / 2 for rect in rects] + [x - 4.0 for x, _ in points])
    right = max([rect.x + rect.width / 2 for rect in rects] + [x + 4.0 for x, _ in points])
    bottom = max([rect.bottom for rect in rects] + [y + 4.0 for _, y in points])
    return left, right, bottom


def _legend(topology: Topology, modules: Sequence[tuple[str, Sequence[str]]]) -> Legend:
    used = {joint.type for joint in topology.mechanism.joints}
    marks = {
        "fixed": JointType.FIXED in used,
        "free": any(component.free_joint for component in topology.components),
        "port": bool(topology.mechanism.ports),
    }
    assigned = {name for _, members in modules for name in members}
    groups = [(title, tuple(members), module_style(index)) for index, (title, members) in enumerate(modules)]
    loose = tuple(chord.joint for chord in topology.chords if chord.joint not in assigned)
    if loose:
        title = "chords of no module" if modules else "chords"
        groups.append((title, loose, ChordStyle(UNASSIGNED, DASHES[0])))
    couplings = sorted(topology.mechanism.couplings, key=lambda coupling: coupling.name)
    return Legend(
        types=tuple(kind for kind in JointType if kind in used),
        marks=tuple(mark for mark, shown in marks.items() if shown),
        groups=tuple(groups),
        notes=tuple((f"coupling {coupling.name}", coupling.coordinates) for coupling in couplings),
    )


def _frame(svg: Element, topology: Topology, bounds: tuple[float, float, float], legend: Legend) -> None:
    """Title, legend, paper and the view box, once the drawing's extent is known."""
    left, right, bottom = bounds
    width = max(right - left, 560.0)
    left -= (width - (right - left)) / 2
    top = -64.0
    heads = SubElement(svg, "g")
    add_text(heads, left, top + 12.0, topology.mechanism.name, font_size="16", font_weight="bold", fill=INK)
    bodies, joints, chords = len(topology.mechanism.bodies), len(topology.mechanism.joints), len(topology.chords)
    counts = f"{bodies} bodies, {joints} joints, {chords} chords, {topology.tree_nv} tree velocities of {topology.nv}"
    add_text(heads, left, top + 32.0, counts, fill=UNASSIGNED)
    add_line(heads, [(left, bottom + 22.0), (left + width, bottom + 22.0)], stroke=FAINT, stroke_width="0.8")
    end = draw_legend(heads, legend, left, bottom + 44.0, width)
    view = (left - MARGIN, top - MARGIN, width + 2 * MARGIN, end - top + 2 * MARGIN - 10.0)
    svg.set("viewBox", " ".join(number(value) for value in view))
    svg.set("width", number(view[2]))
    svg.set("height", number(view[3]))
    paper = Element("rect", {"fill": PAPER})
    for name, value in zip(("x", "y", "width", "height"), view, strict=True):
        paper.set(name, number(value))
    svg.insert(1, paper)
