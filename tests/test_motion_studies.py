"""The motion studies: routes are what they claim, all forms end in the same place, counts are those of the formulas."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

import robocompiler as rc
from benchmarks import jacobians
from benchmarks.motion_routes import drive_waves, platform_poses, platform_reference
from benchmarks.replay import FORMS, replay, rows_of

Array = NDArray[np.float64]
Get = Callable[[str], rc.Robot]
ROOT = Path(__file__).resolve().parent.parent
KNOTS = 101


@pytest.fixture(scope="module")
def knots(compiled: Get) -> Array:
    """The platform's reference at every tenth part of its knots."""
    return platform_reference(compiled("stewart"), KNOTS)


def test_the_six_axis_reference_is_closed_and_has_the_lengths_of_its_poses(compiled: Get, knots: Array) -> None:
    robot = compiled("stewart")
    joints = yaml.safe_load((ROOT / "models" / "stewart.yaml").read_text())["joints"]
    ground = np.array([joints[f"leg_{k}_u_x"]["a"]["xyz"] for k in range(6)])
    ball = np.array([joints[f"leg_{k}_ball"]["b"]["xyz"] for k in range(6)])
    lengths = np.array([[robot.joint(q, f"leg_{k}_length") for k in range(6)] for q in knots])
    expected = [np.linalg.norm(ball @ R.T + p + (0, 0, 0.6) - ground, axis=1) for R, p in platform_poses(KNOTS)]
    np.testing.assert_allclose(lengths, expected, atol=2e-12)
    np.testing.assert_array_equal(knots[0], knots[-1])
    for index, (low, high) in robot._description.limits.items():
        assert low < knots[:, index].min() and knots[:, index].max() < high
    turned = np.array([(R[2, 1], R[0, 2], R[1, 0]) for R, _ in platform_poses(KNOTS)])
    moved = np.array([p for _, p in platform_poses(KNOTS)])
    assert np.ptp(turned, axis=0).min() > 0.1 and np.ptp(moved, axis=0).min() > 0.05  # all six axes take part


def test_every_form_accepts_every_knot_and_ends_in_the_same_place(compiled: Get, knots: Array) -> None:
    found = replay(compiled("stewart"), rows_of(compiled("stewart"), knots), rounds=2)
    assert set(found.accepted.values()) == {KNOTS}
    assert max(found.apart.values()) < 1e-11
    assert max(found.residual.values()) < 1e-12
    assert found.modes["direct"][1] == found.modes["predicted"][2] == KNOTS - 1
    assert found.evaluations["predicted"] < found.evaluations["direct"] - 0.5
    assert found.seconds.shape == (2, len(FORMS)) and found.seconds.min() > 0


def test_refused_rows_are_not_accepted_by_any_form_of_the_updater(compiled: Get, knots: Array) -> None:
    rows = rows_of(compiled("stewart"), knots[:20])
    rows[10, 2] = 2.0  # m: no leg is that long
    found = replay(compiled("stewart"), rows, rounds=1)
    assert {found.accepted[form] for form in ("direct", "predicted", "continued", "every")} == {19}


def test_waves_of_one_drive_move_its_module_alone(compiled: Get) -> None:
    robot = compiled("excavator")
    name = next(n for n in robot.independent if n.startswith("p"))
    waves = drive_waves(robot, {name: 0.02}, 21)
    moved = {robot.coordinates[i] for i in np.flatnonzero(np.ptp(waves, axis=0))}
    (module,) = (m for m in robot.modules if name in m.independents)
    assert moved == {name, *module.dependents, *module.closures}


def test_colours_share_no_row_and_cover_all_columns(compiled: Get) -> None:
    system = jacobians.augmented(compiled("stewart"), compiled("stewart")._evaluation.augmented)
    groups = jacobians.colours(system.pattern)
    assert sorted(column for group in groups for column in group) == list(range(30))
    for group in groups:
        assert system.pattern[:, group].sum(1).max() == 1
    # leg 0 is on every path: two hinges and a ball; each chord adds as many columns, which the chords share
    assert len(groups) == 5 + 5


def test_differences_cost_what_the_formulas_say_and_end_where_the_analytic_jacobian_does(
    compiled: Get, knots: Array
) -> None:
    kinds = {(k.system, k.jacobian): k for k in jacobians.evaluations(compiled("stewart"), knots[:4])}
    for (_, jacobian), kind in kinds.items():
        assert kind.points == 3 and kind.apart < 1e-11
        pairs = 0 if jacobian == "analytic" else kind.groups
        assert kind.calls == 3 + 2 * 2 * pairs and kind.calls_everywhere == 3 * (1 + 2 * pairs)
    assert [kinds["augmented", name].typical for name in ("analytic", "dense", "coloured")] == [3, 183, 63]
    assert [kinds["condensed", name].groups for name in ("dense", "coloured")] == [15, 7]


def test_all_representations_are_the_same_closure(compiled: Get, knots: Array) -> None:
    robot = compiled("stewart")
    q = robot.integrate(knots[3], np.full(len(robot.velocities), 2e-3))
    systems = jacobians.systems_of(robot, "stewart")
    pairs = ["condensed, compiled", "condensed, CasADi's interpreter"], [
        "augmented, compiled", "augmented, paths walked in numpy",
    ]  # fmt: skip
    for one, other in pairs:
        np.testing.assert_allclose(systems[one].rows(q), systems[other].rows(q), atol=1e-12)
        np.testing.assert_allclose(systems[one].jacobian(q), systems[other].jacobian(q), atol=1e-10)
        assert np.abs(systems[one].rows(q)).max() > 1e-4


def test_the_page_is_written_from_its_text() -> None:
    page = (ROOT / "docs" / "motion-studies.md").read_text(encoding="utf-8")
    words = (ROOT / "benchmarks" / "motion_studies_text.md").read_text(encoding="utf-8")
    assert "<<" not in page
    for paragraph in re.split(r"<<\w+>>", words):
        assert paragraph.strip() in page
