"""Numbers compiled apart from code: the texts say the same, an edit compiles numbers only, and bits do not change."""

from __future__ import annotations

import ctypes
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from c_support import host_toolchain
from fronts import shipped_front

import robocompiler as rc
from robocompiler.backend import numbers_apart
from robocompiler.backend.cache import Unit
from robocompiler.backend.compiler import Toolchain
from robocompiler.backend.emit import emit
from robocompiler.backend.numbers_apart import numbers_text, units_to_compile, without_numbers
from robocompiler.backend.optimisation import LESS
from robocompiler.backend.options import BuildOptions, BuildReport, Real
from robocompiler.backend.toolchain import CompileJob, compile_objects, find_toolchain, link_shared
from robocompiler.compiler import compile_to_folder, run_front_end
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

MODEL = Path(__file__).resolve().parent.parent / "models" / "fourbar.yaml"
FAST = BuildOptions(extra_flags=("-O1",), portable=True)  # at -O0 nothing is taken apart
ELF = Toolchain(("cc",), "cc 1", "x86_64-linux-gnu", ("-O2",))

TEXT = """\
#include "rig.h"
#define STEP 0.25 + \\
    1.25
/* 0.75 of it */
static const double table[2] = {
    0.375, (-4.5),
};
static double twice(const double x[3])
{
    static const double own[1] = {7.5};
    const double a1 = ((-0.15) * x[1]) + (2.0 * x[2]);
    return (a1 + 0.15) - (1e-08 * own[0]) + (0.15 * table[1]) + name("say 0.125") + x1.5e3 + 12;
}
"""


def test_numbers_of_statements_leave_the_text_and_no_others() -> None:
    code, numbers = without_numbers(TEXT, "rig_m")
    assert numbers == ("(-0.15)", "0.15", "1e-08", "0.15")
    head, _, body = code.partition('#include "rig.h"')
    hidden = '__attribute__((visibility("hidden")))'
    assert head.splitlines() == [f"extern const double rig_m_{k} {hidden};" for k in range(4)]
    for kept in ("0.25", "1.25", "0.75", "0.375", "(-4.5)", "7.5", "2.0 *", '"say 0.125"', "x1.5e3", "+ 12;"):
        assert kept in body
    back = re.sub(r"\brig_m_(\d+)\b", lambda match: numbers[int(match[1])], body)
    assert '#include "rig.h"' + back == TEXT


def test_two_numbers_of_a_vector_are_one_constant() -> None:
    """Unless both are plain, and where they are no numbers at all."""
    text = "const pair a = both(0.1, (-2.5)) * both(b, c) + both(1.0, (-1.0)) * both(0.5, 0.7) + both(q[1], q[2]);"
    code, numbers = without_numbers(text, "m")
    assert numbers == ("both(0.1, (-2.5))", "both(0.5, 0.7)")
    vector = '__attribute__((vector_size(16), visibility("hidden")))'
    assert code.splitlines() == [
        f"extern const double m_0 {vector};",
        f"extern const double m_1 {vector};",
        "const pair a = m_0 * both(b, c) + both(1.0, (-1.0)) * m_1 + both(q[1], q[2]);",
    ]


def test_vectors_lie_aligned_before_single_numbers(tmp_path: Path) -> None:
    body = "{ const pair a = both(0.1, (-2.5)); return a[0] + 0.3 * a[1] + x; }"
    text = f"double sum(double x);\ndouble sum(double x) {body}\n"
    typed = "typedef double pair __attribute__((vector_size(16)));\n"
    code, numbers = without_numbers(text, "n")
    (tmp_path / "numbers.c").write_text(numbers_text(numbers[::-1], "n"))  # any order
    swapped = code.replace("n_0", "n_x").replace("n_1", "n_0").replace("n_x", "n_1")
    (tmp_path / "use.c").write_text(typed + swapped)
    jobs = [CompileJob(name, tmp_path / f"{name}.c", tmp_path / f"{name}.o") for name in ("numbers", "use")]
    compile_objects(jobs, host_toolchain())
    link_shared([job.object for job in jobs], tmp_path / "lib.so", host_toolchain())
    call = ctypes.CDLL(str(tmp_path / "lib.so"))["sum"]
    call.restype, call.argtypes = ctypes.c_double, [ctypes.c_double]
    assert call(4.0) == (0.1 + 0.3 * -2.5) + 4.0


@pytest.mark.parametrize("real", ["double", "float"])
def test_every_emitted_text_is_its_code_with_its_numbers(real: Real) -> None:
    count = 0
    for unit in emit(shipped_front("fourbar").program, real).units:
        code, numbers = without_numbers(unit.text, "stem")
        body = code[len(code) - len(re.sub(r"\A(extern const [^\n]*\n)*", "", code)) :]
        assert re.sub(r"\bstem_(\d+)\b", lambda match, n=numbers: n[int(match[1])], body) == unit.text
        assert all(number.strip("()").endswith("f") == (real == "float") for number in numbers)
        count += len(numbers)
    assert count > 200


def test_the_assembler_defines_the_same_bits_and_each_number_once(tmp_path: Path) -> None:
    literals = ("0.1", "(-1.7976931348623157e+308)", "5e-324", "0.1", "0.3f", "(-1e-10f)", "0.3f")
    declared = "".join(f"extern const {'float' if 'f' in t else 'double'} n_{k};\n" for k, t in enumerate(literals))
    table = ", ".join(f"&n_{k}" for k in range(len(literals)))
    (tmp_path / "numbers.c").write_text(numbers_text(literals, "n"))
    (tmp_path / "use.c").write_text(
        f"{declared}extern const void *const at[];\nconst void *const at[] = {{{table}}};\n"
    )
    jobs = [CompileJob(name, tmp_path / f"{name}.c", tmp_path / f"{name}.o") for name in ("numbers", "use")]
    compile_objects(jobs, host_toolchain())
    link_shared([job.object for job in jobs], tmp_path / "lib.so", host_toolchain())
    at = (ctypes.c_void_p * len(literals)).in_dll(ctypes.CDLL(str(tmp_path / "lib.so")), "at")
    for place, text in zip(at, literals, strict=True):
        assert place is not None
        value = float(text.strip("()").removesuffix("f"))
        kind, wanted = (ctypes.c_float, np.float32(value)) if "f" in text else (ctypes.c_double, np.float64(value))
        assert place % ctypes.sizeof(kind) == 0
        assert bytes(kind.from_address(place)) == wanted.tobytes()
    assert at[0] == at[3] and at[4] == at[6]
    assert len(set(at)) == 5


def test_pairs_are_made_only_where_objects_allow_them() -> None:
    unit = Unit("long", Path("rig_long.c"), "double f(void) { return 0.7; }\n" + " " * 20_000)
    short = Unit("short", Path("rig_short.c"), "double g(void) { return 0.7; }\n")
    vectors = dataclasses.replace(unit, name="lanes", flags=("-mavx2",))
    apart = units_to_compile([unit, short, vectors], "rig", ELF)
    assert [one.name for one in apart.units] == ["long", "long_numbers", "short", "lanes"]
    assert apart.numbers == {"long": "long_numbers"}
    assert "0.7" not in apart.units[0].text and apart.units[0].flags == LESS
    elsewhere = [
        dataclasses.replace(ELF, target="arm64-apple-darwin23"),
        dataclasses.replace(ELF, target="x86_64-w64-mingw32"),
        dataclasses.replace(ELF, flags=("-O2", "-flto=auto")),
    ]
    for toolchain in elsewhere:
        assert [one.name for one in units_to_compile([unit, short, vectors], "rig", toolchain).units] == [
            "long", "short", "lanes",
        ]  # fmt: skip


def _build(mechanism: Mechanism, folder: Path) -> BuildReport:
    return compile_to_folder(mechanism, folder, options=FAST)[1]


def _numbers(folder: Path) -> bytes:
    """What a robot says about one state, to the bit."""
    robot = rc.load(folder)
    q, u = robot.reference, np.linspace(0.3, 0.9, len(robot.independent))
    f = np.linspace(-1.0, 2.0, len(robot.ports))
    found = [
        robot.forward_dynamics(q, u, f), robot.inverse_dynamics(q, u, 2 * u), robot.mass_matrix(q), robot.lift(q),
        robot.curvature(q, u), robot.residual(q), robot.assemble(q + 1e-3), q, robot.task_jacobian(robot.frames[-1], q),
    ]  # fmt: skip
    return b"".join(np.ascontiguousarray(value).tobytes() for value in found)


@pytest.fixture
def everything_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units of every length as pairs."""
    monkeypatch.setattr(numbers_apart, "STRAIGHT", 0)


@pytest.mark.skipif(not numbers_apart._fits(find_toolchain()), reason="this compiler's objects do not allow it")
@pytest.mark.usefixtures("everything_apart")
def test_an_edited_number_compiles_numbers_and_gives_the_bits_of_a_cold_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = read_mechanism(MODEL)
    first = _build(mechanism, tmp_path / "robot")
    before = _numbers(first.folder)
    body = dataclasses.replace(mechanism.bodies[1], mass=mechanism.bodies[1].mass * 1.25)
    old = mechanism.joints[1]
    x, y, z = old.a.translation
    joint = dataclasses.replace(old, a=dataclasses.replace(old.a, translation=(x + 1e-3, y, z)))
    edited = dataclasses.replace(
        mechanism, bodies=(mechanism.bodies[0], body, *mechanism.bodies[2:]),
        joints=tuple(joint if one is old else one for one in mechanism.joints),
    )  # fmt: skip
    second = _build(edited, tmp_path / "robot")
    code = {name for name in second.compiled if not name.endswith("_numbers")}
    assert code == {"dynamics", "identity"}  # they hold tables
    assert {"tree_kernel_numbers", "kinematics_numbers", "module_0_numbers"} <= set(second.compiled)
    assert all(re.match(r"(bodies|joints)\.", second.reasons[name]) for name in second.compiled)
    after = _numbers(second.folder)
    assert after != before
    assert _numbers(_build(edited, tmp_path / "cold").folder) == after
    # literals in the code itself, as the emitted files have them
    monkeypatch.setattr(numbers_apart, "STRAIGHT", 10**9)
    plain = _build(edited, tmp_path / "plain")
    assert not any(name.endswith("_numbers") for name in plain.reasons)
    assert _numbers(plain.folder) == after
    for path in plain.folder.glob("*.c"):
        assert path.read_bytes() == (second.folder / path.name).read_bytes()
    # back again: no object is compiled, and none of the edit's is used
    monkeypatch.setattr(numbers_apart, "STRAIGHT", 0)
    assert _build(mechanism, tmp_path / "robot").compiled == ()
    assert _numbers(first.folder) == before
    assert not (first.folder / ".cache" / "apart").exists() and not (first.folder / ".cache" / "ahead").exists()
    ctypes.CDLL(str(first.folder / "libfourbar_module_0.so"))  # with its own numbers


@pytest.mark.skipif(not numbers_apart._fits(find_toolchain()), reason="this compiler's objects do not allow it")
@pytest.mark.usefixtures("everything_apart")
def test_an_edit_that_changes_the_code_compiles_the_code() -> None:
    mechanism = read_mechanism(MODEL)
    toolchain = find_toolchain()

    def units(robot: Mechanism) -> dict[str, str]:
        emission = emit(run_front_end(robot).program)
        return {unit.name: unit.text for unit in units_to_compile(emission.units, "fourbar", toolchain).units}

    body = dataclasses.replace(mechanism.bodies[0], com=(0.0, 0.0, 0.0))
    before, after = units(mechanism), units(dataclasses.replace(mechanism, bodies=(body, *mechanism.bodies[1:])))
    assert before["tree_kernel"] != after["tree_kernel"]
    assert before["chords"] == after["chords"] and before["module_0"] == after["module_0"]
