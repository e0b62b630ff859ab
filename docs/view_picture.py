"""Makes docs/view.png with a headless Chromium: `make view-picture`."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import robocompiler as rc
from robocompiler.graph.build import derive_topology
from robocompiler.importers.read_model import read_model
from robocompiler.viewer.serve import page

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests"))
from chromium import chromium_tab, find_chromium, wait_for_page  # noqa: E402

MODEL = DOCS.parent / "models" / "kangaroo.yaml"
BEND = {"leg_left_length_force": 0.085, "leg_left_4_force": 0.008}  # displacements in m


def picture() -> bytes:
    """The page of a bent Kangaroo as a PNG."""
    from PIL import Image

    executable = find_chromium()
    if executable is None:
        sys.exit("docs/view_picture.py: no Chromium is installed (Debian: apt-get install chromium)")
    mechanism = read_model(MODEL)
    with tempfile.TemporaryDirectory() as folder:
        robot = rc.compile(mechanism, output=folder, extra_flags=("-O0",))
        with page(robot, derive_topology(mechanism)) as (shown, address), chromium_tab(executable, 1200, 760) as tab:
            wait_for_page(tab, address)
            names = [port.name for port in robot.ports]
            for name, value in BEND.items():
                shown.move(names.index(name), value)
            tab.wait_for_timeout(15_000)  # drawn in software, labels last
            raw = tab.screenshot()
    out = io.BytesIO()
    image = Image.open(io.BytesIO(raw)).convert("RGB")
    # an octree keeps the few colours of the modules apart; median cut mixes them
    image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        out, format="PNG", optimize=True
    )
    return out.getvalue()


if __name__ == "__main__":
    (DOCS / "view.png").write_bytes(picture())
    print("docs/view.png")
