"""The generated derivative functions: their numbers, their text, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from c_support import run_compiler
from casadi_derivatives import CasadiDerivatives
from casadi_mechanics import CasadiMechanics
from fronts import shipped_front
from mechanics_support import random_state, shipped
from test_parameters_dynamics import LOADED, VALUES, _four_bar, opened

import robocompiler as rc
from robocompiler.backend.emit import emit
from robocompiler.backend.toolchain import STRICT
from robocompiler.compiler import run_front_end
from robocompiler.records.reader import mechanism_from_dict

MODELS = Path(__file__).resolve().parent.parent / "models"


BAR = {"mass": 0.5, "com": [0.2, 0.01, 0], "inertia": [0.001, 0.004, 0.005, 0, 0, 0]}
PENDULUM = {  # no loop, no port: half of the kernels have nothing to compute
    "robocompiler": 1,
    "name": "pendulum",
    "bodies": {"upper": BAR, "lower": BAR},
    "joints": {
        "shoulder": {"type": "revolute", "a": {"body": "world"}, "b": {"body": "upper"}, "axis": [0, 1, 0]},
        "elbow": {
            "type": "revolute",
            "a": {"body": "upper", "xyz": [0.4, 0, 0]},
            "b": {"body": "lower"},
            "axis": [0, 0.8, 0.6],
        },
    },
}


@pytest.mark.parametrize("name", ["fourbar", "parallel_ankle", "crane", "pendulum"])
def test_compiled_numbers_are_those_of_the_kernels(name: str, tmp_path: Path) -> None:
    """The kernels' own numbers are checked in test_derivatives.py; the C must give the same to rounding."""
    records = mechanism_from_dict(PENDULUM) if name == "pendulum" else shipped(name)
    robot = rc.compile(records, output=tmp_path, derivatives=True, extra_flags=("-O0",))
    own = CasadiDerivatives(CasadiMechanics(run_front_end(records)))
    assert own.mechanics.independent == robot.independent
    q, u, random = random_state(robot, 3)
    f, udot = random.uniform(-3, 3, own.nf), random.uniform(-3, 3, own.d)
    found = (*robot.derivatives.forward_dynamics(q, u, f), *robot.derivatives.inverse_dynamics(q, u, udot))
    wanted = (*own.forward(q, u, f), *own.inverse(q, u, udot))
    assert [x.shape for x in found] == [x.shape for x in wanted]
    for mine, theirs in zip(found, wanted, strict=True):
        assert np.abs(mine - theirs).max(initial=0.0) <= 1e-12 * max(1.0, np.abs(theirs).max(initial=0.0))
    M = robot.mass_matrix(q)
    assert np.allclose(M @ found[2], robot.port_map(q).T, rtol=0, atol=1e-10)


def test_parameters_and_a_step_along_the_mechanism(tmp_path: Path) -> None:
    """One library at two parameter sets, against differences of its own forward dynamics."""
    robot = rc.compile(
        opened("fourbar", _four_bar, LOADED, "loaded_slopes"), output=tmp_path, derivatives=True, extra_flags=("-O0",)
    )
    slopes = []
    for values in (VALUES[0], VALUES[-1]):
        own = robot.with_parameters(values)
        u, f, h = np.array([1.5]), np.array([4.0]), 1e-4

        def at(angle: float, own: rc.Robot = own, u: np.ndarray = u, f: np.ndarray = f) -> np.ndarray:
            return own.forward_dynamics(own.assemble(own.configuration({"j_ga": angle})), u, f)

        by_s, by_u, by_f = own.derivatives.forward_dynamics(own.assemble(own.configuration({"j_ga": 0.8})), u, f)
        assert by_s[:, 0] == pytest.approx((at(0.8 + h) - at(0.8 - h)) / (2 * h), rel=1e-6)
        q = own.assemble(own.configuration({"j_ga": 0.8}))
        assert by_u[:, 0] == pytest.approx(
            own.forward_dynamics(q, u + 0.5, f) - own.forward_dynamics(q, u - 0.5, f), rel=1e-10
        )
        assert by_f[:, 0] == pytest.approx(own.forward_dynamics(q, u, f + 1) - own.forward_dynamics(q, u, f), rel=1e-10)
        slopes.append(by_s)
    assert not np.allclose(slopes[0], slopes[1], rtol=1e-2)
    with pytest.raises(ValueError, match=r"f must have shape \(1,\)"):
        robot.derivatives.forward_dynamics(robot.reference, [0.0], [])
    with pytest.raises(ValueError, match="not finite"):
        robot.derivatives.inverse_dynamics(robot.reference, [np.nan], [0.0])
    with pytest.raises(rc.RankError, match="overflows"):
        robot.derivatives.inverse_dynamics(robot.reference, [1e60], [0.0])
    with pytest.raises(ValueError, match="port chart"):
        _ = robot.chart("inner").derivatives


def test_without_the_option_the_error_says_how_to_get_it(compiled: Callable[[str], rc.Robot]) -> None:
    with pytest.raises(rc.LoadError, match="--derivatives"):
        _ = compiled("fourbar").derivatives


@pytest.mark.parametrize(("real", "name"), [("float", "slider_crank"), ("double", "crane")])
def test_the_text_is_clean_and_the_option_changes_no_other_unit(real: str, name: str, tmp_path: Path) -> None:
    program = shipped_front(name).program
    emission = emit(program, real, derivatives=True)  # type: ignore[arg-type]
    for path, text in emission.files.items():
        (tmp_path / path).write_text(text)
    plain = emit(program, real)  # type: ignore[arg-type]
    own = sorted(set(emission.files) - set(plain.files))
    assert f"{emission.prefix}_derivatives.h" in own
    for source in (path for path in own if path.endswith(".c")):
        run_compiler(("gcc",), *STRICT, "-fsyntax-only", f"-I{tmp_path}", str(tmp_path / source))
        run_compiler(
            ("g++",),
            "-x",
            "c++",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            f"-I{tmp_path}",
            str(tmp_path / source),
        )
    before = {unit.name: unit.text for unit in plain.units}
    after = {unit.name: unit.text for unit in emission.units}
    assert {name for name in before if before[name] != after[name]} == {"identity"}
    again = emit(run_front_end(MODELS / f"{name}.yaml").program, real, derivatives=True)  # type: ignore[arg-type]
    assert again.files == emission.files
