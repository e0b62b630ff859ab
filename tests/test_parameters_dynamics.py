"""Run-time parameters in the dynamics: one compiled library, several values, each against the oracle of those values.

The oracle evaluates the records anew with the values (`MaximalModel(mechanism, parameters)`); it shares nothing with
the compiled code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from casadi_mechanics import CasadiMechanics
from case_models import built
from mechanics_support import MODELS, difference, oracle_state

import robocompiler as rc
from robocompiler.oracle.maximal import Efforts, MaximalModel
from robocompiler.oracle.tasks import port_map
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import mechanism_from_dict

TOLERANCE = 1e-12
LOADED = {"load": 1.5, "load_x": 0.45, "load_z": 0.05, "link": 1.0, "rotor": 0.02, "oil": 0.1}
VALUES: tuple[Mapping[str, float], ...] = (
    {},
    {"load": 6.25},
    {"load_x": 0.7, "load_z": -0.2},
    {"link": 0.95},
    {"load": 3.0, "load_x": 0.1, "load_z": 0.15, "link": 1.05, "rotor": 0.3, "oil": 0.0},
)


def opened(name: str, change: Any, parameters: Mapping[str, float], title: str) -> Mechanism:
    """The records of a shipped model with some numbers replaced by parameters."""
    data = yaml.safe_load((MODELS / f"{name}.yaml").read_text(encoding="utf-8"))
    change(data)
    data["name"] = title
    data["parameters"] = {key: {"default": value} for key, value in parameters.items()}
    return mechanism_from_dict(data)


def _four_bar(data: dict[str, Any]) -> None:
    data["bodies"]["coupler"] |= {"mass": "load", "com": ["load_x", 0.03, "load_z"]}
    data["joints"]["j_bc"]["a"]["xyz"] = ["link", 0.0, 0.0]
    data["joints"]["j_ga"]["armature"] = "rotor"
    data["joints"]["j_cg"]["damping"] = "oil"


@pytest.fixture(scope="module")
def records() -> Mechanism:
    return opened("fourbar", _four_bar, LOADED, "loaded_linkage")


@pytest.fixture(scope="module")
def robot(records: Mechanism, build_folder: Path) -> rc.Robot:
    return built(build_folder, records)


@pytest.mark.parametrize("values", VALUES, ids=lambda values: ",".join(values) or "defaults")
def test_one_library_has_the_dynamics_of_every_value(
    values: Mapping[str, float], robot: rc.Robot, records: Mechanism
) -> None:
    own, model = robot.with_parameters(values), MaximalModel(records, values)
    random = np.random.default_rng(5)
    for angle in (0.4, 0.9):
        q = own.assemble(own.configuration({"j_ga": angle}))
        u, udot, f = random.uniform(-3, 3, 1), random.uniform(-5, 5, 1), random.uniform(-10, 10, 1)
        state = oracle_state(model, own, q, u)
        reduced = model.reduced(state)
        assert difference(own.lift(q), model.lift(state, own.velocities)) < TOLERANCE
        assert difference(own.mass_matrix(q), reduced.M) < TOLERANCE
        assert difference(own.bias(q, u), reduced.h) < TOLERANCE
        assert difference(own.inverse_dynamics(q, u, udot), reduced.M @ udot + reduced.h) < TOLERANCE
        assert difference(own.port_map(q), port_map(model, state)) < TOLERANCE
        wanted = model.accelerations(state, Efforts(ports={"motor": float(f[0])}))
        assert difference(own.forward_dynamics(q, u, f), wanted.udot) < TOLERANCE
        curvature = model.curvature(state)
        assert difference(own.curvature(q, u), np.array([curvature[n] for n in own.velocities])) < TOLERANCE
        kinetic, _ = own.energy(q, u)
        assert kinetic == pytest.approx(float(model.energies(state)[0]), rel=1e-12)


def test_every_parameter_counts(robot: rc.Robot) -> None:
    """Each value alone changes what it must, so that the comparisons above compare different things."""
    q, u = robot.assemble(robot.reference), np.array([2.0])
    M, h = robot.mass_matrix(q), robot.bias(q, u)
    for name, value in (("load", 2.0), ("load_x", 0.5), ("load_z", 0.0), ("rotor", 0.1), ("oil", 0.5)):
        other = robot.with_parameters({name: value})
        changed = abs(other.bias(q, u) - h).max() if name == "oil" else abs(other.mass_matrix(q) - M).max()
        assert changed > 1e-3, name
    assert robot.with_parameters({"rotor": 0.12}).mass_matrix(q) == pytest.approx(M + 0.1, rel=1e-12)


def _stewart(data: dict[str, Any]) -> None:
    data["bodies"]["payload"] |= {"mass": "payload", "com": ["payload_x", "payload_y", 0.11]}
    data["joints"]["leg_2_ball"]["b"]["xyz"] = [0.11970705016398414, 0.3288924172750679, "anchor"]
    data["joints"]["leg_4_u_x"]["a"]["xyz"][2] = "ground"


def test_the_stewart_platform_with_open_payload_and_anchors() -> None:
    """By CasADi from the kernels: payload mass and centre, and the heights of an anchor above and one below."""
    anchors = {"payload": 8.0, "payload_x": 0.0, "payload_y": 0.0, "anchor": 0.0, "ground": 0.0}
    records = opened("stewart", _stewart, anchors, "open_platform")
    compiled = CasadiMechanics.of(records)
    assert [p.name for p in records.parameters] == list(anchors)
    heavier, elsewhere = {"payload": 14.0, "payload_x": 0.05}, {"payload_y": -0.06, "anchor": 0.03, "ground": -0.04}
    for values in ({}, heavier, elsewhere):
        model, random = MaximalModel(records, values), np.random.default_rng(6)
        compiled.robot.p = np.array(list((anchors | values).values()))
        near = compiled.robot.named(compiled.robot.reference)
        pose = model.project(model.pose(near), compiled.independent)
        q = compiled.robot.q({name: float(x) for name, x in pose.values.items()})
        assert np.abs(compiled.robot.residual(q)).max() < 1e-13
        u, f = random.uniform(-0.3, 0.3, 6), random.uniform(-400, 400, 6)
        state = model.state(pose, dict(zip(compiled.independent, u.tolist(), strict=True)), compiled.independent)
        reduced = model.reduced(state)
        efforts = Efforts(ports=dict(zip(compiled.ports, f.tolist(), strict=True)))
        assert difference(compiled.mass(q), reduced.M) < TOLERANCE
        assert difference(compiled.inverse(q, u, 0 * u), reduced.h) < TOLERANCE
        assert difference(compiled.port_map(q), port_map(model, state)) < TOLERANCE
        assert difference(compiled.forward(q, u, f), model.accelerations(state, efforts).udot) < TOLERANCE
