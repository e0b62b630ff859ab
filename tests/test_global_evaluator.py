"""The benchmarks' global Python evaluator against the compiled module-local code, and against differences of itself.

The evaluator shares no geometry with the compiler (own joint models, own logarithm, whole-tree propagation), so this is
also an independent check of the compiled rho and C away from closure.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import casadi as cs
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

import robocompiler as rc
from benchmarks.duals import Dual, dual_algebra
from benchmarks.global_evaluator import GlobalEvaluator
from benchmarks.rigid import inverse_left_jacobian, log, rotation_about, transform
from robocompiler.graph.build import derive_topology
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.expressions import FUNCTIONS, evaluate, fold
from robocompiler.records.joint_types import JointType
from robocompiler.records.reader import read_mechanism
from robocompiler.symbolic.closures import build_closures
from robocompiler.symbolic.manifold import integrate

Array = NDArray[np.float64]
MODELS = Path(__file__).resolve().parent.parent / "models"
ROBOTS = ("stewart", "excavator", "kangaroo", "go2", "panda")


def off_manifold(robot: rc.Robot, random: np.random.Generator, size: float) -> Array:
    return robot.integrate(robot.reference, random.uniform(-size, size, len(robot.velocities)))


@pytest.mark.parametrize("name", ROBOTS)
def test_global_evaluator_agrees_with_the_compiled_closures(compiled: Callable[[str], rc.Robot], name: str) -> None:
    robot = compiled(name)
    evaluator = GlobalEvaluator(derive_topology(read_mechanism(MODELS / f"{name}.yaml")))
    random = np.random.default_rng(7)
    for size in (0.0, 1e-6, 1e-3, 0.05, 0.3):
        for _ in range(4):
            q = off_manifold(robot, random, size)
            rho, C = evaluator.by_chord(q)
            assert rho.shape == (len(robot.residual(q)),)
            np.testing.assert_allclose(rho, robot.residual(q), rtol=0, atol=1e-10)
            np.testing.assert_allclose(C, robot.closure_jacobian(q), rtol=0, atol=1e-10)


def _every_joint_type() -> str:
    """Bodies hung by every joint type, and closed to each other by every joint type (they need not close)."""
    kinds = ("revolute", "continuous", "prismatic", "cylindrical", "universal", "spherical", "planar", "screw", "fixed")
    bodies = [f"  b{k}: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}}" for k in range(len(kinds) + 1)]
    joints = []

    def joint(name: str, kind: str, a: str, b: str, turn: float) -> None:
        axes = {"universal": ", axis: [0, 0.6, 0.8], axis2: [1, 0, 0]", "spherical": "", "fixed": "", "free": ""}
        shape = axes.get(kind, ", axis: [0.6, 0, -0.8]") + (", pitch: 0.2" if kind == "screw" else "")
        frame_a = f"{{body: {a}, xyz: [{0.1 + turn}, 0.2, -0.3], rpy: [{turn}, 0.4, -0.2]}}"
        frame_b = f"{{body: {b}, xyz: [0.05, {-turn}, 0.1], rpy: [0.3, {-turn}, 0.1]}}"
        joints.append(f"  {name}: {{type: {kind}, a: {frame_a}, b: {frame_b}{shape}}}")

    for k, kind in enumerate(kinds):
        joint(f"tree_{kind}", kind, "world" if k == 0 else f"b{k - 1}", f"b{k}", 0.1 * k)
        joint(f"chord_{kind}", kind, f"b{k}", f"b{(k + 4) % len(kinds)}", -0.07 * k)
    joint("swing", "free", "world", f"b{len(kinds)}", 0.0)
    joint("chord_free", "free", "b2", f"b{len(kinds)}", 0.2)
    couplings = '  cam: {expression: "tree_revolute - 0.3*tree_prismatic**2 + sin(tree_screw)*ratio"}'
    header = ["robocompiler: 1", "name: zoo", "parameters:", "  ratio: {default: 1.7}"]
    return "\n".join([*header, "bodies:", *bodies, "joints:", *joints, "couplings:", couplings, ""])


def test_every_joint_type_agrees_with_the_symbolic_closures(tmp_path: Path) -> None:
    path = tmp_path / "zoo.yaml"
    path.write_text(_every_joint_type())
    topology = derive_topology(read_mechanism(path))
    program = build_closures(topology)
    kinds = {topology.kind(chord.joint) for chord in topology.chords} | {topology.kind(e.joint) for e in topology.edges}
    assert kinds == set(JointType)
    full = cs.vertcat(*[closure.full for closure in program.closures])
    jacobian = cs.vertcat(*[closure.full_jacobian for closure in program.closures])
    symbols = program.symbols
    function = cs.Function("full", [symbols.q, symbols.p], [full, jacobian])
    v = cs.SX.sym("v", topology.nv)
    move = cs.Function("move", [symbols.q, v], [integrate(topology, symbols.q, v)])
    evaluator, random = GlobalEvaluator(topology), np.random.default_rng(11)
    start = np.zeros(topology.nq)
    start[[i for i, name in enumerate(topology.q_names) if name.endswith(":qw")]] = 1.0
    for _ in range(20):
        q = np.array(move(start, random.uniform(-1, 1, topology.nv))).ravel()
        expected_rho, expected_C = (np.array(value) for value in function(q, [1.7]))
        for rho, C in (evaluator.by_chord(q), evaluator.shared(q)):
            np.testing.assert_allclose(rho, expected_rho.ravel(), rtol=0, atol=1e-10)
            np.testing.assert_allclose(C, expected_C, rtol=0, atol=1e-10)


def test_walking_once_and_walking_per_chord_give_the_same() -> None:
    topology = derive_topology(read_mechanism(MODELS / "kangaroo.yaml"))
    evaluator, random = GlobalEvaluator(topology), np.random.default_rng(3)
    q = random.normal(size=topology.nq)
    for slot in topology.slots:
        if topology.kind(slot.joint) in (JointType.SPHERICAL, JointType.FREE):
            part = q[slot.q0 + slot.nq - 4 : slot.q0 + slot.nq]
            part /= np.linalg.norm(part)
    for one, other in zip(evaluator.by_chord(q), evaluator.shared(q), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.2, 0.99, 1.01, 2.0, 3.1])
def test_log_and_inverse_left_jacobian_invert_the_matrix_exponential(angle: float) -> None:
    axis = np.array([0.48, -0.6, 0.64])
    rho = np.concatenate((angle * axis, [0.3, -1.2, 0.7]))
    hat = np.zeros((4, 4))
    hat[:3, :3] = [[0, -rho[2], rho[1]], [rho[2], 0, -rho[0]], [-rho[1], rho[0], 0]]
    hat[:3, 3] = rho[3:]
    T = expm(hat)
    np.testing.assert_allclose(log(T), rho, atol=2e-13 if angle < 3 else 2e-12)
    J_inverse, step = inverse_left_jacobian(rho), 1e-5
    for k, direction in enumerate(np.eye(6)):
        moved = np.zeros((4, 4))
        w, v = direction[:3] * step, direction[3:] * step
        moved[:3, :3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
        moved[:3, 3] = v
        difference = (log(expm(moved) @ T) - log(expm(-moved) @ T)) / (2 * step)
        np.testing.assert_allclose(difference, J_inverse[:, k], atol=2e-7)


def test_half_turn_has_a_logarithm_of_length_pi() -> None:
    axis = np.array([0.6, 0.0, -0.8])
    phi = log(transform(rotation_about(axis, np.pi), np.zeros(3)))[:3]
    assert abs(np.linalg.norm(phi) - np.pi) < 1e-12


@pytest.mark.parametrize("function", [*sorted(FUNCTIONS), "+", "-", "*", "/", "**", "neg"])
def test_dual_derivatives_match_differences(function: str) -> None:
    count = 1 if function == "neg" else FUNCTIONS.get(function, 2)
    names = ("x", "y")[:count]
    text = {"neg": "-x"}.get(function) or (
        f"{function}({', '.join(names)})" if function in FUNCTIONS else f"x {function} y"
    )
    expression, at = parse_expression(text), {"x": 0.37, "y": 0.81}

    def value(x: float, y: float) -> float:
        return evaluate(expression, {"x": x, "y": y})

    known = {name: Dual(at[name], np.eye(2)[i]) for i, name in enumerate(("x", "y"))}
    dual = fold(expression, known, dual_algebra, lambda number: Dual(number, np.zeros(2)))
    step = 1e-6
    along_x = (value(at["x"] + step, at["y"]) - value(at["x"] - step, at["y"])) / (2 * step)
    along_y = (value(at["x"], at["y"] + step) - value(at["x"], at["y"] - step)) / (2 * step)
    assert dual.value == value(**at)
    np.testing.assert_allclose(dual.gradient, [along_x, along_y], atol=1e-8)
