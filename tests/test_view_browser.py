"""The page in a real browser: sliders move the robot on the server, the loop stays closed, something is drawn."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import chromium_tab, find_chromium, wait_for_page

from robocompiler.graph.build import derive_topology
from robocompiler.importers.read_model import read_model
from robocompiler.importers.transforms import UNMOVED
from robocompiler.importers.visuals import Visual, VisualBox, Visuals
from robocompiler.viewer.page import Page
from robocompiler.viewer.serve import page
from robocompiler.viewer.visuals import drawn_visuals

pytest.importorskip("viser", reason="viser is not installed (the `view` extra)")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the `test` extra)")
CHROMIUM = find_chromium()
if CHROMIUM is None:
    pytest.skip("no Chromium is installed (Debian: apt-get install chromium)", allow_module_level=True)

MODELS = Path(__file__).resolve().parent.parent / "models"
RIGHT = -1.0  # rad, of the right motor


def until(condition: Callable[[], bool], tab: Any, what: str, seconds: float = 60) -> None:
    """Wait while the browser goes on."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s until {what}"
        tab.wait_for_timeout(50)


@pytest.fixture(scope="module")
def opened(compiled: Callable[[str], Any]) -> Iterator[tuple[Page, Any, list[str]]]:
    """(page, browser tab, addresses that the browser asked for) of the five-bar leg."""
    assert CHROMIUM is not None
    robot = compiled("five_bar")
    topology = derive_topology(read_model(MODELS / "five_bar.yaml"))
    box = Visual("shank_left", VisualBox((0.03, 0.05, 0.05)), UNMOVED, (0.0, 1.0, 0.0, 1.0), "", "", None)
    visuals = drawn_visuals(Visuals((box,)))
    with page(robot, topology, visuals=visuals) as (shown, address), chromium_tab(CHROMIUM, 800, 440) as tab:
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        wait_for_page(tab, address)
        yield shown, tab, asked


def motors(shown: Page) -> tuple[float, float]:
    """The left and the right motor's angle on the server."""
    left, right = shown.robot.port_displacement(shown.state.q)
    return float(left), float(right)


def assert_closed(shown: Page) -> None:
    """The shanks' ends are one point, and so say the residual and the coordinates of both."""
    robot, q = shown.robot, shown.state.q
    assert np.abs(robot.residual(q)).max() < 1e-12
    ends = []
    for shank in ("shank_left", "shank_right"):
        R, p = robot.pose(shank, q)
        ends.append(R @ np.array([0.22, 0, 0]) + p)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def test_a_slider_moves_the_robot_by_keyboard(opened: tuple[Page, Any, list[str]]) -> None:
    shown, tab, _ = opened
    left, right = motors(shown)
    thumb = tab.get_by_role("slider").first
    thumb.focus()
    for _ in range(5):
        thumb.press("ArrowRight")
    until(lambda: motors(shown)[0] > left + 0.004, tab, "the left motor has turned")
    assert motors(shown)[1] == pytest.approx(right, abs=1e-12)
    assert_closed(shown)


def test_a_number_typed_beside_the_slider_is_where_the_motor_goes(opened: tuple[Page, Any, list[str]]) -> None:
    shown, tab, _ = opened
    left, _ = motors(shown)
    box = tab.locator("input[inputmode=decimal]").nth(1)
    box.fill(str(RIGHT))
    box.press("Enter")
    until(lambda: abs(motors(shown)[1] - RIGHT) < 1e-12, tab, f"the right motor stands at {RIGHT}")
    assert motors(shown)[0] == pytest.approx(left, abs=1e-12)
    assert_closed(shown)
    panel = tab.get_by_role("row", name="corrected")
    until(lambda: "module_0" in panel.inner_text(), tab, "the panel tells the corrected module")


def test_the_drive_button_goes_through_the_range_and_back(opened: tuple[Page, Any, list[str]]) -> None:
    shown, tab, _ = opened
    before, seen = motors(shown), set[float]()
    tab.get_by_role("button", name="Drive through its range").press("Enter")
    until(lambda: shown.driving, tab, "the drive begins")

    def ended() -> bool:
        seen.add(motors(shown)[0])
        return not shown.driving

    until(ended, tab, "the drive ends")
    assert max(seen) - min(seen) > 3.0
    assert motors(shown) == pytest.approx(before, abs=1e-12)
    assert_closed(shown)
    tab.get_by_text("Upper end: reached at 0.5").wait_for()
    tab.get_by_role("button", name="Back to the reference").press("Enter")
    until(lambda: np.array_equal(shown.state.q, shown.robot.reference), tab, "it is back")


def picture(tab: Any) -> np.ndarray:
    """The pixels beside the panel."""
    from PIL import Image

    canvas = tab.screenshot(clip={"x": 0, "y": 0, "width": 400, "height": 440})
    return np.asarray(Image.open(io.BytesIO(canvas)).convert("RGB"), dtype=int)


def test_visuals_of_the_file_are_drawn_and_can_be_put_away(opened: tuple[Page, Any, list[str]]) -> None:
    shown, tab, _ = opened

    def green() -> int:
        red, high, blue = np.moveaxis(picture(tab), 2, 0)
        return int(((high > 90) & (high > 2 * red) & (high > 2 * blue)).sum())

    until(lambda: green() > 50, tab, "pixels of the visual")
    shown.body_choice.value = "shapes"
    until(lambda: green() == 0, tab, "they are gone")
    assert shown.body_choice.value == "shapes"
    assert green() == 0


def test_something_is_drawn_in_the_colours_of_ports_and_of_the_module(opened: tuple[Page, Any, list[str]]) -> None:
    _, tab, _ = opened

    def counts() -> tuple[int, int, int]:
        pixels = picture(tab)
        red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
        ports = (red > 90) & (red > 1.8 * green) & (red > 1.8 * blue)
        chords = (blue > 90) & (blue > 2 * red)
        return len(np.unique(pixels.reshape(-1, 3), axis=0)), int(ports.sum()), int(chords.sum())

    until(lambda: min(counts()) > 50, tab, "more than 50 colours, and pixels of ports and of chords")
    colours, ports, chords = counts()
    assert min(colours, ports, chords) > 50


def test_the_page_asks_nobody_but_its_own_server(opened: tuple[Page, Any, list[str]]) -> None:
    _, tab, asked = opened
    own = tab.evaluate("location.host")
    foreign = [url for url in asked if not url.startswith(("data:", "blob:")) and url.split("/")[2] != own]
    assert asked
    assert foreign == []
