"""The drawing: complete, well-formed, escaped, without overlapping boxes, the same bytes every time."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest
from builders import damped, fourbar, joint, mechanism, mechanisms, port, robot
from hypothesis import given, settings

from robocompiler.graph.build import derive_topology
from robocompiler.graph.draw import graph_svg
from robocompiler.graph.draw_curves import Curve, label_place
from robocompiler.graph.draw_layout import WRAP, Rect, wrap
from robocompiler.graph.draw_style import MODULE_COLOURS, module_style
from robocompiler.records.expressions import Constant
from robocompiler.records.model import WORLD, Coupling, Distance, Mechanism, Point, Port

SVG = "{http://www.w3.org/2000/svg}"


def parse(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def draw(model: Mechanism, *modules: tuple[str, list[str]]) -> ElementTree.Element:
    return parse(graph_svg(derive_topology(model), modules))


def rects(root: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    return [
        tuple(float(r.get(key, "nan")) for key in ("x", "y", "width", "height"))  # type: ignore[misc]
        for r in root.iter(f"{SVG}rect")
        if r.get("class") == "body"
    ]


def curves(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [p for p in root.iter(f"{SVG}path") if p.get("class") == "link"]


def words(root: ElementTree.Element) -> str:
    return "|".join(text.text or "" for text in root.iter(f"{SVG}text"))


def disjoint(root: ElementTree.Element) -> bool:
    return not any(
        a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]
        for a, b in combinations(rects(root), 2)
    )


@settings(max_examples=60, deadline=None)
@given(mechanisms())
def test_every_body_and_chord_is_drawn_inside_the_paper(model: Mechanism) -> None:
    topology = derive_topology(model)
    root = parse(graph_svg(topology))
    assert len(rects(root)) == len(model.bodies) + 1
    assert len(curves(root)) == len(topology.chords)
    assert disjoint(root)
    left, top, width, height = (float(value) for value in root.get("viewBox", "").split())
    for x, y, w, h in rects(root):
        assert left <= x and x + w <= left + width and top <= y and y + h <= top + height
    for text in root.iter(f"{SVG}text"):
        assert left <= float(text.get("x", "nan")) <= left + width
        assert top <= float(text.get("y", "nan")) <= top + height


@pytest.mark.parametrize("name", ["stewart", "excavator", "kangaroo_full", "kangaroo_published"])
def test_published_robots_have_no_overlapping_boxes(name: str) -> None:
    model = robot(name)
    root = draw(model)
    assert len(rects(root)) == len(model.bodies) + 1
    assert disjoint(root)
    assert root.get("font-size") == "11"


def test_world_is_on_top_and_children_lie_below_their_parents() -> None:
    topology = derive_topology(robot("excavator"))
    root = parse(graph_svg(topology))
    y = {r.get("data-body"): float(r.get("y", "nan")) for r in root.iter(f"{SVG}rect") if r.get("class") == "body"}
    assert min(y, key=lambda body: y[body]) == WORLD
    assert all(y[edge.parent] < y[edge.child] for edge in topology.edges)


def test_names_are_escaped_and_shown() -> None:
    model = mechanism(joint("j.<1> & co", "revolute", WORLD, 'a/b "x"'))
    text = graph_svg(derive_topology(model))
    assert "<1>" not in text
    shown = words(parse(text))
    assert "j.<1> & co" in shown and 'a/b "x"' in shown


def test_same_bytes_whatever_the_record_order() -> None:
    model = robot("kangaroo_published")
    turned = replace(model, bodies=model.bodies[::-1], joints=model.joints[::-1], ports=model.ports[::-1])
    assert graph_svg(derive_topology(model)) == graph_svg(derive_topology(turned))


def test_parallel_chords_are_apart() -> None:
    model = mechanism(*(joint(f"j{k}", "revolute", WORLD, "a") for k in range(4)))
    drawn = {path.get("d") for path in curves(draw(model))}
    assert len(drawn) == 3


def test_modules_colour_their_chords_and_fill_the_legend() -> None:
    model = replace(fourbar(), couplings=(Coupling("gear", Constant(0.0), ("j_crank", "j_rocker")),))
    chord = derive_topology(model).chords[0].joint
    root = draw(model, ("module 0 (2 dependents)", [chord, "gear"]))
    assert [path.get("stroke") for path in curves(root)] == [MODULE_COLOURS[0]]
    shown = words(root)
    assert "module 0 (2 dependents)" in shown and f"{chord}, gear" in shown
    assert "coupling gear" in shown and "j_crank, j_rocker" in shown
    assert MODULE_COLOURS[0] not in {path.get("stroke") for path in curves(draw(model))}


def test_styles_of_many_modules_differ() -> None:
    assert len({module_style(index) for index in range(20)}) == 20


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([("m", ["j_crank"])], "names 'j_crank', which is neither a chord nor a coupling"),
        ([("m", ["{chord}"]), ("n", ["{chord}"])], "which another module"),
    ],
)
def test_wrong_modules_are_refused(modules: list[tuple[str, list[str]]], message: str) -> None:
    topology = derive_topology(fourbar())
    chord = topology.chords[0].joint
    named = [(title, [name.format(chord=chord) for name in names]) for title, names in modules]
    with pytest.raises(ValueError, match=message):
        graph_svg(topology, named)


def test_ports_free_roots_and_fixed_joints_are_marked() -> None:
    shown = words(draw(fourbar()))
    assert "▶ motor" in shown and "actuator port" in shown and "free root" not in shown
    model = mechanism(joint("w", "fixed", "a", "b"), damped("r", "revolute", "b", "c"))
    shown = words(draw(model))
    assert "free root" in shown and "fixed joint" in shown and "actuator port" not in shown


def test_port_on_several_joints_and_two_point_port() -> None:
    model = mechanism(
        joint("left", "prismatic", WORLD, "l"),
        joint("right", "prismatic", WORLD, "r"),
        ports=(
            port("grip", "left", "right"),
            Port("cylinder", Distance(Point("l", (0.0, 0.0, 0.0)), Point("r", (0.0, 0.0, 0.0)))),
        ),
    )
    root = draw(model)
    assert words(root).count("▶ grip") == 2
    assert words(root).count("▶ cylinder") == 1
    assert len(curves(root)) == 1  # no chord: the cylinder


def test_wrap_keeps_the_name_and_the_width() -> None:
    for name in ("right_hip_differential_2_motor", "x" * 40, "a", "body/arm.left tip"):
        lines = wrap(name)
        assert "".join(lines) == name
        assert all(0 < len(line) <= WRAP for line in lines)


def test_label_goes_to_a_free_place_of_its_curve() -> None:
    curve = Curve((0.0, 0.0), (40.0, 0.0), (80.0, 0.0), (120.0, 0.0))
    middle = Rect(60.0, 0.0, 20.0, 60.0)
    assert label_place(curve, 10.0, 10.0, []).x == pytest.approx(60.0)
    assert label_place(curve, 10.0, 10.0, [(middle, 1.0)]).overlap(middle) == 0.0
