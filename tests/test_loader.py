"""Loading: whatever is missing, damaged, stale or foreign is a LoadError that says what to do, never a crash."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robocompiler as rc
from robocompiler.runtime.manifest import checksum

MANIFEST = "fourbar.manifest.json"


@pytest.fixture
def folder(compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path) -> Path:
    """A copy of the compiled four-bar that a test may damage."""
    compiled("fourbar")
    return Path(shutil.copytree(build_folder / "fourbar", tmp_path / "fourbar"))


def versioned(folder: Path) -> Path:
    """The library that the manifest names."""
    (path,) = folder.glob("lib*-*.so")
    return path


def edit(folder: Path, change: Callable[[dict[str, Any]], None], seal: bool = True) -> None:
    """Change the manifest; `seal` recomputes its checksum, as a compiler gone wrong would."""
    path = folder / MANIFEST
    data = json.loads(path.read_text())
    change(data)
    if seal:
        data["checksum"] = checksum(data)
    path.write_text(json.dumps(data))


def refused(path: Path, match: str) -> None:
    """rc.load must refuse `path`, in a process of its own so that a crash would be seen as one."""
    code = (
        "import sys, robocompiler as rc\ntry:\n    rc.load(sys.argv[1])\n"
        "except rc.LoadError as error:\n    print('REFUSED', error)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("REFUSED"), answer.stdout
    assert match in answer.stdout


def test_a_copied_folder_or_its_manifest_loads(folder: Path) -> None:
    assert rc.load(folder).name == "fourbar"
    moved = folder.rename(folder.with_name("elsewhere"))
    robot = rc.load(str(moved / MANIFEST))
    assert np.abs(robot.residual(robot.reference)).max() < 1e-12


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a readable manifest"),
        ('{"format": 1, ', "not a readable manifest"),
        ("[1, 2]", "not a manifest"),
        ("{}", "manifest format None"),
        ('{"format": 1, "abi": 1}', "incomplete manifest (no robot"),
        ('{"format": 1, "abi": 99}', "ABI 99"),
        ("[" * 100_000, "not a readable manifest"),
        (b"\xff\xfe\x00", "not a readable manifest"),
    ],
)
def test_damaged_manifests(folder: Path, content: str | bytes, message: str) -> None:
    (folder / MANIFEST).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(rc.LoadError) as caught:
        rc.load(folder)
    assert message in str(caught.value)
    assert "compile the model again" in str(caught.value)


def test_missing_files_and_folders(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(rc.LoadError, match="compile the model first"):
        rc.load(tmp_path / "nowhere")
    with pytest.raises(rc.LoadError, match=r"no \*\.manifest\.json in this folder"):
        rc.load(empty)
    shutil.copy(folder / MANIFEST, folder / "other.manifest.json")
    with pytest.raises(rc.LoadError, match="several manifests"):
        rc.load(folder)
    (folder / "other.manifest.json").unlink()
    versioned(folder).unlink()
    with pytest.raises(rc.LoadError, match="the library is missing"):
        rc.load(folder)


@pytest.mark.parametrize("key", ["robot", "coordinates", "parameters", "floor", "charts", "condensed_pattern", "build"])
def test_entries_that_are_missing_or_of_the_wrong_type(folder: Path, key: str) -> None:
    original = (folder / MANIFEST).read_bytes()
    edit(folder, lambda data: data.pop(key))
    with pytest.raises(rc.LoadError, match=rf"incomplete manifest \(no {key}\)"):
        rc.load(folder)
    for wrong in (None, 7 if key != "floor" else "7", "text" if key != "robot" else ["text"]):
        (folder / MANIFEST).write_bytes(original)
        edit(folder, lambda data, wrong=wrong: data.update({key: wrong}))
        with pytest.raises(rc.LoadError, match="entries of the wrong type or value"):
            rc.load(folder)


def test_a_manifest_edited_by_hand_is_refused(folder: Path) -> None:
    # one coordinate less would let the library read and write past the ends of numpy's arrays
    edit(folder, lambda data: data["coordinates"].pop(), seal=False)
    with pytest.raises(rc.LoadError, match="was changed since it was compiled"):
        rc.load(folder)


def test_another_precision_word_or_version_is_refused(folder: Path) -> None:
    original = (folder / MANIFEST).read_bytes()
    edit(folder, lambda data: data.update(real="long double"))
    with pytest.raises(rc.LoadError, match="wrong type or value: real"):
        rc.load(folder)
    for key, message in (("abi", "ABI 2"), ("format", "manifest format 2")):
        (folder / MANIFEST).write_bytes(original)
        edit(folder, lambda data, key=key: data.update({key: 2}))
        with pytest.raises(rc.LoadError, match=message):
            rc.load(folder)


def test_libraries_that_are_truncated_foreign_or_nothing_at_all(
    compiled: Callable[[str], rc.Robot], build_folder: Path, folder: Path
) -> None:
    compiled("five_bar")
    library = versioned(folder)
    whole = library.read_bytes()
    foreign = versioned(build_folder / "five_bar").read_bytes()
    for content in (b"", b"not a library", whole[:100], whole[:4096], whole[: len(whole) // 2], foreign):
        library.unlink()  # the plain library is a hard link to the same bytes
        library.write_bytes(content)
        refused(folder, "damaged, or not the library of this manifest")
    library.write_bytes(whole)
    assert rc.load(folder).name == "fourbar"


def test_a_foreign_library_under_a_sealed_manifest_is_refused(
    compiled: Callable[[str], rc.Robot], build_folder: Path, folder: Path
) -> None:
    compiled("five_bar")
    import hashlib

    foreign = versioned(build_folder / "five_bar").read_bytes()
    (folder / "libforeign.so").write_bytes(foreign)
    (folder / "libtext.so").write_bytes(b"text")
    for name in ("libforeign.so", "libtext.so"):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        edit(folder, lambda data, record={"file": name, "sha256": digest}: data["build"].update(library=record))
        refused(folder, "cannot be loaded")
    edit(folder, lambda data: data["build"].update(library={"file": "../libforeign.so", "sha256": digest}))
    refused(folder, "outside its folder")
    edit(folder, lambda data: data["build"].pop("library"))
    refused(folder, "names no library")
    assert (folder / "libtext.so").read_bytes() == b"text"  # a refusal touches nothing


def test_a_stale_manifest_is_refused(folder: Path) -> None:
    # the manifest of another build of the same robot: same names and sizes, other numbers
    edit(folder, lambda data: data.update(digest="0" * 64))
    with pytest.raises(rc.LoadError, match="library and manifest come from different builds"):
        rc.load(folder)
    edit(folder, lambda data: data.update(cdef="this is no C"))
    with pytest.raises(rc.LoadError, match="cannot be loaded"):
        rc.load(folder)


def test_loading_imports_numpy_and_cffi_only(folder: Path) -> None:
    code = (
        "import sys, robocompiler as rc\nrobot = rc.load(sys.argv[1])\nrobot.lift(robot.reference)\n"
        "heavy = {'casadi', 'scipy', 'networkx', 'jinja2', 'yaml', 'click', 'rich'} & set(sys.modules)\n"
        "print(sorted(heavy))\n"
    )
    answer = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_two_robots_and_two_copies_work_side_by_side(
    compiled: Callable[[str], rc.Robot], folder: Path
) -> None:  # fmt: skip
    robots = [compiled("fourbar"), rc.load(folder), compiled("five_bar")]
    residuals = [np.abs(robot.residual(robot.reference)).max() for robot in robots]
    assert max(residuals) < 1e-12
    np.testing.assert_array_equal(robots[0].lift(robots[0].reference), robots[1].lift(robots[1].reference))
    assert robots[2].lift(robots[2].reference).shape != robots[0].lift(robots[0].reference).shape


def test_threads_get_the_results_of_a_serial_run(compiled: Callable[[str], rc.Robot]) -> None:
    robots = [compiled("fourbar"), compiled("five_bar")]
    rng = np.random.default_rng(0)
    tasks = []
    for robot in robots:
        for _ in range(60):
            q = robot.reference
            q[[robot.coordinates.index(name) for name in robot.independent]] += rng.uniform(-0.1, 0.1)
            tasks.append((robot, q))

    def work(task: tuple[rc.Robot, np.ndarray]) -> tuple[np.ndarray, ...]:
        robot, q = task
        closed = robot.assemble(q)
        return closed, robot.lift(closed), robot.residual(q), robot.closure_jacobian(q)

    serial = [work(task) for task in tasks]
    with ThreadPoolExecutor(8) as pool:
        parallel = list(pool.map(work, tasks))
    for one, other in zip(serial, parallel, strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x, y)
