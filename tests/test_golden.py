"""The text that the compiler emits: checked in for one model, and the same in every process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from golden import GOLDEN, MODEL, ROOT, differences, emit, files_of, same_but_rounding

DATE = re.compile(rb"\b20[2-9][0-9]-[01][0-9]-[0-3][0-9]\b|\b[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\b")
EMIT = "import sys; from pathlib import Path; from golden import emit; emit(Path(sys.argv[1]), Path(sys.argv[2]))"


def test_the_checked_in_fourbar_is_what_the_compiler_emits_now(tmp_path: Path) -> None:
    found = differences(files_of(GOLDEN), emit(MODEL, tmp_path))
    assert not found, "generated/fourbar differs; run `make golden` if the change is wanted:\n" + "\n".join(found)


def test_the_golden_folder_holds_a_whole_library() -> None:
    names = set(files_of(GOLDEN))
    assert {"fourbar.h", "selftest.c", "CMakeLists.txt", "README.md", "fourbar.manifest.json"} <= names
    assert any(name.endswith("module_0.c") for name in names)


def test_a_changed_coefficient_name_or_file_is_seen() -> None:
    golden = files_of(GOLDEN)
    edited = {**golden, "fourbar_kinematics.c": golden["fourbar_kinematics.c"].replace(b"0.9", b"0.90000000000001", 1)}
    renamed = {**golden, "fourbar.h": golden["fourbar.h"].replace(b"fourbar_lift", b"fourbar_raise", 1)}
    missing = {name: content for name, content in golden.items() if name != "selftest.c"}
    for files, name in ((edited, "fourbar_kinematics.c"), (renamed, "fourbar.h"), (missing, "selftest.c")):
        assert [line.split(":")[0] for line in differences(golden, files)] == [name]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("x[] = {0.42253349722619893};", "x[] = {0.422533497226199};", True),
        ("x[] = {0.4225334972};", "x[] = {0.4225334982};", False),
        ("x[] = {0.5, 0.25};", "x[] = {0.5};", False),
        ("x[3] = {0.5};", "x[4] = {0.5};", False),
    ],
)
def test_only_last_digits_count_as_rounding(a: str, b: str, same: bool) -> None:
    assert same_but_rounding("selftest.c", a.encode(), b.encode()) is same


@pytest.mark.parametrize("name", ["fourbar", "stewart"])
def test_two_processes_emit_the_same_bytes_free_of_dates_and_paths(name: str, tmp_path: Path) -> None:
    # Different hash seeds order sets differently; different working folders show paths that leak into the text.
    outputs = []
    for seed in ("1", "4242"):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "tests")}
        command = [sys.executable, "-c", EMIT, str(ROOT / "models" / f"{name}.yaml"), "out"]
        subprocess.run(command, cwd=folder, env=environment, check=True, timeout=300)
        outputs.append(files_of(folder / "out" / name))
    first, second = outputs
    assert first.keys() == second.keys()
    assert [path for path in first if first[path] != second[path]] == []
    places = [str(place).encode() for place in (ROOT, tmp_path, Path.home(), sys.prefix)]
    for path, content in first.items():
        assert not [place for place in places if place != b"/" and place in content], path
        assert not DATE.search(content), path
