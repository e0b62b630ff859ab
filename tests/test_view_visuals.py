"""Visuals on the page: bars make room for them, three choices of what bodies look like, notes on what is not drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from visual_cases import stl_bytes, write

from robocompiler.cli import robocompile
from robocompiler.cli.view_command import NOTES
from robocompiler.errors import Problem
from robocompiler.graph.build import derive_topology
from robocompiler.importers.read_model import read_model, read_with_visuals
from robocompiler.importers.transforms import UNMOVED
from robocompiler.importers.visuals import MeshFile, Visual, VisualBox, Visuals, VisualShape
from robocompiler.viewer.drawing import BODIES
from robocompiler.viewer.page import Page
from robocompiler.viewer.panel import TOLD, notes_html
from robocompiler.viewer.scene import COVERED, LINKS, VISUALS
from robocompiler.viewer.serve import page, scene_of
from robocompiler.viewer.visuals import DrawnVisuals, drawn_visuals

MODEL = Path(__file__).resolve().parent.parent / "models" / "five_bar.yaml"


def table(folder: Path) -> Visuals:
    """Visuals on three of the five-bar's bodies, one of which lacks its file."""
    base = str(folder / "robot.urdf")
    shapes: list[tuple[str, VisualShape]] = [
        ("thigh_left", MeshFile("good.stl", base)),
        ("thigh_left", VisualBox((0.1, 0.1, 0.1))),
        ("shank_left", MeshFile("<b>missing</b>.stl", base)),
        ("shank_right", VisualBox((0.02, 0.02, 0.1))),
        ("world", VisualBox((1.0, 1.0, 0.01))),
    ]
    rgba = (1.0, 0.0, 0.0, 1.0)
    items = tuple(Visual(body, shape, UNMOVED, rgba, "", base, k) for k, (body, shape) in enumerate(shapes, start=1))
    return Visuals(items, (Problem("read wrongly", "link 'x'", base, 9),))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> DrawnVisuals:
    folder = tmp_path_factory.mktemp("visuals")
    write(folder / "good.stl", stl_bytes())
    return drawn_visuals(table(folder))


def test_bars_of_bodies_that_are_drawn_stand_in_a_layer_of_their_own(
    compiled: Callable[[str], Any], drawn: DrawnVisuals
) -> None:
    robot, topology = compiled("five_bar"), derive_topology(read_model(MODEL))
    plain, rich = scene_of(robot, topology), scene_of(robot, topology, drawn)
    bars = {layer: {part.body for part in rich.parts if part.layer == layer} for layer in (LINKS, COVERED)}
    assert bars[COVERED] == {"thigh_left", "shank_right"}
    assert {"shank_left", "thigh_right"} <= bars[LINKS]
    assert not bars[LINKS] & bars[COVERED]
    assert [part.shape for part in rich.parts] == [part.shape for part in plain.parts]
    assert plain.visuals.items == ()
    assert not [part for part in plain.parts if part.layer == COVERED]


@pytest.fixture(scope="module")
def shown(compiled: Callable[[str], Any], drawn: DrawnVisuals) -> Iterator[Page]:
    """The page of the five-bar with visuals."""
    pytest.importorskip("viser", reason="viser is not installed (the `view` extra)")
    with page(compiled("five_bar"), derive_topology(read_model(MODEL)), visuals=drawn) as (found, _):
        yield found


def visible(shown: Page, layer: str) -> set[bool]:
    return {bool(node.visible) for node in shown._drawing._layers[layer]}


def test_the_page_shows_visuals_bars_or_both(shown: Page) -> None:
    choice = shown.body_choice
    assert choice is not None
    assert tuple(choice.options) == BODIES == ("visuals", "shapes", "both")
    assert choice.value == VISUALS
    expected = {"visuals": (True, False), "shapes": (False, True), "both": (True, True)}
    for name in ("visuals", "both", "shapes", "visuals"):
        choice.value = name  # runs what a person's choice runs
        assert (visible(shown, VISUALS), visible(shown, COVERED)) == tuple({value} for value in expected[name])
        assert visible(shown, LINKS) == {True}
    assert not {VISUALS, COVERED} & set(shown._drawing.layers())


def test_visuals_move_with_their_bodies(shown: Page, drawn: DrawnVisuals) -> None:
    """Each is a child of its body's frame, in that frame's coordinates."""
    drawing = shown._drawing
    nodes = drawing._layers[VISUALS]
    assert len(nodes) == 3  # one per body, for they have one colour
    owners = [name.rpartition("/")[0] for name in (node.name for node in nodes)]
    assert owners == [drawing._nodes[body] for body in ("thigh_left", "shank_right", "world")]
    counts = [len(item.mesh.faces) for item in drawn.items]
    assert [len(node.faces) for node in nodes] == [counts[0] + counts[1], counts[2], counts[3]]
    first = np.concatenate([item.mesh.vertices for item in drawn.items[:2]])
    np.testing.assert_allclose(np.asarray(nodes[0].vertices), first, atol=1e-7)
    assert {tuple(node.color) for node in nodes} == {(255, 0, 0)}


def test_notes_are_told_with_file_and_line_and_as_text(drawn: DrawnVisuals) -> None:
    assert [note.partition("robot.urdf:")[2].partition(":")[0] for note in drawn.notes] == ["3", "9"]
    text = notes_html(drawn.notes)
    assert "link &#x27;x&#x27;: read wrongly" in text
    assert "&lt;b&gt;missing&lt;/b&gt;.stl" in text
    assert "<b>" not in text
    assert "no such file" in text
    assert "more" not in text
    assert f"and {5} more" in notes_html(["x"] * (TOLD + 5))


def test_yaml_has_no_visuals_and_a_urdf_has_those_of_its_import(tmp_path: Path) -> None:
    mechanism, visuals = read_with_visuals(MODEL)
    assert mechanism == read_model(MODEL)
    assert visuals == Visuals()
    links = '<link name="a"/><link name="b"><visual><geometry><sphere radius="1"/></geometry></visual></link>'
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    path = write(tmp_path / "r.urdf", f'<robot name="r">{links}{joint}</robot>')
    mechanism, visuals = read_with_visuals(path)
    assert mechanism == read_model(path)
    assert [item.body for item in visuals.items] == ["b"]
    assert [len(visuals.of(body)) for body in ("a", "b")] == [0, 1]


def test_the_command_tells_the_first_few_and_quiet_tells_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("viser", reason="viser is not installed (the `view` extra)")
    given: list[object] = []

    @contextmanager
    def served(robot: Any, topology: Any, host: str, port: int | None, visuals: DrawnVisuals) -> Iterator[Any]:
        given.append(visuals)
        yield None, "http://127.0.0.1:1"

    module = sys.modules["robocompiler.cli.view_command"]  # its name in the package is the command
    visuals = DrawnVisuals(notes=tuple(f"robot.urdf:{k}: no" for k in range(NOTES + 2)))
    monkeypatch.setattr("robocompiler.viewer.serve.page", served)
    monkeypatch.setattr(module, "_compiled", lambda *_: (SimpleNamespace(name="r"), None, visuals))
    monkeypatch.setattr(module, "_until_interrupted", lambda: None)
    loud = CliRunner().invoke(robocompile, ["view", "robot.urdf", "--no-browser"])
    quiet = CliRunner().invoke(robocompile, ["view", "robot.urdf", "--no-browser", "-q"])
    assert given == [visuals, visuals]
    assert [line for line in loud.stderr.splitlines() if "no" in line][:NOTES] == [
        f"view     robot.urdf:{k}: no" for k in range(NOTES)
    ]
    assert "and 2 more visuals that are not drawn" in loud.stderr
    assert quiet.stderr == ""
    assert loud.stdout == quiet.stdout == "http://127.0.0.1:1\n"
