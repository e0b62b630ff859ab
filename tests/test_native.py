"""Builds for the host's processor, portable ones, and the refusal of libraries that another processor was meant for."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cffi
import numpy as np
import pytest
from c_support import ZIG_CC, host_toolchain, native_toolchain
from click.testing import CliRunner
from test_toolchain import fake_compiler

import robocompiler as rc
from robocompiler.backend import processor as flags_module
from robocompiler.backend.cache import compiler_record
from robocompiler.backend.options import BuildOptions
from robocompiler.backend.processor import NATIVE, builds_for_host, processor_of
from robocompiler.backend.repeat import repeat_key
from robocompiler.backend.toolchain import PORTABLE, find_toolchain, toolchain_for
from robocompiler.cli import robocompile
from robocompiler.records.reader import mechanism_from_dict
from robocompiler.runtime import processor
from robocompiler.runtime.manifest import checksum

X86 = platform.machine() == "x86_64" and platform.system() == "Linux"
PENDULUM = {
    "robocompiler": 1,
    "name": "pendulum",
    "bodies": {"rod": {"mass": 0.7, "com": [0.3, 0, 0.02], "inertia": [0.01, 0.02, 0.02, 0, 0, 0]}},
    "joints": {"hinge": {"type": "revolute", "a": {"body": "world"}, "b": {"body": "rod"}, "axis": [0, 1, 0]}},
}
# What a compiler may say of some processors; the first lines are those of every C compiler.
MACROS = "#define __STDC__ 1\n#define __SSE2__ 1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pendulum as users get it."""
    output = tmp_path_factory.mktemp("native")
    rc.compile(mechanism_from_dict(PENDULUM), output=output)
    return output / "pendulum"


@pytest.fixture
def cpuinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """cpuinfo(text): the machine's processor is another."""

    def become(text: str) -> None:
        path = tmp_path / f"cpuinfo_{len(list(tmp_path.iterdir()))}"
        path.write_text(text)
        monkeypatch.setattr(processor, "CPUINFO", path)

    return become


@pytest.fixture
def unopened(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No library may be opened."""

    class Closed(cffi.FFI):
        def dlopen(self, *_: object) -> object:
            raise AssertionError("a library was opened")

    monkeypatch.setattr(cffi, "FFI", Closed)
    yield


def manifest(folder: Path) -> dict[str, object]:
    (path,) = folder.glob("*.manifest.json")
    return dict(json.loads(path.read_text())["build"])


# --- flags ---


@pytest.mark.skipif(not X86, reason="gcc and clang for x86-64 know -march=native")
def test_the_host_gets_its_processor_and_fused_products() -> None:
    flags = native_toolchain().flags
    assert flags[-2:] == NATIVE[0] == ("-march=native", "-ffp-contract=fast")
    assert "-ffp-contract=off" not in flags
    found = processor.instruction_sets()
    assert found is not None and set(native_toolchain().processor.instructions) <= found


def test_portable_flags_are_those_of_every_machine() -> None:
    toolchain = host_toolchain()
    assert toolchain.flags[-1:] == PORTABLE == ("-ffp-contract=off",)
    assert not [flag for flag in toolchain.flags if flag.startswith(("-march", "-mcpu", "-mtune", "-ffast-math"))]
    assert toolchain.processor.instructions == ()
    assert toolchain_for(BuildOptions(portable=True)).flags == toolchain.flags


def test_flags_of_the_user_come_last_and_count() -> None:
    own = find_toolchain(extra_flags=("-O1", "-DX=1"))
    assert own.flags[-2:] == ("-O1", "-DX=1")
    if X86:
        assert find_toolchain(extra_flags=("-march=x86-64",)).processor.instructions == ()
        assert "fma4" in find_toolchain(portable=True, extra_flags=("-mfma4",)).processor.instructions
    assert find_toolchain(extra_flags=("-no-such-flag",)).processor == flags_module.UNKNOWN


def test_a_portable_build_of_zig_is_one() -> None:
    """Its default is the host's processor."""
    zig = " ".join(ZIG_CC)
    portable = find_toolchain(zig, portable=True)
    assert "-mcpu=baseline" in portable.flags and portable.processor.instructions == ()
    if X86:
        assert "-mcpu=baseline" not in find_toolchain(zig).flags
    cross = find_toolchain(f"{zig} --target=aarch64-linux-gnu")
    assert cross.target.startswith("aarch64") and cross.flags[-1:] == PORTABLE
    assert cross.processor.instructions == ()


@pytest.mark.parametrize(
    ("command", "target", "machine", "system", "native"),
    [
        (("gcc",), "x86_64-linux-gnu", "x86_64", "Linux", True),
        (("clang",), "x86_64-pc-linux-musl", "x86_64", "Linux", True),
        (("cc",), "aarch64-linux-gnu", "aarch64", "Linux", True),
        (("aarch64-linux-gnu-gcc",), "aarch64-linux-gnu", "x86_64", "Linux", False),
        (("arm-none-eabi-gcc",), "arm-none-eabi", "aarch64", "Linux", False),
        (("clang",), "x86_64-linux-android21", "x86_64", "Linux", False),
        (("gcc",), "x86_64-w64-mingw32", "x86_64", "Linux", False),
        (("clang",), "arm64-apple-darwin23", "arm64", "Darwin", False),
        (("gcc",), "riscv64-linux-gnu", "riscv64", "Linux", False),
        (("gcc", "-march=haswell"), "x86_64-linux-gnu", "x86_64", "Linux", False),
        (("clang", "--target=x86_64-linux-gnu"), "x86_64-linux-gnu", "x86_64", "Linux", False),
        (("zig", "cc", "-target", "x86_64-linux-gnu"), "x86_64-linux-gnu", "x86_64", "Linux", False),
        (("fake",), "unknown", "x86_64", "Linux", False),
    ],
)  # fmt: skip
def test_only_what_runs_here_is_built_for_this_processor(
    command: tuple[str, ...], target: str, machine: str, system: str, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "system", lambda: system)
    assert builds_for_host(command, target) is native


@pytest.mark.parametrize(("known", "chosen"), [("-march=native", 0), ("-mcpu=native", 1), ("neither", None)])
def test_what_the_compiler_does_not_know_is_not_asked_of_it(
    known: str, chosen: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    answer = "printf '#define __STDC__ 1\\n#define __ARM_FEATURE_DOTPROD 1\\n'"
    script = f"""case "$*" in
        -dumpmachine) echo aarch64-linux-gnu; exit;;
        *{known}*) {answer}; exit;;
        *native*) echo "unknown option" >&2; exit 1;;
        *-dM*) echo "#define __STDC__ 1"; exit;;
    esac"""
    found = find_toolchain(str(fake_compiler(tmp_path, script)))
    if chosen is None:
        assert found.flags[-1:] == PORTABLE and found.processor.instructions == ()
    else:
        assert found.flags[-2:] == NATIVE[chosen]
        assert found.processor.instructions == ("asimddp",)


# --- what the flags come to ---


def test_macros_become_the_words_of_cpuinfo() -> None:
    text = MACROS + "#define __FMA__ 1\n#define __LZCNT__ 1\n#define __AVX512VBMI2__ 1\n#define __PKU__ 1\n"
    assert processor_of("x86_64-linux-gnu", text).instructions == ("abm", "avx512_vbmi2", "fma")
    assert processor_of("riscv64-linux-gnu", text).instructions == ()
    assert processor_of("x86_64-linux-gnu", MACROS).instructions == ()
    assert processor_of("x86_64-linux-gnu", "") == flags_module.UNKNOWN


def test_another_processor_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flags are the same words there; what they come to is not."""
    here, there = (processor_of("x86_64-linux-gnu", MACROS + extra) for extra in ("", "#define __tune_znver9__ 1\n"))
    assert here.digest != there.digest and here.instructions == there.instructions
    mechanism = mechanism_from_dict(PENDULUM)
    keys = {repeat_key(mechanism, (), (), BuildOptions(portable=portable)) for portable in (False, True)}
    from robocompiler.backend import compiler

    monkeypatch.setattr(compiler, "processor_of", lambda *_: there)
    assert compiler_record(find_toolchain()).processor == there.digest
    keys.add(repeat_key(mechanism, (), (), BuildOptions()))
    assert len(keys) == (3 if native_toolchain().flags != host_toolchain().flags else 2)


# --- loading ---


def test_the_manifest_tells_the_true_flags_and_instruction_sets(folder: Path) -> None:
    build = manifest(folder)
    assert build["flags"] == list(native_toolchain().flags)
    assert build["instructions"] == list(native_toolchain().processor.instructions)
    assert np.isfinite(rc.load(folder).forward_dynamics([0.3], [0.1], [])).all()


@pytest.mark.skipif(not X86, reason="the faked processor is of that kind")
def test_a_processor_that_lacks_something_is_told_what(
    folder: Path, cpuinfo: Callable[[str], None], unopened: None
) -> None:
    wanted = manifest(folder)["instructions"]
    assert isinstance(wanted, list) and "fma" in wanted
    others = " ".join(name for name in wanted if name not in ("fma", "bmi2"))
    both = "processor\t: 0\nflags\t\t: fpu sse2 {}\n\nprocessor\t: 1\nflags\t\t: fpu sse2 {}\n"
    for first, second in ((others, others), (others, " ".join(wanted)), (others + " fma", others + " bmi2")):
        cpuinfo(both.format(first, second))  # cores may differ: a thread may run on any of them
        with pytest.raises(rc.LoadError) as caught:
            rc.load(folder)
        message = str(caught.value)
        assert "it uses bmi2, fma, which this one does not have" in message
        assert "compile the model again on this machine, or with --portable" in message
        assert message.startswith(f"{folder}/libpendulum-")


def test_a_processor_that_has_it_all_loads(folder: Path, cpuinfo: Callable[[str], None]) -> None:
    wanted = manifest(folder)["instructions"]
    assert isinstance(wanted, list)
    for key in ("flags", "Features"):
        cpuinfo(f"{key} : {' '.join(wanted)} more\n")
        assert rc.load(folder).name == "pendulum"


@pytest.mark.skipif(not X86, reason="the build must use something beyond the base")
def test_where_the_processor_is_not_told_only_portable_builds_load(
    folder: Path, cpuinfo: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert processor.instruction_sets(tmp_path / "none") is None
    cpuinfo("vendor_id : unknown\n")
    assert processor.instruction_sets() is None
    with pytest.raises(
        rc.LoadError, match=r"does not tell whether this processor has them; compile .* with --portable"
    ):
        rc.load(folder)
    processor.refuse_foreign(folder, {"instructions": []})
    processor.refuse_foreign(folder, {})  # of a manifest that knows no such entry
    monkeypatch.setattr(platform, "system", lambda: "Darwin")  # has no such list, and no native builds
    assert rc.load(folder).name == "pendulum"


@pytest.mark.skipif(not X86, reason="FMA4 is of x86")
def test_a_real_library_for_another_processor_is_refused_and_the_process_lives(tmp_path: Path) -> None:
    """FMA4 was in one family of processors; the code is really there."""
    if "fma4" in (processor.instruction_sets() or ()):
        pytest.skip("this processor has it")
    options = BuildOptions(extra_flags=("-mfma4", "-mno-fma"))
    from robocompiler.compiler import compile_to_folder

    _, report = compile_to_folder(mechanism_from_dict(PENDULUM), tmp_path, options=options)
    code = "import sys, robocompiler as rc\ntry:\n    rc.load(sys.argv[1])\nexcept rc.LoadError as e:\n    print(e)\n"
    command = [sys.executable, "-c", code, str(report.folder)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    assert answer.returncode == 0, answer.stderr
    assert "it uses fma4, which this one does not have" in answer.stdout


def test_a_wrong_list_is_refused(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = Path(shutil.copytree(folder, tmp_path / "pendulum"))
    path = copy / "pendulum.manifest.json"
    data = json.loads(path.read_text())
    for wrong in ("fma", [1], {"fma": 1}):
        data["build"]["instructions"] = wrong
        path.write_text(json.dumps({**data, "checksum": checksum(data)}))
        with pytest.raises(rc.LoadError, match="instruction sets are no list of names"):
            rc.load(copy)


# --- numbers, and the command ---


def test_native_and_portable_numbers_agree_to_rounding(folder: Path, tmp_path: Path) -> None:
    """Against the closed form of a pendulum, too."""
    portable = rc.compile(mechanism_from_dict(PENDULUM), output=tmp_path, portable=True)
    assert manifest(tmp_path / "pendulum")["flags"] == list(host_toolchain().flags)
    native, weight = rc.load(folder), 0.7 * -mechanism_from_dict(PENDULUM).gravity[2]
    inertia = 0.02 + 0.7 * (0.3**2 + 0.02**2)
    for angle in np.linspace(-3, 3, 25):
        # the hinge turns about +y: x_com = 0.3 cos + 0.02 sin, and gravity's moment about +y is m g x_com
        wanted = weight * (0.3 * np.cos(angle) + 0.02 * np.sin(angle)) / inertia
        for robot in (native, portable):
            found = robot.forward_dynamics([angle], [1.3], [])[0]
            assert abs(found - wanted) < 4e-15 * weight * 0.3 / inertia


def test_the_command_builds_portably_when_asked_and_tells_why_it_compiles_again(tmp_path: Path) -> None:
    model = tmp_path / "pendulum.yaml"
    model.write_text(json.dumps(PENDULUM))

    def run(*options: str) -> dict[str, str]:
        command = ["compile", str(model), "-o", str(tmp_path / "out"), "--fast-compile", "--json", "-q", *options]
        answer = CliRunner().invoke(robocompile, command)
        assert answer.exit_code == 0, answer.output
        return {unit["name"]: unit["reason"] for unit in json.loads(answer.stdout)["build"]["units"]}

    assert set(run("--portable").values()) == {"first build"}
    assert manifest(tmp_path / "out" / "pendulum")["flags"] == [*host_toolchain().flags, "-O0"]
    assert set(run("--portable").values()) == {"unchanged"}
    reasons = set(run().values())
    assert manifest(tmp_path / "out" / "pendulum")["flags"] == [*native_toolchain().flags, "-O0"]
    if X86:
        assert reasons == {"flags changed (with -march=native, with -ffp-contract=fast, without -ffp-contract=off)"}
    assert set(run("--portable").values()) == {"unchanged"}  # the objects are kept
