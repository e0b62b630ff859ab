"""The generated C of shipped and of odd robots: compilers, C++, symbols, stack, self tests, CMake."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from c_support import ZIG_CC, run_compiler
from odd_mechanisms import HOSTILE_JOINTS, ODD, ROBOT_NAMES, hostile, named, rock

import robocompiler as rc
from robocompiler.backend.emit import Emission, emit
from robocompiler.backend.symbols import forbidden_symbols
from robocompiler.backend.toolchain import STRICT
from robocompiler.compiler import run_front_end
from robocompiler.errors import CompileError
from robocompiler.records.model import Mechanism

CXX = ("-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wcast-qual", "-Werror")
FRAME_LIMIT = 48 * 1024  # bytes of stack of any one function, Kangaroo (138 frames, 18 freedoms) included
DEEPEST = 64 * 1024  # bytes of stack below any call of an interface function


def write(emission: Emission, folder: Path) -> Path:
    """Write a robot's files as they are into `folder`/<prefix>."""
    target = folder / emission.prefix
    target.mkdir()
    for name, text in emission.files.items():
        (target / name).write_text(text)
    return target


def emitted(mechanism: Mechanism, folder: Path, real: str = "double") -> Path:
    return write(emit(run_front_end(mechanism).program, real), folder)  # type: ignore[arg-type]


def sources(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.glob("*.c"))


def run_selftest(program: Path) -> str:
    answer = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False)
    return f"{answer.stdout.strip()} (exit {answer.returncode})"


@functools.cache
def odd_emission(name: str) -> Emission:
    return emit(run_front_end(ODD[name]()).program, "double")


@pytest.mark.parametrize("name", [name for name in ODD if name != "rock"])
def test_odd_robots_compile_as_c_and_cxx_and_pass_their_self_test(name: str, tmp_path: Path) -> None:
    folder = write(odd_emission(name), tmp_path)
    program = tmp_path / "gcc"
    run_compiler(("gcc",), *STRICT, "-O0", f"-I{folder}", *sources(folder), "-lm", "-o", str(program))
    assert run_selftest(program) == f"{folder.name}: 0 failures (exit 0)"
    run_compiler(("g++",), "-x", "c++", *CXX, f"-I{folder}", "-fsyntax-only", *sources(folder))


@pytest.mark.parametrize("name", ["hostile", "couplings", "truss", "chords"])
def test_odd_robots_compile_under_clang_and_pass_their_self_test(name: str, tmp_path: Path) -> None:
    folder = write(odd_emission(name), tmp_path)
    program = tmp_path / "clang"
    flags = (*STRICT, "-O0", "-fno-sanitize=undefined", f"-I{folder}")
    run_compiler(ZIG_CC, *flags, *sources(folder), "-lm", "-o", str(program))
    assert run_selftest(program) == f"{folder.name}: 0 failures (exit 0)"


def test_shipped_models_compile_under_clang(compiled: Callable[[str], rc.Robot], build_folder: Path) -> None:
    # gcc compiles them, with the same warnings as errors, in every build of the suite
    compiled("fourbar"), compiled("rssr")
    for name in ("fourbar", "rssr"):
        folder, program = build_folder / name, build_folder / f"{name}_clang"
        flags = (*STRICT, "-O0", "-fno-sanitize=undefined", f"-I{folder}")
        run_compiler(ZIG_CC, *flags, *sources(folder), "-lm", "-o", str(program))
        assert run_selftest(program) == f"{name}: 0 failures (exit 0)"


@pytest.mark.parametrize("name", ROBOT_NAMES)
def test_robots_of_any_name_compile(name: str, tmp_path: Path) -> None:
    folder = emitted(named(name), tmp_path)
    run_compiler(("gcc",), *STRICT, f"-I{folder}", "-fsyntax-only", *sources(folder))
    header = (folder / f"{folder.name}.h").read_text()
    assert f"int {folder.name}_lift(" in header
    assert not re.search(rf"#include <{folder.name}", header)


def test_names_that_differ_only_in_case_or_punctuation_stay_apart(tmp_path: Path) -> None:
    folder = emitted(hostile(), tmp_path)
    header = (folder / f"{folder.name}.h").read_text()
    names = re.findall(r"^    (X3_X20LEGS_\w+) = \d+,? /\*", header, re.M)
    assert len(names) == len(set(names))
    assert sum(name.startswith("X3_X20LEGS_V_") for name in names) == len(HOSTILE_JOINTS) + 3


def test_a_robot_without_a_moving_joint_is_refused() -> None:
    with pytest.raises(CompileError, match="rock: no joint of this robot can move"):
        emit(run_front_end(rock()).program)


@pytest.mark.parametrize("name", ["fourbar", "stewart", "five_bar", "kangaroo"])
def test_objects_use_libm_only_and_keep_no_state(
    compiled: Callable[[str], rc.Robot], build_folder: Path, name: str
) -> None:
    compiled(name)
    folder = build_folder / name
    products = [*(folder / ".cache" / "objects").glob("*.o"), *folder.glob("*.so")]
    assert len(products) >= 4
    for product in products:
        others = {symbol for symbol in forbidden_symbols(product) if not symbol.startswith(f"{name}_")}
        assert others == set(), product.name
    assert forbidden_symbols(folder / f"lib{name}.so") == set()
    for product in products:
        if product.suffix == ".o":
            table = subprocess.run(["nm", str(product)], capture_output=True, text=True, check=True).stdout
            # writable data: initialised, zeroed or common
            assert not re.findall(r"^\S+ [BbDdCc] .*$", table, re.M), product.name


@pytest.mark.parametrize("name", ["fourbar", "stewart", "kangaroo"])
def test_the_header_serves_cxx_and_the_self_test_passes(
    compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path, name: str
) -> None:
    compiled(name)
    folder = build_folder / name
    source, program = tmp_path / "user.cpp", tmp_path / "selftest"
    prefix = name.upper()
    source.write_text(
        f'#include "{name}.h"\nint main() {{\n    double q[{prefix}_NQ];\n    {name}_reference(q);\n'
        f"    return {name}_correct(q, {prefix}_TOLERANCE, {prefix}_MAX_ITERATIONS, q, nullptr);\n}}\n"
    )
    library = (str(source), f"-L{folder}", f"-l{name}", f"-Wl,-rpath,{folder}", "-o", str(program))
    run_compiler(("g++",), *CXX, f"-I{folder}", *library)
    assert subprocess.run([str(program)], timeout=60, check=False).returncode == 0
    objects = [str(path) for path in (folder / ".cache" / "objects").glob("*.o")]
    run_compiler(
        ("gcc",), *STRICT, f"-I{folder}", str(folder / "selftest.c"), *objects, "-lm", "-o", str(program)
    )  # fmt: skip
    assert run_selftest(program) == f"{name}: 0 failures (exit 0)"


def test_the_self_test_notices_wrong_numbers(
    compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path
) -> None:
    compiled("fourbar")
    folder = build_folder / "fourbar"
    text = (folder / "selftest.c").read_text()
    wrong = tmp_path / "selftest.c"
    table = re.search(r"expected_v\[\d+\] = \{\n\s*([-0-9.e()]+),", text)
    assert table is not None
    wrong.write_text(text[: table.start(1)] + "1.25" + text[table.end(1) :])
    program = tmp_path / "selftest"
    objects = [str(path) for path in (folder / ".cache" / "objects").glob("*.o")]
    run_compiler(("gcc",), f"-I{folder}", str(wrong), *objects, "-lm", "-o", str(program))
    assert run_selftest(program) == "fourbar: 1 failures (exit 1)"


def test_the_stack_stays_small(compiled: Callable[[str], rc.Robot], build_folder: Path, tmp_path: Path) -> None:
    compiled("kangaroo")
    folder = build_folder / "kangaroo"
    frames: dict[str, int] = {}
    # the whole-robot functions hold the big arrays; module_2 stands for the modules
    for unit in ("kangaroo_kinematics", "kangaroo_module_2"):
        product = tmp_path / f"{unit}.o"
        run_compiler(
            ("gcc",), "-std=c99", "-O1", "-fstack-usage", f"-I{folder}", "-c", str(folder / f"{unit}.c"),
            "-o", str(product),
        )  # fmt: skip
        for line in product.with_suffix(".su").read_text().splitlines():
            place, size, kind = line.split("\t")
            assert kind == "static", line  # a frame of fixed size: no variable arrays, no alloca
            frames[place.split(":")[-1]] = int(size)
    assert max(frames.values()) <= FRAME_LIMIT, frames
    below = frames["kangaroo_lift"] + max(size for name, size in frames.items() if "module_2" in name)
    assert max(frames["kangaroo_task_jacobian"], frames["kangaroo_velocity"]) + below <= DEEPEST


@pytest.mark.parametrize("name", ["test", "fourbar"])
def test_cmake_lists_every_source_and_builds(name: str, tmp_path: Path) -> None:
    folder = emitted(named(name), tmp_path)
    listed = re.findall(r"\$\{CMAKE_CURRENT_LIST_DIR\}/(\S+\.c)", (folder / f"{name}.cmake").read_text())
    assert sorted(listed) == [Path(path).name for path in sources(folder) if not path.endswith("selftest.c")]
    cmake = shutil.which("cmake")
    if cmake is None or shutil.which("ctest") is None:
        pytest.skip("cmake is not installed here; the list of sources above is all that can be compared")
    build = tmp_path / "build"
    for command in (
        (cmake, "-S", str(folder), "-B", str(build)),
        (cmake, "--build", str(build)),
        ("ctest", "--test-dir", str(build), "--output-on-failure"),
    ):
        run_compiler(command)
    assert (build / f"lib{name}.a").is_file()
