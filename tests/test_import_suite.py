"""Every MJCF and URDF of the suite against the engines that read it, and URDFs with loops by `robocompile check`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from case_models import CASES, load_case
from click.testing import CliRunner
from import_engines import compare_with_mujoco, compare_with_pinocchio, tree_of
from import_support import DATA, at

import robocompiler as rc
from robocompiler.cli import robocompile
from robocompiler.importers.import_model import import_model
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import Mechanism

ROOT = Path(__file__).resolve().parent.parent
MJCF = sorted((ROOT / "tests" / "data").rglob("*.xml"))
URDF = sorted((ROOT / "tests" / "data").rglob("*.urdf"))
LOOPED = ("delta", "five_bar", "fourbar_leg", "gripper", "parallel_ankle")
DOCUMENTED = [
    (kind, body)
    for page in ("import.md", "export.md")
    for kind, body in re.findall(
        r"^```xml\n(?:<\?xml.*\n)?(?=<(robot|mujoco))(.*?)^```", (ROOT / "docs" / page).read_text(), re.M | re.S
    )
]


def test_the_suite_has_its_files() -> None:
    assert {path.name for path in MJCF} >= {"go2.xml", "kangaroo_published.xml", "panda.xml", "x_two_roots.xml"}
    assert {path.stem for path in URDF} >= {*LOOPED, "c07_mimic"}
    assert sorted(kind for kind, _ in DOCUMENTED) == ["mujoco", "robot"]


def without(mechanism: Mechanism, known: set[str]) -> Mechanism:
    """The tree that an engine sees, whose joints it knows by these names: the others close loops, or weld."""
    closing = [
        j.name for j in mechanism.joints if j.name not in known and j.type not in (JointType.FIXED, JointType.FREE)
    ]
    return tree_of(mechanism, *closing)


@pytest.mark.parametrize("path", [*MJCF, "documented"], ids=lambda path: getattr(path, "stem", path))
def test_mujoco_agrees_on_every_mjcf(path: Path | str, tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile")
    file = path if isinstance(path, Path) else tmp_path / "documented.xml"
    if not isinstance(path, Path):
        file.write_text(next(body for kind, body in DOCUMENTED if kind == "mujoco"))
    model = mujoco.MjModel.from_xml_path(str(file))
    known = {model.joint(k).name for k in range(model.njnt)}
    assert compare_with_mujoco(model, without(import_model(file).mechanism, known), seed=6) == model.nv


@pytest.mark.parametrize("path", [*URDF, "documented"], ids=lambda path: getattr(path, "stem", path))
def test_pinocchio_agrees_on_every_urdf(path: Path | str, tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio", reason="a package of the verify extra, not needed to compile")
    file = path if isinstance(path, Path) else tmp_path / "documented.urdf"
    if not isinstance(path, Path):
        file.write_text(next(body for kind, body in DOCUMENTED if kind == "robot"))
    text = file.read_text()
    model = pin.buildModelFromXML(text)
    tree = without(import_model(file).mechanism, set(model.names))
    assert compare_with_pinocchio(text, tree, seed=6) == model.nv


@pytest.mark.parametrize("name", LOOPED)
def test_urdfs_with_loops_pass_the_check_of_the_command_line(name: str, tmp_path: Path) -> None:
    source = DATA / f"{name}.urdf"
    robot = rc.compile(source, output=tmp_path, extra_flags=("-O0",))
    built = tmp_path / robot.name
    result = CliRunner().invoke(robocompile, ["check", str(source), "--library", str(built), "--states", "4"])
    assert result.exit_code == 0, result.output
    assert "passed: all" in result.stdout


def test_the_mimic_of_case_c07_as_a_file() -> None:
    expected = load_case("c07")["expected"]
    records = import_model(CASES / "c07_mimic.urdf").mechanism
    model, still = at(records, {"j1": 0.4, "j2": -0.35}, {"j1": 0.0})
    reduced = model.reduced(still)
    assert float(reduced.M[0, 0]) == pytest.approx(expected["Mr"], rel=1e-8)
    assert float(reduced.h[0]) == pytest.approx(expected["gravity"], rel=1e-8)


def test_the_two_roots_of_case_c55_as_a_file() -> None:
    expected = load_case("c55")["expected"]
    records = import_model(CASES / "x_two_roots.xml").mechanism
    balls = [joint for joint in records.joints if joint.type is JointType.SPHERICAL]
    moving = [joint for joint in records.joints if joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS)]
    assert (len(moving), len(balls)) == (expected["nv"], expected["loops"])
    assert sum(joint.a.body == "world" for joint in moving) == 2
