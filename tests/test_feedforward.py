"""The feedforward ablation (benchmarks/feedforward.py): its references, its robots, and both plants on a short run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import robocompiler as rc

pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile")

from benchmarks.feedforward import AS_EXPORTED, document_rows, picture, section
from benchmarks.feedforward_robots import CASES, RAMP, held_kangaroo, sinusoids
from benchmarks.feedforward_run import FULL, gains, has_friction, ours, theirs

PAGE = Path(__file__).resolve().parent.parent / "docs" / "feedforward.md"


def test_references_are_twice_differentiable() -> None:
    path = sinusoids(np.linspace(0.1, 0.7, 7), 0.04, 1.0)
    h = 1e-5
    for t in (0.0, 0.2, RAMP - 2 * h, RAMP + 2 * h, 1.1):
        s, s1, s2 = path(t)
        ahead, behind = path(t + h), path(t - h)
        assert s1 == pytest.approx((ahead[0] - behind[0]) / (2 * h), abs=1e-7)
        assert s2 == pytest.approx((ahead[1] - behind[1]) / (2 * h), abs=1e-5)
        assert np.abs(s - np.linspace(0.1, 0.7, 7)).max() < 0.0401
    assert not np.array(path(0.0))[1:].any()


def test_the_held_kangaroo_stands_in_the_air() -> None:
    records = held_kangaroo()
    mount = records.joint("pelvis_mount")
    assert (mount.a.body, mount.b.body, mount.a.translation) == ("world", "base_link", (0.0, 0.0, 0.83))
    assert len(records.ports) == 12
    assert has_friction(CASES[1])
    assert not has_friction(CASES[0])


def test_both_plants_agree_on_what_feedforward_is_worth(compiled: Callable[[str], rc.Robot]) -> None:
    """The beginning of the published run; MuJoCo's plant shares nothing with ours but the records."""
    robot, case = compiled("stewart"), CASES[0]
    kp, kd = gains(robot, case)
    assert kd == pytest.approx(2 * kp / case.bandwidth)
    mine = {outcome.law: outcome for outcome in ours(robot, case, 0.2)}
    other = {outcome.law: outcome for outcome in theirs(robot, case, 0.2, AS_EXPORTED, list(mine))}
    for law, outcome in mine.items():
        assert outcome.failure == other[law].failure == ""
        assert outcome.errors.shape == other[law].errors.shape == (201, 6)
        assert other[law].rms == pytest.approx(outcome.rms, rel=0.15)
        assert outcome.gap < 1e-12 < other[law].gap < 1e-5
    assert mine[FULL].rms < 0.02 * mine["feedback alone"].rms
    outcomes = [(outcome, "set") for outcome in (*mine.values(), *other.values())]
    assert section(case, robot, outcomes).count("divide the RMS error") == 2
    assert picture(case, outcomes).count("<polyline") == 8


def test_the_page_says_what_its_tables_say() -> None:
    """Each ratio that the page tells is that of its own table."""
    page = PAGE.read_text(encoding="utf-8")
    told = re.findall(r"^(\w+) \((.+)\): the reduced dynamics divide the RMS error .* by (\d+)\.$", page, re.MULTILINE)
    assert {place for place, _, _ in told} == {"RoboCompiler", "MuJoCo"}
    sections = page.split("\n## ")[1:]
    assert len(sections) == 2
    ratios = []
    for text in sections:
        rows = document_rows(text)
        for place, setting in dict.fromkeys((row[0], row[6]) for row in rows):
            found = {row[1]: float(row[2]) for row in rows if (row[0], row[6]) == (place, setting) and row[2] != "-"}
            if {"feedback alone", FULL} <= set(found):
                ratios.append((place, setting, found["feedback alone"] / found[FULL]))
    assert [(place, setting) for place, setting, _ in told] == [(place, setting) for place, setting, _ in ratios]
    for (_, _, words), (_, _, ratio) in zip(told, ratios, strict=True):
        assert float(words) == pytest.approx(ratio, rel=0.02, abs=1)
