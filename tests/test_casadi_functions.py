"""The dynamics as CasADi functions: the compiled numbers, and an optimal motion of the four-bar by collocation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import casadi as cs
import numpy as np
import pytest
from casadi_derivatives import closed
from casadi_robot import CasadiRobot
from fronts import shipped_front
from mechanics_support import MODELS, random_state, shipped
from test_parameters_dynamics import LOADED, _four_bar, opened

import robocompiler as rc
from robocompiler.compiler import run_front_end
from robocompiler.oracle.maximal import Efforts, MaximalModel


@pytest.mark.parametrize("name", ["fourbar", "parallel_ankle"])
def test_numbers_are_those_of_the_compiled_robot(name: str, compiled: Callable[[str], rc.Robot]) -> None:
    robot, front = compiled(name), shipped_front(name)
    q, u, random = random_state(robot, 11)
    f, udot = random.uniform(-3, 3, len(robot.ports)), random.uniform(-3, 3, len(robot.independent))
    pairs = {
        "forward_dynamics": ((q, u, f), robot.forward_dynamics(q, u, f)),
        "inverse_dynamics": ((q, u, udot), robot.inverse_dynamics(q, u, udot)),
        "velocity": ((q, u), robot.velocity(q, u)),
        "port_displacement": ((q,), robot.port_displacement(q)),
    }
    for key, (inputs, wanted) in pairs.items():
        found = rc.casadi.function(front, key)(*inputs).full().ravel()
        assert np.abs(found - wanted).max() <= 1e-12 * max(1.0, np.abs(wanted).max()), key
    assert np.abs(rc.casadi.function(front, "closure")(q).full()).max() < 1e-12
    rates = rc.casadi.function(front, "coordinate_rates")
    moved = robot.integrate(q, 1e-5 * robot.velocity(q, u)) - robot.integrate(q, -1e-5 * robot.velocity(q, u))
    assert np.abs(rates(q, u).full().ravel() - moved / 2e-5).max() < 1e-8


def test_parameters_are_an_input() -> None:
    records = opened("fourbar", _four_bar, LOADED, "loaded_function")
    front = run_front_end(records)
    udot = rc.casadi.function(front, "forward_dynamics")
    assert udot.name_in() == ["q", "u", "f", "p"]
    values = {**LOADED, "load": 4.0, "oil": 0.7}
    q = front.reduction.reference
    model = MaximalModel(records, values)
    pose = model.project(model.pose(dict(zip(front.topology.q_names, q, strict=True))), ("j_ga",))
    wanted = model.accelerations(model.state(pose, {"j_ga": 2.0}), Efforts(ports={"motor": 3.0})).udot
    assert float(udot(q, 2.0, 3.0, list(values.values()))) == pytest.approx(float(wanted[0]), rel=1e-10)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="no function is called 'inertia'; these are: forward_dynamics"):
        rc.casadi.function(MODELS / "fourbar.yaml", "inertia")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rc.nothing


def test_a_motion_of_least_effort_by_collocation() -> None:
    """The crank from rest to rest in 0.6 s; the oracle's accelerations satisfy the same trapezoidal rule."""
    front, steps, duration = shipped_front("fourbar"), 24, 0.6
    robot = CasadiRobot(front)
    udot, closure = (rc.casadi.function(front, name) for name in ("forward_dynamics", "closure"))
    crank = front.topology.q_names.index("j_ga")
    rows = [row for module in front.reduction.chart("port").modules for row in module.rows]
    tree = [i for i in range(front.topology.nq) if i not in set(front.closures.closures[0].recovered_q)]
    start = robot.reference
    target = start[crank] + 0.5

    opti = cs.Opti()
    x, u, f = opti.variable(len(tree), steps + 1), opti.variable(1, steps + 1), opti.variable(1, steps + 1)

    def q_at(k: int) -> cs.MX:
        q = cs.MX(start)
        for row, index in enumerate(tree):
            q[index] = x[row, k]
        return q

    own = tree.index(crank)
    rates = [udot(q_at(k), u[k], f[k]) for k in range(steps + 1)]
    h = duration / steps
    for k in range(steps + 1):
        opti.subject_to(closure(q_at(k))[rows] == 0)
    for k in range(steps):
        opti.subject_to(x[own, k + 1] - x[own, k] == h / 2 * (u[k] + u[k + 1]))
        opti.subject_to(u[k + 1] - u[k] == h / 2 * (rates[k] + rates[k + 1]))
    opti.subject_to([x[own, 0] == start[crank], x[own, steps] == target, u[0] == 0, u[steps] == 0])
    opti.minimize(cs.sumsqr(f))
    for k in range(steps + 1):
        guess = start.copy()
        guess[crank] += 0.5 * k / steps
        opti.set_initial(x[:, k], closed(robot, guess, [front.topology.v_names.index("j_ga")])[tree])
    opti.solver("ipopt", {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-10})
    solution = opti.solve()

    model = MaximalModel(shipped("fourbar"))
    X, U, F = solution.value(x), solution.value(u), solution.value(f)
    found = []
    for k in range(steps + 1):
        q = start.copy()
        q[tree] = X[:, k]
        q = robot.recover(q)
        assert np.abs(robot.condensed(q)[0]).max() < 1e-9
        pose = model.project(model.pose(robot.named(q)), ("j_ga",))
        state = model.state(pose, {"j_ga": float(U[k])})
        found.append(float(model.accelerations(state, Efforts(ports={"motor": float(F[k])})).udot[0]))
    assert X[own, -1] - X[own, 0] == pytest.approx(0.5, abs=1e-9)
    for k, (before, after) in enumerate(pairwise(found)):
        assert U[k + 1] - U[k] == pytest.approx(h / 2 * (before + after), abs=1e-7)
    assert np.abs(U).max() > 0.8  # 0.5 rad in 0.6 s
