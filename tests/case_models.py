"""The small mechanisms of tests/data/cases as records and compiled robots, and numbers rebuilt from bodies alone.

`reduced_inertia`, `gravity_effort` and `inverse_effort` use nothing of a robot but body poses and Jacobians, so that
the inertias and efforts of a case become checks of its kinematics.
"""

from __future__ import annotations

import fcntl
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

import robocompiler as rc
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict

Array = NDArray[np.float64]
CASES = Path(__file__).parent / "data" / "cases"


def load_case(name: str) -> dict[str, Any]:
    """The case file `name` ('c01') as plain data."""
    data: dict[str, Any] = yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    return data


def mechanism(name: str, model: Mapping[str, Any], **more: Any) -> Mechanism:
    """Records from a `model` block; couplings given as a list are named coupling_0, coupling_1, ...

    `more` adds or replaces top-level keys (reference, ports, ...).
    """
    data: dict[str, Any] = {"robocompiler": 1, "name": name, **model, **more}
    couplings = data.get("couplings")
    if isinstance(couplings, list):
        data["couplings"] = {f"coupling_{k}": coupling for k, coupling in enumerate(couplings)}
    return mechanism_from_dict(data)


def case_mechanism(case: Mapping[str, Any], name: str = "", **more: Any) -> Mechanism:
    """The records of a case, its state taken as the reference where it names joints."""
    model, state = case["model"], case.get("state")
    if isinstance(state, dict) and "reference" not in more:
        joints = {key: value for key, value in state.items() if key in model["joints"] and isinstance(value, float)}
        more["reference"] = {"joints": joints}
    return mechanism(name or case["id"].lower(), model, **more)


def case_robot(
    folder: Path, case: Mapping[str, Any], independent: Sequence[str] = (), seed: Mapping[str, float] | None = None
) -> rc.Robot:
    """The compiled robot of a case; by default the coordinates whose speed the state gives are to be independent.

    `seed` adds rough values of joints that the state leaves out.
    """
    state = case.get("state")
    speeds = tuple(state.get("u", ())) if isinstance(state, dict) else ()
    records = case_mechanism(case)
    if seed:
        reference = {"joints": {**dict(records.reference.coordinates), **seed}}
        records = case_mechanism(case, reference=reference)
    return built(folder, records, tuple(independent) or speeds)


def built(folder: Path, records: Mechanism, independent: Sequence[str] = ()) -> rc.Robot:
    """The compiled robot of some records, built at most once per run of the suite, whichever worker comes first."""
    key = re.sub(r"[^A-Za-z0-9_]", "_", "-".join((records.name, *independent)))
    root = folder / "small" / key
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = root / "done"
        if not done.exists():
            rc.compile(records, output=root, independent=independent, workers=1, extra_flags=("-O0",))
            done.touch()
    return rc.load(root / records.name)


def at_state(robot: rc.Robot, case: Mapping[str, Any]) -> Array:
    """The assembled configuration with the joints of the case's state, all of them where the file says."""
    state = {key: value for key, value in case["state"].items() if key in robot.coordinates}
    q = robot.assemble(robot.configuration(state))
    for name, value in state.items():
        np.testing.assert_allclose(robot.joint(q, name), value, atol=1e-9, err_msg=name)
    return q


def row(robot: rc.Robot, q: Array, velocity: str) -> Array:
    """One row of the lift E: the speed `velocity` per independent speed."""
    return robot.lift(q)[robot.velocities.index(velocity)]


def column(robot: rc.Robot, q: Array, names: Sequence[str]) -> Array:
    """E (names, d) with the columns in the order of the robot's independents."""
    return np.array([row(robot, q, name) for name in names])


def _inertia(values: Sequence[float]) -> Array:
    xx, yy, zz, xy, xz, yz = values
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _com_jacobians(robot: rc.Robot, records: Mechanism, q: Array) -> list[tuple[float, Array, Array, Array]]:
    """(mass, world inertia, rotational, centre-of-mass Jacobian) of every body."""
    found = []
    for body in records.bodies:
        R, _ = robot.pose(body.name, q)
        J = robot.task_jacobian(body.name, q)
        arm = R @ np.array(body.com, dtype=float)
        linear = J[3:] - np.cross(arm, J[:3].T).T  # v + omega x r
        found.append((float(body.mass), R @ _inertia(body.inertia) @ R.T, J[:3], linear))
    return found


def reduced_inertia(robot: rc.Robot, records: Mechanism, q: Array) -> Array:
    """M_r (d, d) = sum over the bodies of J^T M J, without armatures."""
    parts = _com_jacobians(robot, records, q)
    return np.sum([m * V.T @ V + W.T @ theta @ W for m, theta, W, V in parts], axis=0)


def gravity_effort(robot: rc.Robot, records: Mechanism, q: Array) -> Array:
    """The effort (d,) that holds the robot still at q: minus the power of the weights per independent speed."""
    parts = _com_jacobians(robot, records, q)
    return -np.sum([m * V.T @ np.array(records.gravity) for m, _, _, V in parts], axis=0)


def along(robot: rc.Robot, q: Array, u: Array, step: float) -> Array:
    """The assembled configuration a time `step` further at constant independent speeds u, to second order."""
    half = robot.integrate(q, step / 2 * robot.velocity(q, u))
    middle = robot.assemble(half)
    return robot.assemble(robot.integrate(q, step * (robot.lift(middle) @ u)))


def rate_of(function: Any, robot: rc.Robot, q: Array, u: Array, step: float = 2e-3) -> Array:
    """d/dt of function(q) in motion at constant u, by a fourth-order central difference."""
    near = [function(along(robot, q, u, k * step)) for k in (-2, -1, 1, 2)]
    return np.asarray((near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * step))


def inverse_effort(robot: rc.Robot, records: Mechanism, q: Array, u: Array) -> Array:
    """tau_u (d,) for udot = 0: sum of J^T (m a; I alpha + omega x I omega) plus gravity, a and alpha by differences."""
    total = gravity_effort(robot, records, q)
    rates = rate_of(
        lambda x: np.array([[w @ u, v @ u] for _, _, w, v in _com_jacobians(robot, records, x)]), robot, q, u
    )
    for (m, theta, W, V), (alpha, a) in zip(_com_jacobians(robot, records, q), rates, strict=True):
        omega = W @ u
        total = total + m * V.T @ a + W.T @ (theta @ alpha + np.cross(omega, theta @ omega))
    return total


def quaternion_between(source: Array, target: Array) -> Array:
    """The unit quaternion (w, x, y, z) of the smallest rotation that takes direction `source` to `target`."""
    a, b = source / np.linalg.norm(source), target / np.linalg.norm(target)
    q = np.concatenate(([1 + a @ b], np.cross(a, b)))
    return q / np.linalg.norm(q)
