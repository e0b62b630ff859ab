"""The numbers of redundancy resolution, without a robot: closed form, active sets, conflicts, relaxation."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace

import numpy as np
import pytest
from redundancy_support import feasible, irreducible, kkt_miss, largest_scale, random_problem
from scipy.optimize import minimize

from robocompiler.errors import MissingPackageError
from robocompiler.runtime.redundancy.conflicts import Conflict, conflict
from robocompiler.runtime.redundancy.problem import Problem, Solution, least_distance
from robocompiler.runtime.redundancy.relaxation import Relaxed, ScaleTask, Slack
from robocompiler.runtime.redundancy.solver import solve

needs_solver = pytest.mark.skipif(
    not importlib.util.find_spec("daqp"), reason="daqp, of the control extra, is not installed"
)


def test_the_closed_form_is_the_solution_of_the_kkt_system() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        problem, W = random_problem(random, "loose")
        problem = replace(problem, A=problem.A[:0], b=problem.b[:0])
        m, d = problem.J.shape
        system = np.block([[W, problem.J.T], [problem.J, np.zeros((m, m))]])
        wanted = np.linalg.lstsq(system, np.concatenate((-problem.c, problem.w)), rcond=None)[0]
        found = solve(problem)
        assert isinstance(found, Solution)
        assert found.method == "closed form"
        size = 1e-9 * np.linalg.cond(system) ** 0.5
        np.testing.assert_allclose(found.u, wanted[:d], rtol=0, atol=size)
        np.testing.assert_allclose(found.mu, wanted[d:], rtol=0, atol=size * np.abs(wanted).max())
        assert found.kkt.worst < 1e-12


def test_the_reduction_leaves_the_task_alone_and_is_orthonormal_in_the_metric() -> None:
    random = np.random.default_rng(2)
    for _ in range(100):
        problem, W = random_problem(random, "loose")
        reduced = least_distance(problem)
        basis = reduced.basis
        assert np.abs(problem.J @ basis).max(initial=0.0) < 1e-12 * max(1.0, np.abs(basis).max(initial=0.0))
        np.testing.assert_allclose(basis.T @ W @ basis, np.eye(basis.shape[1]), atol=1e-11)
        np.testing.assert_allclose(
            problem.J @ reduced.u0, problem.w, atol=1e-9 * (1 + np.abs(problem.w).max(initial=0))
        )


@needs_solver
@pytest.mark.parametrize("kind", ["loose", "tight"])
def test_solutions_satisfy_the_conditions_of_optimality(kind: str) -> None:
    """The problem is convex: who meets them is the only minimiser."""
    random = np.random.default_rng(3)
    pushed = 0
    for _ in range(500):
        problem, W = random_problem(random, kind)
        found = solve(problem)
        assert isinstance(found, Solution), "the rows hold at a known point"
        assert kkt_miss(problem, W, found.u, found.mu, found.lam) < 1e-8
        assert found.kkt.worst < 1e-8
        pushed += found.active.any()
    assert pushed > 150


@needs_solver
def test_the_minimum_is_that_of_a_general_optimiser() -> None:
    random = np.random.default_rng(4)
    for _ in range(25):
        problem, W = random_problem(random, "loose")
        found = solve(problem)
        assert isinstance(found, Solution)
        cost = lambda u, W=W, p=problem: float(u @ W @ u / 2 + p.c @ u)  # noqa: E731
        slope = lambda u, W=W, p=problem: W @ u + p.c  # noqa: E731
        rows = [
            {"type": "eq", "fun": lambda u, p=problem: p.J @ u - p.w, "jac": lambda u, p=problem: p.J},
            {"type": "ineq", "fun": lambda u, p=problem: p.b - p.A @ u, "jac": lambda u, p=problem: -p.A},
        ]
        rows = [row for row, count in zip(rows, (len(problem.w), len(problem.b)), strict=True) if count]
        start = np.zeros(len(problem.c))
        other = minimize(cost, start, jac=slope, constraints=rows, method="SLSQP", options={"ftol": 1e-14})
        assert cost(found.u) <= other.fun + 1e-6 * (1 + abs(other.fun))


@needs_solver
def test_infeasible_problems_are_those_of_the_linear_program_and_their_rows_conflict() -> None:
    random = np.random.default_rng(5)
    answers = {True: 0, False: 0}
    for _ in range(110):
        problem, W = random_problem(random, "any")
        found = solve(problem)
        holds, gap = feasible(problem.J, problem.w, problem.A, problem.b)
        if 1e-9 < gap < 1e-6:
            continue  # too close to call for a linear program of that tolerance
        answers[holds] += 1
        if isinstance(found, Solution):
            assert holds
            assert kkt_miss(problem, W, found.u, found.mu, found.lam) < 1e-8
        else:
            assert not holds
            assert irreducible(problem, np.flatnonzero(found.mu).tolist(), np.flatnonzero(found.lam).tolist())
    assert min(answers.values()) > 25


def test_certificates_add_up_to_a_contradiction() -> None:
    random = np.random.default_rng(6)
    seen = 0
    for _ in range(300):
        problem, _ = random_problem(random, "any")
        found = conflict(problem)
        if found is None:
            continue
        seen += 1
        assert np.all(found.lam >= 0)
        assert found.gap > 0
        size = np.abs(problem.A.T) @ found.lam + np.abs(problem.J.T) @ np.abs(found.mu)
        assert np.all(np.abs(problem.A.T @ found.lam + problem.J.T @ found.mu) <= 1e-8 * size.max())
        assert problem.b @ found.lam + problem.w @ found.mu == pytest.approx(-found.gap)
    assert seen > 60


def _problem(J: list[list[float]], w: list[float], A: list[list[float]], b: list[float], d: int = 2) -> Problem:
    return Problem(
        np.eye(d), np.zeros(d), np.array(J, dtype=float).reshape(-1, d), np.array(w, dtype=float),
        np.array(A, dtype=float).reshape(-1, d), np.array(b, dtype=float),
    )  # fmt: skip


@needs_solver
def test_a_far_bound_does_not_hide_a_conflict_of_near_ones() -> None:
    found = solve(_problem([[1, 0]], [2e-6], [[0, 1], [1, 0], [-1, 0]], [1e9, 1e-6, 1e-6]))
    assert isinstance(found, Conflict)
    assert np.flatnonzero(found.lam).tolist() == [1]
    assert np.flatnonzero(found.mu).tolist() == [0]
    assert found.gap == pytest.approx(0.5e-6)


@needs_solver
def test_a_row_of_zeros_holds_or_conflicts_alone() -> None:
    assert isinstance(solve(_problem([], [], [[0, 0]], [0.0])), Solution)
    found = solve(_problem([], [], [[0, 0], [1, 0]], [-1.0, 5.0]))
    assert isinstance(found, Conflict)
    assert found.lam.tolist() == [1.0, 0.0]


@needs_solver
def test_the_largest_scale_is_that_of_the_linear_program() -> None:
    random = np.random.default_rng(7)
    scaled = refused = 0
    for trial in range(300):
        problem, W = random_problem(random, "any")
        names = [f"t{i % 2}" for i in range(len(problem.w))]
        moving = np.array([name == "t0" for name in names])
        if trial % 2:  # standing still is possible, so that slower helps
            problem = replace(problem, b=np.abs(problem.b), w=5 * problem.w * moving)
        first = solve(problem)
        if isinstance(first, Solution) or not len(problem.w):
            continue
        answer = ScaleTask(("t0",)).relaxed(problem, first, names, [f"b{i}" for i in range(len(problem.b))])
        wanted = largest_scale(problem.J, problem.w * ~moving, problem.w * moving, problem.A, problem.b)
        if isinstance(answer, Conflict):
            refused += 1
            assert np.isnan(wanted) or wanted < 1e-7
            continue
        scaled += 1
        assert answer.scale == pytest.approx(wanted, abs=1e-7)
        u = answer.solution.u
        np.testing.assert_allclose(problem.J @ u, problem.w + answer.task_slack, atol=1e-7)
        assert kkt_miss(
            replace(problem, w=problem.w + answer.task_slack), W, u, answer.solution.mu, answer.solution.lam
        ) < 1e-6  # fmt: skip
    assert scaled > 30
    assert refused > 30


@needs_solver
def test_slack_is_least_and_levels_come_one_after_the_other() -> None:
    """One level over all rows: least squares of the misses.  Two: what is left to the second, the first kept."""
    random = np.random.default_rng(8)
    seen = 0
    for _ in range(150):
        problem, _ = random_problem(random, "any")
        first = solve(problem)
        if isinstance(first, Solution):
            continue
        seen += 1
        m, k = len(problem.w), len(problem.b)
        names = [f"t{i}" for i in range(m)], [f"b{i}" for i in range(k)]
        answer = Slack(({"*": 1.0},)).relaxed(problem, first, *names)
        assert isinstance(answer, Relaxed)
        spread = np.concatenate((answer.task_slack, answer.bound_slack))
        u, mine = answer.solution.u, float(spread @ spread)
        np.testing.assert_allclose(problem.J @ u - answer.task_slack, problem.w, atol=1e-7)
        assert np.all(problem.A @ u - answer.bound_slack <= problem.b + 1e-7 * (1 + np.abs(problem.b)))
        # the least sum of squares is a smooth convex function of u alone: its gradient vanishes at the answer
        over = np.maximum(problem.A @ u - problem.b, 0.0)
        pull = problem.J.T @ (problem.J @ u - problem.w) + problem.A.T @ over
        assert np.abs(pull).max() < 1e-6 * (1 + np.abs(problem.A).max() * np.abs(spread).max())
        if m:
            task_first = Slack(({"t*": 1.0}, {"b*": 1.0})).relaxed(problem, first, *names)
            assert isinstance(task_first, Relaxed)
            assert np.abs(task_first.task_slack).max() < 1e-8 * (1 + np.abs(problem.w).max())
            assert mine <= float(task_first.bound_slack @ task_first.bound_slack) * (1 + 1e-9)
    assert seen > 40


@needs_solver
def test_slack_keeps_the_rows_that_it_does_not_name() -> None:
    problem = _problem([[1, 0], [0, 1]], [2.0, 1.0], [[1, 0], [1, 1]], [1.0, 1.5])
    first = solve(problem)
    assert isinstance(first, Conflict)
    answer = Slack(({"y": 1.0, "x": 4.0},)).relaxed(problem, first, ("x", "y"), ("far", "sum"))
    assert isinstance(answer, Relaxed)
    np.testing.assert_allclose(answer.solution.u, [1.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(answer.task_slack, [-1.0, -0.5], atol=1e-12)
    assert not answer.bound_slack.any()
    weighted = Slack(({"far": 1.0, "sum": 9.0},)).relaxed(problem, first, ("x", "y"), ("far", "sum"))
    assert isinstance(weighted, Relaxed)
    np.testing.assert_allclose(weighted.bound_slack, [1.0, 1.5], atol=1e-12)
    hopeless = Slack(({"y": 1.0},)).relaxed(problem, first, ("x", "y"), ("far", "sum"))
    assert isinstance(hopeless, Conflict)
    assert np.flatnonzero(hopeless.mu).tolist() == [0]
    with pytest.raises(ValueError, match="no row is called 'z'; there are x, y, far, sum"):
        Slack(({"z": 1.0},)).relaxed(problem, first, ("x", "y"), ("far", "sum"))
    with pytest.raises(ValueError, match="the weight of the slack of 'x' must be a positive number"):
        Slack(({"x": 0.0},)).relaxed(problem, first, ("x", "y"), ("far", "sum"))


def test_a_missing_solver_is_told_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "daqp", None)
    loose = _problem([], [], [[1, 0]], [1.0])
    assert isinstance(solve(loose), Solution)
    with pytest.raises(MissingPackageError, match=r"pip install 'robocompiler\[control\]'"):
        solve(_problem([], [], [[1, 0]], [-1.0]))
