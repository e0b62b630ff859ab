from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robocompiler.backend.atomic import TEMPORARY_PREFIX
from robocompiler.backend.writer import GENERATED_MARK, LIST_FILE, write_files
from robocompiler.errors import CompileError


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LIST_FILE
    }


def test_only_files_whose_bytes_differ_are_touched(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "rig"
    assert write_files(folder, {"a.c": "one\n", "sub/b.h": "two\n", "c.bin": b"\x00\xff"}) == [
        "a.c",
        "c.bin",
        "sub/b.h",
    ]
    os.utime(folder / "a.c", ns=(10**9, 10**9))
    os.utime(folder / "sub/b.h", ns=(10**9, 10**9))
    assert write_files(folder, {"a.c": "one\n", "sub/b.h": "changed\n", "c.bin": b"\x00\xff"}) == ["sub/b.h"]
    assert (folder / "a.c").stat().st_mtime_ns == 10**9
    assert (folder / "sub/b.h").stat().st_mtime_ns > 10**9
    assert (folder / "sub/b.h").read_text() == "changed\n"


def test_newlines_are_written_as_they_are(tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "x\r\ny\n"})
    assert (tmp_path / "a").read_bytes() == b"x\r\ny\n"


def test_stale_files_go_and_a_users_files_stay(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.c": "a", "old/b.c": "b", "old/edited.c": "c"})
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "old/edited.c").write_text("changed by hand")
    assert write_files(tmp_path, {"a.c": "a"}) == ["old/b.c"]
    assert contents(tmp_path) == {"a.c": "a", "notes.txt": "mine", "old/edited.c": "changed by hand"}
    write_files(tmp_path, {"a.c": "a", "deep/er/x.c": "x"})
    write_files(tmp_path, {"a.c": "a"})
    assert not (tmp_path / "deep").exists()


def test_a_users_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("my own notes")
    with pytest.raises(CompileError, match=r"README\.md exists and was not written by RoboCompiler"):
        write_files(tmp_path, {"README.md": "generated", "a.c": "a"})
    assert contents(tmp_path) == {"README.md": "my own notes"}, "nothing is written when one file must not be"


def test_a_generated_file_is_known_by_its_mark_even_without_the_list(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.c": f"/* {GENERATED_MARK} 1.0 */\n"})
    (tmp_path / LIST_FILE).write_text("{ damaged")
    assert write_files(tmp_path, {"a.c": f"/* {GENERATED_MARK} 2.0 */\n"}) == ["a.c"]
    (tmp_path / LIST_FILE).unlink()
    assert write_files(tmp_path, {"a.c": f"/* {GENERATED_MARK} 3.0 */\n"}) == ["a.c"]


@pytest.mark.parametrize(
    "path",
    ["/etc/x", "../x", "a/../../x", "a/..", "", ".", "./a", "a//b", "a/", "a\\b", "a\nb", "a\0", "C:x", LIST_FILE],
)
def test_paths_that_leave_the_folder_are_refused(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "out"
    with pytest.raises(CompileError, match="output path"):
        write_files(folder, {path: "x", "good.c": "x"})
    assert contents(tmp_path) == {}


def test_symbolic_links_do_not_lead_out(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    folder.mkdir()
    (outside / "x.c").write_text("precious")
    (folder / "sub").symlink_to(outside)
    with pytest.raises(CompileError, match="leads out of the output folder"):
        write_files(folder, {"sub/x.c": "overwritten"})
    (folder / "x.c").symlink_to(outside / "x.c")
    with pytest.raises(CompileError, match="is a symbolic link"):
        write_files(folder, {"x.c": "overwritten"})
    (folder / LIST_FILE).symlink_to(outside / "x.c")
    with pytest.raises(CompileError, match="is a symbolic link"):
        write_files(folder, {"y.c": "overwritten"})
    assert (outside / "x.c").read_text() == "precious"


def test_a_stale_file_behind_a_new_link_is_not_removed(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "out"
    write_files(folder, {"sub/x.c": "same"})
    (folder / "sub/x.c").unlink()
    (folder / "sub").rmdir()
    outside.mkdir()
    (outside / "x.c").write_text("same")
    (folder / "sub").symlink_to(outside)
    assert write_files(folder, {"a.c": "a"}) == ["a.c"]
    assert (outside / "x.c").read_text() == "same"


def test_things_in_the_way_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.c").mkdir()
    with pytest.raises(CompileError, match=r"a\.c: a folder of that name is in the way"):
        write_files(tmp_path, {"a.c": "x"})
    (tmp_path / "file").write_text("x")
    with pytest.raises(CompileError, match="file is not a folder"):
        write_files(tmp_path, {"file/b.c": "x"})
    with pytest.raises(CompileError, match=r"cannot write into .*file"):
        write_files(tmp_path / "file", {"b.c": "x"})
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CompileError, match="not a plain file"):
        write_files(tmp_path, {"pipe": "x"})


def test_a_full_disk_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"a.c": "old"})

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CompileError, match=r"cannot write .*a\.c: No space left on device"):
        write_files(tmp_path, {"a.c": "new"})
    assert contents(tmp_path) == {"a.c": "old"}


def test_a_file_size_limit_is_reported_like_a_full_disk(tmp_path: Path) -> None:
    program = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from robocompiler.backend.writer import write_files\n"
        "from robocompiler.errors import CompileError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_files(Path(sys.argv[1]), {'big.c': 'x' * 100000})\n"
        "except CompileError as error: print(error)\n"
    )
    root = Path(__file__).resolve().parents[1]
    answer = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=root, capture_output=True, text=True, check=True
    )
    assert "big.c: File too large" in answer.stdout
    assert contents(tmp_path) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into read-only folders")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CompileError, match="Permission denied"):
            write_files(tmp_path, {"a.c": "x"})
    finally:
        tmp_path.chmod(0o700)


def test_a_refused_temporary_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(CompileError, match="Permission denied"):
        write_files(tmp_path, {"a.c": "x"})


def test_a_crash_between_list_and_files_does_not_make_ours_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robocompiler.backend import writer

    real = writer.write_atomically

    def crash_after_first(path: Path, content: bytes) -> None:
        if path.name == "b.c":
            raise KeyboardInterrupt
        real(path, content)

    monkeypatch.setattr(writer, "write_atomically", crash_after_first)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, {"a.c": "1", "b.c": "1"})
    monkeypatch.undo()
    (tmp_path / f"{TEMPORARY_PREFIX}abc").write_text("left by a killed write")
    assert write_files(tmp_path, {"a.c": "2", "b.c": "2"}) == ["a.c", "b.c"]
    assert contents(tmp_path) == {"a.c": "2", "b.c": "2"}
    assert write_files(tmp_path, {}) == ["a.c", "b.c"]


def test_a_file_that_differs_only_for_a_stale_crash_is_still_removed(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.c": "1"})
    write_files(tmp_path, {"a.c": "2"})
    assert write_files(tmp_path, {}) == ["a.c"]


def test_written_files_have_ordinary_permissions(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_files(tmp_path, {"a.c": "x"})
    finally:
        os.umask(before)
    assert (tmp_path / "a.c").stat().st_mode & 0o777 == 0o644
