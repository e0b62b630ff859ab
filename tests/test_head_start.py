"""A compile that begins with modules and kinematics: the same objects, nothing left behind, nothing begun in vain."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fronts import shipped_front

import robocompiler as rc
from robocompiler.backend import rendering
from robocompiler.backend.build import build_robot
from robocompiler.backend.cache import Unit
from robocompiler.backend.compiler import find_toolchain
from robocompiler.backend.emit import emit
from robocompiler.backend.head_start import HeadStart
from robocompiler.backend.optimisation import LESS, STRAIGHT, optimised
from robocompiler.backend.options import BuildOptions
from robocompiler.symbolic.program import build_kinematics, with_mechanics

MODEL = Path(__file__).resolve().parent.parent / "models" / "fourbar.yaml"
FAST = BuildOptions(extra_flags=("-O0",))


def test_units_that_need_no_mechanics_are_compiled_before_there_are_any(tmp_path: Path) -> None:
    front = shipped_front("fourbar")
    kinematics = build_kinematics(front.closures, front.reduction)
    assert kinematics.mechanics is None
    told: list[tuple[str, str]] = []
    with HeadStart(tmp_path, FAST, lambda step, item, _: told.append((step, item))) as head:
        head.begin(kinematics)
        assert head.pool is not None
        head.pool.finish()
        objects = head.folder / ".cache" / "objects"
        ahead = {path.name.partition("-")[0]: path.stat().st_mtime_ns for path in objects.glob("*.o")}
        assert {"module_0", "inner_module_0", "kinematics", "chords"} <= set(ahead)
        assert not (head.folder / "fourbar.h").exists(), "the output folder is written when every text is there"
        report = build_robot(with_mechanics(kinematics), tmp_path, FAST, lambda s, i, _: told.append((s, i)), head=head)
    after = {path.name.partition("-")[0]: path.stat().st_mtime_ns for path in objects.glob("*.o")}
    assert {name: after[name] for name in ahead} == ahead, "no object was made twice"
    assert set(after) == set(report.reasons)
    assert sorted(item for step, item in told if step == "compile") == sorted(after)
    assert all(reason != "unchanged" for reason in report.reasons.values())
    assert not (report.folder / ".cache" / "ahead").exists()
    again = build_robot(front.program, tmp_path, FAST)
    assert again.compiled == () and again.changed == ()
    assert rc.load(report.folder).name == "fourbar"


def test_a_failure_after_the_head_start_leaves_folder_and_lock_free(tmp_path: Path) -> None:
    front = shipped_front("fourbar")
    with pytest.raises(RuntimeError, match="later"), HeadStart(tmp_path, FAST) as head:
        head.begin(build_kinematics(front.closures, front.reduction))
        raise RuntimeError("later")
    assert not list((tmp_path / "fourbar").glob("*.h"))
    assert not list((tmp_path / "fourbar" / ".cache" / "objects").glob("*.partial")), "no compiler was left half way"
    report = build_robot(front.program, tmp_path, FAST)
    manifest = json.loads((report.folder / "fourbar.manifest.json").read_text())
    assert manifest["build"]["compiled"] is True


def test_long_straight_line_units_are_optimised_less_unless_a_level_is_asked_for() -> None:
    units = [Unit("long", Path("long.c"), "x" * (STRAIGHT + 1)), Unit("short", Path("short.c"), "x")]
    default, chosen = find_toolchain("gcc"), find_toolchain("gcc", extra_flags=("-O3",))
    assert [unit.flags for unit in optimised(units, default)] == [LESS, ()]
    wide = replace(units[0], flags=("-mavx2",))
    assert [unit.flags for unit in optimised([wide], default)] == [(*LESS, "-mavx2")]
    assert [unit.flags for unit in optimised(units, chosen)] == [(), ()]


def test_text_is_printed_when_the_folder_of_an_earlier_compile_is_gone(tmp_path: Path) -> None:
    parsed = rendering.environment().bytecode_cache
    try:
        rendering.keep_parsed(tmp_path / "first")
        shutil.rmtree(tmp_path / "first")
        rendering.environment().cache.clear()  # what no compile of this process has parsed yet
        assert "fourbar.h" in emit(shipped_front("fourbar").program).files
    finally:
        rendering.environment().bytecode_cache = parsed
