"""At compile time: where a mechanism goes, which charts that needs, and what is emitted for them."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_support import ZIG_CXX, host_toolchain
from click.testing import CliRunner
from switching_cases import MODELS, boom, crank_rocker, parallelogram, slider_driven, triple_rocker

import robocompiler as rc
from robocompiler.analysis.cover import GOOD, improved, motions, quality_of
from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.analysis.reach import reachable
from robocompiler.analysis.reduce import reduce_closures
from robocompiler.backend.emit import emit
from robocompiler.backend.options import BuildOptions, chart_count
from robocompiler.backend.repeat import repeat_key
from robocompiler.cli import robocompile
from robocompiler.compiler import FrontEnd, run_front_end
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism
from robocompiler.symbolic.reduction import Reach

CASES = {make.__name__: make for make in (crank_rocker, slider_driven, triple_rocker, boom, parallelogram)}


@functools.cache
def front(name: str, charts: int = 8) -> FrontEnd:
    records: Mechanism | Path = CASES[name]() if name in CASES else MODELS / f"{name}.yaml"
    return run_front_end(records, charts=charts)


def reach(found: FrontEnd) -> Reach:
    assert found.reduction.reach is not None
    return found.reduction.reach


@pytest.mark.parametrize("name", ["crank_rocker", "slider_driven", "triple_rocker"])
def test_a_closed_curve_is_followed_once_round_through_the_dead_centres_of_its_input(name: str) -> None:
    found = front(name)
    evaluator, chart = ClosureEvaluator(found.closures), found.reduction.chart("port")
    (path,) = reachable(evaluator, np.array(found.reduction.reference), chart.independent)
    assert path.end == "closed"
    for q in path.poses:
        assert np.abs(evaluator.rows(q)).max() < 1e-9
    place = found.topology.q_names.index(path.moved)
    moved = np.array([q[place] for q in path.poses])
    turns = np.sum(np.diff(np.sign(np.diff(moved))) != 0)
    assert turns == 2  # where the input turns back, its chart is singular


def test_joint_limits_end_a_path() -> None:
    assert [path.end for path in reach(front("boom")).paths] == ["limit", "limit"]


def test_where_the_rank_drops_a_path_ends_or_steps_over_it() -> None:
    """The compile-time search judges single poses: those of lower rank are no poses to cover."""
    found = reach(front("parallelogram"))
    assert found.uncovered == 0
    assert {path.end for path in found.paths} <= {"rank", "closed"}


@pytest.mark.parametrize("name", list(CASES))
def test_some_chart_is_good_at_every_pose_met(name: str) -> None:
    """Judged anew from the poses: at each some chart is good, the port and the inner chart only on their branch."""
    found = front(name)
    assert reach(found).uncovered == 0
    evaluator, reduction = ClosureEvaluator(found.closures), found.reduction
    place = {int(index): column for column, index in enumerate(evaluator.active)}
    for path in reachable(evaluator, np.array(reduction.reference), reduction.chart("port").independent):
        for q in path.poses:
            J = evaluator.jacobian(q)
            if np.linalg.matrix_rank(J, tol=1e-4) < reduction.rank.rank:
                continue
            good = 0
            for chart in reduction.charts:
                blocks = [(m.sign, J[np.ix_(m.rows, [place[i] for i in m.dependents])]) for m in chart.modules]
                on = all(sign in (0, np.sign(np.linalg.det(R))) for sign, R in blocks)
                basis = np.linalg.svd(J)[2][reduction.rank.rank :].T
                rows = basis[[place[i] for i in chart.independent]]
                E = basis @ np.linalg.pinv(rows)
                good += on and 1.0 / max(1.0, np.abs(E).max()) >= GOOD - 1e-9
            assert good


def test_few_charts_are_added_and_none_where_none_is_needed() -> None:
    counts = {name: len(front(name).reduction.charts) - 2 for name in (*CASES, "fourbar", "stewart")}
    assert counts["triple_rocker"] == 2
    assert {name for name, count in counts.items() if not count} >= {
        "crank_rocker", "slider_driven", "boom", "fourbar", "stewart"
    }  # fmt: skip


def test_a_bound_on_the_charts_leaves_poses_uncovered_and_says_how_many() -> None:
    one = front("triple_rocker", 1)
    assert [chart.name for chart in one.reduction.charts] == ["port", "inner", "chart_1"]
    assert 0 < reach(one).uncovered < reach(one).poses


def test_further_charts_are_the_same_every_time_and_absent_unless_asked_for() -> None:
    found = front("triple_rocker")
    again = reduce_closures(found.closures, charts=8)
    assert again == found.reduction
    plain = reduce_closures(found.closures)
    assert (plain.reach, plain.charts) == (None, found.reduction.charts[:2])


def test_modules_of_further_charts_hold_no_branch() -> None:
    for chart in front("triple_rocker").reduction.charts[2:]:
        assert [module.sign for module in chart.modules] == [0]
        assert chart.probes
        assert min(module.smallest_pivot for module in chart.modules) > 0.05


def test_exchanges_lead_to_a_chart_without_faster_dependents() -> None:
    random = np.random.default_rng(2)
    for _ in range(20):
        basis = motions(random.normal(size=(5, 9)), 4)
        chosen = improved(basis, (0, 1, 2, 3))
        assert len(set(chosen)) == 4
        assert quality_of(basis, chosen) > 1 - 1e-5
    singular = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.3], [0.2, 1.0]])
    assert quality_of(singular, (0, 1)) == 0.0
    assert set(improved(singular, (0, 1))) == {2, 3}


def test_the_default_output_knows_nothing_of_charts() -> None:
    files = emit(front("triple_rocker", 0).program).files
    assert not [path for path in files if "charts" in path or "chart_1" in path]
    assert "quality" not in files["triple_rocker.h"] + files["triple_rocker_internal.h"]


@pytest.mark.parametrize("real", ["double", "float"])
def test_generated_charts_are_clean_in_both_precisions_and_as_cpp(real: str, tmp_path: Path) -> None:
    emission = emit(front("triple_rocker").program, real)  # type: ignore[arg-type]
    for path, text in emission.files.items():
        (tmp_path / path).write_text(text)
    unit, product = tmp_path / "triple_rocker_charts.c", tmp_path / "charts.o"
    toolchain = host_toolchain()
    cxx = [found] if (found := shutil.which("g++") or shutil.which("clang++")) else ZIG_CXX
    strict = [flag for flag in toolchain.flags if flag.startswith(("-W", "-pedantic", "-std"))]
    for command in ([*toolchain.command, *strict], [*cxx, "-x", "c++", "-Wall", "-Wextra", "-Wshadow", "-Werror"]):
        done = subprocess.run(
            [*command, "-c", str(unit), "-o", str(product)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    if real == "float":
        assert "double" not in unit.read_text()
    again = emit(front("triple_rocker").program, real)  # type: ignore[arg-type]
    assert again.files == emission.files


def test_the_command_line_compiles_charts(tmp_path: Path) -> None:
    model = str(MODELS / "fourbar.yaml")
    result = CliRunner().invoke(robocompile, [model, "--charts", "auto", "--emit-only", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "fourbar" / "fourbar_charts.h").is_file()
    wrong = CliRunner().invoke(robocompile, [model, "--charts", "many", "--emit-only", "-o", str(tmp_path)])
    assert wrong.exit_code == 2
    assert "'auto' or a number of charts, not 'many'" in wrong.output


def test_numbers_of_charts_are_checked_and_part_of_the_key() -> None:
    assert [chart_count(value) for value in ("auto", "3", 0)] == [8, 3, 0]
    for value in ("-1", -2, "some"):
        with pytest.raises(ValueError, match="'auto' or a number"):
            chart_count(value)
    with pytest.raises(ValueError, match="'auto' or a number"):
        rc.compile(MODELS / "fourbar.yaml", charts="all")
    records, options = read_mechanism(MODELS / "fourbar.yaml"), BuildOptions()
    assert repeat_key(records, (), (), options) != repeat_key(records, (), (), options, 8)
