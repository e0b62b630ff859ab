"""Support modes: the held mechanism, ranks and freedoms; compiled modes against the floating robot and an oracle."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from walker import built_walker, equals_the_oracle, moved, reduced, walker

import robocompiler as rc
from robocompiler.analysis.standing import standing_mechanism
from robocompiler.backend.options import BuildOptions
from robocompiler.cli import robocompile
from robocompiler.compiler import compile_to_folder
from robocompiler.errors import LoadError, ModelError, RankError
from robocompiler.graph.build import derive_topology
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.model import Support
from robocompiler.records.reader import read_mechanism
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.reduction import Reduction

MODELS = Path(__file__).resolve().parent.parent / "models"
GO2_MODES = (
    *(("FL_FR", 6), ("FL_RL", 6), ("FL_RR", 6), ("FR_RL", 6), ("FR_RR", 6), ("RL_RR", 6)),
    *(("FL_FR_RL", 9), ("FL_FR_RR", 9), ("FL_RL_RR", 9), ("FR_RL_RR", 9), ("FL_FR_RL_RR", 12)),
)


@cache
def floating(name: str) -> tuple[ClosureProgram, Reduction]:
    """A shipped robot without support."""
    return reduced(read_mechanism(MODELS / f"{name}.yaml"))


@pytest.fixture(scope="module")
def built(build_folder: Path) -> Path:
    """The walker and its two modes."""
    return built_walker(build_folder)


@pytest.fixture(scope="module")
def robot(built: Path) -> rc.Robot:
    """The floating walker."""
    return rc.load(built)


# --- ranks and freedoms ---


@pytest.mark.parametrize(("mode", "rank"), GO2_MODES)
def test_go2_ranks(mode: str, rank: int) -> None:
    program, reduction = reduced(standing_mechanism(*floating("go2"), mode))
    assert (reduction.rank.rank, len(program.active)) == (rank, 18)
    assert set(reduction.rank.ranks) == {rank}
    port = reduction.chart("port")
    names = [program.topology.v_names[index] for index in port.independent]
    assert len(names) == 18 - rank
    # Two point feet leave a rotation about their line that no motor holds; three or four leave the base to the motors.
    assert sum(name.startswith("base_link_free:") for name in names) == (1 if rank == 6 else 0)


def test_go2_modes_are_all_there() -> None:
    supports = floating("go2")[0].topology.mechanism.supports
    assert sorted(support.name for support in supports) == sorted(mode for mode, _ in GO2_MODES)


@pytest.mark.parametrize(("mode", "rank", "freedoms"), [("left", 70, 12), ("right", 70, 12), ("double", 76, 6)])
def test_kangaroo_ranks(mode: str, rank: int, freedoms: int) -> None:
    program, reduction = reduced(standing_mechanism(*floating("kangaroo"), mode))
    independent = [program.topology.v_names[index] for index in reduction.chart("port").independent]
    assert (reduction.rank.rank, len(program.active), len(independent)) == (rank, 82, freedoms)
    ported = {name for port in program.topology.mechanism.ports for name, _ in getattr(port.measure, "terms", ())}
    assert set(independent) <= ported  # motors are independent, the base follows
    before = dict(zip(floating("kangaroo")[0].topology.q_names, floating("kangaroo")[1].reference, strict=True))
    after = dict(zip(program.topology.q_names, reduction.reference, strict=True))
    assert set(after) == set(before)
    assert max(abs(after[name] - before[name]) for name in before) < 1e-12  # it stands where it floated


def test_kangaroo_floats_with_rank_64() -> None:
    program, reduction = floating("kangaroo")
    assert (reduction.rank.rank, len(program.active)) == (64, 82)


# --- the mechanism of a mode ---


def test_records_of_a_mode() -> None:
    program, reduction = reduced(walker())
    held = standing_mechanism(program, reduction, "both feet")
    assert (held.name, held.supports) == ("walker_both feet", ())
    kinds = {joint.name: joint.type.value for joint in held.joints if joint.name.endswith(("_support", "_free"))}
    assert kinds == {"left_foot_support": "fixed", "right_foot_support": "spherical", "trunk_free": "free"}
    assert [base.body for base in held.reference.bases] == ["ball"]  # what no contact holds still floats
    topology = derive_topology(held)
    assert {chord.joint for chord in topology.chords} == {"left_foot_support", "right_foot_support"}
    assert [component.free_joint for component in topology.components] == ["", "ball_free"]
    q = dict(zip(program.topology.q_names, reduction.reference, strict=True))
    after = dict(zip(topology.q_names, reduced(held)[1].reference, strict=True))
    assert set(q) <= set(after)
    assert max(abs(q[name] - after[name]) for name in q) < 1e-12


def test_contact_names_stay_unique() -> None:
    records = walker()
    renamed = tuple(
        replace(joint, name="left_foot_support") if joint.name == "left_knee" else joint for joint in records.joints
    )
    values = tuple(
        ("left_foot_support" if name == "left_knee" else name, value) for name, value in records.reference.coordinates
    )
    changed = replace(
        records,
        joints=renamed,
        ports=tuple(port for port in records.ports if port.name != "left_knee"),
        reference=replace(records.reference, coordinates=values),
    )
    held = standing_mechanism(*reduced(changed), "left")
    assert [joint.name for joint in held.joints if joint.name.startswith("left_foot")] == [
        "left_foot_support",
        "left_foot_support_",
    ]


def test_a_contact_may_be_a_body_and_the_free_joint_a_record() -> None:
    records = walker()
    joints = derive_topology(records).mechanism.joints  # with the free joints as if the user had written them
    coordinates = tuple(zip(derive_topology(records).q_names, reduced(records)[1].reference, strict=True))
    written = replace(
        records,
        joints=joints,
        reference=replace(records.reference, coordinates=coordinates, bases=()),
        supports=(Support("shin", (("left_shin", "weld"),)),),
    )
    program, reduction = reduced(standing_mechanism(*reduced(written), "shin"))
    assert {chord.joint for chord in program.topology.chords} == {"left_shin_support"}
    assert (reduction.rank.rank, len(reduction.chart("port").independent)) == (6, 12)  # six of them the ball's


# --- compiled modes ---


@pytest.mark.parametrize("chart", ["port", "inner"])
def test_held_frames_do_not_move(robot: rc.Robot, chart: str) -> None:
    held = robot.chart(chart).support("both feet")
    assert held.chart_name == chart
    assert set(robot.coordinates) < set(held.coordinates)
    for seed in range(3):
        q = moved(held, seed)
        assert np.abs(q - held.reference).max() > 1e-3
        assert np.abs(held.residual(q)).max() < 1e-12
        left, right = held.task_jacobian("left_foot", q), held.task_jacobian("right_foot", q)
        assert np.abs(left).max() < 1e-12
        assert np.abs(right[3:]).max() < 1e-12
        assert np.abs(right[:3]).max() > 0.1  # a point holds no orientation
        assert np.abs(held.closure_jacobian(q) @ held.lift(q)).max() < 1e-11
        for frame in ("left_foot", "right_foot"):
            np.testing.assert_allclose(held.pose(frame, q)[1], robot.pose(frame, robot.reference)[1], atol=1e-12)
        np.testing.assert_allclose(
            held.pose("left_foot", q)[0], robot.pose("left_foot", robot.reference)[0], atol=1e-12
        )


@pytest.mark.parametrize(("mode", "freedoms"), [("left", 12), ("both feet", 9)])
def test_forward_dynamics_equals_the_oracle(robot: rc.Robot, mode: str, freedoms: int) -> None:
    held = robot.with_parameters({"payload": 3.5}).support(mode)
    assert len(held.independent) == freedoms
    assert held.parameters["payload"] == 3.5
    oracle = MaximalModel(walker(), {"payload": 3.5}, support=mode)
    for seed in range(3):
        equals_the_oracle(held, oracle, moved(held, seed), seed)


def test_contact_force_carries_the_weight(robot: rc.Robot) -> None:
    held = robot.support("left")
    q = held.reference
    rest = np.zeros(len(held.independent))
    tau = held.inverse_dynamics(q, rest, rest)
    ball = [k for k, name in enumerate(held.independent) if name.startswith("ball_free")]
    R = held.pose("ball", q)[0]
    wrench = np.zeros(6)
    wrench[5] = 9.81 * 0.4
    assert np.abs(tau[ball][3:] - R.T @ wrench[3:]).max() < 1e-12  # it takes its own weight to keep the ball up
    f = held.port_efforts(q, tau - held.task_jacobian("ball", q).T @ wrench)
    found = held.reactions(q, rest, f, {"ball": wrench})
    assert not found.undetermined.any()
    force = found.values[3:]  # on the foot, in world axes
    np.testing.assert_allclose(force, [0, 0, 9.81 * (7 + 6 * 0.7)], atol=1e-9)


# --- what is refused ---


def test_unknown_modes_are_refused(robot: rc.Robot, tmp_path: Path) -> None:
    assert robot.supports == {"left": {"left_foot": "weld"}, "both feet": {"left_foot": "weld", "right_foot": "point"}}
    with pytest.raises(ValueError, match="no support mode is called 'lef'; did you mean 'left'"):
        robot.support("lef")
    with pytest.raises(ModelError, match="no support mode is called 'both'; did you mean 'both feet'"):
        rc.compile(walker(), output=tmp_path, supports=["both"])
    with pytest.raises(ModelError, match="declares no support mode"):
        rc.compile(replace(walker(), supports=()), output=tmp_path, supports="all")
    with pytest.raises(ModelError, match="no support mode is called 'x'"):
        standing_mechanism(*reduced(walker()), "x")
    assert not list(tmp_path.iterdir())


def test_a_mode_that_was_not_compiled_says_how(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "walker"
    shutil.copytree(built, folder)
    _, report = compile_to_folder(walker(), tmp_path, supports="left", options=BuildOptions(extra_flags=("-O0",)))
    assert report.compiled == report.supports["left"].compiled == ()  # objects are reused mode by mode
    found = rc.load(folder)
    with pytest.raises(LoadError, match=r"'both feet' was not compiled.*supports='both feet'.*--support 'both feet'"):
        found.support("both feet")
    left = folder / "supports" / "left"
    assert found.support("left").name == "walker_left"
    left.rename(tmp_path / "kept")
    with pytest.raises(LoadError, match="no such folder or manifest"):
        found.support("left")
    (folder / "supports" / "both_X20feet").rename(left)  # a whole robot, but not the one that the manifest means
    with pytest.raises(LoadError, match="comes from another compile"):
        found.support("left")


def test_a_mode_without_a_clear_rank_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from robocompiler import compiler

    passes = compiler.reduce_closures

    def fail(program: ClosureProgram, *others: Any) -> Reduction:
        if program.topology.mechanism.name == "walker_left":
            raise RankError("no clear gap")
        return passes(program, *others)

    monkeypatch.setattr(compiler, "reduce_closures", fail)
    with pytest.raises(RankError, match="in support mode 'left': no clear gap"):
        rc.compile(walker(), output=tmp_path, supports="left")
    assert not list(tmp_path.iterdir())


# --- command line ---

POGO = """
robocompiler: 1
name: pogo
bodies:
  trunk: {mass: 3, inertia: [0.1, 0.1, 0.1]}
  shin: {mass: 1, inertia: [0.01, 0.01, 0.01]}
joints:
  knee: {type: prismatic, a: trunk, b: shin, axis: [0, 0, 1]}
ports:
  motor: {joint: knee}
supports:
  toe/point: {shin: point}
  flat: {shin: weld}
reference: {base: {xyz: [0, 0, 1]}}
"""


def test_command_line(tmp_path: Path) -> None:
    model = tmp_path / "pogo.yaml"
    model.write_text(POGO)
    arguments = [str(model), "-o", str(tmp_path / "out"), "--emit-only"]
    result = CliRunner().invoke(robocompile, [*arguments, "--support", "all", "--json"])
    assert result.exit_code == 0, result.output
    supports = {entry["name"]: entry for entry in json.loads(result.stdout)["supports"]}
    assert {name: (s["rank"]["rank"], s["rank"]["freedoms"]) for name, s in supports.items()} == {
        "toe/point": (3, 4),
        "flat": (6, 1),
    }
    assert supports["flat"]["independent"] == ["knee"]
    manifest = json.loads((tmp_path / "out" / "pogo" / "pogo.manifest.json").read_text())
    folders = {entry["name"]: entry["folder"] for entry in manifest["supports"]}
    assert folders == {"toe/point": "supports/toe_X2Fpoint", "flat": "supports/flat"}
    for entry in manifest["supports"]:
        (file,) = (tmp_path / "out" / "pogo" / entry["folder"]).glob("*.manifest.json")
        assert json.loads(file.read_text())["digest"] == entry["digest"]

    table = CliRunner().invoke(robocompile, [*arguments, "--support", "flat"])
    assert table.exit_code == 0
    assert "support mode" in table.stdout
    assert "weld shin" in table.stdout
    manifest = json.loads((tmp_path / "out" / "pogo" / "pogo.manifest.json").read_text())
    assert {entry["name"]: entry["folder"] for entry in manifest["supports"]} == {
        "toe/point": None,
        "flat": "supports/flat",
    }
    wrong = CliRunner().invoke(robocompile, [*arguments, "--support", "flatt"])
    assert wrong.exit_code != 0
    assert isinstance(wrong.exception, ModelError) or "did you mean 'flat'" in wrong.output
