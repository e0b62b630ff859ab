"""What a build touches: determinism, unchanged rebuilds, and one edited record."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from odd_mechanisms import named, tree

import robocompiler as rc
from robocompiler.backend.emit import emit
from robocompiler.backend.options import BuildOptions, BuildReport
from robocompiler.compiler import compile_to_folder, run_front_end
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """(time of change, inode) of every file but the cache's own record and the lock."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    own = {"record.json", ".robocompiler.lock"}
    return {str(p.relative_to(folder)): (p.stat().st_mtime_ns, p.stat().st_ino) for p in files if p.name not in own}


def copy_of(compiled: Callable[[str], rc.Robot], build_folder: Path, name: str, target: Path) -> Path:
    """A copy of a compiled robot that a test may change."""
    compiled(name)
    shutil.copytree(build_folder / name, target / name)
    return target


def build(mechanism: Mechanism | Path, folder: Path, **options: object) -> BuildReport:
    return compile_to_folder(mechanism, folder, options=BuildOptions(**options))[1]  # type: ignore[arg-type]


def moved(mechanism: Mechanism, joint: str, by: float) -> Mechanism:
    """The mechanism with the attachment of `joint` on its body a moved along x."""
    old = mechanism.joint(joint)
    x, y, z = old.a.translation
    assert isinstance(x, float)
    new = dataclasses.replace(old, a=dataclasses.replace(old.a, translation=(x + by, y, z)))
    return dataclasses.replace(mechanism, joints=tuple(new if j is old else j for j in mechanism.joints))


def test_an_unchanged_rebuild_touches_nothing(
    compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path
) -> None:
    folder = copy_of(compiled, build_folder, "fourbar", tmp_path)
    before = snapshot(folder)
    report = build(MODELS / "fourbar.yaml", folder)
    assert report.changed == ()
    assert report.compiled == ()
    assert set(report.reasons.values()) == {"unchanged"}
    assert snapshot(folder) == before
    assert all((report.folder / name).is_file() for name in report.files)


def test_an_edited_mass_compiles_what_masses_enter(
    compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path
) -> None:
    folder = copy_of(compiled, build_folder, "fourbar", tmp_path)
    mechanism = read_mechanism(MODELS / "fourbar.yaml")
    crank = dataclasses.replace(mechanism.bodies[0], mass=0.9)
    report = build(dataclasses.replace(mechanism, bodies=(crank, *mechanism.bodies[1:])), folder)
    assert set(report.compiled) == {"dynamics", "energy_kernel", "identity", "inner_mass_kernel", "tree_kernel"}
    assert all(report.reasons[name] == "bodies.crank.mass changed" for name in report.compiled)


def test_one_edited_leg_compiles_its_own_units_and_says_why(
    compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path
) -> None:
    folder = copy_of(compiled, build_folder, "stewart", tmp_path)
    mechanism = read_mechanism(MODELS / "stewart.yaml")
    before = emit(run_front_end(mechanism).program)
    edited = run_front_end(moved(mechanism, "leg_2_u_x", 1e-3))
    after = emit(edited.program)
    changed = {unit.name for old, unit in zip(before.units, after.units, strict=True) if old.text != unit.text}
    own = [
        module.name
        for module in edited.reduction.chart("inner").modules
        if any("leg_2" in edited.closures.closures[index].name for index in module.closures)
    ]
    assert len(own) == 1
    modules = {module.name for chart in edited.reduction.charts for module in chart.modules}
    assert changed & modules == {own[0], "module_0"}
    assert {"kinematics", "identity", "motion_kernel"} <= changed
    assert not changed & {"tree_kernel", "friction_kernel", "raise_kernel", "project_kernel", "port_map_kernel"}
    # what compiling would do, without waiting for the compiler: the others keep their objects
    from robocompiler.backend.cache import plan
    from robocompiler.backend.numbers_apart import units_to_compile
    from robocompiler.backend.toolchain import find_toolchain

    toolchain, headers = find_toolchain(), after.headers
    units = units_to_compile(after.units, after.prefix, toolchain).units
    planned = plan(units, folder=folder / "stewart", toolchain=toolchain, headers=headers, generator=rc.__version__)
    decisions = planned.decisions
    assert {d.unit.name.removesuffix("_numbers") for d in decisions if not d.reused} == changed
    # of long units, only the numbers
    assert {"kinematics", "motion_kernel"} <= {d.unit.name for d in decisions if d.reused}
    assert all(d.reason.startswith("joints.leg_2_u_x.a changed") for d in decisions if not d.reused)


def test_the_same_records_give_the_same_bytes(
    compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path
) -> None:
    compiled("fourbar")
    build(MODELS / "fourbar.yaml", tmp_path / "some" / "where else")
    there = tmp_path / "some" / "where else" / "fourbar"
    names = sorted(path.name for path in there.iterdir() if path.is_file() and not path.name.startswith("."))
    assert "fourbar.manifest.json" in names
    for name in names:
        assert (there / name).read_bytes() == (build_folder / "fourbar" / name).read_bytes(), name
        assert str(tmp_path).encode() not in (there / name).read_bytes(), name


def test_a_removed_or_damaged_product_is_made_again(
    compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path
) -> None:
    folder = copy_of(compiled, build_folder, "fourbar", tmp_path)
    here = folder / "fourbar"
    good = {path.name: path.read_bytes() for path in here.glob("*.so")}
    assert len(good) == 3
    for name in good:
        (here / name).unlink()
        (here / name).write_bytes(good[name][:5000])
    objects = sorted((here / ".cache" / "objects").glob("*.o"))
    objects[0].write_bytes(b"\x7fELF")
    report = build(MODELS / "fourbar.yaml", folder)
    assert len(report.compiled) == 1
    assert report.reasons[report.compiled[0]] == "object missing or damaged"
    assert {path.name: path.read_bytes() for path in here.glob("*.so")} == good
    (here / "libfourbar_module_0.so").unlink()
    assert build(MODELS / "fourbar.yaml", folder).compiled == ()
    assert {path.name: path.read_bytes() for path in here.glob("*.so")} == good


def test_libraries_of_modules_that_are_gone_are_removed(tmp_path: Path) -> None:
    build(named("rig"), tmp_path, extra_flags=("-O0",))
    assert (tmp_path / "rig" / "librig_module_0.so").is_file()
    build(dataclasses.replace(tree(), name="rig"), tmp_path, extra_flags=("-O0",))
    assert not (tmp_path / "rig" / "librig_module_0.so").exists()
    assert not (tmp_path / "rig" / "rig_module_0.c").exists()
    assert rc.load(tmp_path / "rig").modules == ()


def test_a_process_that_holds_the_old_robot_loads_the_new_one(tmp_path: Path) -> None:
    # the dynamic linker knows libraries by path: under one name the second load would find the first library again
    mechanism = read_mechanism(MODELS / "fourbar.yaml")
    old = rc.compile(mechanism, output=tmp_path, extra_flags=("-O0",))
    crank = dataclasses.replace(mechanism.joints[1])
    x = np.array([0.3, 0.0, 0.0])
    assert crank.a.translation == tuple(x)
    new = rc.compile(moved(mechanism, "j_ab", 0.01), output=tmp_path, extra_flags=("-O0",))
    for robot, length in ((old, 0.3), (new, 0.31)):
        pin = robot.pose("coupler", robot.reference)[1]
        assert np.linalg.norm(pin) == pytest.approx(length, abs=1e-12)
    # the library of the manifest before stays for whoever has just read it; older ones do not pile up
    rc.compile(moved(mechanism, "j_ab", 0.02), output=tmp_path, extra_flags=("-O0",))
    assert len(list((tmp_path / "fourbar").glob("libfourbar-*.so"))) == 2


def test_a_read_only_source_folder_is_no_matter(tmp_path: Path) -> None:
    model = tmp_path / "models"
    model.mkdir()
    shutil.copy(MODELS / "fourbar.yaml", model)
    model.chmod(0o555)
    try:
        report = build(model / "fourbar.yaml", tmp_path / "out", emit_only=True)
    finally:
        model.chmod(0o755)
    assert os.listdir(model) == ["fourbar.yaml"]  # noqa: PTH208 - names alone
    assert report.reasons == {}
    with pytest.raises(rc.LoadError, match="only text was emitted"):
        rc.load(report.folder)
