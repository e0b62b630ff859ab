"""Edited records compiled in a running robot's place: what is rebuilt, carried and refused."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from casadi_mechanics import CasadiMechanics
from case_models import mechanism
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.backend.choices import Choices, read_choices
from robocompiler.backend.options import BuildOptions
from robocompiler.errors import AssemblyError, CompileError, ModelError
from robocompiler.records.model import Mechanism
from robocompiler.runtime.motion.carry import alike

Array = NDArray[np.float64]
GROUND, CRANK, COUPLER, ROCKER = 0.9, 0.3, 1.0, 0.6


def loop(side: str, y: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Bodies and joints of one four-bar loop in a plane y = const."""
    link = {"mass": 0.8, "inertia": [0.01, 0.02, 0.015]}
    bodies = {f"{side}_{part}": {**link, "com": [0.1, 0, 0.02]} for part in ("crank", "coupler", "rocker")}
    hinge = {"type": "revolute", "axis": [0, -1, 0]}
    joints = {
        f"{side}_drive": {**hinge, "a": {"body": "world", "xyz": [0, y, 0]}, "b": f"{side}_crank"},
        f"{side}_b": {**hinge, "a": {"body": f"{side}_crank", "xyz": [CRANK, 0, 0]}, "b": f"{side}_coupler"},
        f"{side}_c": {
            **hinge, "a": {"body": f"{side}_coupler", "xyz": [COUPLER, 0, 0]},
            "b": {"body": f"{side}_rocker", "xyz": [ROCKER, 0, 0]},
        },
        f"{side}_pivot": {**hinge, "a": {"body": "world", "xyz": [GROUND, y, 0]}, "b": f"{side}_rocker"},
    }  # fmt: skip
    return bodies, joints


def motor(port: str, start: float) -> dict[str, Any]:
    """A drive whose effort follows its command with a lag."""
    return {
        "port": port, "commands": {"wanted": {}}, "states": {"effort_now": {"initial": start}},
        "effort": "effort_now", "rates": {"effort_now": "(wanted - effort_now)/0.05"},
    }  # fmt: skip


def twins() -> Mechanism:
    """Two four-bar loops that do not know of one another."""
    parts = [loop("one", 0.0), loop("two", 0.5)]
    bodies = {name: body for part, _ in parts for name, body in part.items()}
    joints = {name: joint for _, part in parts for name, joint in part.items()}
    angles = {"drive": 0.9, "b": -0.5, "c": 1.2, "pivot": 1.6}
    return mechanism(
        "twins",
        {
            "bodies": bodies,
            "joints": joints,
            "ports": {side: {"joint": f"{side}_drive"} for side in ("one", "two")},
            "parameters": {"load": 0.0},
            "drives": {"motor": motor("one", 0.5)},
            "reference": {"joints": {f"{side}_{name}": x for side in ("one", "two") for name, x in angles.items()}},
        },
    )


def coupler_pin(crank: float, rocker: float = ROCKER) -> tuple[float, float]:
    """(x, z) of the pin between coupler and rocker: two circles meet above the ground line."""
    bx, bz = CRANK * math.cos(crank), CRANK * math.sin(crank)
    dx, dz = GROUND - bx, -bz
    distance = math.hypot(dx, dz)
    along = (COUPLER**2 - rocker**2 + distance**2) / (2 * distance)
    across = math.sqrt(COUPLER**2 - along**2)
    return bx + (along * dx - across * dz) / distance, bz + (along * dz + across * dx) / distance


def pin(robot: rc.Robot, side: str, q: Array) -> Array:
    """The same from the robot."""
    R, p = robot.pose(f"{side}_coupler", q)
    return np.asarray(R @ [COUPLER, 0, 0] + p)[[0, 2]]


LONGER = {"joints": {"two_c": {"b": {"xyz": [0.65, 0, 0]}}}}
HEAVIER = {"bodies": {"one_coupler": {"mass": 1.4}}}
LIMB = {
    "bodies": {"hand": {"mass": 0.2, "com": [0, 0, 0.1], "inertia": [1e-3, 1e-3, 1e-3]}},
    "joints": {
        "wrist": {
            "type": "revolute", "a": {"body": "one_coupler", "xyz": [0.5, 0, 0.1]}, "b": "hand", "axis": [1, 0, 0],
        },
    },
    "frames": {"tool": {"body": "hand", "xyz": [0, 0, 0.2]}},
    "ports": {"wrist": {"joint": "wrist"}},
    "drives": {"grip": motor("wrist", 0.1)},
    "parameters": {"other": 1.0},
}  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """The twins, the state that is carried, and a copy of the folder to reload in."""

    robot: rc.Robot
    q: Array
    u: Array


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled twins."""
    output = tmp_path_factory.mktemp("twins")
    return rc.compile(twins(), output=output, extra_flags=("-O0",))._library.folder


@pytest.fixture
def running(original: Path, tmp_path: Path) -> Compiled:
    """A running robot in a folder of its own, away from its reference and moving."""
    robot = rc.load(shutil.copytree(original, tmp_path / "twins"))
    q = robot.assemble(robot.configuration({"one_drive": 1.1, "two_drive": 0.7}))
    return Compiled(robot, q, np.array([2.0, -1.5]))


def module_of(robot: rc.Robot, joint: str) -> str:
    """The module that a joint's speed belongs to."""
    return next(module.name for module in robot.modules if joint in (*module.dependents, *module.independents))


def test_geometry_of_one_loop_rebuilds_its_module_only(running: Compiled) -> None:
    old, q, u = running.robot, running.q, running.u
    before = old.forward_dynamics(q, u, [1.0, 2.0])
    found = rc.reload(old, rc.edited(twins(), LONGER), q, u)
    new, carried = found.robot, found.carried
    assert carried is not None
    one, two = module_of(old, "one_b"), module_of(old, "two_b")
    assert one not in found.rebuilt
    assert "joints.two_c.b" in found.rebuilt[two]
    assert found.reused > 0
    assert f"  {two}: {found.rebuilt[two]}" in str(found)
    # both robots live side by side
    np.testing.assert_allclose(pin(old, "two", q), coupler_pin(0.7), atol=1e-12)
    np.testing.assert_allclose(pin(new, "two", carried.q), coupler_pin(0.7, 0.65), atol=1e-12)
    assert np.array_equal(old.forward_dynamics(q, u, [1.0, 2.0]), before)
    assert np.abs(new.residual(carried.q)).max() < 1e-12
    assert np.abs(new.residual(q)).max() > 1e-3
    # what was not touched is carried bit for bit
    assert (carried.held, carried.joints.new, dict(carried.joints.lost)) == ("independents", (), {})
    for name in new.coordinates:
        if name.startswith("one_") or name == "two_drive":
            assert new.joint(carried.q, name) == old.joint(q, name), name
    changed = {name for name, x in zip(new.velocities, carried.q_change, strict=True) if x}
    assert changed == {"two_b", "two_c", "two_pivot"}
    assert carried.largest_change[0] in changed
    assert abs(carried.largest_change[1]) == np.abs(carried.q_change).max() > 0.01


def test_speeds_change_least_in_the_metric_of_inertia(running: Compiled) -> None:
    records = rc.edited(twins(), LONGER)
    found = rc.reload(running.robot, records, running.q, running.u)
    carried = found.carried
    assert carried is not None
    new = found.robot
    # the open tree's own inertia: the records without the joints that close the loops, in a compile of its own
    cut = {joint["name"] for joint in new._description.joints if joint["role"] != "tree"}
    assert len(cut) == 2
    kept = tuple(value for value in records.reference.coordinates if value[0] not in cut)
    tree = CasadiMechanics.of(
        replace(
            records,
            joints=tuple(joint for joint in records.joints if joint.name not in cut),
            reference=replace(records.reference, coordinates=kept),
        )
    )
    place = [new.velocities.index(name) for name in tree.independent]
    coordinates = [new.coordinates.index(name) for name in tree.robot.topology.q_names]
    M, E = tree.mass(carried.q[coordinates]), new.lift(carried.q)[place]
    v = dict(zip(running.robot.velocities, running.robot.velocity(running.q, running.u), strict=True))
    before = np.array([v[name] for name in tree.independent])
    wanted = np.linalg.solve(E.T @ M @ E, E.T @ M @ before)
    np.testing.assert_allclose(carried.u, wanted, rtol=1e-10)
    assert carried.u[new.independent.index("one_drive")] == pytest.approx(2.0, rel=1e-12)
    assert carried.u[new.independent.index("two_drive")] != pytest.approx(-1.5, rel=1e-4)
    change = E @ wanted - before
    assert carried.v_energy == pytest.approx(change @ M @ change / 2, rel=1e-9)
    np.testing.assert_allclose(carried.v_change[place], change, atol=1e-12)


def test_inertia_alone_rebuilds_no_module_and_moves_nothing(running: Compiled) -> None:
    old, q, u = running.robot.with_parameters({"load": 0.25}).chart("inner"), running.q, running.u
    found = rc.reload(old, rc.edited(twins(), HEAVIER), q, u)
    carried = found.carried
    assert carried is not None
    assert (found.robot.chart_name, found.robot.parameters) == ("inner", {"load": 0.25})
    assert not any("module" in unit for unit in found.rebuilt)
    assert any("bodies.one_coupler.mass" in why for why in found.rebuilt.values())
    assert carried.held == "all"
    assert carried.q.tolist() == q.tolist()
    assert carried.u.tolist() == u.tolist()
    assert not carried.q_change.any()
    assert carried.v_energy < 1e-20
    assert carried.largest_change == ("", 0.0)
    assert found.robot.mass_matrix(q)[0, 0] > old.mass_matrix(q)[0, 0]
    # and back: the first library's bytes again, under its own name
    again = rc.reload(found.robot, twins(), carried.q, carried.u)
    assert again.robot._library._library is not old._library._library
    assert np.array_equal(again.robot.mass_matrix(q), old.mass_matrix(q))
    same = rc.reload(again.robot, twins())
    assert (same.rebuilt, same.carried) == ({}, None)


def test_the_options_of_the_compile_before_are_kept(running: Compiled) -> None:
    folder = running.robot._library.folder
    assert read_choices(folder) == Choices((), (), 0, BuildOptions(extra_flags=("-O0",)))
    found = rc.reload(running.robot, twins(), running.q, running.u, independent=["one_pivot"], charts=2)
    assert "one_pivot" in found.robot.independent
    assert found.carried is not None
    state = running.robot.velocity(running.q, running.u)
    np.testing.assert_allclose(found.robot.velocity(running.q, found.carried.u), state, atol=1e-12)
    again = rc.reload(found.robot, twins())
    assert (again.rebuilt, again.robot.independent) == ({}, found.robot.independent)
    assert read_choices(folder) == Choices(("one_pivot",), (), 2, BuildOptions(extra_flags=("-O0",)))
    # a chart that the new robot does not have
    elsewhere: Any = SimpleNamespace(chart_name="rocker", parameters={"load": 0.5, "gone": 1.0})
    assert alike(elsewhere, again.robot).chart_name == "port"
    assert alike(elsewhere, again.robot).parameters == {"load": 0.5}


def test_a_limb_comes_changes_and_goes(running: Compiled) -> None:
    old, q, u = running.robot, running.q, running.u
    records = rc.edited(twins(), LIMB)
    came = rc.reload(old, records, q, u, z=[0.8])
    assert came.carried is not None
    assert (came.carried.drive_states.carried, came.carried.drive_states.new) == (
        ("motor:effort_now",), ("grip:effort_now",),
    )  # fmt: skip
    assert dict(zip(came.robot.drive_states, came.carried.z, strict=True)) == {
        "motor:effort_now": 0.8, "grip:effort_now": 0.1,
    }  # fmt: skip
    assert came.carried.joints.new == ("wrist",)
    assert (came.carried.parameters.carried, came.carried.parameters.new) == (("load",), ("other",))
    assert set(came.carried.joints.carried) == {joint["name"] for joint in old._description.joints}
    with_hand = came.robot
    assert set(with_hand.independent) == {"one_drive", "two_drive", "wrist"}
    state = dict(zip(with_hand.independent, came.carried.u, strict=True))
    assert state == {"one_drive": 2.0, "two_drive": -1.5, "wrist": 0.0}
    for name in old.coordinates:
        assert with_hand.joint(came.carried.q, name) == old.joint(q, name)
    # the wrist slides now: its angle and speed mean nothing any more
    turned = with_hand.configuration({"wrist": 0.3}, base=came.carried.q)
    state["wrist"] = 0.7
    speeds = np.array([state[name] for name in with_hand.independent])
    slides = rc.edited(records, {"joints": {"wrist": {"type": "prismatic"}}})
    changed = rc.reload(with_hand, slides, turned, speeds).carried
    assert changed is not None
    assert changed.joints.lost == {"wrist": "was revolute, is prismatic"}
    assert changed.joints.new == ("wrist",)
    assert changed.robot.joint(changed.q, "wrist") == 0.0
    assert dict(zip(changed.robot.independent, changed.u, strict=True))["wrist"] == 0.0
    # and goes
    nothing = {group: dict.fromkeys(added) for group, added in LIMB.items()}
    gone = rc.reload(changed.robot, rc.edited(slides, nothing), changed.q, changed.u).carried
    assert gone is not None
    assert gone.joints.lost == {"wrist": "no joint of this name"}
    assert gone.q.tolist() == q.tolist()
    assert gone.u.tolist() == u.tolist()
    assert "wrist (no joint of this name)" in str(gone)
    assert with_hand.pose("tool", turned)[1].shape == (3,)  # the older robots are still there


def test_independents_give_way_where_the_loop_would_not_close(running: Compiled) -> None:
    old = running.robot
    q = old.assemble(old.configuration({"one_drive": 1.1, "two_drive": 0.2}, base=running.q))
    short = rc.edited(twins(), {"joints": {"two_c": {"b": {"xyz": [0.3, 0, 0]}}}})  # the crank turns no more through 0
    carried = rc.reload(old, short, q, running.u).carried
    assert carried is not None
    assert carried.held == "nothing"
    assert np.abs(carried.robot.residual(carried.q)).max() < 1e-11
    drive = carried.robot.joint(carried.q, "two_drive")
    np.testing.assert_allclose(pin(carried.robot, "two", carried.q), coupler_pin(float(drive), 0.3), atol=1e-9)
    # from the reference down to where coupler and rocker lie in one line, and a little short of that
    first = float(carried.robot.joint(carried.robot.reference, "two_drive"))
    dead = math.acos((CRANK**2 + GROUND**2 - (COUPLER - 0.3) ** 2) / (2 * CRANK * GROUND))
    assert float(drive) == pytest.approx(first + 0.98 * (dead - first), abs=1e-4)
    assert carried.robot.joint(carried.q, "one_b") == pytest.approx(old.joint(q, "one_b"), abs=1e-9)


# --- what is refused leaves the old robot working ---


def test_refusals_leave_the_old_robot_working(running: Compiled) -> None:
    old, q, u = running.robot, running.q, running.u
    wanted = old.forward_dynamics(q, u, [1.0, 2.0])
    records = twins()
    faults: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
        (ModelError, "no-such-file", "no-such-file.yaml", {}),
        (AssemblyError, "two_c: 2.8 m", rc.edited(records, {"joints": {"two_c": {"b": {"xyz": [5, 0, 0]}}}}), {}),
        (CompileError, "the C compiler 'no-such-compiler'", rc.edited(records, HEAVIER), {"cc": "no-such-compiler"}),
        (CompileError, "no-such-flag", rc.edited(records, HEAVIER), {"extra_flags": ("-fno-such-flag",)}),
        (ModelError, "the records of 'others', the running robot is 'twins'", replace(records, name="others"), {}),
        (ValueError, "without emit_only", records, {"emit_only": True}),
    ]  # fmt: skip
    for kind, text, model, options in faults:
        with pytest.raises(kind, match=text):
            rc.reload(old, model, q, u, **options)
        assert np.array_equal(old.forward_dynamics(q, u, [1.0, 2.0]), wanted)
        assert np.array_equal(rc.load(old._library.folder).forward_dynamics(q, u, [1.0, 2.0]), wanted)
    with pytest.raises(ValueError, match="a state needs its q"):
        rc.reload(old, records, u=u)
    with pytest.raises(ValueError, match="q must have shape"):
        rc.reload(old, records, q[1:], u)


def test_a_state_that_new_limits_forbid_is_refused(running: Compiled) -> None:
    tight = rc.edited(twins(), {"joints": {"one_drive": {"limits": {"position": [0.5, 1.0]}}}})
    with pytest.raises(AssemblyError, match=r"one_drive is 1.1, outside its limits"):
        rc.reload(running.robot, tight, running.q, running.u)
    np.testing.assert_allclose(pin(running.robot, "one", running.q), coupler_pin(1.1), atol=1e-12)
    new = rc.load(running.robot._library.folder)  # it is compiled; only the state is not one of it
    assert new._description.limits[new.coordinates.index("one_drive")] == (0.5, 1.0)


def test_an_unknown_compile_is_not_guessed(running: Compiled) -> None:
    (running.robot._library.folder / ".cache" / "choices.json").write_text("[]")
    with pytest.raises(CompileError, match="it is not known with what options this robot was compiled"):
        rc.reload(running.robot, twins())


# --- edited records ---


def test_edits_are_checked_as_files_are() -> None:
    records = twins()
    assert rc.edited(records, {}) == records
    heavier = rc.edited(records, HEAVIER)
    assert heavier.body("one_coupler").mass == 1.4
    assert heavier.body("one_coupler").com == records.body("one_coupler").com
    assert replace(heavier, bodies=records.bodies) == records
    with pytest.raises(ModelError) as fault:
        rc.edited(records, {"bodies": {"one_cupler": None}, "joints": {"two_c": {"limits": None}}})
    assert [problem.record for problem in fault.value.problems] == ["bodies.one_cupler", "joints.two_c.limits"]
    assert "did you mean 'one_coupler'" in str(fault.value)
    with pytest.raises(ModelError, match="no body is called 'one_coupler'"):
        rc.edited(records, {"bodies": {"one_coupler": None}})
    with pytest.raises(ModelError, match="unknown key 'massa'"):
        rc.edited(records, {"bodies": {"one_coupler": {"massa": 1}}})
