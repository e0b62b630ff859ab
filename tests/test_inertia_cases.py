"""Inertia tensors of the public bug reports (C04, C16): turned into body axes once, products in the stated order."""

from __future__ import annotations

import numpy as np
import pytest
from casadi_mechanics import CasadiMechanics
from case_models import load_case, mechanism
from scipy.spatial.transform import Rotation


def hinge_inertia(mass: float, com: list[float], tensor: list[float], axis: list[float]) -> float:
    """M_r of one link on a hinge at the world's origin."""
    model = {
        "bodies": {"link": {"mass": mass, "com": com, "inertia": tensor}},
        "joints": {"hinge": {"type": "revolute", "a": "world", "b": "link", "axis": axis}},
    }
    robot = CasadiMechanics.of(mechanism("link", model))
    return float(robot.mass(robot.robot.reference)[0, 0])


@pytest.mark.parametrize(("name", "axis"), [("M_axis_x", [1, 0, 0]), ("M_axis_y", [0, 1, 0]), ("M_axis_z", [0, 0, 1])])
def test_a_tensor_given_in_turned_axes(name: str, axis: list[float]) -> None:
    """C04: the record wants body axes, so the tensor of the turned frame becomes R I R^T."""
    case = load_case("c04")
    R = Rotation.from_euler("xyz", [0.4, -0.7, 1.1]).as_matrix()
    own = np.array([[0.03, 0.004, -0.002], [0.004, 0.05, 0.006], [-0.002, 0.006, 0.065]])
    turned = R @ own @ R.T
    tensor = [*np.diag(turned).tolist(), turned[0, 1], turned[0, 2], turned[1, 2]]
    M = hinge_inertia(2.5, [0.05, -0.02, 0.07], [float(x) for x in tensor], axis)
    assert pytest.approx(case["expected"][name], rel=1e-8) == M
    assert abs(M - case["wrong_answers_of_naive_code"]["no_rotation"][axis.index(1)]) > 1e-4


def test_the_products_of_inertia_are_xy_xz_yz() -> None:
    """C16: the same six numbers in another file format's order give another moment."""
    case = load_case("c16")
    tensor = [0.05, 0.06, 0.07, 0.011, -0.007, 0.004]
    M = hinge_inertia(1.0, [0.0, 0.0, 0.0], tensor, [0.3, 0.4, 0.8660254])
    assert pytest.approx(case["expected"]["M"], rel=1e-8) == M
    assert abs(M - case["wrong_answers_of_naive_code"]["urdf_order"]) > 1e-3
