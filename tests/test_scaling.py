"""The scaling study and the page of the dynamics: mechanisms that grow as said, fits, plots, tables.  No times."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import dynamics, scaling
from benchmarks.curves import curves
from benchmarks.families import FAMILIES, Family, ankles, chain, platform
from robocompiler.backend.options import BuildOptions
from robocompiler.bench.run import BenchOptions, BenchReport
from robocompiler.bench.spread import Spread
from robocompiler.bench.timing import FORWARD, INVERSE, Row, Skipped
from robocompiler.oracle.maximal import MaximalModel, freedoms
from robocompiler.records.model import Mechanism

BY_NAME = {family.name: family for family in FAMILIES}


def mobility(mechanism: Mechanism) -> tuple[int, float]:
    """(freedoms, largest closure gap at the reference) by the oracle."""
    model = MaximalModel(mechanism)
    near = model.pose(dict(mechanism.reference.coordinates))
    gap = max(abs(float(x)) for x in model.gaps(near))
    return freedoms(model, model.project(near))[1], gap


@pytest.mark.parametrize("count", [1, 3])
def test_families_have_the_freedoms_that_they_should_and_close(count: int) -> None:
    assert mobility(chain(count)) == (count, pytest.approx(0, abs=1e-12))
    assert mobility(ankles(count)) == (2 * count, pytest.approx(0, abs=1e-12))


@pytest.mark.parametrize("legs", [3, 6, 7])
def test_a_platform_keeps_its_six_freedoms(legs: int) -> None:
    mechanism = platform(legs)
    assert mobility(mechanism) == (6, pytest.approx(0, abs=1e-12))
    assert len(mechanism.ports) == legs


def test_copies_stand_on_their_parents() -> None:
    tree, row = ankles(5), chain(3)
    assert [tree.joint(f"shin_mount_{k}").a.body for k in range(5)] == ["world", "foot_0", "foot_0", "foot_1", "foot_1"]
    assert row.joint("j_ga_2").a.body == row.joint("j_cg_2").b.body == "rocker_1"
    np.testing.assert_allclose(np.array(row.joint("j_cg_2").b.translation, dtype=float), [1.2, 0, 0])


@pytest.fixture(scope="module")
def points() -> tuple[scaling.Point, ...]:
    return scaling.study(replace(BY_NAME["chain"], sizes=(1, 2)), 600.0, BuildOptions(extra_flags=("-O0",)))


def test_a_study_measures_each_size(points: tuple[scaling.Point, ...]) -> None:
    one, two = points
    assert (one.size, one.freedoms, one.modules) == (1, 1, 1)
    assert (two.size, two.freedoms, two.modules) == (2, 2, 2)
    assert two.loop_operations == 2 * one.loop_operations  # modules are independent
    assert two.operations > 2 * one.operations  # a mass matrix of two rows
    assert two.object_bytes > one.object_bytes > 10_000 and two.units > one.units > 5
    assert all(p.error is not None and p.error < 1e-12 for p in points)
    assert all(s.samples == scaling.ROUNDS for p in points for s in (p.forward, p.update, p.correct))


def test_a_study_ends_after_a_compile_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def measured(mechanism: Mechanism, size: int, *_: object) -> scaling.Point:
        made.append(mechanism.name)
        flat = Spread.of([1.0])
        return scaling.Point(size, 1, 1, 1.0, 10.0 * size, 1, 1, 1, 1, flat, flat, flat, None)

    monkeypatch.setattr(scaling, "measure", measured)
    family = Family("chain", "", "", (1, 2, 4, 8), chain)
    assert [p.size for p in scaling.study(family, 30.0, BuildOptions())] == [1, 2, 4]
    assert made == ["chain_1", "chain_2", "chain_4"]


def test_exponents_are_slopes() -> None:
    assert scaling.exponent([(k, 3.0 * k**1.5) for k in (1, 2, 4, 8)]) == pytest.approx(1.5)
    assert np.isnan(scaling.exponent([(1, 1.0)]))


def test_the_page_has_every_size_and_fit(points: tuple[scaling.Point, ...]) -> None:
    family = BY_NAME["chain"]
    text = scaling.document([(family, points)], ["scaling_chain.svg"], {"processor": "P"})
    assert "| 1 | 1 | 1 | " in text and "| 2 | 2 | 2 | " in text
    fits = next(line for line in text.splitlines() if line.startswith("| all sizes"))
    assert len(fits.split("|")) == len(scaling.series(points)) + 3
    assert "1.00" in fits  # the loops' operations
    assert "![Four-bars in series](scaling_chain.svg)" in text


def test_the_plot_places_points_on_logarithmic_axes() -> None:
    root = ET.fromstring(curves("t", "n <", {"a": [(1, 2.0), (10, 20.0)], "none": [], "b": [(1, 1.0), (10, 100.0)]}))
    space = "{http://www.w3.org/2000/svg}"
    lines = [line.get("points") for line in root.iter(f"{space}polyline")]
    assert lines[0] == lines[1] != lines[2]  # linear growth lies on the dashed line
    circles = [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in root.iter(f"{space}circle")]
    (x0, y0), (x1, y1) = circles[:2]
    assert x1 > x0 and y1 < y0
    assert circles[3][1] - y0 == pytest.approx(2 * (y1 - y0), abs=0.3)  # 100 is twice as far up as 10
    with pytest.raises(ValueError, match="not positive"):
        curves("t", "n", {"a": [(1, 0.0)]})
    with pytest.raises(ValueError, match="nothing to draw"):
        curves("t", "n", {"a": []})


def test_the_page_of_the_dynamics_shows_rows_notes_and_what_was_skipped() -> None:
    spread = Spread.of([2e-6, 3e-6, 4e-6])
    none, ratio = Spread.of([0.0]), Spread.of([1.5])
    rows = (
        Row(FORWARD, "C, one call", True, spread, none, Spread.of([1.0]), 1e-14, ""),
        Row(FORWARD, "aba", False, spread, none, ratio, None, "less a call"),
        Row(INVERSE, "C, one call", True, spread, none, Spread.of([1.0]), 2e-14, ""),
    )
    report = BenchReport(
        "arm", {"freedoms": 2}, {"processor": "P"}, (0.1, 0.2), BenchOptions(rounds=3), rows,
        (Skipped("MuJoCo", "not installed"),), scaling.ROOT,
    )  # fmt: skip
    text = dynamics.document([report])
    assert "| C, one call | **3.00** (2.00; 2.50-3.50) | 1.00 | 1.0e-14 |  |" in text
    assert "| aba | **3.00** (2.00; 2.50-3.50) | 1.50 | - | 1 |" in text
    assert "1. less a call" in text and "Not measured: MuJoCo: not installed." in text
    assert "3 rounds" in text and "maximal coordinates, double" in text
    assert "| forward dynamics | us per state | of C, one call | delta_a | note |" in text
    assert "| inverse dynamics | us per state | of C, one call | delta_tau | note |" in text


@pytest.mark.parametrize(("module", "option"), [(scaling, "--families"), (dynamics, "--robots")])
def test_unknown_names_are_refused(module: object, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        module.main([option, "nothing"])  # type: ignore[attr-defined]
    assert "no such" in capsys.readouterr().err
