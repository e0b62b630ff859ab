"""What assembly refuses, and what a refusal carries: typed, finite, the input array untouched."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from case_models import built, mechanism
from fronts import kinematic_front
from numpy.typing import NDArray

import robocompiler as rc

Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"


def refusal(robot: rc.Robot, q: Array, hold: list[str] | None = None) -> rc.AssemblyError:
    """The AssemblyError of assembling q, checked for what every refusal must carry."""
    kept = q.copy()
    with pytest.raises(rc.AssemblyError) as caught:
        robot.assemble(q, hold=hold)
    np.testing.assert_array_equal(q, kept)
    error = caught.value
    assert error.joint
    assert error.joint in str(error) or error.limits
    assert error.q.shape == q.shape and np.all(np.isfinite(error.q))
    assert not math.isnan(error.residual)
    assert 0.0 <= error.eta <= 1.0
    for metres, radians in error.gap.values():
        assert math.isfinite(metres) and math.isfinite(radians)
    return error


# --- arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, -1, +1])
def test_vectors_of_the_wrong_length_are_refused(size: int, compiled) -> None:
    robot = compiled("five_bar")
    n = size if size in (0, 1) else len(robot.coordinates) + size
    n = n + 2 if size == 1 and n == len(robot.coordinates) else n
    for call in (robot.assemble, robot.residual, robot.lift, robot.closure_jacobian):
        with pytest.raises(ValueError, match=rf"q must have shape \({len(robot.coordinates)},\)"):
            call(np.zeros(n))
    with pytest.raises(ValueError, match="shape"):
        robot.assemble(np.zeros((len(robot.coordinates), 1)))
    with pytest.raises(ValueError, match="u must have shape"):
        robot.velocity(robot.reference, np.zeros(len(robot.independent) + 1))
    with pytest.raises(ValueError, match="v must have shape"):
        robot.integrate(robot.reference, np.zeros(len(robot.velocities) - 1))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float, compiled) -> None:
    robot = compiled("five_bar")
    q = robot.reference
    q[3] = bad
    with pytest.raises(ValueError, match=r"not finite.*index 3"):
        robot.assemble(q)
    with pytest.raises(ValueError, match="hip_left"):
        robot.configuration({"hip_left": bad})
    with pytest.raises(ValueError, match="not finite"):
        robot.velocity(robot.reference, np.full(len(robot.independent), bad))


def test_quaternions_that_are_not_unit_are_refused(compiled) -> None:
    robot = compiled("rssr")
    place = [k for k, name in enumerate(robot.coordinates) if name.startswith("s1:")]
    for factor in (0.0, 0.5, 1 + 1e-5, -2.0):
        q = robot.reference
        q[place] *= factor
        with pytest.raises(ValueError, match=r"'s1'.*quaternion"):
            robot.assemble(q)
    with pytest.raises(ValueError, match="quaternion"):
        robot.configuration({"s1": [1, 1, 0, 0]})
    with pytest.raises(ValueError, match="4 coordinates, got 3"):
        robot.configuration({"s1": [1, 0, 0]})


def test_a_quaternion_and_its_negative_are_the_same_rotation(compiled) -> None:
    robot = compiled("rssr")
    place = [k for k, name in enumerate(robot.coordinates) if name.startswith("s1:")]
    q = robot.reference
    q[place] *= -1
    np.testing.assert_array_equal(robot.assemble(q), q)


def test_unknown_names_come_with_the_nearest_known_one(compiled) -> None:
    robot = compiled("stewart")
    for call in (
        lambda: robot.configuration({"leg_0_lenght": 0.7}),
        lambda: robot.joint(robot.reference, "leg_0_lenght"),
        lambda: robot.assemble(robot.reference, hold=["leg_0_lenght"]),
    ):
        with pytest.raises(ValueError, match=r"'leg_0_lenght'.*'leg_0_length'"):
            call()
    with pytest.raises(ValueError, match=r"no chart is called 'prot'.*'port'"):
        robot.chart("prot")
    with pytest.raises(ValueError, match=r"no joint or coordinate is called 'xyzzy'$"):
        robot.configuration({"xyzzy": 0.0})
    with pytest.raises(ValueError, match="leg_0_length:x"):
        robot.assemble(robot.reference, hold=["leg_0_length:x"])


def test_results_are_the_callers_own(compiled) -> None:
    """Writing into a result changes neither the robot nor later results."""
    robot = compiled("five_bar")
    reference, expected = robot.reference, robot.reference
    assembled = robot.assemble(reference)
    for array in (assembled, robot.lift(reference), robot.residual(reference), robot.configuration({})):
        array[...] = 77.0
    np.testing.assert_array_equal(robot.reference, expected)
    np.testing.assert_array_equal(reference, expected)
    assert np.abs(robot.residual(robot.reference)).max() < 1e-12


# --- out of reach ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [[3.0], [0.05], [3.0] * 6, [0.7, 0.7, 0.7, 1.6, 0.7, 0.2]])
def test_leg_lengths_that_no_platform_pose_has(lengths: list[float], compiled) -> None:
    robot = compiled("stewart")
    q = robot.configuration({f"leg_{k}_length": length for k, length in enumerate(lengths)})
    error = refusal(robot, q)
    if error.gap:
        metres = max(gap[0] for gap in error.gap.values())
        assert metres > 1e-3
        for k, length in enumerate(lengths):  # the gap is that with the wanted lengths
            assert robot.joint(error.q, f"leg_{k}_length") == length
    else:
        assert any(name.endswith("_length") for name in error.limits)


def test_a_cylinder_beyond_the_reach_of_its_links(compiled) -> None:
    robot = compiled("excavator")
    cylinders = [name for name in robot.independent if name.startswith("p")]
    assert cylinders
    for name in cylinders:
        q = robot.configuration({name: robot.joint(robot.reference, name) + 5.0})
        error = refusal(robot, q)
        if error.gap:
            assert max(gap[0] for gap in error.gap.values()) > 0.1
            assert robot.joint(error.q, name) == robot.joint(q, name)
        else:
            assert name in error.limits


def test_the_robot_still_works_after_a_refusal(compiled) -> None:
    robot = compiled("excavator")
    name = next(name for name in robot.independent if name.startswith("p"))
    before = robot.assemble(robot.configuration({name: robot.joint(robot.reference, name) + 0.01}))
    refusal(robot, robot.configuration({name: 9.0}))
    after = robot.assemble(robot.configuration({name: robot.joint(robot.reference, name) + 0.01}))
    np.testing.assert_array_equal(before, after)


def test_holding_too_much_is_refused_with_the_gap(compiled) -> None:
    robot = compiled("fourbar")
    q = robot.configuration({"j_ga": 0.9})
    error = refusal(robot, q, hold=["j_ga", "j_ab"])
    assert max(gap[0] for gap in error.gap.values()) > 1e-3
    assert robot.joint(error.q, "j_ga") == 0.9
    everything = refusal(robot, q, hold=list(robot.velocities))
    assert max(gap[0] for gap in everything.gap.values()) > 1e-3
    np.testing.assert_array_equal(
        robot.assemble(robot.reference, hold=list(robot.velocities)), robot.reference
    )  # closed already: nothing to move


def test_holding_a_ball_and_single_coordinates(compiled) -> None:
    robot = compiled("parallel_ankle")
    start = robot.configuration({"motor_left": 0.1})
    found = robot.assemble(start, hold=["motor_left", "ankle:second"])
    assert robot.joint(found, "motor_left") == 0.1
    assert robot.joint(found, "ankle:second") == robot.joint(start, "ankle:second")
    assert np.abs(robot.residual(found)).max() < 1e-12
    whole = robot.assemble(robot.configuration({"ankle": [0.1, -0.1]}), hold=["ankle"])
    np.testing.assert_array_equal(robot.joint(whole, "ankle"), [0.1, -0.1])
    assert np.abs(robot.residual(whole)).max() < 1e-12


def test_limits_are_reported_with_all_violations(compiled) -> None:
    robot = compiled("panda")
    q = robot.configuration({"joint4": 1.0, "joint2": 4.0})
    error = refusal(robot, q)
    assert set(error.limits) == {"joint2", "joint4"}
    assert error.limits["joint4"][0] == 1.0
    assert error.joint in error.limits
    for value, lower, upper in error.limits.values():
        assert not lower <= value <= upper
    fingers = refusal(robot, robot.configuration({"finger_joint1": 0.2, "finger_joint2": 0.2}))  # closed, yet too far
    assert set(fingers.limits) == {"finger_joint1", "finger_joint2"}
    assert fingers.eta == 1.0


# --- half turns -----------------------------------------------------------------------------------------------------

SPEEDS = ("wx", "wy", "wz", "vx", "vy", "vz")
HALF_TURNS = {"x": [0.0, 1.0, 0.0, 0.0], "y": [0.0, 0.0, 1.0, 0.0], "z": [0.0, 0.0, 0.0, 1.0]}
TURNS_FREELY = ("revolute", "continuous", "cylindrical", "planar")
PITCH = 0.1
KINDS = (*TURNS_FREELY, "prismatic", "fixed", "screw")


def carried(kind: str, reference: list[float] | None = None):
    """A block on a free joint (damped, so that it stays in the tree) closed by a chord of the given type."""
    chord: dict[str, object] = {"type": kind, "a": "world", "b": "block"}
    if kind != "fixed":
        chord["axis"] = [0, 0, 1]
    if kind == "screw":
        chord["pitch"] = PITCH
    carry = {"type": "free", "a": "world", "b": "block", "damping": dict.fromkeys(SPEEDS, 1.0)}
    model = {"bodies": {"block": {"mass": 1, "inertia": [1, 1, 1]}}, "joints": {"carry": carry, "chord": chord}}
    more = {} if reference is None else {"reference": {"joints": {"carry": reference}}}
    return mechanism(f"half_{kind}", model, **more)


def admitted(kind: str, R: Array, p: Array) -> float:
    """How far the block's pose is from what its chord admits, told from the pose alone."""
    tilt = R if kind in ("prismatic", "fixed") else R[:, 2:]
    off = tilt - np.eye(3)[:, -tilt.shape[1] :]
    shift = {"planar": p[2:], "prismatic": p[:2], "cylindrical": p[:2], "screw": p[:2], "fixed": p}.get(kind, p)
    advance = 0.0
    if kind == "screw":
        advance = math.remainder(p[2] / PITCH - math.atan2(R[1, 0], R[0, 0]), math.tau)
    return max(float(np.abs(off).max()), float(np.abs(shift).max()), abs(advance))


@pytest.mark.parametrize("axis", list(HALF_TURNS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_chord_off_by_half_a_turn_is_never_taken_for_closed(kind: str, axis: str, build_folder: Path) -> None:
    robot = built(build_folder, carried(kind))
    z = math.cos(0.3), math.sin(0.3)
    twisted = {"x": [0, z[0], z[1], 0], "y": [0, -z[1], z[0], 0], "z": [-z[1], 0, 0, z[0]]}[axis]  # and 0.6 about z
    for quaternion in (HALF_TURNS[axis], twisted):
        for height in (0.0, 0.2):
            q = robot.configuration({"carry": [0, 0, height, *quaternion]})
            try:
                found = robot.assemble(q)
            except rc.AssemblyError:
                refusal(robot, q)
                if axis == "z" and kind in ("cylindrical",):
                    raise  # nothing is wrong with this state
                continue
            assert admitted(kind, *robot.pose("block", found)) < 1e-12
            assert np.abs(robot.residual(found)).max() < 1e-12


@pytest.mark.parametrize("axis", list(HALF_TURNS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_reference_off_by_half_a_turn_is_refused_or_mended(kind: str, axis: str) -> None:
    try:
        front = kinematic_front(carried(kind, [0.0, 0.0, 0.0, *HALF_TURNS[axis]]))
    except rc.AssemblyError as error:
        assert not (axis == "z" and kind in TURNS_FREELY), "this reference is closed"
        assert error.gap["chord"][1] > 0.5
        assert error.joint == "chord"
        return
    q = np.array(front.reduction.reference)
    places = front.topology.slot("carry")
    w, x, y, s = q[places.q0 + 3 : places.q0 + 7]
    R = np.array(
        [
            [1 - 2 * (y * y + s * s), 2 * (x * y - w * s), 2 * (x * s + w * y)],
            [2 * (x * y + w * s), 1 - 2 * (x * x + s * s), 2 * (y * s - w * x)],
            [2 * (x * s - w * y), 2 * (y * s + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    assert admitted(kind, R, q[places.q0 : places.q0 + 3]) < 1e-9


def test_a_loop_through_balls_cannot_flip_its_hinge(build_folder: Path) -> None:
    """A rod between a ball and a hinge whose axis ran backwards would satisfy the hinge's condensed rows."""
    model = {
        "bodies": {"arm": {"mass": 1, "inertia": [1, 1, 1]}, "rod": {"mass": 1, "inertia": [1, 1, 1]}},
        "joints": {
            "ball": {"type": "spherical", "a": "world", "b": "arm", "damping": 1.0},
            "elbow": {"type": "spherical", "a": {"body": "arm", "xyz": [0.5, 0, 0]}, "b": "rod", "damping": 1.0},
            "foot": {
                "type": "revolute",
                "a": {"body": "rod", "xyz": [0.5, 0, 0]},
                "b": {"body": "world", "xyz": [0.8, 0, 0]},
                "axis": [0, 1, 0],
            },
        },
        "reference": {"joints": {"ball": [0.95, 0.0, -0.312, 0.0], "elbow": [0.81, 0.0, 0.586, 0.0]}},
    }
    for joint in ("ball", "elbow"):
        values = np.array(model["reference"]["joints"][joint])  # type: ignore[index]
        model["reference"]["joints"][joint] = [float(x) for x in values / np.linalg.norm(values)]  # type: ignore[index]
    robot = built(build_folder, mechanism("flip", model))
    q = robot.reference
    R, _ = robot.pose("rod", q)
    np.testing.assert_allclose(R[:, 1], [0, 1, 0], rtol=0, atol=1e-12)
    flip = (
        R.T @ _about(R[:, 0]) @ R
    )  # half a turn of the rod about its own length: the hinge point stays, its axis turns
    elbow = robot.pose("arm", q)[0].T @ R @ flip
    flipped = robot.configuration({"elbow": _quaternion(elbow)}, base=q)
    R, _ = robot.pose("rod", flipped)
    np.testing.assert_allclose(R[:, 1], [0, -1, 0], rtol=0, atol=1e-12)
    assert np.linalg.norm(robot.residual(flipped)) == pytest.approx(math.pi, abs=1e-9)
    try:
        found = robot.assemble(flipped)
    except rc.AssemblyError:
        refusal(robot, flipped)
        return
    np.testing.assert_allclose(robot.pose("rod", found)[0][:, 1], [0, 1, 0], rtol=0, atol=1e-12)


def _about(axis: Array) -> Array:
    """Half a turn about a unit axis."""
    return np.asarray(2 * np.outer(axis, axis) - np.eye(3))


def _quaternion(R: Array) -> Array:
    """The unit quaternion of a rotation, by the largest of its four components."""
    K = np.array(
        [
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    _, vectors = np.linalg.eigh(K, UPLO="U")
    return np.asarray(vectors[:, -1])
