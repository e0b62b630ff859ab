"""Redundancy resolution on compiled robots: tasks, bounds, metrics, preferences, charts, faults, and runs over time."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from redundancy_support import feasible

import robocompiler as rc
from robocompiler.errors import InfeasibleTaskError
from robocompiler.numerics import se3
from robocompiler.runtime.redundancy.rows import stack_bounds, stack_tasks

Array = NDArray[np.float64]
Compiled = Callable[[str], rc.Robot]
rr = rc.redundancy

needs_solver = pytest.mark.skipif(
    not importlib.util.find_spec("daqp"), reason="daqp, of the control extra, is not installed"
)
ARM = {"joint1": 0.3, "joint2": 0.4, "joint3": -0.2, "joint4": -1.9, "joint5": 0.5, "joint6": 1.8, "joint7": 0.6}
GRIP = {"finger_joint1": 0.02, "finger_joint2": 0.02}


@pytest.fixture
def panda(compiled: Compiled) -> rc.Robot:
    return compiled("panda")


def posed(robot: rc.Robot) -> Array:
    return robot.assemble(robot.configuration({**ARM, **GRIP}))


def rows_of(robot: rc.Robot, q: Array, tasks: list, bounds: list = ()) -> tuple[Array, Array, Array, Array]:  # type: ignore[type-arg, assignment]
    d = len(robot.independent)
    task = stack_tasks([one.rows(robot, q) for one in tasks], d)
    bound = stack_bounds([one.rows(robot, q) for one in bounds], d)
    return task.J, task.w, bound.A, bound.b


# --- tasks ---


def error_rate(robot: rc.Robot, q: Array, u: Array, error: Callable[[Array, float], Array], h: float = 1e-5) -> Array:
    """d/dt of error(q, t) in motion at u, by a central difference."""
    v = robot.velocity(q, u)
    ahead, behind = (robot.assemble(robot.integrate(q, s * h * v)) for s in (1, -1))
    return (error(ahead, h) - error(behind, -h)) / (2 * h)


def moved(target: tuple[Array, Array], twist: Array, t: float) -> tuple[Array, Array]:
    """The target a time t later: world angular velocity, velocity of its origin."""
    turn, _ = se3.exp(t * np.concatenate((twist[:3], np.zeros(3))))
    return turn @ target[0], target[1] + t * twist[3:]


@pytest.mark.parametrize("error", ["split", "screw"])
def test_the_error_of_a_pose_decays_by_its_gain_towards_a_moving_target(panda: rc.Robot, error: str) -> None:
    q = posed(panda)
    R, p = panda.pose("tool", q)
    turn, shift = se3.exp(np.array([0.5, -0.7, 0.3, 0.1, 0.05, -0.08]))
    target, twist = (R @ turn, p + shift), np.array([0.3, 0.2, -0.4, 0.1, -0.2, 0.3])
    task = rr.FramePose("tool", target, velocity=twist, gain=1.7, error=error)
    found = panda.resolve(q, [task])
    assert found.method == "closed form"

    def miss(q: Array, t: float) -> Array:
        (R, p), (R_d, p_d) = panda.pose("tool", q), moved(target, twist, t)
        if error == "split":
            return np.concatenate((se3.log_rotation(R_d.T @ R), p - p_d))
        return se3.log(R_d.T @ R, R_d.T @ (p - p_d))

    np.testing.assert_allclose(error_rate(panda, q, found.u, miss), -1.7 * miss(q, 0.0), atol=1e-8)


def test_tasks_in_parts_are_those_of_the_whole(panda: rc.Robot) -> None:
    q = posed(panda)
    R, p = panda.pose("tool", q)
    target = R @ se3.exp(np.array([0.2, 0.1, -0.3, 0, 0, 0]))[0], p + np.array([0.05, 0.02, -0.03])
    whole = panda.resolve(q, [rr.FramePose("tool", target, gain=[1, 2, 3, 4, 5, 6])])
    parts = panda.resolve(
        q, [rr.FramePosition("tool", target[1], gain=[4, 5, 6]), rr.FrameOrientation("tool", target[0], gain=[1, 2, 3])]
    )
    np.testing.assert_allclose(parts.u, whole.u, atol=1e-12)
    own = panda.resolve(
        q,
        [
            rr.FramePosition("tool", velocity=R @ [0.1, 0.2, 0.3], axes="xz", axes_of="frame"),
            rr.FrameOrientation("tool", velocity=R @ [0.3, 0.2, 0.1], axes=("rx", "ry"), axes_of="frame"),
        ],
    )
    twist = np.kron(np.eye(2), R.T) @ panda.task_jacobian("tool", q) @ own.u
    np.testing.assert_allclose(twist[[0, 1, 3, 5]], [0.3, 0.2, 0.1, 0.3], atol=1e-12)
    assert list(own.task_multipliers) == ["tool x", "tool z", "tool rx", "tool ry"]


def test_ports_joints_and_rows_of_the_callers_own(compiled: Compiled) -> None:
    robot = compiled("crane")
    q = robot.reference
    found = robot.resolve(q, [rr.PortDisplacement("lift", robot.port_displacement(q)[1] - 0.1, velocity=0.2, gain=3.0)])
    assert robot.port_map(q)[1] @ found.u == pytest.approx(0.2 - 3.0 * 0.1)
    hinge = robot.joint(q, "hinge")
    found = robot.resolve(q, [rr.JointCoordinate("hinge", hinge + 0.2, gain=0.5)])
    assert robot.velocity(q, found.u)[robot.velocities.index("hinge")] == pytest.approx(0.1)
    pick = np.zeros((1, len(robot.velocities)))
    pick[0, robot.velocities.index("hinge")] = 1.0
    for own in (robot, robot.chart("inner")):
        mine = own.resolve(q, [rr.UserTask(["swing"], lambda robot, q: (pick, [0.1]), over="velocities")])
        np.testing.assert_allclose(own.velocity(q, mine.u), robot.velocity(q, found.u), atol=1e-12)
    mixed = rr.UserTask(["sum"], lambda robot, q: ([[1.0, -2.0, 0.5]], [0.1]))
    for own in (robot, robot.chart("inner")):
        assert own.F(q) @ own.resolve(q, [mixed]).u @ [1.0, -2.0, 0.5] == pytest.approx(0.1)


# --- closed form, metrics, charts ---


def test_the_closed_form_does_the_task_with_least_metric(panda: rc.Robot) -> None:
    q = posed(panda)
    task = rr.FramePose("tool", velocity=[0.1, 0.2, -0.1, 0.05, 0.1, 0.02])
    J, w, _, _ = rows_of(panda, q, [task])
    null = np.linalg.svd(J)[2][6:].T
    random = np.random.default_rng(1)
    for metric, W in {
        "kinetic": panda.mass_matrix(q), "port": panda.port_map(q).T @ panda.port_map(q),
        "joint": panda.lift(q).T @ panda.lift(q),
    }.items():  # fmt: skip
        found = panda.resolve(q, [task], metric=metric)
        inverse = np.linalg.inv(W)
        np.testing.assert_allclose(found.u, inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, w), atol=1e-11)
        assert found.kkt.worst < 1e-13
        for _ in range(20):
            other = found.u + null @ random.normal(size=2)
            assert other @ W @ other > found.u @ W @ found.u


CHARTS = {
    "crane": ([rr.FramePosition("hook", velocity=[0.3, -0.1, 0.0], axes="xy")], {"lift": (0.0, 0.9)}),
    "parallel_ankle": ([rr.FrameOrientation("foot", velocity=[0, 0.4, 0], axes=("ry",))], None),
    "stewart_free": (
        [rr.FramePosition("platform", velocity=[0.2, 0.1, 0.3])], {f"leg_{k}_force": (0.5, 0.91) for k in range(6)}
    ),
}  # fmt: skip


@needs_solver
@pytest.mark.parametrize("name", sorted(CHARTS))
def test_the_motion_is_the_same_in_every_chart(compiled: Compiled, name: str) -> None:
    """u_port = F u for the minimisers, whose multipliers and active bounds are equal, for every metric."""
    port = compiled(name)
    inner = port.chart("inner")
    assert port.independent != inner.independent
    tasks, strokes = CHARTS[name]
    q, d, nv = port.reference, len(port.independent), len(port.velocities)
    random = np.random.default_rng(3)
    root = random.normal(size=(d, d)) + 2 * np.eye(d)
    spread = np.diag(random.uniform(1, 3, nv))
    metrics = ["kinetic", "port", "joint", rr.UserMetric(root @ root.T), rr.UserMetric(spread, over="velocities")]
    preference = rr.StrokeInterior(limits=strokes, gain=0.02)
    pushed = 0
    for metric in metrics:
        free = port.resolve(q, tasks, metric=metric, preference=preference)
        limits = {x: 0.7 * abs(v) for x, v in zip(port.velocities, port.velocity(q, free.u), strict=True)}
        fast = sorted(limits, key=lambda x: -limits[x])[:2]
        wide = {x: limits[x] for x in fast[:1]} if d > len(free.task_multipliers) else dict.fromkeys(fast, 9.0)
        for bounds in ([], [rr.JointSpeeds(wide), rr.UserBound(["sum"], np.ones((1, d)), [5.0])]):
            try:
                ours = port.resolve(q, tasks, metric=metric, preference=preference, bounds=bounds)
            except InfeasibleTaskError as error:
                with pytest.raises(InfeasibleTaskError) as other:
                    inner.resolve(q, tasks, metric=metric, preference=preference, bounds=bounds)
                assert other.value.rows == error.rows
                continue
            theirs = inner.resolve(q, tasks, metric=metric, preference=preference, bounds=bounds)
            np.testing.assert_allclose(inner.F(q) @ theirs.u, ours.u, atol=1e-9 * (1 + np.abs(ours.u).max()))
            assert ours.active == theirs.active
            assert ours.phi == pytest.approx(theirs.phi, rel=1e-12)
            assert ours.phi_rate == pytest.approx(theirs.phi_rate, rel=1e-8, abs=1e-10)
            for name_, value in {**ours.multipliers, **ours.task_multipliers}.items():
                assert {**theirs.multipliers, **theirs.task_multipliers}[name_] == pytest.approx(
                    value, rel=1e-6, abs=1e-8
                )
            pushed += bool(ours.active)
    assert pushed or name == "parallel_ankle"


def test_a_metric_that_feels_no_motion_is_refused_with_the_motion(compiled: Compiled) -> None:
    robot = compiled("delta")  # its rods spin freely, and no port feels it
    task = rr.FramePosition("plate", velocity=[0.1, 0, 0])
    with pytest.raises(rc.RankError, match="the metric is not positive definite here: moving along"):
        robot.resolve(robot.reference, [task], metric="port")
    assert robot.resolve(robot.reference, [task], metric="kinetic").kkt.worst < 1e-11
    with pytest.raises(ValueError, match="no metric is called 'mass'"):
        robot.resolve(robot.reference, [task], metric="mass")


# --- preferences ---


def test_gradients_are_those_of_differences(compiled: Compiled) -> None:
    for name in ("crane", "stewart_free"):
        for robot in (compiled(name), compiled(name).chart("inner")):
            q = robot.reference
            strokes = {p.name: (x - 0.3, x + 0.5) for p, x in zip(robot.ports, robot.port_displacement(q), strict=True)}
            joints = {c: (float(q[robot.coordinates.index(c)]) - 0.2, 2.0) for c in list(robot.position_limits)[:3]}
            random = np.random.default_rng(2)
            a = random.normal(size=q.size)
            for preference in (
                rr.StrokeInterior(limits=strokes),
                rr.StrokeInterior("quadratic", limits=strokes),
                rr.JointInterior(limits=joints),
                rr.JointInterior("quadratic", limits=joints),
                rr.UserPreference(lambda q, a=a: float(np.sin(a @ q)), lambda q, a=a: a * np.cos(a @ q)),
            ):
                u = 0.1 * random.normal(size=len(robot.independent))
                rate = error_rate(robot, q, u, lambda q, _, p=preference, r=robot: np.array([p.value(r, q)]))
                assert preference.gradient(robot, q) @ u == pytest.approx(rate[0], rel=1e-6, abs=1e-7)


def test_values_of_the_interior_preferences(compiled: Compiled) -> None:
    robot = compiled("crane")
    q = robot.reference
    (now,) = robot.port_displacement(q)[1:2]
    limits = {"lift": (float(now) - 0.25, float(now) + 0.75)}
    assert rr.StrokeInterior(limits=limits).value(robot, q) == pytest.approx(-np.log(0.25 * 0.75))
    assert rr.StrokeInterior("quadratic", limits=limits).value(robot, q) == pytest.approx(0.125)
    with pytest.raises(ValueError, match="port 'lift' is not inside its limits"):
        rr.StrokeInterior(limits={"lift": (float(now), 2.0)}).value(robot, q)
    with pytest.raises(ValueError, match="'log' or 'quadratic', got str 'cubic'"):
        rr.StrokeInterior("cubic", limits=limits).value(robot, q)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no port is called 'left'; did you mean 'lift'"):
        rr.StrokeInterior(limits={"left": (0, 1)}).value(robot, q)


@pytest.mark.parametrize("bounded", [False, pytest.param(True, marks=needs_solver)])
def test_the_preference_never_grows_at_a_stationary_task(panda: rc.Robot, bounded: bool) -> None:
    """500 steps of the projected gradient with the tool held: Phi falls at each, and the tool stays."""
    q = posed(panda)
    target = panda.pose("tool", q)
    task = rr.FramePose("tool", target, gain=20.0)
    low = ("joint3", "joint6", "joint7")  # off the middle, each to the side from which the elbow's swing leads back
    limits = {name: (x - 0.9, x + 0.3) if name in low else (x - 0.3, x + 0.9) for name, x in ARM.items()}
    preference = rr.JointInterior(gain=0.2, limits=limits)
    speeds = dict.fromkeys(ARM, 0.02)
    bounds = [rr.JointSpeeds(speeds), rr.JointPositions(0.02)] if bounded else []
    phi, active = [preference.value(panda, q)], 0
    for _ in range(500):
        found = panda.resolve(q, [task], preference=preference, bounds=bounds, metric="joint")
        assert found.phi == phi[-1]
        assert found.phi_rate is not None
        assert found.phi_rate < 1e-5  # the feedback may spend a little on the tool's drift
        active += bool(found.active)
        if bounded:
            assert np.abs(found.u[:7]).max() <= 0.02 * (1 + 1e-9)
        q = panda.advance(q, found.u, 0.02)
        phi.append(preference.value(panda, q))
    assert np.diff(phi).max() <= 1e-10 * phi[0]
    assert phi[-1] < phi[0] - 0.05
    R, p = panda.pose("tool", q)
    assert np.linalg.norm(p - target[1]) < 1e-4
    assert np.linalg.norm(se3.log_rotation(R @ target[0].T)) < 1e-4
    assert (active > 50) is bounded


def test_the_projected_gradient_descends_without_a_task(compiled: Compiled) -> None:
    robot = compiled("crane")
    q = robot.assemble(robot.configuration({"extension": 1.5}))
    preference = rr.JointInterior(gain=5.0, limits={"extension": (0.0, 2.0)})
    for _ in range(50):
        found = robot.resolve(q, [], preference=preference, metric="joint")
        g = preference.gradient(robot, q)
        assert found.phi_rate == pytest.approx(-5.0 * g @ np.linalg.solve(robot.lift(q).T @ robot.lift(q), g))
        q = robot.advance(q, found.u, 0.02)
    assert robot.joint(q, "extension") == pytest.approx(1.0, abs=0.1)


# --- bounds ---


@needs_solver
def test_positions_stay_inside_over_the_steps_that_were_asked_for(panda: rc.Robot) -> None:
    q, h = posed(panda), 0.01
    task = rr.FramePosition("tool", velocity=[0.0, 1.5, 0.0], axes="y")
    limits = {**panda.position_limits, "joint1": (-0.1, 0.32), "joint3": (-0.3, -0.15)}
    touched: set[str] = set()
    for _ in range(30):
        found = panda.resolve(q, [task], bounds=[rr.JointPositions(h, limits)], relax=rr.ScaleTask())
        q = panda.advance(q, found.u, h)
        touched |= set(found.active)
        for name, (lower, upper) in limits.items():
            assert lower - 1e-12 <= panda.joint(q, name) <= upper + 1e-12
    assert touched >= {"joint joint1 upper position"}


@needs_solver
def test_dependent_joints_pass_a_limit_only_to_second_order(compiled: Compiled) -> None:
    robot = compiled("five_bar")
    knee = float(robot.joint(robot.reference, "knee_left"))
    limits = {"knee_left": (knee - 0.05, knee + 0.05)}
    task = rr.FramePosition("toe", velocity=[0, 0, 0.8], axes="xz")

    def excess(h: float, margin: float, steps: int) -> float:
        """How far the knee gets past its limit in the first steps in which the bound acts."""
        q, worst, acted = robot.reference, -1.0, 0
        while acted < steps:
            bounds = [rr.JointPositions(h, limits, margin=margin)]
            found = robot.resolve(q, [task], bounds=bounds, relax=rr.ScaleTask())
            acted += found.scale < 1
            q = robot.advance(q, found.u, h)
            worst = max(worst, abs(robot.joint(q, "knee_left") - knee) - 0.05)
        return worst

    coarse, fine = excess(0.02, 0.0, 1), excess(0.005, 0.0, 1)
    assert abs(coarse) < 0.02
    assert abs(fine) < abs(coarse) / 6
    assert -2e-3 < excess(0.005, 1e-3, 30) < 0


@needs_solver
def test_braking_leaves_room_to_stop(compiled: Compiled) -> None:
    robot = compiled("crane")
    q, h, a = robot.assemble(robot.configuration({"extension": 0.5})), 0.02, 0.8
    bounds = [rr.JointPositions(h, {"extension": (0.0, 1.2)}, braking=a), rr.JointSpeeds({"extension": 0.5})]
    push = rr.UserPreference(
        lambda q: -float(q[robot.coordinates.index("extension")]),
        lambda q: -np.eye(q.size)[robot.coordinates.index("extension")], gain=1e7,
    )  # fmt: skip
    index, speeds = robot.velocities.index("extension"), []
    for _ in range(150):
        found = robot.resolve(q, [], bounds=bounds, preference=push)
        speeds.append(float(robot.velocity(q, found.u)[index]))
        q = robot.advance(q, found.u, h)
        assert robot.joint(q, "extension") <= 1.2 + 1e-12
    assert speeds[0] == pytest.approx(0.5)
    assert max(-np.diff(speeds)) <= a * h * (1 + 1e-9)
    assert robot.joint(q, "extension") == pytest.approx(1.2, abs=2e-3)


@needs_solver
def test_multipliers_are_the_prices_of_the_bounds(panda: rc.Robot) -> None:
    """d cost / d limit = -lambda, and zero for the bounds that do not push."""
    q = posed(panda)
    task = rr.FramePosition("tool", velocity=[0.2, 0.3, 0.1])
    free = panda.resolve(q, [task])
    name = panda.independent[int(np.argmax(np.abs(free.u[:7])))]
    limit = 0.6 * float(np.abs(free.u[:7]).max())
    M = panda.mass_matrix(q)

    def cost(limit: float) -> tuple[float, rr.Resolution]:
        found = panda.resolve(q, [task], bounds=[rr.JointSpeeds({name: limit})])
        return float(found.u @ M @ found.u / 2), found

    _, found = cost(limit)
    (price,) = found.multipliers.values()
    assert found.method == "active-set QP"
    assert price > 0
    assert found.kkt.worst < 1e-12
    assert cost(limit + 1e-4)[0] - cost(limit - 1e-4)[0] == pytest.approx(-2e-4 * price, rel=1e-5)


def test_declared_limits_come_from_the_file(compiled: Compiled) -> None:
    robot = compiled("five_bar")
    q = robot.reference
    parts = [one.rows(robot, q) for one in rr.declared(0.1)]
    names = [name for part in parts for name in part.names]
    assert names[:2] == ["joint hip_left upper speed", "joint hip_right upper speed"]
    assert "port motor_right lower position" in names
    assert len(names) == 16
    speed, position = parts[0], parts[2]
    np.testing.assert_array_equal(speed.b, [20.0] * 4)
    np.testing.assert_allclose(position.b[0], (0.5 - robot.joint(q, "hip_left")) / 0.1)
    np.testing.assert_allclose(position.A @ [1.0, 0.0], [1, 0, -1, 0], atol=1e-15)
    assert (
        robot.resolve(q, [rr.FramePosition("toe", velocity=[0.1, 0, 0], axes="xz")], bounds=rr.declared(0.1)).active
        == ()
    )


# --- faults ---


def test_a_task_that_contradicts_a_bound_is_refused_with_the_rows(compiled: Compiled) -> None:
    robot = compiled("five_bar")
    q = robot.reference
    before = q.copy()
    task = rr.FramePosition("toe", velocity=[5.0, 0, 0], axes="xz")
    bounds = [rr.JointSpeeds({"hip_left": 1.0, "knee_left": 50.0}), rr.PortSpeeds(), rr.JointPositions(0.01)]
    with pytest.raises(InfeasibleTaskError, match=r"contradict each other: 'toe x', .*'joint hip_left") as refused:
        robot.resolve(q, [task], bounds=bounds)
    assert q.tobytes() == before.tobytes()
    rows = refused.value.rows
    J, w, A, b = rows_of(robot, q, [task], bounds)
    names = [*task.rows(robot, q).names, *(name for one in bounds for name in one.rows(robot, q).names)]
    picked = [names.index(row) for row in rows]

    def holds(kept: list[int]) -> bool:
        t, k = [i for i in kept if i < 2], [i - 2 for i in kept if i >= 2]
        return feasible(J[t], w[t], A[k], b[k])[0]

    assert not holds(picked)
    for out in picked:
        assert holds([i for i in picked if i != out])
    weights = refused.value.weights
    total = sum(weights[names[i]] * (w[i] if i < 2 else b[i - 2]) for i in picked)
    assert total == pytest.approx(-refused.value.gap)
    assert all(weight > 0 for row, weight in weights.items() if not row.startswith("toe"))


@needs_solver
def test_policies_say_what_they_gave_up(compiled: Compiled) -> None:
    robot = compiled("five_bar")
    q = robot.reference
    task = rr.FramePosition("toe", velocity=[5.0, 0, 0], axes="xz")
    bounds = [rr.JointSpeeds({"hip_left": 1.0})]
    free = robot.resolve(q, [task])
    slower = robot.resolve(q, [task], bounds=bounds, relax=rr.ScaleTask())
    assert slower.scale == pytest.approx(1.0 / abs(free.u[0]))
    np.testing.assert_allclose(slower.u, slower.scale * free.u, atol=1e-12)
    assert "toe x" in slower.conflict
    assert slower.slack["toe x"] == pytest.approx(5.0 * (slower.scale - 1))
    aside = robot.resolve(q, [task], bounds=bounds, relax=rr.Slack(({"toe x": 1.0}, {"toe z": 1.0})))
    assert abs(aside.slack.get("toe x", 0.0)) < 1e-9  # the first level gives nothing: the second can give enough
    assert abs(aside.slack["toe z"]) > 0.1
    twist = robot.task_jacobian("toe", q) @ aside.u
    np.testing.assert_allclose(twist[[3, 5]], [5.0, aside.slack["toe z"]], atol=1e-8)
    untouched = robot.resolve(q, [task], relax=rr.ScaleTask())
    assert (untouched.scale, dict(untouched.slack), untouched.conflict) == (1.0, {}, ())
    with pytest.raises(InfeasibleTaskError, match="'joint hip_left"):
        robot.resolve(q, [task], bounds=bounds, relax=rr.ScaleTask(("toe z",)))


def test_dependent_rows_are_refused_by_name(compiled: Compiled) -> None:
    robot = compiled("five_bar")
    q = robot.reference
    with pytest.raises(rc.RankError, match="nothing moves 'toe y'") as flat:
        robot.resolve(q, [rr.FramePosition("toe")])
    assert flat.value.report["dependent"] == {"toe y": {}}
    hips = [rr.JointCoordinate("hip_left"), rr.JointCoordinate("hip_right"), rr.PortDisplacement("motor_left")]
    with pytest.raises(rc.RankError, match=r"'port motor_left' is fixed by 'joint hip_left'") as twice:
        robot.resolve(q, hips)
    assert twice.value.report["dependent"]["port motor_left"] == pytest.approx({"joint hip_left": 1.0})
    two = robot.resolve(q, hips[:2], metric="joint")
    assert 0 < two.rank.smallest <= 1
    assert not two.rank.dependent


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (rr.FramePosition("toe", [0, 0]), r"task on 'toe': target must have shape \(3\)"),
        (rr.FramePosition("toe", [0, 0, np.nan]), "not finite"),
        (rr.FramePosition("toe", velocity=[0, np.inf, 0]), "not finite"),
        (rr.FramePosition("toe", gain=[1, 2]), r"gain must have shape \(3\)"),
        (rr.FramePosition("toe", axes="xw"), "axes must be some of x, y, z"),
        (rr.FramePosition("toe", axes="xx"), "axes must be some of"),
        (rr.FramePosition("toes"), "no frame is called 'toes'"),
        (rr.FramePosition("toe", axes_of="tool"), "axes_of must be 'world' or 'frame'"),  # type: ignore[arg-type]
        (rr.FrameOrientation("toe", np.ones((3, 3))), "not a rotation matrix"),
        (rr.FramePose("toe", (np.eye(3), [0, 0, 0]), error="log"), "'split' or 'screw'"),  # type: ignore[arg-type]
        (rr.PortDisplacement("motor"), "no port is called 'motor'"),
        (rr.PortDisplacement("motor_left", np.nan), "target must be a finite number"),
        (rr.JointCoordinate("hip"), "no joint or coordinate is called 'hip'"),
        (rr.UserTask(["a"], lambda r, q: (np.ones((2, 2)), [1.0, 2.0])), "1 names and 2 rows"),
        (rr.UserTask(["a"], lambda r, q: (np.ones((1, 3)), [1.0])), r"shape \(any, 2\)"),
        (rr.UserTask(["a"], lambda r, q: (np.full((1, 2), np.nan), [1.0])), "not finite"),
    ],
)
def test_bad_tasks_are_refused(compiled: Compiled, task: rr.Task, message: str) -> None:
    robot = compiled("five_bar")
    with pytest.raises(ValueError, match=message):
        robot.resolve(robot.reference, [task])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"bounds": [rr.JointSpeeds({"hip": 1.0})]}, "no velocity is called 'hip'"),
        ({"bounds": [rr.JointSpeeds({"hip_left": -1.0})]}, "at least 0"),
        ({"bounds": [rr.JointSpeeds(share=0.0)]}, "share must be a positive number"),
        ({"bounds": [rr.JointPositions(0.0)]}, "step must be a positive number"),
        ({"bounds": [rr.JointPositions(0.1, margin=9.0)]}, "no room between"),
        ({"bounds": [rr.JointPositions(0.1, braking=np.nan)]}, "braking must be a positive number"),
        ({"bounds": [rr.PortSpeeds(), rr.PortSpeeds()]}, "two bound rows are called 'port motor_left upper speed'"),
        ({"bounds": [rr.UserBound(["a"], [[1.0, 0.0]], [np.nan])]}, "not finite"),
        ({"bounds": [rr.UserBound(["a"], [[1.0, 0.0]], [1.0, 2.0])]}, r"shape \(1\)"),
        ({"bounds": [rr.UserBound(["a"], [[1.0]], [1.0])]}, r"shape \(any, 2\)"),
        ({"metric": rr.UserMetric(np.array([[1.0, 2.0], [0.0, 1.0]]))}, "symmetric"),
        ({"metric": rr.UserMetric(np.eye(3))}, r"shape \(2, 2\)"),
        ({"metric": rr.Joints({"hip": 2.0})}, "no velocity is called 'hip'"),
        ({"preference": rr.UserPreference(lambda q: 0.0, lambda q: [1.0])}, r"shape \(5\)"),
        ({"preference": rr.StrokeInterior(gain=-1.0)}, "gain of a preference"),
    ],
)
def test_bad_bounds_metrics_and_preferences_are_refused(compiled: Compiled, more: dict, message: str) -> None:  # type: ignore[type-arg]
    robot = compiled("five_bar")
    with pytest.raises(ValueError, match=message):
        robot.resolve(robot.reference, [rr.FramePosition("toe", velocity=[0.1, 0, 0], axes="x")], **more)


def test_states_that_are_not_numbers_are_refused(compiled: Compiled) -> None:
    robot = compiled("five_bar")
    q = robot.reference
    with pytest.raises(ValueError, match="not finite"):
        robot.resolve(np.full(q.size, np.nan), [])
    with pytest.raises(ValueError, match=r"q must have shape \(5,\)"):
        robot.resolve(q[:3], [])
    with pytest.raises(ValueError, match="finite number of seconds"):
        robot.advance(q, np.zeros(2), np.inf)
    with pytest.raises(rc.AssemblyError):
        robot.advance(q, [100.0, 0.0], 0.1)
