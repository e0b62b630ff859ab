"""Run-time parameters: a compiled robot with other numbers equals a robot compiled with those numbers."""

from __future__ import annotations

from pathlib import Path

import cffi
import numpy as np
import pytest
from odd_mechanisms import four_bar

import robocompiler as rc

GEAR = {"gear": {"expression": "j_gear - ratio*j_ga - offset"}}
START = {"j_ga": 0.7, "j_ab": -0.349681659968634, "j_bc": 0.756107240404626, "j_cg": -1.106425580435992}
REFERENCE = {"joints": {**START, "j_gear": 1.5}}


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> rc.Robot:
    mechanism = four_bar(
        "link", couplings=GEAR, parameters={"link": 1.0, "ratio": 2.0, "offset": 0.1}, reference=REFERENCE
    )
    return rc.compile(mechanism, output=tmp_path_factory.mktemp("open"), extra_flags=("-O0",))


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> rc.Robot:
    gear = {"gear": {"expression": "j_gear - 1.5*j_ga - 0.1"}}
    return rc.compile(
        four_bar(0.95, couplings=gear, reference=REFERENCE),
        output=tmp_path_factory.mktemp("fixed"),
        extra_flags=("-O0",),
    )


def test_defaults_are_those_of_the_file(robot: rc.Robot) -> None:
    assert robot.parameters == {"link": 1.0, "ratio": 2.0, "offset": 0.1}
    q = robot.reference
    assert np.abs(robot.residual(q)).max() < 1e-12
    assert robot.joint(q, "j_gear") == pytest.approx(2.0 * robot.joint(q, "j_ga") + 0.1, abs=1e-12)


def test_other_values_equal_a_robot_compiled_with_them(robot: rc.Robot, fixed: rc.Robot) -> None:
    other = robot.with_parameters({"link": 0.95, "ratio": 1.5})
    assert other.parameters == {"link": 0.95, "ratio": 1.5, "offset": 0.1}
    assert np.abs(other.residual(other.reference)).max() > 1e-3  # the reference belongs to the default link
    for angle in (0.5, 0.7, 1.2):
        q = other.assemble(other.configuration({"j_ga": angle}))
        wanted = fixed.assemble(fixed.configuration({"j_ga": angle}))
        by_name = {name: other.joint(q, name) for name in fixed.coordinates}
        np.testing.assert_allclose([by_name[n] for n in fixed.coordinates], wanted, atol=1e-12)
        assert other.independent == fixed.independent
        order = [other.velocities.index(name) for name in fixed.velocities]
        np.testing.assert_allclose(other.lift(q)[order], fixed.lift(wanted), atol=1e-12)
        for chart in ("port", "inner"):
            assert other.chart(chart).parameters["link"] == 0.95
        for ours, theirs in zip(other.pose("point", q), fixed.pose("point", wanted), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
        np.testing.assert_allclose(
            other.task_jacobian("point", q), fixed.task_jacobian("point", wanted), atol=1e-12
        )  # fmt: skip


def test_the_original_keeps_its_values_and_wrong_ones_are_refused(robot: rc.Robot) -> None:
    robot.with_parameters({"link": 0.5})
    assert robot.parameters["link"] == 1.0
    with pytest.raises(ValueError, match=r"no parameter is called 'link'.*'link'|did you mean 'link'"):
        robot.with_parameters({"lnk": 1.0})
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="must be a finite number"):
            robot.with_parameters({"link": wrong})


def test_a_link_too_short_to_close_is_refused(robot: rc.Robot) -> None:
    short = robot.with_parameters({"link": 0.05})
    with pytest.raises(rc.AssemblyError) as caught:
        short.assemble(short.reference)
    assert max(metres for metres, _ in caught.value.gap.values()) > 0.01


def test_the_c_functions_take_p_and_give_its_defaults(robot: rc.Robot, tmp_path: Path) -> None:
    from robocompiler.runtime.manifest import read_manifest

    folder = next(path for path in tmp_path.parent.glob("open*/linkage"))
    manifest = read_manifest(folder / "linkage.manifest.json")
    assert "int linkage_lift(const double q[], const double p[], double E[]);" in manifest["cdef"]
    ffi = cffi.FFI()
    ffi.cdef(manifest["cdef"])
    library = ffi.dlopen(str(folder / "liblinkage.so"))
    p = ffi.new("double[3]")
    library.linkage_default_parameters(p)
    assert list(p) == [1.0, 2.0, 0.1]
    q, residual = ffi.new("double[]", list(robot.reference)), ffi.new("double *")
    p[2] = 0.3
    assert library.linkage_correct(q, p, 1e-13, 12, q, residual) == 0
    assert residual[0] <= 1e-13
    gear, crank = robot.coordinates.index("j_gear"), robot.coordinates.index("j_ga")
    assert q[gear] == pytest.approx(2 * q[crank] + 0.3, abs=1e-12)
