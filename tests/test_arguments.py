"""Wrong types, shapes and values in every argument of the public calls: refused by a typed error, or taken as meant.

Each call is made once as it should be and then once for every wrong value of every argument.  What comes out must be a
result or an error of the project; a raw TypeError, AttributeError, IndexError or the like fails the test.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robocompiler as rc
from robocompiler import redundancy as rr
from robocompiler import simulation as rs
from robocompiler.arguments import shown
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"
Get = Callable[[str], rc.Robot]
Call = tuple[str, Callable[..., Any], dict[str, Any]]

WRONG: tuple[Any, ...] = (
    *(None, "x", b"x", object(), object, 1.5, -1, 10**12, -(10**40), float("nan"), float("inf"), 1j),
    *([], {}, ["a"], [None], [[1.0], [1.0, 2.0]], {"x": 1.0}, {1: 2}, {"hip_left": "x"}),
    *(np.zeros(17), np.zeros((3, 3)), np.array(["a", "b"]), np.array(2.0)),
)


def kinematics(robot: rc.Robot, q: Any, u: Any) -> Iterator[Call]:
    v, frame, name = np.zeros(5), robot.frames[0], robot.coordinates[0]
    yield "configuration", robot.configuration, {"values": {name: 0.1}, "base": q}
    yield "assemble", robot.assemble, {"q": q, "hold": [name]}
    yield "joint", robot.joint, {"q": q, "name": name}
    yield "integrate", robot.integrate, {"q": q, "v": v, "out": np.zeros(5)}
    yield "residual", robot.residual, {"q": q, "out": robot.residual(q)}
    yield "velocity", robot.velocity, {"q": q, "u": u, "out": v.copy()}
    yield "pose", robot.pose, {"frame": frame, "q": q}
    yield "task_jacobian", robot.task_jacobian, {"frame": frame, "q": q, "out": np.zeros((6, 2))}
    yield "chart", robot.chart, {"name": "port"}
    yield "prepare", robot.prepare, {"name": "bias"}
    yield "with_parameters", robot.with_parameters, {"values": {}}
    yield "at", robot.at, {"poses": {}}
    yield "open_supports", robot.open_supports, {"names": []}


def dynamics(robot: rc.Robot, q: Any, u: Any) -> Iterator[Call]:
    acting, wrenches = {"q": q, "u": u}, {robot.frames[0]: np.zeros(6)}
    yield "acceleration", robot.acceleration, {**acting, "udot": u, "out": np.zeros(5)}
    yield "port_efforts", robot.port_efforts, {"q": q, "tau_u": u, "weights": np.ones(2)}
    yield "inverse_dynamics", robot.inverse_dynamics, {**acting, "udot": u, "wrenches": wrenches, "out": np.zeros(2)}
    yield "forward_dynamics", robot.forward_dynamics, {**acting, "f": u, "wrenches": wrenches, "out": np.zeros(2)}
    yield "reactions", robot.reactions, {**acting, "f": u, "wrenches": wrenches}
    yield "derivatives", robot.derivatives.forward_dynamics, {**acting, "f": u}
    yield "advance", robot.advance, {**acting, "step": 0.01}
    yield "carry", rc.carry, {"old": robot, **acting, "new": robot, "z": None}


def motion(robot: rc.Robot, q: Any, u: Any) -> Iterator[Call]:
    limits = {
        "prediction": True, "iterations": 12, "substeps": 200, "homotopy": 100, "work": 0, "full_check": False,
        "tolerance": None, "smallest_step": None,
    }  # fmt: skip
    updater = robot.updater(q)
    yield "updater", robot.updater, {"q": q, **limits}
    yield "follow", robot.follow, {"q": q, "target": {"hip_left": float(q[0])}}
    yield "trajectory", robot.trajectory, {"q": q, "knots": [{"hip_left": float(q[0])}], "prediction": True}
    yield "start", robot.updater(q).start, {"q": q}
    yield "acquire", robot.updater(q).acquire, {"q": q}
    yield "restore", updater.restore, {"snapshot": updater.snapshot()}
    for name, given in (("set", {"name": 0, "value": 0.0}), ("advance", {"name": 0, "increment": 0.0})):
        yield name, getattr(updater, name), given
    yield "set_many", updater.set_many, {"values": q}
    yield "touches", rc.touches, {"frame": "left", "height": 0.0, "normal": (0.0, 0.0, 1.0)}
    yield "Switch", rc.Switch, {"mode": "left", "at": 1.0, "when": None}
    yield "Schedule", rc.Schedule, {"switches": [rc.Switch("left", at=1.0)]}
    yield "run", rc.Schedule([]).run, {"stance": rc.Stance.floats(robot), "duration": 1e-3, "control": None, "every": 1}


def simulations(robot: rc.Robot, q: Any, u: Any) -> Iterator[Call]:
    reference = rs.through_ports(robot, [0, 1], [robot.port_displacement(q)] * 2)
    yield "simulate", partial(robot.simulate, 1e-3), {
        "q": q, "u": u, "z": [], "controller": lambda t, q, u: np.zeros(2), "wrenches": {}, "friction": rs.NoFriction(),
        "method": "rk4", "step": 1e-3, "rtol": 1e-6, "events": (), "every": 1, "progress": None,
    }  # fmt: skip
    yield "returned efforts", lambda x: robot.simulate(1e-3, controller=lambda t, q, u: x), {"x": u}
    yield "event's value", lambda x: robot.simulate(1e-3, events=[rs.Event("e", lambda t, q, u: x)]), {"x": 1.0}
    yield "wrench", lambda x: robot.simulate(1e-3, wrenches={robot.frames[0]: x}), {"x": np.zeros(6)}
    yield "Sampled", rs.Sampled, {"law": lambda t, q, u: u, "sample_time": 0.1}
    yield "Event", rs.Event, {
        "name": "e", "value": lambda t, q, u: 1.0, "direction": 0, "action": rs.Stop(), "detail": None,
    }  # fmt: skip
    yield "Jump", rs.Jump, {"change": lambda t, q, u: u}
    yield "SmoothFriction", rs.SmoothFriction, {"slip": 0.1}
    yield "spline", rs.CubicSpline, {"times": [0, 1], "values": [[0.0], [1.0]]}
    yield "through_ports", rs.through_ports, {"robot": robot, "times": [0, 1], "displacements": np.zeros((2, 2)) - 0.5}
    yield "tracking", rs.TrackingController, {
        "robot": robot, "reference": reference, "kp": 1.0, "kd": 1.0, "feedforward": None, "sample_time": None,
    }  # fmt: skip
    yield "joint_limits", rs.joint_limits, {"robot": robot, "action": rs.Stop()}


def resolutions(robot: rc.Robot, q: Any, u: Any) -> Iterator[Call]:
    frame = robot.frames[-1]
    yield "resolve", robot.resolve, {
        "q": q, "tasks": [rr.PortDisplacement("motor_left")], "bounds": [rr.JointSpeeds()], "metric": "kinetic",
        "preference": None, "relax": rr.ScaleTask(),
    }  # fmt: skip
    tasks: tuple[tuple[Callable[..., Any], dict[str, Any]], ...] = (
        (rr.FramePosition, {"frame": frame, "target": np.zeros(3), "gain": 1.0, "axes": "xz", "axes_of": "world"}),
        (rr.FrameOrientation, {"frame": frame, "target": np.eye(3), "gain": 1.0, "axes": ("ry",), "velocity": [0] * 3}),
        (rr.FramePose, {"frame": frame, "target": (np.eye(3), [0] * 3), "axes": ("ry",), "error": "split"}),
        (rr.PortDisplacement, {"port": "motor_left", "target": 0.0, "velocity": 0.0, "gain": 1.0}),
        (rr.JointCoordinate, {"name": "hip_left", "target": 0.0, "velocity": 0.0, "gain": 1.0}),
        (rr.UserTask, {"rows_named": ["a"], "function": lambda r, q: ([[1, 1]], [0.0]), "over": "port"}),
    )
    bounds: tuple[tuple[Callable[..., Any], dict[str, Any]], ...] = (
        (rr.JointSpeeds, {"limits": {"hip_left": 1.0}, "share": 1.0}),
        (rr.JointPositions, {"step": 0.01, "limits": {"hip_left": (-3, 3)}, "margin": 0.0, "braking": None}),
        (rr.UserBound, {"rows_named": ["a"], "A": np.ones((1, 2)), "b": [1.0], "over": "port"}),
    )
    for kind, table in (("tasks", tasks), ("bounds", bounds)):
        for make, given in table:
            yield make.__name__, partial(_resolved, robot, q, kind, make), given
    yield "UserMetric", lambda **k: robot.resolve(q, [], metric=rr.UserMetric(**k)), {"W": np.eye(2), "over": "port"}
    yield "StrokeInterior", lambda **k: robot.resolve(q, [], preference=rr.StrokeInterior(**k)), {
        "kind": "quadratic", "limits": {"motor_left": (-3, 3)}, "gain": 1.0,
    }  # fmt: skip
    yield "Slack", rr.Slack, {"levels": [{"*": 1.0}]}


def _resolved(robot: rc.Robot, q: Any, kind: str, make: Callable[..., Any], **given: Any) -> Any:
    return robot.resolve(q, **{"tasks": [], kind: [make(**given)]})


@pytest.mark.parametrize("part", [kinematics, dynamics, motion, simulations, resolutions])
def test_wrong_arguments_meet_typed_errors(part: Callable[..., Iterator[Call]], compiled: Get) -> None:
    robot = compiled("five_bar")
    raw, refused = [], 0
    for name, call, good in part(robot, robot.reference, np.zeros(2)):
        call(**good)
        for argument, value in itertools.product(good, WRONG):
            try:
                call(**{**good, argument: value})
            except rc.RoboCompilerError:
                refused += 1
            except Exception as error:  # any other type is what this test looks for
                if "object() takes no arguments" not in str(error):  # a class given as a function: the caller's own
                    raw.append(f"{name}({argument}={shown(value)}): {error!r}")
    assert raw == []
    assert refused > 100


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.updater(r.reference, iterations=10**12), ["iterations", "0 to 10000", "1000000000000"]),
        (lambda r: r.updater(r.reference, iteration=3), ["option of Robot.updater", "did you mean 'iterations'"]),
        (lambda r: r.simulate(0.1, every=1.5), ["every", "whole number", "1.5"]),
        (lambda r: r.simulate(0.1, friction="x"), ["friction", "SmoothFriction", "str 'x'"]),
        (lambda r: r.simulate(0.1, events=rs.Event("e", lambda t, q, u: t)), ["events", "write [event]"]),
        (lambda r: r.resolve(r.reference, rr.PortDisplacement("motor_left")), ["tasks", "write [one]"]),
        (lambda r: r.resolve(r.reference, [rr.PortDisplacement("motor_left", gain=-1.0)]), ["gain", "at least 0"]),
        (lambda r: r.assemble(r.reference, "hip_left"), ["hold", "write [name]"]),
        (lambda r: r.mass_matrix([0.0]), ["q", "(5,)", "(1,)", "Robot.coordinates"]),
        (lambda r: rs.through_ports(r, [0, 1], np.zeros((2, 3))), ["(2, 2)", "(2, 3)", "motor_left, motor_right"]),
    ],
)  # fmt: skip
def test_errors_name_argument_expected_got_and_mend(
    call: Callable[[rc.Robot], Any], words: list[str], compiled: Get
) -> None:
    with pytest.raises(rc.ArgumentError) as caught:
        call(compiled("five_bar"))
    assert [word for word in words if word not in str(caught.value)] == []
    assert isinstance(caught.value, ValueError)


def test_a_motion_is_not_resolved_where_the_loops_are_open(compiled: Get) -> None:
    robot = compiled("five_bar")
    q = robot.reference
    q[1] += 0.05
    with pytest.raises(rc.AssemblyError, match=r"scaled residual of 0\.0\d+ .* assemble\(q\) first") as caught:
        robot.resolve(q, [rr.PortDisplacement("motor_left")])
    assert caught.value.residual == pytest.approx(np.abs(robot.residual(q)).max(), rel=5)
    assert caught.value.joint in robot.closures
    robot.resolve(robot.assemble(q), [rr.PortDisplacement("motor_left")])


def test_what_is_compiled_and_edited_is_checked_before_anything_runs(tmp_path: Any) -> None:
    mechanism = read_mechanism(MODELS / "five_bar.yaml")
    calls: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: rc.edited(mechanism, None), "changes must be a mapping"),  # type: ignore[arg-type]
        (lambda: rc.edited(3, {}), "model must be a path"),  # type: ignore[arg-type]
        (lambda: rc.compile(mechanism, tmp_path, derivative=True), "did you mean 'derivatives'"),
        (lambda: rc.compile(mechanism, tmp_path, derivatives=1), "derivatives must be True or False"),
        (lambda: rc.compile(mechanism, tmp_path, independent="hip_left"), r"independent .* write \[name\]"),
        (lambda: rc.compile(mechanism, tmp_path, charts=1.5), "charts must be 'auto' or a number"),  # type: ignore[arg-type]
        (lambda: rc.compile(mechanism, 3), "output must be a path"),  # type: ignore[arg-type]
        (lambda: rc.reload("five_bar", mechanism), "robot must be a Robot"),  # type: ignore[arg-type]
        (lambda: rc.load(None), "must be a path"),  # type: ignore[arg-type]
    )
    for call, words in calls:
        with pytest.raises(rc.ArgumentError, match=words):
            call()
    assert list(tmp_path.iterdir()) == []
