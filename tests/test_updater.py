"""The updater: what it skips stays bit for bit, what it refuses changes nothing, what it accepts is assembled."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from case_models import built
from mechanics_support import shipped
from motion_support import agrees_with_the_oracle, follow_randomly, scales, step_inputs
from numpy.typing import NDArray
from odd_mechanisms import couplings, four_bar, tree, truss
from random_mechanisms import random_mechanism
from walker import built_walker

import robocompiler as rc
from robocompiler.backend.motion_view import _spread
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.model import Limits, Mechanism
from robocompiler.runtime.motion.reports import Cause
from robocompiler.runtime.motion.updater import UpdateLimits, Updater

Array = NDArray[np.float64]
Get = Callable[[str], rc.Robot]


def module_coordinates(robot: rc.Robot, name: str) -> list[int]:
    """Coordinates that a module solves for: its dependents' and its cut joints'."""
    module = next(m for m in robot.modules if m.name == name)
    joints = {v.partition(":")[0] for v in module.dependents} | set(module.closures)
    return [i for i, c in enumerate(robot.coordinates) if c.partition(":")[0] in joints]


# --- agreement ---


@pytest.mark.parametrize(("name", "steps", "size"), [("fourbar", 2000, 0.05), ("slider_crank", 2000, 0.05)])
def test_a_walk_of_a_crank_is_what_fresh_assembly_gives(compiled: Get, name: str, steps: int, size: float) -> None:
    robot = compiled(name)
    updater = robot.updater(robot.reference)
    found, reports = follow_randomly(updater, np.random.default_rng(1), scales(robot, size), steps)
    assert all(report.ok for report in reports)  # both cranks turn all the way round
    assert max(report.residual for report in reports) < 1e-12
    crank = robot.coordinates.index(robot.independent[0])
    turned = [q[crank] for q in found]
    assert max(turned) - min(turned) > 1.0
    for q in found[::50]:
        np.testing.assert_allclose(robot.assemble(robot.configuration({robot.independent[0]: q[crank]})), q, atol=1e-11)


@pytest.mark.parametrize(("name", "size"), [("stewart", 0.03), ("excavator", 0.01), ("rssr", 0.05), ("go2", 0.1)])
def test_walks_agree_with_the_maximal_oracle(compiled: Get, name: str, size: float) -> None:
    robot, model = compiled(name), MaximalModel(shipped(name))
    updater = robot.updater(robot.reference)
    found, reports = follow_randomly(updater, np.random.default_rng(2), scales(robot, size), 300)
    assert len(found) > 150
    accepted = max(1e-12, 8 * robot._description.floor)
    assert max(report.residual for report in reports if report.ok) <= accepted
    for q in found[:: len(found) // 3]:
        assert robot._assembler.acceptance.off_branch(q) == []
        agrees_with_the_oracle(model, robot, q, 1e-8 if name == "excavator" else 1e-9)


@pytest.mark.parametrize("seed", [3, 11])
def test_random_mechanisms_walk_and_agree_with_the_oracle(build_folder: Path, seed: int) -> None:
    sample = random_mechanism(seed)
    records = dataclasses.replace(sample.mechanism, name=f"walking_{seed}")
    robot, model = built(build_folder, records), MaximalModel(records)
    updater = robot.updater(robot.reference)
    found, _ = follow_randomly(updater, np.random.default_rng(seed), scales(robot, 0.02), 150)
    assert len(found) > 50
    for q in found[:: len(found) // 2]:
        agrees_with_the_oracle(model, robot, q, 1e-8)


def test_outputs_are_those_of_the_robot_and_are_kept(compiled: Get) -> None:
    robot = compiled("stewart")
    updater, random = robot.updater(robot.reference), np.random.default_rng(4)
    for _ in range(5):
        step_inputs(updater, random, scales(robot, 0.03))
        assert updater.update().ok
        q = updater.q
        np.testing.assert_allclose(updater.lift, robot.lift(q), rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(updater.mass_matrix, robot.mass_matrix(q))
        np.testing.assert_array_equal(updater.port_map, robot.port_map(q))
        np.testing.assert_array_equal(updater.port_displacement, robot.port_displacement(q))
        for ours, theirs in zip(updater.pose("platform"), robot.pose("platform", q), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    kept = updater.snapshot()
    _ = updater.lift, updater.mass_matrix, updater.port_map, updater.port_displacement, updater.pose("platform")
    assert updater.snapshot() == kept  # nothing was computed again


# --- what is skipped ---


def test_only_touched_modules_move_and_the_others_keep_their_bits(compiled: Get) -> None:
    robot = compiled("excavator")
    updater, random = robot.updater(robot.reference), np.random.default_rng(5)
    for index, name in enumerate(robot.independent):
        needed = {m.name for m in robot.modules if name in m.independents}
        before = updater.q
        step_inputs(updater, random, scales(robot, 0.005), [index])
        report = updater.update()
        assert report.ok and needed <= set(report.moved) and report.skipped
        assert report.skipped == tuple(m.name for m in robot.modules if m.name not in report.moved)
        for module in report.skipped:
            own = module_coordinates(robot, module)
            np.testing.assert_array_equal(updater.q[own], before[own])
        if not report.moved:
            assert report.mode == "rested" and report.evaluations == 0
            changed = np.flatnonzero(updater.q != before)
            assert [robot.coordinates[i] for i in changed] == [name]


def test_the_dependency_index_covers_all_that_the_residual_depends_on(compiled: Get) -> None:
    """Off-manifold differences find every closure that an input moves; each belongs to a module that it touches."""
    robot = compiled("excavator")
    random, scale = np.random.default_rng(6), robot._description.column_scales
    q = robot.integrate(robot.reference, 0.02 * scale * random.uniform(-1, 1, scale.size))
    for index, name in enumerate(robot.independent):
        dv = np.zeros(scale.size)
        dv[robot.velocities.index(name)] = 1e-3
        moved = robot.residual(robot.integrate(q, dv)) != robot.residual(q)
        closures = {robot.closures[row // 6] for row in np.flatnonzero(moved)}
        expected = {m.name for m in robot.modules if closures & set(m.closures)}
        updater = robot.updater(robot.reference)
        updater.advance(index, 1e-4)
        assert expected == set(updater.update().moved), name


def test_legs_are_independent_and_the_base_touches_no_module(compiled: Get) -> None:
    robot = compiled("kangaroo")
    updater = robot.updater(robot.reference)
    mass, lift = updater.mass_matrix, updater.lift
    base = next(iter(updater._inputs.poses))
    place = np.asarray(robot.joint(updater.q, base))[:3] + np.array((1.0, -2.0, 0.3))
    updater.set(base, np.concatenate((place, [np.cos(0.2), 0.0, np.sin(0.2), 0.0])))
    kept = updater.q
    report = updater.update()
    assert report.ok and report.mode == "rested" and report.moved == ()
    own = [i for i, c in enumerate(robot.coordinates) if c.partition(":")[0] == base]
    others = np.setdiff1d(np.arange(kept.size), own)
    np.testing.assert_array_equal(updater.q[others], kept[others])
    np.testing.assert_array_equal(updater.q[own][:3], place)
    # in body axes the floating base's place changes neither lift nor inertia: what was kept still holds, and is right
    np.testing.assert_array_equal(updater.mass_matrix, mass)
    np.testing.assert_allclose(robot.mass_matrix(updater.q), mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(robot.lift(updater.q), lift, rtol=1e-12, atol=1e-12)
    for ours, theirs in zip(updater.pose(robot.frames[-1]), robot.pose(robot.frames[-1], updater.q), strict=True):
        np.testing.assert_array_equal(ours, theirs)  # poses do not, and are computed again

    before = updater.q
    left = [i for i, name in enumerate(robot.independent) if "leg_left" in name]
    step_inputs(updater, np.random.default_rng(7), scales(robot, 0.002), left)
    report = updater.update()
    assert report.ok and report.moved and report.skipped
    right = {m.name for m in robot.modules if any("right" in v for v in m.dependents)}
    assert right == set(report.skipped)
    untouched = [i for i, c in enumerate(robot.coordinates) if "right" in c]
    np.testing.assert_array_equal(updater.q[untouched], before[untouched])
    np.testing.assert_allclose(updater.lift, robot.lift(updater.q), rtol=1e-11, atol=1e-12)


def test_equal_inputs_and_inputs_taken_back_mark_nothing(compiled: Get) -> None:
    robot = compiled("stewart")
    updater = robot.updater(robot.reference)
    start = updater.snapshot()
    for index in range(len(updater.inputs)):
        updater.advance(index, 0.05)
    updater.set_many(robot.reference)  # back to the same bits
    report = updater.update()
    assert report.mode == "rested" and report.moved == () and updater.snapshot() == start


def test_all_inputs_at_once_or_one_after_the_other_end_in_the_same_place(compiled: Get) -> None:
    robot = compiled("excavator")
    together, apart = robot.updater(robot.reference), robot.updater(robot.reference)
    random, size = np.random.default_rng(8), scales(robot, 0.01)
    increments = size * random.uniform(-1, 1, size.size)
    for index, increment in enumerate(increments):
        together.advance(index, float(increment))
        apart.advance(index, float(increment))
        assert apart.update().ok
    assert together.update().ok
    np.testing.assert_allclose(apart.q, together.q, atol=1e-11)


# --- what is refused ---


def refused(updater: Updater, cause: Cause) -> rc.runtime.motion.reports.Stop:  # type: ignore[name-defined]
    """The stop of an update that must be refused for `cause` and change not a byte."""
    before = updater.snapshot()
    report = updater.update()
    assert report.stop is not None and not report.ok
    assert report.stop.cause is cause, report.stop
    assert updater.snapshot() == before
    return report.stop


def test_inputs_outside_limits_name_the_joint_and_the_side(compiled: Get) -> None:
    robot = compiled("stewart")
    lower, upper = robot._description.limits[robot.coordinates.index("leg_2_length")]
    updater = robot.updater(robot.reference)
    updater.set("leg_2_length", upper + 0.01)
    stop = refused(updater, Cause.LIMIT)
    assert (stop.joint, stop.side) == ("leg_2_length", "upper") and "upper limit of leg_2_length" in str(stop)
    updater.set("leg_2_length", lower - 0.01)
    assert refused(updater, Cause.LIMIT).side == "lower"
    updater.revert()
    assert updater.update().mode == "rested"


def limited_four_bar() -> Mechanism:
    """A four-bar whose rocker, a dependent, has limits."""
    records = four_bar(reference={"joints": {"j_ga": 0.7, "j_ab": -0.35, "j_cg": -1.1}})
    joints = [
        dataclasses.replace(j, limits=(Limits(position=(-1.2, -1.0)),)) if j.name == "j_cg" else j
        for j in records.joints
    ]
    return dataclasses.replace(records, name="limited", joints=tuple(joints))


def test_limits_of_dependent_joints_are_conditions_too(build_folder: Path) -> None:
    robot = built(build_folder, limited_four_bar())
    updater = robot.updater(robot.reference)
    updater.set("j_ga", robot.joint(robot.reference, "j_ga") + 0.6)
    stop = refused(updater, Cause.LIMIT)
    assert stop.joint == "j_cg" and stop.side in ("lower", "upper")
    path = updater.follow()
    assert path.stop is not None and path.stop.cause is Cause.LIMIT and path.stop.joint == "j_cg"
    bound = -1.2 if path.stop.side == "lower" else -1.0
    assert abs(robot.joint(path.q, "j_cg") - bound) < 1e-6
    assert 0.01 < path.fraction < 0.99


def test_numbers_that_are_none_are_refused_when_they_are_set(compiled: Get) -> None:
    robot = compiled("rssr")
    updater = robot.updater(robot.reference)
    before = updater.snapshot()
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="finite"):
            updater.set("j1", bad)
        with pytest.raises(ValueError, match="finite"):
            updater.advance("s1:wx", bad)
        with pytest.raises(ValueError, match="finite"):
            updater.set_many({"j1": bad})
    with pytest.raises(ValueError, match="is no input; the independents are j1, s1:wx"):
        updater.set("j2", 0.0)
    with pytest.raises(ValueError, match="advance"):
        updater.set("s1:wx", 0.0)
    with pytest.raises(ValueError, match="no input is called 'j11'; did you mean"):
        updater.set("j11", 0.0)
    with pytest.raises(ValueError, match="there are 2 inputs"):
        updater.advance(2, 0.0)
    assert updater.snapshot() == before
    library, state = updater._library, updater._state  # and so does the C code by itself
    assert library.function("updater_set")(state, 0, float("nan")) == Cause.NOT_FINITE
    assert library.function("updater_set")(state, 1, 0.0) == library.function("updater_set")(state, 7, 0.0) == 32
    assert library.function("updater_advance")(state, 1, float("inf")) == Cause.NOT_FINITE
    assert updater.snapshot() == before


def test_a_start_that_is_not_closed_or_on_another_branch_is_refused(compiled: Get) -> None:
    robot = compiled("fourbar")
    q = robot.reference
    q[robot.coordinates.index("j_ab")] += 0.1
    with pytest.raises(rc.AssemblyError, match="residual does not vanish"):
        robot.updater(q)
    updater = robot.updater(robot.reference)
    before = updater.snapshot()
    with pytest.raises(rc.AssemblyError):
        updater.start(q)
    assert updater.snapshot() == before
    mirrored = np.array([-0.7, 0.34968166, 1.10642558, -0.75610724])  # the linkage reflected in its base
    mirrored = robot._evaluation.correct(mirrored, 1e-13, 12)[0]
    with pytest.raises(ValueError, match="shape"):
        robot.updater(q[:3])
    flipped = np.array([0.7, *np.array([2.5, 2.0]), 0.0])
    for start in (mirrored, flipped):
        with pytest.raises(rc.AssemblyError):
            robot.updater(start)


def test_far_starts_are_acquired_as_the_assembler_does(compiled: Get) -> None:
    for name in ("fourbar", "stewart"):
        robot = compiled(name)
        random = np.random.default_rng(9)
        size = np.ones(len(robot.velocities)) * robot._description.column_scales
        size[[robot.velocities.index(v) for v in robot.independent]] *= 0.1
        for _ in range(15):
            start = robot.integrate(robot.reference, 0.6 * size * random.uniform(-1, 1, size.size))
            updater = Updater(robot._library, robot._description, np.zeros(0), UpdateLimits())
            with pytest.raises(ValueError, match="stands nowhere"):
                updater.update()
            report = updater.acquire(start)
            assert report.ok and report.residual < 1e-12
            np.testing.assert_allclose(updater.q, robot.assemble(start), atol=1e-9)


def test_unreachable_starts_and_singular_poses_are_typed(compiled: Get) -> None:
    robot = compiled("slider_crank")
    updater = Updater(robot._library, robot._description, np.zeros(0), UpdateLimits())
    with pytest.raises(ValueError, match="finite"):
        updater.acquire(np.full(4, np.nan))
    five = compiled("five_bar")
    apart = five.configuration({"hip_left": 2.6, "hip_right": 0.5})  # the knees are too far from one another
    with pytest.raises(rc.AssemblyError):
        Updater(five._library, five._description, np.zeros(0), UpdateLimits()).acquire(apart)


# --- bounds ---


@pytest.mark.parametrize("work", [1, 2, 3, 4, 7])
def test_work_is_bounded_and_a_bound_that_bites_changes_nothing(compiled: Get, work: int) -> None:
    robot = compiled("stewart")
    updater, random = robot.updater(robot.reference, work=work), np.random.default_rng(10)
    bitten = 0
    for _ in range(20):
        step_inputs(updater, random, scales(robot, 0.1))
        before = updater.snapshot()
        report = updater.update()
        assert report.evaluations <= work
        if not report.ok:
            assert updater.snapshot() == before
            bitten += report.stop is not None and report.stop.cause is Cause.WORK
            updater.revert()
    assert bitten > 0 or work == 7


def test_without_continuation_a_long_step_is_refused_as_far(compiled: Get) -> None:
    robot = compiled("fourbar")
    updater = robot.updater(robot.reference, substeps=0, homotopy=0)
    updater.set(0, 0.7 + 2.0)
    assert updater.update().stop is not None
    patient = robot.updater(robot.reference)
    patient.set(0, 0.7 + 2.0)
    report = patient.update()
    assert report.mode == "continued" and report.points > 1
    np.testing.assert_allclose(patient.q, robot.follow(robot.reference, {"j_ga": 2.7}).q, atol=1e-11)


def test_prediction_saves_evaluations_and_changes_no_result(compiled: Get) -> None:
    robot = compiled("stewart")
    with_it, without = robot.updater(robot.reference), robot.updater(robot.reference, prediction=False)
    count = [0, 0]
    for seed in range(30):
        for k, updater in enumerate((with_it, without)):
            step_inputs(updater, np.random.default_rng(seed), scales(robot, 0.02))
            report = updater.update()
            assert report.ok and report.mode == ("predicted", "direct")[k]
            count[k] += report.evaluations
        np.testing.assert_allclose(with_it.q, without.q, atol=1e-11)
    assert count[0] < count[1]


def test_limits_that_make_no_sense_are_refused(compiled: Get) -> None:
    robot = compiled("fourbar")
    with pytest.raises(ValueError, match="work must be a whole number from 0"):
        robot.updater(robot.reference, work=-1)
    with pytest.raises(ValueError, match="smallest_step must be a positive"):
        robot.updater(robot.reference, smallest_step=0.0)
    with pytest.raises(ValueError, match="port chart"):
        robot.chart("inner").updater(robot.reference)


# --- snapshots, parameters, odd robots ---


def test_a_snapshot_brings_everything_back(compiled: Get) -> None:
    robot = compiled("excavator")
    updater, random = robot.updater(robot.reference), np.random.default_rng(12)
    step_inputs(updater, random, scales(robot, 0.01))
    assert updater.update().ok
    kept, q, lift = updater.snapshot(), updater.q, updater.lift
    step_inputs(updater, random, scales(robot, 0.01))
    assert updater.update().ok and np.any(updater.q != q)
    updater.restore(kept)
    np.testing.assert_array_equal(updater.q, q)
    np.testing.assert_array_equal(updater.lift, lift)
    with pytest.raises(ValueError, match="a snapshot of 'excavator'"):
        compiled("fourbar").updater(compiled("fourbar").reference).restore(kept)


def test_parameters_mark_what_they_shape(build_folder: Path) -> None:
    records = four_bar(
        "1 + link", parameters={"link": {"default": 0.0}},
        reference={"joints": {"j_ga": 0.7, "j_ab": -0.35, "j_cg": -1.1}},
    )  # fmt: skip
    robot = built(build_folder, dataclasses.replace(records, name="stretched"))
    updater = robot.updater(robot.reference)
    updater.set_parameters([0.02])
    report = updater.update()
    assert report.ok and report.moved == ("module_0",) and report.mode == "direct"
    longer = robot.with_parameters({"link": 0.02})
    np.testing.assert_allclose(updater.q, longer.assemble(updater.q), atol=1e-12)
    assert np.abs(longer.residual(updater.q)).max() < 1e-12
    np.testing.assert_allclose(updater.lift, longer.lift(updater.q), atol=1e-12)
    updater.set_parameters([5.0])  # no coupler is that long
    before = updater.snapshot()
    assert updater.update().stop is not None and updater.snapshot() == before
    updater.revert()
    updater.set("j_ga", 0.8)
    assert updater.update().ok
    np.testing.assert_allclose(updater.q, longer.assemble(updater.q), atol=1e-12)


def test_a_held_walker_moves_its_feet_and_its_payload(
    tmp_path_factory: pytest.TempPathFactory, build_folder: Path
) -> None:
    robot = rc.load(built_walker(build_folder)).support("both feet")
    updater = robot.updater(robot.reference)
    found, reports = follow_randomly(updater, np.random.default_rng(13), scales(robot, 0.02), 60)
    assert len(found) > 20 and max(r.residual for r in reports if r.ok) < 1e-12
    q, mass = updater.q, updater.mass_matrix
    values = robot.parameters
    values["payload"] += 3.0
    updater.set_parameters(list(values.values()))
    report = updater.update()
    assert report.ok and report.moved == ()  # a mass shapes no loop
    np.testing.assert_array_equal(updater.q, q)
    heavier = robot.with_parameters(values)
    np.testing.assert_allclose(updater.mass_matrix, heavier.mass_matrix(q), rtol=1e-12)
    assert np.abs(updater.mass_matrix - mass).max() > 1e-3


def test_robots_without_loops_or_without_freedoms(build_folder: Path) -> None:
    open_chain = built(build_folder, tree())
    updater = open_chain.updater(open_chain.reference)
    updater.set("hinge", 1.25)
    report = updater.update()
    assert report.ok and report.mode == "rested" and updater.q.tolist() == [1.25]
    np.testing.assert_array_equal(updater.lift, np.eye(1))
    rigid = built(build_folder, truss())
    updater = rigid.updater(rigid.reference)
    assert updater.inputs == () and updater.update().ok
    assert updater.lift.shape == (len(rigid.velocities), 0)
    with pytest.raises(ValueError, match="is no input"):
        updater.set("foot", 1.0)


def test_couplings_are_modules_too(build_folder: Path) -> None:
    robot = built(build_folder, couplings())
    updater = robot.updater(robot.reference)
    name = robot.independent[0]
    updater.advance(name, 0.05)
    assert updater.update().ok
    first, second, third = (robot.joint(updater.q, joint) for joint in ("first", "second", "third"))
    assert abs(first - 2 * second + 0.1) < 1e-12 and abs(third - 0.3 * first**2) < 1e-12


def test_single_precision_walks_too(tmp_path: Path, compiled: Get) -> None:
    exact = compiled("rssr")
    single = rc.compile(
        Path(__file__).resolve().parent.parent / "models" / "rssr.yaml", output=tmp_path, real="float",
        extra_flags=("-O0",),
    )  # fmt: skip
    pair = [robot.updater(robot.assemble(robot.reference)) for robot in (exact, single)]
    for seed in range(100):
        for updater in pair:
            updater.advance("j1", 0.03 * np.random.default_rng(seed).uniform(-1, 1))
            assert updater.update().ok
    np.testing.assert_allclose(pair[1].q, pair[0].q, atol=2e-5)
    np.testing.assert_allclose(pair[1].lift, pair[0].lift, atol=1e-4)


def test_the_python_side_reads_the_header_right(compiled: Get, build_folder: Path) -> None:
    robot = compiled("stewart")
    header = "".join((build_folder / "stewart" / f"stewart{part}.h").read_text() for part in ("", "_motion"))
    for cause in Cause:
        assert re.search(rf"^#define STEWART_{cause.name} {cause.value} ", header, re.M), cause
    updater = robot.updater(robot.reference)
    assert robot._library.function("updater_size")() == len(updater.snapshot().content)


def test_modules_that_follow_others_are_touched_with_them() -> None:
    """What a module recovers may depend on what another one solves, through a third one even."""
    follows = [[True, False, False], [True, True, False], [False, True, True]]
    assert _spread([True, False, False], follows) == [True, True, True]
    assert _spread([False, True, False], follows) == [False, True, True]
    assert _spread([False, False, False], follows) == [False, False, False]
