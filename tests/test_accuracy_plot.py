"""What the accuracy document is made of: its table, its verdict and its plot."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import asked
from benchmarks.accuracy_document import comparison_text, joined, mode_table, table, write
from benchmarks.accuracy_draws import RANGES, Case
from benchmarks.accuracy_run import OURS
from benchmarks.accuracy_tree import Tree
from benchmarks.dots import dots
from robocompiler.oracle.efforts import applied_forces
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"
ERRORS = {
    OURS: [[1e-15, 2e-15, 3e-13], [3e-15, 1e-15, 1e-13]],
    "peer": [[1e-12, 2e-12, 1e-13], [5e-12, 1e-12, 1e-13]],
}


def test_the_table_has_maxima_and_medians_with_the_least_in_bold() -> None:
    ours, peer = table(ERRORS).splitlines()[2:]
    assert ours == f"| {OURS} | **3.0e-15** | **2.0e-15** | **2.0e-15** | **1.5e-15** | 3.0e-13 | 2.0e-13 |"
    assert peer == "| peer | 5.0e-12 | 3.0e-12 | 2.0e-12 | 1.5e-12 | **1.0e-13** | **1.0e-13** |"


def test_the_verdict_tells_where_a_peer_is_better() -> None:
    text = comparison_text(ERRORS)
    assert "delta_a: at or below every peer" in text
    assert "r_c: 3.0 times that of peer" in text


def test_the_plot_has_a_dot_a_value_and_takes_zeros() -> None:
    root = ET.fromstring(dots("a < b", {"ours": [0.0, 1e-16], "peer": [1e-3]}))
    circles = [element for element in root.iter() if element.tag.endswith("circle")]
    x = [float(circle.attrib["cx"]) for circle in circles]
    assert len(x) == 3
    assert x[0] < x[1] < x[2]


@pytest.mark.parametrize("name", sorted(RANGES))
def test_ranges_fit_their_models(name: str) -> None:
    records = read_mechanism(MODELS / f"{name}.yaml")
    ranges = RANGES[name]
    assert len(ranges.efforts) in {1, len(records.ports)}
    assert ranges.frame in {body.name for body in records.bodies}
    assert len(ranges.wrench) == 6


def test_states_are_shared_out_among_modes() -> None:
    assert asked("stewart", 300) == [(Case("stewart"), 300)]
    assert asked("kangaroo:40", 300) == [(Case("kangaroo", mode), 10) for mode in ("", "left", "right", "double")]
    assert asked("kangaroo/double:7", 300) == [(Case("kangaroo", "double"), 7)]
    assert asked("kangaroo/floating", 5) == [(Case("kangaroo"), 5)]
    with pytest.raises(ValueError, match="cannot be shared out among 4"):
        asked("kangaroo:30", 300)
    with pytest.raises(ValueError, match="not measured in a mode 'hopping'"):
        asked("kangaroo/hopping", 300)


def test_modes_make_one_table_and_their_own_maxima(tmp_path: Path) -> None:
    other = {solver: [[10 * x for x in row] for row in rows] for solver, rows in ERRORS.items()}
    assert joined({"floating": ERRORS, "left": other})[OURS] == [*ERRORS[OURS], *other[OURS]]
    floating, left = mode_table({"floating": ERRORS, "left": other}).splitlines()[2:]
    cells = ["floating", "2", "3.0e-15", "5.0e-12 (peer)", "2.0e-15", "2.0e-12 (peer)", "3.0e-13", "1.0e-13 (peer)"]
    assert floating == f"| {' | '.join(cells)} |"
    assert left.startswith("| left | 2 | 3.0e-14 | 5.0e-11 (peer) |")
    file = tmp_path / "accuracy.md"
    modes = dict.fromkeys(("floating", "left", "right", "double"), ERRORS)
    write({"stewart": {"floating": ERRORS}, "kangaroo": modes}, file, 1)
    text = file.read_text()
    assert "## Stewart, 2 states\n" in text
    assert "## Kangaroo, 8 states in 4 support modes\n" in text
    assert "--robots stewart/floating:2" not in text
    assert "--robots stewart:2,kangaroo:8\n" in text
    assert (tmp_path / "accuracy_kangaroo.svg").read_text().count("<circle") == 16


def test_tree_forces_and_accelerations_are_those_of_the_maximal_model() -> None:
    model = MaximalModel(read_mechanism(MODELS / "fourbar.yaml"))
    state = model.state(model.project(model.pose()), {"j_ga": 2.0})
    tree = Tree(model, state, ["j_bc"])
    efforts = Efforts(ports={"motor": 1.5}, wrenches={"coupler": [0.0, 0.3, 0.0, 1.0, 0.0, 2.0]})
    found = model.accelerations(state, efforts)
    rates = [found.joints[name] for name in tree.velocities]
    exact = [found.joints[name] for name in tree.velocities]
    assert tree.residual(rates, exact, found.vector) < 1e-11
    # joint accelerations that are off move the bodies by T^-1, which the closing rows feel
    wrong = [rate + 1e-3 * k for k, rate in enumerate(rates)]
    T = np.zeros((len(tree.rows), model.columns))
    for k, row in enumerate(tree.rows):
        T[k, list(row.entries)] = list(row.entries.values())
    bodies = np.linalg.solve(T, [-row.bias for row in tree.rows] + np.concatenate((np.zeros(tree.own), wrong)))
    largest = max(abs(row(bodies) + row.bias) for row in tree.closing)
    assert largest > 1e-5
    assert tree.residual(wrong, exact, found.vector) == pytest.approx(largest, rel=1e-9)
    # the same work on the tree's velocities as on the bodies, along the mechanism
    tau = tree.efforts(applied_forces(model, state, efforts))
    work = sum(tau[name] * value for name, value in model.velocities(state).items() if name in tau)
    wanted = model.applied(state, efforts) @ np.array(state.u)
    assert work == pytest.approx(float(wanted), rel=1e-11)
