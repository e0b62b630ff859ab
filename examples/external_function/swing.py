"""A least-effort swing of the five-bar leg from rest to rest: swing.py [LIBRARY] -> one line of JSON.

Needs CasADi and the library that `make` built, nothing else.  Direct multiple shooting: the state over every interval
is a Runge-Kutta step through the compiled dynamics, whose compiled derivatives CasADi finds by their name.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import casadi as cs

FROM = (-2.303035994756255, -0.5113339874703821)  # hip angles, rad: the reference of the model
TO = (-2.55, -0.85)
DURATION, INTERVALS = 0.20, 20  # s
TORQUE = 0.3  # N m


def runge_kutta(ode: cs.Function, h: float) -> cs.Function:
    """(x, f) -> x after h under constant f."""
    x, f = cs.MX.sym("x", 4), cs.MX.sym("f", 2)
    k1 = ode(x, f)
    k2 = ode(x + h / 2 * k1, f)
    k3 = ode(x + h / 2 * k2, f)
    k4 = ode(x + h * k3, f)
    return cs.Function("step", [x, f], [x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])


def swing(library: Path) -> dict[str, object]:
    """Solve the problem; RuntimeError where IPOPT does not."""
    step = runge_kutta(cs.external("five_bar_ode", str(library)), DURATION / INTERVALS)
    problem = cs.Opti()
    x, f = problem.variable(4, INTERVALS + 1), problem.variable(2, INTERVALS)
    problem.minimize(cs.sumsqr(f) * DURATION / INTERVALS)
    for k in range(INTERVALS):
        problem.subject_to(x[:, k + 1] == step(x[:, k], f[:, k]))
        along = k / INTERVALS
        problem.set_initial(x[:2, k], [a + along * (b - a) for a, b in zip(FROM, TO, strict=True)])
    problem.subject_to(x[:, 0] == cs.vertcat(*FROM, 0, 0))
    problem.subject_to(x[:, -1] == cs.vertcat(*TO, 0, 0))
    problem.set_initial(x[:2, -1], TO)
    problem.subject_to(problem.bounded(-TORQUE, cs.vec(f), TORQUE))
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"}
    # the external function has first derivatives only
    problem.solver("ipopt", {"ipopt.hessian_approximation": "limited-memory", "ipopt.tol": 1e-8, **quiet})
    solution = problem.solve()
    return {
        "cost": float(solution.value(problem.f)),
        "iterations": int(solution.stats()["iter_count"]),
        "states": solution.value(x).T.tolist(),
        "efforts": solution.value(f).T.tolist(),
    }


if __name__ == "__main__":
    print(json.dumps(swing(Path(sys.argv[1] if len(sys.argv) > 1 else "./libfive_bar_ode.so").resolve())))
