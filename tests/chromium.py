"""A headless Chromium for tests and pictures: software rendering, nothing of its own on the network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
    "--no-first-run",
)  # fmt: skip
PATIENCE = 120_000  # ms: two cores draw everything in software


def find_chromium() -> str | None:
    """Path of an installed Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@contextmanager
def chromium_tab(executable: str, width: int, height: int) -> Iterator[Any]:
    """A tab of a browser with an empty profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        try:
            tab = browser.new_page(viewport={"width": width, "height": height})
            tab.set_default_timeout(PATIENCE)
            yield tab
        finally:
            browser.close()


def wait_for_page(tab: Any, address: str) -> None:
    """Load the page and wait until its controls are there; a notice about software rendering is closed."""
    tab.goto(address)
    tab.get_by_role("button", name="Drive through its range").wait_for()
    notice = tab.locator(".mantine-Notification-closeButton")
    notice.first.dispatch_event("click")  # a click by place waits for pictures that stand still
