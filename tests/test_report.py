"""The page of `inspect --html`: well formed, alone, escaped, the same every time, and its numbers are the robot's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result
from fronts import shipped_front

import robocompiler as rc
from robocompiler.cli import robocompile
from robocompiler.numerics.gap import decide_rank
from robocompiler.report.page import Subject, operations, page_html, redundant_rows
from robocompiler.report.spectrum import spectrum_svg
from robocompiler.report.spy import Entry, Group, Pattern, spy_svg
from robocompiler.runtime.manifest import find_manifest, read_manifest

ROOT = Path(__file__).resolve().parent.parent
SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)
VOID = {"meta", "br"}
GET = Callable[[str], rc.Robot]


class Balanced(HTMLParser):
    """Fails on a tag that is not closed in its order; collects tags with their attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(page: str) -> Balanced:
    reader = Balanced()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def subject(compiled: GET, build_folder: Path, name: str, **more: object) -> Subject:
    robot = compiled(name)
    front = shipped_front(name)
    manifest = read_manifest(find_manifest(build_folder / name))
    values = {"file": f"{name}.yaml", **more}
    return Subject(front.program, robot, manifest, **values)  # type: ignore[arg-type]


def drawings(page: str) -> dict[str, ElementTree.Element]:
    """The drawings by their labels; the graph has a title instead."""
    found = [ElementTree.fromstring(text) for text in SVG.findall(page)]
    return {svg.get("aria-label") or "graph": svg for svg in found}


def of_class(svg: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [element for element in svg.iter() if name in (element.get("class") or "").split()]


def titles(elements: list[ElementTree.Element]) -> list[str]:
    return [element.findtext("title") or "" for element in elements]


@pytest.mark.parametrize("name", ["stewart", "panda", "fourbar"])
def test_the_numbers_of_the_page_are_those_of_the_robot(name: str, compiled: GET, build_folder: Path) -> None:
    about = subject(compiled, build_folder, name)
    robot, manifest = about.robot, about.manifest
    page = page_html(about)
    reader, found = parsed(page), drawings(page)

    assert re.search(r'id="rank-value">(\d+)<', page)[1] == str(robot.rank_report.rank)  # type: ignore[index]
    modules = [m for chart in ("port", "inner") for m in robot.chart(chart).modules]
    rows = re.findall(r'<tr><td class="name">(\w+)</td><td class="n">(\d+)</td><td class="n">(\d+)', page)
    assert rows == [(m.name, str(m.size), str(m.size)) for m in modules]
    bars = re.findall(r'<tr><td>(\w+)</td><td class="n">([\d,]+)</td><td><span class="bar"', page)
    assert {kernel: int(count.replace(",", "")) for kernel, count in bars} == manifest["operations"]
    ports = [attributes for tag, attributes in reader.tags if tag == "tr" and "data-port" in attributes]
    assert [port["data-port"] for port in ports] == [port.name for port in robot.ports]

    spectrum = next(svg for label, svg in found.items() if label.startswith("singular values"))
    reference = [text for text in titles(of_class(spectrum, "reference")) if text]
    values = [float(re.search(r"is (\S+), ", text)[1]) for text in reference]  # type: ignore[index]
    assert values == pytest.approx(robot.rank_report.singular_values, rel=1e-2, abs=1e-14)
    assert sum("kept" in text for text in reference) == robot.rank_report.rank

    C = robot.closure_jacobian(robot.reference)
    spy = next(svg for label, svg in found.items() if label.startswith("sparsity of C"))
    filled = [float(text.rpartition(": ")[2]) for text in titles(of_class(spy, "entry"))]
    assert sorted(np.abs(filled)) == pytest.approx(sorted(np.abs(C[C != 0])), rel=1e-5)
    assert len(filled) + len(of_class(spy, "zero")) == len(manifest["augmented_pattern"]["rowind"])

    M = robot.mass_matrix(robot.reference)
    mass = next(svg for label, svg in found.items() if label.startswith("sparsity of M_r"))
    told = {text.rpartition(": ")[0]: float(text.rpartition(": ")[2]) for text in titles(of_class(mass, "entry"))}
    names = robot.independent
    for i, j in np.ndindex(M.shape):
        assert M[i, j] == pytest.approx(
            told.get(f"{names[i]} by {names[j]}", 0.0), rel=1e-5, abs=1e-11 * np.diag(M).max()
        )
    words = "".join(reader.words)
    assert all(name in words for name in (*robot.closures, *robot.independent, manifest["digest"], rc.__version__))


def test_modules_are_blocks_of_the_pattern_of_C(compiled: GET, build_folder: Path) -> None:
    """With columns by module and rows by chord, no dependent of one module occurs in a chord of another."""
    about = subject(compiled, build_folder, "stewart")
    spy = next(svg for label, svg in drawings(page_html(about)).items() if label.startswith("sparsity of C"))
    owner = {v: m.name for m in about.robot.modules for v in m.dependents}
    chords = {c: m.name for m in about.robot.modules for c in m.closures}
    for text in titles([*of_class(spy, "entry"), *of_class(spy, "zero")]):
        chord, column = re.match(r"(\w+), .* by ([\w:]+): ", text).groups()  # type: ignore[union-attr]
        assert owner.get(column, chords[chord]) == chords[chord]


def test_the_page_stands_alone_and_is_the_same_every_time(compiled: GET, build_folder: Path) -> None:
    about = subject(compiled, build_folder, "stewart")
    page = page_html(about)
    assert page == page_html(about)
    assert not re.search(r"https?:|\bsrc=|\bhref=|url\(|@import|<script|<link|<img|\son\w+=", page)
    assert "default-src 'none'" in page and "prefers-color-scheme: dark" in page and "@media print" in page
    assert str(build_folder) not in page and str(ROOT) not in page


def test_foreign_text_is_escaped(compiled: GET, build_folder: Path) -> None:
    wicked = "left out: <script>alert('&')</script>"
    about = subject(
        compiled, build_folder, "fourbar", file='<b>"a" & b</b>.urdf', format="URDF", notes=(wicked, "</li></ul><b>")
    )
    page = page_html(about)
    reader = parsed(page)
    assert "<script" not in page and "<b>" not in page
    words = "".join(reader.words)
    assert wicked in words and '<b>"a" & b</b>.urdf, imported from URDF' in words


def test_redundant_rows_are_the_rows_less_the_rank(compiled: GET, build_folder: Path) -> None:
    about = subject(compiled, build_folder, "fourbar")
    (entry,) = redundant_rows(about.program)
    assert (entry.name, entry.kind, entry.rows, entry.redundant) == (
        "j_bc",
        "revolute",
        5,
        3,
    )  # a planar hinge needs two


def test_bars_are_sorted_and_relative_to_the_largest() -> None:
    bars = operations({"operations": {"a": 5, "c": 20, "b": 5, "none": 0}})
    assert [(bar.name, bar.count, bar.share) for bar in bars] == [
        ("c", 20, 100.0), ("a", 5, 25.0), ("b", 5, 25.0), ("none", 0, 0.0),
    ]  # fmt: skip


def test_the_gap_is_drawn_between_its_two_values() -> None:
    decision = decide_rank([np.diag([1.0, 1e-2, 1e-12])])
    svg = ElementTree.fromstring(spectrum_svg([(1.0, 1e-2, 1e-12)], decision))
    (gap,) = of_class(svg, "gap")
    _, kept, dropped = (circle.get("cy") for circle in svg.iter("circle"))
    assert (gap.get("y1"), gap.get("y2")) == (kept, dropped)
    assert float(dropped or 0) > float(kept or 0)
    full = ElementTree.fromstring(spectrum_svg([(1.0, 0.5)], decide_rank([np.diag([1.0, 0.5])])))
    assert of_class(full, "gap") == []
    assert spectrum_svg([()], decide_rank([np.zeros((0, 3))])) == ""


def test_entries_of_a_pattern_stand_at_their_places() -> None:
    pattern = Pattern("p", (Group("r", 2),), (Group("c", 1), Group("d", 2)), (Entry(0, 0, "x"), Entry(1, 2, "y", True)))
    svg = ElementTree.fromstring(spy_svg(pattern))
    (x,), (y,), (sheet,) = (of_class(svg, name) for name in ("entry", "zero", "sheet"))
    cell = float(sheet.get("width", "nan")) / 3
    assert float(y.get("x", "nan")) - float(x.get("x", "nan")) == pytest.approx(2 * cell)
    assert float(y.get("y", "nan")) - float(x.get("y", "nan")) == pytest.approx(cell)
    assert spy_svg(Pattern("p", (), (), ())) == ""


def run(*words: str) -> Result:
    return CliRunner().invoke(robocompile, list(words))


def test_the_command_writes_a_page_with_the_notes_of_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leg.urdf").write_bytes((ROOT / "tests" / "data" / "import" / "fourbar_leg.urdf").read_bytes())
    loops = (ROOT / "tests" / "data" / "import" / "fourbar_leg.loops.yaml").read_bytes()
    (tmp_path / "leg.loops.yaml").write_bytes(loops)
    monkeypatch.chdir(tmp_path)
    result = run("inspect", "leg.urdf", "--html", "leg.html", "--json", "-q")
    assert result.exit_code == 0, result.output
    plain = json.loads(run("inspect", "leg.urdf", "--json", "-q").stdout)
    told = json.loads(result.stdout)
    assert {**told, "seconds": None} == {**plain, "seconds": None}  # the report is what it is without a page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["leg.html", "leg.loops.yaml", "leg.urdf"]
    page = (tmp_path / "leg.html").read_text(encoding="utf-8")
    words = "".join(parsed(page).words)
    assert "leg.urdf is URDF" in words and "the side file" in words
    assert str(tmp_path) not in page


def test_wrong_uses_are_refused_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("inspect", "fourbar", "-o", "build")
    assert result.exit_code == 2
    assert "--output only goes with --html" in result.output
    assert list(tmp_path.iterdir()) == []
