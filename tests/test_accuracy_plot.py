"""What the accuracy document is made of: its table, its verdict and its plot."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import comparison_text, table
from benchmarks.accuracy_draws import RANGES
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


def test_tree_forces_and_accelerations_are_those_of_the_maximal_model() -> None:
    model = MaximalModel(read_mechanism(MODELS / "fourbar.yaml"))
    state = model.state(model.project(model.pose()), {"j_ga": 2.0})
    tree = Tree(model, state, ["j_bc"])
    efforts = Efforts(ports={"motor": 1.5}, wrenches={"coupler": [0.0, 0.3, 0.0, 1.0, 0.0, 2.0]})
    found = model.accelerations(state, efforts)
    rates = [found.joints[name] for name in tree.velocities]
    np.testing.assert_allclose(np.array(tree.bodies(rates), dtype=float), found.vector, atol=1e-11)
    assert tree.residual(rates) < 1e-11
    assert tree.residual([rate + 1e-3 for rate in rates]) > 1e-5
    # the same work on the tree's velocities as on the bodies, along the mechanism
    tau = tree.efforts(applied_forces(model, state, efforts))
    work = sum(tau[name] * value for name, value in model.velocities(state).items() if name in tau)
    wanted = model.applied(state, efforts) @ np.array(state.u)
    assert work == pytest.approx(float(wanted), rel=1e-11)
