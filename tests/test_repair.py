"""Repair of near-redundant loops: what is changed, by how much, what is left alone, and what the oracle says of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from repair_cases import gripper, parallelogram, spherical, tilted
from test_rank import rounded

from robocompiler.analysis.reduce import reduce_closures
from robocompiler.analysis.repair_text import repair_text
from robocompiler.analysis.repairing import Repair, repair_mechanism
from robocompiler.errors import AssemblyError, RankError
from robocompiler.graph.build import derive_topology
from robocompiler.importers.import_model import import_model
from robocompiler.importers.options import ImportOptions
from robocompiler.numerics.gap import CLEAR, NOISE
from robocompiler.oracle.maximal import MaximalModel, freedoms
from robocompiler.oracle.maximal_mp import PreciseModel
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism, Placement
from robocompiler.records.reader import mechanism_from_dict, read_mechanism, read_mechanism_text
from robocompiler.records.yaml_writer import mechanism_yaml
from robocompiler.repair.planar_groups import planar_groups
from robocompiler.symbolic.closures import build_closures

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "tests" / "data" / "import" / "kangaroo_published.xml"
SIDES = ("left", "right")
BENT = {f"{side}_leg_length_short_bars_joint" for side in SIDES} | {f"leg_{side}_1_motor" for side in SIDES}
PINS = {f"{side}_hip_differential_{k}" for side in SIDES for k in (2, 3)}


def refused(mechanism: Mechanism) -> str:
    with pytest.raises((RankError, AssemblyError)) as caught:
        reduce_closures(build_closures(derive_topology(mechanism)))
    return str(caught.value)


@cache
def kangaroo() -> tuple[Mechanism, Repair]:
    mechanism = import_model(PUBLISHED, ImportOptions(hinges=False)).mechanism
    return mechanism, repair_mechanism(mechanism)


@cache
def excavator() -> tuple[Mechanism, Repair]:
    mechanism = rounded(read_mechanism(ROOT / "models" / "excavator.yaml"), 5)
    return mechanism, repair_mechanism(mechanism)


@cache
def small(name: str) -> tuple[Mechanism, Repair]:
    if name == "gripper":
        mechanism = gripper(4)
    else:
        mechanism = (spherical if name.startswith("spherical") else parallelogram)(4, int(name[-1]))
    return mechanism, repair_mechanism(mechanism)


def test_published_kangaroo_has_eighteen_freedoms_and_its_changes_are_told() -> None:
    mechanism, repair = kangaroo()
    assert repair.freedoms == 18
    assert repair.after.clear and set(repair.after.ranks) == {repair.after.rank}
    assert len(repair.after.ranks) > 3, "the rank must be judged along the motion"
    assert repair.after.smallest_kept > 1e-3
    assert repair.after.largest_dropped < 1e-13
    assert not repair.before.clear and len(repair.before.between) == 8
    assert {change.joint for change in repair.changes} == BENT
    for change in repair.changes:
        assert change.axis == pytest.approx(4.24264e-6, rel=1e-5)
        assert (change.frame_a, change.frame_b, change.distance) == (0, 0, 0)
    changed = {joint.name for joint in mechanism.joints if joint not in repair.mechanism.joints}
    assert changed == BENT | {f"{pin}{letter}" for pin in PINS for letter in "ab"}
    text = repair_text(repair)
    assert "leg_left_1_motor: axis 4.24 microradians" in text
    assert "18 independent speeds" in text
    assert "one universal joint left_hip_differential_2a" in text


def test_published_kangaroo_gets_the_axes_and_universal_joints_of_the_model_made_by_hand() -> None:
    by_hand = read_mechanism(ROOT / "models" / "kangaroo.yaml")
    _, repair = kangaroo()
    for name in BENT:
        np.testing.assert_allclose(repair.mechanism.joint(name).axis, by_hand.joint(name).axis, atol=1e-15)
    for name in PINS:
        ours, theirs = repair.mechanism.joint(f"{name}a"), by_hand.joint(name)
        assert ours.type is theirs.type is JointType.UNIVERSAL
        for side in ("a", "b"):
            one, two = getattr(ours, side), getattr(theirs, side)
            assert one.body == two.body
            np.testing.assert_allclose(one.translation, two.translation, atol=1e-12)
            # the pin itself; across it, theirs stands at zero and ours at the reference, some mrad away
            pins = [np.array(p.rotation) @ j.axis for p, j in ((one, ours), (two, theirs))]
            np.testing.assert_allclose(np.cross(*pins), 0, atol=1e-12)
            second = [np.array(p.rotation) @ j.axis2 for p, j in ((one, ours), (two, theirs))]
            assert np.linalg.norm(np.cross(*second)) < 0.01


def test_published_kangaroo_without_repair_is_refused_and_why_is_explained() -> None:
    message = refused(kangaroo()[0])
    for part in (
        "closed by left_hip_yaw_closed",
        "leg_left_1_motor: axis 4.24 microradians",
        "--repair",
        *sorted(PINS),
    ):
        assert part in message


def test_excavator_with_rounded_axes_gets_its_axes_back() -> None:
    mechanism, repair = excavator()
    exact = read_mechanism(ROOT / "models" / "excavator.yaml")
    assert (repair.freedoms, repair.after.rank) == (7, 16)
    assert repair.after.largest_dropped < 1e-13
    assert len(repair.before.between) == 5
    loops = {name for loop in repair.loops for name in loop.joints}
    for joint in repair.mechanism.joints:
        if joint.name in loops and joint.type is JointType.REVOLUTE:
            np.testing.assert_allclose(joint.axis, exact.joint(joint.name).axis, atol=1e-13)
        assert (joint.a, joint.b) == (exact.joint(joint.name).a, exact.joint(joint.name).b)
    # axes off any loop may point where they like: the swing q23 and the bucket's rotation q21 stay as they were
    for name in ("q21", "q23"):
        assert repair.mechanism.joint(name) == mechanism.joint(name)
    assert max(change.angle for change in repair.changes) < 6e-6
    assert all(f"closed by {chord}" in refused(mechanism) for chord in ("q11", "q9"))


@pytest.mark.parametrize("name", ["parallelogram0", "parallelogram1", "parallelogram4", "gripper", "spherical0"])
def test_loops_written_with_four_decimals(name: str) -> None:
    mechanism, repair = small(name)
    assert "--repair" in refused(mechanism)
    assert repair.freedoms == 1
    assert not repair.before.clear and repair.after.clear
    assert repair.after.largest_dropped < 1e-13
    assert 0 < repair.size < 3e-4
    if not name.startswith("spherical"):  # a direction that hinges agree on is kept; four axes miss each other
        assert {change.joint for change in repair.changes} < {joint.name for joint in mechanism.joints}


@pytest.mark.parametrize("name", ["parallelogram0", "gripper"])
def test_no_smaller_change_of_the_jacobian_makes_the_loops_redundant(name: str) -> None:
    _, repair = small(name)
    assert NOISE < repair.needed < CLEAR
    assert repair.needed <= repair.made * (1 + 1e-9)
    assert repair.made < 1.01 * repair.needed


@pytest.mark.parametrize("name", ["parallelogram0", "parallelogram1", "gripper", "spherical0"])
def test_repaired_loops_are_redundant_along_the_motion_in_fifty_digits(name: str) -> None:
    mechanism, repair = small(name)
    drive = {"g": "left_drive", "p": "j_a", "s": "s_a"}[name[0]]
    model = PreciseModel(repair.mechanism)
    rounding = MaximalModel(mechanism)
    pose = model.project(model.pose(), [drive])
    for angle in (0.0, 0.2, 0.45):
        pose = model.project(model.pose({**pose.values, drive: angle}), [drive])
        rank, speeds = freedoms(model, pose)
        values = np.array(model.state(pose).space.singular_values, dtype=float)
        assert speeds == 1
        assert values[rank - 1] > 1e-3 * values[0]
        assert values[rank:].max() < 1e-13 * values[0]
        # the same test sees the fault in what was given
        given = np.linalg.svd(_rows(rounding, {n: float(v) for n, v in pose.values.items()}), compute_uv=False)
        assert (given > 1e-8 * given[0]).sum() > rank


def _rows(model: MaximalModel, values: dict[str, float]) -> np.ndarray:
    """All constraint rows in maximal coordinates at joint values."""
    rows, _, _ = model.linearise(model.pose(values), None)
    matrix = np.zeros((len(rows), model.columns))
    for k, row in enumerate(rows):
        for column, entry in row.entries.items():
            matrix[k, column] = float(entry)
    return matrix


@pytest.mark.parametrize("name", ["kangaroo", "excavator"])
def test_repaired_robots_have_their_freedoms_in_maximal_coordinates(name: str) -> None:
    """In 50 digits, at the reference and at a state reached by driving all independent speeds."""
    _, repair = kangaroo() if name == "kangaroo" else excavator()
    model = PreciseModel(repair.mechanism)
    pose = model.project(model.pose())
    names = model.state(pose).independent
    values = {key: float(value) for key, value in pose.values.items()}
    moved = {key: value + 0.02 if key in names else value for key, value in values.items()}
    for there in (pose, model.project(model.pose(moved), names)):
        rank, speeds = freedoms(model, there)
        sizes = np.array(model.state(there).space.singular_values, dtype=float)
        assert speeds == repair.freedoms
        assert sizes[rank:].max(initial=0.0) < 1e-12 * sizes[0]
        assert sizes[rank - 1] > 1e-4 * sizes[0]


@pytest.mark.parametrize("name", ["parallelogram0", "gripper"])
def test_repaired_records_are_written_and_read_back(name: str) -> None:
    _, repair = small(name)
    assert read_mechanism_text(mechanism_yaml(repair.mechanism)) == repair.mechanism


def test_repair_is_done_once_and_changes_nothing_afterwards() -> None:
    _, repair = small("parallelogram0")
    again = repair_mechanism(repair.mechanism)
    assert again.mechanism is repair.mechanism
    assert (again.loops, again.changes, again.freed, again.freedoms) == ((), (), (), 1)


@pytest.mark.parametrize("name", ["fourbar", "crane", "parallel_ankle", "stewart"])
def test_a_mechanism_whose_rank_is_clear_is_left_alone(name: str) -> None:
    mechanism = read_mechanism(ROOT / "models" / f"{name}.yaml")
    repair = repair_mechanism(mechanism)
    assert repair.mechanism is mechanism
    assert not repair.changes
    assert "nothing to repair" in repair_text(repair)


def test_a_tilt_that_locks_the_loop_is_mechanics_and_left_alone() -> None:
    locked = tilted(parallelogram(12), "j_d", 5e-3)
    repair = repair_mechanism(locked)
    assert repair.mechanism is locked
    assert repair.freedoms == 0


def test_a_small_tilt_beyond_the_bound_is_refused() -> None:
    with pytest.raises(RankError, match=r"nothing was repaired.*more than 200 microradians") as caught:
        repair_mechanism(tilted(parallelogram(12), "j_d", 2.1e-4))
    assert "j_d: axis 210 microradians" in str(caught.value)
    assert caught.value.report["changes"]["j_d"] == pytest.approx(2.1e-4, rel=1e-6)
    assert "leaves the model alone" in refused(tilted(parallelogram(12), "j_d", 2.1e-4))


def test_anchors_beyond_the_bound_are_refused() -> None:
    """A gripper of 6 cm turned by 0.7 rad: four decimals move its anchors by 30 micrometres, half a part in 1000."""
    with pytest.raises(RankError, match=r"nothing was repaired.*micrometres"):
        repair_mechanism(gripper(4, yaw=0.7))


@pytest.mark.parametrize("angle", [2e-8, 1e-5, 1.5e-4])
def test_one_tilted_axis_is_turned_back_and_nothing_else(angle: float) -> None:
    exact = parallelogram(12)
    repair = repair_mechanism(tilted(exact, "j_d", angle))
    assert [change.joint for change in repair.changes] == ["j_d"]
    assert repair.changes[0].axis == pytest.approx(angle, abs=1e-11)
    np.testing.assert_allclose(repair.mechanism.joint("j_d").axis, exact.joint("j_d").axis, atol=2e-12)


def test_an_anchor_off_the_plane_is_moved_back_along_the_normal() -> None:
    exact = parallelogram(12)
    joint = exact.joint("j_c")
    n = np.array(joint.b.rotation) @ joint.axis
    x, y, z = (np.array(joint.b.translation, dtype=float) + 3e-5 * n).tolist()
    moved = replace(joint, b=replace(joint.b, translation=(x, y, z)))
    shifted = replace(exact, joints=tuple(moved if own.name == "j_c" else own for own in exact.joints))
    assert "anchor a 30 micrometres" in refused(shifted)
    repair = repair_mechanism(shifted)
    assert [change.angle for change in repair.changes] == [0.0]
    assert repair.changes[0].distance == pytest.approx(3e-5, rel=1e-6)
    assert repair.freedoms == 1


def test_an_axis_that_misses_the_centre_of_a_spherical_loop_is_moved_through_it() -> None:
    exact = spherical(15)
    assert not repair_mechanism(exact).changes
    joint = exact.joint("s_b")
    move = 2e-5 * np.cross(joint.axis, (0.6, 0.0, 0.8)) / np.linalg.norm(np.cross(joint.axis, (0.6, 0.0, 0.8)))

    def moved(side: Placement) -> Placement:
        x, y, z = (np.array(side.translation, dtype=float) + np.array(side.rotation) @ move).tolist()
        return replace(side, translation=(x, y, z))

    off = replace(joint, a=moved(joint.a), b=moved(joint.b))
    bent = replace(exact, joints=tuple(off if own.name == "s_b" else own for own in exact.joints))
    assert "s_b: anchor a 20 micrometres, anchor b 20 micrometres" in refused(bent)
    repair = repair_mechanism(bent)
    assert [change.joint for change in repair.changes] == ["s_b"]
    assert (repair.freedoms, repair.changes[0].angle) == (1, 0.0)
    for side in ("a", "b"):
        now, then = (getattr(m.joint("s_b"), side).translation for m in (repair.mechanism, exact))
        np.testing.assert_allclose(now, then, atol=1e-13)


def test_a_slide_that_is_not_square_to_the_hinges_is_squared() -> None:
    crank = read_mechanism(ROOT / "models" / "slider_crank.yaml")
    slide = next(joint for joint in crank.joints if joint.type is JointType.PRISMATIC)
    hinge = next(joint for joint in crank.joints if joint.type is JointType.REVOLUTE)
    n = np.array(slide.a.rotation).T @ np.array(hinge.a.rotation) @ hinge.axis  # both on the world
    x, y, z = (np.array(slide.axis) + 1e-5 * n).tolist()
    bent = replace(slide, axis=(x, y, z))
    repair = repair_mechanism(
        replace(crank, joints=tuple(bent if own.name == slide.name else own for own in crank.joints))
    )
    assert [change.joint for change in repair.changes] == [slide.name]
    np.testing.assert_allclose(repair.mechanism.joint(slide.name).axis, slide.axis, atol=1e-15)


@pytest.mark.parametrize("kind", ["planar", "cylindrical", "spherical"])
def test_other_joints_that_close_planar_loops(kind: str) -> None:
    """A parallelogram closed by another joint, or resting on a plane as well, with a pin tilted by 1e-5 rad."""
    data = parallelogram_data()
    if kind == "planar":
        ends = {"a": {"body": "world", "xyz": [1, 1, 0]}, "b": {"body": "coupler", "xyz": [1, 0, 0]}}
        data["joints"]["rest"] = {"type": "planar", "axis": [0, 0, 1], **ends}
    else:
        data["joints"]["j_c"]["type"] = kind
        if kind == "spherical":
            del data["joints"]["j_c"]["axis"]
    exact = mechanism_from_dict(data)
    repair = repair_mechanism(tilted(exact, "j_d", 1e-5))
    assert [change.joint for change in repair.changes] == ["j_d"]
    assert repair.changes[0].axis == pytest.approx(1e-5, rel=1e-6)
    np.testing.assert_allclose(repair.mechanism.joint("j_d").axis, (0, 0, 1), atol=1e-16)
    assert repair.freedoms == 1


def test_a_planar_joint_is_turned_with_both_frames_so_that_its_directions_stay() -> None:
    data = parallelogram_data()
    ends = {"a": {"body": "world", "xyz": [1, 1, 0]}, "b": {"body": "coupler", "xyz": [1, 0, 0]}}
    data["joints"]["rest"] = {"type": "planar", "axis": [0, 0, 1], **ends}
    repair = repair_mechanism(tilted(mechanism_from_dict(data), "rest", 1e-5))
    (change,) = repair.changes
    assert (change.joint, change.axis, change.distance) == ("rest", 0, 0)
    assert change.frame_a == pytest.approx(1e-5, rel=1e-6)
    assert change.frame_b == pytest.approx(1e-5, rel=1e-6)
    rest = repair.mechanism.joint("rest")
    for side in (rest.a, rest.b):
        np.testing.assert_allclose(np.array(side.rotation) @ rest.axis, (0, 0, 1), atol=1e-16)


def test_anchors_that_parameters_move_are_not_repaired() -> None:
    data = parallelogram_data()
    data["parameters"] = {"lift": {"default": 2e-5}}
    data["joints"]["j_c"]["b"]["xyz"] = [0.0, 1.0, "lift"]
    mechanism = mechanism_from_dict(data)
    assert evaluate(mechanism.joint("j_c").b.translation[2], mechanism.defaults) == 2e-5
    repair = repair_mechanism(mechanism_from_dict({**data, "parameters": {"lift": {"default": 0.0}}}))
    assert not repair.changes
    with pytest.raises(RankError, match="expressions over parameters"):
        repair_mechanism(mechanism)


def parallelogram_data() -> dict[str, Any]:
    """Upright in the plane z = 0, links of 1 m and 2 m along their bodies' axes."""
    body = {"mass": 1.0, "inertia": [0.01, 0.01, 0.01, 0, 0, 0]}
    pin = {"type": "revolute", "axis": [0, 0, 1]}
    return {
        "robocompiler": 1,
        "name": "upright",
        "bodies": {"crank": body, "coupler": body, "rocker": body},
        "joints": {
            "j_a": {**pin, "a": {"body": "world"}, "b": {"body": "crank"}},
            "j_d": {**pin, "a": {"body": "crank", "xyz": [0, 1, 0]}, "b": {"body": "coupler"}},
            "j_b": {**pin, "a": {"body": "world", "xyz": [2, 0, 0]}, "b": {"body": "rocker"}},
            "j_c": {**pin, "a": {"body": "coupler", "xyz": [2, 0, 0]}, "b": {"body": "rocker", "xyz": [0, 1, 0]}},
        },
    }


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("fourbar", [{"j_ga", "j_ab", "j_bc", "j_cg"}]),
        ("stewart", []),
        ("delta", []),
        ("panda", []),
        ("parallel_ankle", []),
        ("crane", None),
        ("excavator", None),
    ],
)
def test_planar_groups_are_the_planar_loops(name: str, groups: list[set[str]] | None) -> None:
    topology = derive_topology(read_mechanism(ROOT / "models" / f"{name}.yaml"))
    found = planar_groups(topology)
    if groups is not None:
        assert [set(group.joints) for group in found] == groups
    else:
        closed = {name for group in found for name in (*group.closing, *group.balls)}
        assert len(closed) == len(topology.chords)  # every loop of these is planar
    names = [name for group in found for name in group.joints if topology.kind(name) is JointType.REVOLUTE]
    assert len(names) == len(set(names)), "a hinge has one direction, so it belongs to one group"
