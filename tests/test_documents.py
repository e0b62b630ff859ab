"""The README and the pages under docs/: their code runs, their numbers are true, what they point at exists."""

from __future__ import annotations

import importlib
import math
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fronts import shipped_kinematics

from robocompiler.backend.toolchain import STRICT, find_toolchain

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| \[(\w+)\]\(models/\w+\.yaml\) \| [^|]+ \|((?: \d+ \|){5}) (\d+) / (\d+) \|$", re.MULTILINE)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def block(name: str, language: str, index: int = 0) -> str:
    """A fenced block of a page."""
    return [body for kind, body in BLOCK.findall(text(name)) if kind == language][index]


def run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_and_run(source: str, folder: Path, work: Path) -> str:
    """Compile a C program with the sources of a generated folder under strict warnings, and run it."""
    (work / "example.c").write_text(source)
    sources = [str(path) for path in sorted(folder.glob("fourbar_*.c"))]
    compiler = list(find_toolchain().command)
    run([*compiler, *STRICT, "-O1", f"-I{folder}", "example.c", *sources, "-lm", "-o", "example"], work)
    return run([str(work / "example")], work)


# --- code ---


def test_the_examples_of_the_readme_run_and_agree(tmp_path: Path) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    python = block("README.md", "python") + "print(*p, *v, *J[3:, 0])\n"
    report, numbers = run([sys.executable, "-c", python], tmp_path).splitlines()
    assert report.startswith("rank 2 of 5 rows x 3 columns")
    assert report.endswith(", 1 freedoms")
    x, y, z, *rest = map(float, numbers.split())
    v, velocity = np.array(rest[:4]), np.array(rest[4:])
    assert (x, z) == pytest.approx(coupler_point(0.9), abs=1e-12)
    assert y == pytest.approx(0.0, abs=1e-12)
    assert v[0] == 2.0
    step = 1e-6
    slope = (np.array(coupler_point(0.9 + step)) - np.array(coupler_point(0.9 - step))) / (2 * step)
    assert velocity[[0, 2]] == pytest.approx(slope, abs=1e-8)

    printed = build_and_run(block("README.md", "c"), tmp_path / "build" / "fourbar", tmp_path)
    assert printed.split() == [f"{x:.6f}", f"{z:.6f}"]


def coupler_point(crank: float) -> tuple[float, float]:
    """(x, z) of the four-bar's coupler point by elementary geometry: two circles meet above the ground line."""
    bx, bz = 0.3 * math.cos(crank), 0.3 * math.sin(crank)
    dx, dz = 0.9 - bx, -bz
    distance = math.hypot(dx, dz)
    along = (1.0 - 0.36 + distance**2) / (2 * distance)
    across = math.sqrt(1.0 - along**2)
    cx = (along * dx - across * dz) / distance  # of the unit vector from B to C
    cz = (along * dz + across * dx) / distance
    return bx + 0.5 * cx - 0.2 * cz, bz + 0.5 * cz + 0.2 * cx


def test_the_worked_example_of_embedding_follows_the_coupler_curve(tmp_path: Path) -> None:
    printed = build_and_run(block("docs/embedding.md", "c"), ROOT / "generated" / "fourbar", tmp_path)
    match = re.fullmatch(r"path ([\d.]+) m, worst linear prediction ([\d.e-]+) m\n", printed)
    assert match, printed
    points = np.array([coupler_point(0.7 + math.radians(k)) for k in range(361)])
    assert float(match[1]) == pytest.approx(np.linalg.norm(np.diff(points, axis=0), axis=1).sum(), abs=1e-4)
    curvature = np.linalg.norm(points[2:] - 2 * points[1:-1] + points[:-2], axis=1).max()
    assert float(match[2]) == pytest.approx(curvature / 2, rel=0.1)


@pytest.mark.parametrize(
    ("index", "program", "expected"), [(0, "example", "path"), (1, "selftest", "fourbar: 0 failures")]
)
def test_the_shell_lines_of_embedding_work(index: int, program: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "generated").symlink_to(ROOT / "generated")
    (tmp_path / "example.c").write_text(block("docs/embedding.md", "c"))
    assert run(["sh", "-c", block("docs/embedding.md", "sh", index)], tmp_path).startswith(expected)
    assert (tmp_path / program).is_file()


def test_the_readme_of_a_generated_folder_compiles_its_own_self_test(tmp_path: Path) -> None:
    (line,) = [body for kind, body in BLOCK.findall(text("generated/fourbar/README.md")) if kind == "sh"]
    for path in (ROOT / "generated" / "fourbar").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert run(["sh", "-c", line], tmp_path) == "fourbar: 0 failures\n"


def test_the_cmake_lines_of_embedding_name_a_target_that_is_generated() -> None:
    (target,) = re.findall(r"target_link_libraries\(controller PRIVATE (\w+)\)", block("docs/embedding.md", "cmake"))
    assert f"add_library({target} " in text("generated/fourbar/CMakeLists.txt")
    assert "set(FOURBAR_SOURCES" in text("generated/fourbar/fourbar.cmake")


# --- numbers ---

TABLE = {
    name: ([int(n) for n in counts.split("|")[:5]], int(p), int(i))
    for name, counts, p, i in ROW.findall(text("README.md"))
}


def test_the_table_lists_every_model() -> None:
    assert sorted(TABLE) == sorted(path.stem for path in (ROOT / "models").glob("*.yaml"))


@pytest.mark.parametrize("name", sorted(TABLE))
def test_the_table_of_models_is_true(name: str) -> None:
    front = shipped_kinematics(name)
    reduction = front.reduction
    port, inner = reduction.chart("port"), reduction.chart("inner")
    bodies, joints = len(front.mechanism.bodies), len(front.mechanism.joints)
    counts = [bodies, joints, len(front.topology.chords), reduction.rank.rank, len(port.independent)]
    assert TABLE[name] == (counts, port.largest_module, inner.largest_module)


CONSTANTS = re.findall(r"^\| `(\w+)` \| ([\d.e-]+) \| `([\w/]+)\.py` \|", text("docs/mathematics.md"), re.MULTILINE)


def test_the_constants_of_the_mathematics_page_are_those_of_the_code() -> None:
    assert len(CONSTANTS) >= 7
    for name, value, module in CONSTANTS:
        assert getattr(importlib.import_module(module.replace("/", ".")), name) == float(value), name


# --- pointers ---


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_files_named_exist(page: Path) -> None:
    content = page.read_text(encoding="utf-8")
    missing = []
    for target in LINK.findall(BLOCK.sub("", content)):
        path, _, anchor = target.partition("#")
        if path.startswith("https:"):
            continue
        file = (page.parent / path) if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            missing.append(target)
    missing += [
        name for name in re.findall(r"`((?:robocompiler|tests)/[\w./]*)`", content) if not (ROOT / name).exists()
    ]
    assert missing == []


def anchors(page: Path) -> set[str]:
    """The anchors that headings get: lower case, punctuation dropped, spaces to hyphens."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_pictures_are_up_to_date() -> None:
    pictures = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    for name, (model, chart) in pictures["PICTURES"].items():
        assert text(f"docs/{name}") == pictures["draw"](model, chart), "run `make pictures`"
