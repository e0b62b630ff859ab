from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from c_support import ZIG_CC, host_toolchain, native_toolchain

from robocompiler.backend.toolchain import (
    OPTIMISATION,
    STRICT,
    CompileJob,
    Toolchain,
    compile_objects,
    find_toolchain,
    first_diagnostic,
    link_shared,
)
from robocompiler.errors import CompileError

GOOD = "double {name}(double x);\ndouble {name}(double x) {{ return x * 2.0; }}\n"


def job(folder: Path, name: str, text: str | None = None) -> CompileJob:
    source = folder / f"{name}.c"
    source.write_text(GOOD.format(name=name) if text is None else text)
    return CompileJob(name, source, folder / "objects" / f"{name}.o")


def fake_compiler(folder: Path, body: str, name: str = "fakecc") -> Path:
    """A compiler that answers the questions of `find_toolchain` unless `body` does something else first."""
    script = folder / name
    script.write_text(
        f'#!/bin/sh\n{body}\ncase "$1" in --version) echo fake 1.0;; -dumpmachine) echo fake-linux;; esac\n'
    )
    script.chmod(0o755)
    return script


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"  # in a container nobody may collect an orphan that has ended


def test_the_host_compiler_is_found_and_described() -> None:
    toolchain = host_toolchain()
    assert re.search(r"\d+\.\d+", toolchain.version)
    assert "-" in toolchain.target
    assert toolchain.flags[: len(OPTIMISATION + STRICT)] == OPTIMISATION + STRICT
    assert native_toolchain().flags[: len(OPTIMISATION + STRICT)] == OPTIMISATION + STRICT
    assert len(toolchain.fingerprint) == 64
    assert "-ffp-contract=off" in toolchain.flags
    for flags in (toolchain.flags, native_toolchain().flags):
        assert not {"-ffast-math", "-ffinite-math-only", "-fno-signed-zeros", "-Ofast"} & set(flags)


def test_the_order_is_option_then_variable_then_path(tmp_path: Path) -> None:
    for name in ("first", "second", "gcc"):
        fake_compiler(tmp_path, f'case "$*" in *--version) echo {name}; exit;; esac', name)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {"PATH": path, "CC": "second --some-option"}
    assert find_toolchain("first", environment=environment).version == "first"
    assert find_toolchain(None, environment=environment).command == ("second", "--some-option")
    assert find_toolchain(None, environment={"PATH": str(tmp_path), "CC": " "}).version == "gcc"
    fake_compiler(tmp_path, "exit 3", "cc")
    with pytest.raises(CompileError, match=r"failed \(exit 3\): cc --version"):
        find_toolchain(None, environment={"PATH": str(tmp_path)})


def test_a_missing_compiler_says_what_was_looked_for_and_the_mend(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"none of cc, gcc, clang; install gcc or clang"):
        find_toolchain(None, environment={"PATH": str(tmp_path)})
    with pytest.raises(CompileError, match="'no-such-cc', named by --cc, was not found"):
        find_toolchain("no-such-cc")
    with pytest.raises(CompileError, match="'no-such-cc', named by the variable CC, was not found"):
        find_toolchain(None, environment={"PATH": str(tmp_path), "CC": "no-such-cc"})
    with pytest.raises(CompileError, match="--cc names no compiler"):
        find_toolchain("  ")
    with pytest.raises(CompileError, match="cannot read the compiler named by --cc"):
        find_toolchain("gcc 'unclosed")
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    with pytest.raises(CompileError, match="is not executable"):
        find_toolchain(str(plain))


def test_a_compiler_that_cannot_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"failed \(exit 7\).*no licence"):
        find_toolchain(str(fake_compiler(tmp_path, "echo no licence >&2; exit 7")))
    with pytest.raises(CompileError, match="said nothing"):
        find_toolchain(str(fake_compiler(tmp_path, "exit 0")))
    with pytest.raises(CompileError, match=r"did not answer within 0\.3 s"):
        find_toolchain(str(fake_compiler(tmp_path, "exec sleep 20")), timeout=0.3)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"\x7fELF nonsense")
    damaged.chmod(0o755)
    with pytest.raises(CompileError, match="cannot be run"):
        find_toolchain(str(damaged))


def test_a_compiler_without_dumpmachine_still_serves(tmp_path: Path) -> None:
    script = fake_compiler(tmp_path, '[ "$1" = -dumpmachine ] && exit 1')
    assert find_toolchain(str(script)).target == "unknown"


def test_objects_are_compiled_and_linked(tmp_path: Path) -> None:
    seen: list[tuple[str, float]] = []
    jobs = [job(tmp_path, f"part_{k}") for k in range(4)]
    compile_objects(jobs, host_toolchain(), workers=2, progress=lambda name, seconds: seen.append((name, seconds)))
    assert sorted(name for name, _ in seen) == [f"part_{k}" for k in range(4)]
    assert all(seconds > 0 for _, seconds in seen)
    library = tmp_path / "lib" / "libparts.so"
    link_shared([j.object for j in jobs], library, host_toolchain())
    import cffi

    ffi = cffi.FFI()
    ffi.cdef("double part_3(double x);")
    assert ffi.dlopen(str(library)).part_3(4.0) == 8.0
    assert [p.name for p in library.parent.iterdir()] == ["libparts.so"]
    assert not list(tmp_path.rglob("*.partial"))


def test_the_same_text_gives_the_same_object(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for folder in (first, second):
        folder.mkdir()
        compile_objects([job(folder, "part")], host_toolchain())
    assert (first / "objects/part.o").read_bytes() == (second / "objects/part.o").read_bytes()


def test_clang_compiles_with_the_same_flags(tmp_path: Path) -> None:
    clang = find_toolchain(" ".join(ZIG_CC))
    assert "-fno-sanitize=undefined" in clang.flags
    work = job(tmp_path, "part")
    compile_objects([work], clang)
    link_shared([work.object], tmp_path / "libpart.so", host_toolchain())


def test_a_failure_gives_the_first_diagnostic_the_command_and_the_log(tmp_path: Path) -> None:
    bad = job(tmp_path, "bad", "int bad(void);\nint bad(void) { int unused; return nothing; }\n")
    with pytest.raises(CompileError) as caught:
        compile_objects([bad, job(tmp_path, "good")], host_toolchain(), workers=1)
    message = str(caught.value)
    assert re.search(r"^bad: .*bad\.c:2:\d+: error: .*nothing.* undeclared", message)
    assert "  command: " in message
    assert caught.value.command[-1].endswith(".partial")
    assert Path(caught.value.log) == bad.log
    assert "unused" in bad.log.read_text()
    assert not bad.object.exists()


def test_warnings_are_errors(tmp_path: Path) -> None:
    work = job(tmp_path, "narrow", "float narrow(double x);\nfloat narrow(double x) { return x; }\n")
    with pytest.raises(CompileError, match="conversion"):
        compile_objects([work], host_toolchain())


def test_a_failed_compile_keeps_the_old_object(tmp_path: Path) -> None:
    work = job(tmp_path, "part")
    compile_objects([work], host_toolchain())
    before = work.object.read_bytes()
    work.source.write_text("garbage")
    with pytest.raises(CompileError):
        compile_objects([work], host_toolchain())
    assert work.object.read_bytes() == before


def fake_toolchain(folder: Path, body: str) -> Toolchain:
    script = fake_compiler(folder, body)
    return Toolchain((str(script),), "fake 1.0", "fake-linux", flags=())


def test_the_other_compilers_are_ended_at_the_first_failure(tmp_path: Path) -> None:
    slow = f"*slow*) sleep 60 & echo $! >> {tmp_path}/pids; wait;;"
    body = f'case "$*" in {slow} *fast*) sleep 0.3; echo broken; exit 1;; esac'
    jobs = [job(tmp_path, name, "same length") for name in ("slow_1", "fast", "slow_2", "slow_3")]
    begin = time.monotonic()
    with pytest.raises(CompileError, match="fast: broken"):
        compile_objects(jobs, fake_toolchain(tmp_path, body), workers=2)
    assert time.monotonic() - begin < 5
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 1, "jobs that had not begun are not begun"
    time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)


def test_a_compiler_that_hangs_or_is_killed_or_lies_is_reported(tmp_path: Path) -> None:
    work = job(tmp_path, "part")
    with pytest.raises(CompileError, match=r"ended after 0\.2 s"):
        compile_objects([work], fake_toolchain(tmp_path, "sleep 30"), timeout=0.2)
    with pytest.raises(CompileError, match="part: the compiler was ended by SIGKILL"):
        compile_objects([work], fake_toolchain(tmp_path, "kill -9 $$"))
    with pytest.raises(CompileError, match="exit status 5 and said nothing"):
        compile_objects([work], fake_toolchain(tmp_path, "exit 5"))
    with pytest.raises(CompileError, match="reported success but"):
        compile_objects([work], fake_toolchain(tmp_path, "exit 0"))
    with pytest.raises(CompileError, match="cannot run"):
        compile_objects([work], Toolchain((str(tmp_path / "gone"),), "", "", flags=()))


def test_undefined_symbols_do_not_link_and_the_old_library_stays(tmp_path: Path) -> None:
    good = job(tmp_path, "part")
    lost = job(tmp_path, "lost", "void absent(void);\nvoid lost(void);\nvoid lost(void) { absent(); }\n")
    compile_objects([good, lost], host_toolchain())
    library = tmp_path / "lib.so"
    link_shared([good.object], library, host_toolchain())
    before = library.read_bytes()
    with pytest.raises(CompileError, match="undefined reference to `absent'"):
        link_shared([lost.object], library, host_toolchain())
    assert library.read_bytes() == before
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(("target", "checked"), [("x86_64-linux-gnu", True), ("arm64-apple-darwin23", False)])
def test_undefined_symbols_are_checked_where_the_linker_can(target: str, checked: bool) -> None:
    toolchain = dataclasses.replace(host_toolchain(), target=target)
    assert bool(toolchain.undefined_check) is checked


def test_first_diagnostic() -> None:
    assert (
        first_diagnostic("In file x\nx.c:1:2: warning: w\nx.c:3:4: error: e\nx.c:5:6: error: f\n")
        == "x.c:3:4: error: e"
    )
    assert first_diagnostic("\n  something odd\nmore") == "something odd"
    assert first_diagnostic(" \n") == ""


INTERRUPTED = """
import sys
from pathlib import Path
from robocompiler.backend.toolchain import CompileJob, Toolchain, compile_objects, link_shared
folder = Path(sys.argv[1])
toolchain = Toolchain((str(folder / "fakecc"),), "", "", flags=())
try:
    if sys.argv[2] == "compile":
        jobs = [CompileJob(f"j{k}", folder / "x.c", folder / f"x{k}.o") for k in range(6)]
        compile_objects(jobs, toolchain, workers=2)
    else:
        link_shared([], folder / "lib.so", toolchain)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(("what", "running"), [("compile", 2), ("link", 1)])
def test_an_interrupt_ends_the_compilers_and_leaves_no_half_files(tmp_path: Path, what: str, running: int) -> None:
    body = f'for last; do :; done; echo half > "$last"; sleep 60 & echo $! >> {tmp_path}/pids; wait'
    fake_compiler(tmp_path, body)
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path), what]
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    record = tmp_path / "pids"
    deadline = time.monotonic() + 20
    while not (record.exists() and len(record.read_text().split()) == running) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=10)
    assert out == "interrupted\n"
    time.sleep(0.05)
    pids = [int(line) for line in record.read_text().split()]
    assert len(pids) == running
    assert not any(alive(pid) for pid in pids)
    assert not [*tmp_path.glob("*.partial"), *tmp_path.glob("*.o"), *tmp_path.glob("*.so")]


def test_left_overs_of_a_killed_build_are_cleared(tmp_path: Path) -> None:
    work = job(tmp_path, "part")
    work.object.parent.mkdir()
    (work.object.parent / "part.o.1.partial").write_text("half")
    compile_objects([work], host_toolchain())
    assert sorted(p.name for p in work.object.parent.iterdir()) == ["part.o", "part.o.log"]
