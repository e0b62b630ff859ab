"""The port chart and the inner chart: module sizes, ports independent, and F between them."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from casadi_robot import CasadiRobot
from fronts import shipped_kinematics
from random_mechanisms import random_mechanism

from robocompiler.analysis.reduce import port_velocities
from robocompiler.compiler import run_front_end

MODELS = Path(__file__).resolve().parent.parent / "models"
ROBOTS = ("fourbar", "slider_crank", "five_bar", "delta", "rssr", "parallel_ankle", "panda", "stewart", "excavator")
CASES = [*ROBOTS, *(f"random {seed}" for seed in range(30, 36))]


@functools.cache
def robot(case: str) -> CasadiRobot:
    if case.startswith("random"):
        return CasadiRobot.of(random_mechanism(int(case.split()[1]), bodies=7, chords=3).mechanism)
    return CasadiRobot(shipped_kinematics(case))


@pytest.mark.parametrize("case", CASES)
def test_lifts_of_both_charts_span_the_same_motions(case: str) -> None:
    """u_port = F u_inner with F = rows of E_inner at the port chart's independents, so E_inner = E_port F."""
    r = robot(case)
    random = np.random.default_rng(3)
    port, inner = (list(r.reduction.chart(name).independent) for name in ("port", "inner"))
    for q in (r.reference, r.assembled_near(random, 0.05)):
        E, E_inner = r.lift(q), r.lift(q, "inner")
        F, back = E_inner[port], E[inner]
        scale = max(1.0, float(np.abs(E).max(initial=0)), float(np.abs(E_inner).max(initial=0)))
        np.testing.assert_allclose(E @ F, E_inner, rtol=0, atol=1e-11 * scale)
        np.testing.assert_allclose(F @ back, np.eye(len(port)), rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("case", CASES)
def test_charts_partition_the_columns_and_modules_are_square(case: str) -> None:
    r = robot(case)
    evaluator = r.evaluator
    jacobians = [evaluator.jacobian(np.array(q)) for q in r.reduction.probes]
    for chart in r.reduction.charts:
        assert sorted((*chart.independent, *chart.dependent)) == list(r.front.closures.active)
        seen: set[int] = set()
        for module in chart.modules:
            assert len(module.rows) == len(module.dependents)
            assert not seen & set(module.dependents)
            assert not set(module.independents) & set(chart.dependent)
            # 0: more working rows than unknowns, so that the determinant of the selected ones marks no branch
            rows = [row for closure in module.closures for row in evaluator.closure_rows[closure]]
            working = sum(any(np.abs(J[row]).max() > 1e-9 for J in jacobians) for row in rows)
            assert module.sign in (-1, 1) if working <= len(module.dependents) else module.sign == 0
            assert module.smallest_pivot > 0
            seen |= set(module.dependents)
        assert sorted(c for module in chart.modules for c in module.closures) == list(
            range(len(r.front.closures.closures))
        )


@pytest.mark.parametrize("case", CASES)
def test_signs_are_those_of_the_determinants_at_the_reference(case: str) -> None:
    r = robot(case)
    J = r.condensed(r.reference)[1] * r.evaluator.column_scales / r.evaluator.row_scales[:, None]
    for chart in r.reduction.charts:
        for module in chart.modules:
            R = J[np.ix_(module.rows, module.dependents)]
            assert not module.dependents or module.sign in (0, np.sign(np.linalg.det(R)))


@pytest.mark.parametrize("case", CASES)
def test_modules_share_no_dependents_in_their_closures(case: str) -> None:
    """A module's closures touch no dependent of another module, so that modules are solved one by one."""
    r = robot(case)
    structure = r.evaluator.structure
    rows = r.evaluator.closure_rows
    for chart in r.reduction.charts:
        for module in chart.modules:
            own = [row for closure in module.closures for row in rows[closure]]
            touched = set(map(int, np.flatnonzero(structure[own].any(axis=0))))
            assert touched & set(chart.dependent) == set(module.dependents)


@pytest.mark.parametrize("case", ["fourbar", "five_bar", "delta", "parallel_ankle", "stewart", "panda"])
def test_ports_are_independent_in_the_port_chart(case: str) -> None:
    r = robot(case)
    names = [r.topology.v_names[i] for i in r.reduction.chart("port").independent]
    ported = list(port_velocities(r.topology.mechanism))
    assert ported
    assert [name for name in names if name in ported] == [name for name in ported if name in names]  # file order
    J = r.evaluator.jacobian(r.reference)
    places = [list(r.front.closures.active).index(r.topology.v_names.index(name)) for name in ported]
    _, values, Vt = np.linalg.svd(J)
    motions = Vt[int(np.sum(values > 1e-6)) :].T[places]
    assert len(set(ported) & set(names)) == np.linalg.matrix_rank(motions, tol=1e-6)  # as many as can be at once


@pytest.mark.parametrize(("case", "largest"), [("stewart", 3), ("excavator", 4)])
def test_inner_modules_are_small(case: str, largest: int) -> None:
    reduction = robot(case).reduction
    assert reduction.chart("inner").largest_module <= largest
    assert reduction.chart("port").largest_module >= reduction.chart("inner").largest_module
    assert min(module.smallest_pivot for module in reduction.chart("inner").modules) > 1e-2


def test_stewart_ports_make_one_module_and_the_platform_five() -> None:
    reduction = robot("stewart").reduction
    assert [len(module.dependents) for module in reduction.chart("port").modules] == [15]
    assert [len(module.dependents) for module in reduction.chart("inner").modules] == [3] * 5


def test_excavator_has_seven_freedoms() -> None:
    r = robot("excavator")
    assert len(r.reduction.chart("port").independent) == len(r.reduction.chart("inner").independent) == 7
    assert len(r.topology.chords) == 9


def test_wanted_independents_are_honoured() -> None:
    front = run_front_end(MODELS / "fourbar.yaml", independent=["j_ab"])
    assert [front.topology.v_names[i] for i in front.reduction.chart("port").independent] == ["j_ab"]


def test_a_free_joint_that_closes_a_loop_follows_the_module_that_moves_it() -> None:
    """It has no row of its own; its pose is recovered from what the other closures solve."""
    front = run_front_end(MODELS.parent / "tests" / "data" / "import" / "delta.urdf")
    free = next(k for k, closure in enumerate(front.closures.closures) if closure.kind == "free")
    for chart in front.reduction.charts:
        (module,) = (module for module in chart.modules if free in module.closures)
        assert len(module.closures) == 6
        assert module.dependents
